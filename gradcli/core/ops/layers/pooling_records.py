"""The records of pooling: maxima and means of windows, and their gradients, which PyTorch has as steps of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.graph.namespaces import numeric
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import window_reductions
from gradcli.core.kernels.window_reductions import Spans
from gradcli.core.ops.index.gather_scatter import GATHER
from gradcli.core.ops.layers.unit_formulas import transpose_of
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor.tensor import Array

Sizes = tuple[int, ...]


def counted(sizes: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Sizes:
    """How many windows there are along each dimension; with ceil_mode also one that begins inside and ends beyond."""
    found = []
    for n, k, s, p, d in zip(sizes, kernel, stride or kernel, padding, dilation, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        found.append(count)
    return tuple(found)


def _sliding(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> list[tuple[Spans, Array]]:
    sizes = x.shape[x.ndim - len(kernel) :]
    counts = counted(sizes, kernel, stride, padding, dilation, ceil_mode)
    return [window_reductions.sliding(*one) for one in zip(sizes, counts, kernel, stride or kernel, padding, dilation, strict=True)]


#: the gradient's step is linear in what the gradient is of, which it lists all the same
_NOTHING = Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)")


def _flat(xp: Any, x: Any, rank: int) -> Any:
    lead, plane = x.shape[: len(x.shape) - rank], math.prod(x.shape[len(x.shape) - rank :])
    return xp.call(VIEW, x, (*lead, plane))


def _picked(xp: Any, grad: Any, indices: Any, rank: int) -> Any:
    return xp.call(VIEW, xp.call(GATHER, _flat(xp, grad, rank), -1, np.asarray(_flat(numeric, indices, rank))), indices.shape)


class Records(NamedTuple):
    """The steps of pooling in so many dimensions."""

    max: Op
    max_backward: Op
    avg: Op
    avg_backward: Op
    adaptive_max: Op
    adaptive_max_backward: Op
    adaptive_avg: Op
    adaptive_avg_backward: Op

    @property
    def of_max(self) -> tuple[Op, Op]:
        """Sliding maxima."""
        return self.max, self.max_backward

    @property
    def of_avg(self) -> tuple[Op, Op]:
        """Sliding means."""
        return self.avg, self.avg_backward

    @property
    def of_adaptive_max(self) -> tuple[Op, Op]:
        """Maxima of so many windows."""
        return self.adaptive_max, self.adaptive_max_backward

    @property
    def of_adaptive_avg(self) -> tuple[Op, Op]:
        """Means of so many windows."""
        return self.adaptive_avg, self.adaptive_avg_backward


def _at_places(x: Array, indices: Array, rank: int) -> Array:
    lead, plane = x.shape[: x.ndim - rank], math.prod(x.shape[x.ndim - rank :])
    places = indices.reshape(*lead, math.prod(indices.shape[len(lead) :]))
    return np.take_along_axis(x.reshape(*lead, plane), places, -1).reshape(indices.shape)


def _of_maxima(rank: int, name: str, attrs: str) -> tuple[Op, Op]:
    """A record of the maxima at given places, and that of its gradient."""

    def to_input(xp: Any, grad: Any, input: Any, indices: Any) -> Any:
        return xp.call(backward, grad, input, indices)

    backward = Op(
        f"{name}BackwardBackward0",
        lambda grad, x, indices: window_reductions.placed(grad, indices, rank, x.shape[x.ndim - rank :]),
        "grad_output input",
        "indices",
        grad_output=Rule(
            lambda xp, grad, indices: _picked(xp, grad, indices, rank),
            f"grad.flatten(-{rank}).gather(-1, indices.flatten(-{rank})).reshape(indices.shape)",
        ),
        input=_NOTHING,
    )
    op = Op(
        f"{name}Backward0",
        lambda x, *how: _at_places(x, how[-1], rank),
        "input",
        f"{attrs} indices",
        input=Rule(
            to_input,
            f"zeros_like(input).flatten(-{rank}).scatter_add(-1, indices.flatten(-{rank}), grad.flatten(-{rank})).reshape(input.shape)",
            "the first of equal maxima of a window gets its gradient",
        ),
    )
    return op, backward


def sliding_maxima(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Array:
    """The places of the maxima of windows."""
    return window_reductions.maxima(x, [spans for spans, _ in _sliding(x, kernel, stride, padding, dilation, ceil_mode)])


def adaptive_maxima(x: Array, output_size: Sizes) -> Array:
    """The places of the maxima of so many windows."""
    return window_reductions.maxima(x, _adaptive_spans(x.shape[x.ndim - len(output_size) :], output_size))


def _grid(lengths: Sequence[Array], dtype: Any) -> Array:
    """The product of one length for each dimension."""
    rank = len(lengths)
    made = np.ones((1,) * rank, np.int64)
    for axis, along in enumerate(lengths):
        made = made * along.reshape([-1 if i == axis else 1 for i in range(rank)])
    return made.astype(dtype)


def _divisor(found: list[tuple[Spans, Array]], count_include_pad: bool, override: int | None, dtype: Any) -> Any:
    if override is not None:
        return dtype.type(override)
    return _grid([whole if count_include_pad else spans.length for spans, whole in found], dtype)


def _quotient(total: Array, divisor: Any) -> Array:
    return total // divisor if total.dtype.kind in "iu" else np.asarray(total / divisor)


def _avg_forward(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
) -> Array:
    found = _sliding(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    sums = window_reductions.sums(x, [spans for spans, _ in found])
    return _quotient(sums, _divisor(found, count_include_pad, divisor_override, x.dtype))


def _avg_backward(
    grad: Array,
    x: Array,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    sizes = x.shape[x.ndim - len(kernel) :]
    found = _sliding(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    shares = _quotient(grad, _divisor(found, count_include_pad, divisor_override, grad.dtype))
    return window_reductions.sums(shares, [window_reductions.reverse(spans, n) for (spans, _), n in zip(found, sizes, strict=True)])


def _adaptive_spans(sizes: Sequence[int], counts: Sizes) -> list[Spans]:
    return [window_reductions.adaptive(n, m) for n, m in zip(sizes, counts, strict=True)]


def _adaptive_avg(x: Array, output_size: Sizes) -> Array:
    spans = _adaptive_spans(x.shape[x.ndim - len(output_size) :], output_size)
    return _quotient(window_reductions.sums(x, spans), _grid([one.length for one in spans], x.dtype))


def _adaptive_avg_backward(grad: Array, x: Array, rank: int) -> Array:
    sizes = x.shape[x.ndim - rank :]
    spans = _adaptive_spans(sizes, grad.shape[grad.ndim - rank :])
    shares = grad / _grid([one.length for one in spans], grad.dtype)
    return window_reductions.sums(shares, [window_reductions.reverse(one, n) for one, n in zip(spans, sizes, strict=True)])


def _of_means(rank: int) -> tuple[Op, Op]:
    how = "kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override"
    call = f"F.avg_pool{rank}d({{}}, {how})"

    def to_input(
        xp: Any,
        grad: Any,
        input: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: Any,
        count_include_pad: Any,
        divisor_override: Any,
    ) -> Any:
        return xp.call(backward, grad, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def again(
        xp: Any, grad: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor_override: Any
    ) -> Any:
        return xp.call(op, grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    attrs = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
    op = Op(f"AvgPool{rank}DBackward0", _avg_forward, "input", attrs, input=Rule(to_input, transpose_of(call, "input", rank)))
    backward = Op(
        f"AvgPool{rank}DBackwardBackward0",
        _avg_backward,
        "grad_output input",
        attrs,
        grad_output=Rule(again, call.format("grad")),
        input=_NOTHING,
    )
    return op, backward


def _of_adaptive_means(rank: int) -> tuple[Op, Op]:
    call = f"F.adaptive_avg_pool{rank}d({{}}, %s.shape[-{rank}:])"
    op = Op(
        f"AdaptiveAvgPool{rank}DBackward0",
        _adaptive_avg,
        "input",
        "output_size",
        input=Rule(
            lambda xp, grad, input: xp.call(backward, grad, input, rank),
            transpose_of(call % "grad", "input", rank),
        ),
    )
    backward = Op(
        f"AdaptiveAvgPool{rank}DBackwardBackward0",
        _adaptive_avg_backward,
        "grad_output input",
        "rank",
        grad_output=Rule(
            lambda xp, grad, grad_output_shape: xp.call(op, grad, tuple(grad_output_shape[len(grad_output_shape) - rank :])),
            (call % "grad_output").format("grad"),
        ),
        input=_NOTHING,
    )
    return op, backward


def records(rank: int) -> Records:
    """The records for so many dimensions."""
    return Records(
        *_of_maxima(rank, f"MaxPool{rank}DWithIndices", "kernel_size stride padding dilation ceil_mode"),
        *_of_means(rank),
        *_of_maxima(rank, f"AdaptiveMaxPool{rank}D", ""),
        *_of_adaptive_means(rank),
    )


#: by the number of dimensions; PyTorch does one with the records of two
BY_RANK = {rank: records(rank) for rank in (2, 3)}
