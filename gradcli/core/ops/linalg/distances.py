"""Distances and angles between vectors: of all rows of two matrices, and of pairs of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.signature import Signature
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import inplace_forms
from gradcli.core.graph.clone import CLONE, CONTIGUOUS
from gradcli.core.graph.namespaces import as_tensor, traced
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import Array, memory_format
from gradcli.core.kernels.scattering import add_at
from gradcli.core.ops.checks import common_shape, refuse_half, scalar_type_error
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.maximum import CLAMP_MIN
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.reduce.norms import NORM, vector_norm
from gradcli.core.ops.rules import check_no_tangent, refused
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.casting import contiguous, to_dtype
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def _differences(x1: Array, x2: Array) -> Array:
    """x1[i] - x2[j] for all i and j, shape (..., i, j, columns)."""
    return np.asarray(x1[..., :, None, :] - x2[..., None, :, :])


def _added(terms: Array) -> Any:
    """The sum along the last axis, added up from the first element to the last, as PyTorch does."""
    return memory_format.contiguous(np.add.accumulate(terms, axis=-1)[..., -1]) if terms.shape[-1] else terms.sum(-1)


def _distances(x1: Array, x2: Array, p: float, largest: Any = np.fmax) -> Array:
    size = np.abs(_differences(x1, x2).astype(x1.dtype, copy=False))  # dtypes may differ where there are no elements
    if p == 0:
        return np.asarray(np.minimum(np.ceil(size), 1).sum(-1)).astype(x1.dtype)
    if p == 1:
        return np.asarray(_added(size))
    if p == 2:
        return np.asarray(np.sqrt(_added(size * size)))
    if math.isinf(p):
        return np.asarray(largest.reduce(size, -1, initial=0))  # which `fmax` finds beside nan
    return np.asarray(_added(size**p) ** (1 / p)).astype(x1.dtype)


def _distances_back(grad: Array, x1: Array, x2: Array, distance: Array, p: float) -> Array:
    d = _differences(x1, x2)
    g, far = grad[..., None], distance[..., None]
    size, sign = np.abs(d), np.sign(d)
    if p == 0:
        parts = np.zeros_like(d)
    elif p == 1:
        parts = g * sign
    elif math.isinf(p):
        parts = g * sign * (1 - np.minimum(1, np.ceil(np.abs(size - far))))  # nan where both are infinite
    elif p < 2:
        parts = np.where((far == 0) | (d == 0), 0, sign * size ** (p - 1) * g / far ** (p - 1))
    else:
        parts = np.where(far == 0, 0, d * (g / far if p == 2 else size ** (p - 2) * g / far ** (p - 1)))
    return np.asarray(parts.sum(-2)).astype(x1.dtype)


def _pairs(x: Array) -> tuple[Array, Array]:
    """The numbers of the rows of each pair, the smaller one first."""
    return np.triu_indices(len(x), 1)


def _of_pairs(x: Array, p: float) -> Array:
    first, second = _pairs(x)
    return _distances(x[first][:, None], x[second][:, None], p, np.maximum).reshape(-1)


def _of_pairs_back(grad: Array, x: Array, distance: Array, p: float) -> Array:
    first, second = _pairs(x)
    parts = _distances_back(grad[:, None, None], x[first][:, None], x[second][:, None], distance[:, None, None], p)[:, 0]
    made = np.zeros(x.shape, x.dtype)
    add_at(made, first, parts)
    np.subtract.at(made, second, parts)
    return made


_NONE = refused(lambda: ProgramError("NotImplementedError", "the derivative for '_cdist_backward' is not implemented."))
CDIST_BACK = Op(
    "CdistBackwardBackward0",
    _distances_back,
    "grad x1 x2 distance",
    "p",
    saved="",
    layout="contiguous",
    grad=_NONE,
    x1=_NONE,
    x2=_NONE,
    distance=_NONE,
)


def _x2_rule(xp: Any, grad: Any, x1: Any, x2: Any, out: Any, p: float) -> Any:
    turned = [xp.call(CONTIGUOUS, xp.mT(value)) for value in (grad, out)]
    return xp.call(CDIST_BACK, turned[0], x2, x1, turned[1], p)


#: the formula of the gradient g of each difference; for p = inf the power is 1 at the largest difference and 0 elsewhere
_FORMULA = (
    "d = x1.unsqueeze(-2) - x2.unsqueeze(-3); r = d.abs() / out.unsqueeze(-1); "
    "g = (p != 0) * (grad.unsqueeze(-1) * d.sign() * r**(p - 1)).where(d != 0, 0); "
)
CDIST = Op(
    "CdistBackward0",
    lambda x1, x2, p: _distances(x1, x2, p).astype(x1.dtype, copy=False),  # tensors without elements may have two dtypes
    "x1 x2",
    "p",
    layout="contiguous",
    jvp=without_jvp("_cdist_forward"),
    x1=Rule(
        lambda xp, grad, x1, x2, out, p: xp.call(CDIST_BACK, grad, x1, x2, out, p), _FORMULA + "g.sum(-2)", "0 where the distance is 0"
    ),
    x2=Rule(_x2_rule, _FORMULA + "-g.sum(-3)", "0 where the distance is 0"),
)


def _euclidean(x1: Array, x2: Array, dtype: DType) -> Array:
    """The distances of order 2 by one matrix product, from |a - b|**2 = |a|**2 - 2ab + |b|**2."""
    with recording(False):
        a, b = Tensor(x1, dtype), Tensor(x2, dtype)
        first, second = (traced.sum(x * x, -1, True) for x in (a, b))
        left = traced.cat([a * -2, first, traced.ones_like(first)], -1)
        right = traced.cat([b, traced.ones_like(second), second], -1)
        product = traced.matmul(left, traced.mT(right))
        return np.asarray(traced.sqrt(traced.clamp_min(product, 0)).array)


def _euclidean_rule(own: Tensor, other: Tensor, ratio: Tensor) -> Any:
    """The gradient of the rows of `own`, from the gradient of the distances by these."""
    return own * traced.sum(ratio, -1, True) - traced.matmul(ratio, other)


def _ratio(grad: Any, out: Any) -> Any:
    """The gradient of the distances by these; 0 where a distance is 0."""
    return traced.masked_fill(as_tensor(grad) / as_tensor(out), as_tensor(out) == 0, 0)


_RATIO = "r = (grad / out).masked_fill(out == 0, 0); "
EUCLIDEAN = Op(
    "EuclideanDistBackward0",
    _euclidean,
    "x1 x2",
    "dtype",
    on_tensors=True,
    jvp=without_jvp("_euclidean_dist"),
    x1=Rule(
        lambda grad, x1, x2, out: _euclidean_rule(as_tensor(x1), as_tensor(x2), _ratio(grad, out)),
        _RATIO + "x1 * r.sum(-1, True) - r @ x2",
        "0 where the distance is 0",
    ),
    x2=Rule(
        lambda grad, x1, x2, out: _euclidean_rule(as_tensor(x2), as_tensor(x1), traced.mT(_ratio(grad, out))),
        _RATIO + "x2 * r.sum(-2).unsqueeze(-1) - r.mT @ x1",
        "0 where the distance is 0",
    ),
)


_NO_PAIRS = refused(lambda: ProgramError("NotImplementedError", "the derivative for '_pdist_backward' is not implemented."))
PDIST_BACK = Op(
    "PdistBackwardBackward0", _of_pairs_back, "grad input distance", "p", saved="", grad=_NO_PAIRS, input=_NO_PAIRS, distance=_NO_PAIRS
)


def _pdist_rule(xp: Any, grad: Any, input: Any, out: Any, p: float, input_dtype: Any) -> Any:
    refuse_half("pdist_backward", input_dtype)
    return xp.call(PDIST_BACK, grad, input, out, p)


PDIST = Op(
    "PdistBackward0",
    _of_pairs,
    "input",
    "p",
    jvp=without_jvp("_pdist_forward"),
    saved="p result self",
    input=Rule(
        _pdist_rule,
        "i, j = torch.triu_indices(len(input), len(input), 1); d = input[i] - input[j]; r = d.abs() / out.unsqueeze(-1); "
        "g = (p != 0) * (grad.unsqueeze(-1) * d.sign() * r**(p - 1)).where(d != 0, 0); "
        "torch.zeros_like(input).index_add(0, i, g).index_add(0, j, -g)",
        "0 where the distance is 0",
    ),
)


def pdist(input: Tensor, p: float) -> Any:
    """The distance of order p of every row from every later one. Raises RuntimeError or NotImplementedError for what does not fit."""
    warn_of_samples("pdist", input)
    if input.array.ndim != 2:
        raise shape_error(f"pdist only supports 2D tensors, got: {input.array.ndim}D")
    if not input.dtype.is_floating_point:
        raise runtime_error("pdist only supports floating-point dtypes")
    if p < 0:
        raise runtime_error("pdist only supports non-negative p values")
    count = len(input.array)
    if count > 1 and input.array.shape[1]:
        refuse_half("pdist", input.dtype)
    limits.check_elements(count * count * max(input.array.shape[1], 1), input.array.itemsize)
    return PDIST(contiguous(input), float(p))


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def cdist(x1: Any, x2: Any, p: Any = 2.0, compute_mode: Any = _MODES[0]) -> Any:
    """The distance of order p of every row of x1 from every row of x2; leading dimensions broadcast.

    Raises RuntimeError for ranks, sizes, dtypes or orders that do not fit, ValueError for a `compute_mode` of another name, and then
    TypeError for other arguments.
    """
    if compute_mode not in _MODES:
        raise ProgramError("ValueError", f"{formatted(compute_mode)} is not a valid value for compute_mode")
    return _CDIST.call((x1, x2, p, _MODES.index(compute_mode)), {})


def _cdist(x1: Tensor, x2: Tensor, p: float, mode: int) -> Any:
    """`cdist`, with the mode as its place in `_MODES`."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x.array.ndim < 2:
            raise shape_error(f"cdist only supports at least 2D tensors, {name} got: {x.array.ndim}D")
    a, b = x1.array.shape, x2.array.shape
    if a[-1] != b[-1]:
        raise runtime_error(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    multiplied = p == 2 and (mode == 1 or (mode == 0 and max(a[-2], b[-2]) > 25))
    if not multiplied:
        check_no_tangent("_cdist_forward", x1, x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.dtype.is_floating_point:
            raise runtime_error(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.torch_name}")
    if p < 0:
        raise runtime_error("cdist only supports non-negative p values")
    batch = common_shape([a[:-2], b[:-2]])
    if x1.array.size and x2.array.size:
        if multiplied:
            return _by_product(x1, x2, batch)
        refuse_half("cdist", x1.dtype)
        if x1.dtype is not x2.dtype:
            raise scalar_type_error(x1.dtype, x2.dtype)
    limits.check_elements(math.prod(batch) * a[-2] * b[-2] * max(a[-1], 1), x1.array.itemsize)
    return CDIST(x1, x2, float(p))


def _by_product(x1: Tensor, x2: Tensor, batch: tuple[int, ...]) -> Any:
    """The distances of order 2 of rows in batches, by matrix products."""
    rows = x1.array.shape[-2], x2.array.shape[-2]
    limits.check_elements(math.prod(batch) * rows[0] * rows[1], x1.array.itemsize)
    if x1.dtype is not x2.dtype:
        if math.prod(batch) > 1:
            raise scalar_type_error(x1.dtype, x2.dtype)
        raise runtime_error(f"expected m1 and m2 to have the same dtype, but got: {x1.dtype.c_name} != {x2.dtype.c_name}")
    if math.prod(batch) > 1:
        x1, x2 = (view(contiguous(expand(x, (*batch, *x.array.shape[-2:]))), (-1, *x.array.shape[-2:])) for x in (x1, x2))
    return view(EUCLIDEAN(x1, x2, x1.dtype), (*batch, *rows))


_CDIST = Parser("cdist", [Signature("Tensor x1, Tensor x2, float p=2, int compute_mode=0", _cdist)])


_M = "tensor([[0., 3.], [1., 1.]])"


# --- of pairs of vectors ---


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    difference = scalars.plus(traced, x1 - x2, eps)
    last = difference.array.ndim - 1
    if (math.isinf(p) or p < 0) and 0 in difference.array.shape[-1:]:
        raise shape_error(
            f"linalg.vector_norm cannot compute the {p:g} norm on the dimension {max(last, 0)}because this dimension is empty and the "
            "operation does not have an identity"
        )
    return NORM(difference, float(p), (last,), keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Any:
    """The cosine of the angle between vectors along a dimension, whose norms count as `eps` at least.

    Raises RuntimeError unless a dtype is floating, and for shapes that do not broadcast.
    """
    dtype = dtypes.promote(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise runtime_error(f"expected common dtype to be floating point, yet common dtype is {dtype.torch_name}")
    if eps < 0:
        raise runtime_error(f"eps must be non-negative, got: {eps:g}")
    a, b = (x if x.dtype.is_floating_point else to_dtype(x, dtype) for x in (x1, x2))
    if a.shape != b.shape:  # then PyTorch expands both, also the one that has the shape already
        shape = common_shape([a.array.shape, b.array.shape])
        a, b = expand(a, shape), expand(b, shape)
    first, second = (x / _at_least(CLONE(vector_norm(x, 2, (dim,), True)), eps) for x in (a, b))
    return sum_mean.sum(first * second, (dim,))


def _at_least(norm: Tensor, eps: float) -> Tensor:
    """Raise small norms to eps in place and unrecorded, as PyTorch does; a tangent follows."""
    with recording(False):
        return inplace_forms.apply(norm, lambda t: CLAMP_MIN(t, eps))


_X, _Y = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[0.1, 0.2, 0.3], [-0.4, 0.5, 0.6]]
_P, _T = _X, [[0.2, 0.5, 0.3], [0.25, 0.25, 0.5]]

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "cdist",
        ("any x1, any x2, any p=2.0, any compute_mode='use_mm_for_euclid_dist_if_necessary'", cdist),
        doc="The distance of order p of every row of x1 from every row of x2.",
        ops=(CDIST, EUCLIDEAN),
        samples=(
            Sample(f"cdist({_M}, tensor([[4., 0.]]))"),
            Sample(f"cdist({_M}, {_M}, p=1)"),
            Sample("cdist(x, y, compute_mode='use_mm_for_euclid_dist')", None, x=_X, y=_Y),
        ),
        method=False,
        python="cdist",
    ),
    Function(
        "pdist",
        ("Tensor input, float p=2", pdist),
        doc="The distance of order p of every row from every later one.",
        ops=(PDIST,),
        samples=(Sample("F.pdist(x)", None, x=_P), Sample("F.pdist(x, p=3)", None, x=_P)),
        method=False,
        aliases=("nn.functional.pdist",),
    ),
    Function(
        "pairwise_distance",
        ("Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False", pairwise_distance),
        doc="Distances of the vectors along the last dimension.",
        ops=(NORM,),
        samples=(
            Sample("F.pairwise_distance(p, t)", lambda p, t: np.linalg.norm(p - t + 1e-6, axis=-1), p=_P, t=_T),
            Sample("F.pairwise_distance(p, t, 3, keepdim=True)", None, p=_P, t=_T),
        ),
        method=False,
        aliases=("nn.functional.pairwise_distance",),
    ),
    Function(
        "cosine_similarity",
        ("Tensor x1, Tensor x2, int dim=1, float eps=1e-08", cosine_similarity),
        doc="Cosine of the angle between vectors.",
        samples=(Sample("F.cosine_similarity(x, w)", None, x=_X, w=_Y), Sample("F.cosine_similarity(x, w[0], dim=-1)", None, x=_X, w=_Y)),
        method=False,
        aliases=("nn.functional.cosine_similarity",),
    ),
)
