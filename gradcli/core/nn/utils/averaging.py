"""torch.optim.swa_utils: averages of a model's parameters over training, and their learning rate schedule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredConstructor
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import script_type
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.normalization import BatchNorm1d, InstanceNorm1d
from gradcli.core.nn.modules.transformer import copied
from gradcli.core.optim.lr_scheduler import LRScheduler, each_group
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def _write(target: Tensor, value: Any) -> None:
    """Write into a tensor in place."""
    target.array[...] = value.array
    target.counter().count += 1


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that `update_parameters` was given."""

    METHODS = "update_parameters"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | {
        "module": lambda model: model.children_by_name["module"],
        "n_averaged": lambda model: model.own_buffers["n_averaged"],
    }

    def __init__(self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None, use_buffers: Any = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ProgramError("AssertionError", "Only one of avg_fn and multi_avg_fn should be provided")
        self.children_by_name["module"] = copied(model)
        self.own_buffers["n_averaged"] = Tensor(np.zeros((), np.int64), dtypes.int64)
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.children_by_name["module"](*args, **kwargs)

    def _held(self, model: Module) -> list[Tensor]:
        found = [p for _, p in model.walk_parameters()]
        return found + _buffers(model) if self.use_buffers else found

    def update_parameters(self, model: Any) -> None:
        """Take the parameters of a model into the averages; the first time they are copied."""
        own: Module = self.children_by_name["module"]
        count: Any = self.own_buffers["n_averaged"]
        pairs = [(one, detach(other)) for one, other in zip(self._held(own), self._held(model), strict=False)]
        with recording(False):
            if not count.array:
                for one, other in pairs:
                    _write(one, other)
            elif self.avg_fn is not None:
                for one, other in pairs:
                    _write(one, self.avg_fn(detach(one), other, count))
            else:
                self._average_groups(pairs, count)
        if not self.use_buffers:
            for one, other in zip(_buffers(own), _buffers(model), strict=True):
                _write(one, other)
        count.array += 1

    def _average_groups(self, pairs: list[tuple[Tensor, Tensor]], count: Tensor) -> None:
        run = self.multi_avg_fn or _averages
        for dtype in dict.fromkeys(one.dtype for one, _ in pairs):
            chosen = [(detach(one), other) for one, other in pairs if one.dtype is dtype]
            run([one for one, _ in chosen], [other for _, other in chosen], count)


def _buffers(model: Module) -> list[Tensor]:
    return [tensor for _, module, name, tensor in model.named_state() if name in module.own_buffers]


def _lerp(targets: list[Tensor], sources: list[Tensor], weight: float) -> None:
    for target, source in zip(targets, sources, strict=True):
        if target.dtype.is_floating_point:
            _write(target, catalog.function("lerp")(target, source, weight))
        else:
            mixed = target.array * (1 - weight) + source.array * weight
            _write(target, Tensor(mixed.astype(target.array.dtype), target.dtype))


def _averages(targets: list[Tensor], sources: list[Tensor], count: Any) -> None:
    number = count.array.item() if type(count) is Tensor else count
    _lerp(targets, sources, 1 / (number + 1))


def _checked(decay: Any) -> float:
    if decay < 0.0 or decay > 1.0:
        text = f"Invalid decay value {formatted(decay)} provided. Please provide a value in [0,1] range."
        raise ProgramError("ValueError", text)
    return float(decay)


@Routine
def get_ema_multi_avg_fn(decay: Any = 0.999) -> Routine:
    """A function that moves lists of averages towards lists of values by 1 - decay, in place."""
    weight = 1 - _checked(decay)
    return Routine(lambda averages, values, count: _lerp(averages, values, weight), "ema_update")


@Routine
def get_swa_multi_avg_fn() -> Routine:
    """A function that takes lists of values into lists of averages of equal weight, in place."""
    return Routine(_averages, "swa_update")


@Routine
def get_ema_avg_fn(decay: Any = 0.999) -> Routine:
    """A function of an average and a value that gives the average moved towards the value by 1 - decay."""
    kept = _checked(decay)
    return Routine(lambda average, value, count: _quietly(lambda: kept * average + (1 - kept) * value), "ema_update")


@Routine
def get_swa_avg_fn() -> Routine:
    """A function of an average, a value and a count that gives the average of equal weights."""
    return Routine(lambda average, value, count: _quietly(lambda: average + (value - average) / (count + 1)), "swa_update")


def _quietly(run: Callable[[], Any]) -> Any:
    with recording(False):
        return run()


@Routine
def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """Compute the running figures of all batch normalisations anew, from the inputs of a loader."""
    norms: list[Any] = [m for _, m in model.walk() if isinstance(m, BatchNorm1d) and not isinstance(m, InstanceNorm1d)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if norm.own_buffers[name] is not None:
                norm.own_buffers[name].array[...] = value
        norm.momentum = None
    training = model.training
    model.train()
    with recording(False):
        for batch in _iterated(loader):
            limits.evaluation.tick()
            model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(training)


def _iterated(loader: Any) -> Iterator[Any]:
    return itertools.chain(language.iterate(loader))


class SWALR(LRScheduler, known=False):
    """The rate goes to a constant one over some epochs, along a line or a cosine."""

    ARGUMENTS = {"optimizer": REQUIRED, "swa_lr": REQUIRED, "anneal_epochs": 10, "anneal_strategy": "cos", "last_epoch": -1}
    FIELDS = "_anneal_strategy=strategy anneal_epochs"
    SCRIPT_NAME = "SWALR"
    anneal_epochs: int
    strategy = "cos"

    def begin(self, given: dict[str, Any]) -> None:
        groups = given["optimizer"].param_groups
        for group, rate in zip(groups, each_group("swa_lr", given["swa_lr"], groups), strict=True):
            group["swa_lr"] = rate
        strategy, epochs = given["anneal_strategy"], given["anneal_epochs"]
        if strategy not in ("cos", "linear"):
            raise ProgramError("ValueError", f"anneal_strategy must be one of 'cos' or 'linear', instead got {formatted(strategy)}")
        if not isinstance(epochs, int) or epochs < 0:
            raise ProgramError("ValueError", f"anneal_epochs must be equal or greater than 0, got {formatted(epochs)}")
        self.strategy = strategy
        super().begin(given)

    def _share(self, step: int) -> float:
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self.strategy == "cos" else t

    def rates(self) -> list[Any]:
        step = self.steps - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, after = self._share(step - 1), self._share(step)
        found = []
        for group in self.groups:
            goal = group["swa_lr"]
            first = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            found.append(goal * after + first * (1 - after))
        return found


AveragedModel.SCRIPT_NAME = "AveragedModel"
script_type(AveragedModel, "torch.optim.swa_utils")
script_type(SWALR, "torch.optim.swa_utils").construct = DeclaredConstructor(SWALR, "SWALR")
