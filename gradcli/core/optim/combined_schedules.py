"""Learning rate schedules made of other schedules."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.signature import language
from gradcli.core.optim.lr_scheduler import PARTS, LRScheduler, checked, put
from gradcli.core.optim.plateau_schedule import ReduceLROnPlateau
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError


class Combined(LRScheduler, known=False):
    """A schedule whose state holds the states of its parts."""

    schedulers: list[LRScheduler]
    within_step = True  # PyTorch has no rates of a combined schedule to warn of

    def field_of(self, name: str) -> str | None:
        """As for other schedules; the parts are no entry of the state."""
        return "schedulers" if name == PARTS else super().field_of(name)

    def state_dict(self) -> dict[str, Any]:
        """The fields of the schedule and the state of each part."""
        return super().state_dict() | {PARTS: [part.state_dict() for part in self.schedulers]}

    def load_state_dict(self, state_dict: Any) -> None:
        """Set the fields, and those of each part."""
        states = language.item(state_dict, PARTS)
        super().load_state_dict(state_dict)
        for part, state in zip(self.schedulers, states, strict=False):
            part.load_state_dict(state)

    SCRIPT_METHODS = LRScheduler.SCRIPT_METHODS | {
        "state_dict": Routine(state_dict, "LRScheduler.state_dict"),
        "load_state_dict": Routine(load_state_dict, "LRScheduler.load_state_dict"),
    }


class SequentialLR(Combined):
    """One schedule after the other; at each milestone the next begins with its epoch 0."""

    ARGUMENTS = {"optimizer": REQUIRED, "schedulers": REQUIRED, "milestones": REQUIRED, "last_epoch": -1}
    STATE = "_milestones=milestones last_epoch _last_lr=last_rates"
    SCRIPT_ATTRIBUTES = Attributes.read("optimizer last_epoch")

    def begin(self, given: dict[str, Any]) -> None:
        schedulers, milestones = given["schedulers"], given["milestones"]
        if len(schedulers) < 1:
            raise ProgramError("ValueError", "SequentialLR expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            _check_part(self, scheduler, given["optimizer"], i)
        if len(milestones) != len(schedulers) - 1:
            raise ProgramError(
                "ValueError",
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but "
                f"got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}",
            )
        self.optimizer = checked(given["optimizer"])
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.last_epoch = given["last_epoch"] + 1
        self.base_lrs = self.schedulers[0].base_lrs
        for group in self.groups:
            put(group, group["initial_lr"])
        _undo(self.schedulers)
        # the schedule of epoch 0 makes its first step again
        first = self.schedulers[bisect_right(self.milestones, 0)]
        first.start()
        self.last_rates = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[number]
        if number > 0 and self.milestones[number - 1] == self.last_epoch:
            scheduler.go(0)
        else:
            scheduler.step()
        self.last_rates = scheduler.get_last_lr()


def _undo(schedulers: list[LRScheduler]) -> None:
    """Take an epoch back from schedules, and from the parts of those that are combined."""
    for scheduler in schedulers:
        if isinstance(scheduler, Combined):
            _undo(scheduler.schedulers)
        else:
            scheduler.last_epoch -= 1


class ChainedScheduler(Combined):
    """Schedules that all step together."""

    ARGUMENTS = {"schedulers": REQUIRED, "optimizer": None}
    STATE = "_last_lr=last_rates"
    SCRIPT_ATTRIBUTES = Attributes.read("optimizer")

    def begin(self, given: dict[str, Any]) -> None:
        schedulers = given["schedulers"]
        if len(schedulers) < 1:
            raise ProgramError("ValueError", "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if given["optimizer"] is None else given["optimizer"]
        for i, scheduler in enumerate(schedulers):
            _check_part(self, scheduler, self.optimizer, i)
        self.schedulers = list(schedulers)
        self.last_rates = self.present()

    def step(self) -> None:  # type: ignore[override]
        """Let every schedule step."""
        for scheduler in self.schedulers:
            scheduler.step()
        self.last_rates = self.present()


def _check_part(whole: LRScheduler, part: Any, optimizer: Any, number: int) -> None:
    """TypeError or ValueError for a part that is not a schedule of the optimiser."""
    if not isinstance(part, LRScheduler):
        raise ProgramError("TypeError", f"{whole.SCRIPT_NAME} at index {number} should have `optimizer` as its attribute.")
    if isinstance(part, ReduceLROnPlateau):
        raise ProgramError(
            "ValueError",
            f"{whole.SCRIPT_NAME} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
            f"calling `step`, but got one at index {number} in the given schedulers sequence.",
        )
    if part.optimizer is not optimizer:
        raise ProgramError(
            "ValueError",
            f"{whole.SCRIPT_NAME} expects all schedulers to belong to the same optimizer, but got scheduler {part.SCRIPT_NAME} at "
            f"index {number} has {shown(part.optimizer)}, which is different from {language.type_name(optimizer)}.",
        )
