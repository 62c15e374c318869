"""Activation functions: torch.nn.functional's, and those that torch has too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op
from gradcli.core.kernels import elementary
from gradcli.core.ops import checks
from gradcli.core.ops.activation import records, smooth
from gradcli.core.ops.elementwise.add_multiply import add, sub
from gradcli.core.ops.elementwise.arithmetic_records import DIV
from gradcli.core.ops.elementwise.exponential import SIGMOID
from gradcli.core.ops.elementwise.rounding import absolute
from gradcli.core.ops.elementwise.trigonometric import TANH
from gradcli.core.ops.layers import softmax
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: Klambauer et al., Self-Normalizing Neural Networks (2017)
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _floats_only(input: Tensor, kernel: str) -> None:
    if not input.dtype.is_floating_point:
        raise checks.not_implemented(kernel, input.dtype)


def relu(input: Tensor) -> Any:
    """max(input, 0)."""
    if input.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "Boolean inputs not supported for relu")
    return records.RELU(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Any:
    """input where positive, negative_slope * input elsewhere."""
    _floats_only(input, "leaky_relu_cpu")
    return records.LEAKY_RELU(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0) -> Any:
    """input where positive, alpha * (exp(input) - 1) elsewhere."""
    _floats_only(input, "elu_cpu")
    return records.ELU(input, alpha, 1, 1)


def selu(input: Tensor) -> Any:
    """elu with the constants of self-normalising networks."""
    _floats_only(input, "elu_cpu")
    return records.ELU(input, _SELU_ALPHA, _SELU_SCALE, 1)


def celu(input: Tensor, alpha: float = 1.0) -> Any:
    """input where positive, alpha * (exp(input / alpha) - 1) elsewhere."""
    if alpha == 0:
        raise ProgramError("RuntimeError", "ZeroDivisionError: alpha cannot be 0 for CELU")
    _floats_only(input, "elu_cpu")
    return records.CELU(input, alpha)


def gelu(input: Tensor, approximate: str = "none") -> Any:
    """input times the normal distribution function at input."""
    if approximate not in ("none", "tanh"):
        raise ProgramError("RuntimeError", "approximate argument must be either none or tanh.")
    _floats_only(input, "GeluKernelImpl")
    return smooth.GELU(input, approximate)


def hardtanh(input: Tensor, min_val: Any = -1.0, max_val: Any = 1.0) -> Any:
    """input limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ProgramError("ValueError", "min_val cannot be greater than max_val")
    if input.dtype is dtypes.bool_:
        raise ProgramError("RuntimeError", "Bool inputs not supported for hardtanh")
    return records.HARDTANH(input, min_val, max_val)


def relu6(input: Tensor) -> Any:
    """input limited to [0, 6]."""
    return hardtanh(input, 0.0, 6.0)


def threshold(input: Tensor, threshold: Any, value: Any) -> Any:
    """input where above the threshold, value elsewhere."""
    if input.dtype is dtypes.bool_:
        raise checks.not_implemented("threshold_cpu", input.dtype)
    return records.THRESHOLD(input, threshold, value)


