"""Elements as truth values: all, any, count_nonzero, is_nonzero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.kernels import memory_format
from gradcli.core.ops import operators
from gradcli.core.ops.checks import wrap_dims
from gradcli.core.ops.reduce.common import Dims
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error


def _truth(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    """`all` or `any`."""

    def run(input: Tensor, dim: int | Dims = None, keepdim: bool = False) -> Tensor:
        rank = input.array.ndim
        dims: tuple[int, ...] | None = None
        if dim is not None:
            given = (dim,) if isinstance(dim, int) else dim
            dims = wrap_dims(given, rank) if given else ()  # to these two functions an empty tuple means no dimension
        result = memory_format.contiguous(np.asarray(reduce(input.array.astype(bool, copy=False), axis=dims, keepdims=keepdim)))
        # PyTorch once had uint8 for bool: its result is uint8 to this day
        return wrap(result.astype(np.uint8)) if input.dtype is dtypes.uint8 else wrap(result)

    return run


all_true, any_true = _truth(np.logical_and.reduce), _truth(np.logical_or.reduce)


def count_nonzero(input: Tensor, dim: int | Dims = None) -> Tensor:
    """The number of elements that are not 0, along dimensions; None is all of them."""
    dims = wrap_dims((dim,) if isinstance(dim, int) else dim, input.array.ndim)
    return wrap(memory_format.contiguous(np.asarray(np.add.reduce(input.array != 0, axis=dims, dtype=np.int64))))


def _truth_out(name: str) -> Out:
    """Results are bool, or uint8 where the tensor or `out` is."""

    def check(values: list[Any], out: Tensor) -> None:
        if out.dtype not in (dtypes.bool_, dtypes.uint8):
            raise runtime_error(f"{name} only supports bool tensor for result, got: {out.dtype.torch_name}")
        if out.dtype is dtypes.uint8:  # the function computes in uint8
            values[0] = Tensor(dtypes.cast(values[0].array, dtypes.uint8), dtypes.uint8)

    return Out(lower=None, inspect=check, memory="unchecked")


def _function(name: str, run: Callable[..., Tensor], doc: str, sample: str) -> Function:
    dims, dim = "Tensor input, ints? dim=None, bool keepdim=False", "Tensor input, int dim, bool keepdim=False"
    return Function(name, ("Tensor input", run), (dims, run), (dim, run), doc=doc, samples=(Sample(sample),), out=_truth_out(name))


FUNCTIONS = (
    _function("all", all_true, "Whether all elements are true (not 0).", "all(tensor([1., 0.]) > 0)"),
    _function("any", any_true, "Whether any element is true (not 0).", "any(tensor([[1., 0.], [0., 0.]]) > 0, 1)"),
    Function(
        "count_nonzero",
        ("Tensor input, int? dim=None", count_nonzero),
        ("Tensor input, ints dim", count_nonzero),
        doc="How many elements are not 0.",
        samples=(Sample("count_nonzero(tensor([1., 0., 2.]))"),),
    ),
    Function(
        "is_nonzero",
        ("Tensor input", operators.truth),
        doc="Whether the only element is not 0.",
        samples=(Sample("torch.is_nonzero(tensor(1.))"),),
        method=False,
    ),
)
