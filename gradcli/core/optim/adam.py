"""Adam and its relatives: running means of the gradient and of its square.

Kingma and Ba 2015 (Adam, Adamax), Loshchilov and Hutter 2019 (AdamW), Dozat 2016 (NAdam), Liu et al. 2020 (RAdam); the
order of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.optimizer import Group, Optimizer, advance, counter, optimizer_type, written, zeros_like
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor


class Moments(Optimizer):
    """What the family shares. Subclasses say in `move` how a parameter moves once the state is there."""

    def update(self, group: Group) -> None:
        for param in group["params"]:
            if param.grad is None:
                continue
            state = self.state[param]
            if not state:
                state["step"] = counter()
                self.begin(group, param, state)
            step = advance(state)
            self.move(group, param, state, step)
            written(param, state)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        """Make the state of a parameter at its first step."""
        state["exp_avg"] = zeros_like(param)
        state["exp_avg_sq"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, state: dict[str, Any], step: float) -> None:
        """Write the parameter and its state."""
        raise NotImplementedError


def _gradient(group: Group, param: Tensor, decoupled: bool) -> Array:
    """The gradient with its sign and weight decay; a decoupled decay shrinks the parameter instead."""
    assert param.grad is not None
    grad = param.grad.array
    if group["maximize"]:
        grad = np.asarray(np.negative(grad))
    decay = checks.number(group["weight_decay"])
    if not decay:
        return grad
    if decoupled:
        fused_arithmetic.multiply(param.array, 1 - checks.number(group["lr"]) * decay)
        written(param)
        return grad
    return fused_arithmetic.plus(grad, param.array, decay)


def _update_moments(state: dict[str, Any], grad: Array, beta1: float, beta2: float) -> tuple[Array, Array]:
    mean, square = state["exp_avg"].array, state["exp_avg_sq"].array
    fused_arithmetic.lerp(mean, grad, 1 - beta1)
    fused_arithmetic.multiply(square, beta2)
    fused_arithmetic.add_product(square, grad, grad, 1 - beta2)
    return mean, square


def _check(lr: Any, eps: Any, betas: Any, weight_decay: Any) -> None:
    checks.one_element(lr)
    checks.at_least_zero("learning rate", lr)
    checks.at_least_zero("epsilon value", eps)
    checks.betas(betas)
    checks.at_least_zero("weight_decay value", weight_decay)


class Adam(Moments):
    """`torch.optim.Adam`."""

    SCRIPT_NAME = "Adam"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 0,
        amsgrad: Any = False,
        *,
        foreach: Any = None,
        maximize: Any = False,
        capturable: Any = False,
        differentiable: Any = False,
        fused: Any = None,
        decoupled_weight_decay: Any = False,
    ) -> None:
        _check(lr, eps, betas, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        checks.fused(fused, differentiable, foreach)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        super().begin(group, param, state)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, state: dict[str, Any], step: float) -> None:
        beta1, beta2 = map(checks.number, group["betas"])
        grad = _gradient(group, param, group["decoupled_weight_decay"])
        mean, square = _update_moments(state, grad, beta1, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"].array
            square = np.maximum(largest, square, out=largest)
        size = checks.number(group["lr"]) / (1 - beta1**step)
        spread = np.asarray(np.sqrt(square) / square.dtype.type((1 - beta2**step) ** 0.5) + square.dtype.type(group["eps"]))
        fused_arithmetic.add_quotient(param.array, mean, spread, -size)


class AdamW(Adam):
    """`torch.optim.AdamW`: Adam with decoupled weight decay."""

    SCRIPT_NAME = "AdamW"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 1e-2,
        amsgrad: Any = False,
        *,
        maximize: Any = False,
        foreach: Any = None,
        capturable: Any = False,
        differentiable: Any = False,
        fused: Any = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class Adamax(Moments):
    """`torch.optim.Adamax`: the largest decayed gradient in place of the mean square."""

    SCRIPT_NAME = "Adamax"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 0,
        foreach: Any = None,
        *,
        maximize: Any = False,
        differentiable: Any = False,
        capturable: Any = False,
    ) -> None:
        _check(lr, eps, betas, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["exp_avg"] = zeros_like(param)
        state["exp_inf"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, state: dict[str, Any], step: float) -> None:
        beta1, beta2 = map(checks.number, group["betas"])
        grad = _gradient(group, param, False)
        mean, largest = state["exp_avg"].array, state["exp_inf"].array
        fused_arithmetic.lerp(mean, grad, 1 - beta1)
        fused_arithmetic.multiply(largest, beta2)
        np.maximum(largest, np.abs(grad) + grad.dtype.type(group["eps"]), out=largest)
        fused_arithmetic.add_quotient(param.array, mean, largest, -(checks.number(group["lr"]) / (1 - beta1**step)))


class NAdam(Moments):
    """`torch.optim.NAdam`: Adam with Nesterov momentum."""

    SCRIPT_NAME = "NAdam"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 0,
        momentum_decay: Any = 4e-3,
        decoupled_weight_decay: Any = False,
        *,
        foreach: Any = None,
        maximize: Any = False,
        capturable: Any = False,
        differentiable: Any = False,
    ) -> None:
        _check(lr, eps, betas, weight_decay)
        checks.at_least_zero("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["mu_product"] = Tensor(np.ones((), np.float32), dtypes.float32)
        super().begin(group, param, state)

    def move(self, group: Group, param: Tensor, state: dict[str, Any], step: float) -> None:
        beta1, beta2 = map(checks.number, group["betas"])
        lr = checks.number(group["lr"])
        grad = _gradient(group, param, group["decoupled_weight_decay"])
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        product = state["mu_product"].array
        fused_arithmetic.multiply(product, mu)
        mean, square = _update_moments(state, grad, beta1, beta2)
        spread = np.asarray(np.sqrt(square / square.dtype.type(1 - beta2**step)) + square.dtype.type(group["eps"]))
        fused_arithmetic.add_quotient(param.array, grad, spread, -lr * (1.0 - mu) / (1.0 - product.item()))
        written(param)
        fused_arithmetic.add_quotient(param.array, mean, spread, -lr * mu_next / (1.0 - product.item() * mu_next))


class RAdam(Moments):
    """`torch.optim.RAdam`: Adam that waits until the variance of its step can be told."""

    SCRIPT_NAME = "RAdam"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 0,
        decoupled_weight_decay: Any = False,
        *,
        foreach: Any = None,
        maximize: Any = False,
        capturable: Any = False,
        differentiable: Any = False,
    ) -> None:
        _check(lr, eps, betas, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def move(self, group: Group, param: Tensor, state: dict[str, Any], step: float) -> None:
        beta1, beta2 = map(checks.number, group["betas"])
        lr = checks.number(group["lr"])
        grad = _gradient(group, param, group["decoupled_weight_decay"])
        mean, square = _update_moments(state, grad, beta1, beta2)
        left = 1 - beta2**step
        direction = np.asarray(np.asarray(mean / mean.dtype.type(1 - beta1**step)) * mean.dtype.type(lr))
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * beta2**step / left
        if length > 5.0:
            shrink = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
            spread = np.asarray(np.sqrt(square) + square.dtype.type(group["eps"]))
            direction = np.asarray(direction * (square.dtype.type(left**0.5) / spread) * mean.dtype.type(shrink))
        fused_arithmetic.add(param.array, direction, -1.0)


ADAM_TYPE = optimizer_type(Adam, "adam")
ADAMW_TYPE = optimizer_type(AdamW, "adamw")
ADAMAX_TYPE = optimizer_type(Adamax, "adamax")
NADAM_TYPE = optimizer_type(NAdam, "nadam")
RADAM_TYPE = optimizer_type(RAdam, "radam")