def softplus(input: Tensor, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(beta * input)) / beta, linear beyond threshold."""
    _floats_only(input, "softplus_cpu")
    return smooth.SOFTPLUS(input, beta, threshold)


def softsign(input: Tensor) -> Any:
    """input / (1 + |input|)."""
    return DIV(input, add(absolute(input), 1))


def tanhshrink(input: Tensor) -> Any:
    """input - tanh(input)."""
    return sub(input, TANH(input))


def _refusing(op: Op, kernel: str) -> Callable[..., Any]:
    def run(input: Tensor, *more: Any) -> Any:
        _floats_only(input, kernel)
        return op(input, *more)

    return run


silu = _refusing(smooth.SILU, "silu_cpu")
mish = _refusing(smooth.MISH, "mish_cpu")
logsigmoid = _refusing(smooth.LOG_SIGMOID, "log_sigmoid_cpu")
hardsigmoid = _refusing(records.HARDSIGMOID, "hardsigmoid_cpu")
hardswish = _refusing(records.HARDSWISH, "hardswish_cpu")
hardshrink = _refusing(records.HARDSHRINK, "hardshrink_cpu")


def softshrink(input: Tensor, lambd: Any = 0.5) -> Any:
    """input moved toward 0 by lambd, 0 within."""
    _floats_only(input, "softshrink_check")
    if lambd < 0:
        most = np.finfo(input.dtype.np).max
        raise ProgramError(
            "RuntimeError", f"lambda must be in range [0, {most:.6g}] for input dtype {input.dtype.torch_name}, but found {lambd:g}"
        )
    return records.SOFTSHRINK(input, lambd)


def prelu(input: Tensor, weight: Tensor) -> Any:
    """input where positive, weight * input elsewhere; one weight, or one for each channel (dimension 1)."""
    if input.dtype is not weight.dtype:
        raise ProgramError(
            "RuntimeError", f"prelu: Type promoting not supported. Got {input.dtype.torch_name} and {weight.dtype.torch_name}"
        )
    if weight.array.size != 1:
        if not input.array.ndim:
            raise ProgramError("RuntimeError", "Not allow zero-dim input tensor.")
        channels = input.array.shape[1] if input.array.ndim > 1 else 1
        if channels != weight.array.size:
            raise ProgramError(
                "RuntimeError",
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.array.size} "
                f"and channel size = {channels}.",
            )
    if weight.array.ndim > 1:
        raise ProgramError("RuntimeError", f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.array.ndim}")
    if input.array.ndim != weight.array.ndim:
        from gradcli.core.functions import catalog

        shape = [1] * input.array.ndim
        if input.array.ndim > 1:
            shape[1] = weight.array.size
        weight = catalog.function("reshape")(weight, tuple(shape))
    return smooth.PRELU(input, weight)


def glu(input: Tensor, dim: int = -1) -> Any:
    """The first half along dim times the sigmoid of the second."""
    if not input.array.ndim:
        raise ProgramError("RuntimeError", "glu does not support scalars because halving size must be even")
    at = checks.wrap_dim(dim, input.array.ndim)
    if input.array.shape[at] % 2:
        raise ProgramError("RuntimeError", f"Halving dimension must be even, but dimension {at} is size {input.array.shape[at]}")
    _floats_only(input, "glu_cpu")
    return smooth.GLU(input, dim)


#: the in-place forms that PyTorch records under another name
_WRITTEN: dict[str, Callable[..., Any]] = {
    "leaky_relu": lambda x, slope: records.LEAKY_RELU_RESULT(x, slope),
    "elu": lambda x, alpha: records.ELU_RESULT(x, alpha, 1, 1),
    "selu": lambda x: records.ELU_RESULT(x, _SELU_ALPHA, _SELU_SCALE, 1),
    "celu": lambda x, alpha: records.CELU_RESULT(x, alpha),
    "threshold": lambda x, threshold, value: records.THRESHOLD_WRITTEN(x, threshold, value),
}


def write(name: str, run: Callable[..., Any], input: Tensor, *more: Any) -> Any:
    """The in-place form of an activation function."""
    if name == "leaky_relu" and more[0] < 0:
        raise ProgramError(
            "RuntimeError",
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is caused by "
            "calling in-place forward function with a negative slope, please call out-of-place version instead. File an issue at "
            "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with negative slope",
        )
    written = _WRITTEN.get(name, run)
    return in_place.apply(input, f"{name}_", lambda t: written(t, *more))


def _with_inplace(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of torch.nn.functional: its last parameter asks for the in-place form."""

    def chosen(input: Tensor, *more: Any) -> Any:
        return write(name, run, input, *more[:-1]) if more[-1] else run(input, *more[:-1])

    return chosen


#: all others PyTorch wraps in functions of Python
_BUILT_IN = frozenset({"gelu", "softplus", "logsigmoid", "hardshrink", "softshrink", "prelu", "logit"})
_X = [0.5, -1.5, 2.0, 4.5]
Reference = Callable[..., Any]


def _functional(
    name: str, signature: str, run: Callable[..., Any], doc: str, ops: Sequence[Op], samples: Sequence[Sample], writes: bool = True
) -> Function:
    if writes:
        signature, run = f"{signature}, bool inplace=False", _with_inplace(name, run)
    python = "" if name in _BUILT_IN else "_threshold" if name == "threshold" else name
    return Function(name, (signature, run), doc=doc, ops=ops, samples=samples, namespace="torch.nn.functional", method=False, python=python)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + elementary.exp(-x))


