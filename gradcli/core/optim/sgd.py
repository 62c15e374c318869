"""Stochastic gradient descent with momentum (Sutskever et al. 2013, in PyTorch's formulation)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.optimizer import Group, Optimizer, like, optimizer_type, written
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


class SGD(Optimizer):
    """`torch.optim.SGD`."""

    SCRIPT_NAME = "SGD"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: Any = 0,
        dampening: Any = 0,
        weight_decay: Any = 0,
        nesterov: Any = False,
        *,
        maximize: Any = False,
        foreach: Any = None,
        differentiable: Any = False,
        fused: Any = None,
    ) -> None:
        checks.one_element(lr)
        checks.not_below_zero("learning rate", lr)
        checks.not_below_zero("momentum value", momentum)
        checks.not_below_zero("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ProgramError("ValueError", "Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        checks.fused(fused, differentiable, foreach)

    def update(self, group: Group) -> None:
        lr = checks.number(group["lr"])
        factor = lr if group["maximize"] else -lr
        plain = not group["momentum"] and not group["weight_decay"]
        for param in group["params"]:
            gradient = param.grad
            if gradient is None:
                continue
            if plain:
                fused_arithmetic.add(param.array, gradient.array, factor)
            else:
                fused_arithmetic.add(param.array, self._direction(group, param, gradient.array), -lr)
            written(param)

    def _direction(self, group: Group, param: Tensor, grad: Array) -> Array:
        """The gradient with weight decay and momentum; keeps the momentum in the state."""
        if group["maximize"]:
            grad = np.negative(grad)
        if group["weight_decay"]:
            grad = fused_arithmetic.plus(grad, param.array, checks.number(group["weight_decay"]))
        momentum = checks.number(group["momentum"])
        if not momentum:
            return grad
        state = self.state[param]
        kept = state.get("momentum_buffer")
        if kept is None:
            buffer = np.array(grad)
            state["momentum_buffer"] = like(param, buffer)
        else:
            buffer = kept.array
            fused_arithmetic.multiply(buffer, momentum)
            fused_arithmetic.add(buffer, grad, 1 - checks.number(group["dampening"]))
        return fused_arithmetic.plus(grad, buffer, momentum) if group["nesterov"] else buffer


SGD_TYPE = optimizer_type(SGD, "sgd")
