"""format(), str.format, % and repr: CPython's results and errors, the caps, and no way out."""

import json
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.errors import LimitError, ProgramError
from gradcli.lang.python import reprs
from gradcli.lang.python.formatting import MAX_WIDTH, converted, format_string, format_value
from gradcli.lang.python.percent_formatting import percent_format

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=8))
KEYS = st.one_of(st.integers(), st.text(max_size=4), st.booleans(), st.tuples(st.integers(), st.text(max_size=2)))
VALUES = st.recursive(
    SCALARS | st.builds(range, st.integers(-5, 5), st.integers(-5, 5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.sets(st.integers(), max_size=4),
    ),
    max_leaves=12,
)
SPECS = st.one_of(
    st.text(alphabet="<>=^+- #0z,_.19sdeEfFgG%xXobcn", max_size=7),
    st.builds(
        "{}{}{}{}{}{}".format,
        st.sampled_from(["", "*<", ">", "0=", "^", "5^"]),
        st.sampled_from(["", "+", "-", " "]),
        st.sampled_from(["", "#", "0"]),
        st.sampled_from(["", "1", "12", "007"]),
        st.sampled_from(["", ",", "_", ".0", ".3", ".12"]),
        st.sampled_from(["", *"sdeEfFgG%xXobcn"]),
    ),
)


@settings(max_examples=200, deadline=None)
@given(value=SCALARS, spec=SPECS.filter(lambda spec: not re.search(r"\d{4}", spec)))  # wider ones are refused
def test_format_is_cpythons(ops, outcome, value, spec):
    assert outcome(format_value, ops, value, spec) == outcome(format, value, spec)


@settings(max_examples=200, deadline=None)
@given(value=VALUES)
def test_repr_is_cpythons(ops, value):
    assert reprs.repr_host(value, ops.repr_of) == repr(value)
    assert converted(ops, value, "a") == ascii(value)
    assert converted(ops, value, "s") == str(value)


FIELDS = [
    "{",
    "}",
    "{{",
    "}}",
    "{}",
    "{0}",
    "{1!r}",
    "{a}",
    "{a!s:>5}",
    "{:{}}",
    "{0[1]}",
    "{a[b]}",
    "{b[k]}",
    "{!",
    "{!x}",
    "{!r",
    ":",
    "[",
    "]",
]
FIELDS += [
    "{0[}",
    "{0[]}",
    "{0]}",
    "{0[1]x}",
    "{:{:{}}}",
    "{0:{1}{a}}",
    "{99}",
    "{99999999999999999999}",
    "{0!r:^9}",
    "{é}",
    "{ }",
    "{!rx}",
    "{c}",
]
ARGS = ((5, [1, 2], 3.5, "txt", None), {"a": "one", "b": {"k": "v", 1: "n"}})


@settings(max_examples=400, deadline=None)
@given(template=st.lists(st.sampled_from([*FIELDS, "x", " "]), max_size=4).map("".join))
def test_str_format_is_cpythons(ops, outcome, template):
    args, kwargs = ARGS
    assert outcome(format_string, ops, template, args, kwargs) == outcome(template.format, *args, **kwargs)


@settings(max_examples=400, deadline=None)
@given(template=st.text(alphabet="{}[]!:01ars<5 ", max_size=10))
def test_str_format_of_any_text_is_cpythons(ops, outcome, template):
    args, kwargs = ARGS
    assert outcome(format_string, ops, template, args, kwargs) == outcome(template.format, *args, **kwargs)


@pytest.mark.parametrize(
    "template",
    [
        "{0.__class__}",
        "{.real}",
        "{a.__class__}",
        "{0[0].__class__}",
        "{a:{a.__class__.__name__}}",
        "{0.__class__!r}",
        "{0.}",
        "{0.__globals__[__builtins__]}",
        "{0[__class__]}",
    ],
)
def test_fields_have_no_attributes(ops, template):
    with pytest.raises(ProgramError) as caught:
        format_string(ops, template, ([1],), {"a": 1})
    assert caught.value.type_name in ("ValueError", "TypeError")


def test_items_are_read_from_plain_containers_only(ops, opaque):
    with pytest.raises(ProgramError, match="format fields take"):
        format_string(ops, "{0[x]}", (opaque("t"),), {})
    with pytest.raises(ProgramError, match="format fields take"):
        format_string(ops, "{0[0]}", (range(3),), {})
    assert format_string(ops, "{0[1]} {1[0]} {d[a]} {0[1]:>3}", ([1, 2], (3,)), {"d": {"a": 4}}) == "2 3 4   2"


def test_braces_in_data_stay(ops):
    assert format_string(ops, "{} {:>15}", ("{0.__class__}", "{1}"), {}) == "{0.__class__}             {1}"
    # Data in a format spec is not read as a template again.
    with pytest.raises(ProgramError):
        format_string(ops, "{:{}}", (1, "{0.__class__}"), {})


def test_values_of_the_interpreter_go_back_to_it(ops, opaque):
    value = opaque("t", 1.5)
    assert format_string(ops, "{} {:.2f} {!r} {!s}", (value,) * 4, {}) == "format<t:> format<t:.2f> <t> str<t>"
    assert reprs.repr_host([value, {1: (value,)}], ops.repr_of) == "[<t>, {1: (<t>,)}]"
    assert percent_format(ops, "%.3f %d %s %r %5.1e", (value,) * 5) == "1.500 1 str<t> <t> 1.5e+00"
    with pytest.raises(ProgramError, match=r"^%d format: a real number is required, not Tensor$"):
        percent_format(ops, "%d", opaque("u"))
    with pytest.raises(ProgramError, match=r"^must be real number, not Tensor$"):
        percent_format(ops, "%f", opaque("u"))


@pytest.mark.parametrize("kind", ["d", "f", "e", "g", "s", "x", ">"])
def test_width_at_its_limit_and_beyond(ops, kind):
    code = "" if kind == ">" else kind
    value = "a" if kind in "s>" else 1 if kind in "dx" else 1.5
    assert len(format_value(ops, value, f">{MAX_WIDTH}{code}")) == MAX_WIDTH
    for width in (MAX_WIDTH + 1, 10**9, 10**30, "00001001", "١٠٠١"):
        with pytest.raises(ProgramError, match=r"width .* at most 1000"):
            format_value(ops, value, f">{width}{code}")


def test_precision_at_its_limit_and_beyond(ops):
    assert len(format_value(ops, 1.5, f".{MAX_WIDTH}f")) == MAX_WIDTH + 2
    for call in (
        lambda: format_value(ops, 1.5, ".1001f"),
        lambda: format_value(ops, 1.5, ".2000000000e"),
        lambda: percent_format(ops, "%.1001f", 1.5),
        lambda: percent_format(ops, "%.*f", (1001, 1.5)),
        lambda: format_string(ops, "{:.{}}", (1.5, "1001"), {}),
    ):
        with pytest.raises(ProgramError, match=r"precision .* at most 1000"):
            call()


def test_a_fill_digit_is_no_width(ops):
    assert format_value(ops, 7, "9<3") == "799"
    assert format_value(ops, 7, "9>0999") == format(7, "9>0999")


def test_digits_of_integers_in_formats(ops):
    for value, spec in ((1 << 20000, "d"), (1 << 20000, "x"), (1 << 20000, ""), (10**4300, ",")):
        with pytest.raises(LimitError) as caught:
            format_value(ops, value, spec)
        assert caught.value.limit == "digits"
    for template in ("%d", "%x", "%s", "%r"):
        with pytest.raises(LimitError):
            percent_format(ops, template, 1 << 20000)
    assert len(format_value(ops, 10**4299, "d")) == 4300


def test_text_at_the_limit_on_strings_and_beyond(ops, bounded):
    bounded(string=10)
    assert format_string(ops, "{0}{0}", ("abcde",), {}) == "abcdeabcde"
    assert percent_format(ops, "%s%s", ("abcde", "abcde")) == "abcdeabcde"
    assert reprs.repr_host(["abc", 1], ops.repr_of) == "['abc', 1]"
    for call in (
        lambda: format_string(ops, "{0}{0}!", ("abcde",), {}),
        lambda: percent_format(ops, "%s%s!", ("abcde", "abcde")),
        lambda: reprs.repr_host(["abc", 12], ops.repr_of),
        lambda: reprs.repr_host("\0" * 3, ops.repr_of),
        lambda: format_value(ops, 1, "11"),
    ):
        with pytest.raises(LimitError) as caught:
            call()
        assert caught.value.limit == "string"


CODES = st.lists(
    st.one_of(
        st.builds(
            "%{}{}{}{}".format,
            st.text(alphabet="-+ #0", max_size=2),
            st.sampled_from(["", "5", "*", "012"]),
            st.sampled_from(["", ".", ".2", ".*", ".0"]),
            st.sampled_from([*"srdiuoxXeEfFgGc%aqlhL", "", "ld", "é", "\n"]),
        ),
        st.sampled_from(["%%", "x", "%(a)s", "%(a)*d", "%(b)5d", "%(a", "%((a))s", "%(zz)s", "%"]),
    ),
    max_size=3,
).map("".join)


@settings(max_examples=500, deadline=None)
@given(
    template=CODES,
    right=st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=4).map(tuple), st.just({"a": 1, "b": 2.5})),
)
def test_percent_is_cpythons(ops, outcome, template, right):
    ours = outcome(percent_format, ops, template, right)
    if ours[0] == "ValueError" and "at most 1000" in ours[1]:
        return  # a width from an argument
    assert ours == outcome(lambda: template % right)


