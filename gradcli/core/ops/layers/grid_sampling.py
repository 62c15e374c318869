"""Images at the places of a grid, and grids of affine maps, which spatial transformers are made of (Jaderberg et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.kernels import Array, grid_sampling
from gradcli.core.kernels.grid_sampling import Settings
from gradcli.core.ops.checks import not_implemented, require_floating, scalar_type_error, size, with_method, wrap_dim
from gradcli.core.ops.linalg.products.matrix_products import BMM
from gradcli.core.ops.rules import check_no_tangent, not_differentiable
from gradcli.core.ops.shape.transpose import TRANSPOSE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if "
    "the old behavior is desired. See the documentation of grid_sample for details."
)
_ATTRS = "interpolation_mode padding_mode align_corners"


def _sample(input: Array, grid: Array, *settings: Any) -> Array:
    return grid_sampling.sample(input, grid, Settings(*settings))


def _spread(grad: Array, input: Array, grid: Array, *settings: Any) -> Array:
    return grid_sampling.spread(grad, grid, input.shape[2:], Settings(*settings))


def _slopes(grad: Array, input: Array, grid: Array, *settings: Any) -> Array:
    return grid_sampling.slopes(grad, input, grid, Settings(*settings))


def _unless_nearest(xp: Any, op: Op, *args: Any) -> Any:
    """A derivative of the gradient of the grid, which depends on nothing where the nearest element is read."""
    *operands, attrs = args
    return None if attrs[0] == 1 else xp.call(op, *operands, *attrs)


_CALL = (
    "F.grid_sample({}, {}, ('bilinear', 'nearest', 'bicubic')[interpolation_mode], ('zeros', 'border', 'reflection')[padding_mode], "
    "align_corners)"
)


def _derivative(call: str, of: str, grad: str = "grad") -> str:
    """The formula of the gradient that `call`, a function of z, gives for a value of z."""
    return f"torch.func.vjp(lambda z: {call}, {of})[1]({grad})[0]"


def _second(of: str) -> str:
    """The formula of what the gradient of the grid gives for one of its operands."""
    names = {"grad_output": "grad_output", "input": "input", "grid": "grid", of: "y"}
    inner = _derivative(_CALL.format(names["input"], "z"), names["grid"], names["grad_output"])
    return f"torch.func.vjp(lambda y: {inner}, {of})[1](grad)[0]"


def _records(rank: int) -> tuple[Op, Op, Op]:
    """Sampling in 2 or 3 dimensions, and the gradients of the image and of the grid, which PyTorch has one node for."""
    name, node = f"grid_sampler_{rank}d", f"GridSampler{rank}DBackward"
    operands, saved = "grad_output input grid", "align_corners grid input interpolation_mode padding_mode"
    saved_too = f"{saved} grad_output"

    def second(run: Callable[..., Array]) -> Op:
        """A derivative in a direction of the grid, which the third derivative would need more for."""
        return not_differentiable(f"{name}_backward", in_single(run), f"direction {operands}", _ATTRS)

    along = second(lambda t, g, x, grid, *s: grid_sampling.sample(x, grid, Settings(*s), t))
    along_input = second(lambda t, g, x, grid, *s: grid_sampling.spread(g, grid, x.shape[2:], Settings(*s), t))
    along_grid = second(lambda t, g, x, grid, *s: grid_sampling.slopes(g, x, grid, Settings(*s), t))
    of_input = Op(
        f"{node}Backward0",
        in_single(_spread),
        operands,
        _ATTRS,
        saved=saved_too,
        grad_output=Rule(lambda xp, grad, grid, attrs: xp.call(sampling, grad, grid, *attrs), _CALL.format("grad", "grid")),
        input=Rule(lambda grad: None, "0 * grad"),
        grid=Rule(
            lambda xp, grad, grad_output, grid, attrs: xp.call(of_grid, grad_output, grad, grid, *attrs),
            _derivative(_CALL.format("grad", "z"), "grid", "grad_output"),
        ),
    )
    of_grid = Op(
        f"{node}Backward0",
        in_single(_slopes),
        operands,
        _ATTRS,
        saved=saved_too,
        grad_output=Rule(
            lambda xp, grad, grad_output, input, grid, attrs: _unless_nearest(xp, along, grad, grad_output, input, grid, attrs),
            _second("grad_output"),
        ),
        input=Rule(
            lambda xp, grad, grad_output, input, grid, attrs: _unless_nearest(xp, along_input, grad, grad_output, input, grid, attrs),
            _second("input"),
        ),
        grid=Rule(
            lambda xp, grad, grad_output, input, grid, attrs: _unless_nearest(xp, along_grid, grad, grad_output, input, grid, attrs),
            _second("grid"),
        ),
    )
    sampling = Op(
        f"{node}0",
        in_single(_sample),
        "input grid",
        _ATTRS,
        saved=saved,
        jvp=without_jvp(name),
        input=Rule(
            lambda xp, grad, input, grid, attrs: xp.call(of_input, grad, input, grid, *attrs),
            _derivative(_CALL.format("z", "grid"), "input"),
        ),
        grid=Rule(
            lambda xp, grad, input, grid, attrs: xp.call(of_grid, grad, input, grid, *attrs),
            _derivative(_CALL.format("input", "z"), "grid"),
            "0 where the padding has moved a place, and where it is at an end",
        ),
    )
    return sampling, of_input, of_grid


RECORDS = {rank: _records(rank) for rank in (2, 3)}


def _grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, rank: int | None = None
) -> Any:
    """Images, or volumes, at the places of a grid. Raises RuntimeError or NotImplementedError for shapes or dtypes that do not fit."""
    shape, places = list(input.array.shape), list(grid.array.shape)
    rank = rank or (2 if len(shape) == 4 else 3)
    check_no_tangent(f"grid_sampler_{rank}d", input, grid)
    for operand in (input, grid):
        size(operand, 0)
    if shape[0] != places[0]:
        raise shape_error(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {shape} and grid with "
            f"sizes {places}"
        )
    if places[-1] != len(shape) - 2:
        raise shape_error(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes {places}"
        )
    if 0 in shape[2:]:
        raise shape_error(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {shape} with dimension "
            f"{shape.index(0, 2)} being empty"
        )
    if len(shape) != rank + 2 or len(places) != rank + 2:
        raise shape_error(
            f"grid_sampler(): expected {rank + 2}D input and grid with same number of dimensions, but got input with sizes {shape} and "
            f"grid with sizes {places}"
        )
    if rank == 3 and interpolation_mode == 2:
        raise runtime_error("grid_sampler(): bicubic interpolation only supports 4D input")
    empty = not (input.array.size and grid.array.size)
    if rank == 3 or not empty:
        require_floating("grid_sampler_2d_cpu_kernel_impl" if rank == 2 else "grid_sampler3d_cpu", input.dtype)
    if input.dtype is not grid.dtype and not empty:
        raise scalar_type_error(input.dtype, grid.dtype)
    for what, number in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
        if number not in (0, 1, 2):  # PyTorch leaves the result as its memory was
            raise runtime_error(f"grid_sampler with {what}={number} is not part of gradcli")
    count = shape[0] * shape[1] * math.prod(places[1:-1])
    limits.check_elements(count, input.dtype.itemsize)
    limits.check_work(16 * count)
    return RECORDS[rank][0](input, grid, interpolation_mode, padding_mode, align_corners)


def _sampler(name: str, rank: int | None, **more: Any) -> Function:
    return Function(
        name,
        (
            "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
            lambda input, grid, mode, padding, corners: _grid_sampler(input, grid, mode, padding, corners, rank),
        ),
        doc=f"The {'volume' if rank == 3 else 'image'} at the places of the grid; modes are given by their numbers.",
        method=False,
        **more,
    )


def _chosen(what: str, value: Any, known: Sequence[str]) -> int:
    if isinstance(value, str) and value in known:
        return known.index(value)
    names = ", ".join(f"'{name}'" for name in known[:-1]) + ("," if what == "padding_mode" else "") + f" or '{known[-1]}'"
    raise ProgramError("ValueError", f"nn.functional.grid_sample(): expected {what} to be {names}, but got: '{formatted(value)}'")


def grid_sample(input: Tensor, grid: Tensor, mode: Any = "bilinear", padding_mode: Any = "zeros", align_corners: Any = None) -> Any:
    """The image at the places of the grid: (N, C, H, W) and (N, h, w, 2) give (N, C, h, w), and so with one dimension more.

    Raises ValueError for unknown modes, RuntimeError or NotImplementedError for shapes or dtypes that do not fit.
    """
    numbers = _chosen("mode", mode, _MODES), _chosen("padding_mode", padding_mode, _PADDINGS)
    if align_corners is None:
        warnings.emit(_CHANGED)
        align_corners = False
    return _GRID_SAMPLER(input, grid, *numbers, align_corners)


# --- grids of affine maps ---


def _base(size: Sequence[int], align_corners: bool, dtype: DType) -> Array:
    """The places of an image with a 1 behind each, (batch, places, dimensions + 1)."""
    lines = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(dtypes.cast(line if align_corners else line * (n - 1) / max(n, 1), dtype))
    crossed = np.meshgrid(*lines, indexing="ij")
    places = np.stack([*reversed(crossed), np.ones_like(crossed[0])], -1).reshape(-1, len(size) - 1)
    return np.broadcast_to(places, (size[0], *places.shape))


def _affine(theta: Array, size: tuple[int, ...], align_corners: bool, dtype: DType) -> Array:
    base = _base(size, align_corners, dtype)
    made = np.asarray(in_single(np.matmul)(base, theta.swapaxes(1, 2)))
    return made.reshape(size[0], *size[2:], len(size) - 2)


def _theta_rule(xp: Any, grad: Any, size: tuple[int, ...], align_corners: bool, dtype: DType) -> Any:
    base = np.ascontiguousarray(_base(size, align_corners, dtype).swapaxes(1, 2))
    flat = xp.reshape(grad, (size[0], math.prod(size[2:]), len(size) - 2))
    return xp.call(TRANSPOSE, xp.call(BMM, Tensor(base, dtype), flat), 1, 2)


AFFINE_GRID = Op(
    "AffineGridGeneratorBackward0",
    _affine,
    "theta",
    "size align_corners dtype",
    saved="align_corners size",
    theta=Rule(_theta_rule, _derivative("F.affine_grid(z, size, align_corners)", "theta")),
)


def _affine_grid_generator(theta: Tensor, size: tuple[int, ...], align_corners: bool) -> Any:
    if len(size) not in (4, 5):
        raise shape_error("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if not theta.dtype.is_floating_point:
        raise ProgramError("NotImplementedError", f"affine_grid_generator of {theta.dtype!r} is not part of gradcli")
    rank, shape = len(size) - 2, theta.array.shape
    batch = [size[0], *size[2:]]
    if min(batch) < 0:
        raise shape_error(f"Trying to create tensor with negative dimension {min(batch)}: {[*batch, rank + 1]}")
    if theta.dtype.itemsize == 2 and min(size[2:]) <= 1:
        raise not_implemented("tensor_cpu", theta.dtype)
    wrap_dim(2 if len(shape) > 1 else 1, len(shape))
    if len(shape) != 3:
        raise shape_error("batch2 must be a 3D tensor")
    if (shape[0], shape[2]) != (size[0], rank + 1):
        raise shape_error(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {rank + 1}] but got: [{shape[0]}, {shape[2]}]."
        )
    count = math.prod(batch)
    if count and shape[1] != rank:
        raise shape_error(f"shape '{[*batch, rank]}' is invalid for input of size {count * shape[1]}")
    limits.check_elements(math.prod(size) * len(size), theta.dtype.itemsize)
    return AFFINE_GRID(theta, tuple(size), align_corners, theta.dtype)


def affine_grid(theta: Tensor, size: Any, align_corners: Any = None) -> Any:
    """The grid of an affine map: (N, 2, 3) and a size (N, C, H, W) give (N, H, W, 2); (N, 3, 4) and (N, C, D, H, W) give (N, D, H, W, 3).

    Raises ValueError, NotImplementedError or TypeError for a dtype, shapes or sizes that do not fit.
    """
    if align_corners is None:
        warnings.emit(_CHANGED)
        align_corners = False
    if not with_method(theta, "is_floating_point").dtype.is_floating_point:
        raise ProgramError("ValueError", f"Expected theta to have floating point type, but got {theta.dtype!r}")
    rank = language.length(size) - 2
    if rank not in (2, 3):
        raise shape_error(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {formatted(size)}.",
            "NotImplementedError",
        )
    if theta.array.shape[1:] != (rank, rank + 1):
        raise shape_error(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {formatted(size)}. Got {theta.shape!r}.",
            "ValueError",
        )
    if align_corners and min(size[2:]) == 1:
        warnings.emit(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended "
            "use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise shape_error(f"Expected non-zero, positive output size. Got {formatted(size)}", "ValueError")
    return _AFFINE_GRID(theta, size, align_corners)


_IMAGE = [[[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [0.75, 1.0, -2.0]]]]
_GRID = [[[[0.1, -0.2], [0.7, 0.45]], [[-0.35, 0.8], [-0.6, -0.55]]]]
_VOLUME, _PLACES = [_IMAGE], [[[[[0.1, -0.2, 0.3], [0.7, 0.45, -0.6]]]]]
_GRID_SAMPLER = _sampler("grid_sampler", None, samples=(Sample("torch.grid_sampler(x, g, 0, 0, False)", None, x=_IMAGE, g=_GRID),))
_THETA = [[[1.0, 0.2, 0.1], [-0.3, 0.8, 0.0]]]
_AFFINE_GRID = Function(
    "affine_grid_generator",
    ("Tensor theta, ints size, bool align_corners", _affine_grid_generator),
    doc="The grid of an affine map, for an image of a size.",
    ops=(AFFINE_GRID,),
    samples=(Sample("torch.affine_grid_generator(t, (1, 1, 2, 3), True)", None, t=_THETA),),
    method=False,
)

FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        grid_sample,
        "grid_sample",
        "The image at the places of a grid.",
        unchecked=True,
        ops=tuple(op for records in RECORDS.values() for op in records),
        samples=(
            Sample("F.grid_sample(x, g, align_corners=False)", None, x=_IMAGE, g=_GRID),
            Sample("F.grid_sample(x, g, 'bicubic', 'reflection', align_corners=True)", None, x=_IMAGE, g=_GRID),
            Sample("F.grid_sample(x, g, 'nearest', 'border', False)", None, x=_IMAGE, g=_GRID),
            Sample("F.grid_sample(x, g, padding_mode='border', align_corners=True)", None, x=_VOLUME, g=_PLACES),
        ),
    ),
    PythonFunction(
        affine_grid,
        "affine_grid",
        "The grid of an affine map.",
        unchecked=True,
        ops=(AFFINE_GRID,),
        samples=(Sample("F.affine_grid(t, (1, 1, 2, 3), align_corners=False)", None, t=_THETA),),
    ),
    _AFFINE_GRID,
    _GRID_SAMPLER,
    _sampler("grid_sampler_2d", 2, samples=(Sample("torch.grid_sampler_2d(x, g, 0, 0, False)", None, x=_IMAGE, g=_GRID),)),
    _sampler("grid_sampler_3d", 3, samples=(Sample("torch.grid_sampler_3d(x, g, 0, 1, True)", None, x=_VOLUME, g=_PLACES),)),
)
