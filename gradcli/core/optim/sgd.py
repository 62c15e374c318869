"""Stochastic gradient descent with momentum (Sutskever et al. 2013, in PyTorch's formulation)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.optim import checks
from gradcli.core.optim.optimizer import Group, Kernel, Optimizer, State, like
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class SGD(Optimizer, place="sgd"):
    """`torch.optim.SGD`."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-3,
        "momentum": 0,
        "dampening": 0,
        "weight_decay": 0,
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": None,
    }
    KEYWORD_ONLY = "maximize foreach differentiable fused"
    OPTIONS = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    LATER = {**Optimizer.LATER, "fused": False}
    COUNTS_STEPS = False

    def prepare(self, given: dict[str, Any]) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            checks.not_below_zero(name, given[name])
        if given["nesterov"] and (given["momentum"] <= 0 or given["dampening"] != 0):
            raise ProgramError("ValueError", "Nesterov momentum requires a momentum and zero dampening")

    def kernel(self, group: Group, xp: Any) -> Kernel:
        rate, momentum = -checks.number(group["lr"]), checks.number(group["momentum"])
        if not momentum:
            return lambda param, grad, state, step: xp.add(xp.operand(param), grad, rate)
        damping = checks.number(group["dampening"])

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            kept = self.state[param]
            if "momentum_buffer" not in kept:
                kept["momentum_buffer"] = like(param, np.array(xp.array(grad)))
                buffer = xp.operand(kept["momentum_buffer"])
            else:
                buffer = xp.operand(kept["momentum_buffer"])
                xp.multiply(buffer, momentum)
                xp.add(buffer, grad, 1 - damping)
            direction = xp.plus(grad, buffer, momentum) if group["nesterov"] else buffer
            xp.add(xp.operand(param), direction, rate)

        return move
