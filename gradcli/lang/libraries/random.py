"""`random`: Python's own numbers, number for number. They belong to the session, and begin with its seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.core.ops import operators as core
from gradcli.core.random import generator
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import HOST_TYPES, Value, hosted
from gradcli.lang.values.object_operations import collect, index_of, to_number
from gradcli.lang.values.value_classes import Builtin

#: distributions, which take real numbers
_OF_NUMBERS = (
    *("uniform", "gauss", "normalvariate", "lognormvariate", "expovariate", "betavariate", "gammavariate", "triangular"),
    *("vonmisesvariate", "paretovariate", "weibullvariate"),
)


def _sequence(value: Value) -> Value:
    return value if type(value) in HOST_TYPES or isinstance(value, tuple) else collect(value)


class RandomNumbers(Scripted):
    """`random.Random(seed)`. The functions of the module are its methods, on the numbers of the session."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "Random"

    def __init__(self, seed: Value = None) -> None:
        self.host = random.Random(0)
        self.seed(seed)

    def copied(self, deep: bool) -> RandomNumbers:
        """A stream of its own that goes on alike."""
        made = RandomNumbers(0)
        made.host.setstate(self.host.getstate())
        return made

    def seed(self, a: Value = None, version: Value = 2) -> None:
        """Begin anew; without a seed, with that of the session."""
        if a is None:
            a = generator.default.initial_seed()
        if type(a) not in (int, float, bool, str):
            raise ProgramError("TypeError", "The only supported seed types are: None,\nint, float, str, bytes, and bytearray.")
        self.host.seed(a)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self.host.random()

    def randint(self, a: Value, b: Value) -> int:
        """A whole number from `a` to `b`, both included."""
        return self.host.randint(index_of(a), index_of(b))

    def randrange(self, start: Value, stop: Value = None, step: Value = 1) -> int:
        """An element of a range."""
        return self.host.randrange(index_of(start), None if stop is None else index_of(stop), index_of(step))

    def getrandbits(self, k: Value) -> int:
        """A whole number of `k` bits."""
        bits = index_of(k)
        limits.check_integer(1 << min(max(bits, 0), 1 << 20))
        return self.host.getrandbits(bits)

    def choice(self, seq: Value) -> Value:
        """An element of a sequence."""
        values = _sequence(seq)
        if type(values) is set:
            raise type_error("'{}' object is not subscriptable", values)
        if not values:
            raise ProgramError("IndexError", "Cannot choose from an empty sequence")
        return self.host.choice(values)

    def choices(self, population: Value, weights: Value = None, *, cum_weights: Value = None, k: Value = 1) -> list[Value]:
        """`k` elements, each drawn anew."""
        count = index_of(k)
        limits.check_list(count)
        given, total = [None if one is None else _numbers(one) for one in (weights, cum_weights)]
        return self.host.choices(_sequence(population), given, cum_weights=total, k=count)

    def sample(self, population: Value, k: Value, *, counts: Value = None) -> list[Value]:
        """`k` elements of different places."""
        values = _sequence(population)
        if type(values) is set:
            raise ProgramError("TypeError", "Population must be a sequence.  For dicts or sets, use sorted(d).")
        limits.check_list(index_of(k))
        return self.host.sample(values, index_of(k), counts=None if counts is None else [index_of(one) for one in collect(counts)])

    def shuffle(self, x: Value) -> None:
        """Bring a list into another order, in place; rows of a tensor are exchanged by assignments, so that some are lost."""
        if type(x) is Tensor and x.array.ndim:
            for i in reversed(range(1, len(x.array))):
                j = self.host.randrange(i + 1)
                first, second = core.getitem(x, j), core.getitem(x, i)
                core.setitem(x, i, first)
                core.setitem(x, j, second)
            return
        if type(x) is not list:
            raise type_error("'{}' object does not support item assignment", x)
        self.host.shuffle(x)

    def getstate(self) -> Value:
        """The state, for `setstate`."""
        return self.host.getstate()

    def setstate(self, state: Value) -> None:
        """Go on from a state."""
        self.host.setstate(state)

    SCRIPT_METHODS: dict[str, Routine] = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (seed, random, randint, randrange, getrandbits, choice, choices, sample, shuffle, getstate, setstate)
    }


def _numbers(values: Value) -> list[float]:
    return [value if type(value) in (int, float, bool) else to_number(value) for value in collect(values)]


def _distribution(name: str) -> Routine:
    def draw(self: RandomNumbers, /, *args: Value, **kwargs: Value) -> float:
        named = dict(zip(kwargs, _numbers(list(kwargs.values())), strict=True))
        found = hosted(lambda: getattr(self.host, name)(*_numbers(args), **named))
        return found if isinstance(found, float) else math.nan

    return Routine(draw, name, hide_first=True)


RandomNumbers.SCRIPT_METHODS = RandomNumbers.SCRIPT_METHODS | {name: _distribution(name) for name in _OF_NUMBERS}


def _of_session() -> RandomNumbers:
    """The session's numbers: its default generator keeps them, so that they are saved and put back with it."""
    made: RandomNumbers = RandomNumbers.__new__(RandomNumbers)
    if generator.default.python is None:
        generator.default.python = random.Random(generator.default.initial_seed())
    made.host = generator.default.python
    return made


def _function(method: Routine) -> Callable[..., Value]:
    return lambda *args, **kwargs: method(_of_session(), *args, **kwargs)


MEMBERS: dict[str, Value] = {
    **{name: Builtin(name, _function(method)) for name, method in RandomNumbers.SCRIPT_METHODS.items()},
    "Random": script_type(RandomNumbers, "random"),
}
