"""Arithmetic, conversions and math on host values: CPython's results and errors, and sizes refused before they are made."""

import math
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.errors import InternalFault, LimitError, ProgramError
from gradcli.lang.python import numbers
from gradcli.lang.python.dict_views import ItemsView, KeysView
from gradcli.lang.python.math import math_table
from tests.counting import peak

#: bytes at most for what is refused before it is made
SMALL = 100_000

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
}
IN_PLACE = {op: getattr(operator, "i" + function.__name__.strip("_")) for op, function in OPERATORS.items()}
NUMBER = st.one_of(
    st.integers(-20, 40), st.booleans(), st.floats(), st.integers(-(10**30), 10**30), st.sampled_from([0, 0.0, -1, 0.5, -8, 1e308])
)
OPERAND = st.one_of(
    st.complex_numbers(max_magnitude=1e200),
    NUMBER,
    NUMBER,
    st.none(),
    st.text(max_size=3),
    st.lists(st.integers(0, 3), max_size=3),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sets(st.integers(0, 5), max_size=3),
    st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=2),
    st.builds(range, st.integers(0, 3)),
)


def expected(outcome, function, *args):
    """CPython's outcome; None where it would take all memory, or has no text."""
    a, b = args
    whole = isinstance(a, int) and isinstance(b, int)
    if whole and function in (operator.pow, operator.ipow) and b * a.bit_length() > 14_000:
        return None
    if whole and function in (operator.lshift, operator.ilshift) and b > 14_000:
        return None
    scalars = isinstance(a, (int, float)) and isinstance(b, (int, float))
    if function in (operator.mul, operator.imul) and not scalars and any(isinstance(each, int) and each > 10**4 for each in args):
        return None
    return outcome(function, *args)


@settings(max_examples=1000, deadline=None)
@given(op=st.sampled_from(sorted(OPERATORS)), a=OPERAND, b=OPERAND)
def test_operators_are_cpythons(ops, outcome, op, a, b):
    theirs = expected(outcome, OPERATORS[op], a, b)
    if theirs is None:
        return
    ours = outcome(numbers.binary_table(ops)[op], a, b)
    assert ours == theirs


@settings(max_examples=600, deadline=None)
@given(op=st.sampled_from(sorted(IN_PLACE)), a=OPERAND, b=OPERAND)
def test_augmented_assignment_is_cpythons(ops, outcome, op, a, b):
    def copied():
        return a.copy() if isinstance(a, (list, set, dict)) else a

    theirs = expected(outcome, IN_PLACE[op], copied(), b)
    if theirs is None:
        return
    if isinstance(a, dict) and op == "|" and not isinstance(b, dict):
        return  # CPython's dict |= takes pairs too, ours only a dict
    mine = copied()
    assert outcome(numbers.augmented, ops, numbers.binary_table(ops), op, mine, b) == theirs
    if isinstance(a, (list, set, dict)) and isinstance(theirs[0], type):
        assert repr(mine) == theirs[1]


@settings(max_examples=200, deadline=None)
@given(op=st.sampled_from(["-", "+", "~"]), a=OPERAND)
def test_unary_operators_are_cpythons(outcome, op, a):
    function = {"-": operator.neg, "+": operator.pos, "~": operator.invert}[op]
    assert outcome(numbers.UNARY[op], a) == outcome(function, a)


@settings(max_examples=400, deadline=None)
@given(a=OPERAND, b=OPERAND, modulus=st.one_of(st.none(), st.integers(-5, 9), st.just(2.5)))
def test_divmod_and_pow_are_cpythons(outcome, a, b, modulus):
    assert outcome(numbers.host_divmod, a, b) == outcome(divmod, a, b)
    if modulus is not None:
        assert outcome(numbers.host_pow, a, b, modulus) == outcome(pow, a, b, modulus)


