"""The gradients of linear algebra where a matrix is singular."""

from __future__ import annotations

from tests.core.ops.odd_points import expect


def test_det_of_a_singular_matrix_in_a_batch() -> None:
    expect("torch.linalg.det(x.view(2, 2, 2))", [1.0, 2.0, 2.0, 4.0, 2.0, 1.0, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0, 3.0, -1.0, -1.0, 2.0])
