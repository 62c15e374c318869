"""Lists, tuples, dicts, sets and ranges: CPython's results and errors, limits, and elements that cannot be compared."""

import itertools
import operator
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.errors import LimitError, ProgramError
from gradcli.lang.python import comparing, reprs, sequences
from gradcli.lang.python.dict_views import ItemsView, KeysView, ValuesView
from gradcli.lang.python.sequences import METHODS, largest, smallest, sorted_list

ITEM = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", 1.0, 2.5, None, True]), st.tuples(st.integers(0, 2)))
ANY = st.one_of(
    ITEM,
    st.lists(ITEM, max_size=3),
    st.dictionaries(ITEM, ITEM, max_size=2),
    st.sets(st.integers(0, 4), max_size=3),
    st.builds(range, st.integers(0, 4)),
)
ARGS = st.lists(ANY, max_size=3)
PAIRS = st.one_of(ARGS, st.lists(st.tuples(ITEM, ITEM), max_size=3).map(lambda pairs: [pairs]))


def agrees(ops, outcome, value, name, args):
    """Both versions of a method: the outcome, and what is left of the value."""
    ours, theirs = copied(value), copied(value)
    mine = outcome(METHODS[type(value)][name], ops, ours, *args)
    expected = outcome(getattr(theirs, name), *args)
    if name in ("keys", "values", "items") and isinstance(mine[0], type):
        result = METHODS[dict][name](ops, ours)
        assert ops.repr_of(result) == expected[1]
    elif name == "pop" and type(value) is set:
        assert mine[0] == expected[0]
        return
    else:
        assert mine == expected
    assert repr(ours) == repr(theirs)


def copied(value):
    return value if isinstance(value, (tuple, range)) else value.copy()


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(value=st.lists(ITEM, max_size=5), name=st.sampled_from(sorted(set(METHODS[list]) - {"sort"})), args=ARGS)
def test_list_methods_are_cpythons(ops, outcome, value, name, args):
    agrees(ops, outcome, value, name, args)


@settings(max_examples=300, deadline=None)
@given(value=st.lists(ITEM, max_size=5).map(tuple), name=st.sampled_from(sorted(METHODS[tuple])), args=ARGS)
def test_tuple_methods_are_cpythons(ops, outcome, value, name, args):
    agrees(ops, outcome, value, name, args)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(value=st.dictionaries(ITEM, ITEM, max_size=4), name=st.sampled_from(sorted(METHODS[dict])), args=PAIRS)
def test_dict_methods_are_cpythons(ops, outcome, value, name, args):
    agrees(ops, outcome, value, name, args)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(
    value=st.sets(st.integers(0, 5), max_size=4),
    name=st.sampled_from(sorted(METHODS[set])),
    args=st.lists(ANY.filter(lambda v: not isinstance(v, str)), max_size=2),
)
def test_set_methods_are_cpythons(ops, outcome, value, name, args):
    mine = outcome(METHODS[set][name], ops, value.copy(), *args)
    expected = outcome(getattr(value.copy(), name), *args)
    assert mine[0] == expected[0]
    if isinstance(mine[0], type) and mine[0] is set:
        assert METHODS[set][name](ops, value.copy(), *args) == getattr(value.copy(), name)(*args)
    elif name != "pop":
        assert mine == expected


@settings(max_examples=300, deadline=None)
@given(
    value=st.builds(range, st.integers(-5, 5), st.integers(-9, 9), st.sampled_from([1, 2, -1, -3])),
    name=st.sampled_from(["index", "count"]),
    args=ARGS,
)
def test_range_methods_are_cpythons(ops, outcome, value, name, args):
    agrees(ops, outcome, value, name, args)


@settings(max_examples=400, deadline=None)
@given(item=ANY, container=st.one_of(ANY, st.text(alphabet="ab", max_size=3)))
def test_in_is_cpythons(ops, outcome, item, container):
    assert outcome(comparing.contains, ops, container, item) == outcome(lambda: item in container)


def test_huge_ranges_answer_at_once(ops):
    huge = range(10**30)
    assert not comparing.contains(ops, huge, 2.5)
    assert not comparing.contains(ops, huge, "a")
    assert comparing.contains(ops, huge, 1e9)
    assert not comparing.contains(ops, huge, float("nan"))
    assert METHODS[range]["count"](ops, huge, 0.5) == 0
    assert METHODS[range]["index"](ops, range(0, 10**30, 2), 10.0) == 5
    assert (smallest(ops, huge), largest(ops, huge)) == (0, 10**30 - 1)
    assert (smallest(ops, range(5, 0, -2)), largest(ops, range(5, 0, -2))) == (1, 5)


# --- order ----------------------------------------------------------------------------------------------------

SORTABLE = st.one_of(
    st.lists(st.integers(-5, 5) | st.floats(allow_nan=False)),
    st.lists(st.text(max_size=2)),
    st.lists(st.tuples(st.integers(0, 2), st.text(max_size=1))),
    st.lists(ITEM, max_size=4),
)


