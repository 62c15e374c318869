"""The gradients of pooling, bags and softmax at ties: one test for each odd point."""

from __future__ import annotations

from tests.core.ops.odd_points import expect


def test_softmax_of_equal_elements() -> None:
    expect("(x.softmax(0) * tensor([1., 0.], dtype=torch.float64)).sum()", [3.0, 3.0], [0.25, -0.25])


def test_max_pooling_of_equal_elements() -> None:
    expect("F.max_pool1d(x.reshape(1, 1, 4), 2, 1)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 2.0, 0.0])


def test_adaptive_max_pooling_of_equal_elements() -> None:
    expect("F.adaptive_max_pool1d(x.reshape(1, 1, 4), 2)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 1.0, 0.0])


def test_the_largest_of_equal_rows_in_a_bag() -> None:
    expect("F.embedding_bag(tensor([[2, 0]]), x.reshape(3, 1), mode='max')", [1.0, 0.0, 1.0], [0.0, 0.0, 1.0])
