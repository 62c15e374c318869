"""softmax, its logarithm, and random choices by the Gumbel trick, rounded as PyTorch's kernels round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.signature import is_index
from gradcli.core.calling.type_errors import not_an_integer, type_error
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, elementary, half_to_single, summation
from gradcli.core.kernels.summation import lanes_sum, total
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise.add_multiply import neg
from gradcli.core.ops.operators import ordered
from gradcli.core.ops.reduce.common import logsumexp_jvp
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor

#: the numbers of half precision that PyTorch's vector code takes at once
_GROUP = 32


def _shifted(x: Array, axis: int) -> Array:
    """x minus its largest element along an axis, so that exp cannot overflow."""
    return np.asarray(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))


def _softmax(x: Array, dim: int, dtype: DType) -> Array:
    if not x.ndim:
        return _softmax(x.reshape(1), 0, dtype).reshape(())
    powers = _exp(_shifted(half_to_single(x), dim), dim)
    added = _added(powers, dim)
    # PyTorch multiplies by the reciprocal along the last dimension, and divides along others
    return np.ascontiguousarray(powers * (1 / added) if _is_last(x, dim) else _kept(powers, dim, dtype) / added, x.dtype)


def _kept(powers: Array, dim: int, dtype: DType) -> Array:
    """The exponentials along a dimension that is not the last, as PyTorch keeps them: its scalar code writes them into the result."""
    if dtype.itemsize > 2:
        return powers
    inner = powers.shape[dim + 1 if dim >= 0 else dim + powers.ndim + 1 :]
    count = math.prod(inner)
    return np.where(np.arange(count).reshape(inner) < count - count % _GROUP, powers, dtypes.stored(powers, dtype))


def _log_softmax(x: Array, dim: int, dtype: DType) -> Array:
    if not x.ndim:
        return _log_softmax(x.reshape(1), 0, dtype).reshape(())
    shifted = _shifted(half_to_single(x), dim)
    added = _added(_exp(shifted, dim), dim)
    if _is_last(x, dim):  # PyTorch keeps the sum and its logarithm in the dtype of the input
        return np.ascontiguousarray(shifted - dtypes.stored(elementary.log(dtypes.stored(added, dtype)), dtype), x.dtype)
    return np.ascontiguousarray(shifted - elementary.log(added), x.dtype)


def _is_last(x: Array, dim: int) -> bool:
    return dim in (-1, x.ndim - 1)


def _exp(x: Array, dim: int) -> Array:
    """exp, which PyTorch rounds in another way along the last dimension."""
    return np.asarray(elementary.exp_in_lanes(x) if _is_last(x, dim) else elementary.exp(x))


def _added(powers: Array, dim: int) -> Array:
    """The sum along `dim`, kept as 1, in the order of PyTorch's softmax kernels."""
    if _is_last(powers, dim):
        return lanes_sum(powers)
    if not powers.size:
        return np.asarray(total(powers, dim, True))
    return np.asarray(np.add.accumulate(powers, axis=dim).take([-1], axis=dim) + powers.dtype.type(0))


def _sum(xp: Any, x: Any, dim: int) -> Any:
    """The sum along `dim`, kept as 1; a 0-d x itself."""
    return xp.sum(x, axis=dim, keepdims=True) if np.ndim(xp.plain(x)) else x


def _softmax_gradient(grad_output: Array, output: Array, dim: int) -> Array:
    if not output.ndim:
        return _softmax_gradient(grad_output.reshape(1), output.reshape(1), 0).reshape(())
    if _is_last(output, dim) or output.size > summation.LARGEST:
        return np.asarray((grad_output - _added(grad_output * output, dim)) * output)
    added = np.zeros_like(output.take([0], axis=dim)) if output.size else output.sum(dim, keepdims=True)
    for i in range(output.shape[dim]):
        added = elementary.fused(grad_output.take([i], axis=dim), output.take([i], axis=dim), added)
    return np.asarray((grad_output - added) * output)


def _log_softmax_gradient(grad_output: Array, output: Array, dim: int) -> Array:
    if not output.ndim:
        return _log_softmax_gradient(grad_output.reshape(1), output.reshape(1), 0).reshape(())
    return np.asarray(elementary.fused(-_exp(output, dim), _added(grad_output, dim), grad_output))


