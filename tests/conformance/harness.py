"""What PyTorch did with a recorded script, and how our output compares to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tests.casebook import Case

HERE = Path(__file__).parent

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?")
_WARNING = re.compile(r"^\S.*?:[0-9]+: (\w*Warning: .*)$")


@dataclass
class Outcome:
    """What a script printed, its warnings in order, and the error it ended with (`Type: message`)."""

    out: str
    warnings: list[str]
    error: str | None


def expected(case: Case) -> Outcome:
    """What PyTorch did."""
    lines = case.stderr.splitlines()
    warnings = [match[1] for line in lines if (match := _WARNING.match(line))]
    errors = [line for line in lines if re.match(r"\w*(?:Error|Exception): ", line)]
    return Outcome(case.prints, warnings, errors[-1] if errors else None)


def normalised(text: str) -> str:
    """`text` with every address replaced by `0x`."""
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
    # a whole number (an index, a shape, a count, `1.`) is never a rounding
    return isinstance(unit, int) and unit == y.as_tuple().exponent and unit < 0 and abs(x - y) <= Decimal(1).scaleb(unit)
