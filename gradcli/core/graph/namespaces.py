"""The two namespaces that rules are written for: `numeric` on arrays, `traced` on tensors, with numpy's names.

`xp.call(OP, ...)` runs any operation record in either world, so a rule may use what has no numpy name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.kernels import Array, Axes, elementary, memory_format, products, summation
from gradcli.core.kernels.blocks import Deferred
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, ones_like, wrap

if TYPE_CHECKING:
    from gradcli.core.graph.record import Op

#: what rules compute with: arrays and numbers, or tensors
Value = Tensor | Array | np.generic | float
Shape = int | Sequence[int]


class Provided:
    """What rules on tensors need of the wings above this one. `gradcli.core` provides it."""

    __slots__ = ("function", "method", "to_dtype")

    #: the public function `torch.NAME`
    function: Callable[[str], Any]
    #: the public method `Tensor.NAME`
    method: Callable[[str], Any]
    #: the tensor in another dtype, recorded as ToCopyBackward0
    to_dtype: Callable[[Tensor, DType], Tensor]


provided = Provided()


def as_tensor(value: Value) -> Tensor:
    """Arrays and numpy scalars as tensors; tensors as they are."""
    return value if isinstance(value, Tensor) else wrap(value)


class Numeric:
    """The namespace of rules on arrays: numpy's functions, and some that numpy lacks."""

    __slots__ = ()

    exp = staticmethod(elementary.exp)
    exp2 = staticmethod(elementary.exp2)
    log = staticmethod(elementary.log)
    log1p = staticmethod(elementary.log1p)
    expm1 = staticmethod(elementary.expm1)
    sqrt = staticmethod(np.sqrt)
    sin = staticmethod(elementary.sin)
    cos = staticmethod(elementary.cos)
    tan = staticmethod(elementary.tan)
    sinh = staticmethod(elementary.sinh)
    cosh = staticmethod(elementary.cosh)
    tanh = staticmethod(elementary.tanh)
    abs = staticmethod(np.abs)
    sign = staticmethod(np.sign)
    floor = staticmethod(np.floor)
    trunc = staticmethod(np.trunc)
    where = staticmethod(memory_format.where)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    matmul = staticmethod(products.matmul)
    expand_dims = staticmethod(np.expand_dims)
    isnan = staticmethod(np.isnan)
    logical_and = staticmethod(np.logical_and)
    logical_or = staticmethod(np.logical_or)
    logical_not = staticmethod(np.logical_not)
    roll = staticmethod(np.roll)
    tril = staticmethod(np.tril)
    triu = staticmethod(np.triu)

    @staticmethod
    def sum(x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
        """Sum over axes; of everything by default."""
        return summation.total(x, axis, keepdims)

    @staticmethod
    def broadcast_to(x: Any, shape: Sequence[int]) -> Array:
        """Repeated to a larger shape without copying, then read-only."""
        if not x.ndim:  # the common case, without numpy's iterator
            x = np.asarray(x)
            made: Array = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
            made.setflags(write=False)
            return made
        if x.shape == tuple(shape):
            return x  # type: ignore[no-any-return]
        # numpy would give dimensions of size 1 the stride 0
        return memory_format.expanded(x, shape) if 1 in shape else np.broadcast_to(x, shape)

    @staticmethod
    def reshape(x: Any, shape: Shape) -> Array:
        """Another shape, with the strides of PyTorch's views where numpy forgets those of dimensions of size 1."""
        made = np.reshape(x, shape)
        return memory_format.as_viewed(x, made) if made.ndim and 1 in x.shape else made

    @staticmethod
    def flip(x: Array, axis: int | tuple[int, ...]) -> Array:
        """Reversed along axes, in a copy."""
        return memory_format.laid_out(np.flip(x, axis), memory_format.preserved(x))

    @staticmethod
    def mT(x: Array) -> Array:
        """The last two axes swapped."""
        return x.swapaxes(-1, -2)

    @staticmethod
    def zeros(shape: Shape, dtype: DType) -> Array:
        """Zeros."""
        return np.zeros(shape, dtype.np)

    @staticmethod
    def zeros_like(x: Any) -> Array:
        """Zeros of the same shape and dtype, with its memory format."""
        if type(x) is np.ndarray and x.ndim > 1 and not x.flags.c_contiguous:
            return memory_format.zeros_like(x)
        return np.zeros(x.shape, x.dtype)

    @staticmethod
    def ones_like(x: Any) -> Array:
        """Ones of the same shape and dtype."""
        return np.ones(x.shape, x.dtype)

    @staticmethod
    def plain(x: Any) -> Any:
        """The array of a value that is used as data only (an index, a mask): no derivative passes."""
        return x.array if type(x) is Tensor else x

    @staticmethod
    def cast(x: Any, dtype: DType) -> Array:
        """Another dtype."""
        return dtypes.cast(np.asarray(x), dtype)

    @staticmethod
    def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
        """Undo broadcasting: sum away what is not in `shape`; or repeat up to it."""
        if shape.count(1) == len(shape) and x.size > 1:
            return np.asarray(summation.total(x)).reshape(shape)
        x = np.asarray(x)
        lead = x.ndim - len(shape)
        axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1)
        if lead < 0 or any(x.shape[i + lead] not in (n, 1) and n != 1 for i, n in enumerate(shape)):
            return np.broadcast_to(x, shape)
        if axes:
            x = summation.total(x, axes, True)
        if lead:
            x = x.reshape(x.shape[lead:])
        return x if x.shape == shape else np.broadcast_to(x, shape)

    @staticmethod
    def call(op: Op, *args: Any) -> Any:
        """Run an operation record on arrays."""
        arrays = [a.array if type(a) is Tensor else a for a in args]
        if op.view and not arrays[0].size:
            return op.forward(memory_format.spelled_out(arrays[0]), *arrays[1:])
        if not op.elementwise or type(arrays[0]) is not np.ndarray:
            return op.forward(*arrays)
        result = (in_single(op.forward) if arrays[0].dtype == np.float16 else op.forward)(*arrays)
        if type(result) is not np.ndarray or result.ndim < 2 or 1 not in result.shape:
            return result
        # numpy forgets the strides of dimensions of size 1
        return memory_format.like_operands(result, [a if type(a) is np.ndarray else memory_format.NUMBER for a in arrays])