def _softmax_output_rule(xp: Any, grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    return grad_output * grad - _sum(xp, output * grad_output, dim) * grad - grad_output * _sum(xp, output * grad, dim)


SOFTMAX_BACKWARD: Op = Op(
    "SoftmaxBackwardDataBackward0",
    in_single(_softmax_gradient),
    "grad_output output",
    "dim",
    grad_output=Rule(
        lambda xp, grad, output, dim: xp.call(SOFTMAX_BACKWARD, grad, output, dim), "output * (grad - (grad * output).sum(dim, True))"
    ),
    output=Rule(
        _softmax_output_rule,
        "grad_output * grad - (output * grad_output).sum(dim, True) * grad - grad_output * (output * grad).sum(dim, True)",
    ),
)
SOFTMAX = Op(
    "SoftmaxBackward0",
    _softmax,
    "input",
    "dim dtype",
    saved="dim result",
    layout="contiguous",
    jvp=lambda xp, inputs, attrs, tangents, out: out * (tangents[0] - logsumexp_jvp(xp, inputs[0], tangents[0], attrs[0], True)),
    input=Rule(lambda xp, grad, out, dim: xp.call(SOFTMAX_BACKWARD, grad, out, dim), "out * (grad - (grad * out).sum(dim, True))"),
)
LOG_SOFTMAX_BACKWARD = Op(
    "LogSoftmaxBackwardDataBackward0",
    in_single(_log_softmax_gradient),
    "grad_output output",
    "dim",
    grad_output=Rule(
        lambda xp, grad, output, dim: grad - _sum(xp, grad * xp.exp(output), dim), "grad - (grad * exp(output)).sum(dim, True)"
    ),
    output=Rule(
        lambda xp, grad, grad_output, output, dim: -_sum(xp, grad_output, dim) * xp.exp(output) * grad,
        "-grad_output.sum(dim, True) * exp(output) * grad",
    ),
)
LOG_SOFTMAX = Op(
    "LogSoftmaxBackward0",
    _log_softmax,
    "input",
    "dim dtype",
    saved="dim result",
    layout="contiguous",
    jvp=lambda xp, inputs, attrs, tangents, out: tangents[0] - logsumexp_jvp(xp, inputs[0], tangents[0], attrs[0], True),
    input=Rule(
        lambda xp, grad, out, dim: xp.call(LOG_SOFTMAX_BACKWARD, grad, out, dim), "grad - softmax(input, dim) * grad.sum(dim, True)"
    ),
)


def _along(op: Op, kernel: str) -> Callable[..., Any]:
    """The function of a record; it raises NotImplementedError, which names the kernel, for a dtype that is not floating."""

    def run(input: Tensor, dim: int, dtype: DType | None = None) -> Any:
        if dtype is not None:
            input = to_dtype(input, dtype)
        rank = input.array.ndim
        at = checks.wrap_dim(dim, rank)
        if not input.dtype.is_floating_point:
            if not input.array.size:  # PyTorch looks for no kernel
                check_no_complex_gradient(f"_{kernel}", input)
                return Tensor(np.zeros(input.array.shape, input.dtype.np), input.dtype)
            last = at == max(rank, 1) - 1
            raise checks.not_implemented(f"{kernel}_lastdim_kernel_impl" if last else f"{kernel}_kernel_impl", input.dtype)
        return op(input, dim, input.dtype)

    return run


softmax = _along(SOFTMAX, "softmax")
log_softmax = _along(LOG_SOFTMAX, "log_softmax")


def _functional(name: str) -> Callable[..., Any]:
    """The function in `torch.nn.functional`: without a dimension it warns and takes 0 for ranks 0, 1 and 3, else 1."""
    called = "softmax" if name == "softmin" else name

    def with_default(input: Any, dim: Any, stacklevel: Any, dtype: Any) -> Any:
        if dim is None:
            rank = checks.with_method(input, "dim").array.ndim
            if not is_index(stacklevel) and type(stacklevel) is not bool:
                raise not_an_integer(stacklevel)
            warnings.emit(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
            dim = 0 if rank in (0, 1, 3) else 1
        if name == "softmin":
            if type(input) is not Tensor and not isinstance(input, (int, float)):
                raise type_error("bad operand type for unary -: '{}'", input)
            input = neg(input) if type(input) is Tensor else -input
        given = {} if dtype is None else {"dtype": dtype}
        return catalog.method(called).method(checks.with_method(input, called), (dim,), given)

    return with_default


def gumbel_softmax(logits: Any, tau: Any = 1, hard: Any = False, eps: Any = 1e-10, dim: Any = -1) -> Any:
    """softmax of (logits + Gumbel noise) / tau (Jang et al. 2017); `hard` gives one-hot values with the gradient of the softmax."""
    if ordered(eps, "!=", 1e-10):
        warnings.emit("`eps` parameter is deprecated and has no effect.")
    if type(logits) is not Tensor:
        raise type_error("empty_like(): argument 'input' (position 1) must be Tensor, not {}", logits)
    draws = generator.default.exponential(logits.array.shape, logits.dtype)
    noise = Tensor(np.asarray(-elementary.log(draws)), logits.dtype)
    soft = catalog.method("softmax").method((logits + noise) / tau, (dim,), {})
    if not hard:
        return soft
    index = catalog.function("max")(soft, dim, True)[1]
    zeros = Tensor(np.zeros_like(logits.array), logits.dtype)
    return catalog.function("scatter")(zeros, dim, index, 1.0) - catalog.function("detach")(soft) + soft


def _reference(x: Any, axis: int) -> Any:
    """The reference of the samples."""
    powers = elementary.exp(x)
    return powers / powers.sum(axis, keepdims=True)


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_DIM = "Tensor input, int dim, dtype? dtype=None"
_FREE = "any input, any dim=None, any _stacklevel=3, any dtype=None"


def _pair(name: str, op: Op, run: Callable[..., Any], doc: str, reference: Any) -> tuple[Function, ...]:
    return (
        Function(
            name,
            (_DIM, run),
            doc=doc,
            ops=(op,),
            samples=(
                Sample(f"torch.{name}(x, 1)", lambda x: reference(x, 1), x=_M),
                Sample(f"x.{name}(0)", lambda x: reference(x, 0), x=_M),
                Sample(f"x.{name}(dim=-1)", lambda x: reference(x, -1), x=[0.5, 1.5, -2.0]),
            ),
            out=lambda input, dim, dtype: Out(EXACT, dtype=dtype or input.dtype, autograd="fallback"),
        ),
        Function(
            name,
            # PyTorch declares softmax without the `*` that the others have
            (f"Tensor input, int dim, {'' if name == 'softmax' else '*, '}dtype? dtype=None", run),
            doc=doc,
            ops=(op,),
            samples=(Sample(f"torch.special.{name}(x, 1)", lambda x: reference(x, 1), x=_M),),
            namespace="torch.special",
            method=False,
            parsed_as=f"special_{name}",
        ),
        Function(
            name,
            (_FREE, _functional(name)),
            doc=doc,
            ops=(op,),
            samples=(Sample(f"F.{name}(x, dim=1)", lambda x: reference(x, 1), x=_M),),
            namespace="torch.nn.functional",
            method=False,
            python=name,
        ),
    )


FUNCTIONS: tuple[Function, ...] = (
    *_pair("softmax", SOFTMAX, softmax, "exp(input) divided by its sum along dim.", _reference),
    *_pair(
        "log_softmax", LOG_SOFTMAX, log_softmax, "The logarithm of softmax along dim.", lambda x, axis: elementary.log(_reference(x, axis))
    ),
    Function(
        "softmin",
        (_FREE, _functional("softmin")),
        doc="softmax(-input) along dim.",
        ops=(SOFTMAX,),
        samples=(Sample("F.softmin(x, dim=1)", lambda x: _reference(-x, 1), x=_M),),
        namespace="torch.nn.functional",
        method=False,
        python="softmin",
    ),
    PythonFunction(gumbel_softmax, "gumbel_softmax", "Softmax of logits with Gumbel noise."),
)
