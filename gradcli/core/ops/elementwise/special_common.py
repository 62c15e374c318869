"""What the functions of `torch.special` share: names in their argument errors, and the dtypes that kernels refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.overloads import Parser
from gradcli.core.functions.function import Function, Overload
from gradcli.core.ops.checks import not_implemented
from gradcli.core.tensor import dtypes


class SpecialFunction(Function):
    """A function of torch.special alone: its argument errors call it `special_NAME`."""

    __slots__ = ()

    def __init__(self, name: str, *overloads: Overload, aliases: Sequence[str] = (), **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.special", method=False, aliases=aliases, out=True, **more)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(f"special_{self.name}", self._signatures())
        return self._parser


def refuse_low(kernel: str, *operands: Any) -> None:
    """Refuse half precision, which PyTorch's kernel of that name has not."""
    dtype = dtypes.result_type(operands)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        raise not_implemented(kernel, dtype)
