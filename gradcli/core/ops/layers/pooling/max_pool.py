"""Max pooling: the largest element of each window, in one, two and three dimensions.

Inputs are (channels, *sizes), with or without a batch dimension. A window's maximum is found first; the operation then takes
the elements at these places, so that its gradient goes back to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction, kernel
from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array, memory_format, window_reductions
from gradcli.core.kernels.windows import Sizes
from gradcli.core.ops.index.adding import added_in_half
from gradcli.core.ops.index.gather_scatter import GATHER
from gradcli.core.ops.layers.pooling import checks
from gradcli.core.ops.layers.pooling.return_indices import Dispatched, DispatchedPython
from gradcli.core.ops.layers.samples import IMAGE, ROW, VOLUME
from gradcli.core.ops.layers.transposes import NO_INFLUENCE, Pair
from gradcli.core.ops.rules import moves
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _flat(xp: Any, x: Any, rank: int) -> Any:
    """`x` with its last `rank` dimensions as one."""
    lead, sizes = x.shape[: len(x.shape) - rank], x.shape[len(x.shape) - rank :]
    return xp.call(VIEW, x, (*lead, math.prod(sizes)))


def _at_places(x: Array, indices: Array, rank: int) -> Array:
    flat = x.reshape(*x.shape[: x.ndim - rank], math.prod(x.shape[x.ndim - rank :]))
    return np.take_along_axis(flat, _flat(numeric, indices, rank), -1).reshape(indices.shape)


def records_of_maxima(name: str, attrs: str, rank: int, channels_last: bool) -> Pair:
    """The records of the maxima of windows, whose places in the flattened last `rank` dimensions are `indices`.

    `channels_last` says whether results and gradients have channels last where the input has them.
    """

    def gathered(xp: Any, grad: Any, indices: Any) -> Any:
        places = np.asarray(_flat(numeric, indices, rank))
        return xp.call(VIEW, xp.call(GATHER, _flat(xp, grad, rank), -1, places), indices.shape)

    def placed(grad: Array, x: Array, indices: Array) -> Array:
        if not attrs and state.dual is None:
            checks.check_gradient(f"adaptive_max_pool{rank}d", grad)
        return laid_out(window_reductions.placed(grad, indices, rank, x.shape[x.ndim - rank :]), x)

    def placed_in_half(dtype: DType, grad: Array, x: Array, indices: Array) -> Array:
        if not attrs and state.dual is None:
            checks.check_gradient(f"adaptive_max_pool{rank}d", grad)
        size = math.prod(x.shape[x.ndim - rank :])
        lead = np.arange(math.prod(x.shape[: x.ndim - rank])).reshape(*x.shape[: x.ndim - rank], *(1 for _ in range(rank)))
        return laid_out(added_in_half(x.shape, indices + lead * size, grad, dtype), x)

    def laid_out(made: Array, x: Array) -> Array:
        if channels_last and rank == 3 and x.ndim == 4:  # looked at as a batch of one volume
            last = not x.flags.c_contiguous and memory_format.is_channels_last(x[None])
            return memory_format.laid_out(made[None], memory_format.channels_last_strides((1, *made.shape)))[0] if last else made
        return memory_format.of_images(made, x) if channels_last else made

    transpose = Op(
        f"{name}BackwardBackward0",
        placed,
        "grad_output input",
        "indices",
        in_half=placed_in_half,
        grad_output=Rule(gathered, f"grad.flatten(-{rank}).gather(-1, indices.flatten(-{rank})).reshape(indices.shape)"),
        input=NO_INFLUENCE,
    )
    op = Op(
        f"{name}Backward0",
        lambda x, *how: laid_out(_at_places(x, how[-1], rank), x),
        "input",
        f"{attrs} indices",
        saved=f"result1=indices> self {attrs}",
        input=Rule(
            lambda xp, grad, input, indices: xp.call(transpose, grad, input, indices),
            f"zeros_like(input).flatten(-{rank}).scatter_add(-1, indices.flatten(-{rank}), grad.flatten(-{rank})).reshape(input.shape)",
            "the first of equal maxima of a window gets its gradient",
        ),
    )
    return Pair(op, transpose)


_WINDOWS = "kernel_size stride padding dilation ceil_mode"
#: the records by the number of dimensions; PyTorch pools rows as images of height 1
MAX = {rank: records_of_maxima(f"MaxPool{rank}DWithIndices", _WINDOWS, rank, True) for rank in (2, 3)}
ADAPTIVE_MAX = {rank: records_of_maxima(f"AdaptiveMaxPool{rank}D", "", rank, rank == 2) for rank in (2, 3)}


def pooled(pair: Pair, input: Tensor, found: Array, *how: Any) -> tuple[Tensor, Tensor]:
    """The maxima at the places `found`, and the places, both laid out alike."""
    indices = Tensor(found, dtypes.int64)
    made = pair.forward(input, *how, watched(indices))
    indices.array = memory_format.laid_out(found, memory_format.element_strides(made.array))
    return made, indices


# --- sliding windows ---


def _places(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Array:
    spans = checks.sliding(x.shape[x.ndim - len(kernel) :], kernel, stride, padding, dilation, ceil_mode)
    return window_reductions.maxima(x, [one for one, _ in spans])


_WHOLE = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


def _max_of_images(rank: int) -> Callable[..., Any]:
    name = f"max_pool{rank}d"

    def run(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
        sizes = checks.settings(name, rank, kernel_size, stride, padding, dilation)
        checks.check_rank(input, rank)
        if rank == 3 and input.array.ndim == 4 and memory_format.suggests_channels_last(input.array):
            raise runtime_error("Unsupported memory format. Supports only ChannelsLast3d, Contiguous")
        checks.check_windows(input, *sizes, ceil_mode)
        checks.check_dtype(name, input, _WHOLE, formats=True)
        kept = checks.as_kept(rank, kernel_size, stride, padding, dilation)
        return pooled(MAX[rank], input, _places(input.array, *sizes, ceil_mode), *kept, ceil_mode)

    return run


def _max_of_rows(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
    kernel, step, border, gaps = checks.row_settings(input, kernel_size, stride, padding, dilation)
    step = kernel if step is None else step
    checks.check_row_windows(input, kernel, step, border, gaps, ceil_mode)
    recorded = moves(input) or (input.requires_grad and state.enabled)
    checks.check_dtype("max_pool2d" if recorded else "max_pool1d_impl", input)
    how = ((1, kernel), (1, step), (0, border), (1, gaps), ceil_mode)
    rows = unsqueeze(input, -2)
    made = pooled(MAX[2], rows, _places(rows.array, *how), *how)
    return _as_rows(made)


def _as_rows(made: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Maxima and places of images of height 1, without the height."""
    return squeeze_dim(made[0], -2), squeeze_dim(made[1], -2)


