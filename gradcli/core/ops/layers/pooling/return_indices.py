"""Functions of torch.nn.functional that hand a call over to another one where the argument `return_indices` is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.functions.function import Function
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.operators import is_true


def _wants_indices(function: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    at = [p.name for p in function.parser.signatures[0].parameters].index("return_indices")
    return is_true(kwargs["return_indices"] if "return_indices" in kwargs else args[at] if at < len(args) else False)


class Dispatched(Function):
    """A function that calls one of C++ by positions; `other` takes its place where indices are wanted.

    `reads` is the name of an attribute of the input that it reads first.
    """

    __slots__ = ("other", "reads")

    def __init__(self, *args: Any, other: Function | None = None, reads: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.other = other
        self.reads = reads

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.other is not None and _wants_indices(self, args, kwargs):
            return self.other(*args, **kwargs)
        self._check_python(self.python_name, args, kwargs)
        given = args + tuple(kwargs.get(p.name, p.default) for p in self.parser.signatures[0].parameters[len(args) :])
        if self.reads:
            with_method(given[0], self.reads)
        return self.parser.call(given, {})


class DispatchedPython(PythonFunction):
    """A Python function whose place `other` takes where indices are wanted."""

    __slots__ = ("other",)

    def __init__(self, *args: Any, other: Function, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.other = other

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.other(*args, **kwargs) if _wants_indices(self, args, kwargs) else super().__call__(*args, **kwargs)
