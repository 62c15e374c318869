"""Functions that PyTorch writes in Python: called with Python's conventions, and Python's errors for wrong calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.record import Op
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError

#: how annotations of the implementation are written in a signature
_TYPES = {"Tensor": "Tensor", "Tensor | None": "Tensor?", "bool": "bool", "str": "str"}


class PythonFunction(Function):
    """A function of `torch.nn.functional`, from an annotated implementation that has PyTorch's parameters.

    An implementation that checks its arguments itself, in PyTorch's order, is `unchecked`: it gets values of any type.
    """

    __slots__ = ("routine", "tensors", "checked_as", "reads")

    def __init__(
        self,
        implementation: Callable[..., Any],
        name: str,
        doc: str,
        *,
        ops: Sequence[Op] = (),
        samples: Sequence[Sample] = (),
        aliases: Sequence[str] = (),
        checked_as: str = "",
        reads: str = "size",
        unchecked: bool = False,
        python: str = "",
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
        self.routine = Routine(implementation, python or name)
        kinds = implementation.__annotations__
        #: the leading parameters that must be tensors
        self.tensors = [] if unchecked else [p for p in self.routine.positional if kinds.get(p) == "Tensor"]
        #: the C++ function that PyTorch hands them to, which refuses what is no tensor; without one, it fails to read an attribute
        self.checked_as = checked_as
        self.reads = reads

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self.routine.check(args, kwargs)
        for position, value in enumerate(args[: len(self.tensors)]):
            if type(value) is not Tensor:
                raise self._no_tensor(position, value)
        for position, name in enumerate(self.tensors):
            if name in kwargs and type(kwargs[name]) is not Tensor:
                raise self._no_tensor(position, kwargs[name])
        try:
            return self.routine(*args, **kwargs)
        except ProgramError as error:
            if not state.mapped:
                raise
            run = lambda *values: self.routine(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))  # noqa: E731
            if error.code is not Code.NEEDS_SAMPLES:
                raise state.mapped[-1].of_batch(self.name, run, (*args, *kwargs.values()), error) from None
            return state.mapped[-1].by_samples(run, (*args, *kwargs.values()), error)

    def _no_tensor(self, position: int, value: Any) -> ProgramError:
        kind = language.type_name(value)
        if not self.checked_as:
            return ProgramError("AttributeError", f"'{kind}' object has no attribute '{self.reads}'")
        name = self.tensors[position]
        return ProgramError("TypeError", f"{self.checked_as}(): argument '{name}' (position {position + 1}) must be Tensor, not {kind}")


def kernel(name: str, signature: str, implementation: Callable[..., Any]) -> Function:
    """The function of C++ that a Python function hands its arguments to: called with all of them, and named by errors about their types."""
    return Function(name, (signature, implementation), doc="", namespace="torch._C._nn", method=False)


def _signature(implementation: Callable[..., Any]) -> str:
    """The parameters in the notation of `gradcli.core.calling.signature`."""
    code = implementation.__code__
    defaults = implementation.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    required = len(positional) - len(defaults)
    parts = []
    for i, parameter in enumerate(positional):
        kind = _TYPES.get(implementation.__annotations__.get(parameter, ""), "any")
        parts.append(f"{kind} {parameter}" + (f"={defaults[i - required]!r}" if i >= required else ""))
    return ", ".join(parts)
