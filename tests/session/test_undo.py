"""What inputs do to a session: all or nothing, and undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.values import value_classes
from tests.repl.driving import Typist

#: inputs that write into existing objects; after an error in the same input, none of their effects may remain
CHANGES = [
    "x = 5",
    "del x",
    "x.add_(1)",
    "x[0] = 9",
    "x.data.fill_(3)",
    "xs.append(4)",
    "xs[0] = xs",
    "d['b'] = 2",
    "d.clear()",
    "s.add(3)",
    "y.backward()",
    "w.grad.zero_()",
    "w.grad = None",
    "w.requires_grad_(False)",
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_printoptions(precision=8)",
    "torch.manual_seed(3)",
    "randn(2)",
    "count()",
    "opt.step()",
    "opt.param_groups[0]['lr'] = 5.",
    "g.manual_seed(1)",
    "a[0] = 7",
    "a += 1",
    "a.sort(axis=0)",
    "a.shape = (3,)",
    "np.add(a, 1, out=a)",
    "v.fill_(2)",
    "x.numpy()[1] = 4",
    "np.random.seed(9)",
    "np.random.rand(3)",
    "rs.rand()",
    "rng.random()",
    "np.set_printoptions(precision=2)",
]


SETUP = """\
x = torch.zeros(3)
xs = [1, [2]]
d = {'a': 1}
s = {1, 2}
w = torch.tensor([1., 2.], requires_grad=True)
(w * w).sum().backward()
y = (w.exp() * 3).sum()
g = torch.Generator()
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
opt.step()
def counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
count = counter()
a = np.array([3., 1., 1 / 3])
v = torch.from_numpy(a)
np.random.seed(5)
rs = np.random.RandomState(1)
rng = np.random.default_rng(1)
"""


#: an expression that shows everything that CHANGES can change; the states of the generators are copies
STATE = """\
(x, xs, d, s, w, w.grad, w.requires_grad, y, y.grad_fn.next_functions[0][0]._saved_self,
 torch.is_grad_enabled(), torch.get_default_dtype(), torch.tensor(1 / 3), opt.state_dict(), opt.param_groups[0]['lr'],
 torch.get_rng_state().sum(), g.get_state().sum(), w._version,
 a, v, a.shape, np.random.rand(), rs.rand(), rng.random())"""


@pytest.fixture
def ready(typist: Typist, tmp_path: Path) -> Typist:
    typist.prompt.names.load(SETUP, "setup")
    return typist


def state(typist: Typist) -> str:
    shown = typist.enter(STATE)
    typist.prompt.names.undo()
    assert "Error" not in shown, shown
    return shown


@pytest.mark.parametrize("change", CHANGES)
def test_an_error_leaves_everything_as_it_was(ready: Typist, change: str) -> None:
    before = state(ready)
    assert "undefined" in ready.enter(f"{change}; undefined")
    assert state(ready) == before
    assert ready.enter("count()") == "1\n"


@pytest.mark.parametrize("change", CHANGES)
def test_undo_brings_everything_back(ready: Typist, change: str) -> None:
    before = state(ready)
    assert "Error" not in ready.enter(change)
    assert ready.enter(":undo").startswith(f"undone: {change}")
    assert state(ready) == before
    assert ready.enter("count()") == "1\n"


def test_identity_survives_undo(typist: Typist) -> None:
    typist.enter("a = [1]", "b = a", "a.append(2)", ":undo", "b.append(3)")
    assert typist.enter("a, a is b") == "([1, 3], True)\n"
    typist.enter("t = zeros(2)", "v = t[:1]", "t.add_(1)", ":undo", "v.add_(5)")
    assert typist.enter("t") == "tensor([5., 0.])\n"


def test_undo_goes_far_back_and_then_stops(typist: Typist) -> None:
    typist.enter(*(f"x = {i}" for i in range(20)))
    for i in reversed(range(19)):
        typist.enter(":undo")
        assert typist.enter("x") == f"{i}\n"
    typist.enter(":undo")
    assert "nothing to undo" in typist.enter(":undo")


def test_large_tensors_are_not_copied(typist: Typist) -> None:
    typist.enter("big = zeros(20000000)", "small = zeros(1)")
    assert "no room for copies" in "".join([typist.enter("small.add_(1)"), typist.enter(":undo")])
    assert typist.enter("small") == "tensor([0.])\n"


def test_an_interrupt_leaves_everything_as_it_was(ready: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(ready)

    def interrupted(_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(value_classes, "is_value", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ready.prompt.handle("x.add_(1)")
    monkeypatch.undo()
    assert state(ready) == before


def test_a_failed_allocation_leaves_everything_as_it_was(ready: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory may run out at every tensor that an input makes."""
    make = Tensor.__init__
    before = state(ready)
    failing_at, made = 0, 0

    def fail(self: Tensor, *args: Any) -> None:
        nonlocal made
        made += 1
        if made == failing_at:
            raise MemoryError
        make(self, *args)

    text = "x.add_(1); opt.step(); v = (w * 3).exp(); v.sum().backward(); randn(20); xs.append(v.tolist())"
    while failing_at < 200:
        failing_at, made = failing_at + 1, 0
        with monkeypatch.context() as patched:
            patched.setattr(Tensor, "__init__", fail)
            shown = ready.enter(text)
        if "LimitError" not in shown:
            break
        assert "not enough memory" in shown
        assert ready.enter("1 + 1") == "2\n"
        assert state(ready) == before
    assert 5 < failing_at < 200


@pytest.mark.parametrize("change", ["q.append(4)", "c.update('a')", "m['k'] += 1", "own.random()", "random.random()", "random.seed(5)"])
def test_undo_of_what_libraries_make(typist: Typist, change: str) -> None:
    typist.enter("import random", "from collections import Counter, defaultdict, deque")
    typist.enter("q, c, m, own = deque([1], maxlen=3), Counter('b'), defaultdict(int), random.Random(1)", "random.seed(1)")
    seen = "(q, c, m, own.getstate()[1][-3:], random.getstate()[1][-3:])"
    before = typist.enter(seen)
    assert "Error" not in typist.enter(change)
    assert typist.enter(seen) != before
    typist.enter(":undo", ":undo")
    assert typist.enter(seen) == before