@pytest.mark.parametrize(
    ("op", "a", "fits", "passes"),
    [
        ("**", 10, 4299, 4305),
        ("<<", 1, 14284, 14290),
        ("*", 10**4000, 10**299, 10**305),
        ("+", 10**4301, 1, 10**4302),
    ],
    ids=["power", "shift", "product", "sum"],
)
def test_integers_at_the_limit_on_digits_and_beyond(op, a, fits, passes):
    if op != "+":
        assert numbers.BINARY[op](a, fits) == OPERATORS[op](a, fits)
    with pytest.raises(LimitError) as caught:
        numbers.BINARY[op](a, passes)
    assert caught.value.limit == "digits"


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        ("**", 9, 9**9),
        ("**", 2**64, 2**30),
        ("**", 10, 10**10),
        ("**", -3, 10**4000),
        ("<<", 1, 10**30),
        ("<<", True, 10**30),
        ("*", "a", 10**12),
        ("*", 10**12, "a"),
        ("*", "a" * 100_000, 30_000),
        ("*", [1], 10**10),
        ("*", 10**10, [1]),
        ("*", (1, 2), 10**10),
        ("*", 10**10, (1,)),
    ],
)
def test_bombs_are_refused_before_they_are_made(bounded, op, a, b):
    bounded(list=10**6)

    def refused():
        with pytest.raises(LimitError):
            numbers.BINARY[op](a, b)

    assert peak(refused) < SMALL


def test_powers_that_stay_small():
    assert numbers.power(0, 10**30) == 0
    assert numbers.power(1, 10**30) == 1
    assert numbers.power(-1, 10**30 + 1) == -1
    assert numbers.power(2, -2) == 0.25
    assert numbers.lshift(0, 10**6) == 0
    assert numbers.host_pow(3, 10**30, 7) == pow(3, 10**30, 7)


@pytest.mark.parametrize(
    ("op", "a", "b", "beyond"),
    [
        ("+", "a" * 6, "b" * 4, "b" * 5),
        ("*", "ab", 5, 6),
        ("*", 5, "ab", "abc"),
        ("+", [1, 2, 3], [4], [4, 5]),
        ("+", (1, 2, 3), (4,), (4, 5)),
        ("*", [1, 2], 2, 3),
        ("*", 2, (1, 2), (1, 2, 3)),
        ("|", {1, 2, 3}, {3, 4}, {4, 5}),
        ("^", {1, 2, 3}, {1, 4, 5}, {4, 5}),
        ("|", {1: 1, 2: 2}, {2: 2, 3: 3, 4: 4}, {3: 3, 4: 4, 5: 5}),
    ],
)
def test_containers_at_the_limit_and_beyond(bounded, op, a, b, beyond):
    bounded(string=10, list=4)
    assert numbers.BINARY[op](a, b) == OPERATORS[op](a, b)
    with pytest.raises(LimitError):
        numbers.BINARY[op](a, beyond)


def test_doubling_ends(bounded):
    bounded(string=1000, list=1000)
    for value in ("a", [1], (1,)):
        with pytest.raises(LimitError):
            for _ in range(64):
                value = numbers.add(value, value)
    value = [1]
    with pytest.raises(LimitError):
        for _ in range(64):
            value = numbers.augmented(None, numbers.BINARY, "*", value, 2)


def test_templates_never_reach_pythons_formatting(ops):
    with pytest.raises(InternalFault):
        numbers.BINARY["%"]("%3000000000d", 1)
    with pytest.raises(ProgramError, match=r"width .* at most 1000"):
        numbers.binary_table(ops)["%"]("%3000000000d", 1)
    with pytest.raises(ProgramError, match=r"width .* at most 1000"):
        numbers.augmented(ops, numbers.binary_table(ops), "%", "%3000000000d", 1)


def test_views_are_like_sets():
    keys = KeysView({1: "a", 2: "b"})
    assert numbers.bit_or(keys, {3}) == {1, 2, 3}
    assert numbers.sub(keys, KeysView({1: 0})) == {2}
    assert numbers.sub(keys, [2]) == {1}
    assert numbers.bit_and(ItemsView({1: "a"}), {(1, "a")}) == {(1, "a")}


# --- conversions ------------------------------------------------------------------------------------------------


