"""What has been found to reach from one line of a batch to the next: each answer is the one that the line has alone."""

from __future__ import annotations

import pytest

X = {"x": [1, 2]}
HOOK = (
    "x = torch.ones(1, requires_grad=True)\ny = x * 2\nprint(y.register_hook(lambda g: g).id, y.grad_fn.register_hook(lambda *a: None).id)"
)
PAIRS = {
    "a large float, then the same integer": ({"expr": "x*2.0**70", "vars": X}, {"expr": "x*2**70", "vars": X}),
    "zeros of both signs": ({"expr": "1/(x*0.0)", "vars": X}, {"expr": "1/(x*-0.0)", "vars": X}),
    "fewer digits": ({"expr": "1", "limits": {"digits": 640}}, {"expr": "len(str(10**1000))"}),
    "digits of the line itself": ({"expr": "1", "limits": {"digits": 640}}, '{"expr": "x", "vars": {"x": ' + "1" * 700 + "}}"),
    "the same text in another place": ({"expr": "1", "vars": {"a": "q+1"}}, {"expr": "1", "vars": {"b": "q+1"}}),
    "the same text under a tighter bound": ({"expr": "[[1]]"}, {"expr": "[[1]]", "limits": {"nesting": 1}}),
    "the same script under a tighter bound": ({"script": "if 1:\n if 1: pass"}, {"script": "if 1:\n if 1: pass", "limits": {"blocks": 1}}),
    "ids of hooks": ({"script": HOOK}, {"script": HOOK}),
    "less output": ({"script": "print(1)", "limits": {"output": 1}}, {"script": "print('a' * 1000)"}),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_an_answer_does_not_depend_on_the_line_before(ask, pair):
    first, second = pair
    (alone,) = ask(second)
    answer = ask(first, second)[1]
    assert {**answer, "line": 1} == alone
