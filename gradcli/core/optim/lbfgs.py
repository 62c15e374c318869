"""L-BFGS: a quasi-Newton method with a limited history (Nocedal and Wright, algorithm 7.4), stepping as PyTorch's does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.routines import Routine
from gradcli.core.kernels import Array, blocks
from gradcli.core.kernels.products import matmul
from gradcli.core.kernels.summation import total
from gradcli.core.optim import checks, fused_arithmetic
from gradcli.core.optim.line_search import Point, search
from gradcli.core.optim.optimizer import Group, Optimizer, called, written, zeros_like
from gradcli.core.optim.real_views import real_view
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

#: names in the state after the first step, in PyTorch's order; a later step may add `al` behind them
_KEPT = ("al", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer, place="lbfgs"):
    """`torch.optim.LBFGS`; a step calls the closure several times."""

    ARGUMENTS = {
        "params": REQUIRED,
        "lr": 1,
        "max_iter": 20,
        "max_eval": None,
        "tolerance_grad": 1e-7,
        "tolerance_change": 1e-9,
        "history_size": 100,
        "line_search_fn": None,
    }
    OPTIONS = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
    CHECKED = "lr"

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if len(self.param_groups) != 1:
            raise ProgramError("ValueError", "LBFGS doesn't support per-parameter options (parameter groups)")

    def prepare(self, given: dict[str, Any]) -> None:
        super().prepare(given)
        if given["max_eval"] is None:
            given["max_eval"] = given["max_iter"] * 5 // 4

    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """Make up to `max_iter` iterations; returns the loss before the first."""
        self.stepped = True
        with recording(True):
            return _Run(self, self.param_groups[0], closure).run()

    SCRIPT_STEP = Routine(step, "LBFGS.step")


class _Run:
    """One call of `step`: the state of the optimiser, the loss and the gradient of all parameters as one vector."""

    def __init__(self, optimizer: LBFGS, group: Group, closure: Any) -> None:
        self.group = group
        self.params: list[Tensor] = group["params"]
        self.closure = closure
        self.dtype = real_view(self.params[0]).dtype
        self.state: dict[str, Any] = optimizer.state[self.params[0]]
        self.state.setdefault("func_evals", 0)
        self.state.setdefault("n_iter", 0)
        self.loss = math.nan
        self.gradient: Array = np.empty(0)

    def run(self) -> Any:
        """Iterate until the gradient is small enough; returns the first result of the closure."""
        result = self.evaluate()
        if np.abs(self.gradient).max() <= self.group["tolerance_grad"]:
            return result
        step, is_first = self.state.get("t"), "d" not in self.state
        if type(step) is Tensor:
            self.state["t"] = step.array[()]
        self.iterate()
        if isinstance(self.state["t"], np.floating):
            self.state["t"] = Tensor(np.asarray(self.state["t"]), self.dtype)
        for key in _KEPT if is_first else ():  # scripts that print the state see this order
            if key in self.state:
                self.state[key] = self.state.pop(key)
        return result

    def iterate(self) -> None:
        """Make up to `max_iter` iterations."""
        group, state = self.group, self.state
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self.turn()
            state["prev_flat_grad"], state["prev_loss"] = Tensor(self.gradient.copy(), self.dtype), self.loss
            before = self.loss
            direction = state["d"].array
            slope = matmul(self.gradient, direction)
            lr = checks.number(group["lr"])
            state["t"] = min(1.0, 1.0 / total(np.abs(self.gradient))[()]) * lr if state["n_iter"] == 1 else lr
            if slope > -group["tolerance_change"]:
                break
            made = self.advance(direction, slope, group["max_eval"] - evaluations, iteration == group["max_iter"])
            evaluations += made
            if iteration == group["max_iter"] or evaluations >= group["max_eval"]:
                break
            if np.abs(self.gradient).max() <= group["tolerance_grad"]:
                break
            if np.abs(direction * state["t"]).max() <= group["tolerance_change"]:
                break
            if abs(self.loss - before) < group["tolerance_change"]:
                break

    def evaluate(self) -> Any:
        """Call the closure, keep the loss and the gradient, and return the closure's result."""
        result = called(self.closure)
        self.state["func_evals"] += 1
        self.loss = float(result.item() if type(result) is Tensor else result)
        parts = [real_view(zeros_like(p) if p.grad is None else p.grad).array.reshape(-1) for p in self.params]
        self.gradient = np.concatenate(parts)
        return result

    def turn(self) -> None:
        """Compute the next direction from the history of steps and changes of the gradient."""
        state, gradient = self.state, self.gradient
        dtype = self.dtype
        if state["n_iter"] == 1:
            state.update(d=Tensor(-gradient, dtype), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        change = gradient - state["prev_flat_grad"].array
        moved = state["d"].array * gradient.dtype.type(state["t"])
        product = matmul(change, moved)
        changes, moves, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if product > 1e-10:
            if len(changes) == self.group["history_size"]:
                for history in (changes, moves, ro):
                    history.pop(0)
            changes.append(Tensor(change, dtype))
            moves.append(Tensor(moved, dtype))
            ro.append(Tensor(np.asarray(1.0 / product), dtype))
            state["H_diag"] = Tensor(np.asarray(product / matmul(change, change)), dtype)
        limits.check_elements(self.group["history_size"], 8)
        direction = -gradient
        weights: list[Any] = [None] * self.group["history_size"]
        for i in range(len(changes) - 1, -1, -1):
            weight = matmul(moves[i].array, direction) * ro[i].array[()]
            weights[i] = Tensor(np.asarray(weight), dtype)
            fused_arithmetic.add(direction, changes[i].array, -float(weight))
        scale = state["H_diag"]
        direction = direction * (scale.array if type(scale) is Tensor else scale)
        for i in range(len(changes)):
            weight = matmul(changes[i].array, direction) * ro[i].array[()]
            fused_arithmetic.add(direction, moves[i].array, float(weights[i].array - weight))
        state.update(d=Tensor(direction, dtype), al=weights)

    def advance(self, direction: Array, slope: Any, most: int, last: bool) -> int:
        """Move along the direction, where lines are searched in at most `most` steps; returns the number of evaluations of the closure."""
        state, group = self.state, self.group
        if group["line_search_fn"] is not None:
            return self.search(direction, slope, most)
        self.move(direction, state["t"])
        if last:
            return 0
        self.evaluate()
        return 1

    def search(self, direction: Array, slope: Any, most: int) -> int:
        """Move along the direction as far as a line search of at most `most` steps finds; returns the number of evaluations."""
        if self.group["line_search_fn"] != "strong_wolfe":
            raise runtime_error("only 'strong_wolfe' is supported")
        origin = [p.array.copy() for p in self.params]

        def evaluate(step: Any) -> Point:
            self.move(direction, step)
            self.evaluate()
            for param, values in zip(self.params, origin, strict=True):
                blocks.settle()
                param.array[...] = values
                written(param)
            return Point(step, self.loss, self.gradient, matmul(self.gradient, direction))

        start = Point(0, self.loss, self.gradient, slope)
        longest = np.abs(direction).max()
        found, evaluations = search(evaluate, start, self.state["t"], longest, 1e-9, most)
        self.loss, self.gradient, self.state["t"] = found.value, found.gradient, found.step
        self.move(direction, found.step)
        return evaluations

    def move(self, direction: Array, step: Any) -> None:
        """Add `step * direction` to the parameters."""
        at = 0
        for param in self.params:
            target = real_view(param).array
            fused_arithmetic.add(target, direction[at : at + target.size].reshape(target.shape), float(step))
            written(param)
            at += target.size