def _places_of_rows(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
    """`max_pool1d_with_indices`, which PyTorch checks as images of height 1."""
    checks.check_row_rank(input, "max_pool1d")
    kernel, between, border, gaps = (
        checks.one_int("max_pool1d", name, value)
        for name, value in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    step = () if between is None else (1, between)
    made = _max_of_images(2)(unsqueeze(input, -2), (1, kernel), step, (0, border), (1, gaps), ceil_mode)
    return _as_rows(made)


# --- windows that cover everything evenly ---


def _adaptive(rank: int, input: Tensor, wanted: Sizes) -> tuple[Tensor, Tensor]:
    name = f"adaptive_max_pool{rank}d"
    checks.check_adaptive(name, rank, input)
    checks.check_sizes(name, rank, wanted)
    if any(n < 0 for n in wanted):
        shown = [*input.array.shape[: input.array.ndim - rank], *wanted]
        raise shape_error(f"Trying to create tensor with negative dimension {min(wanted)}: {shown}")
    checks.check_dtype(name if rank == 2 else f"{name}_cpu", input, formats=rank == 2)
    spans = checks.evenly(input.array.shape[input.array.ndim - rank :], wanted)
    return pooled(ADAPTIVE_MAX[rank], input, window_reductions.maxima(input.array, spans))


def _adaptive_of_images(rank: int, places: bool) -> Callable[..., Any]:
    run_kernel = kernel(f"adaptive_max_pool{rank}d", f"Tensor input, ints{rank} output_size", lambda *args: _adaptive(rank, *args))

    def run(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        made = run_kernel(input, checks.with_defaults(output_size, input))
        return made if places else made[0]

    return run


def _adaptive_of_rows(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    checks.check_row_rank(input, "adaptive_max_pool1d")
    wanted = checks.one_int("adaptive_max_pool1d", "output_size", output_size)
    shape = input.array.shape
    for at in range(1, len(shape)):
        if not shape[at]:
            raise shape_error(
                "adaptive_max_pool1d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} with dimension {at} being empty"
            )
    made = _adaptive(2, unsqueeze(input, -2), (1, wanted))
    return _as_rows(made)


_SLIDING = "Tensor input, ints{0} kernel_size, ints{0}? stride=None, ints{0} padding=0, ints{0} dilation=1, bool ceil_mode=False"
_WITH_PLACES = "The largest element of each window, and where it is."
_EVENLY = "The largest element of each of so many windows that cover everything."


_ROWS_EVENLY = "Tensor input, ints1 output_size, any return_indices=False"


def _functions(rank: int, *samples: Sample) -> tuple[Function, ...]:
    name, named = f"max_pool{rank}d", f"max_pool{rank}d_with_indices"
    run = _max_of_rows if rank == 1 else _max_of_images(rank)
    with_places = _places_of_rows if rank == 1 else run
    doc = "The largest element of each window."
    sliding = _SLIDING.format(rank)
    shared: dict[str, Any] = {"ops": MAX[max(rank, 2)], "method": False}
    inner = {"namespace": "torch.nn.functional", **shared}
    with_flag = f"{sliding}, any return_indices=False"
    reads = "is_cuda" if rank == 3 else ""
    places = Dispatched(named, (with_flag, lambda *args: with_places(*args[:6])), doc=_WITH_PLACES, python=named, reads=reads, **inner)
    found = (
        Dispatched(name, (with_flag, lambda *args: run(*args[:6])[0]), doc=doc, samples=samples, python=f"_{name}", other=places, **inner),
        Function(name, (sliding, lambda *args: run(*args)[0]), doc=doc, **shared),
        places,
    )
    return found if rank > 1 else (*found, Function(named, (sliding, with_places), doc=_WITH_PLACES, **shared))


def _adaptive_functions(rank: int, *samples: Sample) -> tuple[Function, Function]:
    name = f"adaptive_max_pool{rank}d"
    places = PythonFunction(_adaptive_of_images(rank, True), f"{name}_with_indices", _WITH_PLACES, unchecked=True)
    shared: dict[str, Any] = {"ops": ADAPTIVE_MAX[rank], "samples": samples, "unchecked": True, "python": f"_{name}"}
    return DispatchedPython(_adaptive_of_images(rank, False), name, _EVENLY, other=places, **shared), places


_ROWS_WITH_PLACES = Dispatched(
    "adaptive_max_pool1d_with_indices",
    (_ROWS_EVENLY, lambda *args: _adaptive_of_rows(*args[:2])),
    doc=_WITH_PLACES,
    ops=ADAPTIVE_MAX[2],
    python="adaptive_max_pool1d_with_indices",
    parsed_as="adaptive_max_pool1d",
    namespace="torch.nn.functional",
    method=False,
)
FUNCTIONS: tuple[Function, ...] = (
    *_functions(1, Sample("F.max_pool1d(x, 2)", lambda x: x.reshape(1, 3, 2).max(-1), x=ROW)),
    *_functions(
        2,
        Sample("F.max_pool2d(x, 2, 1)", None, x=IMAGE),
        Sample("F.max_pool2d(x, (2, 3), (2, 1), (1, 0), ceil_mode=True)", None, x=IMAGE),
        Sample("F.max_pool2d(x, 2, dilation=2)", None, x=IMAGE),
    ),
    *_functions(3, Sample("F.max_pool3d(x, 2)", lambda x: x.max((1, 2, 3), keepdims=True), x=VOLUME)),
    Dispatched(
        "adaptive_max_pool1d",
        (_ROWS_EVENLY, lambda *args: _adaptive_of_rows(*args[:2])[0]),
        doc=_EVENLY,
        ops=ADAPTIVE_MAX[2],
        samples=(Sample("F.adaptive_max_pool1d(x, 4)", None, x=ROW),),
        python="_adaptive_max_pool1d",
        other=_ROWS_WITH_PLACES,
        namespace="torch.nn.functional",
        method=False,
    ),
    _ROWS_WITH_PLACES,
    Function(
        "adaptive_max_pool1d",
        ("Tensor input, ints1 output_size", _adaptive_of_rows),
        doc="The largest element of each of so many windows, and where it is.",
        ops=ADAPTIVE_MAX[2],
        method=False,
    ),
    *_adaptive_functions(2, Sample("F.adaptive_max_pool2d(x, 2)", None, x=IMAGE)),
    *_adaptive_functions(3, Sample("F.adaptive_max_pool3d(x, (1, 2, 1))", None, x=VOLUME)),
)
