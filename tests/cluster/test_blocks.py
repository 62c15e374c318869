"""What becomes of blocks whose tasks fail, by a client whose tasks run here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gradcli.errors import DataError, GradcliError
from tests.cluster.conftest import needs_dask

pytestmark = needs_dask


class Client:
    """Runs tasks at once; `answer` is what runs in place of the worker's function."""

    def __init__(self, answer: Callable[[int, Sequence[bytes | None]], tuple[bytes, int]], threads: int = 1) -> None:
        self.answer = answer
        self.threads = threads
        self.submitted: list[tuple[int, int]] = []
        self.most = 0
        self.open = 0
        self.loop = None

    def nthreads(self) -> dict[str, int]:
        return {"here": self.threads}

    def submit(self, _: object, versions: object, words: object, first: int, lines: Sequence[bytes | None], **options: object) -> Any:
        self.submitted.append((first, len(lines)))
        self.open += 1
        self.most = max(self.most, self.open)
        future = SimpleNamespace(status="finished", release=lambda: None)

        def result() -> tuple[bytes, int]:
            self.open -= 1
            return self.answer(first, lines)

        future.result = result
        return Hashed(future)

    def cancel(self, futures: Sequence[object], force: bool) -> None:
        self.open -= len(futures)


class Hashed:
    def __init__(self, future: Any) -> None:
        self.status, self.release, self.result = future.status, future.release, future.result


class Completed:
    """as_completed, the newest first."""

    def __init__(self, loop: object) -> None:
        self.futures: list[object] = []

    def add(self, future: object) -> None:
        self.futures.append(future)

    def __next__(self) -> object:
        return self.futures.pop()


def dispatched(answer: Callable[[int, Sequence[bytes | None]], tuple[bytes, int]], count: int, size: int = 10) -> tuple[bytes, Client]:
    import distributed

    from gradcli.cluster import blocks

    client = Client(answer)
    written: list[bytes] = []
    ends: list[int] = []

    def failed(number: int, line: bytes, error: GradcliError) -> bytes:
        return b"%d: %s failed\n" % (number, line)

    before = distributed.as_completed
    distributed.as_completed = Completed
    try:
        dispatch = blocks.Dispatch(client, blocks.Job((), failed), lambda more: None)
    finally:
        distributed.as_completed = before
    lines = [b"line %d" % number for number in range(1, count + 1)]
    made = [blocks.Block(at + 1, lines[at : at + size], written.append) for at in range(0, count, size)]
    dispatch.run(iter([*made, blocks.Block(0, [], written.append, lambda: ends.append(len(written)))]))
    assert ends == [len(written)]
    return b"".join(written), client


def plain(first: int, lines: Sequence[bytes | None]) -> bytes:
    return b"".join(b"%d: %s\n" % (first + at, line) for at, line in enumerate(lines))


EXPECTED = plain(1, [b"line %d" % number for number in range(1, 201)])


def test_answers_come_in_order_and_few_blocks_are_under_way() -> None:
    text, client = dispatched(lambda first, lines: (plain(first, lines), len(lines)), 200)
    assert text == EXPECTED and 1 < client.most <= 4


def test_the_rest_of_a_block_goes_out_again() -> None:
    text, client = dispatched(lambda first, lines: (plain(first, lines[:3]), min(3, len(lines))), 200)
    assert text == EXPECTED and client.submitted[0] == (1, 10) and max(size for _, size in client.submitted[20:]) <= 10


@pytest.mark.parametrize("error", ["KilledWorker", "HelperEnded"])
def test_a_block_that_ends_its_workers_is_answered_line_by_line(error: str) -> None:
    import distributed

    from gradcli.cluster import worker

    made = {"KilledWorker": lambda: distributed.KilledWorker("key", None, 2), "HelperEnded": worker.HelperEnded}[error]

    def answer(first: int, lines: Sequence[bytes | None]) -> tuple[bytes, int]:
        if b"line 57" in lines:
            raise made()
        return plain(first, lines), len(lines)

    text, client = dispatched(answer, 200)
    assert text == EXPECTED.replace(b"57: line 57\n", b"57: line 57 failed\n")
    assert [size for first, size in client.submitted if 51 <= first <= 60] == [10] + [1] * 10


