"""What one session can change, as one object that is put in force on entry and left on exit.

The objects in force are single ones, which hot paths refer to: `tensor.state.state`, the default generator, the default dtype, the
print options and the limits. While a session is not in force, its `SessionState` keeps what they are to hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gradcli import limits
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.printing import PrintOptions
from gradcli.core.tensor.state import State, state
from gradcli.limits import Limits


class SessionState:
    """Modes of autograd, default dtype, print options, random numbers, warnings given once, and limits of one session.

    `with session_state:` puts it in force; such blocks nest. `seed` is that of the default generator, `precision` the digits that
    tensors print with, `held` the memory that the process holds, in bytes, None to measure it.
    """

    __slots__ = ("_values", "_depth", "bounds", "warned")

    def __init__(
        self, bounds: Limits, *, dtype: DType = dtypes.float32, seed: int = 0, precision: int | None = None, held: int | None = None
    ) -> None:
        baseline = limits.memory.measure() if held is None else held
        #: while this is in force: what was in force before
        self._values: _Values = (*_beginning(bounds.nodes, seed, precision), dtype, bounds, baseline)
        self._depth = 0
        self.bounds = bounds
        #: the warnings that PyTorch gives once in a process, of those that were given
        self.warned: set[str] = set()

    def __enter__(self) -> None:
        if not self._depth:
            self._exchange()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        if self._depth == 1:
            try:
                self._exchange()
            except MemoryError:  # the exception on its way has freed memory, or its traceback will
                self._exchange()
        self._depth -= 1

    def _exchange(self) -> None:
        """Swap what is in force with what is kept here: wholly, or not at all where memory runs out."""
        before = _read()
        try:
            _write(self._values)
        except BaseException:
            _write(before)
            raise
        self._values = before


#: fields of `state` and of the default generator, print options, default dtype, limits, baseline of `limits.memory`
_Values = tuple[tuple[Any, ...], tuple[Any, ...], PrintOptions, DType, Limits, int]
_MODES, _NUMBERS = attrgetter(*State.__slots__), Generator.fields


def _read() -> _Values:
    return _MODES(state), _NUMBERS(generator.default), printing.options, dtypes.get_default(), limits.current, limits.memory.baseline


@lru_cache(64)
def _beginning(nodes: float, seed: int, precision: int | None) -> tuple[tuple[Any, ...], tuple[Any, ...], PrintOptions]:
    """What new sessions begin with, which is never changed but replaced; `nodes` is the bound on nodes."""
    modes = State()
    modes.recount = nodes
    return _MODES(modes), _NUMBERS(Generator().manual_seed(seed)), PrintOptions() if precision is None else PrintOptions(precision)


def _write(values: _Values) -> None:
    modes, numbers, printing.options, dtype, bounds, limits.memory.baseline = values
    state.put(modes)
    generator.default.put(numbers)
    dtypes.set_default(dtype)
    limits.use(bounds)


class HasState(Protocol):
    """An object whose methods run in a session."""

    @property
    def state(self) -> SessionState: ...


_Owner = TypeVar("_Owner", bound=HasState)
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Method = Callable[Concatenate[_Owner, _Parameters], _Result]


def in_force(method: _Method[_Owner, _Parameters, _Result]) -> _Method[_Owner, _Parameters, _Result]:
    """`method`, during which the state of its object is in force."""

    @wraps(method)
    def run(self: _Owner, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with self.state:
            return method(self, *args, **kwargs)

    return run
