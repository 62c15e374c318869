"""Adagrad, Adadelta, RMSprop and Rprop, which scale the step of every element by its past gradients, and ASGD.

Duchi et al. 2011, Zeiler 2012, Hinton's lecture 6e (2012), Riedmiller and Braun 1993, Polyak and Juditsky 1992; the order
of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.optim import checks
from gradcli.core.optim.optimizer import Group, Kernel, Optimizer, State, filled_like, written, zeros_like
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor


class Adadelta(Optimizer, place="adadelta"):
    """`torch.optim.Adadelta`."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1.0,
        "rho": 0.9,
        "eps": 1e-6,
        "weight_decay": 0,
        "foreach": None,
        "capturable": False,
        "maximize": False,
        "differentiable": False,
    }
    KEYWORD_ONLY = "capturable maximize differentiable"
    OPTIONS = "lr rho eps weight_decay maximize capturable foreach differentiable"
    CHECKED = "lr rho eps weight_decay"
    STATE = "square_avg acc_delta"
    ON_XLA = (False, False)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        rho, lr = checks.number(group["rho"]), checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            square, moved = xp.operand(state["square_avg"]), xp.operand(state["acc_delta"])
            eps = xp.scalar(group["eps"], square.dtype)
            xp.multiply(square, rho)
            xp.addcmul(square, grad, grad, 1 - rho)
            delta = xp.sqrt(moved + eps) / xp.sqrt(square + eps) * grad
            xp.multiply(moved, rho)
            xp.addcmul(moved, delta, delta, 1 - rho)
            xp.add(xp.operand(param), delta, -lr)

        return move


class Adagrad(Optimizer, place="adagrad"):
    """`torch.optim.Adagrad`; its state is made with the optimiser."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-2,
        "lr_decay": 0,
        "weight_decay": 0,
        "initial_accumulator_value": 0,
        "eps": 1e-10,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }
    KEYWORD_ONLY = "maximize differentiable fused"
    OPTIONS = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
    CHECKED = "lr lr_decay weight_decay initial_accumulator_value eps"

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for group in self.param_groups:
            for param in group["params"]:
                self.start(group, param, self.state[param])

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        state["sum"] = filled_like(param, group["initial_accumulator_value"])

    def kernel(self, group: Group, xp: Any) -> Kernel:
        lr = checks.rate(group)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            rate = lr / (1 + (step - 1) * group["lr_decay"])
            total = xp.operand(state["sum"])
            xp.addcmul(total, grad, grad)
            xp.addcdiv(xp.operand(param), grad, xp.sqrt(total) + xp.scalar(group["eps"], total.dtype), -rate)

        return move


class RMSprop(Optimizer, place="rmsprop"):
    """`torch.optim.RMSprop`."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-2,
        "alpha": 0.99,
        "eps": 1e-8,
        "weight_decay": 0,
        "momentum": 0,
        "centered": False,
        "capturable": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
    }
    OPTIONS = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    LATER = {**Optimizer.LATER, "momentum": 0}
    CHECKED = "lr eps momentum weight_decay alpha"
    ON_XLA = (True, True)

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        state["square_avg"] = zeros_like(param)
        if checks.number(group["momentum"]) > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        alpha, lr, momentum = (checks.number(group[name]) for name in ("alpha", "lr", "momentum"))

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            square = xp.operand(state["square_avg"])
            xp.multiply(square, alpha)
            xp.addcmul(square, grad, grad, 1 - alpha)
            if group["centered"]:
                mean = xp.operand(state["grad_avg"])
                xp.lerp(mean, grad, 1 - alpha)
                square = xp.like(square, np.array(xp.array(square)))
                xp.addcmul(square, mean, mean, -1)
            spread = xp.sqrt(square) + xp.scalar(group["eps"], square.dtype)
            if momentum > 0:
                buffer = xp.operand(state["momentum_buffer"])
                xp.multiply(buffer, momentum)
                xp.addcdiv(buffer, grad, spread)
                xp.add(xp.operand(param), buffer, -lr)
            else:
                xp.addcdiv(xp.operand(param), grad, spread, -lr)

        return move


class Rprop(Optimizer, place="rprop"):
    """`torch.optim.Rprop`: only signs count; an element whose gradient changed sign rests for a step."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-2,
        "etas": (0.5, 1.2),
        "step_sizes": (1e-6, 50),
        "capturable": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
    }
    KEYWORD_ONLY = "capturable foreach maximize differentiable"
    OPTIONS = "lr etas step_sizes foreach maximize differentiable capturable"
    CHECKED = "lr etas"
    ON_XLA = (True, True)

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        state["prev"] = zeros_like(param)
        state["step_size"] = filled_like(param, checks.number(group["lr"]))

    def kernel(self, group: Group, xp: Any) -> Kernel:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            before, size = xp.operand(state["prev"]), xp.operand(state["step_size"])
            agreement = xp.array(grad * before)
            change = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1.0))
            xp.put(size, xp.clip(size * xp.like(size, change), least, most))
            grad = xp.like(grad, np.where(agreement < 0, 0, xp.array(grad)))
            xp.addcmul(xp.operand(param), xp.sign(grad), size, -1)
            xp.put(before, grad)

        return move


class ASGD(Optimizer, place="asgd"):
    """`torch.optim.ASGD`: gradient descent whose state keeps the average of the parameters."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-2,
        "lambd": 1e-4,
        "alpha": 0.75,
        "t0": 1e6,
        "weight_decay": 0,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    CAPTURED = ("params, mus, etas,", "params, mus, etas,")
    OPTIONS = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    CHECKED = "lr weight_decay"

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        state["eta"] = Tensor(np.array(checks.number(group["lr"]), np.float32), dtypes.float32)
        state["mu"] = Tensor(np.ones((), np.float32), dtypes.float32)
        state["ax"] = zeros_like(param)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        lr, lambd = checks.rate(group), group["lambd"]
        if group["foreach"]:
            return self._at_once(group, xp, lr, lambd)

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            eta, mu, average = state["eta"].array, state["mu"].array, xp.operand(state["ax"])
            values = xp.operand(param)
            xp.multiply(values, 1 - lambd * eta.item())
            written(param)
            xp.add(values, grad, -eta.item())
            if mu.item() == 1:
                xp.put(average, values)
            else:
                xp.put(average, average + (values - average) * xp.scalar(mu.item(), average.dtype))
            eta[...] = lr / (1 + lambd * lr * step) ** group["alpha"]
            mu[...] = 1 / max(1, step - group["t0"])

        return move

    def _at_once(self, group: Group, xp: Any, lr: float, lambd: float) -> Kernel:
        """The update of PyTorch's kernels for many tensors, which joins decay and gradient; rates are in single precision."""

        def move(param: Tensor, grad: Any, state: State, step: float) -> None:
            eta, mu, average = state["eta"].array, state["mu"].array, xp.operand(state["ax"])
            values = xp.operand(param)
            xp.addcmul(values, xp.plus(grad, values, lambd), xp.like(grad, eta), -1)
            xp.addcmul(average, values - average, xp.like(grad, mu))
            eta[...] = lr / (1 + lambd * lr * np.float32(step)) ** group["alpha"]
            mu[...] = 1 / max(1, step - group["t0"])

        return move
