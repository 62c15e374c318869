"""Linear algebra: batches, vectors and matrices on the right side, both triangles, singular and non-square matrices."""

from __future__ import annotations

import re
from typing import Any

from gradcli.core.functions.function import Sample

INPUTS: dict[str, Any] = {
    "A": [[2.0, 0.5, -1.0], [0.25, 3.0, 0.75], [1.0, -0.5, 1.5]],
    "batch": [[[2.0, 0.5], [0.25, 3.0]], [[1.0, -2.0], [0.5, 1.5]]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "partly": [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]],
    "rounded": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]],
    "one": [[3.0]],
    "diagonal": [[2.0, 0.0], [0.0, 2.0]],
    "wide": [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]],
    "tall": [[1.0, 0.5], [2.0, -1.0], [0.5, 3.0]],
    "tallest": [[[1.0, 0.5], [2.0, -1.0], [0.5, 3.0], [0.25, 1.0]], [[0.5, 1.5], [-2.0, 1.0], [1.5, 0.25], [0.0, -1.0]]],
    "v": [1.0, -2.0, 0.5],
    "pair": [1.5, 0.5],
    "pairs": [[1.0, -2.0], [0.5, 0.25]],
    "rank": [[1.0], [2.0], [-0.5]],
}
SOLVE = (
    "torch.linalg.solve(A, v)",
    "torch.linalg.solve(A, tall)",
    "torch.linalg.solve(A, tall.expand(2, 3, 2))",
    "torch.linalg.solve(batch, pairs)",
    "torch.linalg.solve(batch, pair)",
    "torch.linalg.solve(batch, batch.mT)",
    "torch.linalg.solve(batch, pairs.unsqueeze(0))",
    "torch.linalg.solve(diagonal, batch)",
    "torch.linalg.solve(A, wide, left=False)",
    "torch.linalg.solve(A.detach(), v)",
    "torch.linalg.solve(A, v.detach())",
)
OTHERS = (
    "torch.linalg.det(A)",
    "torch.linalg.det(batch)",
    "torch.linalg.det(singular)",
    "torch.linalg.det(partly)",
    "torch.linalg.det(rounded)",
    "torch.linalg.det(one)",
    "torch.linalg.slogdet(A)[1]",
    "torch.linalg.slogdet(batch)",
    "torch.logdet(batch)",
    "torch.linalg.inv(batch)",
    "torch.linalg.cholesky(A @ A.mT)",
    "torch.linalg.cholesky(batch @ batch.mT, upper=True)",
    "torch.linalg.cholesky(A @ A.mT, upper=True)",
    "torch.cholesky(A @ A.mT)",
    "torch.cholesky(batch @ batch.mT, upper=True)",
    "torch.linalg.eigh(A @ A.mT)",
    "torch.linalg.eigh(batch @ batch.mT, UPLO='U')",
    "torch.linalg.eigvalsh(diagonal * 1)",
    "torch.linalg.qr(A)",
    "torch.linalg.qr(batch)",
    "torch.linalg.qr(wide)",
    "torch.linalg.qr(tall)",
    "torch.linalg.qr(tallest)",
    "torch.linalg.qr(tallest.mT)",
    "torch.linalg.qr(wide, mode='complete')",
    "torch.linalg.qr(A, mode='complete')",
    "torch.linalg.svd(A)",
    "torch.linalg.svd(batch)",
    "torch.linalg.svd(wide)",
    "torch.linalg.svd(tall)",
    "torch.linalg.svd(tallest)",
    "torch.linalg.svd(tallest.mT, full_matrices=False)",
    "torch.linalg.svd(tallest, full_matrices=False)",
    "torch.linalg.svd(wide, full_matrices=False)",
    "torch.linalg.svdvals(diagonal)",
    "torch.linalg.svdvals(singular)",
    "torch.linalg.matrix_norm(tall, 'nuc')",
    "torch.linalg.pinv(A)",
    "torch.linalg.pinv(batch)",
    "torch.linalg.pinv(wide)",
    "torch.linalg.pinv(tallest)",
    "torch.linalg.pinv(rank @ rank.mT)",
)


def _texts() -> list[str]:
    texts = [*SOLVE, *OTHERS]
    for upper in (True, False):
        for unit in (True, False):
            options = f"upper={upper}, unitriangular={unit}"
            texts += [
                f"torch.linalg.solve_triangular({sides}, {options})" for sides in ("A, tall", "batch, batch.mT", "diagonal + one, batch")
            ]
            texts += [
                f"torch.linalg.solve_triangular({sides}, {options}, left=False)" for sides in ("A, wide", "batch, pairs", "pairs, batch")
            ]
    for p in ("0.", "0.5", "1.", "1.5", "2.", "3.", "float('inf')"):
        texts += [
            f"torch.cdist({sides}, p={p})" for sides in ("wide, A", "wide, wide", "tallest, pairs", "batch, tallest", "tall, tallest")
        ]
    return texts


SAMPLES = tuple(Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)}) for text in _texts())
