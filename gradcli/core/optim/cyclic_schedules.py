"""Learning rate schedules that rise and fall: warm restarts, triangles, and a single cycle.

Loshchilov and Hutter 2017 (warm restarts), Smith 2017 (triangles), Smith and Topin 2018 (one cycle).
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.optim.lr_scheduler import LRScheduler, checked, copied, each_group, put
from gradcli.core.optim.optimizer import Group, Optimizer
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines from the initial rate to `eta_min`; each takes `T_mult` times as long as the one before."""

    ARGUMENTS = {"optimizer": REQUIRED, "T_0": REQUIRED, "T_mult": 1, "eta_min": 0.0, "last_epoch": -1}
    FIELDS = "T_0 T_i T_mult eta_min T_cur"
    T_0: int
    T_mult: int
    eta_min: float

    def begin(self, given: dict[str, Any]) -> None:
        length, factor = given["T_0"], given["T_mult"]
        if type(length) is not int or length <= 0:
            raise ProgramError("ValueError", f"Expected positive integer T_0, but got {formatted(length)}")
        if type(factor) is not int or factor < 1:
            raise ProgramError("ValueError", f"Expected integer T_mult >= 1, but got {formatted(factor)}")
        self.T_i = length
        self.T_cur = given["last_epoch"]
        super().begin(given)

    def rates(self) -> list[Any]:
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to the one given, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self.place(epoch)
        self.last_epoch = math.floor(epoch)
        self.apply(self.rates())

    def place(self, epoch: float) -> None:
        """Find the cosine that `epoch` lies in. ValueError for a negative epoch."""
        if epoch < 0:
            raise ProgramError("ValueError", f"Expected non-negative epoch, but got {epoch}")
        first, factor = self.T_0, self.T_mult
        self.T_cur, self.T_i = epoch, first
        if epoch >= first and factor == 1:
            self.T_cur = epoch % first
        elif epoch >= first:
            number = int(math.log(epoch / first * (factor - 1) + 1, factor))
            self.T_cur = epoch - first * (factor**number - 1) / (factor - 1)
            self.T_i = first * factor**number


class MomentumCycle(LRScheduler, known=False):
    """A schedule that moves momentum the opposite way to the rate, unless `cycle_momentum` is false."""

    cycle_momentum: bool

    def check_momentum(self, optimizer: Optimizer) -> None:
        """Find out what the optimiser's momentum is. ValueError if it has none."""
        self.use_beta1 = "betas" in optimizer.defaults
        if self.cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ProgramError("ValueError", "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")

    def begin_momentum(self, groups: list[Group], most: list[Any], least: list[Any]) -> None:
        """Write the momentum to begin with, which is the largest, and its bounds into the groups."""
        for group, high, low in zip(groups, most, least, strict=True):
            self.set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = copied(high), copied(low)

    def set_momentum(self, group: Group, momentum: Any) -> None:
        """Write the momentum, which is the first beta of Adam and its variants."""
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(MomentumCycle):
    """Up from `base_lr` to `max_lr` and down again, over and over; momentum goes the other way."""

    ARGUMENTS = {
        "optimizer": REQUIRED,
        "base_lr": REQUIRED,
        "max_lr": REQUIRED,
        "step_size_up": 2000,
        "step_size_down": None,
        "mode": "triangular",
        "gamma": 1.0,
        "scale_fn": None,
        "scale_mode": "cycle",
        "cycle_momentum": True,
        "base_momentum": 0.8,
        "max_momentum": 0.9,
        "last_epoch": -1,
    }
    FIELDS = "max_lrs total_size step_ratio mode gamma scale_mode cycle_momentum"
    STATE = f"{LRScheduler.STATE} _scale_fn_custom=held_scale"
    #: the state holds no function
    held_scale = None
    mode: str
    gamma: float

    def begin(self, given: dict[str, Any]) -> None:
        optimizer, begins = checked(given["optimizer"]), given["last_epoch"] == -1
        groups = optimizer.param_groups
        least = each_group("base_lr", given["base_lr"], groups)
        for group, rate in zip(groups, least, strict=True):
            if begins:
                put(group, rate)
        self.max_lrs = each_group("max_lr", given["max_lr"], groups)
        up, down = float(given["step_size_up"]), given["step_size_down"]
        self.total_size = up + (up if down is None else float(down))
        self.step_ratio = up / self.total_size
        mode, self.scale_fn = given["mode"], given["scale_fn"]
        if mode not in ("triangular", "triangular2", "exp_range") and self.scale_fn is None:
            raise ProgramError("ValueError", "mode is invalid and scale_fn is None")
        #: whether the height depends on the number of the cycle; else it depends on the epoch
        self.scale_mode = given["scale_mode"] if self.scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.per_cycle = self.scale_mode == "cycle"
        self.cycle_momentum = given["cycle_momentum"]
        if self.cycle_momentum:
            self.check_momentum(optimizer)
            self.base_momentums = each_group("base_momentum", given["base_momentum"], groups)
            self.max_momentums = each_group("max_momentum", given["max_momentum"], groups)
            if begins:
                self.begin_momentum(groups, self.max_momentums, self.base_momentums)
        super().begin(given | {"scale_mode": self.scale_mode})
        self.base_lrs = [copied(rate) for rate in least]

    def places(self) -> list[tuple[str, str]]:
        momenta = [(name, name) for name in ("use_beta1", "base_momentums", "max_momentums") if self.cycle_momentum]
        found = super().places()
        at = len(self.FIELDS.split())
        return [*found[:at], *momenta, *found[at:]]

    def scale(self, at: Any) -> Any:
        """The height of a cycle, or at an epoch."""
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


