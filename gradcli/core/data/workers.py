"""What the workers of a DataLoader are to a program: copies of the data set, random numbers of their own, and the order of their batches.

PyTorch's workers are processes. Here each is run in turn, when its batch is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted
from gradcli.core.calling.signature import language
from gradcli.core.data.datasets import IterableDataset, TensorDataset
from gradcli.core.random.generator import Generator, default
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError

if TYPE_CHECKING:
    from gradcli.core.data.loading import DataLoader

_MASK = 0xFFFFFFFF
_ENDED = object()
_METHOD = "multiprocessing"


class WorkerInfo(Scripted):
    """What `get_worker_info()` tells a data set that a worker reads."""

    __slots__ = ("__weakref__", "dataset", "id", "num_workers", "seed")

    SCRIPT_NAME = "WorkerInfo"
    SCRIPT_ATTRIBUTES = Attributes.read("id num_workers seed dataset") | {"rng": lambda info: None, "worker_method": lambda info: _METHOD}

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{name}={shown(read(self))}' for name, read in self.SCRIPT_ATTRIBUTES.items())})"


class _Running:
    """The worker whose turn it is."""

    info: WorkerInfo | None = None


@Routine
def get_worker_info() -> WorkerInfo | None:
    """Which worker of how many reads the data set; None outside of workers."""
    return _Running.info


def _numpy_seed(base: int, worker: int) -> list[int]:
    """The seed of numpy's numbers in a worker: four words of numpy's SeedSequence, as PyTorch makes them."""
    return [int(word) for word in np.random.SeedSequence([worker, base & _MASK, base >> 32, 0]).generate_state(4)]


class Worker:
    """A copy of the data set, and the random numbers of torch, Python and numpy that belong to it."""

    def __init__(self, loader: DataLoader, number: int, base: int) -> None:
        self.loader = loader
        # a data set of tensors alone has nothing that reading it changes
        dataset = loader.dataset if type(loader.dataset) is TensorDataset else language.deep_copy(loader.dataset)
        self.info = WorkerInfo(number, loader.num_workers, base + number, dataset)
        self.numbers = Generator(base + number)
        self.numbers.python = Random(base + number)
        self.numbers.numpy = np.random.RandomState(_numpy_seed(base, number))
        self.batches: Iterator[Any] | None = None
        if loader.worker_init_fn is not None:
            with self._turn():
                loader.worker_init_fn(number)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The default generator has this worker's numbers, and `get_worker_info` tells of it."""
        info, kept = _Running.info, default.fields()
        _Running.info = self.info
        default.put(self.numbers.fields())
        try:
            yield
        finally:
            self.numbers.put(default.fields())
            default.put(kept)
            _Running.info = info

    def fetch(self, index: Any) -> Any:
        """The batch, or the sample, of an index, or the next one of an iterable data set; `_ENDED` after its last."""
        with self._turn():
            if not isinstance(self.info.dataset, IterableDataset):
                return next(self.loader.batches_by_index(self.info.dataset, iter((index,))))
            if self.batches is None:
                self.batches = self.loader.batches_in_sequence(language.iterate(self.info.dataset))
            return next(self.batches, _ENDED)


def batches(loader: DataLoader, workers: list[Worker], order: Iterator[Any]) -> Iterator[Any]:
    """The batches of the workers, which take turns, for the indices in `order`. So many indices are read ahead as PyTorch reads."""
    if not loader.prefetch_factor:
        raise ProgramError("AssertionError", "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
    limits.check_list(loader.prefetch_factor * len(workers))
    turns, active = cycle(workers), dict.fromkeys(workers, True)
    tasks: deque[tuple[Worker, Any]] = deque()

    def read_ahead() -> None:
        index = next(order, _ENDED)
        if index is not _ENDED:
            worker = next((one for one in islice(turns, len(workers)) if active[one]), None)
            if worker is not None:
                tasks.append((worker, index))

    for worker in workers:
        worker.batches = None
    for _ in range(loader.prefetch_factor * len(workers)):
        read_ahead()

    def fetched() -> Iterator[Any]:
        while tasks:
            worker, index = tasks.popleft()
            if not active[worker]:
                continue
            found = worker.fetch(index)
            read_ahead()
            if found is _ENDED:
                active[worker] = False
            else:
                yield found

    return fetched()
