"""Adagrad, Adadelta, RMSprop and Rprop, which scale the step of every element by its past gradients, and ASGD.

Duchi et al. 2011, Zeiler 2012, Hinton's lecture 6e (2012), Riedmiller and Braun 1993, Polyak and Juditsky 1992; the order
of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.kernels import Array
from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.optimizer import Group, Kernel, Optimizer, State, like, written, zeros_like
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

    def kernel(self, group: Group) -> Kernel:
        rho, lr = checks.number(group["rho"]), checks.rate(group)

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            square, moved = state["square_avg"].array, state["acc_delta"].array
            eps = square.dtype.type(group["eps"])
            fused_arithmetic.multiply(square, rho)
            fused_arithmetic.addcmul(square, grad, grad, 1 - rho)
            delta = np.asarray(np.sqrt(moved + eps) / np.sqrt(square + eps) * grad)
            fused_arithmetic.multiply(moved, rho)
            fused_arithmetic.addcmul(moved, delta, delta, 1 - rho)
            fused_arithmetic.add(param.array, delta, -lr)

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
        start = group["initial_accumulator_value"]
        state["sum"] = like(param, np.full_like(param.array, complex(start, start) if param.dtype.is_complex else start))

    def kernel(self, group: Group) -> Kernel:
        lr = checks.rate(group)

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            rate = lr / (1 + (step - 1) * group["lr_decay"])
            total = state["sum"].array
            fused_arithmetic.addcmul(total, grad, grad)
            fused_arithmetic.addcdiv(param.array, grad, np.asarray(np.sqrt(total) + total.dtype.type(group["eps"])), -rate)

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

    def kernel(self, group: Group) -> Kernel:
        alpha, lr, momentum = (checks.number(group[name]) for name in ("alpha", "lr", "momentum"))

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            square = state["square_avg"].array
            fused_arithmetic.multiply(square, alpha)
            fused_arithmetic.addcmul(square, grad, grad, 1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"].array
                fused_arithmetic.lerp(mean, grad, 1 - alpha)
                square = np.array(square)
                fused_arithmetic.addcmul(square, mean, mean, -1)
            spread = np.asarray(np.sqrt(square) + square.dtype.type(group["eps"]))
            if momentum > 0:
                buffer = state["momentum_buffer"].array
                fused_arithmetic.multiply(buffer, momentum)
                fused_arithmetic.addcdiv(buffer, grad, spread)
                fused_arithmetic.add(param.array, buffer, -lr)
            else:
                fused_arithmetic.addcdiv(param.array, grad, spread, -lr)

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
        lr = checks.number(group["lr"])
        state["step_size"] = like(param, np.full_like(param.array, complex(lr, lr) if param.dtype.is_complex else lr))

    def kernel(self, group: Group) -> Kernel:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            before, size = state["prev"].array, state["step_size"].array
            agreement = grad * before
            change = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1.0)).astype(size.dtype)
            np.clip(size * change, size.dtype.type(least), size.dtype.type(most), out=size)
            grad = np.where(agreement < 0, grad.dtype.type(0), grad)
            fused_arithmetic.addcmul(param.array, np.asarray(np.sign(grad)), size, -1)
            before[...] = grad

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

    def kernel(self, group: Group) -> Kernel:
        lr, lambd = checks.rate(group), group["lambd"]
        if group["foreach"]:
            return self._at_once(group, lr, lambd)

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            eta, mu, average = state["eta"].array, state["mu"].array, state["ax"].array
            fused_arithmetic.multiply(param.array, 1 - lambd * eta.item())
            written(param)
            fused_arithmetic.add(param.array, grad, -eta.item())
            if mu.item() == 1:
                average[...] = param.array
            else:
                average += np.asarray(param.array - average) * average.dtype.type(mu.item())
            eta[...] = lr / (1 + lambd * lr * step) ** group["alpha"]
            mu[...] = 1 / max(1, step - group["t0"])

        return move

    def _at_once(self, group: Group, lr: float, lambd: float) -> Kernel:
        """The update of PyTorch's kernels for many tensors, which joins decay and gradient; rates are in single precision."""

        def move(param: Tensor, grad: Array, state: State, step: float) -> None:
            eta, mu, average = state["eta"].array, state["mu"].array, state["ax"].array
            direction = fused_arithmetic.plus(grad, param.array, lambd)
            fused_arithmetic.addcmul(param.array, direction, eta.astype(grad.dtype), -1)
            fused_arithmetic.addcmul(average, np.asarray(param.array - average), mu.astype(grad.dtype))
            eta[...] = lr / (1 + lambd * lr * np.float32(step)) ** group["alpha"]
            mu[...] = 1 / max(1, step - group["t0"])

        return move
