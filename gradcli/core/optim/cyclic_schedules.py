"""Learning rate schedules with a course of their own: warm restarts, one cycle, and the one that watches a metric.

Loshchilov and Hutter 2017 (warm restarts), Smith and Topin 2018 (one cycle).
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.script_types import Attributes, Routine
from gradcli.core.calling.type_errors import type_error
from gradcli.core.optim.lr_scheduler import Scheduler, checked, scheduler_type
from gradcli.core.optim.optimizer import Group
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class CosineAnnealingWarmRestarts(Scheduler):
    """Cosines from the initial rate to `eta_min`; each takes `T_mult` times as long as the one before."""

    SCRIPT_NAME = "CosineAnnealingWarmRestarts"
    FIELDS = "T_0 T_i T_mult eta_min T_cur"
    SCRIPT_ATTRIBUTES = Scheduler.SCRIPT_ATTRIBUTES | Attributes.read(FIELDS)

    def __init__(self, optimizer: Any, T_0: Any, T_mult: Any = 1, eta_min: Any = 0.0, last_epoch: Any = -1) -> None:
        if type(T_0) is not int or T_0 <= 0:
            raise ProgramError("ValueError", f"Expected positive integer T_0, but got {T_0}")
        if type(T_mult) is not int or T_mult < 1:
            raise ProgramError("ValueError", f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go on by an epoch, or to a place between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self.place(epoch)
        self.last_epoch = math.floor(epoch)
        self.steps += 1
        self.apply(self.rates())

    def place(self, epoch: float) -> None:
        """Find the cosine that `epoch` lies in."""
        if epoch < 0:
            raise ProgramError("ValueError", f"Expected non-negative epoch, but got {epoch}")
        self.T_cur, self.T_i = epoch, self.T_0
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult


class OneCycleLR(Scheduler):
    """Up to `max_lr` and down again to next to nothing, with momentum the other way round."""

    SCRIPT_NAME = "OneCycleLR"
    FIELDS = "total_steps cycle_momentum use_beta1"
    SCRIPT_ATTRIBUTES = Scheduler.SCRIPT_ATTRIBUTES | Attributes.read(FIELDS)

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: Any = None,
        epochs: Any = None,
        steps_per_epoch: Any = None,
        pct_start: Any = 0.3,
        anneal_strategy: Any = "cos",
        cycle_momentum: Any = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: Any = 25.0,
        final_div_factor: Any = 1e4,
        three_phase: Any = False,
        last_epoch: Any = -1,
    ) -> None:
        checked(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ProgramError("ValueError", f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ProgramError("ValueError", f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.linear = anneal_strategy == "linear"
        self.cycle_momentum = cycle_momentum
        self.phases = _phases(self.total_steps, pct_start, three_phase)
        self.use_beta1 = "betas" in optimizer.defaults
        if cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ProgramError("ValueError", "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        groups = optimizer.param_groups
        for group, most in zip(groups, each_group("max_lr", max_lr, groups), strict=True):
            if last_epoch == -1:
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum and last_epoch == -1:
            bounds = (each_group("max_momentum", max_momentum, groups), each_group("base_momentum", base_momentum, groups))
            for group, most, least in zip(groups, *bounds, strict=True):
                self.set_momentum(group, most)
                group["max_momentum"] = most
                group["base_momentum"] = least
        super().__init__(optimizer, last_epoch)

    def set_momentum(self, group: Group, momentum: Any) -> None:
        """Write the momentum, which Adam and its kin have as the first beta."""
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def rates(self) -> list[Any]:
        at = self.last_epoch
        if at > self.total_steps:
            raise ProgramError("ValueError", f"Tried to step {at} times. The specified number of total steps is {self.total_steps}")
        number = sum(at > end for end, _, _ in self.phases[:-1])
        begin = self.phases[number - 1][0] if number else 0
        end, rates, momenta = self.phases[number]
        part = (at - begin) / (end - begin)
        if self.cycle_momentum:
            for group in self.groups:
                self.set_momentum(group, self.between(group[momenta[0]], group[momenta[1]], part))
        return [self.between(group[rates[0]], group[rates[1]], part) for group in self.groups]

    def between(self, start: float, end: float, part: float) -> float:
        """The value after a part of the way."""
        if self.linear:
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


Phase = tuple[float, tuple[str, str], tuple[str, str]]


def _phases(total: int, part: float, three: bool) -> list[Phase]:
    """For each phase its last step, and the names of the rates and momenta that it goes between."""
    rise: Phase = (part * total - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three:
        return [rise, (total - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    fall: Phase = (2 * part * total - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [rise, fall, (total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ProgramError("ValueError", "You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    count = 1
    for name, value in given.items():
        if type(value) is not int or value <= 0:
            raise ProgramError("ValueError", f"Expected positive integer {name}, but got {value}")
        count *= value
    return count


def each_group(name: str, value: Any, groups: list[Group]) -> list[Any]:
    """One value for each group."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ProgramError("ValueError", f"expected {len(groups)} values for {name}, got {len(value)}")
    return list(value)


