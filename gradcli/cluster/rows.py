"""Pieces of rows as tasks of a cluster, whose parts are handed on in the order of the pieces.

The workers read the files themselves, and so need to see them under the same names.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Iterator, Sequence

import distributed

from gradcli.cluster import worker
from gradcli.cluster.versions import own_versions, refusal
from gradcli.errors import DataError
from gradcli.session import row_messages
from gradcli.session.by_rows import Array, ByRows, Part, Piece

#: pieces of a task, since a task takes some milliseconds of its own
_GROUP = 8
#: tasks under way for each thread of the cluster
_AHEAD = 3


class Dispatch:
    """Has pieces evaluated by `gradcli WORDS`, beside the workers, in the folder of this process."""

    def __init__(self, client: distributed.Client, words: Sequence[str], by_rows: ByRows) -> None:
        self._client = client
        self._by_rows = by_rows
        self._common = (own_versions(), tuple(words), os.getcwd())

    def evaluate(self, values: Sequence[Array]) -> Iterator[Part]:
        """The parts of all pieces for these values of the variables. Raises DataError, and what evaluating raises."""
        pieces = self._by_rows.pieces
        waiting = deque(pieces[at : at + _GROUP] for at in range(0, len(pieces), _GROUP))
        most = _AHEAD * max(1, sum(self._client.nthreads().values()))
        under_way: deque[tuple[list[Piece], distributed.Future]] = deque()
        try:
            while waiting or under_way:
                while waiting and len(under_way) < most:
                    group = waiting.popleft()
                    asked = row_messages.request(group, values)
                    under_way.append((group, self._client.submit(worker.evaluate, *self._common, asked, pure=False)))
                group, future = under_way.popleft()
                answer = io.BytesIO(self._answer(future))
                for piece in group:
                    yield row_messages.part(self._by_rows, piece, answer.read)
        finally:
            if under_way:
                self._client.cancel([future for _, future in under_way], force=True)

    def _answer(self, future: distributed.Future) -> bytes:
        try:
            found: bytes = future.result()
        except worker.Refused as error:
            raise refusal(str(error)) from None
        except distributed.KilledWorker:
            raise DataError("the workers that evaluate rows end: memory may have been used up") from None
        except Exception as error:
            raise DataError(f"the cluster cannot evaluate rows: {type(error).__name__}: {error}") from None
        return found
