"""Optimisers that scale every element by what its gradients were: Adagrad, Adadelta, RMSprop, Rprop, ASGD.

Duchi et al. 2011, Zeiler 2012, Hinton's lecture 6e (2012), Riedmiller and Braun 1993, Polyak and Juditsky 1992; the order
of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.optimizer import Group, Optimizer, advance, counter, like, optimizer_type, written, zeros_like
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


class Scaled(Optimizer):
    """What the family shares: a count of steps, and state made at the first step."""

    def update(self, group: Group) -> None:
        for param in group["params"]:
            if param.grad is None:
                continue
            state = self.state[param]
            if not state:
                state["step"] = counter()
                self.begin(group, param, state)
            step = advance(state)
            self.move(group, param, _gradient(group, param), state, step)
            written(param, state)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        """Make the state of a parameter at its first step."""
        raise NotImplementedError

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        """Write the parameter and its state."""
        raise NotImplementedError


def _gradient(group: Group, param: Tensor) -> Array:
    assert param.grad is not None
    grad = param.grad.array
    if group["maximize"]:
        grad = np.asarray(np.negative(grad))
    decay = checks.number(group.get("weight_decay", 0))
    return fused_arithmetic.plus(grad, param.array, decay) if decay else grad


class Adadelta(Scaled):
    """`torch.optim.Adadelta`."""

    SCRIPT_NAME = "Adadelta"

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: Any = 0.9,
        eps: Any = 1e-6,
        weight_decay: Any = 0,
        foreach: Any = None,
        *,
        capturable: Any = False,
        maximize: Any = False,
        differentiable: Any = False,
    ) -> None:
        checks.one_element(lr)
        checks.at_least_zero("learning rate", lr)
        if not 0.0 <= checks.number(rho) <= 1.0:
            raise ProgramError("ValueError", f"Invalid rho value: {rho}")
        checks.at_least_zero("epsilon value", eps)
        checks.at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["square_avg"] = zeros_like(param)
        state["acc_delta"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        rho = checks.number(group["rho"])
        square, moved = state["square_avg"].array, state["acc_delta"].array
        eps = square.dtype.type(group["eps"])
        fused_arithmetic.multiply(square, rho)
        fused_arithmetic.add_product(square, grad, grad, 1 - rho)
        delta = np.asarray(np.sqrt(moved + eps) / np.sqrt(square + eps) * grad)
        fused_arithmetic.multiply(moved, rho)
        fused_arithmetic.add_product(moved, delta, delta, 1 - rho)
        fused_arithmetic.add(param.array, delta, -checks.number(group["lr"]))


class Adagrad(Scaled):
    """`torch.optim.Adagrad`; its state is there from the start."""

    SCRIPT_NAME = "Adagrad"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: Any = 0,
        weight_decay: Any = 0,
        initial_accumulator_value: Any = 0,
        eps: Any = 1e-10,
        foreach: Any = None,
        *,
        maximize: Any = False,
        differentiable: Any = False,
        fused: Any = None,
    ) -> None:
        checks.one_element(lr)
        checks.at_least_zero("learning rate", lr)
        checks.at_least_zero("lr_decay value", lr_decay)
        checks.at_least_zero("weight_decay value", weight_decay)
        checks.at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        checks.at_least_zero("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        checks.fused(fused, differentiable, foreach)
        for group in self.param_groups:
            for param in group["params"]:
                state = self.state[param]
                state["step"] = counter()
                self.begin(group, param, state)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["sum"] = like(param, np.full_like(param.array, group["initial_accumulator_value"]))

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        rate = checks.number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"].array
        fused_arithmetic.add_product(total, grad, grad)
        fused_arithmetic.add_quotient(param.array, grad, np.asarray(np.sqrt(total) + total.dtype.type(group["eps"])), -rate)


class RMSprop(Scaled):
    """`torch.optim.RMSprop`."""

    SCRIPT_NAME = "RMSprop"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: Any = 0.99,
        eps: Any = 1e-8,
        weight_decay: Any = 0,
        momentum: Any = 0,
        centered: Any = False,
        capturable: Any = False,
        foreach: Any = None,
        maximize: Any = False,
        differentiable: Any = False,
    ) -> None:
        checks.one_element(lr)
        checks.at_least_zero("learning rate", lr)
        checks.at_least_zero("epsilon value", eps)
        checks.at_least_zero("momentum value", momentum)
        checks.at_least_zero("weight_decay value", weight_decay)
        checks.at_least_zero("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["square_avg"] = zeros_like(param)
        if checks.number(group["momentum"]) > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        alpha, lr = checks.number(group["alpha"]), checks.number(group["lr"])
        square = state["square_avg"].array
        fused_arithmetic.multiply(square, alpha)
        fused_arithmetic.add_product(square, grad, grad, 1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].array
            fused_arithmetic.lerp(mean, grad, 1 - alpha)
            square = np.array(square)
            fused_arithmetic.add_product(square, mean, mean, -1)
        spread = np.asarray(np.sqrt(square) + square.dtype.type(group["eps"]))
        if checks.number(group["momentum"]) > 0:
            buffer = state["momentum_buffer"].array
            fused_arithmetic.multiply(buffer, checks.number(group["momentum"]))
            fused_arithmetic.add_quotient(buffer, grad, spread)
            fused_arithmetic.add(param.array, buffer, -lr)
        else:
            fused_arithmetic.add_quotient(param.array, grad, spread, -lr)


class Rprop(Scaled):
    """`torch.optim.Rprop`: only signs count; an element whose gradient changed sign rests for a step."""

    SCRIPT_NAME = "Rprop"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: Any = (0.5, 1.2),
        step_sizes: Any = (1e-6, 50),
        *,
        capturable: Any = False,
        foreach: Any = None,
        maximize: Any = False,
        differentiable: Any = False,
    ) -> None:
        checks.one_element(lr)
        checks.at_least_zero("learning rate", lr)
        if not 0.0 < checks.number(etas[0]) < 1.0 < checks.number(etas[1]):
            raise ProgramError("ValueError", f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["prev"] = zeros_like(param)
        state["step_size"] = like(param, np.full_like(param.array, checks.number(group["lr"])))

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        before, size = state["prev"].array, state["step_size"].array
        agreement = grad * before
        change = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1.0)).astype(size.dtype)
        np.clip(size * change, size.dtype.type(least), size.dtype.type(most), out=size)
        grad = np.where(agreement < 0, grad.dtype.type(0), grad)
        fused_arithmetic.add_product(param.array, np.asarray(np.sign(grad)), size, -1)
        before[...] = grad


class ASGD(Scaled):
    """`torch.optim.ASGD`: gradient descent whose state keeps the average of the parameters."""

    SCRIPT_NAME = "ASGD"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: Any = 1e-4,
        alpha: Any = 0.75,
        t0: Any = 1e6,
        weight_decay: Any = 0,
        foreach: Any = None,
        maximize: Any = False,
        differentiable: Any = False,
        capturable: Any = False,
    ) -> None:
        checks.one_element(lr)
        checks.at_least_zero("learning rate", lr)
        checks.at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def begin(self, group: Group, param: Tensor, state: dict[str, Any]) -> None:
        state["eta"] = Tensor(np.array(checks.number(group["lr"]), np.float32), dtypes.float32)
        state["mu"] = Tensor(np.ones((), np.float32), dtypes.float32)
        state["ax"] = zeros_like(param)

    def move(self, group: Group, param: Tensor, grad: Array, state: dict[str, Any], step: float) -> None:
        lr, lambd = checks.number(group["lr"]), group["lambd"]
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


ADADELTA_TYPE = optimizer_type(Adadelta, "adadelta")
ADAGRAD_TYPE = optimizer_type(Adagrad, "adagrad")
RMSPROP_TYPE = optimizer_type(RMSprop, "rmsprop")
RPROP_TYPE = optimizer_type(Rprop, "rprop")
ASGD_TYPE = optimizer_type(ASGD, "asgd")
