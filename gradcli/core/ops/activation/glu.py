"""F.glu: one half of a tensor times the sigmoid of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Sample
from gradcli.core.functions.python_function import kernel
from gradcli.core.graph.namespaces import as_tensor, in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import half_to_single, memory_format
from gradcli.core.ops.activation.functional import functional
from gradcli.core.ops.checks import require_floating, with_method, wrap_dim
from gradcli.core.ops.elementwise.exponential import SIGMOID, logistic
from gradcli.core.ops.rules import not_differentiable
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import shape_error


def _halves(x: Any, dim: int) -> tuple[Any, Any]:
    size = x.shape[dim] // 2
    lead = (slice(None),) * (dim % x.ndim)
    return x[(*lead, slice(size))], x[(*lead, slice(size, 2 * size))]


@in_single
def _glu(x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    return memory_format.like_operands(a * logistic(b, a, b), (a, b))


def _glu_gradient(grad: Any, x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    s = logistic(b)
    return np.concatenate((grad * s, (1 - s) * s * a * grad), dim)


def _glu_gradient_in_half(dtype: DType, grad: Any, x: Any, dim: int) -> Any:
    """PyTorch writes the sigmoid into the gradient of the first half, in its dtype, and reads it from there."""
    grad, x = half_to_single(grad), half_to_single(x)
    a, b = _halves(x, dim)
    s = dtypes.stored(logistic(b), dtype)
    return dtypes.cast(np.concatenate((grad * s, (1 - s) * s * a * grad), dim), dtype)


def _glu_first(xp: Any, grad: Any, input: Any, dim: int) -> Any:
    """The derivative of the gradient with respect to grad_output."""
    (a, b), (p, q) = _split(xp, input, dim), _split(xp, grad, dim)
    s = xp.call(SIGMOID, b)
    return p * s + q * a * s * (1 - s)


def _glu_second(xp: Any, grad: Any, grad_output: Any, input: Any, dim: int) -> Any:
    (a, b), (p, q) = _split(xp, input, dim), _split(xp, grad, dim)
    s = xp.call(SIGMOID, b)
    slope = s * (1 - s)
    grad_output = as_tensor(grad_output)
    first = grad_output * q * slope
    second = grad_output * (p * slope + q * a * slope * (1 - 2 * s))
    return xp.cat([first, second], dim)


def _split(xp: Any, x: Any, dim: int) -> tuple[Any, Any]:
    x = as_tensor(x)
    size = x.array.shape[dim] // 2
    return xp.narrow(x, dim, 0, size), xp.narrow(x, dim, size, size)


@in_single
def _glu_moved(out: Any, x: Any, moved: Any, dim: int) -> Any:
    b = _halves(x, dim)[1]
    da, db = _halves(moved, dim)
    s = logistic(b)
    return da * s + out * (db - s * db)


GLU_JVP = not_differentiable("glu_jvp", _glu_moved, "glu x dx", "dim")
_PARTS = "a = input.chunk(2, dim)[0]; s = sigmoid(input.chunk(2, dim)[1]); "
_GRAD_PARTS = "p = grad.chunk(2, dim)[0]; q = grad.chunk(2, dim)[1]; "
GLU_BACKWARD: Op = Op(
    "GluBackwardBackward0",
    _glu_gradient,
    "grad_output input",
    "dim",
    on_tensors=True,
    in_half=_glu_gradient_in_half,
    grad_output=Rule(_glu_first, _PARTS + _GRAD_PARTS + "p * s + q * a * s * (1 - s)"),
    input=Rule(_glu_second, _PARTS + _GRAD_PARTS + "g = grad_output * s * (1 - s); cat([g * q, g * (p + q * a * (1 - 2 * s))], dim)"),
)
GLU = Op(
    "GluBackward0",
    _glu,
    "input",
    "dim",
    jvp=lambda xp, inputs, attrs, tangents, out: xp.call(GLU_JVP, out, inputs[0], tangents[0], *attrs),
    input=Rule(
        lambda xp, grad, input, dim: xp.call(GLU_BACKWARD, grad, input, dim), _PARTS + "cat([grad * s, grad * a * s * (1 - s)], dim)"
    ),
)


def _glu_kernel(input: Tensor, dim: int) -> Tensor:
    at = wrap_dim(dim, input.array.ndim)
    if input.array.shape[at] % 2:
        raise shape_error(f"Halving dimension must be even, but dimension {at} is size {input.array.shape[at]}")
    require_floating("glu_cpu", input.dtype)
    return GLU(input, dim)  # type: ignore[no-any-return]


_GLU = kernel("glu", "Tensor input, int dim", _glu_kernel)


def glu(input: Any, dim: Any = -1) -> Any:
    """The first half of `input` along `dim` times the sigmoid of the second half. A 0-d tensor is refused before the type of `dim`."""
    if not with_method(input, "dim").array.ndim:
        raise shape_error("glu does not support scalars because halving size must be even")
    return _GLU(input, dim)


FUNCTIONS = (
    functional(
        "glu",
        "any input, any dim=-1",
        glu,
        "The first half along dim times the sigmoid of the second.",
        GLU,
        Sample("F.glu(x)", lambda x: x[:2] / (1 + np.exp(-x[2:])), x=[0.5, -1.5, 2.0, 4.5]),
    ),
)
