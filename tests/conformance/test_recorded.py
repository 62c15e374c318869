"""The recorded scripts print what PyTorch printed, to the character."""

from __future__ import annotations

import re
import tomllib

import pytest

from gradcli import limits
from gradcli.core.kernels import blocks
from gradcli.errors import GradcliError
from gradcli.session import Session
from gradcli.source import Source
from tests import casebook
from tests.casebook import Case
from tests.conformance import harness
from tests.conformance.harness import Outcome

CASES = [case for book in casebook.books() for case in casebook.read(book).cases]
ALLOWED = {entry["name"]: entry for entry in tomllib.loads((harness.HERE / "allowed.toml").read_text()).get("script", [])}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def run(case: Case) -> Outcome:
    """Run a case through the session, as `gradcli run` does. The casebook's script in front of every case runs first."""
    out: list[str] = []
    warnings: list[str] = []
    session = Session(
        bounds=limits.default(),
        write=out.append,
        # a recording has at least the first line of a warning
        warn=lambda category, message, _: warnings.append(f"{category}: {message}".split("\n")[0]),
        read_stdin=lambda: b"",
    )
    try:
        if case.before:
            session.run(Source(f"{case.path.name}, before each", case.before))
        session.run(Source(case.place, case.script))
    except GradcliError as error:
        return Outcome("".join(out), warnings, f"{error.kind}: {error.message}")
    return Outcome("".join(out), warnings, None)


@every_case
def test_recorded_script(case: Case) -> None:
    ours, theirs = run(case), harness.expected(case)
    kind = ALLOWED[case.name]["kind"] if case.name in ALLOWED else None
    if kind == "documented":
        assert not harness.same(ours, theirs), f"{case.place} does not differ any more"
        return
    if kind is None or kind == "warnings":
        assert harness.normalised(ours.out) == harness.normalised(theirs.out), case.place
    else:
        check = {"last digit": harness.differs_in_last_digits_only, "noise": harness.differs_in_noise_only}[kind]
        assert check(ours.out, theirs.out), f"{case.place} is in allowed.toml, and does not differ in the way of {kind!r}"
    assert (ours.warnings == theirs.warnings) is (kind != "warnings"), (case.place, ours.warnings, theirs.warnings)
    assert ours.error == theirs.error, case.place


@every_case
def test_recorded_script_in_blocks(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deferred execution changes nothing that can be seen, down to arrays of one element."""
    monkeypatch.setattr(blocks, "threshold", 1)
    test_recorded_script(case)


def test_recordings_name_no_place_of_a_machine() -> None:
    for case in CASES:
        assert not re.search(r'^/|File "/', case.stderr, re.M), case.place


def test_allowed_differences_are_few_and_have_reasons() -> None:
    names = {case.name for case in CASES}
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
