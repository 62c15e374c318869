"""Minimisation of an expression by the optimisers of torch.optim, until the gradient is nearly zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor

#: method -> module and class in core.optim, default learning rate, options that differ from PyTorch's defaults
METHODS: dict[str, tuple[str, str, float, dict[str, Any]]] = {
    "sgd": ("sgd", "SGD", 0.01, {}),
    "momentum": ("sgd", "SGD", 0.01, {"momentum": 0.9}),
    "adam": ("adam", "Adam", 0.1, {}),
    "adamw": ("adam", "AdamW", 0.1, {"weight_decay": 0}),
    "adamax": ("adam", "Adamax", 0.1, {}),
    "nadam": ("adam", "NAdam", 0.1, {}),
    "radam": ("adam", "RAdam", 0.1, {}),
    "rmsprop": ("adaptive", "RMSprop", 0.01, {}),
    "adagrad": ("adaptive", "Adagrad", 0.5, {}),
    "adadelta": ("adaptive", "Adadelta", 1.0, {}),
    "rprop": ("adaptive", "Rprop", 0.1, {}),
    # one iteration a step, so that every step is counted; the history lasts from step to step. PyTorch searches a line in 25 steps
    # at most, as 20 iterations allow by default.
    "lbfgs": (
        "lbfgs",
        "LBFGS",
        1.0,
        {"max_iter": 1, "max_eval": 26, "line_search_fn": "strong_wolfe", "tolerance_grad": 0.0, "tolerance_change": 0.0},
    ),
}

#: the number of steps without a change after which the search ends
_PATIENCE = 10

#: the number of elements from which on numpy's sum does not add one after another
_PAIRWISE = 8

#: step, value, norm of the gradient
Progress = Callable[[int, float, float], None]


class Descent:
    """A minimisation. `walk` computes the value and walks back from it, `variables` are the leaves, which are changed in place."""

    def __init__(self, walk: Callable[[], Tensor], variables: Mapping[str, Tensor], method: str, lr: float | None) -> None:
        module, name, usual, options = METHODS[method]
        self._optimizer = getattr(import_module(f"gradcli.core.optim.{module}"), name)(
            list(variables.values()), lr=usual if lr is None else lr, **options
        )
        self._walk = walk
        self._variables = list(variables.values())
        self.method = method
        self.steps = 0
        self._value, self._number = self._variables[0], math.nan
        self.norm = math.nan
        #: whether the last steps have changed nothing
        self.at_rest = False

    @property
    def value(self) -> Tensor:
        """The value at the current variables, without its graph."""
        return Tensor(self._value.array, self._value.dtype)

    @property
    def diverged(self) -> bool:
        """Whether the value or the gradient is not finite."""
        return not (math.isfinite(self.norm) and math.isfinite(self._number))

    def run(self, steps: int, tolerance: float, progress: Progress) -> str:
        """Step until the norm of the gradient is at most `tolerance`; the reason why it did not converge, "" where it did.

        Raises what `walk` raises.
        """
        with recording(True):
            return self._run(steps, tolerance, progress)

    def _run(self, steps: int, tolerance: float, progress: Progress) -> str:
        unchanged = 0
        before: list[Array] = []
        number = math.nan
        while True:
            self._closure()
            # a step that changes no variable leaves the value as it was, and only then the variables are compared
            if self._number == number and all(map(np.array_equal, before, [variable.array for variable in self._variables])):
                unchanged += 1
                if unchanged == _PATIENCE:
                    self.at_rest = True
                    reached = f"{self.norm:.3g} after {_count(self.steps)}"
                    return f"the gradient's norm stays at {reached}, as far as {self._variables[0].dtype.name} and the step size go"
            else:
                unchanged = 0
            number = self._number
            progress(self.steps, number, self.norm)
            if self.norm <= tolerance:
                return ""
            if self.diverged:
                return f"the {'value' if math.isfinite(self.norm) else 'gradient'} is not finite after {_count(self.steps)}"
            if self.steps >= steps:
                return f"the gradient's norm is {self.norm:.3g} after {_count(self.steps)}, above {tolerance:g}"
            before = [variable.array.copy() for variable in self._variables]
            self._optimizer.step(self._closure) if self.method == "lbfgs" else self._optimizer.step()
            self.steps += 1

    def _closure(self) -> Tensor:
        """The value; sets the gradients of the variables."""
        for variable in self._variables:
            variable.grad = None
        value = self._walk()
        self._value, self._number = value, float(np.asarray(value.array).item())
        squares = [_square(np.asarray(v.grad.array)) for v in self._variables if v.grad is not None]
        self.norm = math.sqrt(float(np.sum(squares)) if len(squares) >= _PAIRWISE else sum(squares))
        return value


def _square(gradient: Array) -> float:
    """The sum of the squares, in float64."""
    if gradient.size < _PAIRWISE and gradient.dtype.kind == "f":
        total = 0.0
        for number in gradient.ravel().tolist():
            total += number * number
        return total
    return float(np.square(gradient.astype(np.float64)).sum())


def _count(steps: int) -> str:
    return f"{steps:,} step" if steps == 1 else f"{steps:,} steps"
