"""Gradients by rule against differences, and where a nan or an infinity was first made."""

from __future__ import annotations

from gradcli.plain import Plain


class Comparison(Plain):
    """One element of a gradient, by rule and by differences. `output` is which element of the output, None for the only one."""

    at: tuple[int, ...]
    output: tuple[int, ...] | None
    analytic: float
    numeric: float
    remark: str = ""


class Origin(Plain):
    """Where a nan or an infinity was first made: the step, its line of text with the columns to mark, and what it saw.

    `place` is empty where the line alone is the whole text.
    """

    what: str
    grad_fn: str
    place: str
    line: str
    first: int
    last: int
    remark: str


class InputCheck(Plain):
    """The check of one input: the worst absolute and relative error, the element of the worst, and what is remarkable."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    worst: Comparison | None
    wrong: tuple[Comparison, ...]
    kinks: tuple[Comparison, ...]
    checked: int


class CheckResult(Plain):
    """Analytic gradients against differences. `conditions` says how they were taken."""

    expression: str
    inputs: tuple[InputCheck, ...]
    origins: tuple[Origin, ...]
    conditions: str
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing disagrees."""
        return not any(one.wrong for one in self.inputs)
