"""Elementwise operations: broadcasting, promotion, Python numbers as operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from gradcli import limits
from gradcli.core.graph.op_node import OpNode, short_name
from gradcli.core.graph.record import Op, broadcast_error, check_strides
from gradcli.core.kernels import Array, blocks, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, wrapped
from gradcli.core.tensor.node import NO_EDGE, Edge
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import InternalFault, shape_error

#: a result of up to so many elements is made without a look at the bounds
_SMALL = 1 << 16


class Pointwise(Op):
    """An elementwise operation with broadcasting, promotion and Python numbers as operands.

    `kind` says what dtype comes out: "arithmetic" the promoted one, "float" the promoted one with integers made
    floating first, "compare" bool, "number" that of the tensor and of the number that is the first plain argument.
    Half precision is computed in single precision and rounded once, unless the record looks at the dtype itself (`narrow`), or has a
    function for it (`in_half`), whose first argument is the dtype and the others are those of `forward`, in single precision.
    A number, or a 0-d tensor of another dtype, is rounded to half precision first, unless it is the second operand of a `factor` record.
    """

    __slots__ = ("factor", "kind", "layout", "narrow")
    elementwise = True
    default_jvp = "elementwise"

    def __init__(
        self,
        grad_fn: str,
        forward: Callable[..., Any],
        tensors: str,
        attrs: str = "",
        /,
        *,
        kind: str = "arithmetic",
        layout: memory_format.Layout = "iterated",
        narrow: bool = False,
        factor: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(grad_fn, forward, tensors, attrs, **more)
        self.kind = kind
        self.layout = layout
        self.narrow = narrow
        self.factor = factor

    def __call__(self, *args: Any) -> Tensor:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        n = len(self.tensors)
        if n == 2:
            return self._binary(*args)
        attrs = args[n:]
        if n == 1:
            a = args[0]
            dtype = a.dtype
            x = laid = a.array
            if not dtype.is_floating_point and (dtype.is_complex or self.kind == "float" or self.kind == "number"):
                if dtype.is_complex or (attrs and type(attrs[0]) is complex):
                    return self._of_complex(args)
                dtype = dtypes.get_default() if self.kind == "float" else dtypes.result_type((a, attrs[0]))
                x = x.astype(dtype.np)
                laid = memory_format.as_converted(laid)
            if x.size >= blocks.threshold:
                x = blocks.defer(x)
            half = dtype is dtypes.float16 and not self.narrow
            forward = self.forward if self.in_half is None else self._forward(dtype)
            out = self._made(forward(x.astype(np.float32) if half else x, *attrs), dtype)
            # numpy forgets the strides of dimensions of size 1
            moved = x.ndim > 1 and (1 in x.shape or not a.array.flags.c_contiguous)
            if (moved or self.layout != "iterated") and type(x) is not blocks.Deferred:
                out.array = self._placed(out.array, (laid,))
            if a.requires_grad and state.enabled:
                self._link(out, (a,), attrs, (a.edge(),), 1)
            if state.dual is not None:
                state.dual.push(self, (a,), attrs, (out,))
            return out
        operands = args[:n]
        dtype, arrays = self._promoted(operands)
        if dtype.is_complex:
            return self._of_complex(args)
        if dtype is dtypes.float16 and not self.narrow:
            arrays = [array.astype(np.float32) for array in arrays]
        forward = self.forward if self.in_half is None else self._forward(dtype)
        try:
            result = forward(*arrays, *attrs)
        except ValueError:
            raise self._mismatch(arrays, operands) from None
        out = self._made(result, dtype)
        if out.array.ndim > 1 and type(out.array) is ndarray:
            out.array = memory_format.like_operands(out.array, _operands(operands, dtype))
        if state.enabled:
            self.record(out, operands, attrs)
        if state.dual is not None:
            state.dual.push(self, operands, attrs, (out,))
        return out

    def _of_complex(self, args: tuple[Any, ...]) -> Tensor:
        """The call for complex operands: as the record declares it. Raises NotImplementedError where it is for real numbers."""
        n = len(self.tensors)
        operands, attrs = args[:n], args[n:]
        if isinstance(self.complex, Op):
            return self.complex(*args)  # type: ignore[no-any-return]
        dtype, arrays = self._promoted(operands)
        if self.complex is None:
            from gradcli.core.calling import complex_refusals  # most tensors are real

            if complex_refusals.by_kernel(short_name(self.grad_fn).lower()):
                self._check_shapes(arrays)
            raise self.no_complex(dtype)
        try:
            result = np.asarray(self.complex(*arrays, *attrs))  # type: ignore[operator]
        except ValueError:
            raise self._mismatch(arrays, operands) from None
        out = self._made(result, dtype)
        if out.array.ndim > 1:
            out.array = self._placed(out.array, _operands(operands, dtype))
        if state.enabled:
            self.record(out, operands, attrs)
        if state.dual is not None:
            state.dual.push(self, operands, attrs, (out,))
        return out

    def _placed(self, array: Array, operands: Sequence[Array]) -> Array:
        """The result in the memory format that the record declares."""
        if self.layout == "contiguous":
            return memory_format.contiguous(array)
        if self.layout == "preserved":
            return memory_format.laid_out(array, memory_format.preserved(operands[0]))
        if self.layout == "numbered" or self.kind == "number":
            operands = (*operands, memory_format.NUMBER)
        return memory_format.like_operands(array, operands[::-1] if self.layout == "reversed" else operands)

    def _made(self, result: Any, dtype: DType) -> Tensor:
        """The result as a tensor of the dtype that promotion or the kind asks for."""
        if self.kind == "compare":
            dtype = dtypes.bool_
        array: Any = result if type(result) is np.ndarray or type(result) is blocks.Deferred else np.asarray(result)
        if array.dtype is not dtype.np:
            if array.dtype.kind == "c" and self.complex is not None:  # a real tensor to a complex power
                dtype = dtypes.complex_of(dtype)
            array = array.astype(dtype.np)
        if dtype is dtypes.bfloat16:
            array = dtypes.round_bfloat16(array)
        out = Tensor(array, dtype)
        if state.inference:
            out.meta = {"inference": True}
        return out

    def _binary(self, a: Any, b: Any, *attrs: Any) -> Tensor:
        """Two operands, tensors or numbers; written out since every script spends most of its time here."""
        of_a, of_b = type(a), type(b)
        x: Any
        y: Any
        if of_a is Tensor and of_b is Tensor and a.dtype is b.dtype and a.dtype.is_floating_point:
            dtype = a.dtype
            x = a.array
            y = b.array
            if x.shape != y.shape:
                check_broadcast(x, y)
        elif of_a is Tensor and (of_b is float or of_b is int) and a.dtype.is_floating_point:
            dtype = a.dtype
            x = a.array
            if of_b is int:
                dtypes.check_whole(b)
            # a factor may be too large for half precision, and the result not
            y = b if dtype.itemsize > 2 else np.float32(b) if self.factor else dtypes.cast(np.asarray(b, np.float32), dtype)
        else:
            dtype, (x, y) = self._promoted((a, b))
            if dtype.is_complex:
                return self._of_complex((a, b, *attrs))
        if dtype is dtypes.float16 and not self.narrow:
            x, y = np.asarray(x, np.float32), np.asarray(y, np.float32)
        if x.size >= blocks.threshold:
            x = blocks.defer(x)
        elif of_b is Tensor and y.size >= blocks.threshold:
            y = blocks.defer(y)
        forward = self.forward if self.in_half is None else self._forward(dtype)
        try:
            result = forward(x, y, *attrs)
        except ValueError:
            raise self._mismatch([x, y], (a, b)) from None
        out = self._made(result, dtype)
        if (
            out.array.ndim > 1
            and type(out.array) is ndarray
            and (
                (of_a is Tensor and not a.array.flags.c_contiguous)
                or (of_b is Tensor and not b.array.flags.c_contiguous)
                or 1 in out.array.shape
                or not out.array.size
            )
        ):
            out.array = self._placed(out.array, _operands((a, b), dtype))
        if state.enabled:
            mask = 0
            left = right = NO_EDGE
            if of_a is Tensor and a.requires_grad:
                mask = 1
                left = a.edge()
            if of_b is Tensor and b.requires_grad:
                mask |= 2
                right = b.edge()
            if mask:
                self._link(out, (a, b), attrs, (left, right), mask)
        if state.dual is not None:
            state.dual.push(self, (a, b), attrs, (out,))
        return out

    def fast_path(self, a: Tensor, b: Any) -> Tensor | None:
        """`self(a, b)` for a small float32 or float64 tensor and another one or a number; None in any other case.

        The operators + - * / try this first. It does the steps of `_binary`, `_link` and `_keep` in one function, which
        makes 15 % of the time of a small forward and backward pass. It raises no error: where `self(a, b)` would raise
        one, the answer is None. tests/core/graph/test_fast_paths.py compares the two.
        """
        dtype = a.dtype
        x = a.array
        if not dtype.is_plain or type(x) is not ndarray or x.size >= blocks.threshold:
            return None
        right: Edge = NO_EDGE
        mask = 0
        y: Any
        if type(b) is Tensor:
            y = b.array
            if b.dtype is not dtype or type(y) is not ndarray or x.size * y.size > _SMALL:
                return None
            if b.requires_grad:
                mask = 2
                right = (b.node, b.output_nr) if b.node is not None and b.view is None else b.edge()
        elif type(b) is float or type(b) is int:
            y = dtype.scalars.get(b)
            if y is None:
                y = dtype.scalar(b)
        else:
            return None
        try:
            array = self.forward(x, y)
        except ValueError:
            return None
        if (x.ndim > 1 and (x.strides != array.strides or not array.size)) or (array.ndim > 2 and 1 in array.shape):
            # numpy prefers row-major order where the operands differ, and forgets the strides of dimensions of size 1
            array = memory_format.like_operands(array, (x, y if type(b) is Tensor else memory_format.NUMBER))
        out = Tensor(array if type(array) is ndarray else np.asarray(array), dtype)
        if state.enabled:
            left: Edge = NO_EDGE
            if a.requires_grad:
                mask |= 1
                left = (a.node, a.output_nr) if a.node is not None and a.view is None else a.edge()
            if mask:
                plan = self.plans.get(mask)
                if plan is None or not plan.calls or state.observed:
                    self._link(out, (a, b), (), (left, right), mask)
                    return out
                node = OpNode(self, (left, right), out.array.shape, dtype, plan, ())
                if plan.keep:
                    self._keep(node, plan, (a, b))
                out.node = node
                out.requires_grad = True
        elif state.inference:
            out.meta = {"inference": True}
        return out

    def _promoted(self, operands: tuple[Any, ...]) -> tuple[DType, list[Any]]:
        dtype = dtypes.result_type(operands)
        if self.kind == "float" and not dtype.is_differentiable:
            dtype = dtypes.get_default()
        storage = dtype.np
        if dtype.itemsize == 2 and dtype.is_floating_point:
            return dtype, self._in_half(operands, dtype)
        arrays: list[Any] = []
        first: Array | None = None
        for t in operands:
            if type(t) is Tensor:
                array = t.array if t.array.dtype is storage else t.array.astype(storage)
                if first is not None and first.shape != array.shape:
                    check_broadcast(first, array)
                first = array
            else:
                array = np.array(wrapped(t, dtype) if type(t) is int else t, storage)
            arrays.append(array)
        return dtype, arrays

    def _in_half(self, operands: tuple[Any, ...], dtype: DType) -> list[Any]:
        """The operands in half precision; one that keeps its digits in single precision."""
        arrays: list[Any] = []
        first: Array | None = None
        for place, t in enumerate(operands):
            array = np.asarray(t.array if type(t) is Tensor else t)
            if type(t) is not Tensor or t.dtype is not dtype:
                array = array.astype(np.float32)
                if not (self.factor and place and not array.ndim):
                    array = dtypes.cast(array, dtype)
            if type(t) is Tensor:
                if first is not None and first.shape != array.shape:
                    check_broadcast(first, array)
                first = array
            arrays.append(array)
        return arrays

    def _check_shapes(self, arrays: list[Any]) -> tuple[int, ...]:
        """The shape of the result. Raises PyTorch's error for shapes that do not broadcast."""
        shapes = [a.shape for a in (arrays[::-1] if self.layout == "reversed" else arrays) if not isinstance(a, (int, float))]
        shape: tuple[int, ...] = shapes[0]
        for other in shapes[1:]:
            try:
                shape = np.broadcast_shapes(shape, other)
            except ValueError:
                raise broadcast_error(shape, other) from None
        return shape

    def _mismatch(self, arrays: list[Any], operands: Sequence[Any]) -> Exception:
        self.check_saved(operands)
        check_strides(self._check_shapes(arrays))
        return InternalFault(f"forward failed for shapes {[np.shape(a) for a in arrays]}")


def _operands(operands: Sequence[Any], dtype: DType) -> list[Array]:
    """Arrays that lie as the operands do, converted to the dtype."""
    return [
        memory_format.NUMBER if type(t) is not Tensor else t.array if t.dtype is dtype else memory_format.as_converted(t.array)
        for t in operands
    ]


def check_broadcast(x: Array, y: Array) -> None:
    """Refuse a broadcast whose result would be over the bounds, before it is computed; raise PyTorch's mismatch error."""
    if x.size * y.size > _SMALL:
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise broadcast_error(x.shape, y.shape) from None
        count = 1
        for size in shape:
            count *= size
        limits.check_elements(count, x.itemsize)


def check_fit(x: Array, y: Array) -> tuple[int, ...]:
    """The shape that two arrays broadcast to; raises PyTorch's mismatch error, and LimitError for a result over the bounds."""
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None
    limits.check_elements(math.prod(shape), x.itemsize)
    return shape


def check_into(target: Array, source: Array) -> None:
    """Refuse a source that does not broadcast to the shape of what it is written into."""
    shape = check_fit(target, source)
    if shape != target.shape:
        text = f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
        raise shape_error(text)
