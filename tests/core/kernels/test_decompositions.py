"""Decompositions give back the matrix, whatever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.kernels import singular_values, symmetric_eigenvalues


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 2), (2, 3), (3, 2), (4, 3), (6, 4), (3, 7), (5, 12), (2, 3, 5), (2, 2, 7, 5), (0, 3), (30, 70)]
)
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_and_vectors_give_the_matrix(shape: tuple[int, ...], full: bool) -> None:
    a = np.random.default_rng(0).normal(size=shape)
    u, s, vh = singular_values.svd(a, full)
    k = s.shape[-1]
    np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=1e-12)
    np.testing.assert_allclose(u.swapaxes(-1, -2) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], *u.shape[-1:] * 2)), atol=1e-12)
    assert (u.shape[-1], vh.shape[-2]) == ((shape[-2], shape[-1]) if full else (k, k))


@pytest.mark.parametrize("n", [3, 4, 7, 25])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("kind", ["random", "equal", "diagonal", "zero", "blocks"])
def test_eigenvalues_and_eigenvectors_give_the_matrix(n: int, lower: bool, kind: str) -> None:
    a = np.random.default_rng(n).normal(size=(2, n, n))
    if kind == "equal":
        a[:] = 1
    elif kind == "diagonal":
        a *= np.eye(n)
    elif kind == "zero":
        a[:] = 0
    elif kind == "blocks":
        a[:, 2:, :2] = a[:, :2, 2:] = 0
    assert symmetric_eigenvalues.fits(a)
    half = np.tril(a) if lower else np.triu(a)
    whole = half + half.swapaxes(-1, -2) - a * np.eye(n)
    values, vectors = symmetric_eigenvalues.eigh(a, lower)
    np.testing.assert_allclose(vectors * values[..., None, :] @ vectors.swapaxes(-1, -2), whole, atol=1e-11)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a, "L" if lower else "U"), atol=1e-11)
    assert not symmetric_eigenvalues.fits(np.full((3, 3), np.nan))
