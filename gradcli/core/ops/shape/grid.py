"""Grids and combinations of the elements of vectors, and their powers: meshgrid, cartesian_prod, combinations, vander."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.ops.checks import check_rank, check_size
from gradcli.core.ops.index.masked import masked_select
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.reduce.cumulative import cumprod
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.casting import warn_of_discarded
from gradcli.core.ops.shape.joining import STACK, cat, stack
from gradcli.core.ops.shape.rearrange import flip
from gradcli.core.ops.shape.slicing import SELECT, SLICE
from gradcli.core.ops.shape.squeeze import unsqueeze
from gradcli.core.ops.shape.views import VIEW, flatten
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error, shape_error


def meshgrid(tensors: Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors, each expanded to the grid of all; with `indexing` "xy" the first two dimensions are swapped."""
    if indexing is None:
        warnings.emit(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4215.)",
            once="meshgrid",
        )
        indexing = "ij"
    if not tensors:
        raise runtime_error("meshgrid expects a non-empty TensorList")
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise runtime_error("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise runtime_error(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.array.ndim > 1:
            warn_of_discarded(t.array, dtypes.float64)  # PyTorch's message shows the elements
            raise shape_error(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.array.ndim}D")
    # the dimension of each vector in the grid
    place = [1, 0, *range(2, len(tensors))] if indexing == "xy" and len(tensors) > 1 else list(range(len(tensors)))
    shape = tuple(tensors[place[k]].array.size for k in range(len(tensors)))
    limits.check_elements(math.prod(shape), tensors[0].dtype.itemsize)
    rank = len(shape)
    return tuple(expand(VIEW(t, (1,) * k + (-1,) + (1,) * (rank - 1 - k)), shape) for t, k in zip(tensors, place, strict=True))


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All combinations of the elements of vectors, a row each."""
    for t in tensors:
        if t.array.ndim != 1:
            raise shape_error(f"Expect a 1D vector, but got shape {list(t.array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    flat = [flatten(g) for g in meshgrid(tensors, "ij")]
    return STACK(flat, 1)  # type: ignore[no-any-return]


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose r elements of a vector in their order, a row each."""
    if input.array.ndim != 1:
        raise shape_error(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    if r < 0:
        raise runtime_error(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return Tensor(np.empty(0, input.dtype.np), input.dtype)
    n = input.array.shape[0]
    check_rank(r)
    limits.check_elements(n**r * r, input.array.itemsize)
    places = np.indices((n,) * r)
    mask = np.ones((n,) * r, bool)
    for k in range(r - 1):
        mask &= places[k] <= places[k + 1] if with_replacement else places[k] < places[k + 1]
    return stack([masked_select(grid, wrap(mask)) for grid in meshgrid([input] * r, "ij")], 1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The first N powers of the elements of a vector, a row for each; the highest first, unless increasing."""
    warn_of_samples("vander", x)
    if x.array.ndim != 1:
        raise shape_error("x must be a one-dimensional tensor.")
    length = x.array.shape[0]
    count = length if N is None else N
    if count < 0:
        raise runtime_error("N must be non-negative.")
    dtype = x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else dtypes.int64
    check_size((length, count), dtype.itemsize)
    if x.batch is not None:
        x.batch.need_samples()  # one after the other, as in PyTorch
    # written part by part as PyTorch does it, which shows in the graph
    made = Tensor(np.zeros((length, count), dtype.np), dtype)
    if count:
        in_place.fill_(SELECT(made, 1, 0), 1)
    if count > 1:
        powers = SLICE(made, 1, 1, count, 1)
        in_place.copy_(powers, expand(unsqueeze(x, 1), (length, count - 1)))
        in_place.copy_(powers, cumprod(powers, 1))
    return made if increasing else flip(made, (1,))


def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:
    """The first N powers of the elements of a vector, a row for each, the lowest first; with gradients."""
    if x.dtype in (dtypes.float16, dtypes.bfloat16, dtypes.bool_):
        found = x.dtype.torch_name
        raise runtime_error(f"linalg.vander supports floating point, complex, and integer tensors, but got {found}")
    if not x.array.ndim:
        x = unsqueeze(x, -1)
    count = x.array.shape[-1] if N is None else N
    if count < 2:
        raise runtime_error("N must be greater than 1.")
    limits.check_elements(x.array.size * count, x.array.itemsize)
    powers = cumprod(expand(unsqueeze(x, -1), (*x.array.shape, count - 1)), -1)
    ones = Tensor(np.ones((*x.array.shape, 1), powers.dtype.np), powers.dtype)
    return cat([ones, powers], -1)


_P, _V, _W = [0.5, 1.5, 2.0], [1.0, 2.0, 3.0], [4.0, 5.0]


FUNCTIONS = (
    ListFunction(
        "meshgrid",
        ("Tensors tensors, *, str? indexing=None", meshgrid),
        doc="Each vector expanded to the grid of all.",
        samples=(Sample("meshgrid(x, y, indexing='xy')[1]", lambda x, y: np.meshgrid(x, y)[1], x=_V, y=_W),),
        method=False,
    ),
    ListFunction(
        "cartesian_prod",
        ("Tensors tensors", cartesian_prod),
        doc="All combinations of the vectors' elements, one a row.",
        takes_list=False,
        samples=(Sample("cartesian_prod(x, y)", None, x=_V, y=_W),),
        method=False,
    ),
    Function(
        "combinations",
        ("Tensor input, int r=2, bool with_replacement=False", combinations),
        doc="All ways to choose r elements of a vector.",
        samples=(Sample("combinations(x)", None, x=_V), Sample("combinations(x, 2, True)", None, x=_P)),
        method=False,
    ),
    Function(
        "vander",
        ("Tensor x, int? N=None, bool increasing=False", vander),
        doc="The powers of a vector's elements.",
        samples=(Sample("vander(tensor([1., 2., 3.]))"),),
        method=False,
    ),
    Function(
        "vander",
        ("Tensor x, *, int? N=None", linalg_vander),
        doc="The powers of a vector's elements, the lowest first.",
        samples=(Sample("torch.linalg.vander(x)", lambda x: np.vander(x, increasing=True), x=_P),),
        namespace="torch.linalg",
        parsed_as="linalg_vander",
        method=False,
    ),
)