@settings(max_examples=300, deadline=None)
@given(values=SORTABLE, reverse=st.booleans(), keyed=st.booleans())
def test_sort_is_cpythons(ops, outcome, values, reverse, keyed):
    kwargs = {"reverse": reverse, "key": repr if keyed else None}
    assert outcome(sorted_list, ops, values, **kwargs) == outcome(sorted, values, **kwargs)


def test_sort_is_stable_and_asks_the_interpreter(ops):
    asked = []

    class Ops(type(ops)):
        def less(self, a, b):
            asked.append((a, b))
            return a[0] < b[0]

    values = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    assert METHODS[list]["sort"](Ops(), values) is None
    assert values == [(0, "b"), (0, "d"), (1, "a"), (1, "c")]
    assert asked
    asked.clear()
    assert sorted_list(Ops(), [3, 1.5, True]) == [True, 1.5, 3]
    assert sorted_list(Ops(), ["b", "a"]) == ["a", "b"]
    assert not asked
    assert sorted_list(ops, [(1, 2), (0, 1), (1, 1)], key=lambda pair: pair[0], reverse=True) == [(1, 2), (1, 1), (0, 1)]


def test_sort_leaves_the_items_after_an_error(ops, outcome):
    values = [1, "a", 2]
    assert outcome(METHODS[list]["sort"], ops, values)[0] == "TypeError"
    assert sorted(values, key=str) == [1, 2, "a"]

    def grow(item):
        values.append(item)
        return 0

    assert outcome(METHODS[list]["sort"], ops, values, key=grow) == ("ValueError", "list modified during sort")
    assert len(values) == 3


#: the messages of other versions differ
of_python_311 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the messages are those of Python 3.11")


@of_python_311
@pytest.mark.parametrize(
    "args", [(), (5,), ([],), ([1, "a"],), (2, 1.5), (1, "a"), (["b", "a"],), ([(1, 2), (1, 1)],), ([1.0, 1],), (1, 1.0)]
)
@pytest.mark.parametrize("kwargs", [{}, {"default": 7}, {"key": str}, {"key": 3}, {"foo": 3}])
def test_min_and_max_are_cpythons(ops, outcome, args, kwargs):
    assert outcome(smallest, ops, *args, **kwargs) == outcome(min, *args, **kwargs)
    assert outcome(largest, ops, *args, **kwargs) == outcome(max, *args, **kwargs)


@of_python_311
@pytest.mark.parametrize("kwargs", [{"foo": 1}, {"reverse": "a"}, {"key": 3}, {"reverse": 1}])
def test_arguments_of_sort(ops, outcome, kwargs):
    assert outcome(sorted_list, ops, [2, 1], **kwargs) == outcome(sorted, [2, 1], **kwargs)
    assert outcome(METHODS[list]["sort"], ops, [2, 1], **kwargs) == outcome([2, 1].sort, **kwargs)
    assert outcome(METHODS[list]["sort"], ops, [2, 1], 1) == outcome([2, 1].sort, 1)
    assert outcome(sorted_list, ops, [], 1) == outcome(sorted, [], 1)


# --- elements that are not of host type -------------------------------------------------------------------------


def test_identity_comes_before_equality(ops, opaque):
    a, b = opaque("a"), opaque("b")
    assert METHODS[list]["index"](ops, [a, b], a) == 0
    assert METHODS[list]["count"](ops, [a], a) == 1
    with pytest.raises(ProgramError, match="ambiguous"):
        METHODS[list]["index"](ops, [a, b], b)
    with pytest.raises(ProgramError, match="ambiguous"):
        comparing.contains(ops, (a, b), b)
    values = [a, b]
    with pytest.raises(ProgramError, match="ambiguous"):
        METHODS[list]["remove"](ops, values, b)
    assert len(values) == 2
    assert METHODS[dict]["get"](ops, {a: 1}, a) == 1
    assert METHODS[dict]["get"](ops, {a: 1}, b, 2) == 2


# --- views ----------------------------------------------------------------------------------------------------


def test_views_are_live(ops):
    table = {"a": 1}
    keys, values, items = (METHODS[dict][name](ops, table) for name in ("keys", "values", "items"))
    table["b"] = [2]
    assert (type(keys), type(values), type(items)) == (KeysView, ValuesView, ItemsView)
    assert (list(keys), list(values), list(items)) == (["a", "b"], [1, [2]], [("a", 1), ("b", [2])])
    assert len(keys) == len(values) == len(items) == 2
    assert ops.repr_of([keys, values, items]) == "[dict_keys(['a', 'b']), dict_values([1, [2]]), dict_items([('a', 1), ('b', [2])])]"
    assert comparing.contains(ops, keys, "b")
    assert comparing.contains(ops, values, [2])
    assert comparing.contains(ops, items, ("b", [2]))
    assert not comparing.contains(ops, items, ("b", 3))
    assert not comparing.contains(ops, items, "b")
    with pytest.raises(ProgramError, match=r"unhashable type: 'list'"):
        comparing.contains(ops, keys, [])
    with pytest.raises(ProgramError, match=r"unhashable type: 'dict_keys'"):
        comparing.check_hashable(keys)


