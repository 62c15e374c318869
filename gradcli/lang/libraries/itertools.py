"""`itertools`: iterators that are made of others. Those without end count their steps, and look at the memory in use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values import operators
from gradcli.lang.values.calls import call
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.execution import counting, ticking
from gradcli.lang.values.object_operations import collect, index_of, iterate
from gradcli.lang.values.special_methods import truth
from gradcli.lang.values.value_classes import Builtin, IteratorValue

#: the memory in use is looked at once in this many items
_ITEMS_PER_CHECK = 4096


def _made(kind: str, host: Iterator[Value], sources: Iterable[Value] = ()) -> IteratorValue:
    return IteratorValue(f"itertools.{kind}", ticking(host) if counting() else host, sources)


def _watched(values: Iterable[Value]) -> Iterator[Value]:
    """The same values; a list made of them cannot fill the memory unnoticed."""
    for at, value in enumerate(values):
        if not at % _ITEMS_PER_CHECK:
            limits.memory.check()
        yield value


def _test(function: Value) -> Callable[[Value], bool]:
    return truth if function is None else lambda value: truth(call(function, (value,), None))


def _count(start: Value = 0, step: Value = 1) -> IteratorValue:
    add = operators.BINARY["+"]

    def numbers() -> Iterator[Value]:
        value = start
        while True:
            yield value
            value = add(value, step)

    return _made("count", _watched(numbers()))


def _cycle(iterable: Value, /) -> IteratorValue:
    return _made("cycle", _watched(itertools.cycle(iterate(iterable))), (iterable,))


def _repeat(object: Value, times: Value = None) -> IteratorValue:
    host = itertools.repeat(object) if times is None else hosted(itertools.repeat, object, index_of(times))
    return _made("repeat", _watched(host))


def _chain(*iterables: Value) -> IteratorValue:
    return _made("chain", (item for one in iterables for item in iterate(one)), iterables)


def _chain_of(iterable: Value, /) -> IteratorValue:
    return _made("chain", (item for one in iterate(iterable) for item in iterate(one)), (iterable,))


def _product(*iterables: Value, repeat: Value = 1) -> IteratorValue:
    times = index_of(repeat)
    if times < 0:
        raise ProgramError("ValueError", "repeat argument cannot be negative")
    limits.check_list(times * len(iterables))
    return _made("product", itertools.product(*[collect(one) for one in iterables], repeat=times))


def _choosing(host: Callable[..., Iterator[Value]], name: str) -> Callable[[Value, Value], IteratorValue]:
    def run(iterable: Value, r: Value) -> IteratorValue:
        pool, size = collect(iterable), index_of(r)
        if size < 0:
            raise ProgramError("ValueError", "r must be non-negative")
        limits.check_list(size)
        return _made(name, host(pool, size))

    return run


def _permutations(iterable: Value, r: Value = None) -> IteratorValue:
    pool = collect(iterable)
    return _choosing(itertools.permutations, "permutations")(pool, len(pool) if r is None else r)


def _islice(iterable: Value, /, *bounds: Value) -> IteratorValue:
    if not 1 <= len(bounds) <= 3:
        most = "at least 2 arguments" if not bounds else "at most 4 arguments"
        raise ProgramError("TypeError", f"islice expected {most}, got {1 + len(bounds)}")
    numbers = [None if bound is None else index_of(bound) for bound in bounds]
    host = hosted(itertools.islice, iterate(iterable), *numbers)
    return _made("islice", host, (iterable,))


def _accumulate(iterable: Value, func: Value = None, *, initial: Value = None) -> IteratorValue:
    add = operators.BINARY["+"] if func is None else lambda total, item: call(func, (total, item), None)
    return _made("accumulate", itertools.accumulate(iterate(iterable), add, initial=initial), (iterable,))


def _zip_longest(*iterables: Value, fillvalue: Value = None) -> IteratorValue:
    host = itertools.zip_longest(*[iterate(one) for one in iterables], fillvalue=fillvalue)
    return _made("zip_longest", host, iterables)


def _groupby(iterable: Value, key: Value = None) -> IteratorValue:
    source = iterate(iterable)

    def groups() -> Iterator[Value]:
        """Pairs of key and group; a group that is not read to its end is passed over."""
        item, ended = next(source, None), False
        rest = [item]

        def advance() -> None:
            nonlocal ended
            try:
                rest[0] = next(source)
            except StopIteration:
                ended = True

        def group(own: Value) -> Iterator[Value]:
            while not ended and equal(key_of(rest[0]), own):
                found = rest[0]
                advance()
                yield found

        while not ended:
            own = key_of(rest[0])
            host = group(own)
            yield own, IteratorValue("itertools._grouper", host, (iterable,))
            for _ in host:
                pass

    def key_of(value: Value) -> Value:
        return value if key is None else call(key, (value,), None)

    def begun() -> Iterator[Value]:
        nonlocal source
        for first in source:
            source = itertools.chain((first,), source)
            yield from groups()
            return

    return _made("groupby", begun(), (iterable,))


def _starmap(function: Value, iterable: Value, /) -> IteratorValue:
    return _made("starmap", (call(function, tuple(collect(args)), None) for args in iterate(iterable)), (iterable,))


def _sifting(host: Callable[..., Iterator[Value]], name: str) -> Callable[[Value, Value], IteratorValue]:
    def run(predicate: Value, iterable: Value, /) -> IteratorValue:
        return _made(name, host(_test(predicate), iterate(iterable)), (iterable,))

    return run


def _compress(data: Value, selectors: Value) -> IteratorValue:
    host = (item for item, wanted in zip(iterate(data), iterate(selectors), strict=False) if truth(wanted))
    return _made("compress", host, (data, selectors))


def _tee(iterable: Value, n: Value = 2, /) -> tuple[IteratorValue, ...]:
    limits.check_list(index_of(n))
    return tuple([_made("_tee", one, (iterable,)) for one in hosted(itertools.tee, _watched(iterate(iterable)), index_of(n))])


def _pairwise(iterable: Value, /) -> IteratorValue:
    return _made("pairwise", itertools.pairwise(iterate(iterable)), (iterable,))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "count": _count,
    "cycle": _cycle,
    "repeat": _repeat,
    "product": _product,
    "permutations": _permutations,
    "combinations": _choosing(itertools.combinations, "combinations"),
    "combinations_with_replacement": _choosing(itertools.combinations_with_replacement, "combinations_with_replacement"),
    "islice": _islice,
    "accumulate": _accumulate,
    "zip_longest": _zip_longest,
    "groupby": _groupby,
    "starmap": _starmap,
    "takewhile": _sifting(itertools.takewhile, "takewhile"),
    "dropwhile": _sifting(itertools.dropwhile, "dropwhile"),
    "filterfalse": _sifting(itertools.filterfalse, "filterfalse"),
    "compress": _compress,
    "tee": _tee,
    "pairwise": _pairwise,
}


class Chain(Builtin):
    """`chain(...)`, and `chain.from_iterable`."""

    __slots__ = ()

    SCRIPT_NAME = "type"
    SCRIPT_ATTRIBUTES = {"from_iterable": lambda value: Builtin("from_iterable", _chain_of)}


MEMBERS: dict[str, Value] = {
    **{name: Builtin(name, function) for name, function in _FUNCTIONS.items()},
    "chain": Chain("chain", _chain, "<class 'itertools.chain'>"),
}