def test_cyclic_containers(ops):
    values = [1]
    values.append(values)
    table = {"a": (values,)}
    table["b"] = table
    for value in (values, table, [table, values]):
        assert reprs.repr_host(value, ops.repr_of) == repr(value)


@pytest.mark.slow
def test_deep_and_shared_containers(ops, bounded):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ProgramError, match="maximum recursion depth exceeded while getting the repr") as caught:
        reprs.repr_host(deep, ops.repr_of)
    assert caught.value.type_name == "RecursionError"
    ok = []
    for _ in range(998):
        ok = [ok]
    assert reprs.repr_host(ok, ops.repr_of) == "[" * 999 + "]" * 999
    shared = ["a"]
    for _ in range(100):
        shared = [shared, shared]
    bounded(string=1 << 20)
    with pytest.raises(LimitError, match="string"):
        reprs.repr_host(shared, ops.repr_of)


def test_repr_through_the_interpreter_ends():
    value = []

    def repr_of(inner):
        return reprs.repr_host([inner], repr_of)

    class Holder:
        pass

    value.append(Holder())
    with pytest.raises(ProgramError, match="maximum recursion depth"):
        reprs.repr_host(value, repr_of)
    assert reprs.repr_host([1], repr_of) == "[1]"


def test_sets_have_one_order(ops):
    assert reprs.repr_host({"b", "a", "c"}, ops.repr_of) == "{'a', 'b', 'c'}"
    assert reprs.repr_host({3, 1, 2}, ops.repr_of) == repr({3, 1, 2})
    assert reprs.repr_host({"b", 2, None, (1, "x")}, ops.repr_of) == "{(1, 'x'), 2, None, 'b'}"
    assert reprs.repr_host([set()], ops.repr_of) == "[set()]"


@pytest.mark.slow
def test_a_template_of_many_fields_takes_linear_time(ops):
    count = 100_000
    assert format_string(ops, "{}" * count, tuple(range(10)) * (count // 10), {}) == string.digits * (count // 10)
    assert json.loads(percent_format(ops, "[%s]", ",".join(["1"] * count)))[-1] == 1
