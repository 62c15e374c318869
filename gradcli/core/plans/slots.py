"""The slots of a plan, and the steps of operations that were seen to run. What is not known to be the same each time makes no plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.record import Op
from gradcli.core.kernels import Array
from gradcli.core.plans.plan import Kind, Plan, Step, Text, packed
from gradcli.core.plans.watching import Ran
from gradcli.core.tensor.dtypes import DType, check_whole
from gradcli.core.tensor.tensor import Tensor

#: arrays of more elements are left to the ordinary way, whose walk treats them differently
LARGEST = 1 << 12


class NoPlanError(Exception):
    """The expression has no plan."""


class StepError(NoPlanError):
    """A step cannot be carried out, with values of whatever kind."""


def require(holds: bool) -> None:
    """Raise NoPlanError unless something holds."""
    if not holds:
        raise NoPlanError


def place_of(text: Text, origin: Any) -> int:
    """`text.place_of(origin)`. Raises NoPlanError."""
    try:
        return text.place_of(origin)
    except LookupError as error:
        raise NoPlanError from error


class Slots:
    """Numbers the slots, of names, leaves that are numbers, constants and results in this order, and makes steps of operations."""

    def __init__(self, values: Sequence[Any], ran: list[Ran], dtype: DType, text: Text | None = None) -> None:
        self.values = values
        self.ran = ran
        self.text = text
        self.plan = Plan()
        self.plan.dtype = dtype
        #: the slot of each tensor by its id, and the values of all slots
        self.slots: dict[int, int] = {}
        #: by the slot of a view of the tensor of a name: the slot of that tensor, and the operation that made the view
        self.views: dict[int, tuple[int, Op]] = {}
        self.content: list[Any] = []
        self.plan.kinds = tuple([self._leaf(value) for value in values])
        self.content += text.numbers if text else ()
        #: the slots of numbers that are leaves, by the id of an operation's result and the place of the number among its inputs
        self.numbers: dict[tuple[int, int], int] = {}
        #: by these slots, those of what the operations take, which are arrays without dimensions or the numbers themselves
        self.operands: dict[int, int] = {}
        #: for each operation, the slots of its arguments, -1 for tensors
        self.arguments: list[list[int]] = []

    def _leaf(self, value: Any) -> Kind:
        at = len(self.content)
        if type(value) is not Tensor:
            self.content.append(value)
            return (None, value, (), False)
        require(id(value) not in self.slots)  # two names of one tensor cannot be told apart
        self._check_tensor(value)
        self.slots[id(value)] = at
        self.content.append(self.given(value.array, at))
        return (value.dtype, value.array.shape, value.array.strides, value.requires_grad)

    def _check_tensor(self, tensor: Tensor) -> None:
        require(tensor.dtype is self.plan.dtype and (tensor.meta is None or "inference" not in tensor.meta))
        self.check_array(tensor.array)

    def check_array(self, array: Any) -> None:
        """Raise NoPlanError for an array that the plan is not for."""
        require(type(array) is np.ndarray and array.size <= LARGEST)
        self.plan.largest = max(self.plan.largest, array.size)

    def given(self, array: Any, slot: int) -> Any:
        """The content of the slot of a tensor with a name."""
        return array

    def check_uses(self, occurrences: Sequence[int | None], uses: Counter[int]) -> None:
        """Each tensor must be an operand wherever it stands: where a number is made of one, the number differs next time."""
        for value, count in zip(self.values, occurrences, strict=True):
            require(type(value) is not Tensor or count is None or uses[id(value)] == count)

    def number_constants(self) -> None:
        """Number the constants, and the results behind them."""
        made: dict[int, Callable[[Any], Any]] = {}
        scalar = _scalar_of(self.plan.dtype)
        for ran in self.ran:
            require(not (ran.op.many or ran.op.variadic or ran.op.on_tensors or ran.op.outputs) and len(ran.outs) == 1)
            given: list[int] = []
            for i, one in enumerate((*ran.inputs, *ran.attrs)):
                if i < len(ran.inputs) and type(one) is Tensor:
                    given.append(-1)
                    continue
                require(is_plain(one))
                as_scalar = isinstance(ran.op.forward, np.ufunc) and i < len(ran.inputs) and type(one) in (int, float)
                number = None if self.text is None or i >= len(ran.inputs) else self.text.number_at(ran.origin, one)
                if number is None:
                    given.append(len(self.content))
                    self.content.append(scalar(one) if as_scalar else one)
                    continue
                leaf = len(self.values) + number
                require(leaf not in self.operands)
                self.numbers[id(ran.outs[0]), i] = self.operands[leaf] = leaf
                given.append(leaf)
                if as_scalar or type(one) is int:
                    made[leaf] = scalar if as_scalar else _whole
            self.arguments.append(given)
        leaves = 0 if self.text is None else len(self.text.numbers)
        require(len(self.operands) == leaves)  # each number is an operand, and no other number is computed from one
        self.plan.constants = self.content[len(self.values) + leaves :]
        for leaf, function in made.items():
            self.operands[leaf] = len(self.content)
            self.content.append(function(self.content[leaf]))
        self.plan.steps = tuple([(function, leaf, -1, False) for leaf, function in made.items()])

    def step(self, ran: Ran, places: list[int]) -> Step:
        """The step of one operation, after it has given the same result once more."""
        out = ran.outs[0]
        self._check_tensor(out)
        given = [self.slots.get(id(ran.inputs[i]), -1) if at < 0 else self.operands.get(at, at) for i, at in enumerate(places)]
        require(min(given) >= 0)  # a tensor that the expression did not make
        arguments = [self.content[at] for at in given]
        try:
            result = ran.op.forward(*arguments)
        except Exception as error:
            raise StepError from error
        self.slots[id(out)] = len(self.content)
        return (self.result(ran, given, arguments, result), *packed(given), type(result) is not np.ndarray)

    def result(self, ran: Ran, given: list[int], arguments: list[Any], result: Any) -> Any:
        """Note what a step has given. Its function, which may be a faster one."""
        out = ran.outs[0]
        array = np.asarray(result)
        same = array.dtype is out.array.dtype and array.shape == out.array.shape and array.strides == out.array.strides
        require(same and type(out.array) is np.ndarray and array.tobytes() == out.array.tobytes())
        if ran.op.view:
            self.views[len(self.content)] = (self._base(ran.inputs, given[0]), ran.op)
        else:
            require(not any(type(one) is np.ndarray and np.may_share_memory(array, one) for one in arguments))
        self.content.append(out.array)
        return _with_scalar(ran.op.forward, arguments, array)

    def _base(self, inputs: Sequence[Any], slot: int) -> int:
        """The slot of the tensor that a view is of, which must be that of a name, whose version is checked."""
        base = self.views[slot][0] if slot in self.views else slot
        require(len(inputs) == 1 and base < len(self.values) and self.values[base].view is None and inputs[0].array.size > 0)
        return base


def _with_scalar(function: Any, arguments: list[Any], result: Array) -> Any:
    """A function of numpy that takes an operand with one element as a scalar, which takes half the time; any other function as it is."""
    if not isinstance(function, np.ufunc) or len(arguments) != 2:
        return function
    first, second = arguments
    faster: Callable[[Any, Any], Any]
    if _is_scalar(first, second):
        faster = lambda a, b: function(a.reshape(()), b)  # noqa: E731
    elif _is_scalar(second, first):
        faster = lambda a, b: function(a, b.reshape(()))  # noqa: E731
    else:
        return function
    again = faster(first, second)
    same = again.strides == result.strides and again.shape == result.shape and again.tobytes() == result.tobytes()
    return faster if same else function


def _is_scalar(one: Any, other: Any) -> bool:
    return type(one) is np.ndarray and type(other) is np.ndarray and one.size == 1 and one.ndim > 0 and other.size > 1


def _scalar_of(dtype: DType) -> Callable[[float], Array]:
    """A function that makes a number an array without dimensions, which functions of numpy take in less time. It raises ProgramError."""
    kind = dtype.np

    def scalar(number: float) -> Array:
        return np.array(_whole(number) if type(number) is int else number, kind)

    return scalar


def _whole(number: int) -> int:
    """The number. Raises ProgramError where 64 bits cannot hold it."""
    check_whole(number)
    return number


def is_plain(value: Any) -> bool:
    """Whether a plain argument is a value that the program wrote, no data."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str) or type(value) is DType
