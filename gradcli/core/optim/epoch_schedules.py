"""Learning rate schedules that depend on the epoch alone."""

from __future__ import annotations

import collections
import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.mappings import Counter
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, sequence_of
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute, not_callable, type_error
from gradcli.core.optim.lr_scheduler import LRScheduler
from gradcli.core.optim.optimizer import Optimizer
from gradcli.errors import ProgramError


class StepLR(LRScheduler):
    """Every `step_size` epochs the rate is multiplied by `gamma`."""

    ARGUMENTS = {"optimizer": REQUIRED, "step_size": REQUIRED, "gamma": 0.1, "last_epoch": -1}
    FIELDS = "step_size gamma"
    step_size: int
    gamma: float

    def rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.present()
        return self.scaled(self.gamma)

    def closed_rates(self) -> list[Any]:
        return self.initial(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """At each milestone the rate is multiplied by `gamma`; a milestone given twice counts twice."""

    ARGUMENTS = {"optimizer": REQUIRED, "milestones": REQUIRED, "gamma": 0.1, "last_epoch": -1}
    FIELDS = "milestones gamma"
    #: how often each milestone was given
    milestones: Counter
    gamma: float

    def begin(self, given: dict[str, Any]) -> None:
        milestones = sequence_of(given["milestones"])
        super().begin(given | {"milestones": Counter(collections.Counter(milestones))})

    def rates(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return self.present()
        return self.scaled(self.gamma ** self.milestones[self.last_epoch])

    def closed_rates(self) -> list[Any]:
        passed = sum(count for milestone, count in self.milestones.items() if milestone <= self.last_epoch)
        return self.initial(self.gamma**passed)


class ExponentialLR(LRScheduler):
    """Every epoch the rate is multiplied by `gamma`."""

    ARGUMENTS = {"optimizer": REQUIRED, "gamma": REQUIRED, "last_epoch": -1}
    FIELDS = "gamma"
    gamma: float

    def rates(self) -> list[Any]:
        return self.present() if self.is_initial else self.scaled(self.gamma)

    def closed_rates(self) -> list[Any]:
        return self.initial(self.gamma**self.last_epoch)


class CosineAnnealingLR(LRScheduler):
    """The rate follows a cosine from the initial one to `eta_min` in `T_max` epochs, and back."""

    ARGUMENTS = {"optimizer": REQUIRED, "T_max": REQUIRED, "eta_min": 0.0, "last_epoch": -1}
    FIELDS = "T_max eta_min"
    T_max: int
    eta_min: float

    def rates(self) -> list[Any]:
        epoch, period, least = self.last_epoch, self.T_max, self.eta_min
        if self.is_initial:
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


class FunctionSchedule(LRScheduler, known=False):
    """A schedule that asks functions of the epoch: one for all groups, or one for each."""

    ARGUMENTS = {"optimizer": REQUIRED, "lr_lambda": REQUIRED, "last_epoch": -1}
    STATE = f"{LRScheduler.STATE} lr_lambdas=held_functions"
    SCRIPT_ATTRIBUTES = LRScheduler.SCRIPT_ATTRIBUTES | Attributes.read("lr_lambdas")

    def begin(self, given: dict[str, Any]) -> None:
        optimizer, functions = given["optimizer"], given["lr_lambda"]
        if not isinstance(optimizer, Optimizer):
            raise no_attribute(optimizer, "param_groups")
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(functions) if isinstance(functions, (list, tuple)) else [functions] * groups
        if len(self.lr_lambdas) != groups:
            raise ProgramError("ValueError", f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        self.check_functions()
        super().begin(given)

    def check_functions(self) -> None:
        """TypeError for what cannot be called, where PyTorch looks for it before the first step."""

    def factors(self) -> list[Any]:
        """The values of the functions at this epoch."""
        return [function(self.last_epoch) for function in self.lr_lambdas]

    @property
    def held_functions(self) -> list[Any]:
        """What the state has for each function: the attributes of an object of a program's class, else None."""
        tables = [language.attributes(function) for function in self.lr_lambdas]
        return [None if table is None else table.copy() for table in tables]

    def load_state_dict(self, state_dict: Any) -> None:
        """Set the fields, and the attributes of the objects that are functions, to those of a `state_dict`."""
        saved = language.item(state_dict, "lr_lambdas")
        super().load_state_dict(state_dict)
        for function, held in zip(self.lr_lambdas, saved, strict=False):
            if held is not None and (table := language.attributes(function)) is not None:
                table.update(held)

    SCRIPT_METHODS = LRScheduler.SCRIPT_METHODS | {"load_state_dict": Routine(load_state_dict, "LambdaLR.load_state_dict")}


class LambdaLR(FunctionSchedule):
    """The initial rate times a function of the epoch."""

    def factors(self) -> list[Any]:
        for function in self.lr_lambdas:
            if not callable(function):
                raise not_callable(function)
        return super().factors()

    def rates(self) -> list[Any]:
        return [base * factor for base, factor in zip(self.base_lrs, self.factors(), strict=True)]


class MultiplicativeLR(FunctionSchedule):
    """Every epoch the rate is multiplied by a function of the epoch."""

    def check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise type_error("lr_lambda should be a function, but got {}", function)

    def rates(self) -> list[Any]:
        if self.is_initial:
            return self.present()
        return [group["lr"] * factor for group, factor in zip(self.groups, self.factors(), strict=True)]


class ConstantLR(LRScheduler):
    """The rate is multiplied by `factor` until epoch `total_iters`."""

    ARGUMENTS = {"optimizer": REQUIRED, "factor": 1.0 / 3, "total_iters": 5, "last_epoch": -1}
    FIELDS = "factor total_iters"
    factor: float
    total_iters: int

    def begin(self, given: dict[str, Any]) -> None:
        if given["factor"] > 1.0 or given["factor"] < 0:
            raise ProgramError("ValueError", "Constant multiplicative factor expected to be between 0 and 1.")
        super().begin(given)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self.scaled(self.factor)
        return self.scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self.present()

    def closed_rates(self) -> list[Any]:
        return self.initial(1 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """The rate goes linearly from `start_factor` to `end_factor` of the initial one in `total_iters` epochs."""

    ARGUMENTS = {"optimizer": REQUIRED, "start_factor": 1.0 / 3, "end_factor": 1.0, "total_iters": 5, "last_epoch": -1}
    FIELDS = "start_factor end_factor total_iters"
    start_factor: float
    end_factor: float
    total_iters: int

    def begin(self, given: dict[str, Any]) -> None:
        if given["start_factor"] > 1.0 or given["start_factor"] <= 0:
            raise ProgramError("ValueError", "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if given["end_factor"] > 1.0 or given["end_factor"] < 0:
            raise ProgramError("ValueError", "Ending multiplicative factor expected to be between 0 and 1.")
        super().begin(given)

    def rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return self.scaled(self.start_factor)
        if self.is_initial or self.last_epoch > self.total_iters:
            return self.present()
        rise = self.end_factor - self.start_factor
        return self.scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def closed_rates(self) -> list[Any]:
        rise = (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        return self.initial(self.start_factor + rise)


class PolynomialLR(LRScheduler):
    """The rate falls to 0 in `total_iters` epochs, in proportion to a `power` of the epochs left."""

    ARGUMENTS = {"optimizer": REQUIRED, "total_iters": 5, "power": 1.0, "last_epoch": -1}
    FIELDS = "total_iters power"
    total_iters: int
    power: float

    def rates(self) -> list[Any]:
        epoch, total = self.last_epoch, self.total_iters
        if self.is_initial or epoch > total:
            return self.present()
        return self.scaled(((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power)

    def closed_rates(self) -> list[Any]:
        return self.initial((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
