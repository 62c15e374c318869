"""Losses and layers of normalisation: every reduction, with and without weights, and the derivatives of derivatives."""

from __future__ import annotations

import re
from typing import Any

from gradcli.core.functions.function import Sample

INPUTS: dict[str, Any] = {
    "x": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]],
    "y": [[1.0, 0.5, -0.75], [0.25, 1.1, 0.4]],
    "p": [[0.25, 0.5, 0.9], [0.6, 0.1, 0.75]],
    "q": [[0.1, 0.9, 0.5], [0.3, 0.0, 1.0]],
    "edge": [[0.0, 1.0, 0.5], [1.0, 0.0, 0.25]],
    "row": [0.7, -0.3, 1.2],
    "images": [[[[0.3, -1.2], [0.8, 0.1]], [[1.1, 0.4], [-0.6, 2.0]]], [[[0.9, -0.2], [1.4, -0.7]], [[0.2, 0.6], [-1.3, 0.5]]]],
    "a": [1.0, 2.0, 0.5],
    "b": [0.1, 0.2, 0.3],
    "two": [1.5, -0.5],
}
REDUCTIONS = ("none", "mean", "sum")
W = "tensor([[1., 2., 0.5], [0., 3., 1.5]], dtype=float64)"
C = "tensor([0.5, 2., 1.5], dtype=float64)"
ELEMENTWISE = (
    "F.mse_loss(x, y, reduction=r)",
    "F.mse_loss(x, row, reduction=r)",
    "F.smooth_l1_loss(x, y, reduction=r)",
    "F.smooth_l1_loss(x, y, reduction=r, beta=0.75)",
    "F.huber_loss(x, y, reduction=r)",
    "F.huber_loss(x, y, reduction=r, delta=0.75)",
    "F.soft_margin_loss(x, tensor([1., -1., 0.5]), reduction=r)",
    "F.binary_cross_entropy(p, q, reduction=r)",
    f"F.binary_cross_entropy(p, q, {W}, reduction=r)",
    "F.binary_cross_entropy_with_logits(x, q, reduction=r)",
    f"F.binary_cross_entropy_with_logits(x, q, {W}, reduction=r)",
    f"F.binary_cross_entropy_with_logits(x, q, reduction=r, pos_weight={C})",
    f"F.binary_cross_entropy_with_logits(x, q, {C}, reduction=r, pos_weight={W})",
)
#: where two pieces of a loss meet: x and y are 0.5 apart
MEETING = ("F.smooth_l1_loss(x, x.detach() + 0.5 + 0 * y, beta=0.5)", "F.huber_loss(x, x.detach() - 0.5 + 0 * y, delta=0.5)")
OF_CLASSES = (
    "F.nll_loss(x, tensor([2, 0]), reduction=r)",
    f"F.nll_loss(x, tensor([2, 0]), {C}, reduction=r)",
    "F.nll_loss(x, tensor([2, -100]), reduction=r)",
    f"F.nll_loss(x, tensor([1, 0]), {C}, ignore_index=1, reduction=r)",
    "F.nll_loss(row, tensor(1), reduction=r)",
    "F.nll_loss(images, tensor([[[0, 1], [1, 1]], [[0, -100], [1, 0]]]), reduction=r)",
    "F.nll_loss(images, tensor([[[0, 1], [1, 1]], [[0, 5], [1, 0]]]), tensor([0.5, 2.], dtype=float64), ignore_index=5, reduction=r)",
    "F.nll_loss(images.flatten(2), tensor([[0, 1, 1, 1], [0, 0, 1, 0]]), reduction=r)",
)
LAYERS = (
    "F.layer_norm(x, (3,))",
    "F.layer_norm(x, (3,), a)",
    "F.layer_norm(x, (3,), bias=b, eps=0.1)",
    "F.layer_norm(x, (2, 3), y, x)",
    "F.layer_norm(images, (2, 2))",
    "F.batch_norm(x, None, None, training=True)",
    "F.batch_norm(x, None, None, bias=b, training=True, eps=0.1)",
    "F.batch_norm(images, None, None, two, two, training=True)",
    "F.batch_norm(images[0], None, None, two, training=True)",
    "F.batch_norm(x, x.new_tensor([1., 2., 3.]), x.new_tensor([1., 4., 2.]))",
    "F.batch_norm(x, x.new_tensor([1., 2., 3.]), x.new_tensor([1., 4., 2.]), a, b, eps=0.1)",
    "F.batch_norm(images, images.new_tensor([1., 2.]), images.new_tensor([1., 4.]), two, two)",
)


def _texts() -> list[str]:
    """Each call with each reduction; the gradients of some, which are steps with derivatives."""
    texts = [*LAYERS, "F.nll_loss(x, tensor([-100, -100]))", "F.mse_loss(x[:0], y[:0])", "F.binary_cross_entropy(edge, q)"]
    texts += [f"torch.autograd.grad({call}**2, (x, y), create_graph=True)" for call in MEETING]
    texts += ["torch.autograd.grad(F.binary_cross_entropy(edge, q)**2, (edge, q), create_graph=True)"]
    for reduction in REDUCTIONS:
        for call in (*ELEMENTWISE, *OF_CLASSES):
            text = call.replace("reduction=r", f"reduction='{reduction}'")
            names = [name for name in ("x", "y", "p", "q", "row", "images") if re.search(rf"\b{name}\b", text)]
            # the square makes the gradient that reaches the loss depend on the inputs
            texts += [text, f"torch.autograd.grad(({text}**2).sum(), ({', '.join(names)},), create_graph=True)"]
    return texts


SAMPLES = tuple(Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)}) for text in _texts())
