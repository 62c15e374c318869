"""Layers with every setting, and the derivatives of their derivatives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradcli.core.functions.function import Sample
from gradcli.core.ops.activation import leaky
from gradcli.core.ops.layers import (
    attention,
    convolution,
    fold,
    grid_sampling,
    interpolation,
    linear,
    lstm_layer,
    padding,
    pixel_shuffle,
    recurrent,
)
from gradcli.core.ops.layers.normalization import batch_norm, group_norm, rms_norm
from gradcli.core.ops.layers.pooling import avg_pool, max_pool
from gradcli.core.ops.loss import embedding_losses, margins


def _drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).round(2).tolist()


INPUTS: dict[str, Any] = {
    "row": _drawn(1, 2, 4, 6),
    "kernel": _drawn(2, 4, 2, 3),
    "image": _drawn(3, 2, 4, 5, 4),
    "window": _drawn(4, 6, 2, 2, 3),
    "upward": _drawn(5, 4, 3, 2, 3),
    "bias": _drawn(6, 6),
    "four": _drawn(7, 4),
}
MORE = (
    "torch.fake_quantize_per_tensor_affine(row, 0.1, 0, 0, 9)",
    "torch.fake_quantize_per_tensor_affine(row, tensor(0.1), tensor(0), 0, 9)",
    "torch.fake_quantize_per_channel_affine(four.unsqueeze(0), tensor([0.1], dtype=torch.float32), tensor([0]).int(), 0, 0, 9)",
    "F.conv1d(row, kernel, four, groups=2)",
    "F.conv1d(row, kernel, four, 2, 1, 2, 2)",
    "F.conv1d(row, kernel, stride=3, groups=2)",
    "F.conv2d(image, window, bias, (2, 1), (1, 2), (2, 1), 2)",
    "F.conv2d(image[:0], window, bias, 1, 1, 1, 2)",
    "F.conv_transpose1d(row, kernel, None, 3, 1, 2)",
    "F.conv_transpose2d(image, upward, bias, (2, 3), 1, (1, 2), 2, (1, 2))",
    "F.max_pool2d(image, 3, 2, 1, 2, True)",
    "F.avg_pool2d(image, 3, 2, 1, True)",
    "F.avg_pool2d(image, (2, 3), None, (1, 0), True, False)",
    "F.avg_pool2d(image, 3, 2, 1, True, False, 5)",
    "F.adaptive_avg_pool2d(image, (3, 6))",
    "F.adaptive_max_pool2d(image, (3, 6))",
    "F.group_norm(image, 2, four)",
    "F.multi_margin_loss(row[0], tensor([1, 0, 5, 2]), 1, 0.7)",
    "F.relu_(four * 1)",
    "F.hardtanh_(four * 1)",
    "F.leaky_relu_(four * 1)",
)


def _sample(text: str) -> Sample:
    return Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)})


def _twice(sample: Sample) -> Sample:
    """The gradients of a call under create_graph; each depends on the arguments again."""
    return Sample(f"torch.autograd.grad({sample.text}.pow(3).sum(), ({', '.join(sample.inputs)},), create_graph=True)", **sample.inputs)


CALLS = tuple(map(_sample, MORE))
FAMILIES = (
    convolution,
    max_pool,
    avg_pool,
    group_norm,
    batch_norm,
    rms_norm,
    padding,
    interpolation,
    pixel_shuffle,
    recurrent,
    lstm_layer,
    margins,
    embedding_losses,
    attention,
    linear,
    leaky,
    fold,
    grid_sampling,
)
SAMPLES = (*CALLS, *map(_twice, CALLS), *(_twice(s) for family in FAMILIES for f in family.FUNCTIONS for s in f.samples if s.inputs))
