"""Functions that PyTorch writes in Python: called with Python's conventions, and Python's errors for wrong calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.function import Function, Sample
from gradcli.core.objects import Routine
from gradcli.core.record import Op

#: how annotations of the implementation are written in a signature
_TYPES = {"Tensor": "Tensor", "Tensor | None": "Tensor?", "bool": "bool", "str": "str"}


class PythonFunction(Function):
    """A function of `torch.nn.functional`, from an annotated implementation that has PyTorch's parameters."""

    __slots__ = ("routine",)

    def __init__(
        self,
        implementation: Callable[..., Any],
        name: str,
        doc: str,
        *,
        ops: Sequence[Op] = (),
        samples: Sequence[Sample] = (),
        aliases: Sequence[str] = (),
    ) -> None:
        super().__init__(
            name,
            (_signature(implementation), implementation),
            doc=doc,
            ops=ops,
            samples=samples,
            namespace="torch.nn.functional",
            method=False,
            aliases=aliases,
        )
        self.routine = Routine(implementation, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.routine(*args, **kwargs)


def _signature(implementation: Callable[..., Any]) -> str:
    """The parameters in the notation of `gradcli.core.signature`."""
    code = implementation.__code__
    defaults = implementation.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    required = len(positional) - len(defaults)
    parts = []
    for i, parameter in enumerate(positional):
        kind = _TYPES.get(implementation.__annotations__.get(parameter, ""), "any")
        parts.append(f"{kind} {parameter}" + (f"={defaults[i - required]!r}" if i >= required else ""))
    return ", ".join(parts)
