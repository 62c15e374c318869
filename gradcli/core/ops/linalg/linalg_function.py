"""The declaration of functions in `torch.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.overloads import Parser
from gradcli.core.functions.function import Function, Overload


class LinalgFunction(Function):
    """A function of torch.linalg: its argument errors call it `linalg_NAME`."""

    __slots__ = ()

    def __init__(self, name: str, *overloads: Overload, aliases: Sequence[str] = (), **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.linalg", method=False, aliases=aliases, **more)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(f"linalg_{self.name}", self._signatures())
        return self._parser
