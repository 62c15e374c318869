"""Arrays without elements, which show the operations of numpy that the steps of a plan consist of.

Forward functions and rules are functions of arrays. Called with symbols they give symbols, each of which tells the operation of numpy
that made it and what that was applied to. Symbols are of one large shape, or single numbers. An operation that is met again gives the
symbol that it gave before, and what is made of constants alone is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradcli.core.graph.namespaces import Numeric
from gradcli.core.kernels import Array, blocks
from gradcli.core.tensor.dtypes import DType

#: what an operation is applied to: a symbol, or a number, which may be an array without dimensions
Operand = Any


class NotTraceableError(Exception):
    """A function asks for elements, or for something else that a symbol has not."""


class Given(NamedTuple):
    """The step of an array that is handed over."""

    slot: int


class Reduce(NamedTuple):
    """The step of a reduction over all elements, as numpy is asked for it."""

    ufunc: Any
    axis: Any


class _Repeat(NamedTuple):
    to: str  # tells the two apart


#: the steps of a number that is repeated to the large shape, and of one in another shape of one element
EXPAND, RESHAPE = _Repeat("large"), _Repeat("small")


class Symbol(NDArrayOperatorsMixin):
    """An array without elements."""

    __slots__ = ("dtype", "inputs", "level", "number", "shape", "step", "trace")

    def __init__(self, trace: Trace, step: Any, inputs: tuple[Operand, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.trace = trace
        self.step = step
        self.inputs = inputs
        self.shape = shape
        self.dtype = dtype
        #: the symbol's place in the order of making
        self.number = len(trace.symbols)
        #: the reductions that come before it, one after the other
        self.level: int = max((one.level for one in inputs if type(one) is Symbol), default=0) + (type(step) is Reduce)
        trace.symbols.append(self)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Symbol:
        if index == () and not self.shape:
            return self
        raise NotTraceableError

    def reshape(self, *shape: Any) -> Symbol:
        """Another shape of the same number of elements, which has to be one."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        if wanted == self.shape:
            return self
        if self.size != 1 or math.prod(wanted) != 1:
            raise NotTraceableError
        return self.trace.made(RESHAPE, (self,), wanted, self.dtype)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The array in another dtype."""
        return self.trace.cast(self, np.dtype(dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise NotTraceableError

    def __bool__(self) -> bool:
        raise NotTraceableError

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and ufunc.nout == 1 and ufunc.signature is None and options.keys() <= {"dtype"}:
            return self.trace.call(ufunc, inputs, options.get("dtype"))
        if method == "reduce" and len(inputs) == 1 and blocks.is_of_everything(self, options):
            return self.trace.reduce(ufunc, self, options)
        raise NotTraceableError

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            return self.trace.where(args)
        raise NotTraceableError


class Trace:
    """The symbols of one plan, whose large arrays have this shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.symbols: list[Symbol] = []
        self._known: dict[Any, Any] = {}

    def given(self, slot: int, array: Array) -> Symbol:
        """The symbol of an array that is handed over. Raises NotTraceableError for one of another shape, or with gaps."""
        if array.size != 1 and (array.shape != self.shape or array.strides != np.empty(array.shape, array.dtype).strides):
            raise NotTraceableError
        return Symbol(self, Given(slot), (), array.shape, array.dtype)

    def lifted(self, value: Any) -> Any:
        """A value as an operand: a large array of equal elements as a number that is repeated. Raises NotTraceableError for any other."""
        if type(value) is not np.ndarray or value.size == 1:
            return value
        first = np.array(value.flat[0])
        bits = np.dtype(f"u{value.itemsize}")
        if value.shape != self.shape or (any(value.strides) and np.any(value.view(bits) != first.view(bits))):
            raise NotTraceableError
        return self.made(EXPAND, (first,), self.shape, value.dtype)

    def made(self, step: Any, inputs: tuple[Operand, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The symbol of an operation, the same for the same operation."""
        key = (step, shape, dtype, *map(_key, inputs))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Symbol(self, step, inputs, shape, dtype)
        return found

    def _elementwise(self, step: Callable[..., Any], operands: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """An operation on numbers, or on arrays of the large shape."""
        lifted = [self.lifted(one) for one in operands]
        large = any(type(one) is Symbol and one.shape == self.shape for one in lifted)
        shape = self.shape if large else _shape_of(lifted)
        inputs = tuple([_number(one) for one in lifted])
        if not any(type(one) is Symbol for one in inputs):
            value = np.empty((), dtype)
            step(*inputs, out=value)
            return self.made(EXPAND, (value,), shape, dtype) if large else value.reshape(shape)
        if large and not any(type(one) is Symbol and one.shape == self.shape for one in inputs):
            return self.made(EXPAND, (self.made(step, inputs, (), dtype),), shape, dtype)
        same = _unchanged(step, inputs)
        if same is not None and same.dtype is dtype and same.shape == shape:
            return same
        if (step is np.add or step is np.multiply) and type(inputs[0]) is not Symbol:
            inputs = inputs[::-1]  # two arrays keep their order, which decides which of two nans is the result
        return self.made(step, inputs, shape, dtype)

    def call(self, ufunc: Any, operands: Sequence[Any], dtype: Any = None) -> Any:
        """What a function of numpy gives, computed in a dtype if one is given."""
        if dtype is not None:
            operands = [self.cast(one, np.dtype(dtype)) if hasattr(one, "dtype") else one for one in operands]
        return self._elementwise(ufunc, operands, blocks.result_dtype(ufunc, operands))

    def cast(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """An array in another dtype."""
        if value.dtype == dtype:
            return value
        if dtype.kind not in "fb":
            raise NotTraceableError
        return self._elementwise(blocks.cast_into, (value,), dtype)

    def where(self, operands: Sequence[Any]) -> Any:
        """`np.where` of three operands."""
        kinds = [one.dtype if type(one) is Symbol else one for one in operands[1:]]
        return self._elementwise(blocks.where_into, operands, np.result_type(*kinds))

    def reduce(self, ufunc: Any, array: Symbol, options: dict[str, Any]) -> Any:
        """A reduction over all elements."""
        shape = (1,) * array.ndim if options.get("keepdims") else ()
        axis = options.get("axis", 0)
        if array.shape != self.shape:
            return array.reshape(shape)
        if array.step is EXPAND:
            if type(array.inputs[0]) is Symbol:
                raise NotTraceableError
            return np.asarray(ufunc.reduce(np.broadcast_to(array.inputs[0], self.shape), axis=axis)).reshape(shape)
        total = self.made(Reduce(ufunc, axis), (array,), (), array.dtype)
        return total.reshape(shape)


def _key(operand: Operand) -> Any:
    """What tells one operand from another: a number by its bits."""
    if type(operand) is Symbol:
        return operand.number
    if isinstance(operand, (np.ndarray, np.generic)):
        return (operand.dtype, operand.tobytes())
    return (type(operand), repr(operand))


def _shape_of(operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape of the result of numbers, each of which may have some dimensions of size 1."""
    shape: tuple[int, ...] = np.broadcast_shapes(*[np.shape(one) if type(one) is not Symbol else one.shape for one in operands])
    return shape


def _number(operand: Any) -> Operand:
    """What is repeated, for a number that is repeated; an array of one element without dimensions."""
    if type(operand) is Symbol:
        return _number(operand.inputs[0]) if operand.step is EXPAND or operand.step is RESHAPE else operand
    if type(operand) is np.ndarray:
        return operand.reshape(())
    if isinstance(operand, (int, float, np.generic)):
        return operand
    raise NotTraceableError


def _unchanged(step: Any, inputs: tuple[Operand, ...]) -> Symbol | None:
    """The operand that a product with 1, or a quotient by 1, is equal to."""
    if step is np.multiply or step is np.true_divide:
        first, second = inputs
        if type(first) is Symbol and type(second) is not Symbol and second == 1:
            return first
        if step is np.multiply and type(second) is Symbol and type(first) is not Symbol and first == 1:
            return second
    return None


class Symbolic(Numeric):
    """The namespace of rules on symbols."""

    __slots__ = ()

    @staticmethod
    def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
        """A number repeated to the large shape."""
        if type(x) is not Symbol:
            return Numeric.broadcast_to(np.asarray(x), shape)
        if x.shape == tuple(shape):
            return x
        if x.size != 1 or tuple(shape) != x.trace.shape:
            raise NotTraceableError
        return x.trace.made(EXPAND, (_number(x),), tuple(shape), x.dtype)

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """numpy's choice; arrays in row-major order give one in row-major order."""
        return np.where(condition, x, y)

    @staticmethod
    def cast(x: Any, dtype: DType) -> Any:
        """Another floating dtype."""
        return x.astype(dtype.np)

    @staticmethod
    def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
        """The sum of all elements, in a shape of one element."""
        if type(x) is not Symbol or math.prod(shape) != 1:
            return Symbolic.broadcast_to(x, shape)
        return np.add.reduce(x, axis=None).reshape(shape)
