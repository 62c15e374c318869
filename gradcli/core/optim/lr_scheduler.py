"""The base class of learning rate schedules, which counts epochs, writes rates into the groups and warns as PyTorch does."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredArguments, DeclaredConstructor
from gradcli.core.calling.extensible import Extensible
from gradcli.core.calling.mappings import table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.graph import in_place
from gradcli.core.optim.optimizer import Group, Optimizer
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: the error for a `last_epoch` other than -1 without rates to begin with
_NO_INITIAL = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)
#: the key of the states of the schedules that one is combined of
PARTS = "_schedulers"
#: the warning of `step` with an epoch
EPOCH_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


def copied(rate: Any) -> Any:
    """A rate that is a tensor as a copy; any other as it is."""
    return Tensor(rate.array.copy(), rate.dtype) if type(rate) is Tensor else rate


def put(group: Group, rate: Any) -> None:
    """Give a group a rate; a rate that is a tensor is written."""
    old = group["lr"]
    if type(old) is not Tensor:
        group["lr"] = rate
    elif old is not rate:
        in_place.copy_(old, rate if type(rate) is Tensor else Tensor(np.asarray(rate, np.float64), dtypes.float64))


class LRScheduler(DeclaredArguments, Extensible):
    """A learning rate schedule. A subclass computes the rates in `rates`, mostly from the present ones, as PyTorch does."""

    SCRIPT_NAME = "LRScheduler"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = Attributes.read("optimizer last_epoch base_lrs")
    SCRIPT_SETTERS = Attributes.write("last_epoch base_lrs")
    ARGUMENTS = {"optimizer": REQUIRED, "last_epoch": -1}
    #: keys of `state_dict` that scripts read too, with `KEY=NAME` for a field of another name; arguments of these names become fields
    FIELDS = ""
    #: further keys of `state_dict`
    STATE = "base_lrs last_epoch _step_count=steps _is_initial=is_initial _get_lr_called_within_step=within_step _last_lr=last_rates"
    #: classes of programs may derive from schedules
    BASE_OF = "schedulers"
    #: whether the first step is under way
    is_initial = False
    optimizer: Optimizer

    def __init_subclass__(cls, known: bool = True) -> None:
        """Make the tables of a class and, if it is known to scripts, its type."""
        own = vars(cls)
        if "FIELDS" in own and "SCRIPT_ATTRIBUTES" not in own:
            cls.SCRIPT_ATTRIBUTES = cls.SCRIPT_ATTRIBUTES | Attributes.read(" ".join(_readable(cls.FIELDS)))
        if "step" in own:
            cls.SCRIPT_METHODS = cls.SCRIPT_METHODS | {"step": Routine(own["step"], f"{cls.__name__}.step")}
        if known:
            cls.SCRIPT_NAME = cls.__name__
            _declare(cls)

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        self.begin(self.bind(args, kwargs))

    def begin(self, given: dict[str, Any]) -> None:
        """Keep the arguments of `__init__` and make the first step."""
        self.keep(given)
        last_epoch = given["last_epoch"]
        self.optimizer = checked(given["optimizer"])
        for i, group in enumerate(self.groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                message = _NO_INITIAL.format(i)
                raise ProgramError("KeyError", repr(message), args=(message,))
        self.base_lrs = [copied(group["initial_lr"]) for group in self.groups]
        self.last_epoch = last_epoch
        if not self.optimizer.watched:
            self.optimizer.watched, self.optimizer.stepped = True, False
        self.within_step = False
        self.last_rates: list[Any] = []
        self.start()

    def start(self) -> None:
        """Make the first step, which mostly leaves the rates as they are."""
        self.steps = 0
        self.is_initial = True
        try:
            self.step()
        finally:
            self.is_initial = False

    def keep(self, given: dict[str, Any]) -> None:
        """Keep the arguments that are fields."""
        vars(self).update((name, given[name]) for name in self.FIELDS.split() if name in given)

    @property
    def groups(self) -> list[Group]:
        """The optimiser's groups."""
        return self.optimizer.param_groups

    def rates(self) -> list[Any]:
        """The rates of this epoch, one for each group."""
        raise ProgramError("NotImplementedError", "")

    def closed_rates(self) -> list[Any] | None:
        """The rates of an epoch computed from the initial rates; None if PyTorch has no such form."""
        return None

    def scaled(self, factor: float) -> list[Any]:
        """The present rates times a factor."""
        return [group["lr"] * factor for group in self.groups]

    def initial(self, factor: float) -> list[Any]:
        """The initial rates times a factor."""
        return [base * factor for base in self.base_lrs]

    def present(self) -> list[Any]:
        """The present rates."""
        return [copied(group["lr"]) for group in self.groups]

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to the one given."""
        self.warn(epoch)
        self.steps += 1
        self.go(epoch)

    def go(self, epoch: Any) -> None:
        """Go to the next epoch, or to the one given, without counting a step."""
        self.within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                found = self.rates()
            else:
                self.last_epoch = epoch
                closed = self.closed_rates()
                found = self.rates() if closed is None else closed
        finally:
            self.within_step = False
        self.apply(found)

    def warn(self, epoch: Any) -> None:
        """Warn if the optimiser has made no step yet, and if an epoch is given."""
        if self.steps == 1 and not self.optimizer.watched:  # a copy of the optimiser that the schedule was made for
            warnings.emit(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to "
                "call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
            )
        elif self.steps == 1 and not self.optimizer.stepped:
            warnings.emit(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
                "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
                "PyTorch skipping the first value of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
            )
        if epoch is not None and self.steps:
            warnings.emit(EPOCH_DEPRECATED)

    def apply(self, rates: list[Any]) -> None:
        """Write the rates into the groups."""
        for group, rate in zip(self.groups, rates, strict=True):
            put(group, rate)
        self.last_rates = [copied(group["lr"]) for group in self.groups]

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step wrote."""
        return self.last_rates

    def get_lr(self) -> list[Any]:
        """The rates of the next step, with PyTorch's warning that they are not those of the last."""
        if not self.within_step:
            warnings.emit("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", inside=self.SCRIPT_NAME)
        return self.rates()

    def places(self) -> list[tuple[str, str]]:
        """The keys of `state_dict`, each with the attribute that has the value."""
        return _entries(f"{self.FIELDS} {self.STATE}")

    def field_of(self, name: str) -> str | None:
        """The field that `state_dict` has under this name."""
        return dict(self.places()).get(name)

    def state_dict(self) -> dict[str, Any]:
        """The fields of the schedule, without the optimiser."""
        given: dict[str, Any] = vars(self).get("given", {})
        return {key: getattr(self, name) for key, name in self.places()} | given

    def load_state_dict(self, state_dict: Any) -> None:
        """Set the fields to those of a `state_dict`; other keys become attributes."""
        fields = dict(self.places())
        given: dict[str, Any] = {key: value for key, value in table_of(state_dict).items() if type(key) is str and key != PARTS}
        for key, value in given.items():
            name = fields.get(key)
            if name is None:
                self.assign(key, value)
            else:
                vars(self)[name] = value

    SCRIPT_METHODS = Extensible.SCRIPT_METHODS | {
        function.__name__: Routine(function, f"LRScheduler.{function.__name__}")
        for function in (step, get_last_lr, get_lr, state_dict, load_state_dict)
    }


