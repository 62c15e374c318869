"""Gradients by rule against differences, and where a nan or an infinity was first made."""

from __future__ import annotations

from gradcli.plain import Plain


class Comparison(Plain):
    """One element of a gradient, by rule and by differences. `output` is the index of the output's element, None where there is one."""

    at: tuple[int, ...]
    output: tuple[int, ...] | None
    analytic: float
    numeric: float
    remark: str = ""


class Origin(Plain):
    """The step that made the first nan or infinity: its line of text with the columns to mark, and a remark with its numbers.

    `place` names the line; it is empty where the text has one line.
    """

    what: str
    grad_fn: str
    place: str
    line: str
    first: int
    last: int
    remark: str


class InputCheck(Plain):
    """The check of one input: the largest absolute and relative errors, the element with the largest, wrong elements and kinks."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    worst: Comparison | None
    wrong: tuple[Comparison, ...]
    kinks: tuple[Comparison, ...]
    checked: int


class CheckResult(Plain):
    """Analytic gradients against differences. `conditions` says how the differences were taken."""

    expression: str
    inputs: tuple[InputCheck, ...]
    origins: tuple[Origin, ...]
    conditions: str
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether no element is wrong."""
        return not any(one.wrong for one in self.inputs)