_PYTHON = (
    _functional("relu", "Tensor input", relu, "max(input, 0).", (records.RELU,), (Sample("F.relu(x)", lambda x: np.maximum(x, 0), x=_X),)),
    _functional(
        "relu6",
        "Tensor input",
        relu6,
        "input limited to [0, 6].",
        (records.HARDTANH,),
        (Sample("F.relu6(x)", lambda x: np.clip(x, 0, 6), x=_X),),
    ),
    _functional(
        "leaky_relu",
        "Tensor input, float negative_slope=0.01",
        leaky_relu,
        "input where positive, negative_slope * input elsewhere.",
        (records.LEAKY_RELU,),
        (Sample("F.leaky_relu(x, 0.1)", lambda x: np.where(x > 0, x, 0.1 * x), x=_X),),
    ),
    _functional(
        "elu",
        "Tensor input, float alpha=1.0",
        elu,
        "input where positive, alpha * (exp(input) - 1) elsewhere.",
        (records.ELU,),
        (Sample("F.elu(x, 0.7)", lambda x: np.where(x > 0, x, 0.7 * np.expm1(x)), x=_X),),
    ),
    _functional(
        "selu",
        "Tensor input",
        selu,
        "elu with the constants of self-normalising networks.",
        (records.ELU,),
        (Sample("F.selu(x)", None, x=_X),),
    ),
    _functional(
        "celu",
        "Tensor input, float alpha=1.0",
        celu,
        "input where positive, alpha * (exp(input / alpha) - 1) elsewhere.",
        (records.CELU,),
        (Sample("F.celu(x, 2.)", lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)), x=_X),),
    ),
    _functional(
        "hardtanh",
        "Tensor input, float min_val=-1.0, float max_val=1.0",
        hardtanh,
        "input limited to [min_val, max_val].",
        (records.HARDTANH,),
        (Sample("F.hardtanh(x)", lambda x: np.clip(x, -1, 1), x=_X),),
    ),
    _functional(
        "threshold",
        "Tensor input, float threshold, float value",
        threshold,
        "input where above threshold, value elsewhere.",
        (records.THRESHOLD,),
        (Sample("F.threshold(x, 1., -5.)", lambda x: np.where(x > 1, x, -5), x=_X),),
    ),
    _functional(
        "silu", "Tensor input", silu, "input * sigmoid(input).", (smooth.SILU,), (Sample("F.silu(x)", lambda x: x * _sigmoid(x), x=_X),)
    ),
    _functional(
        "mish",
        "Tensor input",
        mish,
        "input * tanh(softplus(input)).",
        (smooth.MISH,),
        (Sample("F.mish(x)", lambda x: x * np.tanh(np.log1p(np.exp(x))), x=_X),),
    ),
    _functional(
        "hardsigmoid",
        "Tensor input",
        hardsigmoid,
        "input / 6 + 1/2, limited to [0, 1].",
        (records.HARDSIGMOID,),
        (Sample("F.hardsigmoid(tensor([0.5, -4., 2.]))"),),
    ),
    _functional(
        "hardswish",
        "Tensor input",
        hardswish,
        "input * hardsigmoid(input).",
        (records.HARDSWISH,),
        (Sample("F.hardswish(x)", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), x=_X),),
    ),
)

