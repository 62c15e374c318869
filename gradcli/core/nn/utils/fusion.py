"""A batch normalisation in evaluation mode, folded into the convolution or linear map in front of it."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.routines import Routine
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.transformer import copied
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def _factor(bn_rv: Any, bn_eps: Any) -> Any:
    return catalog.function("rsqrt")(bn_rv + bn_eps)


def _parameters(weight: Any, bias: Any, before: tuple[Tensor, Any]) -> tuple[Tensor, Tensor]:
    """Both as parameters, in the dtypes of those before and requiring gradients as they do."""
    old_weight, old_bias = before
    of_bias = old_weight if old_bias is None else old_bias
    requires = False if old_bias is None else old_bias.requires_grad
    made = to_dtype(detach(weight), old_weight.dtype), to_dtype(detach(bias), of_bias.dtype)
    return as_parameter(made[0], old_weight.requires_grad), as_parameter(made[1], requires)


@Routine
def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any, transpose: Any = False
) -> tuple[Tensor, Tensor]:
    """Kernels and bias of a convolution that does what the given one and the normalisation behind it do."""
    zeros, ones = catalog.function("zeros_like"), catalog.function("ones_like")
    held = zeros(bn_rm) if conv_b is None else conv_b
    weight, bias = ones(bn_rm) if bn_w is None else bn_w, zeros(bn_rm) if bn_b is None else bn_b
    factor = _factor(bn_rv, bn_eps)
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.array.ndim - 2)
    kernels = conv_w * catalog.function("reshape")(weight * factor, shape)
    return _parameters(kernels, (held - bn_rm) * factor * weight + bias, (conv_w, conv_b))


@Routine
def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any
) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear map that does what the given one and the normalisation behind it do."""
    held = catalog.function("zeros_like")(bn_rm) if linear_b is None else linear_b
    factor = bn_w * _factor(bn_rv, bn_eps)
    return _parameters(linear_w * catalog.function("unsqueeze")(factor, -1), (held - bn_rm) * factor + bn_b, (linear_w, linear_b))


@Routine
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: Any = False) -> Any:
    """A copy of a convolution that does what it and the normalisation behind it do. AssertionError in training mode."""
    return _fused(conv, bn, lambda *tensors: fuse_conv_bn_weights(*tensors, transpose))


@Routine
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear map that does what it and the normalisation behind it do. AssertionError in training mode."""
    if not (linear.training or bn.training) and linear.out_features != bn.num_features and bn.num_features != 1:
        raise ProgramError(
            "AssertionError",
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={formatted(linear.out_features)} and bn.num_features={formatted(bn.num_features)}",
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(module: Any, bn: Any, weights: Any) -> Any:
    if module.training or bn.training:
        raise ProgramError("AssertionError", "Fusion only for eval!")
    mean, variance = bn.own_buffers["running_mean"], bn.own_buffers["running_var"]
    if mean is None or variance is None:
        raise ProgramError("AssertionError", "bn.running_mean and bn.running_var must not be None")
    made, tables = copied(module), (module.own_parameters, bn.own_parameters)
    (weight, bias), (scale, shift) = [(table["weight"], table["bias"]) for table in tables]
    made.own_parameters["weight"], made.own_parameters["bias"] = weights(weight, bias, mean, variance, bn.eps, scale, shift)
    return made
