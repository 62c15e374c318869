"""Computations on numpy arrays, in the order of operations that PyTorch uses. They know neither tensors nor gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

#: an array of any shape and dtype
Array = np.ndarray[Any, Any]
#: one axis, several, or all for None
Axes = int | Sequence[int] | None
