"""Values meet Python's own hash, comparison and text in places that were reviewed only."""

from __future__ import annotations

import pytest

from tests.safety import gates

#: what the check has to find, each within a function of one parameter `value: Value`, or `more: list[Value]`
PLANTED = [
    'raise TypeError(f"not {value}")',
    'raise TypeError(f"not {value!r:>10}")',
    'raise TypeError("not {}".format(value))',
    "return str(value)",
    "return repr(value[0])",
    "return hash(value)",
    "return value == more",
    "return [one for one in more if one != value]",
    "return value in more",
    "return more.index(value)",
    "table = {}\n    return table.setdefault(value, 1)",
    "first, *rest = more\n    return str(first)",
    "for one in more:\n        print(repr(one))",
    "for at, one in enumerate(more):\n        print(repr(one))",
    "one = value.pop() or more[0]\n    return f'{one}'",
    "raise TypeError(type(value).__name__)",
    "def inner(value: Value) -> str:\n        return str(value)\n    return inner(value)",
]
#: what is no fault
INNOCENT = [
    "return shown(value)",
    "return f'{shown(value)} {type_name(value)}'",
    "return value is more",
    "return value == 1",
    "return value in ('a', 'b')",
    "for at, one in enumerate(more):\n        print(f'{at}')",
    "return f'{len(more)}'",
    "return type(value) is str",
]


def _module(body: str) -> str:
    return f"def planted(value: Value, more: list[Value]) -> Value:\n    {body}\n"


def test_the_places_are_the_reviewed_ones() -> None:
    reviewed = gates.TARGET.read_text(encoding="utf-8").splitlines()
    assert [line for line in gates.text().splitlines() if line not in reviewed] == [], (
        "a value meets Python's own hash, comparison or text: use check_hashable, equal, shown, formatted or type_name; "
        "where the value is known to be plain, review the place: python -m tests.safety.gates"
    )


@pytest.mark.parametrize("body", PLANTED)
def test_a_planted_fault_is_found(body: str) -> None:
    assert list(gates.found(_module(body), "planted.py")), body


@pytest.mark.parametrize("body", INNOCENT)
def test_what_is_no_fault_is_not(body: str) -> None:
    assert not list(gates.found(_module(body), "innocent.py")), body
