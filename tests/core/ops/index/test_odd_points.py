"""The gradients of sorting and selection at ties: one test for each odd point."""

from __future__ import annotations

from tests.core.ops.odd_points import expect


def test_kthvalue_with_ties() -> None:
    expect("x.kthvalue(2).values", [1.0, 1.0, 1.0], [1.0, 0.0, 0.0])


def test_topk_with_ties() -> None:
    expect("(x.topk(2).values * tensor([1., 10.], dtype=torch.float64)).sum()", [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 10.0])


def test_sort_of_equal_elements_keeps_their_order() -> None:
    expect("(x.sort().values * tensor([1., 10., 100.], dtype=torch.float64)).sum()", [1.0, 1.0, 0.0], [10.0, 100.0, 1.0])
