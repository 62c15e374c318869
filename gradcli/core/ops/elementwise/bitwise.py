"""Operations on the bits of integers; of bools they are the logical operations. They have no derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import NONDIFF
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import check_broadcast, not_implemented
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import wrapped
from gradcli.core.tensor.tensor import Tensor, wrap


def _shift(x: Any, count: Any, left: bool) -> Any:
    """A shift of bits. Negative and too large counts, which C does not define, shift all bits out; to the right the sign stays."""
    x, count = np.broadcast_arrays(x, count)
    bits = x.dtype.itemsize * 8
    out_of_range = (count < 0) | (count >= bits - (0 if left or x.dtype.kind == "u" else 1))
    shifted = (np.left_shift if left else np.right_shift)(x, np.where(out_of_range, 0, count).astype(x.dtype))
    rest = np.zeros_like(x) if left or x.dtype.kind == "u" else np.right_shift(x, x.dtype.type(bits - 1))
    return np.where(out_of_range, rest, shifted)


def _bits(name: str, forward: Callable[[Array, Array], Any]) -> Pointwise:
    return Pointwise(f"{name}Backward0", forward, "input other", input=NONDIFF, other=NONDIFF)


AND = _bits("BitwiseAnd", np.bitwise_and)
OR = _bits("BitwiseOr", np.bitwise_or)
XOR = _bits("BitwiseXor", np.bitwise_xor)
LEFT = _bits("BitwiseLeftShift", lambda x, n: _shift(x, n, True))
RIGHT = _bits("BitwiseRightShift", lambda x, n: _shift(x, n, False))


def _operation(name: str, op: Pointwise, kernel: str, commutes: bool) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        check_no_tangent(f"aten::{name}", a, b)
        dtype = dtypes.result_type((a, b))
        if dtype.is_differentiable or (dtype is dtypes.bool_ and not commutes):
            check_broadcast([t.array for t in (a, b) if type(t) is Tensor])
            raise not_implemented(kernel, dtype)
        if type(a) is Tensor:
            if not commutes and type(b) is int:
                b = Tensor(np.array(wrapped(b, dtypes.int64)), dtypes.int64)  # an unsigned tensor may be shifted by a negative count
                return op(a, b) if a.array.ndim or a.dtype is dtypes.int64 else Tensor(op(a, b).array.astype(dtype.np), dtype)
            return op(a, b)
        if commutes:
            return op(b, a)
        return op(Tensor(np.array(wrapped(int(a), dtype), dtype.np), dtype), b)

    return run


def bitwise_not(input: Tensor, name: str = "bitwise_not") -> Tensor:
    """Every bit flipped; of bools, the opposite."""
    check_no_tangent(f"aten::{name}", input)
    if input.dtype.is_differentiable:
        raise not_implemented("bitwise_not_cpu", input.dtype)
    return wrap(memory_format.like_operands(np.asarray(np.invert(input.array)), (input.array,)))


def _function(name: str, op: Pointwise, kernel: str, doc: str, sample: str, commutes: bool = True) -> Function:
    run, written = _operation(name, op, kernel, commutes), _operation(f"{name}_", op, kernel, commutes)
    return Function(
        name,
        ("Tensor input, Tensor other", run),
        ("Number self, Tensor other |no out", run),
        ("Tensor input, Number other", run),
        doc=doc,
        samples=(Sample(sample),),
        written=(("Tensor input, Tensor other", written), ("Tensor input, Number other", written)),
        out=Out(autograd="fallback"),
    )


FUNCTIONS = (
    _function("bitwise_and", AND, "bitwise_and_cpu", "Bits set in both.", "tensor([6, 5]) & 3"),
    _function("bitwise_or", OR, "bitwise_or_cpu", "Bits set in either.", "tensor([6, 5]) | 3"),
    _function("bitwise_xor", XOR, "bitwise_xor_cpu", "Bits set in one only.", "tensor([6, 5]) ^ 3"),
    _function("bitwise_left_shift", LEFT, "lshift_cpu", "Bits moved left.", "tensor([6, 5]) << 2", False),
    _function("bitwise_right_shift", RIGHT, "rshift_cpu", "Bits moved right.", "tensor([6, 5]) >> 1", False),
    Function(
        "bitwise_not",
        ("Tensor input", lambda input: bitwise_not(input)),
        doc="Every bit flipped.",
        samples=(Sample("~tensor([6, 5])"),),
        written=(("Tensor input", lambda input: bitwise_not(input, "bitwise_not_")),),
        out=Out(SAME, autograd="fallback"),
    ),
)
