"""The recorded scripts print what PyTorch printed, to the character."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gradcli import limits
from gradcli.core.kernels import blocks
from gradcli.errors import GradcliError
from gradcli.session import Session
from gradcli.source import Source
from tests.conformance import harness
from tests.conformance.harness import Outcome

SCRIPTS = harness.scripts()
ALLOWED = {entry["name"]: entry for entry in tomllib.loads((harness.HERE / "allowed.toml").read_text()).get("script", [])}


def run(script: Path) -> Outcome:
    """Run a script (a seed after its prelude) through the session, as `gradcli run` does."""
    out: list[str] = []
    warnings: list[str] = []
    session = Session(
        bounds=limits.default(),
        write=out.append,
        # of a message in several lines the recording has one line for sure: the first
        warn=lambda category, message, _: warnings.append(f"{category}: {message}".split("\n")[0]),
        read_stdin=lambda: b"",
    )
    files = [script.parent / "prelude.py", script] if script.parent.name == "seeds" else [script]
    try:
        for file in files:
            session.run(Source(str(file), session.read_source(str(file))))
    except GradcliError as error:
        return Outcome("".join(out), warnings, f"{error.kind}: {error.message}")
    return Outcome("".join(out), warnings, None)


@pytest.mark.parametrize("script", SCRIPTS, ids=harness.name_of)
def test_recorded_script(script: Path) -> None:
    ours, theirs = run(script), harness.expected(script)
    if harness.name_of(script) in ALLOWED:
        check = {"last digit": harness.differs_in_last_digits_only, "noise": harness.differs_in_noise_only}
        kind = ALLOWED[harness.name_of(script)]["kind"]
        assert check[kind](ours.out, theirs.out), f"listed in allowed.toml, and not a difference of the kind {kind!r}"
        assert (ours.warnings, ours.error) == (theirs.warnings, theirs.error)
        return
    assert harness.normalised(ours.out) == harness.normalised(theirs.out)
    assert (ours.warnings, ours.error) == (theirs.warnings, theirs.error)


@pytest.mark.parametrize("script", SCRIPTS, ids=harness.name_of)
def test_recorded_script_in_blocks(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deferred execution changes nothing that can be seen, down to arrays of one element."""
    monkeypatch.setattr(blocks, "threshold", 1)
    test_recorded_script(script)


def test_recordings_name_no_place_of_a_machine() -> None:
    for script in SCRIPTS:
        recorded = script.with_suffix(".err")
        assert not recorded.exists() or not re.search(r'^/|File "/', recorded.read_text(encoding="utf-8"), re.M), recorded


def test_allowed_differences_are_few_and_have_reasons() -> None:
    names = {harness.name_of(script) for script in SCRIPTS}
    assert set(ALLOWED) <= names
    assert len(ALLOWED) <= len(names) * 0.02
    assert all(entry["reason"].strip() for entry in ALLOWED.values())


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("tensor(1.0001)", "tensor(1.0002)", True),
        ("tensor([1.0001, 2.])", "tensor([1.0002, 2.])", True),
        ("1.0001e-05", "1.0002e-05", True),
        ("tensor(1.0001)", "tensor(1.0001)", False),
        ("tensor(1.0001)", "tensor(1.0003)", False),
        ("tensor(1.001)", "tensor(1.0001)", False),
        ("tensor(1)", "tensor(2)", False),
        ("tensor(1.5, grad_fn=<A0>)", "tensor(1.6, grad_fn=<B0>)", False),
        ("a", "b", False),
    ],
)
def test_what_counts_as_a_last_digit(ours: str, theirs: str, expected: bool) -> None:
    assert harness.differs_in_last_digits_only(ours, theirs) is expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("tensor([1.7e-09, -6.9e-09])", "tensor([-1.2e-09,  4.9e-09])", True),
        ("tensor([1.7e-09, 0.5])", "tensor([-1.2e-09, 0.5])", True),
        ("tensor([1.7e-09, 0.5])", "tensor([-1.2e-09, 0.6])", False),
        ("tensor([1.7e-05])", "tensor([1.2e-05])", False),
        ("tensor([1.7e-09])", "tensor([1.7e-09])", False),
        ("a", "b", False),
    ],
)
def test_what_counts_as_noise(ours: str, theirs: str, expected: bool) -> None:
    assert harness.differs_in_noise_only(ours, theirs) is expected
