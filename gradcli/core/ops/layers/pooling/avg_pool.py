"""Average pooling, the mean of each window in one, two and three dimensions, and pooling by p-norms, which rests on it.

Inputs are (channels, *sizes), with or without a batch dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, half_to_single, window_reductions
from gradcli.core.kernels.memory_format import of_images
from gradcli.core.kernels.window_reductions import Spans
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.checks import refuse_half, with_method
from gradcli.core.ops.index.adding import added_in_half
from gradcli.core.ops.layers.fold import pair
from gradcli.core.ops.layers.pooling import checks
from gradcli.core.ops.layers.samples import IMAGE, ROW, VOLUME
from gradcli.core.ops.layers.transposes import NO_INFLUENCE, Pair, linear_pair, transpose_of
from gradcli.core.ops.reduce import sum_mean
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _grid(lengths: Sequence[Array], dtype: Any) -> Array:
    """The number of elements of each window, from its length along each dimension."""
    rank = len(lengths)
    made = np.ones((1,) * rank, np.int64)
    for axis, along in enumerate(lengths):
        made = made * along.reshape([-1 if i == axis else 1 for i in range(rank)])
    return made.astype(dtype)


def _quotient(total: Array, divisor: Any) -> Array:
    if total.dtype.kind == "b" or not total.size:
        return total  # PyTorch pools booleans where nothing is left
    if total.dtype.kind not in "iu":
        return np.asarray(total / divisor)
    # whole numbers are cut off towards 0
    return np.asarray(np.sign(total) * (np.abs(total) // np.abs(divisor)) * np.sign(divisor), total.dtype)


def _reversed(spans: Sequence[Spans], sizes: Sequence[int]) -> list[Spans]:
    return [window_reductions.reverse(one, n) for one, n in zip(spans, sizes, strict=True)]


def _laid_out(made: Array, x: Array, rank: int) -> Array:
    """The result for `x` as PyTorch lays it out: images have channels last where `x` has them, volumes are in row-major order."""
    return of_images(made, x) if rank == 2 else made


# --- sliding windows ---


def _windows(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
) -> tuple[list[Spans], Any]:
    """The windows along each dimension, and what their sums are divided by."""
    found = checks.sliding(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    spans = [one for one, _ in found]
    if divisor_override is not None:
        return spans, x.dtype.type(divisor_override)
    return spans, _grid([whole if count_include_pad else one.length for one, whole in found], x.dtype)


@in_single
def _avg(x: Array, *how: Any) -> Array:
    spans, divisor = _windows(x, *how)
    return _laid_out(_quotient(window_reductions.sums(x, spans), divisor), x, len(spans))


@in_single
def _avg_transposed(grad: Array, x: Array, *how: Any) -> Array:
    spans, divisor = _windows(x, *how)
    made = window_reductions.sums(_quotient(grad, divisor), _reversed(spans, x.shape[x.ndim - len(spans) :]))
    return _laid_out(made, x, len(spans))


def _record(rank: int) -> Pair:
    attrs = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
    call = f"F.avg_pool{rank}d({{}}, {attrs.replace(' ', ', ').replace('stride', 'stride or None')})"

    def wide(kernel: Sizes, stride: Sizes, padding: Sizes, *how: Any) -> tuple[Any, ...]:
        return *(checks.spread(sizes, rank) for sizes in (kernel, stride, padding)), *how

    return linear_pair(
        f"AvgPool{rank}D",
        lambda x, *how: _avg(x, *wide(*how)),
        lambda grad, x, *how: _avg_transposed(grad, x, *wide(*how)),
        attrs,
        call,
        rank,
    )


#: the records by the number of dimensions; PyTorch pools rows as images of height 1
AVG = {rank: _record(rank) for rank in (2, 3)}


def _avg_of_images(rank: int) -> Callable[..., Any]:
    name = f"avg_pool{rank}d"

    def run(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> Any:
        kernel, step, border, gaps = checks.settings(name, rank, kernel_size, stride, padding, 1)
        if rank == 3:
            checks.check_rank(input, rank)
        if divisor_override == 0:
            raise runtime_error("divisor must be not zero")
        if rank == 2:
            checks.check_rank(input, rank, by_dim=True)
        checks.check_windows(input, kernel, step, border, gaps, ceil_mode, of_image=rank == 3)
        if rank == 3:
            refuse_half("avg_pool3d_out_frame", input.dtype)
        checks.check_dtype(name if rank == 2 else "avg_pool3d_out_frame", input, (dtypes.int64,), rank == 2)
        kept = checks.as_kept(rank, kernel_size, stride, padding)
        return AVG[rank].forward(input, *kept, ceil_mode, count_include_pad, divisor_override)

    return run


def _avg_of_rows(input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> Any:
    checks.check_row_rank(input, "avg_pool1d")
    given = {"kernel_size": kernel_size, "stride": stride or (), "padding": padding}
    kernel, step, border = (checks.one_int("avg_pool1d", name, value) for name, value in given.items())
    steps = () if step is None else (1, step)
    return squeeze_dim(
        _avg_of_images(2)(unsqueeze(input, -2), (1, kernel), steps, (0, border or 0), ceil_mode, count_include_pad, None), -2
    )


# --- windows that cover everything evenly ---


@in_single
def _adaptive_avg(x: Array, output_size: Sizes) -> Array:
    spans = checks.evenly(x.shape[x.ndim - len(output_size) :], output_size)
    means = _quotient(window_reductions.sums(x, spans).astype(x.dtype, copy=False), _grid([one.length for one in spans], x.dtype))
    return _laid_out(means, x, len(spans))


@in_single
def _adaptive_avg_transposed(grad: Array, x: Array, rank: int) -> Array:
    if state.dual is None:
        checks.check_gradient(f"adaptive_avg_pool{rank}d", grad)
    sizes = x.shape[x.ndim - rank :]
    spans = checks.evenly(sizes, grad.shape[grad.ndim - rank :])
    return _laid_out(window_reductions.sums(grad / _grid([one.length for one in spans], grad.dtype), _reversed(spans, sizes)), x, rank)


def _over_lengths(x: Array, spans: list[Spans], dtype: DType) -> Array:
    """Numbers of windows over the length of each along each dimension, rounded to the dtype each time."""
    for axis, one in enumerate(spans):
        x = dtypes.stored(x / one.length.reshape([-1 if i == axis else 1 for i in range(len(spans))]).astype(np.float32), dtype)
    return x


def _members(count: int, spans: list[Spans]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Which window and which element each pair of both has, as indices of the last dimensions; `count` is the number of images."""
    limits.check_elements(count * math.prod(int(one.length.sum()) for one in spans), 8)
    windows = [np.repeat(np.arange(len(one.begin)), one.length) for one in spans]
    elements = [np.concatenate([np.arange(0), *[np.arange(*ends) for ends in zip(one.begin, one.end, strict=True)]]) for one in spans]
    return (..., *np.ix_(*windows)), (..., *np.ix_(*elements))


