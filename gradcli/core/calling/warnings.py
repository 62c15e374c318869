"""Warnings of the core, in PyTorch's words. The language decides where they are shown and how often."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.tensor.state import state

#: gets category, message, and the place of the warning in PyTorch's own code, "" for the line of the program
Sink = Callable[[str, str, str], None]


def _ignore(category: str, message: str, inside: str) -> None:
    return None


sink: Sink = _ignore
#: which of the warnings that PyTorch gives once in a process have been given
given: set[str] = set()
#: the class of the module that calls a function which may warn
module = ""


def emit(message: str, category: str = "UserWarning", once: str = "", inside: str = "") -> None:
    """Hand a warning to the sink in place; one with `once` only the first time, whatever its text and wherever it arises.

    `inside` stands for a line of PyTorch's own code that is the place of the warning, as `module` does where a module calls the
    function that warns.
    """
    if once:
        if once in given and not state.settings.get("warn_always"):
            return
        given.add(once)
    sink(category, message, inside or module)


def imaginary_discarded() -> None:
    """Warn, once, of a complex tensor that is written to or converted to a real one."""
    emit(
        "Casting complex values to real discards the imaginary part (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/native/Copy.cpp:307.)",
        once="complex to real",
    )


def complex_half() -> None:
    """Warn, once, of complex numbers of half precision, of which PyTorch makes a tensor before it refuses them."""
    emit(
        "ComplexHalf support is experimental and many operators don't support it yet. (Triggered internally at "
        "/__w/pytorch/pytorch/aten/src/ATen/EmptyTensor.cpp:54.)",
        once="complex32",
    )


def set_given(new: set[str]) -> set[str]:
    """Let a session remember in `new` what it was told once; returns the set that was there."""
    global given
    old, given = given, new
    return old


def set_sink(new: Sink | None) -> Sink:
    """Put a sink in place; returns the one that was there."""
    global sink
    old = sink
    sink = _ignore if new is None else new
    return old


_REQUIRES_GRAD = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first. (Triggered internally at "
    "/__w/pytorch/pytorch/torch/csrc/autograd/generated/python_variable_methods.cpp:822.)"
)


def of_scalar(requires_grad: bool) -> None:
    """Warn once of a tensor that becomes a Python number, if it requires a gradient."""
    if requires_grad:
        emit(_REQUIRES_GRAD, once="scalar")
