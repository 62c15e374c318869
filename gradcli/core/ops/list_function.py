"""Functions whose arguments are lists of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions.function import Function, Overload
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def check_tensors(values: Sequence[Any]) -> None:
    """Raise TypeError for the first value that is not a tensor."""
    for i, value in enumerate(values):
        if type(value) is not Tensor:
            raise type_error(f"expected Tensor as element {i} in argument 0, but got {{}}", value)


class ListFunction(Function):
    """A function whose last positional arguments are tensors, given one by one or as one list."""

    __slots__ = ("lead", "takes_list")

    def __init__(self, name: str, *overloads: Overload, lead: int = 0, takes_list: bool = True, **more: Any) -> None:
        super().__init__(name, *overloads, **more)
        #: the number of arguments before the tensors
        self.lead = lead
        #: whether the tensors may be one list
        self.takes_list = takes_list

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        for key in kwargs:  # PyTorch writes these functions in Python, with `*tensors`
            if key not in [p.name for p in self.parser.signatures[0].parameters if p.keyword_only]:
                raise ProgramError("TypeError", f"{self.name}() got an unexpected keyword argument '{key}'")
        rest = args[self.lead :]
        if not self.takes_list or len(rest) != 1 or not isinstance(rest[0], (list, tuple)):
            args = (*args[: self.lead], list(rest))
        check_tensors(args[self.lead])
        return super().__call__(*args, **kwargs)
