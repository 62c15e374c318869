"""Linear operations on the last dimensions, and their transposes, which PyTorch records as operations of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array


class Pair(NamedTuple):
    """An operation, and the operation of its gradient."""

    forward: Op
    backward: Op


#: the rule of an operand that PyTorch lists, though the result depends on its shape alone
NO_INFLUENCE = Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)")


def linear_pair(
    name: str,
    forward: Callable[..., Array],
    backward: Callable[..., Array],
    attrs: str,
    call: str,
    rank: int,
    complex: bool = False,
    in_half: Callable[..., Array] | None = None,
) -> Pair:
    """The pair of `forward(x, *attrs)` and `backward(grad, x, *attrs)`, which are linear maps of the last `rank` dimensions.

    `call` is the formula of the operation, with {} for its input; `in_half` computes the second map in half precision.
    """

    def to_input(xp: Any, grad: Any, input: Any, attrs: Any) -> Any:
        return xp.call(transpose, grad, input, *attrs)

    op = Op(f"{name}Backward0", forward, "input", attrs, input=Rule(to_input, transpose_of(call, rank)), complex=complex)
    transpose = Op(
        f"{name}BackwardBackward0",
        backward,
        "grad_output input",
        attrs,
        in_half=in_half,
        grad_output=Rule(lambda xp, grad, attrs: xp.call(op, grad, *attrs), call.format("grad")),
        input=NO_INFLUENCE,
        complex=complex,
    )
    return Pair(op, transpose)


def transpose_of(call: str, rank: int) -> str:
    """The formula of the transpose: the map of every unit image, as the columns of a matrix, times the gradient.

    `call` is the formula of a linear map of the last `rank` dimensions of `input`, with {} for its input.
    """
    units = f"eye(n, dtype=grad.dtype).reshape(n, 1, *input.shape[-{rank}:])"
    return (
        f"n = prod(tensor(input.shape[-{rank}:])).item(); P = {call.format(units)}.flatten(1); "
        f"(grad.flatten(-{rank}) @ P.t()).reshape(input.shape)"
    )
