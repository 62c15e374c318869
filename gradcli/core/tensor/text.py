"""`repr` of containers that core prints itself, such as the state of an optimiser."""

from __future__ import annotations

from typing import Any

from gradcli.core.tensor.tensor import Tensor

#: containers nested deeper than this are not written out
_DEPTH = 50


def shown(value: Any, depth: int = 0) -> str:
    """`repr(value)` with tensors as PyTorch prints them."""
    if type(value) is Tensor:
        from gradcli.core.vocabulary import settings

        return settings.text(value)
    if depth > _DEPTH:
        return "..."
    if isinstance(value, dict):
        return f"{{{', '.join(f'{shown(k, depth + 1)}: {shown(v, depth + 1)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(shown(v, depth + 1) for v in value)}]"
    if type(value) is tuple:
        return f"({', '.join(shown(v, depth + 1) for v in value)}{',' if len(value) == 1 else ''})"
    return repr(value)


def formatted(value: Any) -> str:
    """What an f-string field shows: text as it is, a tensor without dimensions as its number."""
    if isinstance(value, str):
        return value
    if type(value) is Tensor and not value.array.ndim:
        return repr(value.item())
    return shown(value)