_BUILTIN = (
    _functional(
        "gelu",
        "Tensor input, *, str approximate='none'",
        gelu,
        "input times the normal distribution function at input; approximate='tanh' for the usual approximation.",
        (smooth.GELU,),
        (
            Sample("F.gelu(x)", None, x=_X),
            Sample(
                "F.gelu(x, approximate='tanh')",
                lambda x: 0.5 * x * (1 + elementary.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
                x=_X,
            ),
        ),
        False,
    ),
    _functional(
        "softplus",
        "Tensor input, Number beta=1, Number threshold=20",
        softplus,
        "log(1 + exp(beta * input)) / beta.",
        (smooth.SOFTPLUS,),
        (Sample("F.softplus(x, 2)", lambda x: np.log1p(np.exp(2 * x)) / 2, x=_X),),
        False,
    ),
    _functional(
        "softshrink",
        "Tensor input, Number lambd=0.5",
        softshrink,
        "input moved toward 0 by lambd, 0 within.",
        (records.SOFTSHRINK,),
        (Sample("F.softshrink(x, 1.)", lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0), x=_X),),
        False,
    ),
    _functional(
        "logsigmoid",
        "Tensor input",
        logsigmoid,
        "log(sigmoid(input)), without overflow.",
        (smooth.LOG_SIGMOID,),
        (Sample("F.logsigmoid(x)", lambda x: np.log(_sigmoid(x)), x=_X),),
        False,
    ),
    _functional(
        "softsign",
        "Tensor input",
        softsign,
        "input / (1 + abs(input)).",
        (),
        (Sample("F.softsign(x)", lambda x: x / (1 + np.abs(x)), x=_X),),
        False,
    ),
    _functional(
        "tanhshrink",
        "Tensor input",
        tanhshrink,
        "input - tanh(input).",
        (),
        (Sample("F.tanhshrink(x)", lambda x: x - np.tanh(x), x=_X),),
        False,
    ),
    _functional(
        "sigmoid",
        "Tensor input",
        lambda x: SIGMOID(x),
        "1 / (1 + exp(-input)).",
        (SIGMOID,),
        (Sample("F.sigmoid(x)", _sigmoid, x=_X),),
        False,
    ),
    _functional(
        "glu",
        "Tensor input, int dim=-1",
        glu,
        "The first half along dim times the sigmoid of the second.",
        (smooth.GLU,),
        (Sample("F.glu(x)", lambda x: x[:2] * _sigmoid(x[2:]), x=_X),),
        False,
    ),
)

_TORCH = (
    Function(
        "relu",
        ("Tensor input", relu),
        doc="max(input, 0).",
        ops=(records.RELU,),
        samples=(Sample("relu(x)", lambda x: np.maximum(x, 0), x=_X), Sample("x.relu()", lambda x: np.maximum(x, 0), x=0.5)),
        inplace=True,
    ),
    Function(
        "prelu",
        ("Tensor input, Tensor weight", prelu),
        doc="input where positive, weight * input elsewhere; one weight, or one a channel.",
        ops=(smooth.PRELU,),
        samples=(
            Sample("torch.prelu(x, y)", lambda x, y: np.where(x > 0, x, y * x), x=_X, y=0.25),
            Sample("F.prelu(x, y)", lambda x, y: np.where(x > 0, x, y * x), x=[[0.5, -1.5], [-2.0, 1.0]], y=[0.25, 0.5]),
        ),
        aliases=("nn.functional.prelu",),
    ),
    Function(
        "hardshrink",
        ("Tensor input, Number lambd=0.5", hardshrink),
        doc="input where beyond lambd, 0 within.",
        ops=(records.HARDSHRINK,),
        samples=(Sample("torch.hardshrink(x, 1.)", lambda x: np.where(np.abs(x) > 1, x, 0), x=_X),),
        aliases=("nn.functional.hardshrink",),
        out=True,
    ),
    *(
        Function(name, (signature, run), doc=doc, ops=(op,), samples=(Sample(f"torch.{name}({arguments})", None, x=_X),), method=False)
        for name, signature, run, op, arguments, doc in (
            ("selu", "Tensor input", selu, records.ELU, "x", "elu with the constants of self-normalising networks."),
            ("celu", "Tensor input, Number alpha=1.0", celu, records.CELU, "x", "input where positive, an exponential elsewhere."),
            (
                "threshold",
                "Tensor input, Number threshold, Number value",
                threshold,
                records.THRESHOLD,
                "x, 1., 2.",
                "value where not above threshold.",
            ),
        )
    ),
    Function("selu_", ("Tensor input", lambda x: write("selu", selu, x)), doc="selu in place.", ops=(records.ELU_RESULT,), method=False),
    Function(
        "celu_",
        ("Tensor input, Number alpha=1.0", lambda x, alpha: write("celu", celu, x, alpha)),
        doc="celu in place.",
        ops=(records.CELU_RESULT,),
        method=False,
    ),
    Function(
        "threshold_",
        ("Tensor input, Number threshold, Number value", lambda x, limit, value: write("threshold", threshold, x, limit, value)),
        doc="threshold in place.",
        ops=(records.THRESHOLD_WRITTEN,),
        method=False,
    ),
)

FUNCTIONS = (*_TORCH, *_PYTHON, *_BUILTIN, *softmax.FUNCTIONS)
