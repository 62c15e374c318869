"""The declaration of functions in `torch.linalg`."""

from __future__ import annotations

from typing import Any

from gradcli.core.functions.function import Function, Overload


class LinalgFunction(Function):
    """A function of torch.linalg: its argument errors call it `linalg_NAME`."""

    __slots__ = ()
    PREFIX = "linalg_"

    def __init__(self, name: str, *overloads: Overload, **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.linalg", method=False, **more)
