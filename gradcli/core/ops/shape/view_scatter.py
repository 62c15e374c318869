"""Copies in which the part that a view shows is overwritten: select_scatter, slice_scatter, diagonal_scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.ops.shape.diagonal import DIAGONAL, diagonal
from gradcli.core.ops.shape.slicing import SELECT, SLICE, select
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _scatter(name: str, view: Op, formula: str, src_formula: str, real_part: bool = True) -> Op:
    """The record of a copy in which the part that `view` shows is `src`."""

    def forward(a: Array, src: Array, *where: Any) -> Array:
        made = memory_format.copy_with_gaps(a)
        view.forward(made, *where)[...] = src
        return made

    def input_rule(xp: Any, grad: Any, attrs: Any) -> Any:
        return xp.call(record, grad, np.zeros_like(view.forward(xp.plain(grad), *attrs)), *attrs)

    record: Op = Op(
        f"{name}ScatterBackward0",
        forward,
        "input src",
        " ".join(view.attrs),
        input=Rule(input_rule, formula),
        src=Rule(lambda xp, grad, attrs: xp.call(view, grad, *attrs), src_formula),
        complex=True,
        real_part=real_part,
    )
    return record


SELECT_SCATTER = _scatter("Select", SELECT, "grad.select_scatter(zeros_like(src), dim, index)", "grad.select(dim, index)")
SLICE_SCATTER = _scatter(
    "Slice", SLICE, "grad.slice_scatter(zeros_like(src), dim, start, end, step)", "grad.movedim(dim, 0)[start:end:step].movedim(0, dim)"
)
DIAGONAL_SCATTER = _scatter(
    "Diagonal", DIAGONAL, "grad.diagonal_scatter(zeros_like(src), offset, dim1, dim2)", "grad.diagonal(offset, dim1, dim2)", real_part=False
)


def _check_part(part: Tensor, src: Tensor) -> None:
    """Raise RuntimeError where src does not have the shape of the part."""
    if part.array.shape != src.array.shape:
        raise shape_error(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.array.shape)}, slice size = {list(part.array.shape)}"
        )


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with one index of a dimension overwritten by src."""
    _check_part(select(Tensor(input.array, input.dtype), dim, index), src)
    check_no_complex_gradient("select_scatter", input, src)
    return SELECT_SCATTER(input, src, dim, index)  # type: ignore[no-any-return]


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy with a slice of a dimension overwritten by src."""
    if not input.array.ndim:
        raise ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor.")
    size = input.array.shape[wrap_dim(dim, input.array.ndim)]
    if step <= 0:
        raise runtime_error("slice step must be positive")
    low, high, _ = slice(start, end, step).indices(size)
    _check_part(SLICE(Tensor(input.array, input.dtype), dim, low, max(low, high), step), src)
    check_no_complex_gradient("slice_scatter", input, src)
    return SLICE_SCATTER(input, src, dim, start, end, step)  # type: ignore[no-any-return]


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with a diagonal overwritten by src."""
    _check_part(diagonal(Tensor(input.array, input.dtype), offset, dim1, dim2), src)
    return DIAGONAL_SCATTER(input, src, offset, dim1, dim2)  # type: ignore[no-any-return]


_M: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]


FUNCTIONS = (
    Function(
        "select_scatter",
        ("Tensor input, Tensor src, int dim, symint index", select_scatter),
        doc="A copy with one index of a dimension overwritten by src.",
        ops=(SELECT_SCATTER,),
        samples=(Sample("x.select_scatter(y, 0, 1)", lambda x, y: np.stack([x[0], y]), x=_M, y=[1.0, 2.0, 3.0]),),
    ),
    Function(
        "slice_scatter",
        ("Tensor input, Tensor src, int dim=0, symint? start=None, symint? end=None, symint step=1", slice_scatter),
        doc="A copy with a slice of a dimension overwritten by src.",
        ops=(SLICE_SCATTER,),
        out=Out(EXACT, autograd="fallback", resized_first=True, row_major="always"),
        samples=(Sample("x.slice_scatter(y, 0, 1)", lambda x, y: np.concatenate([x[:1], y]), x=_M, y=[[1.0, 2.0, 3.0]]),),
    ),
    Function(
        "diagonal_scatter",
        ("Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1", diagonal_scatter),
        doc="A copy with a diagonal overwritten by src.",
        ops=(DIAGONAL_SCATTER,),
        samples=(Sample("x.diagonal_scatter(y)", None, x=_M, y=[1.0, 2.0]),),
    ),
)
