"""The parent of a batch: how often it wakes."""

from __future__ import annotations

import select
import time
from pathlib import Path

import pytest

from gradcli.batch import pool
from gradcli.batch.lines import Lines
from gradcli.errors import GradcliError

LINES = 400


def test_the_parent_handles_several_answers_at_a_wake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wakes = 0
    poll = select.poll

    def counted() -> select.poll:
        nonlocal wakes
        wakes += 1
        return poll()

    def work(number: int, line: bytes) -> bytes:
        time.sleep(0.001)
        return line + b"\n"

    def failed(number: int, line: bytes, error: GradcliError) -> bytes:
        raise AssertionError(error)

    def too_long(number: int) -> bytes:
        raise AssertionError(number)

    source = tmp_path / "q"
    source.write_bytes(b"".join(b"%d\n" % one for one in range(LINES)))
    monkeypatch.setattr(select, "poll", counted)
    written: list[bytes] = []
    given: list[int] = []
    with source.open("rb") as stream:
        job = pool.Job(work, failed, too_long, lambda: None)
        pool.Batch(Lines(stream.fileno(), 1 << 20), job, 1, written.append, given.append).run()
    assert (b"".join(written), sum(given)) == (source.read_bytes(), LINES)
    assert wakes < 0.7 * LINES
