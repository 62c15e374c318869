"""Rules that many records share, and records of operations that PyTorch gives a node but no derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, no_derivative, no_forward_derivative, without_jvp
from gradcli.core.kernels import broadcasts_to, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import misfit_error
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

UNCHANGED = Rule(lambda grad: grad, "grad")
NEGATED = Rule(lambda grad: -grad, "-grad")


def zero(note: str = "") -> Rule:
    """The derivative is 0 everywhere; `note` says what that means where the function is not differentiable."""
    return Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad", note)


ZERO = zero()


def zeros_as(xp: Any, x: Any) -> Any:
    """Zeros with the memory format of `x`."""
    zeros = memory_format.zeros_like(xp.plain(x))
    return Tensor(zeros, x.dtype) if type(x) is Tensor else zeros


def as_kernel(made: Any, *operands: Any) -> Any:
    """The gradient that PyTorch's kernel gives for these operands where nothing is recorded, laid out as one elementwise operation."""
    if type(made) is not Tensor:
        return memory_format.like_operands(made, operands) if type(made) is np.ndarray and made.ndim > 1 else made
    if not state.enabled:
        made.array = memory_format.like_operands(made.array, [one.array for one in operands])
    return made


def rounded_once(gradient: Callable[..., Any], *operands: Tensor) -> Tensor | None:
    """The gradient in half precision that PyTorch's kernel computes in single precision where nothing is recorded; None elsewhere."""
    dtype = operands[0].dtype
    if state.enabled or dtype.itemsize > 2 or any(type(one.array) is not np.ndarray for one in operands):
        return None
    wide = [memory_format.in_dtype(one.array, np.dtype(np.float32)) for one in operands]
    return Tensor(dtypes.cast(np.asarray(as_kernel(gradient(*wide), *wide)), dtype), dtype)


def refused(error: Callable[[], ProgramError]) -> Rule:
    """A derivative that PyTorch does not have: the backward pass raises the error that `error` makes."""

    def refuse() -> Any:
        raise error()

    return Rule(refuse, "")


def underived(grad_fn: str, name: str) -> Op:
    """The record of PyTorch's operator `name`, whose results require gradients and whose derivative PyTorch declares as missing."""
    error = ProgramError("NotImplementedError", f"the derivative for '{name}' is not implemented.")
    return Op(grad_fn, lambda x: x, "input", jvp=without_jvp(name), input=refused(lambda: error))


def check_no_tangent(name: str, *operands: Any) -> None:
    """Raise PyTorch's error where an operand of its operator `name` has a tangent, and the operator has no forward derivative.

    Operators without any derivative have names like `aten::gcd`; in-place forms end with `_`.
    """
    level = state.dual
    if level is None or level.paused or all(level.tangent_of(value) is None for value in operands):
        return
    if "::" in name:
        raise ProgramError("NotImplementedError", f"Trying to use forward AD with {name} that does not support it.")
    raise no_forward_derivative(name)


def check_tangent_size(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError where a tangent has another shape than its tensor."""
    have, given = tensor.array.shape, tangent.array.shape
    if have != given:
        raise shape_error(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor "
            f"is of size {list(have)} while the given forward gradient is of size {list(given)}.",
        )


def check_gradient(node: str, place: int, have: Sequence[int], wanted: Sequence[int]) -> None:
    """Raise RuntimeError where summing does not make the shape `wanted` of a gradient of shape `have`, that of the operand at `place`.

    The backward walk would repeat such a gradient, as other rules leave it to.
    """
    if not broadcasts_to(wanted, have):
        raise misfit_error(node, str(place), str(list(have)), str(list(wanted)))


def recorded(op: Op, out: Tensor, *inputs: Tensor | None) -> Tensor:
    """A result that was computed apart from its record, with a node if an input requires a gradient."""
    if state.enabled:
        op.record(out, inputs, ())
    if state.dual is not None:
        state.dual.push(op, inputs, (), (out,))
    return out


def moves(*tensors: Tensor | None) -> bool:
    """Whether one of the tensors has a tangent."""
    return state.dual is not None and any(t is not None and state.dual.tangent_of(t) is not None for t in tensors)


def check_no_gradient(function: str, **arguments: Tensor | None) -> None:
    """Raise RuntimeError if an argument requires a gradient, by which PyTorch cannot differentiate `function`."""
    for name, tensor in arguments.items():
        if tensor is not None and tensor.requires_grad and state.enabled:
            raise runtime_error(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )


def check_derived(name: str) -> Any:
    """Raise the error of an operator that has no derivative."""
    raise no_derivative(name)


def no_complex_gradient(name: str) -> ProgramError:
    """PyTorch's error for a complex result with a gradient that it does not have."""
    return runtime_error(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def check_no_complex_gradient(name: str, input: Tensor, *more: Tensor) -> None:
    """Raise RuntimeError for a complex `input`, which the result is like, where a gradient is wanted: PyTorch has none here."""
    if state.enabled and input.dtype.is_complex and any(t.requires_grad for t in (input, *more)):
        raise no_complex_gradient(name)


def not_differentiable(
    name: str,
    forward: Callable[..., Any],
    tensors: str,
    attrs: str = "",
    *,
    elementwise: bool = False,
    factor: bool = False,
    in_half: Callable[..., Any] | None = None,
    number: str = "",
    outputs: str = "",
) -> Op:
    """The record of PyTorch's operator `aten::name`: its results require gradients, and the backward pass raises RuntimeError.

    `number` is the operand that is a Python number; `elementwise`, `factor` and `in_half` are as for the record.
    """
    more: Any = {"outputs": outputs, "differentiable": len(outputs.split())} if outputs else {}
    more["in_half"] = in_half
    if elementwise:
        more["factor"] = factor
    else:
        more["jvp"] = lambda *_: check_derived(f"aten::{name}")
    rule = refused(lambda: no_derivative(f"aten::{name}"))
    rules: Any = {operand: None if operand == number else rule for operand in tensors.split()}
    kind = Pointwise if elementwise else Op
    return kind("NotImplemented", forward, tensors, attrs, full_name="torch::autograd::NotImplemented", saved="", **more, **rules)


def in_half_precision(op: Op, forward: Callable[..., Any], layout: memory_format.Layout | None = None) -> Op:
    """The record of the same operation for tensors in half precision, whose `forward` rounds after each step.

    Records get bfloat16 numbers in single precision, and can do that for float16 alone.
    """
    rules: Any = op.rules
    attributes = " ".join(op.tensors), " ".join(op.attrs)
    return Op(op.grad_fn, forward, *attributes, saved=op.saved, jvp=op.jvp, layout=layout, **rules)
