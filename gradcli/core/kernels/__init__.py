"""Computations on numpy arrays, in the order of operations that PyTorch uses. They know neither tensors nor gradients."""

from typing import Any

import numpy as np

#: an array of any shape and dtype
Array = np.ndarray[Any, Any]