def _entries(text: str) -> list[tuple[str, str]]:
    """Keys and the names of fields: the same where no `=` stands."""
    return [(key, name or key) for key, _, name in (entry.partition("=") for entry in text.split())]


def _readable(text: str) -> list[str]:
    """The keys that scripts may read: those without a leading underscore."""
    return [key for key, _ in _entries(text) if not key.startswith("_")]


def checked(optimizer: Any) -> Optimizer:
    """The value itself if it is an optimiser; else TypeError."""
    if not isinstance(optimizer, Optimizer):
        raise ProgramError("TypeError", f"{language.type_name(optimizer)} is not an Optimizer")
    return optimizer


def each_group(name: str, value: Any, groups: list[Group]) -> list[Any]:
    """A value for each group, from a list, or one value for all; tensors as copies. ValueError for a list of another length."""
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in groups]
    if len(value) != len(groups):
        lengths = f"{name} has {len(value)} values, param_groups has {len(groups)}."
        raise ProgramError("ValueError", f"{name} must have the same length as optimizer.param_groups. {lengths}")
    return list(map(copied, value))


def _declare(made: type[LRScheduler]) -> None:
    """Make the type of a schedule."""
    script_type(made, "torch.optim.lr_scheduler").construct = DeclaredConstructor(made, made.SCRIPT_NAME)


_declare(LRScheduler)


class _LRScheduler(LRScheduler):
    """The base of schedules under the name of earlier versions, which PyTorch's own do not derive from."""
