"""Learning rate schedules made of others, and the cyclic one of Smith 2017."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from gradcli.core.calling.script_types import Attributes, Routine
from gradcli.core.calling.signature import hooks
from gradcli.core.optim.cyclic_schedules import each_group
from gradcli.core.optim.lr_scheduler import Scheduler, checked, scheduler_type
from gradcli.core.optim.optimizer import Group
from gradcli.errors import ProgramError


class SequentialLR(Scheduler):
    """One schedule after the other; at each milestone the next begins with its epoch 0."""

    SCRIPT_NAME = "SequentialLR"

    def __init__(self, optimizer: Any, schedulers: Any, milestones: Any, last_epoch: Any = -1) -> None:
        if len(schedulers) < 1:
            raise ProgramError("ValueError", "SequentialLR expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            _check_part(self, scheduler, optimizer, i)
        if len(milestones) != len(schedulers) - 1:
            raise ProgramError(
                "ValueError",
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but "
                f"got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}",
            )
        self.optimizer = checked(optimizer)
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self.base_lrs = self.schedulers[0].base_lrs
        for group in self.groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self.schedulers:
            scheduler.last_epoch -= 1
        _begin(self.schedulers[0])
        self.last_rates = self.schedulers[0].get_last_lr()

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[number]
        if number > 0 and self.milestones[number - 1] == self.last_epoch:
            scheduler.go(0)
        else:
            scheduler.step()
        self.last_rates = scheduler.get_last_lr()


def _begin(scheduler: Scheduler) -> None:
    """The first step of a schedule, again."""
    scheduler.steps = 0
    scheduler.step()


class ChainedScheduler(Scheduler):
    """Schedules that all step together."""

    SCRIPT_NAME = "ChainedScheduler"
    SCRIPT_ATTRIBUTES = Attributes.read("optimizer")

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        if len(schedulers) < 1:
            raise ProgramError("ValueError", "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for i, scheduler in enumerate(schedulers):
            _check_part(self, scheduler, self.optimizer, i)
        self.schedulers = list(schedulers)
        self.last_rates = self.present()

    def step(self, epoch: Any = None) -> None:
        """Let every schedule step."""
        for scheduler in self.schedulers:
            scheduler.step()
        self.last_rates = self.present()


def _check_part(whole: Scheduler, part: Any, optimizer: Any, number: int) -> None:
    if not isinstance(part, Scheduler):
        raise ProgramError("TypeError", f"`{whole.SCRIPT_NAME}` at index {number} is not a scheduler but {hooks.type_name(part)}")
    if part.optimizer is not optimizer:
        raise ProgramError(
            "ValueError",
            f"{whole.SCRIPT_NAME} expects all schedulers to belong to the same optimizer, but got scheduler {part.SCRIPT_NAME} at "
            f"index {number} has {part.optimizer!r}, which is different from {optimizer!r}.",
        )


class CyclicLR(Scheduler):
    """Up from `base_lr` to `max_lr` and down again, over and over; momentum goes the other way."""

    SCRIPT_NAME = "CyclicLR"
    FIELDS = "total_size step_ratio mode gamma cycle_momentum max_lrs"
    SCRIPT_ATTRIBUTES = Scheduler.SCRIPT_ATTRIBUTES | Attributes.read(FIELDS)

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: Any = 2000,
        step_size_down: Any = None,
        mode: Any = "triangular",
        gamma: Any = 1.0,
        scale_fn: Any = None,
        scale_mode: Any = "cycle",
        cycle_momentum: Any = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: Any = -1,
    ) -> None:
        groups = checked(optimizer).param_groups
        for group, least in zip(groups, each_group("base_lr", base_lr, groups), strict=True):
            if last_epoch == -1:
                group["lr"] = least
        self.max_lrs = each_group("max_lr", max_lr, groups)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ProgramError("ValueError", "mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        self.per_cycle = mode != "exp_range" if scale_fn is None else scale_mode == "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ProgramError("ValueError", "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = each_group("base_momentum", base_momentum, groups)
            self.max_momentums = each_group("max_momentum", max_momentum, groups)
            if last_epoch == -1:
                for group, most, least in zip(groups, self.max_momentums, self.base_momentums, strict=True):
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

    def scale(self, at: Any) -> Any:
        """The height of a cycle (or of an iteration)."""
        if self.scale_fn is not None:
            return self.scale_fn(at)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (at - 1)) if self.mode == "triangular2" else self.gamma**at

    def rates(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale(cycle if self.per_cycle else self.last_epoch)
        rates = [base + (most - base) * part * scale for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            for group, least, most in zip(self.groups, self.base_momentums, self.max_momentums, strict=True):
                self.set_momentum(group, most - (most - least) * part * scale)
        return rates


for _kind in (SequentialLR, ChainedScheduler):
    _kind.SCRIPT_METHODS = Scheduler.SCRIPT_METHODS | {"step": Routine(_kind.step, f"{_kind.SCRIPT_NAME}.step")}

SEQUENTIALLR_TYPE = scheduler_type(SequentialLR)
CHAINEDSCHEDULER_TYPE = scheduler_type(ChainedScheduler)
CYCLICLR_TYPE = scheduler_type(CyclicLR)
