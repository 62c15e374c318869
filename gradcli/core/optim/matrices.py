"""Adafactor and Muon, which treat matrices as a whole.

Shazeer and Stern 2018, Jordan 2024; the order of operations is that of PyTorch's single-tensor implementations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.functions import catalog
from gradcli.core.optim import checks, tensor_arithmetic
from gradcli.core.optim.optimizer import Group, Optimizer, State, written, zeros_like
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


def _value_error(text: str) -> ProgramError:
    return ProgramError("ValueError", text)


def _move(param: Tensor, keep: float | None, update: Tensor, rate: float) -> None:
    """Take `rate` times an update from `keep` times a parameter, if there is a decay; each is rounded, and counted as a write."""
    if keep is not None:
        tensor_arithmetic.multiply(param, keep)
        written(param)
    tensor_arithmetic.add(param, update, -rate)
    written(param)


class MatrixOptimizer(Optimizer):
    """An optimiser whose update of one parameter is made of operations on tensors."""

    def update(self, group: Group) -> None:
        with recording(False):
            for param in group["params"]:
                if param.grad is not None:
                    if param.dtype.is_complex:
                        raise runtime_error(f"{self.SCRIPT_NAME} does not support complex parameters")
                    self.move(group, param, param.grad, self.state[param])

    def move(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        """Update one parameter and its state by its gradient."""
        raise NotImplementedError


class Adafactor(MatrixOptimizer, place="_adafactor"):
    """`torch.optim.Adafactor`."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-2,
        "beta2_decay": -0.8,
        "eps": (None, 1e-3),
        "d": 1.0,
        "weight_decay": 0.0,
        "foreach": None,
        "maximize": False,
    }
    KEYWORD_ONLY = "foreach maximize"
    OPTIONS = "lr beta2_decay eps d weight_decay foreach maximize"
    LATER = {"foreach": None}

    def prepare(self, given: dict[str, Any]) -> None:
        lr, (first, second) = given["lr"], given["eps"]
        checks.one_element(lr)
        if not checks.number(lr) >= 0:
            raise _value_error(f"Learning rate should be >= 0 but is: {formatted(lr)}")
        if not checks.number(given["beta2_decay"]) <= 0:
            raise _value_error(f"beta2_decay should be <= 0 but is: {formatted(given['beta2_decay'])}")
        for name, value in (("epsilon1", 0 if first is None else first), ("epsilon2", second)):
            if not checks.number(value) >= 0:
                raise _value_error(f"{name} should be >= 0 but is: {formatted(value)}")
        if not checks.number(given["d"]) >= 1:
            raise _value_error(f"Clipping threshold d should be >= 1 but is: {formatted(given['d'])}")
        if not checks.number(given["weight_decay"]) >= 0:
            raise _value_error(f"weight_decay should be >= 0 but is: {formatted(given['weight_decay'])}")

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        if param.array.ndim < 2:
            state["variance"] = zeros_like(param)
            return
        for name, dim in (("row_var", -1), ("col_var", -2)):
            state[name] = zeros_like(catalog.function("narrow")(param, dim, 0, 1))

    def move(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        state, step = self.advance(group, param)
        lr, decay = checks.rate(group), group["weight_decay"]
        small, least = group["eps"]
        if small is None:
            small = 2.0**-7 if param.dtype is dtypes.bfloat16 else float(np.finfo(param.dtype.np).eps)
        rate = max(least, _rms(param)) * min(lr, 1 / step**0.5)
        grad = catalog.function("neg")(grad) if group["maximize"] else grad
        variance = self._variance(grad, state, step ** group["beta2_decay"], small)
        update = catalog.function("rsqrt")(catalog.function("clamp")(variance, min=small * small)) * grad
        _move(param, 1 - lr * decay if decay else None, update, rate / max(1.0, _rms(update, group["d"])))

    def _variance(self, grad: Tensor, state: State, weight: float, small: float) -> Tensor:
        """The running mean of the gradient's square, of a matrix as a product of a column and a row."""
        if grad.array.ndim < 2:
            tensor_arithmetic.lerp(state["variance"], grad * grad, weight)
            variance: Tensor = state["variance"]
            return variance
        rows, columns = state["row_var"], state["col_var"]
        for means, dim in ((rows, -1), (columns, -2)):
            length = catalog.function("norm")(grad, dim=dim, keepdim=True)
            tensor_arithmetic.lerp(means, length * length / grad.array.shape[dim], weight)
        whole = catalog.function("mean")(rows, -2, True)
        estimate: Tensor = catalog.function("matmul")(rows, columns) / catalog.function("clamp")(whole, min=small)
        return estimate


def _rms(tensor: Tensor, threshold: float = 1.0) -> float:
    """The root of the mean square of all elements, in units of a threshold."""
    norm: float = catalog.function("norm")(tensor, 2).item()
    return float(norm / (tensor.array.size**0.5 * threshold))


class Muon(MatrixOptimizer, place="_muon"):
    """`torch.optim.Muon`."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1e-3,
        "weight_decay": 0.1,
        "momentum": 0.95,
        "nesterov": True,
        "ns_coefficients": (3.4445, -4.7750, 2.0315),
        "eps": 1e-7,
        "ns_steps": 5,
        "adjust_lr_fn": None,
    }
    OPTIONS = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"

    def prepare(self, given: dict[str, Any]) -> None:
        checks.one_element(given["lr"])
        for name, label in (("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")):
            if not checks.number(given[name]) >= 0:
                raise _value_error(f"{label} should be >= 0 but is: {formatted(given[name])}")
        if given["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise _value_error(f"Adjust learning rate function {formatted(given['adjust_lr_fn'])} is not supported")

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for group in self.param_groups:
            for param in group["params"]:
                if param.array.ndim != 2:
                    raise _value_error(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}")

    def move(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        lr, momentum = checks.rate(group), group["momentum"]
        buffer = state.setdefault("momentum_buffer", zeros_like(grad))
        tensor_arithmetic.lerp(buffer, grad, 1 - momentum)
        update = catalog.function("lerp")(grad, buffer, momentum) if group["nesterov"] else buffer
        rows, columns = param.array.shape
        ratio = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
        _move(param, 1 - lr * group["weight_decay"], _orthogonal(update, group), lr * ratio)


def _orthogonal(update: Tensor, group: Group) -> Tensor:
    """A matrix with singular values near 1: steps of Newton and Schulz in bfloat16. ValueError for wrong options."""
    if group["ns_steps"] >= 100:
        raise _value_error("Number of steps must be less than 100 for computational efficiency")
    if len(group["ns_coefficients"]) != 3:
        raise _value_error("Coefficients must be a tuple of exactly 3 values")
    a, b, c = group["ns_coefficients"]
    transpose, addmm = catalog.function("t"), catalog.function("addmm")
    tall = update.array.shape[0] > update.array.shape[1]
    made = catalog.method("bfloat16").method(update, (), {})
    made = transpose(made) if tall else made
    made = made / catalog.function("clamp")(catalog.function("norm")(made), min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = catalog.function("matmul")(made, transpose(made))
        made = addmm(made, addmm(gram, gram, gram, beta=b, alpha=c), made, beta=a)
    return transpose(made) if tall else made  # type: ignore[no-any-return]
