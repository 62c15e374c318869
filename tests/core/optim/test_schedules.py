"""Learning-rate schedules against PyTorch 2.13's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.core.calling import warnings
from tests.core.optim.calling import RECORDED, leaf, make


@pytest.mark.parametrize(("name", "args", "options", "rates"), RECORDED["schedules"])
def test_schedules(name: str, args: list[Any], options: dict[str, Any], rates: list[float]) -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=0.5, momentum=0.9)
    schedule = make(f"lr_scheduler.{name}", optimizer, *args, **options)
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(12):
        optimizer.step()
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    assert found == rates  # to the last digit: programs print them in full
    assert schedule.get_last_lr() == rates[-1:]


def test_lambda_schedules() -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=0.5)
    make("lr_scheduler.LambdaLR", optimizer, lambda epoch: 0.5**epoch)
    other = make("lr_scheduler.MultiplicativeLR", optimizer, lambda epoch: 0.25)
    optimizer.step()
    other.step()
    assert optimizer.param_groups[0]["lr"] == 0.125


def test_plateau() -> None:
    optimizer = make("SGD", [leaf([1.0])], lr=1.0)
    schedule = make("lr_scheduler.ReduceLROnPlateau", optimizer, patience=1, factor=0.5)
    found = []
    for metric in [1, 0.9, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]:
        schedule.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]


def test_order_of_steps_is_warned_about() -> None:
    seen: list[str] = []
    before = warnings.set_sink(lambda category, message, _: seen.append(message))
    try:
        optimizer = make("SGD", [leaf([1.0])], lr=0.1)
        schedule = make("lr_scheduler.StepLR", optimizer, 2)
        schedule.step()
    finally:
        warnings.set_sink(before)
    assert len(seen) == 1 and seen[0].startswith("Detected call of `lr_scheduler.step()` before `optimizer.step()`.")
