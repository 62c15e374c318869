"""Inputs of the samples in this folder."""

from __future__ import annotations

#: scores of two rows and three classes, and targets for each
SCORES = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
TARGETS = [[1.0, 0.5, 0.0], [0.25, 1.1, 0.4]]
PROBABILITIES = [[0.2, 0.5, 0.3], [0.25, 0.25, 0.5]]
SQUARE = [[0.5, -1.5], [2.0, 0.25]]
SQUARE_2 = [[1.5, 0.75], [0.5, 2.0]]
