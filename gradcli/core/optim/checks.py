"""Checks of the optimisers' options, with PyTorch's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import not_ordered, not_subscriptable
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


def rate(group: Mapping[str, Any]) -> Any:
    """The learning rate of a group: a number, or a scalar in the precision of its tensor, in which PyTorch computes the step's factors."""
    given = group["lr"]
    value = number(given)
    if type(given) is not Tensor or not given.dtype.is_floating_point or group.get("foreach") or group.get("fused"):
        return value
    return given.array.reshape(())[()]


def number(value: object, sign: str = "<=", left: bool = False) -> float:
    """A number from a number or a tensor of one element.

    TypeError for other types: the one of Python's comparison with `sign`, which has the wrong type on the left if `left`.
    """
    if type(value) is Tensor:
        if value.array.size > 1:
            raise runtime_error("Boolean value of Tensor with more than one value is ambiguous")
        return float(value.item())
    if isinstance(value, (int, float)):
        return value
    raise not_ordered(sign, value, 0.0) if left else not_ordered(sign, 0.0, value)


def option(name: str, value: Any) -> None:
    """Check an option of an optimiser. TypeError or ValueError if it is not valid."""
    if name == "lr":
        one_element(value)
    if name in _RANGES:
        _RANGES[name](value)
    elif not number(value) >= 0.0:  # nan is refused too
        raise ProgramError("ValueError", f"Invalid {_label(name)}: {formatted(value)}")


def not_below_zero(name: str, value: Any) -> None:
    """Check an option of SGD: unlike `option` it accepts nan, and the TypeError names the wrong type on the left."""
    if name == "lr":
        one_element(value)
    if number(value, "<", True) < 0.0:
        raise ProgramError("ValueError", f"Invalid {_label(name)}: {formatted(value)}")


def _label(name: str) -> str:
    return {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")


def one_element(lr: Any) -> None:
    """ValueError for a learning rate that is a tensor of several elements."""
    if type(lr) is Tensor and lr.array.size != 1:
        raise ProgramError("ValueError", "Tensor lr must be 1-element")


def _betas(value: Any) -> None:
    """Check that both decay rates are in [0, 1)."""
    if not isinstance(value, (tuple, list)):
        raise not_subscriptable(value)
    for i in range(2):
        if i >= len(value):
            raise ProgramError("IndexError", f"{language.type_name(value)} index out of range")
        if not 0.0 <= number(value[i]) < 1.0:
            raise ProgramError("ValueError", f"Invalid beta parameter at index {i}: {formatted(value[i])}")


def _rho(value: Any) -> None:
    if not 0.0 <= number(value) <= 1.0:
        raise ProgramError("ValueError", f"Invalid rho value: {formatted(value)}")


def _etas(value: Any) -> None:
    if not 0.0 < number(value[0]) < 1.0 < number(value[1]):
        raise ProgramError("ValueError", f"Invalid eta values: {formatted(value[0])}, {formatted(value[1])}")


#: checks of options whose range is not that of the numbers from 0 on
_RANGES: dict[str, Callable[[Any], None]] = {"betas": _betas, "rho": _rho, "etas": _etas}


def fused(value: Any, differentiable: Any, foreach: Any = None) -> None:
    """Refuse the pairs of options that PyTorch refuses; `fused` and `foreach` have no other effect."""
    if value and differentiable:
        raise runtime_error("`fused` does not support `differentiable`")
    if value and foreach:
        raise runtime_error("`fused` and `foreach` cannot be `True` together.")


def fused_parameters(params: Iterable[Tensor]) -> None:
    """RuntimeError for a parameter with a gradient that fused kernels do not take."""
    for param in params:
        if param.grad is not None and not param.dtype.is_floating_point:
            raise runtime_error(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but {param.dtype} and cpu"
            )


def misshapen(param: Tensor, state: Mapping[str, Any]) -> ProgramError:
    """The error for a state, one that was loaded, whose shape is not that of its parameter."""
    from gradcli.core.graph.in_place import unfit

    wanted = param.array.shape
    shapes = [kept.array.shape for kept in state.values() if type(kept) is Tensor]
    for shape in shapes:
        if shape not in ((), wanted):
            # a state that is large enough is written, and then read for the parameter
            large = len(shape) > len(wanted) and shape[len(shape) - len(wanted) :] == wanted
            return unfit(wanted, shape) if large else unfit(shape, wanted)
    return runtime_error("the state of a parameter does not fit it")