def _adaptive_avg_in_half(dtype: DType, x: Array, output_size: Sizes) -> Array:
    """PyTorch adds the elements of volumes up in half precision."""
    rank = len(output_size)
    lead, sizes = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    if rank == 2 or not x.size:
        return _adaptive_avg(x, output_size)  # type: ignore[no-any-return]
    spans = checks.evenly(sizes, output_size)
    windows, elements = _members(math.prod(lead), spans)
    shape = (*lead, *output_size)
    at = np.arange(math.prod(shape)).reshape(shape)[windows]
    made = _over_lengths(half_to_single(added_in_half(shape, at, x[elements], dtype)), spans, dtype)
    return _laid_out(made.astype(dtype.np), x, rank)


def _adaptive_avg_transposed_in_half(dtype: DType, grad: Array, x: Array, rank: int) -> Array:
    """PyTorch divides a gradient by the size of its window along each dimension, and adds it to the elements of the window in turn."""
    if state.dual is None:
        checks.check_gradient(f"adaptive_avg_pool{rank}d", grad)
    spans = checks.evenly(x.shape[x.ndim - rank :], grad.shape[grad.ndim - rank :])
    windows, elements = _members(math.prod(x.shape[: x.ndim - rank]), spans)
    share = _over_lengths(half_to_single(grad), spans, dtype).astype(dtype.np)
    return _laid_out(added_in_half(x.shape, np.arange(x.size).reshape(x.shape)[elements], share[windows], dtype), x, rank)


