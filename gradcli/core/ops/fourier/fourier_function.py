"""The declaration of functions in `torch.fft`."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.overloads import Parser
from gradcli.core.functions.function import Function, Overload


class FourierFunction(Function):
    """A function of torch.fft: its argument errors call it `fft_NAME`."""

    __slots__ = ()

    def __init__(self, name: str, *overloads: Overload, **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.fft", method=False, **more)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(f"fft_{self.name}", self._signatures())
        return self._parser