def in_single(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, with half precision computed in single precision and rounded once, as PyTorch's kernels do."""

    def run(*args: Any) -> Any:
        halves = [isinstance(a, (np.ndarray, Deferred)) and a.dtype == np.float16 for a in args]
        if not any(halves):
            return forward(*args)
        wide = [memory_format.in_dtype(np.asarray(a), np.dtype(np.float32)) if half else a for a, half in zip(args, halves, strict=True)]
        result = np.asarray(forward(*wide))
        return memory_format.in_dtype(result, np.dtype(np.float16)) if result.dtype == np.float32 else result

    return run


class Traced:
    """The namespace of rules on tensors: the same names, recorded while grad mode is on. Most are torch's function of that name."""

    def __getattr__(self, name: str) -> Any:
        # `name` comes from one of the rules in this package, never from a script
        function = provided.function(name)
        setattr(self, name, function)
        return function

    @staticmethod
    def sum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Any:
        """Sum over axes; of everything by default."""
        function = provided.function("sum")
        if axis is None:
            return function(x)
        return function(x, axis, keepdims)

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        """Choose elementwise; the condition may be an array."""
        return provided.function("where")(as_tensor(condition), a, b)

    @staticmethod
    def maximum(a: Any, b: Any) -> Any:
        """Elementwise maximum; one side may be a number."""
        return provided.function("clamp")(a, b) if type(b) is not Tensor else provided.function("maximum")(a, b)

    @staticmethod
    def reshape(x: Tensor, shape: Shape) -> Any:
        """Another shape."""
        return provided.function("reshape")(x, tuple(shape) if not isinstance(shape, int) else (shape,))

    @staticmethod
    def mT(x: Tensor) -> Any:
        """The last two axes swapped."""
        return provided.function("transpose")(x, -1, -2)

    @staticmethod
    def expand_dims(x: Tensor, axis: int | Sequence[int]) -> Any:
        """New axes of size 1."""
        for at in sorted((axis,) if isinstance(axis, int) else axis):
            x = provided.function("unsqueeze")(x, at)
        return x

    @staticmethod
    def broadcast_to(x: Tensor, shape: Sequence[int]) -> Any:
        """Repeated to a larger shape without copying."""
        return provided.function("broadcast_to")(as_tensor(x), tuple(shape))

    @staticmethod
    def flip(x: Tensor, axis: int | Sequence[int]) -> Any:
        """Reversed along axes."""
        return provided.function("flip")(x, (axis,) if isinstance(axis, int) else tuple(axis))

    @staticmethod
    def zeros(shape: Shape, dtype: DType) -> Tensor:
        """Zeros."""
        return Tensor(np.zeros(shape, dtype.np), dtype)

    @staticmethod
    def zeros_like(x: Tensor) -> Tensor:
        """Zeros of the same shape and dtype, with its memory format."""
        return Tensor(Numeric.zeros_like(x.array), x.dtype)

    ones_like = staticmethod(ones_like)
    plain = staticmethod(Numeric.plain)

    @staticmethod
    def cast(x: Tensor, dtype: DType) -> Any:
        """Another dtype, recorded as ToCopyBackward0."""
        return provided.to_dtype(x, dtype)

    @staticmethod
    def sum_to(x: Tensor, shape: tuple[int, ...]) -> Any:
        """Undo broadcasting, with the nodes PyTorch makes: one sum, and a view where leading axes went."""
        if not shape and x.array.ndim:
            return provided.function("sum")(x)
        have = x.array.shape
        lead = len(have) - len(shape)
        if lead < 0 or any(have[i + lead] not in (n, 1) and n != 1 for i, n in enumerate(shape)):
            return Traced.broadcast_to(x, shape)
        axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1)
        if axes:
            x = provided.function("sum")(x, axes, True)
        if lead:
            x = provided.method("view").method(x, (shape,), {})
        return x if x.array.shape == shape else Traced.broadcast_to(x, shape)

    @staticmethod
    def call(op: Op, *args: Any) -> Any:
        """Run an operation record on tensors."""
        n = len(op.tensors)
        tensors = [as_tensor(a) if isinstance(a, (np.ndarray, np.generic)) or hasattr(type(a), "BATCHED") else a for a in args[:n]]
        return op(*tensors, *args[n:])


numeric = Numeric()
traced = Traced()
