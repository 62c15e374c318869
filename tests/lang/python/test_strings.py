"""The methods of strings: CPython's results and errors, and sizes refused before they are made."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.errors import LimitError, ProgramError
from gradcli.lang.python.strings import METHODS
from tests.counting import calls, peak

TEXT = st.one_of(
    st.text(alphabet="ab \t\n.,", max_size=12), st.text(max_size=5), st.sampled_from(["ß", "ΐx", "a\r\nb\n", "\x1c", "-1", "+5"])
)
ARGUMENT = st.one_of(
    TEXT, st.integers(-3, 20), st.none(), st.floats(), st.booleans(), st.tuples(TEXT, TEXT), st.lists(TEXT, max_size=3), st.just(10**30)
)
NAMED = st.dictionaries(st.sampled_from(["sep", "maxsplit", "keepends", "tabsize", "x"]), ARGUMENT, max_size=1)
UNARY = sorted(set(METHODS) - {"format", "translate"})  # translate takes dicts alone


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(name=st.sampled_from(UNARY), value=TEXT, args=st.lists(ARGUMENT, max_size=3), kwargs=NAMED)
def test_methods_are_cpythons(ops, outcome, name, value, args, kwargs):
    ours = outcome(METHODS[name], ops, value, *args, **kwargs)
    if ours == ("LimitError", "string"):
        assert 10**30 in args or 10**30 in kwargs.values()
        return
    assert ours == outcome(getattr(str, name), value, *args, **kwargs)


@pytest.mark.parametrize(
    ("name", "value", "fits", "passes"),
    [
        ("center", "ab", (10,), (11,)),
        ("ljust", "ab", (10,), (11,)),
        ("rjust", "ab", (10,), (11,)),
        ("zfill", "ab", (10,), (11,)),
        ("expandtabs", "\ta", (9,), (10,)),
        ("replace", "aa", ("a", "bbbbb"), ("a", "bbbbbb")),
        ("replace", "ab", ("", "bb"), ("", "bbb")),
        ("join", "--", (["abc", "d", "ef"],), (["abc", "de", "ef"],)),
        ("upper", "ß" * 5, (), None),
    ],
)
def test_results_at_the_limit_on_strings_and_beyond(ops, bounded, name, value, fits, passes):
    bounded(string=10)
    result = METHODS[name](ops, value, *fits)
    assert result == getattr(value, name)(*fits)
    assert len(result) <= 10
    with pytest.raises(LimitError) as caught:
        METHODS[name](ops, value + "ß" if passes is None else value, *(passes or ()))
    assert caught.value.limit == "string"


@pytest.mark.parametrize(
    ("name", "at", "beyond", "args"),
    [
        ("split", "a b c", "a b c d", ()),
        ("split", "a,b,c", "a,b,c,d", (",",)),
        ("rsplit", "a,b,c", "a,b,c,d", (",",)),
        ("rsplit", "a b c", "a b c d", ()),
        ("splitlines", "a\r\nb\nc\n", "a\nb\nc\nd", ()),
        ("split", "a,b,c", "a,b,c,d", (",", 3)),
    ],
)
def test_pieces_at_the_limit_on_lists_and_beyond(ops, bounded, name, at, beyond, args):
    bounded(list=3)
    assert METHODS[name](ops, at, *args) == getattr(at, name)(*args)
    with pytest.raises(LimitError) as caught:
        METHODS[name](ops, beyond, *args)
    assert caught.value.limit == "list"
    assert METHODS["split"](ops, "a,b,c,d", ",", 2) == ["a", "b", "c,d"]


@pytest.mark.parametrize(
    ("name", "value", "args"),
    [
        ("zfill", "1", (3 * 10**9,)),
        ("center", "1", (10**30,)),
        ("expandtabs", "\t", (3 * 10**9,)),
        ("replace", "a" * 3000, ("a", "b" * 1000000)),
        ("replace", "a" * 10**6, ("", "b" * 1000)),
        ("join", "a" * 10**6, (["b"] * 1000,)),
    ],
)
def test_bombs_are_refused_before_they_are_made(ops, name, value, args):
    def refused():
        with pytest.raises(LimitError):
            METHODS[name](ops, value, *args)

    assert peak(refused) < 100_000


@pytest.mark.parametrize(("name", "forward"), [("rfind", "find"), ("rindex", "find"), ("rsplit", "split"), ("rpartition", "partition")])
def test_searches_from_the_right_are_linear(ops, outcome, name, forward):
    """CPython's searches are linear from the left only, so that a long text is reversed."""
    value = "a" * 400_000
    part = "a" * 50_000 + "b" + "a" * 50_000
    assert calls(lambda: outcome(METHODS[name], ops, value, part))[forward] == 1


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["rfind", "rindex", "rsplit", "rpartition"]),
    value=st.text(alphabet="ab", max_size=14),
    part=st.text(alphabet="ab", min_size=2, max_size=3),
    extra=st.lists(st.one_of(st.none(), st.integers(-9, 16), st.just("x"), st.just(10**30)), max_size=2),
)
def test_turned_searches_agree(ops, outcome, name, value, part, extra):
    import gradcli.lang.python.strings as strings

    before = strings._QUADRATIC
    strings._QUADRATIC = 0
    try:
        ours = outcome(METHODS[name], ops, value, part, *extra)
    finally:
        strings._QUADRATIC = before
    assert ours == outcome(getattr(value, name), part, *extra)


def test_join_reads_iterables_of_the_interpreter(ops, opaque):
    assert METHODS["join"](ops, "-", {"a": 1, "b": 2}) == "a-b"
    assert METHODS["join"](ops, "", {"b", "a"}) == "ab"
    with pytest.raises(ProgramError, match=r"^can only join an iterable$"):
        METHODS["join"](ops, "-", opaque("t"))
    with pytest.raises(ProgramError, match=r"^sequence item 1: expected str instance, Tensor found$"):
        METHODS["join"](ops, "-", ["a", opaque("t")])


def test_types_of_the_interpreter_have_their_names_in_messages(ops, opaque):
    with pytest.raises(ProgramError, match=r"'Tensor' object cannot be interpreted as an integer"):
        METHODS["center"](ops, "a", opaque("t"))


def test_no_way_to_host_objects():
    assert not {"encode", "maketrans", "format_map"} & set(METHODS)
    assert not [name for name in METHODS if name.startswith("_")]
