"""What one session can change, as one object that is put in force on entry and left on exit.

The objects in force are single ones, which hot paths refer to: `node.state`, the default generator, the default dtype, the
print options and the limits. While a session is not in force, its `SessionState` keeps what they are to hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from gradcli import limits
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import State, state
from gradcli.core.tensor.printing import PrintOptions
from gradcli.limits import Limits


class SessionState:
    """Modes of autograd, default dtype, print options, random numbers, warnings given once, and limits of one session.

    `with session_state:` puts it in force; such blocks nest. `seed` is that of the default generator, `precision` the digits that
    tensors print with.
    """

    __slots__ = ("_modes", "_dtype", "_options", "_generator", "_limits", "_memory", "_depth", "warned")

    def __init__(self, bounds: Limits, *, dtype: DType = dtypes.float32, seed: int = 0, precision: int | None = None) -> None:
        self._modes = State()
        self._modes.recount = bounds.nodes
        self._dtype = dtype
        self._options = PrintOptions()
        if precision is not None:
            self._options.precision = precision
        self._generator = Generator().manual_seed(seed)
        self._limits = bounds
        self._memory = limits.memory.baseline()
        self._depth = 0
        #: the warnings that PyTorch gives once in a process, of those that were given
        self.warned: set[str] = set()

    def __enter__(self) -> None:
        if not self._depth:
            self._exchange()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._exchange()

    def _exchange(self) -> None:
        """Swap what is in force with what is kept here."""
        _swap(state, self._modes, State.__slots__)
        _swap(generator.default, self._generator, Generator.__slots__)
        dtype = dtypes.get_default()
        dtypes.set_default(self._dtype)
        self._dtype = dtype
        self._options, printing.options = printing.options, self._options
        bounds = limits.current
        limits.use(self._limits)
        self._limits = bounds
        self._memory = limits.memory.exchange(self._memory)


_Object = TypeVar("_Object")


def _swap(one: _Object, other: _Object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(one, name)
        setattr(one, name, getattr(other, name))
        setattr(other, name, value)


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