class ReduceLROnPlateau(Scheduler):
    """The rate is multiplied by `factor` when a metric has not improved for more than `patience` epochs."""

    SCRIPT_NAME = "ReduceLROnPlateau"
    FIELDS = "factor patience cooldown eps best mode threshold threshold_mode num_bad_epochs cooldown_counter min_lrs"
    SCRIPT_ATTRIBUTES = Scheduler.SCRIPT_ATTRIBUTES | Attributes.read(FIELDS)

    def __init__(
        self,
        optimizer: Any,
        mode: Any = "min",
        factor: Any = 0.1,
        patience: Any = 10,
        threshold: Any = 1e-4,
        threshold_mode: Any = "rel",
        cooldown: Any = 0,
        min_lr: Any = 0,
        eps: Any = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ProgramError("ValueError", "Factor should be < 1.0.")
        self.optimizer = checked(optimizer)
        groups = optimizer.param_groups
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != len(groups):
            raise ProgramError("ValueError", f"expected {len(groups)} min_lrs, got {len(min_lr)}")
        self.min_lrs = each_group("min_lrs", min_lr, groups)
        if mode not in ("min", "max"):
            raise ProgramError("ValueError", f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ProgramError("ValueError", f"threshold mode {threshold_mode} is unknown!")
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode = mode
        self.cooldown = cooldown
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0
        self.last_epoch = 0
        self.steps = 0
        self.base_lrs = []
        self.last_rates = self.present()

    def step(self, metrics: Any, epoch: Any = None) -> None:  # type: ignore[override]
        """Look at a metric."""
        current = metrics.item() if type(metrics) is Tensor else _float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.groups, self.min_lrs, strict=True):
                lowered = max(group["lr"] * self.factor, least)
                if group["lr"] - lowered > self.eps:
                    group["lr"] = lowered
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self.last_rates = self.present()

    def is_better(self, current: float) -> bool:
        """Whether the metric improved by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return bool(sign * current < sign * (self.best * (1.0 - sign * self.threshold)))
        return bool(sign * current < sign * (self.best - sign * self.threshold))


def _float(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise type_error("float() argument must be a string or a real number, not '{}'", value)
    return float(value)


ReduceLROnPlateau.SCRIPT_METHODS = Scheduler.SCRIPT_METHODS | {"step": Routine(ReduceLROnPlateau.step, "ReduceLROnPlateau.step")}
CosineAnnealingWarmRestarts.SCRIPT_METHODS = Scheduler.SCRIPT_METHODS | {"step": Routine(CosineAnnealingWarmRestarts.step)}

COSINEANNEALINGWARMRESTARTS_TYPE = scheduler_type(CosineAnnealingWarmRestarts)
ONECYCLELR_TYPE = scheduler_type(OneCycleLR)
REDUCELRONPLATEAU_TYPE = scheduler_type(ReduceLROnPlateau)