def test_a_refusal_ends_the_run_and_cancels_the_rest() -> None:
    from gradcli.cluster import worker

    def answer(first: int, lines: Sequence[bytes | None]) -> tuple[bytes, int]:
        raise worker.Refused("the worker tcp://a has numpy 1, and this is numpy 2")

    with pytest.raises(DataError, match="has numpy 1, and this is numpy 2"):
        dispatched(answer, 200)


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"gradcli": "1", "numpy": "2", "Python": "3"}, None),
        ({"gradcli": "0", "numpy": "2", "Python": "3"}, "the worker tcp://a has gradcli 0, and this is gradcli 1"),
        ({"gradcli": "1", "numpy": "9", "Python": "3"}, "the worker tcp://a has numpy 9, and this is numpy 2"),
        ({"gradcli": None, "numpy": "2", "Python": "3"}, "the worker tcp://a has no gradcli, and this is gradcli 1"),
        ({"gradcli": "1", "numpy": "2", "Python": "4"}, "the worker tcp://a has Python 4, and this is Python 3"),
    ],
)
def test_versions(theirs: dict[str, str | None], said: str | None) -> None:
    from gradcli.cluster.versions import difference

    assert difference(theirs, {"gradcli": "1", "numpy": "2", "Python": "3"}, "tcp://a") == said


def test_a_worker_of_another_version_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    from gradcli.cluster import worker

    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(address="tcp://a"))
    with pytest.raises(worker.Refused, match=r"the worker tcp://a has gradcli .*, and this is gradcli 99"):
        worker.answer({"gradcli": "99"}, (), 1, [b"{}"])


def test_a_helper_that_is_killed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that were answered are not asked again; two that end at the first line of a block are its fault."""
    import distributed

    from gradcli.cluster import worker
    from gradcli.cluster.versions import own_versions

    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(address="tcp://a"))
    begun: list[Any] = []

    class Helper:
        starts, key = True, ("batch", None)

        def __init__(self, words: Sequence[str], folder: str | None) -> None:
            begun.append(self)

        def answer(self, first: int, lines: Sequence[bytes | None], until: float) -> tuple[bytes, int, bool]:
            lives = len(begun) == 2 or lines[0] == b"end"
            count = 0 if lines[0] == b"kill" else len(lines) if lives else 1
            return plain(first, lines[:count]), count, lives and lines[0] != b"kill"

        def close(self) -> None:
            pass

    monkeypatch.setattr(worker, "Helper", Helper)
    assert worker.answer(own_versions(), ["batch"], 5, [b"a", b"b", b"c"]) == (b"5: a\n6: b\n7: c\n", 3) and len(begun) == 2
    with pytest.raises(worker.HelperEnded):
        worker.answer(own_versions(), ["batch"], 5, [b"kill"])


def test_a_helper_answers_frames_and_says_why_it_cannot_start() -> None:
    from gradcli.cluster.helper import Helper

    helper = Helper(["batch", "-", "--framed"])
    lines: list[bytes | None] = [b'{"id": %d, "expr": "1+1"}' % i for i in range(100)]
    lines[7] = None
    text, given, lives = helper.answer(1001, lines, 1e18)
    helper.close()
    found = [json.loads(line) for line in text.splitlines()]
    assert (given, lives) == (100, True) and [one["line"] for one in found] == list(range(1001, 1101))
    assert found[7]["error"]["message"].startswith("a line of more than") and found[8]["value"] == 2
    broken = Helper(["batch", "-", "--framed", "--limit", "nope=1"])
    assert not broken.starts and "unknown limit 'nope'" in broken.said()
    broken.close()
