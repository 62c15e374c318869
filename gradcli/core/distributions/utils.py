"""torch.distributions.utils: what distributions do with parameters before they keep them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.distributions.functions import between_0_and_1, f, f_nn, precision, together
from gradcli.core.ops.index.indexing import getitem, setitem
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def _checked(value: Any, name: str) -> Tensor:
    """The value, if it is a tensor; else the AttributeError for what is asked of it first."""
    if type(value) is not Tensor:
        raise no_attribute(value, name)
    return value


@Routine
def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors broadcast to one shape. ValueError for other values."""
    return together(*values)


@Routine
def clamp_probs(probs: Any) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's precision."""
    return between_0_and_1(_checked(probs, "dtype"))


@Routine
def probs_to_logits(probs: Any, is_binary: Any = False) -> Tensor:
    """The logarithms of probabilities, or the logits of those of single events."""
    kept = between_0_and_1(_checked(probs, "dtype"))
    return f.log(kept) - f.log1p(-kept) if is_binary else f.log(kept)


@Routine
def logits_to_probs(logits: Any, is_binary: Any = False) -> Tensor:
    """The probabilities of logits: their softmax, or the sigmoid for those of single events."""
    return f.sigmoid(logits) if is_binary else f_nn("softmax", logits, dim=-1)


def _lower(n: int, diag: int) -> Tensor:
    """Which elements of an `n` by `n` matrix are below a diagonal, or on it."""
    return Tensor(np.tri(n, n, diag, np.bool_), dtypes.bool_)


@Routine
def tril_matrix_to_vec(mat: Any, diag: Any = 0) -> Tensor:
    """The elements on a diagonal and below it, row by row. ValueError for a diagonal outside of the matrix."""
    n = _checked(mat, "shape").array.shape[-1]
    if not -n <= diag < n:
        raise ProgramError("ValueError", f"diag ({formatted(diag)}) provided is outside [{-n}, {n - 1}].")
    return getitem(mat, (..., _lower(n, diag)))


@Routine
def vec_to_tril_matrix(vec: Any, diag: Any = 0) -> Tensor:
    """Lower triangular matrices of the elements. ValueError for a number of elements that fills none."""
    shape = _checked(vec, "shape").array.shape
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > precision(vec.dtype):
        raise ProgramError(
            "ValueError",
            f"The size of last dimension is {shape[-1]} which cannot be expressed as the lower triangular part of a square D x D matrix.",
        )
    mat: Tensor = f.zeros((*shape[:-1], round(n), round(n)), dtype=vec.dtype)
    setitem(mat, (..., _lower(round(n), diag)), vec)
    return mat
