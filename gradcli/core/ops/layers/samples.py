"""Inputs of the samples of several modules in this folder."""

from __future__ import annotations

ROWS = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
WEIGHT = [[0.1, 0.2, 0.3], [-0.4, 0.5, 0.6]]
SQUARE = [[0.5, -1.5], [2.0, 0.25]]
#: a batch of two, two channels of three elements each, and the factor and the shift of each channel
CHANNELS = [[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[0.3, 0.8, -0.2], [-1.2, 0.6, 1.1]]]
FACTORS, SHIFTS = [1.0, 2.0], [0.1, -0.2]
#: the factors and shifts of three elements
FACTORS_3, SHIFTS_3 = [1.0, 2.0, 0.5], [0.1, 0.2, 0.3]
#: one channel in one, two and three dimensions
ROW = [[0.5, -1.0, 2.0, 0.3, -0.7, 1.4]]
IMAGE = [[[0.5, -1.0, 2.0, 0.3], [1.5, 0.25, -0.5, -0.9], [-0.3, 0.8, 0.6, 1.1]]]
VOLUME = [[[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.25], [-0.5, -0.9]]]]
