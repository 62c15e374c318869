"""CrossMapLRN2d: images divided by a norm over neighbouring channels, with the sums that PyTorch carries from channel to channel."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd import custom_function
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


def _forward(ctx: Any, input: Tensor, size: Any, alpha: Any, beta: Any, k: Any) -> Tensor:
    if input.array.ndim != 4:
        raise shape_error(f"CrossMapLRN2d: Expected input to be 4D, got {input.array.ndim}D instead.", "ValueError")
    stack = catalog.function("stack")
    squares = catalog.function("unbind")(catalog.function("pow")(input, 2), 1)
    channels, ahead = len(squares), int((size - 1) / 2 + 1)
    total = catalog.function("zeros_like")(squares[0])
    for square in squares[:ahead]:
        total = total + square
    sums = [total]
    for c in range(1, channels):
        if c < channels - ahead + 1:
            total = total + squares[c + ahead - 1]
        if c > ahead:
            total = total - squares[c - ahead]
        sums.append(total)
    ctx.fields["scale"] = scale = stack(sums, 1) * (alpha / size) + k
    output: Tensor = catalog.function("pow")(scale, -beta) * input
    ctx.fields["settings"] = size, alpha, beta
    ctx.save_for_backward(input, output)
    return output


def _backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    input, output = ctx.saved_tensors
    (size, alpha, beta), scale = ctx.fields["settings"], ctx.fields["scale"]
    unbind, addcmul = catalog.function("unbind"), catalog.function("addcmul")
    channels, before = len(unbind(input, 1)), int(size - (size - 1) / 2)
    nothing = catalog.function("zeros_like")(unbind(input, 1)[0])
    ratios = [*([nothing] * before), *unbind(grad * output / scale, 1), *([nothing] * (size - 1 - before))]
    direct = unbind(catalog.function("pow")(scale, -beta) * grad, 1)
    total = catalog.function("sum")(catalog.function("stack")(ratios[: size - 1]), 0) if size > 1 else nothing
    found = []
    for c in range(channels):
        total = total + ratios[c + size - 1]
        found.append(addcmul(direct[c], unbind(input, 1)[c], total, value=-2 * alpha * beta / size))
        total = total - ratios[c]
    return catalog.function("stack")(found, 1), None, None, None, None


_CROSS_MAP = custom_function.Functions("CrossMapLRN2d", _forward, _backward, None, None)


class CrossMapLRN2d(FunctionModule, place="normalization"):
    """`CrossMapLRN2d`."""

    ARGUMENTS = {"size": REQUIRED, "alpha": 1e-4, "beta": 0.75, "k": 1}
    EXTRA = "{size}, alpha={alpha}, beta={beta}, k={k}"
    size: Any
    alpha: Any
    beta: Any
    k: Any

    def forward(self, input: Any) -> Any:
        return custom_function.apply(_CROSS_MAP, (input, self.size, self.alpha, self.beta, self.k))
