"""The convolution along time of inputs (time, batch, channels), with a kernel (width, channels, out channels)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.record import Op, Rule, no_forward_derivative, without_jvp
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.ops.layers.samples import SQUARE
from gradcli.core.ops.rules import moves
from gradcli.core.ops.shape.slicing import narrow, select
from gradcli.core.ops.shape.transpose import t
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error


def _method(name: str, tensor: Tensor, *args: Any) -> Any:
    return catalog.method(name).method(tensor, args, {})


def _zeros_like(tensor: Tensor) -> Tensor:
    return Tensor(np.zeros(tensor.array.shape, tensor.array.dtype), tensor.dtype)


def _steps(long: int, made: int, width: int, pad: int) -> list[tuple[int, int, int, int]]:
    """For each step of the kernel where the rows that it reads begin, where those that it adds to, and how many they are."""
    shifts = [(k, max(0, k - pad), max(0, pad - k)) for k in range(width)]
    return [(k, read, added, n) for k, read, added in shifts if (n := min(long + pad - k, made) - added) > 0]


def _rows(tensor: Tensor, first: int, count: int) -> Tensor:
    """The times from `first` on, as rows of all batches."""
    _, batch, channels = tensor.array.shape
    return view(narrow(tensor, 0, first, count), (count * batch, channels))


def _convolved(input: Any, weight: Any, bias: Any, pad: int, dtype: DType) -> Any:
    x, w = Tensor(input, dtype), Tensor(weight, dtype)
    made = len(input) - len(weight) + 1 + 2 * pad
    shape = (made, input.shape[1], weight.shape[2])
    out = Tensor(np.array(np.broadcast_to(dtypes.cast(bias, dtype), shape), order="C"), dtype)
    for k, read, added, n in _steps(len(input), made, len(weight), pad):
        _method("addmm_", _rows(out, added, n), _rows(x, read, n), select(w, 0, k))
    return out.array


def _input_rule(grad: Any, input: Any, weight: Any, pad: int) -> Any:
    grad, input, weight = as_tensor(grad), as_tensor(input), as_tensor(weight)
    made = _zeros_like(input)
    for k, read, added, n in _steps(len(input.array), len(grad.array), len(weight.array), pad):
        _method("addmm_", _rows(made, read, n), _rows(grad, added, n), t(select(weight, 0, k)))
    return made


def _weight_rule(grad: Any, input: Any, weight: Any, pad: int) -> Any:
    grad, input, weight = as_tensor(grad), as_tensor(input), as_tensor(weight)
    made = _zeros_like(weight)
    for k, read, added, n in _steps(len(input.array), len(grad.array), len(weight.array), pad):
        _method("addmm_", select(made, 0, k), t(_rows(input, read, n)), _rows(grad, added, n))
    return made


def _bias_rule(grad: Any, bias: Any) -> Any:
    return _method("copy_", _zeros_like(as_tensor(bias)), _method("sum", _method("sum", as_tensor(grad), 0), 0))


def _derivative(of: str) -> str:
    call = ", ".join("z" if name == of else name for name in ("input", "weight", "bias"))
    return f"torch.func.vjp(lambda z: torch.conv_tbc({call}, pad), {of})[1](grad)[0]"


CONV_TBC = Op(
    "ConvTbcBackward0",
    _convolved,
    "input weight bias",
    "pad dtype",
    on_tensors=True,
    complex=True,
    jvp=without_jvp("conv_tbc"),
    saved="bias! pad self=input! weight!",
    input=Rule(_input_rule, _derivative("input")),
    weight=Rule(_weight_rule, _derivative("weight")),
    bias=Rule(_bias_rule, "grad.sum((0, 1))"),
)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Any:
    """The sums of products of the kernel and the inputs around each time. Raises RuntimeError for shapes and dtypes that do not fit."""
    warn_of_samples("conv_tbc", input, weight, bias)
    if moves(input, weight, bias):
        raise no_forward_derivative("conv_tbc")
    x, w, b = (tensor.array.shape for tensor in (input, weight, bias))
    if len(x) != 3:
        raise shape_error("Input must have 3 dims: time, batch, in_channel")
    if len(w) != 3:
        raise shape_error("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if len(b) != 1:
        raise shape_error("Bias must be 1-D")
    if x[2] != w[1]:
        raise shape_error("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if w[2] != b[0]:
        raise shape_error("Bias size must equal dim 2 in the weight tensor (output channels).")
    shape = [x[0] - w[0] + 1 + 2 * pad, x[1], w[2]]
    if shape[0] < 0:
        raise shape_error(f"Trying to create tensor with negative dimension {shape[0]}: {shape}")
    limits.check_elements(shape[0] * shape[1] * shape[2], input.dtype.itemsize)
    if weight.dtype is not input.dtype:
        raise runtime_error(f"self and mat2 must have the same dtype, but got {input.dtype.torch_name} and {weight.dtype.torch_name}")
    return CONV_TBC(input, weight, bias, pad, input.dtype)


FUNCTIONS = (
    Function(
        "conv_tbc",
        ("Tensor input, Tensor weight, Tensor bias, int pad=0", conv_tbc),
        doc="The convolution along time of inputs (time, batch, channels).",
        ops=(CONV_TBC,),
        samples=(Sample("torch.conv_tbc(x, w, b, 1)", None, x=[SQUARE, SQUARE, SQUARE], w=[SQUARE, SQUARE], b=[0.5, -1.0]),),
        method=False,
        aliases=("nn.functional.conv_tbc",),
    ),
)
