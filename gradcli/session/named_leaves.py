"""The leaves of a program that an expression at the prompt is differentiated by."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import UsageError


def named_leaves(text: str, variables: Mapping[str, object]) -> dict[str, Tensor]:
    """The leaves that require grad and stand in `text`; where there are none, all that `variables` has."""
    leaves = {name: value for name, value in variables.items() if type(value) is Tensor and value.requires_grad and value.is_leaf}
    words = _words(text)
    return {name: leaves[name] for name in words if name in leaves} or leaves


def copies(text: str, variables: Mapping[str, object], *, double: bool) -> dict[str, Tensor]:
    """Copies of the floating-point tensors that stand in `text`, with `double` in float64.

    Raises UsageError for one that was computed from a leaf: another value of the leaf would not change it.
    """
    found = {}
    for name in _words(text):
        value = variables.get(name)
        if type(value) is not Tensor or not value.dtype.is_differentiable:
            continue
        if value.requires_grad and not value.is_leaf:
            raise UsageError(
                f"{name} is computed: it stays as it is when variables change", hints=[f"write the expression out instead of {name}"]
            )
        dtype = dtypes.float64 if double else value.dtype
        copy = wrap(dtypes.cast(value.array, dtype).copy(), dtype)
        copy.requires_grad = value.requires_grad
        found[name] = copy
    return found


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"(?<![\w.])[^\W\d]\w*", text)))
