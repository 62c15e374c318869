"""Pooling: the largest element or the mean of each window, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.ops.layers import pooling_checks
from gradcli.core.ops.layers.pooling_records import BY_RANK, adaptive_maxima, counted, sliding_maxima
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

Sizes = tuple[int, ...]


def _squeezed(x: Any) -> Any:
    return catalog.function("squeeze")(x, -2)


def _unsqueezed(x: Tensor) -> Any:
    return catalog.function("unsqueeze")(x, -2)


def _max(rank: int, name: str) -> Callable[..., Any]:
    """Maxima and their places, two and three dimensions."""

    def run(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
        kernel, step, border, gaps = pooling_checks.settings(name, rank, kernel_size, stride, padding, dilation)
        pooling_checks.check_rank(input, rank)
        pooling_checks.check_values(kernel, step or kernel, border, gaps)
        pooling_checks.check_not_empty(input, rank)
        found = counted(input.array.shape[-rank:], kernel, step, border, gaps, ceil_mode)
        pooling_checks.check_output(input, rank, found)
        pooling_checks.check_dtype(f"max_pool{rank}d", input, whole=True)
        how = (kernel, step, border, gaps, ceil_mode)
        indices = Tensor(sliding_maxima(input.array, *how), dtypes.int64)
        return BY_RANK[rank].max(input, *how, watched(indices)), indices

    return run


def _max_of_rows(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> tuple[Tensor, Tensor]:
    """In one dimension, as PyTorch does it: as images of height 1."""
    kernel, step, border, gaps = pooling_checks.row_settings(input, kernel_size, stride, padding, dilation)
    pooling_checks.check_rows(kernel, kernel if step is None else step, border, gaps)
    steps = () if step is None else (step,)
    pooling_checks.check_row_output(counted(input.array.shape[-1:], (kernel,), steps, (border,), (gaps,), ceil_mode)[0])
    pooling_checks.check_dtype("max_pool1d_impl", input)
    how = ((1, kernel), (1, *steps) if steps else (), (0, border), (1, gaps), ceil_mode)
    rows = _unsqueezed(input)
    indices = Tensor(sliding_maxima(rows.array, *how), dtypes.int64)
    return _squeezed(BY_RANK[2].max(rows, *how, watched(indices))), _squeezed(indices)


def _both(run: Callable[..., Any]) -> Callable[..., Any]:
    """With `return_indices` as the last parameter."""

    def chosen(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool = False
    ) -> Any:
        made = run(input, kernel_size, stride, padding, dilation, ceil_mode)
        return made if return_indices else made[0]

    return chosen


def _avg(rank: int) -> Callable[..., Any]:
    name = f"avg_pool{rank}d"

    def run(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
    ) -> Any:
        kernel, step, border, gaps = pooling_checks.settings(name, rank, kernel_size, stride, padding, 1)
        if divisor_override == 0:
            raise runtime_error("divisor must be not zero")
        pooling_checks.check_rank(input, rank, by_dim=rank == 2)
        pooling_checks.check_values(kernel, step or kernel, border, gaps)
        pooling_checks.check_not_empty(input, rank)
        found = counted(input.array.shape[-rank:], kernel, step, border, gaps, ceil_mode)
        if rank == 3:
            pooling_checks.check_image(input, kernel, border)
        pooling_checks.check_output(input, rank, found)
        pooling_checks.check_dtype(name, input, whole=True)
        return BY_RANK[rank].avg(input, kernel, step, border, ceil_mode, count_include_pad, divisor_override)

    return run


def _avg_of_rows(input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool) -> Any:
    pooling_checks.check_row_rank(input, "avg_pool1d")
    given = {"kernel_size": kernel_size, "stride": stride or (), "padding": padding}
    kernel, step, border = (pooling_checks.one_int("avg_pool1d", name, value) for name, value in given.items())
    run = _avg(2)
    made = run(_unsqueezed(input), (1, kernel), (1, step) if step is not None else (), (0, border or 0), ceil_mode, count_include_pad, None)
    return _squeezed(made)


def _with_defaults(output_size: Any, input: Tensor) -> Any:
    """None stands for the size of the input."""
    if isinstance(output_size, int):
        return output_size
    shape = input.array.shape
    if len(output_size) >= len(shape):
        raise ProgramError("ValueError", f"Input dimension should be at least {len(output_size) + 1}")
    return tuple(n if given is None else given for given, n in zip(output_size, shape[len(shape) - len(output_size) :], strict=True))


def _adaptive_avg_of(rank: int, input: Tensor, output_size: Any) -> Any:
    name = f"adaptive_avg_pool{rank}d"
    wanted = pooling_checks.adaptive_size(name, rank, output_size)
    if any(n < 0 for n in wanted):
        shown = ", ".join(map(str, wanted))
        raise runtime_error(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}")
    if all(n == 1 for n in wanted):
        return catalog.function("mean")(input, tuple(range(-1, -1 - rank, -1)), True)
    pooling_checks.check_adaptive(name, rank, input, "")
    pooling_checks.check_dtype(name, input)
    return BY_RANK[rank].adaptive_avg(input, wanted)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Any:
    """Means of so many windows of images."""
    return _adaptive_avg_of(2, input, _with_defaults(output_size, input))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Any:
    """Means of so many windows of volumes."""
    return _adaptive_avg_of(3, input, _with_defaults(output_size, input))


def _adaptive_avg_of_rows(input: Tensor, output_size: Any) -> Any:
    pooling_checks.check_row_rank(input, "adaptive_avg_pool1d")
    return _squeezed(
        _adaptive_avg_of(2, _unsqueezed(input), (1, pooling_checks.one_int("adaptive_avg_pool1d", "output_size", output_size)))
    )


def _adaptive_max_of(rank: int, input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    name = f"adaptive_max_pool{rank}d"
    wanted = pooling_checks.adaptive_size(name, rank, output_size)
    pooling_checks.check_adaptive(name, rank, input, ":")
    if any(n < 0 for n in wanted):
        shown = [*input.array.shape[: input.array.ndim - rank], *wanted]
        raise runtime_error(f"Trying to create tensor with negative dimension {min(wanted)}: {shown}")
    pooling_checks.check_dtype(name, input)
    indices = Tensor(adaptive_maxima(input.array, wanted), dtypes.int64)
    return BY_RANK[rank].adaptive_max(input, watched(indices)), indices


def _adaptive_max(rank: int) -> Callable[..., Any]:
    def run(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        made = _adaptive_max_of(rank, input, _with_defaults(output_size, input))
        return made if return_indices else made[0]

    return run


def _adaptive_max_of_rows(input: Tensor, output_size: Any) -> tuple[Any, Any]:
    pooling_checks.check_row_rank(input, "adaptive_max_pool1d")
    wanted = pooling_checks.one_int("adaptive_max_pool1d", "output_size", output_size)
    made = _adaptive_max_of(2, _unsqueezed(input), (1, wanted))
    return _squeezed(made[0]), _squeezed(made[1])


def adaptive_max_rows(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of so many windows of rows."""
    made = _adaptive_max_of_rows(input, output_size)
    return made if return_indices else made[0]


