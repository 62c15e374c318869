"""Learning rate schedules that depend on the epoch alone."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.script_types import Attributes, Routine, sequence_of
from gradcli.core.calling.type_errors import not_callable
from gradcli.core.optim.lr_scheduler import Scheduler, scheduler_type
from gradcli.errors import ProgramError


def _fields(names: str) -> dict[str, Any]:
    return Scheduler.SCRIPT_ATTRIBUTES | Attributes.read(names)


class StepLR(Scheduler):
    """Every `step_size` epochs the rate is multiplied by `gamma`."""

    SCRIPT_NAME = "StepLR"
    FIELDS = "step_size gamma"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(self, optimizer: Any, step_size: Any, gamma: Any = 0.1, last_epoch: Any = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.present()
        return self.scaled(self.gamma)

    def closed_rates(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(Scheduler):
    """At each milestone the rate is multiplied by `gamma`; a milestone given twice counts twice."""

    SCRIPT_NAME = "MultiStepLR"
    FIELDS = "milestones gamma"
    SCRIPT_ATTRIBUTES = _fields("gamma")

    def __init__(self, optimizer: Any, milestones: Any, gamma: Any = 0.1, last_epoch: Any = -1) -> None:
        self.milestones: dict[Any, int] = {}
        for milestone in sequence_of(milestones):
            self.milestones[milestone] = self.milestones.get(milestone, 0) + 1
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return self.present()
        return self.scaled(self.gamma ** self.milestones[self.last_epoch])

    def closed_rates(self) -> list[Any]:
        passed = sum(count for milestone, count in self.milestones.items() if milestone <= self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(Scheduler):
    """Every epoch the rate is multiplied by `gamma`."""

    SCRIPT_NAME = "ExponentialLR"
    FIELDS = "gamma"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(self, optimizer: Any, gamma: Any, last_epoch: Any = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        return self.present() if self.last_epoch == 0 else self.scaled(self.gamma)

    def closed_rates(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class CosineAnnealingLR(Scheduler):
    """The rate follows a cosine from the initial one to `eta_min` in `T_max` epochs, and back."""

    SCRIPT_NAME = "CosineAnnealingLR"
    FIELDS = "T_max eta_min"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(self, optimizer: Any, T_max: Any, eta_min: Any = 0.0, last_epoch: Any = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        epoch, period, least = self.last_epoch, self.T_max, self.eta_min
        if epoch == 0:
            return self.present()
        if self.steps == 1 and epoch > 0:
            return self.closed_rates()
        if (epoch - 1 - period) % (2 * period) == 0:
            turn = (1 - math.cos(math.pi / period)) / 2
            return [group["lr"] + (base - least) * turn for base, group in zip(self.base_lrs, self.groups, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / period)) / (1 + math.cos(math.pi * (epoch - 1) / period))
        return [ratio * (rate - least) + least for rate in self.present()]

    def closed_rates(self) -> list[Any]:
        wave = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]


class _Lambdas(Scheduler):
    """What the two schedules with functions share: one function, or one for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: Any = -1) -> None:
        groups = len(optimizer.param_groups) if hasattr(optimizer, "param_groups") else 1
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ProgramError("ValueError", f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def factors(self) -> list[Any]:
        """What the functions say for this epoch."""
        for function in self.lr_lambdas:
            if not callable(function):
                raise not_callable(function)
        return [function(self.last_epoch) for function in self.lr_lambdas]

    def state_dict(self) -> dict[str, Any]:
        return {"lr_lambdas": [None] * len(self.lr_lambdas)} | super().state_dict()


_Lambdas.SCRIPT_METHODS = Scheduler.SCRIPT_METHODS | {"state_dict": Routine(_Lambdas.state_dict)}


class LambdaLR(_Lambdas):
    """The initial rate times a function of the epoch."""

    SCRIPT_NAME = "LambdaLR"

    def rates(self) -> list[Any]:
        return [base * factor for base, factor in zip(self.base_lrs, self.factors(), strict=True)]


class MultiplicativeLR(_Lambdas):
    """Every epoch the rate is multiplied by a function of the epoch."""

    SCRIPT_NAME = "MultiplicativeLR"

    def rates(self) -> list[Any]:
        if self.last_epoch <= 0:
            return self.present()
        return [group["lr"] * factor for group, factor in zip(self.groups, self.factors(), strict=True)]


class ConstantLR(Scheduler):
    """The rate is multiplied by `factor` until epoch `total_iters`."""

    SCRIPT_NAME = "ConstantLR"
    FIELDS = "factor total_iters"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(self, optimizer: Any, factor: Any = 1.0 / 3, total_iters: Any = 5, last_epoch: Any = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ProgramError("ValueError", "Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self.scaled(self.factor)
        return self.scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self.present()

    def closed_rates(self) -> list[Any]:
        factor = 1 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(Scheduler):
    """The rate goes linearly from `start_factor` to `end_factor` of the initial one in `total_iters` epochs."""

    SCRIPT_NAME = "LinearLR"
    FIELDS = "start_factor end_factor total_iters"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(
        self, optimizer: Any, start_factor: Any = 1.0 / 3, end_factor: Any = 1.0, total_iters: Any = 5, last_epoch: Any = -1
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ProgramError("ValueError", "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ProgramError("ValueError", "Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self.scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self.present()
        rise = self.end_factor - self.start_factor
        return self.scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def closed_rates(self) -> list[Any]:
        rise = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + rise) for base in self.base_lrs]


class PolynomialLR(Scheduler):
    """The rate falls to 0 in `total_iters` epochs as the `power` of what is left."""

    SCRIPT_NAME = "PolynomialLR"
    FIELDS = "total_iters power"
    SCRIPT_ATTRIBUTES = _fields(FIELDS)

    def __init__(self, optimizer: Any, total_iters: Any = 5, power: Any = 1.0, last_epoch: Any = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[Any]:
        epoch, total = self.last_epoch, self.total_iters
        if epoch == 0 or epoch > total:
            return self.present()
        return self.scaled(((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power)

    def closed_rates(self) -> list[Any]:
        left = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [base * left for base in self.base_lrs]


STEPLR_TYPE = scheduler_type(StepLR)
MULTISTEPLR_TYPE = scheduler_type(MultiStepLR)
EXPONENTIALLR_TYPE = scheduler_type(ExponentialLR)
COSINEANNEALINGLR_TYPE = scheduler_type(CosineAnnealingLR)
LAMBDALR_TYPE = scheduler_type(LambdaLR)
MULTIPLICATIVELR_TYPE = scheduler_type(MultiplicativeLR)
CONSTANTLR_TYPE = scheduler_type(ConstantLR)
LINEARLR_TYPE = scheduler_type(LinearLR)
POLYNOMIALLR_TYPE = scheduler_type(PolynomialLR)