def test_changes_while_iterating(ops):
    table = {1: 1}
    with pytest.raises(ProgramError, match="dictionary changed size during iteration"):
        for _ in KeysView(table):
            table[len(table) + 1] = 1
    values = {1}
    with pytest.raises(ProgramError, match="Set changed size during iteration"):
        for _ in reprs.iterate_set(values, ops.repr_of):
            values.add(len(values) + 1)


def test_sets_give_their_elements_in_one_order(ops):
    values = {"c", "a", "b"}
    assert [METHODS[set]["pop"](ops, values) for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(ProgramError, match=r"^'pop from an empty set'$"):
        METHODS[set]["pop"](ops, values)


# --- limits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "value", "fits", "passes"),
    [
        (list, "append", [1, 2], (3,), None),
        (list, "insert", [1, 2], (0, 3), None),
        (list, "extend", [1], ([2, 3],), ([2, 3, 4],)),
        (list, "extend", [1], ({2, 3},), ({2, 3, 4},)),
        (list, "extend", [1], (range(2),), (range(10**30),)),
        (list, "extend", [1], (KeysView({1: 1, 2: 2}),), (KeysView({1: 1, 2: 2, 3: 3}),)),
        (dict, "setdefault", {1: 1, 2: 2}, (3, 3), None),
        (dict, "update", {1: 1}, ({1: 1, 2: 2, 3: 3},), ({2: 2, 3: 3, 4: 4},)),
        (dict, "update", {1: 1}, ([(1, 1), (2, 2), (3, 3)],), ([(2, 1), (3, 2), (4, 3)],)),
        (set, "add", {1, 2}, (3,), None),
        (set, "update", {1}, ([1, 2, 3],), ([2, 3, 4],)),
        (set, "union", {1}, ([1, 2, 3],), ([2, 3, 4],)),
        (set, "symmetric_difference", {1, 2}, ([2, 3, 4],), ([3, 4],)),
    ],
)
def test_growth_at_the_limit_on_lists_and_beyond(ops, bounded, kind, name, value, fits, passes):
    bounded(list=3)
    method = METHODS[kind][name]
    grown = value.copy()
    result = method(ops, grown, *fits)
    assert len(result if isinstance(result, set) else grown) == 3
    again = grown if passes is None else value.copy()
    beyond = fits if passes is None else passes
    if kind in (dict, set) and passes is None:
        beyond = (4, *fits[1:])
    with pytest.raises(LimitError) as caught:
        method(ops, again, *beyond)
    assert caught.value.limit == "list"
    assert len(again) <= 3


def test_a_list_extended_by_itself(ops):
    values = [1, 2]
    METHODS[list]["extend"](ops, values, values)
    assert values == [1, 2, 1, 2]
    names = {1}
    METHODS[set]["update"](ops, names, names)
    assert names == {1}


def test_elements_are_counted_while_they_are_read(ops, bounded):
    bounded(list=1000)
    assert len(sequences.elements(ops, range(1000))) == 1000
    for source in (range(10**18), range(1001), itertools.repeat(0)):
        with pytest.raises(LimitError):
            sequences.elements(ops, source)


# --- depth ----------------------------------------------------------------------------------------------------


def nested(kind, depth):
    value = kind()
    for _ in range(depth):
        value = kind((value,))
    return value


@pytest.mark.slow
def test_deep_keys_are_refused():
    comparing.check_hashable(nested(tuple, 198))
    for depth in (200, 100_000):
        with pytest.raises(LimitError):
            comparing.check_hashable(nested(tuple, depth))
    with pytest.raises(ProgramError, match=r"unhashable type: 'list'"):
        comparing.check_hashable((1, (2, [3])))
    with pytest.raises(ProgramError, match=r"unhashable type: 'slice'"):
        comparing.check_hashable(slice(1))


def test_keys_that_share_their_parts_are_counted(bounded):
    bounded(list=100_000)
    key = (1,)
    for _ in range(100):
        key = (key, key)
    with pytest.raises(LimitError):
        comparing.check_hashable(key)


@settings(max_examples=300, deadline=None)
@given(a=ANY, b=ANY)
def test_equality_and_order_are_cpythons(outcome, a, b):
    assert comparing.equal(a, b, operator.eq) == (a == b)
    for op in (operator.lt, operator.le, operator.gt, operator.ge):
        if type(a) is type(b) and isinstance(a, (list, tuple)):
            assert outcome(comparing.order, a, b, operator.eq, op, op) == outcome(op, a, b)


@pytest.mark.slow
def test_equality_of_deep_and_cyclic_containers():
    assert comparing.equal(nested(list, 900), nested(list, 900), operator.eq)
    assert comparing.equal({"a": [1, (2,)]}, {"a": [1, (2,)]}, operator.eq)
    a, b = [], []
    a.append(a)
    b.append(b)
    for x, y in ((a, b), (nested(list, 100_000), nested(list, 100_000))):
        with pytest.raises(ProgramError, match="maximum recursion depth exceeded in comparison"):
            comparing.equal(x, y, operator.eq)