def _lp(rank: int) -> Callable[..., Any]:
    def run(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        kernel = (kernel_size,) * rank if isinstance(kernel_size, int) else tuple(kernel_size)
        powers = catalog.function("pow")(input, norm_type)
        pool = catalog.function(f"nn.functional.avg_pool{rank}d")
        out = (
            pool(powers, kernel_size, padding=0, ceil_mode=ceil_mode) if stride is None else pool(powers, kernel_size, stride, 0, ceil_mode)
        )
        signed = catalog.function("sign")(out) * catalog.function("relu")(catalog.function("abs")(out))
        return catalog.function("pow")(signed * math.prod(kernel), 1.0 / norm_type)

    return run


_MAX = "Tensor input, ints1 kernel_size, ints1? stride=None, ints1 padding=0, ints1 dilation=1, bool ceil_mode=False"
_AVG = "Tensor input, ints1 kernel_size, ints1? stride=None, ints1 padding=0, bool ceil_mode=False, bool count_include_pad=True"
_ROW = [[0.5, -1.0, 2.0, 0.3, -0.7, 1.4]]
_IMAGE = [[[0.5, -1.0, 2.0, 0.3], [1.5, 0.25, -0.5, -0.9], [-0.3, 0.8, 0.6, 1.1]]]
_VOLUME = [[[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.25], [-0.5, -0.9]]]]


def _max_functions(rank: int, samples: tuple[Sample, ...]) -> tuple[Function, ...]:
    name = f"max_pool{rank}d"
    run = _max_of_rows if rank == 1 else _max(rank, name)
    shared: dict[str, Any] = {"ops": BY_RANK[max(rank, 2)].of_max, "method": False}
    doc = "The largest element of each window."
    named = f"{name}_with_indices"
    inner = {"namespace": "torch.nn.functional", **shared}
    found = (
        Function(name, (f"{_MAX}, bool return_indices=False", _both(run)), doc=doc, samples=samples, python=f"_{name}", **inner),
        Function(name, (_MAX, _both(run)), doc=doc, **shared),
        Function(
            named,
            (f"{_MAX}, bool return_indices=False", lambda *args: run(*args[:6])),
            doc="The largest element of each window, and where it is.",
            python=named,
            **inner,
        ),
    )
    return (
        found if rank > 1 else (*found, Function(named, (_MAX, run), doc="The largest element of each window, and where it is.", **shared))
    )