def _adaptive_record(rank: int) -> Pair:
    call = f"F.adaptive_avg_pool{rank}d({{}}, %s.shape[-{rank}:])"
    op = Op(
        f"AdaptiveAvgPool{rank}DBackward0",
        _adaptive_avg,
        "input",
        "output_size",
        in_half=_adaptive_avg_in_half,
        saved="self",
        input=Rule(lambda xp, grad, input: xp.call(transpose, grad, input, rank), transpose_of(call % "grad", rank)),
        complex=True,
    )
    transpose = Op(
        f"AdaptiveAvgPool{rank}DBackwardBackward0",
        _adaptive_avg_transposed,
        "grad_output input",
        "rank",
        in_half=_adaptive_avg_transposed_in_half,
        saved=" ".join(f"grad_output_sym_argsize_minus_{k}" for k in range(1, rank + 1)),
        grad_output=Rule(
            lambda xp, grad, grad_output_shape: xp.call(op, grad, tuple(grad_output_shape[len(grad_output_shape) - rank :])),
            (call % "grad_output").format("grad"),
        ),
        input=NO_INFLUENCE,
    )
    return Pair(op, transpose)


ADAPTIVE_AVG = {rank: _adaptive_record(rank) for rank in (2, 3)}


def _adaptive(rank: int, input: Tensor, output_size: Any) -> Any:
    name = f"adaptive_avg_pool{rank}d"
    wanted = tuple(output_size)
    checks.check_sizes(name, rank, wanted)
    if any(n < 0 for n in wanted):
        shown = ", ".join(map(str, wanted[:2])) + "".join(f",{n}" for n in wanted[2:])  # as PyTorch writes three sizes
        raise shape_error(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}")
    if all(n == 1 for n in wanted):
        means = sum_mean.mean(input, tuple(range(-1, -1 - rank, -1)), True)
        means.array = of_images(means.array, input.array)
        return means
    checks.check_adaptive(name, rank, input)
    if rank == 3 or (input.array.size and 0 not in wanted):  # PyTorch looks for no kernel of images otherwise
        checks.check_dtype(name if rank == 2 else f"{name}_cpu", input, formats=rank == 2)
    check_no_complex_gradient(f"_{name}", input)
    return ADAPTIVE_AVG[rank].forward(input, wanted)


_ADAPTIVE = {
    rank: kernel(f"adaptive_avg_pool{rank}d", f"Tensor input, ints{rank} output_size", lambda *args, rank=rank: _adaptive(rank, *args))
    for rank in (2, 3)
}


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Any:
    """The means of so many windows of images. Raises RuntimeError or NotImplementedError for inputs and sizes that do not fit."""
    return _ADAPTIVE[2](input, checks.with_defaults(output_size, input))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Any:
    """The means of so many windows of volumes. Raises RuntimeError or NotImplementedError for inputs and sizes that do not fit."""
    return _ADAPTIVE[3](input, checks.with_defaults(output_size, input))


def _adaptive_of_rows(input: Tensor, output_size: Any) -> Any:
    checks.check_row_rank(input, "adaptive_avg_pool1d")
    wanted = checks.one_int("adaptive_avg_pool1d", "output_size", output_size)
    return squeeze_dim(_adaptive(2, unsqueeze(input, -2), (1, wanted)), -2)


# --- p-norms ---


