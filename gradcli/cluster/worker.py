"""What a worker of a cluster runs: tasks, each answered by a helper process of the thread that has the task."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence

import distributed

from gradcli.cluster.helper import Helper
from gradcli.cluster.versions import Versions, difference, own_versions

#: seconds after which a task returns what it has answered; the rest goes out again
SLICE = 10.0

_thread = threading.local()


def dask_setup(worker: distributed.Worker) -> None:
    """What Dask calls in a worker of a local cluster: Ctrl-C is for the client, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Refused(Exception):
    """This worker cannot answer what the client asks: nobody's request is to blame."""


class HelperEnded(Exception):
    """Two helpers have ended at the first line of the block."""


def answer(versions: Versions, words: Sequence[str], first: int, lines: Sequence[bytes | None]) -> tuple[bytes, int]:
    """The answers to the first of `lines`, at least to one, whose numbers begin at `first`; and how many these are.

    `words` are the command line of the helper. Raises Refused, and HelperEnded.
    """
    address = distributed.get_worker().address
    if why := difference(own_versions(), versions, address):
        raise Refused(why)
    until = time.monotonic() + SLICE
    found, given, ended = [], 0, 0
    while given < len(lines) and ended < 2:
        text, count, lives = _started(words, address).answer(first + given, lines[given:], until)
        found.append(text)
        given += count
        if lives:
            break
        _drop()
        ended = 1 if count else ended + 1
    if not given:
        raise HelperEnded
    return b"".join(found), given


def evaluate(versions: Versions, words: Sequence[str], folder: str, asked: bytes) -> bytes:
    """The answer to a request for pieces of rows, by the command line `words` in a folder. Raises Refused."""
    address = distributed.get_worker().address
    if why := difference(own_versions(), versions, address):
        raise Refused(why)
    if not os.path.isdir(folder):
        raise Refused(f"the worker {address} does not see the folder {folder}")
    for _ in range(2):
        found = _started(words, address, folder).relay(asked)
        if found is not None:
            return found
        _drop()
    raise Refused(f"the process of the worker {address} that evaluates rows has ended twice")


def _started(words: Sequence[str], address: str, folder: str | None = None) -> Helper:
    """The helper of this thread. Raises Refused where none starts."""
    helper: Helper | None = getattr(_thread, "helper", None)
    if helper is not None and helper.key != (*words, folder):
        _drop()
        helper = None
    if helper is None:
        helper = _thread.helper = Helper(words, folder)
        if not helper.starts:
            said = helper.said()
            _drop()
            raise Refused(f"the worker {address} cannot start gradcli: {said}")
    return helper


def _drop() -> None:
    _thread.helper.close()
    _thread.helper = None