def _avg_function(rank: int, samples: tuple[Sample, ...]) -> Function:
    return Function(
        f"avg_pool{rank}d",
        (f"{_AVG}, int? divisor_override=None", _avg(rank)),
        doc="The mean of each window.",
        ops=BY_RANK[rank].of_avg,
        samples=samples,
        namespace="torch.nn.functional",
        method=False,
    )


def _adaptive_max_function(rank: int, samples: tuple[Sample, ...]) -> PythonFunction:
    return PythonFunction(
        _adaptive_max(rank),
        f"adaptive_max_pool{rank}d",
        "The largest element of each of so many windows that cover everything.",
        ops=BY_RANK[rank].of_adaptive_max,
        samples=samples,
    )


_EVENLY = "The mean of each of so many windows that cover everything."
FUNCTIONS: tuple[Function, ...] = (
    *_max_functions(1, (Sample("F.max_pool1d(x, 2)", lambda x: x.reshape(1, 3, 2).max(-1), x=_ROW),)),
    *_max_functions(
        2,
        (
            Sample("F.max_pool2d(x, 2, 1)", None, x=_IMAGE),
            Sample("F.max_pool2d(x, (2, 3), (2, 1), (1, 0), ceil_mode=True)", None, x=_IMAGE),
            Sample("F.max_pool2d(x, 2, dilation=2)", None, x=_IMAGE),
        ),
    ),
    *_max_functions(3, (Sample("F.max_pool3d(x, 2)", lambda x: x.max((1, 2, 3), keepdims=True), x=_VOLUME),)),
    Function(
        "avg_pool1d",
        (_AVG, _avg_of_rows),
        doc="The mean of each window.",
        ops=BY_RANK[2].of_avg,
        samples=(Sample("F.avg_pool1d(x, 2)", lambda x: x.reshape(1, 3, 2).mean(-1), x=_ROW),),
        method=False,
        aliases=("nn.functional.avg_pool1d",),
    ),
    _avg_function(
        2,
        (
            Sample("F.avg_pool2d(x, 2, 1)", None, x=_IMAGE),
            Sample("F.avg_pool2d(x, (2, 3), 2, 1, True, False)", None, x=_IMAGE),
            Sample("F.avg_pool2d(x, 2, divisor_override=3)", None, x=_IMAGE),
        ),
    ),
    _avg_function(3, (Sample("F.avg_pool3d(x, 2)", lambda x: x.mean((1, 2, 3), keepdims=True), x=_VOLUME),)),
    Function(
        "adaptive_avg_pool1d",
        ("Tensor input, ints1 output_size", _adaptive_avg_of_rows),
        doc=_EVENLY,
        ops=BY_RANK[2].of_adaptive_avg,
        samples=(Sample("F.adaptive_avg_pool1d(x, 4)", None, x=_ROW),),
        method=False,
        aliases=("nn.functional.adaptive_avg_pool1d",),
    ),
    PythonFunction(
        adaptive_avg_pool2d,
        "adaptive_avg_pool2d",
        _EVENLY,
        ops=BY_RANK[2].of_adaptive_avg,
        samples=(Sample("F.adaptive_avg_pool2d(x, (2, None))", None, x=_IMAGE), Sample("F.adaptive_avg_pool2d(x, 1)", None, x=_IMAGE)),
    ),
    PythonFunction(
        adaptive_avg_pool3d,
        "adaptive_avg_pool3d",
        _EVENLY,
        ops=BY_RANK[3].of_adaptive_avg,
        samples=(Sample("F.adaptive_avg_pool3d(x, (1, 2, 3))", None, x=_VOLUME),),
    ),
    Function(
        "adaptive_max_pool1d",
        ("Tensor input, ints1 output_size, bool return_indices=False", adaptive_max_rows),
        doc="The largest element of each of so many windows that cover everything.",
        ops=BY_RANK[2].of_adaptive_max,
        samples=(Sample("F.adaptive_max_pool1d(x, 4)", None, x=_ROW),),
        namespace="torch.nn.functional",
        method=False,
        python="_adaptive_max_pool1d",
    ),
    Function(
        "adaptive_max_pool1d",
        ("Tensor input, ints1 output_size", _adaptive_max_of_rows),
        doc="The largest element of each of so many windows, and where it is.",
        ops=BY_RANK[2].of_adaptive_max,
        method=False,
    ),
    _adaptive_max_function(2, (Sample("F.adaptive_max_pool2d(x, 2)", None, x=_IMAGE),)),
    _adaptive_max_function(3, (Sample("F.adaptive_max_pool3d(x, (1, 2, 1))", None, x=_VOLUME),)),
    PythonFunction(_lp(1), "lp_pool1d", "The p-norm of each window.", samples=(Sample("F.lp_pool1d(x, 2, 2)", None, x=_ROW),)),
    PythonFunction(_lp(2), "lp_pool2d", "The p-norm of each window.", samples=(Sample("F.lp_pool2d(x, 2, 2)", None, x=_IMAGE),)),
)
