"""Runs recorded scripts in this process and says how their output compares to what PyTorch printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
# further scripts of the same kinds, recorded with the same PyTorch
MORE = HERE / "more"

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?")
_WARNING = re.compile(r"^\S+:[0-9]+: (\w*Warning: .*)$")


@dataclass
class Outcome:
    """What a script printed, its warnings in order, and the error it ended with (`Type: message`)."""

    out: str
    warnings: list[str]
    error: str | None


def scripts() -> list[Path]:
    """Every recorded script, but the prelude of the seeds."""
    return sorted(path for folder in (RECORDED, MORE) for path in folder.rglob("*.py") if path.name != "prelude.py")


def name_of(script: Path) -> str:
    """The script's name below `recorded/`, or with `more/` in front, without its suffix."""
    return str(script.relative_to(RECORDED if script.is_relative_to(RECORDED) else HERE).with_suffix(""))


def expected(script: Path) -> Outcome:
    """What PyTorch did."""
    lines = []
    recorded = script.with_suffix(".err")
    if recorded.exists():
        lines = recorded.read_text(encoding="utf-8").splitlines()
    warnings = [match[1] for line in lines if (match := _WARNING.match(line))]
    errors = [line for line in lines if re.match(r"\w*(?:Error|Exception): ", line)]
    return Outcome(script.with_suffix(".out").read_text(encoding="utf-8"), warnings, errors[-1] if errors else None)


def normalised(text: str) -> str:
    """`text` with every address made one and the same."""
    return _ADDRESS.sub("0x", text)


def same(ours: Outcome, theirs: Outcome) -> bool:
    """Equality to the character, addresses aside."""
    return (normalised(ours.out), ours.warnings, ours.error) == (normalised(theirs.out), theirs.warnings, theirs.error)


def differs_in_last_digits_only(ours: str, theirs: str) -> bool:
    """Whether the texts are equal but for numbers that are one unit of their last printed digit apart."""
    ours, theirs = normalised(ours), normalised(theirs)
    if ours == theirs or _NUMBER.sub("#", ours) != _NUMBER.sub("#", theirs):
        return False
    return all(_one_unit_apart(a, b) for a, b in zip(_NUMBER.findall(ours), _NUMBER.findall(theirs), strict=True) if a != b)


def differs_in_noise_only(ours: str, theirs: str, below: float = 1e-7) -> bool:
    """Whether the texts are equal but for numbers that are tiny in both."""
    ours, theirs = normalised(ours), normalised(theirs)
    # a sign changes the padding of a column
    shape = [re.sub(r"\s+", " ", _NUMBER.sub("#", text)) for text in (ours, theirs)]
    if ours == theirs or shape[0].replace("[ ", "[") != shape[1].replace("[ ", "["):
        return False
    pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(theirs), strict=True)
    return all(max(abs(float(a)), abs(float(b))) < below for a, b in pairs if a != b)


def _one_unit_apart(a: str, b: str) -> bool:
    x, y = Decimal(a), Decimal(b)
    unit = x.as_tuple().exponent
    # a whole number (an index, a shape, a count) is never a rounding
    return "." in a and "." in b and unit == y.as_tuple().exponent and isinstance(unit, int) and abs(x - y) <= Decimal(1).scaleb(unit)
