"""Adam and its variants: running means of the gradient and of its square.

Kingma and Ba 2015 (Adam, Adamax), Loshchilov and Hutter 2019 (AdamW), Dozat 2016 (NAdam), Liu et al. 2020 (RAdam); the
order of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.optimizer import Group, Kernel, Optimizer, State, written, zeros_like
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_NOT_AT_ONCE = "as a Tensor is not supported for capturable=False and foreach=True"
_ARGUMENTS = {"params": REQUIRED, "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}


def _update_moments(xp: Any, state: State, grad: Any, beta1: float, beta2: float) -> tuple[Any, Any]:
    """Update the running means of the gradient and of its square; returns both."""
    mean, square = xp.operand(state["exp_avg"]), xp.operand(state["exp_avg_sq"])
    xp.lerp(mean, grad, 1 - beta1)
    xp.multiply(square, beta2)
    xp.addcmul(square, grad, grad, 1 - beta2)
    return mean, square


class Adam(Optimizer, place="adam"):
    """`torch.optim.Adam`."""

    ARGUMENTS = {
        **_ARGUMENTS,
        "amsgrad": False,
        "foreach": None,
        "maximize": False,
        "capturable": False,
        "differentiable": False,
        "fused": None,
        "decoupled_weight_decay": False,
    }
    KEYWORD_ONLY = "foreach maximize capturable differentiable fused decoupled_weight_decay"
    OPTIONS = "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
    CHECKED = "lr eps betas weight_decay"
    STATE = "exp_avg exp_avg_sq"
    ELEMENTWISE = True

    def prepare(self, given: dict[str, Any]) -> None:
        uncaptured = given["foreach"] and not given["capturable"]
        if uncaptured and type(given["lr"]) is Tensor:
            raise ProgramError("ValueError", f"lr {_NOT_AT_ONCE}")
        super().prepare(given)
        betas = given["betas"]
        if {type(beta) for beta in betas[:2]} not in ({float}, {Tensor}):
            raise ProgramError("ValueError", "betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if uncaptured and type(beta) is Tensor:
                raise ProgramError("ValueError", f"betas[{i}] {_NOT_AT_ONCE}")
            if type(beta) is Tensor and beta.array.size != 1:
                raise ProgramError("ValueError", f"Tensor betas[{i}] must be 1-element")
        given["betas"] = tuple(betas)

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        super().begin(group, param, state)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        (beta1, beta2), lr = map(checks.number, group["betas"]), checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            mean, square = _update_moments(xp, state, grad, beta1, beta2)
            if group["amsgrad"]:
                largest = xp.operand(state["max_exp_avg_sq"])
                xp.maximum(largest, square)
                square = largest
            size = lr / (1 - beta1**step)
            spread = xp.sqrt(square) / xp.fresh((1 - beta2**step) ** 0.5, square.dtype) + xp.scalar(group["eps"], square.dtype)
            xp.addcdiv(xp.operand(param), mean, spread, -size)

        return move


class AdamW(Adam, place="adamw"):
    """`torch.optim.AdamW`: Adam with decoupled weight decay."""

    ARGUMENTS = {
        **_ARGUMENTS,
        "weight_decay": 1e-2,
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "fused": None,
    }
    KEYWORD_ONLY = "maximize foreach capturable differentiable fused"

    def prepare(self, given: dict[str, Any]) -> None:
        super().prepare(given)
        given["decoupled_weight_decay"] = True


class Adamax(Optimizer, place="adamax"):
    """`torch.optim.Adamax`: the largest decayed gradient in place of the mean square."""

    ARGUMENTS = {
        **_ARGUMENTS,
        "lr": 2e-3,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    KEYWORD_ONLY = "maximize differentiable capturable"
    OPTIONS = "lr betas eps weight_decay foreach maximize differentiable capturable"
    CHECKED = "lr eps betas weight_decay"
    STATE = "exp_avg exp_inf"
    ELEMENTWISE = True

    def kernel(self, group: Group, xp: Any) -> Kernel:
        (beta1, beta2), lr = map(checks.number, group["betas"]), checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            mean, largest = xp.operand(state["exp_avg"]), xp.operand(state["exp_inf"])
            xp.lerp(mean, grad, 1 - beta1)
            xp.multiply(largest, beta2)
            xp.maximum(largest, xp.abs(grad) + xp.scalar(group["eps"], grad.dtype))
            xp.addcdiv(xp.operand(param), mean, largest, -(lr / (1 - beta1**step)))

        return move


class NAdam(Optimizer, place="nadam"):
    """`torch.optim.NAdam`: Adam with Nesterov momentum."""

    ARGUMENTS = {
        **_ARGUMENTS,
        "lr": 2e-3,
        "momentum_decay": 4e-3,
        "decoupled_weight_decay": False,
        "foreach": None,
        "maximize": False,
        "capturable": False,
        "differentiable": False,
    }
    KEYWORD_ONLY = "foreach maximize capturable differentiable"
    CAPTURED = ("params, mu_products", "params, mu_products,")
    OPTIONS = "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
    CHECKED = "lr eps betas weight_decay momentum_decay"
    STATE = "exp_avg exp_avg_sq"

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        state["mu_product"] = Tensor(np.ones((), np.float32), dtypes.float32)
        super().begin(group, param, state)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        (beta1, beta2), lr = map(checks.number, group["betas"]), checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
            mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
            product = state["mu_product"].array
            fused_arithmetic.multiply(product, mu)
            mean, square = _update_moments(xp, state, grad, beta1, beta2)
            spread = xp.sqrt(square / xp.fresh(1 - beta2**step, square.dtype)) + xp.scalar(group["eps"], square.dtype)
            xp.addcdiv(xp.operand(param), grad, spread, -lr * (1.0 - mu) / (1.0 - product.item()))
            written(param)
            xp.addcdiv(xp.operand(param), mean, spread, -lr * mu_next / (1.0 - product.item() * mu_next))

        return move


class RAdam(Optimizer, place="radam"):
    """`torch.optim.RAdam`: Adam that adapts its steps once their variance can be estimated."""

    ARGUMENTS = {
        **_ARGUMENTS,
        "decoupled_weight_decay": False,
        "foreach": None,
        "maximize": False,
        "capturable": False,
        "differentiable": False,
    }
    KEYWORD_ONLY = "foreach maximize capturable differentiable"
    OPTIONS = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
    CHECKED = "lr eps betas weight_decay"
    STATE = "exp_avg exp_avg_sq"

    def kernel(self, group: Group, xp: Any) -> Kernel:
        (beta1, beta2), lr = map(checks.number, group["betas"]), checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            mean, square = _update_moments(xp, state, grad, beta1, beta2)
            left = 1 - beta2**step
            direction = mean / xp.fresh(1 - beta1**step, mean.dtype) * xp.scalar(lr, mean.dtype)
            limit = 2 / (1 - beta2) - 1
            length = limit - 2 * step * beta2**step / left
            if length > 5.0:
                shrink = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
                spread = xp.sqrt(square) + xp.scalar(group["eps"], square.dtype)
                direction = direction * (xp.fresh(left**0.5, square.dtype) / spread) * xp.fresh(shrink, mean.dtype)
            xp.add(xp.operand(param), direction, -1.0)

        return move