class OneCycleLR(MomentumCycle):
    """Up to `max_lr` and down again to nearly zero; momentum goes the other way."""

    ARGUMENTS = {
        "optimizer": REQUIRED,
        "max_lr": REQUIRED,
        "total_steps": None,
        "epochs": None,
        "steps_per_epoch": None,
        "pct_start": 0.3,
        "anneal_strategy": "cos",
        "cycle_momentum": True,
        "base_momentum": 0.85,
        "max_momentum": 0.95,
        "div_factor": 25.0,
        "final_div_factor": 1e4,
        "three_phase": False,
        "last_epoch": -1,
    }
    FIELDS = "total_steps _schedule_phases=phases _anneal_func_type=strategy cycle_momentum use_beta1"
    total_steps: int

    def begin(self, given: dict[str, Any]) -> None:
        optimizer, begins = checked(given["optimizer"]), given["last_epoch"] == -1
        total = _total(given["total_steps"], given["epochs"], given["steps_per_epoch"])
        rise, strategy = given["pct_start"], given["anneal_strategy"]
        if not isinstance(rise, float) or not 0 <= rise <= 1:
            raise ProgramError("ValueError", f"Expected float between 0 and 1 pct_start, but got {formatted(rise)}")
        if strategy not in ("cos", "linear"):
            raise ProgramError("ValueError", f"anneal_strategy must be one of 'cos' or 'linear', instead got {formatted(strategy)}")
        self.strategy = strategy
        self.cycle_momentum = given["cycle_momentum"]
        self.phases = _phases(total, rise, given["three_phase"])
        groups = optimizer.param_groups
        for group, most in zip(groups, each_group("max_lr", given["max_lr"], groups), strict=True):
            if begins:
                group["initial_lr"] = most / given["div_factor"]
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / given["final_div_factor"]
        self.check_momentum(optimizer)
        if self.cycle_momentum and begins:
            most = each_group("max_momentum", given["max_momentum"], groups)
            self.begin_momentum(groups, most, each_group("base_momentum", given["base_momentum"], groups))
        super().begin(given | {"total_steps": total})

    def places(self) -> list[tuple[str, str]]:
        return [place for place in super().places() if self.cycle_momentum or place[0] != "use_beta1"]

    def rates(self) -> list[Any]:
        at = self.last_epoch
        if at > self.total_steps:
            raise ProgramError("ValueError", f"Tried to step {at} times. The specified number of total steps is {self.total_steps}")
        number = sum(at > phase["end_step"] for phase in self.phases[:-1])
        begin = self.phases[number - 1]["end_step"] if number else 0
        phase = self.phases[number]
        part = (at - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.groups:
                momentum = self.between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self.set_momentum(group, momentum)
        return [self.between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in self.groups]

    def between(self, start: float, end: float, part: float) -> float:
        """The value after a part of the way, which is a number from 0 to 1."""
        if self.strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _phases(total: int, part: float, three: bool) -> list[dict[str, Any]]:
    """For each phase its last step, and the names of the rates and momenta that it goes between, as PyTorch's state has them."""
    rise = (part * total - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    fall = (2 * part * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    last = (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")
    rows = [rise, fall, last] if three else [rise, (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [dict(zip(("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"), row, strict=True)) for row in rows]


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """The number of steps. ValueError for what is not positive."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ProgramError("ValueError", "You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    count = 1
    for name, value in given.items():
        if type(value) is not int or value <= 0:
            raise ProgramError("ValueError", f"Expected positive integer {name}, but got {formatted(value)}")
        count *= value
    return count
