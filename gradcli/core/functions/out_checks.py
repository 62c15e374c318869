"""What PyTorch checks of an `out`: whether a graph or a tangent is wanted, whose memory it shares, and its dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.functions.out import Out, no_graph
from gradcli.core.graph.write_checks import check_memory, check_order, check_overlap, check_writable, read_while_written, result_dtype_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, shape_error

if TYPE_CHECKING:
    from gradcli.core.functions.function import Function


class OutChecks:
    """The checks of a call that writes into `out`."""

    #: which argument of an elementwise function is the other operand
    number_at = 1

    def __init__(self, function: Function, rule: Out, values: list[Any], out: Any, constants: Sequence[int]) -> None:
        self.rule = rule
        self.values = values
        self.out = out
        self.outs: Sequence[Tensor] = out if isinstance(out, (tuple, list)) else (out,)
        self.operands = _tensors(values)
        #: the name of the function in errors about dtypes
        self.name = function.operator.replace("linalg_", "linalg.")
        #: the operator that errors about graphs name
        self.operator = rule.operator or function.operator
        self.memory = rule.memory or ("first" if function.overlap else "resized")
        self.overlap = function.overlap if rule.overlap is None else rule.overlap
        if self.overlap is None and self.memory in ("own", "unchecked"):
            self.overlap = "any"
        self.elementwise = (self.memory, self.overlap) == ("first", "partial")
        #: whether the first operand is that of an in-place form, whose shape the result has, and may be `out`
        self.in_place = function.inplace and not self.elementwise
        self.autograd = rule.autograd or ("derivative" if function.ops or rule.operator else "constant")
        #: the tensors whose gradients count: of several results some are indices, or have no derivative
        operands = _tensors([v for i, v in enumerate(values) if i not in constants])
        self.tracked = [*operands, *self.outs]
        if out is self.outs and self.autograd == "derivative":
            count = next((op.differentiable for op in function.ops if op.outputs), 1)
            self.tracked = [*operands, *out[rule.tracked or slice(count)]]

    # --- graphs and tangents ---

    def check_graph(self) -> None:
        """Raise PyTorch's error for an operator that does not write into `out` where a gradient, or a tangent, is wanted."""
        if self.autograd == "derivative" and state.enabled and any(t.requires_grad for t in self.tracked):
            raise no_graph(self.operator)
        if self.autograd == "fallback":
            operator = f"aten::{self.operator}"
            if self.has_tangent():
                raise ProgramError("NotImplementedError", f"Trying to use forward AD with {operator} that does not support it.")
            wanted = any(t.requires_grad for t in self.tracked)
            for out in self.outs:
                try:
                    check_writable(out, wanted)
                except ProgramError:
                    raise no_graph(operator) from None

    def check_tangent(self) -> None:
        """Raise PyTorch's error for an operator that has written into `out` while a tangent is wanted."""
        if self.autograd in ("derivative", "constant", "none") and self.has_tangent():
            raise ProgramError(
                "NotImplementedError",
                f"Trying to use forward AD with {self.operator}_out that does not support it because it is an out= function",
            )

    def has_tangent(self) -> bool:
        level = state.dual
        operands = () if self.autograd == "none" else self.operands
        return level is not None and not level.paused and any(level.tangent_of(t) is not None for t in (*operands, *self.outs))

    # --- memory ---

    def check_memory(self, moment: str, out: Tensor | None = None) -> None:
        """If this is the moment for it, raise RuntimeError where elements of an `out` share memory, or some with an operand."""
        own = self.memory == "own"
        if moment != ("resized" if own else self.memory):
            return
        for tensor in self.outs if out is None else (out,):
            check_memory(tensor)
            for i, operand in enumerate(self.operands if self.overlap and not own else ()):
                written = self.in_place and i == 0
                if not self.overlap_of(i):
                    continue
                # an operand that is written, of another shape, is copied into `out` once that has its shape
                if not written or tensor.array.shape == operand.array.shape:
                    check_overlap(tensor, operand, self.overlap_of(i) == "any" and not written)
            if self.elementwise and any(t is tensor for t in self.operands):
                self.check_shape(tensor)

    def overlap_of(self, i: int) -> str:
        """How the operand of this number may not share memory with `out`."""
        return self.overlap[i] if isinstance(self.overlap, tuple) else self.overlap or ""

    def check_shape(self, out: Tensor) -> None:
        """Raise RuntimeError for the `out` of an elementwise function that is an operand too, and has not the shape of the result."""
        try:
            shape = np.broadcast_shapes(*(t.array.shape for t in self.operands))
        except ValueError:
            return
        if shape != out.array.shape:
            raise shape_error(f"output with shape {list(out.array.shape)} doesn't match the broadcast shape {list(shape)}")

    def check_order(self, out: Tensor, result: Tensor) -> None:
        """Raise RuntimeError for an `out` in the memory of an operand that PyTorch changes while it still reads the operand."""
        unchecked = self.memory in ("own", "unchecked") or self.rule.adds
        # a library computes in the memory of an `out` that has its layout, column by column, and what it inverts is no part of it
        library = self.rule.row_major == "unfit" or "linalg_" in self.operator
        library = library and all(x.array.ndim > 1 and x.array.swapaxes(-1, -2).flags.c_contiguous for x in (out, result))
        for i, operand in enumerate(self.operands):
            a, b = out.array, operand.array
            if operand is out and a.shape != result.array.shape:
                raise read_while_written()
            same = a.shape == b.shape and a.strides == b.strides and self.overlap_of(i) != "any" and not self.rule.adds
            changed = a.shape != result.array.shape or ((unchecked or library) and not same) or (library and "_inv_" in self.operator)
            if changed and np.shares_memory(a, b):
                raise read_while_written()

    def check_reads(self, out: Tensor) -> None:
        """Refuse an `out` of an elementwise function whose memory an operand shares at other places."""
        for i, operand in enumerate(self.operands):
            if self.overlap_of(i) == "partial":
                check_order(out, operand)

    # --- dtypes ---

    def check_first(self, with_number: bool = False) -> None:
        """Check the dtype of `out`, the first of several, while there is no result.

        `with_number`: a number beside the tensor of an elementwise function counts too.
        """
        if self.rule.own_dtype:  # the last argument has that of `out`, or the one that the call gives
            dtype = self.values[-1] or self.out.dtype
        else:
            numbers = [
                v for v in self.values[self.number_at :][:1] if with_number and self.elementwise and type(v) in (bool, int, float, complex)
            ]
            operands = (*self.operands, *numbers)
            dtype = self.rule.dtype or (self.operands[0].dtype if self.rule.exact else dtypes.result_type(operands))
        if self.rule.first and isinstance(self.rule.exact, dict):
            for out, field in zip(self.outs, self.rule.exact, strict=True):
                self.check_dtype(out, dtypes.int64 if field == "indices" else dtype, field)
        elif self.outs:
            self.check_dtype(self.outs[0], dtype, "values" if self.out is self.outs else "result")

    def check_dtype(self, out: Tensor, dtype: DType, field: Any = "result") -> None:
        """Raise RuntimeError for an `out` that does not take the `field` of the function's result, which has this dtype."""
        exact, lower = self.rule.exact, self.rule.lower
        if dtype is out.dtype:
            return
        text = exact if isinstance(exact, str) else exact.get(field) or next(iter(exact.values()))
        if dtype.category > out.dtype.category:
            if not text and lower == "":
                raise result_dtype_error(dtype.torch_name, out.dtype)
            text = lower or text
        if text:
            names = {"name": self.name, "field": field, "operand": self.operands[0].dtype.torch_name if self.operands else ""}
            for which, one in (("result", dtype), ("out", out.dtype)):
                names |= {which: one.torch_name, f"{which}_c": one.c_name, f"{which}_type": _type_name(one)}
            raise ProgramError(self.rule.error, text.format(**names))


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among values, and in lists and tuples among them."""
    return [t for v in values for t in (v if isinstance(v, (tuple, list)) else (v,)) if type(t) is Tensor]


def _type_name(dtype: DType) -> str:
    """The type of tensors of this dtype as errors have it: of old dtypes that of Python, of others that of C++."""
    name = dtype.torch_name
    return f"CPU{name}Type" if dtype in (dtypes.bool_, dtypes.bfloat16) or dtype.is_complex else f"torch.{name}Tensor"
