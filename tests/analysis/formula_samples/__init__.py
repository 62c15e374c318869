"""Sample calls for the rules that no function's own samples reach, by family of operations."""

from __future__ import annotations

from gradcli.core.functions.function import Sample
from tests.analysis.formula_samples import indexing, layers, linalg, losses, odd_points, reductions

SAMPLES: tuple[Sample, ...] = (
    *indexing.SAMPLES,
    *layers.SAMPLES,
    *linalg.SAMPLES,
    *losses.SAMPLES,
    *odd_points.SAMPLES,
    *reductions.SAMPLES,
)
