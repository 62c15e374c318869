"""The learning rate schedule that follows a metric."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.type_errors import not_one_element, type_error
from gradcli.core.optim import checks
from gradcli.core.optim.lr_scheduler import EPOCH_DEPRECATED, LRScheduler, checked, each_group, put
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by `factor` when a metric has not improved for more than `patience` epochs."""

    ARGUMENTS = {
        "optimizer": REQUIRED,
        "mode": "min",
        "factor": 0.1,
        "patience": 10,
        "threshold": 1e-4,
        "threshold_mode": "rel",
        "cooldown": 0,
        "min_lr": 0,
        "eps": 1e-8,
    }
    FIELDS = (
        "factor default_min_lr min_lrs patience cooldown eps last_epoch _last_lr=last_rates mode_worse mode threshold threshold_mode best "
        "cooldown_counter num_bad_epochs"
    )
    STATE = ""
    within_step = True  # PyTorch has no rates of this schedule to warn of
    mode: str
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    eps: float

    def begin(self, given: dict[str, Any]) -> None:
        mode, threshold_mode, min_lr = given["mode"], given["threshold_mode"], given["min_lr"]
        if given["factor"] >= 1.0:
            raise ProgramError("ValueError", "Factor should be < 1.0.")
        self.optimizer = checked(given["optimizer"])
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != len(self.groups):
            raise ProgramError("ValueError", f"expected {len(self.groups)} min_lrs, got {len(min_lr)}")
        self.min_lrs = each_group("min_lrs", min_lr, self.groups)
        if mode not in ("min", "max"):
            raise ProgramError("ValueError", f"mode {formatted(mode)} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ProgramError("ValueError", f"threshold mode {formatted(threshold_mode)} is unknown!")
        self.keep(given)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0
        self.last_epoch = 0
        self.steps = 0
        self.base_lrs = []
        self.last_rates = self.present()

    def step(self, metrics: Any, epoch: Any = None) -> None:  # type: ignore[override]
        """Take the metric of an epoch into account."""
        current = _float(metrics)
        if epoch is not None:
            warnings.emit(EPOCH_DEPRECATED)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.groups, self.min_lrs, strict=True):
                rate = checks.number(group["lr"])
                lowered = max(rate * self.factor, least)
                if rate - lowered > self.eps:
                    put(group, lowered)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self.last_rates = self.present()

    @property
    def in_cooldown(self) -> bool:
        """Whether bad epochs are not counted now."""
        return self.cooldown_counter > 0

    def is_better(self, current: float) -> bool:
        """Whether the metric improved by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return bool(sign * current < sign * (self.best * (1.0 - sign * self.threshold)))
        return bool(sign * current < sign * (self.best - sign * self.threshold))


ReduceLROnPlateau.SCRIPT_ATTRIBUTES = ReduceLROnPlateau.SCRIPT_ATTRIBUTES | Attributes.read("in_cooldown")


def _float(value: Any) -> float:
    """A number as a float, with the error of Python's `float`; a tensor has to have one element."""
    if type(value) is Tensor:
        if value.array.size != 1:
            raise not_one_element()
        value = value.array.item()
    if not isinstance(value, (int, float, str)):
        raise type_error("float() argument must be a string or a real number, not '{}'", value)
    return float(value)
