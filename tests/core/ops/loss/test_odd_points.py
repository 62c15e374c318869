"""The gradients of losses at margins just met and with everything ignored: one test for each odd point."""

from __future__ import annotations

from tests.core.ops.odd_points import expect


def test_nll_loss_with_every_class_ignored() -> None:
    expect("F.nll_loss(x.view(1, 3), tensor([-100]))", [0.5, -1.0, 2.0], [0.0, 0.0, 0.0])


def test_margins_just_met() -> None:
    expect("F.multi_margin_loss(x, tensor(0))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0])
    expect("F.multilabel_margin_loss(x, tensor([0, -1, -1]))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0])
