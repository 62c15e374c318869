"""The `reduction` of losses, and the arguments it had before."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.errors import ProgramError


def checked_reduction(reduction: str, also: tuple[str, ...] = ()) -> str:
    """The reduction itself. ValueError for a name that is none."""
    if reduction not in ("none", "mean", "sum", *also):
        raise ProgramError("ValueError", f"{reduction} is not a valid value for reduction")
    return reduction


def legacy_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that the deprecated arguments ask for, with PyTorch's warning; `reduction` where none is given."""
    if size_average is None and reduce is None:
        return reduction
    average = size_average is None or bool(size_average)
    wanted = "none" if reduce is not None and not reduce else "mean" if average else "sum"
    warnings.emit(f"size_average and reduce args will be deprecated, please use reduction='{wanted}' instead.", once=f"reduction {wanted}")
    return wanted


def reduce(values: Any, reduction: str) -> Any:
    """Elementwise losses reduced by the public functions."""
    if reduction == "mean":
        return catalog.function("mean")(values)
    return catalog.function("sum")(values) if reduction == "sum" else values