@settings(max_examples=500, deadline=None)
@given(
    value=st.one_of(
        OPERAND,
        st.sampled_from(["12", " 1_0 ", "0x1f", "1e5", "inf", "nan", "٣", "1__0", "", "-7", "x" * 300, 1e308]),
        st.text(alphabet="0123456789abxo_-+. e", max_size=8),
    ),
    more=st.lists(st.one_of(st.sampled_from([0, 1, 2, 10, 16, 36, 37, 10**30]), OPERAND), max_size=1),
)
def test_int_float_abs_round_are_cpythons(outcome, value, more):
    assert outcome(numbers.to_int, value, *more) == outcome(int, value, *more)
    assert outcome(numbers.to_float, value, *more) == outcome(float, value, *more)
    assert outcome(numbers.host_abs, value) == outcome(abs, value)
    if not (more and isinstance(more[0], int) and abs(more[0]) > 40):
        theirs = outcome(round, value, *more)
        # CPython's round() calls __round__, which its message for other values names.
        assert outcome(numbers.host_round, value, *more) == theirs


def test_texts_of_integers_at_the_limit_on_digits_and_beyond():
    assert numbers.to_int("9" * 4300) == 10**4300 - 1
    assert numbers.to_int("1", base=2) == 1
    for call in (
        lambda: numbers.to_int("9" * 4301),
        lambda: numbers.to_int("f" * 5000, 16),
        lambda: numbers.to_int("9" * 10**6),
    ):
        with pytest.raises(LimitError) as caught:
            call()
        assert caught.value.limit == "digits"


def test_round_to_many_places():
    for value, places in ((5, -(10**9)), (-(10**20), -(10**30))):
        assert numbers.host_round(value, places) == 0
        assert peak(lambda value=value, places=places: numbers.host_round(value, places)) < SMALL
    assert numbers.host_round(55, -1) == 60
    assert numbers.host_round(5, -1) == round(5, -1)
    assert numbers.host_round(7, -2) == 0


# --- math -------------------------------------------------------------------------------------------------------

NAMES = sorted(name for name in dir(math) if not name.startswith("_") and name not in ("sumprod", "fma"))
MATH_ARGUMENT = st.one_of(
    st.integers(-5, 30),
    st.floats(),
    st.booleans(),
    st.just("a"),
    st.none(),
    st.lists(st.integers(-3, 9), max_size=3),
    st.lists(st.floats(), max_size=3),
)


def test_all_of_math_is_there(ops):
    assert sorted(math_table(ops)) == NAMES


@settings(max_examples=800, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    args=st.lists(MATH_ARGUMENT, max_size=3),
    kwargs=st.sampled_from([{}, {}, {}, {"start": 2}, {"rel_tol": 0.5}, {"x": 1}]),
)
def test_math_is_cpythons(ops, outcome, name, args, kwargs):
    ours, theirs = math_table(ops)[name], getattr(math, name)
    if not callable(theirs):
        assert repr(ours) == repr(theirs)
        return
    assert outcome(ours, *args, **kwargs) == outcome(theirs, *args, **kwargs)


def test_math_takes_what_has_a_number(ops, opaque):
    table = math_table(ops)
    assert table["sqrt"](opaque("t", 4.0)) == 2.0
    assert table["floor"](opaque("t", 4.5)) == 4
    assert table["isclose"](1.0, opaque("t", 1.0), rel_tol=opaque("u", 0.1))
    assert table["fsum"]([opaque("t", 4.0), 1]) == 5.0
    with pytest.raises(ProgramError, match=r"^must be real number, not Tensor$"):
        table["exp"](opaque("t"))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("factorial", (10**6,)),
        ("factorial", (10**30,)),
        ("comb", (10**6, 5 * 10**5)),
        ("comb", (10**30, 10**29)),
        ("perm", (10**6,)),
        ("perm", (10**30, 10**17)),
        ("lcm", tuple(2**61 + k for k in range(400))),
        ("prod", ([10**4000] * 1000,)),
        ("prod", (["a" * 10**6, 10**6],)),
        ("prod", ([10**6],)),
    ],
)
def test_math_bombs_are_refused_before_they_are_made(ops, name, args):
    kwargs = {"start": "a" * 10**6} if name == "prod" and args == ([10**6],) else {}

    def refused():
        with pytest.raises(LimitError):
            math_table(ops)[name](*args, **kwargs)

    assert peak(refused) < SMALL


@pytest.mark.parametrize(
    ("name", "args"),
    [("factorial", (1557,)), ("comb", (14290, 7000)), ("perm", (1500, 1400)), ("comb", (10**18, 200)), ("lcm", (2**6000, 2**6001))],
)
def test_math_results_that_fit(ops, name, args):
    assert math_table(ops)[name](*args) == getattr(math, name)(*args)
