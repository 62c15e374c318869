"""Inputs of the samples in this folder."""

from __future__ import annotations

from typing import Any

SQUARE: Any = [[2.0, 0.5], [0.25, 3.0]]
SQUARE_2: Any = [[0.5, -1.0], [2.0, 1.5]]
WIDE: Any = [[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]]
WIDE_2: Any = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]
TALL: Any = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
BATCH: Any = [[[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 1.5]]]
PAIR: Any = [1.0, -2.0]
TRIPLE: Any = [0.5, 1.5, -1.0]