def _lp(rank: int) -> Callable[..., Any]:
    def run(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        sizes = kernel_size if rank == 1 else pair(kernel_size, rank)
        if rank > 1 and len(sizes) != rank:
            few = f"not enough values to unpack (expected {rank}, got {len(sizes)})"
            raise ProgramError("ValueError", few if len(sizes) < rank else f"too many values to unpack (expected {rank})")
        if isinstance(norm_type, (int, float)) and math.isinf(norm_type):
            magnitudes = catalog.function("abs")(with_method(input, "abs"))
            pool = catalog.function(f"nn.functional.max_pool{rank}d")
            if norm_type > 0:
                return pool(magnitudes, kernel_size, stride, 0, 1, ceil_mode)
            return -pool(-magnitudes, kernel_size, stride, 0, 1, ceil_mode)
        power, average = catalog.method("pow"), catalog.function(f"nn.functional.avg_pool{rank}d")
        powers = power.method(with_method(input, "pow"), (norm_type,), {})
        if stride is None:
            means = average(powers, kernel_size, padding=0, ceil_mode=ceil_mode)
        else:
            means = average(powers, kernel_size, stride, 0, ceil_mode)
        signed = catalog.function("sign")(means) * catalog.function("relu")(catalog.function("abs")(means))
        factor = sizes if rank == 1 else math.prod(sizes)
        return power.method(catalog.method("mul").method(signed, (factor,), {}), (1.0 / norm_type,), {})

    return run


def _lp_function(rank: int, sample: Sample) -> Function:
    return PythonFunction(_lp(rank), f"lp_pool{rank}d", "The p-norm of each window.", unchecked=True, samples=(sample,))


_SLIDING = "Tensor input, ints{0} kernel_size, ints{0}? stride=None, ints{0} padding=0, bool ceil_mode=False, bool count_include_pad=True"
_EVENLY = "The mean of each of so many windows that cover everything."


def _function(rank: int, *samples: Sample) -> Function:
    return Function(
        f"avg_pool{rank}d",
        (f"{_SLIDING.format(rank)}, int? divisor_override=None", _avg_of_images(rank)),
        doc="The mean of each window.",
        ops=AVG[rank],
        samples=samples,
        namespace="torch.nn.functional",
        method=False,
        out=Out(EXACT, memory="unchecked"),
    )


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "avg_pool1d",
        (_SLIDING.format(1), _avg_of_rows),
        doc="The mean of each window.",
        ops=AVG[2],
        samples=(Sample("F.avg_pool1d(x, 2)", lambda x: x.reshape(1, 3, 2).mean(-1), x=ROW),),
        method=False,
        aliases=("nn.functional.avg_pool1d",),
    ),
    _function(
        2,
        Sample("F.avg_pool2d(x, 2, 1)", None, x=IMAGE),
        Sample("F.avg_pool2d(x, (2, 3), 2, 1, True, False)", None, x=IMAGE),
        Sample("F.avg_pool2d(x, 2, divisor_override=3)", None, x=IMAGE),
    ),
    _function(3, Sample("F.avg_pool3d(x, 2)", lambda x: x.mean((1, 2, 3), keepdims=True), x=VOLUME)),
    Function(
        "adaptive_avg_pool1d",
        ("Tensor input, ints1 output_size", _adaptive_of_rows),
        doc=_EVENLY,
        ops=ADAPTIVE_AVG[2],
        samples=(Sample("F.adaptive_avg_pool1d(x, 4)", None, x=ROW),),
        method=False,
        aliases=("nn.functional.adaptive_avg_pool1d",),
    ),
    PythonFunction(
        adaptive_avg_pool2d,
        "adaptive_avg_pool2d",
        _EVENLY,
        unchecked=True,
        ops=ADAPTIVE_AVG[2],
        samples=(Sample("F.adaptive_avg_pool2d(x, (2, None))", None, x=IMAGE), Sample("F.adaptive_avg_pool2d(x, 1)", None, x=IMAGE)),
    ),
    PythonFunction(
        adaptive_avg_pool3d,
        "adaptive_avg_pool3d",
        _EVENLY,
        unchecked=True,
        ops=ADAPTIVE_AVG[3],
        samples=(Sample("F.adaptive_avg_pool3d(x, (1, 2, 3))", None, x=VOLUME),),
    ),
    _lp_function(1, Sample("F.lp_pool1d(x, 2, 2)", None, x=ROW)),
    _lp_function(2, Sample("F.lp_pool2d(x, 2, 2)", None, x=IMAGE)),
    _lp_function(3, Sample("F.lp_pool3d(x, 2, 2)", None, x=VOLUME)),
)
