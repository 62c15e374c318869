"""The DataLoader, which reads a data set in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.extensible import checked_setter
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Generated, Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.data.collating import default_collate, default_convert
from gradcli.core.data.data_object import DataObject
from gradcli.core.data.datasets import IterableDataset, sample_of, size_of
from gradcli.core.data.samplers import BatchSampler, RandomSampler, SequentialSampler, check_batch_size, drawn_seed
from gradcli.core.random.seeds import generator_of
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

if TYPE_CHECKING:
    from gradcli.core.data.workers import Worker


def _check_workers(num_workers: Any, timeout: Any, prefetch_factor: Any, persistent: Any, context: Any) -> None:
    """Refuse options that PyTorch refuses."""
    text = ""
    if num_workers < 0:
        text = "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
    elif timeout < 0:
        text = "timeout option should be non-negative"
    elif not num_workers and prefetch_factor is not None:
        text = "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, "
        text += "otherwise set prefetch_factor to None."
    elif prefetch_factor is not None and prefetch_factor < 0:
        text = "prefetch_factor option should be non-negative"
    elif persistent and not num_workers:
        text = "persistent_workers option needs num_workers > 0"
    elif context is not None and not num_workers:
        text = "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
    if text:
        raise ProgramError("ValueError", text)


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Refuse options that choose samples of a data set that cannot be indexed."""
    for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None:
            text = f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={formatted(given)}"
            raise ProgramError("ValueError", text)


class _Endless(Scripted):
    """The sampler of a loader that reads an iterable data set in its own order."""

    __slots__ = ()

    SCRIPT_NAME = "_InfiniteConstantSampler"

    def __iter__(self) -> Iterator[None]:
        return repeat(None)

    SCRIPT_METHODS = {"__iter__": Routine(__iter__)}


_REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each worker. "
    "Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
)
_NOT_PINNED = "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."


def _is_exactly(kind: type, value: Any) -> bool:
    return type(value) is kind


class LoaderIterator(Generated):
    """What `iter(loader)` gives: the batches of one pass, and how many these are."""

    __slots__ = ("loader", "read", "reported")

    SCRIPT_NAME = "_SingleProcessDataLoaderIter"
    SCRIPT_TYPE: ScriptType

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        super().__init__(batches, "DataLoader")
        self.loader = loader
        self.read = 0
        #: the length of an iterable data set that the loader has asked for
        self.reported = loader.reported

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        found = next(self.host)
        self.read += 1
        if self.reported is not None and self.read > self.reported:
            text = f"Length of IterableDataset {formatted(self.loader.dataset)} was reported to be {self.reported}"
            text += f"(when accessing len(dataloader)), but {self.read} samples have been fetched. "
            warnings.emit(text + (_REPLICAS if self.loader.num_workers else ""))
        return found

    def size(self) -> int:
        """The number of batches, which loaders of iterable data sets do not know."""
        return len(self.loader)

    SCRIPT_METHODS = {**Generated.SCRIPT_METHODS, "__next__": Routine(__next__), "__len__": Routine(size)}


class WorkersIterator(LoaderIterator):
    """The batches of one pass that workers read."""

    __slots__ = ()

    SCRIPT_NAME = "_MultiProcessingDataLoaderIter"


for _kind in (LoaderIterator, WorkersIterator):
    _kind.SCRIPT_TYPE = ScriptType(_kind.SCRIPT_NAME, "torch.utils.data.dataloader", None, partial(_is_exactly, _kind))


def _fixed(name: str) -> Callable[[Any, Any], None]:
    """A setter that refuses another value once the loader has begun with one."""

    def refuse(loader: DataLoader, value: Any) -> None:
        if hasattr(loader, name):
            raise ProgramError("ValueError", f"{name} attribute should not be set after {loader.SCRIPT_NAME} is initialized")
        setattr(loader, name, value)

    return refuse


class DataLoader(DataObject):
    """Reads a data set batch by batch."""

    SCRIPT_NAME = "DataLoader"
    _FIXED = "dataset batch_size sampler batch_sampler drop_last persistent_workers"
    SCRIPT_ATTRIBUTES = Attributes.read(
        f"{_FIXED} collate_fn generator num_workers pin_memory timeout worker_init_fn prefetch_factor multiprocessing_context "
        "pin_memory_device in_order"
    )
    SCRIPT_SETTERS = {name: _fixed(name) for name in _FIXED.split()} | {"collate_fn": checked_setter("collate_fn", callable, "callable")}

    def __init_subclass__(cls, known: bool = True) -> None:
        pass

    def __init__(
        self,
        dataset: Any,
        batch_size: Any = 1,
        shuffle: Any = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: Any = 0,
        collate_fn: Any = None,
        pin_memory: Any = False,
        drop_last: Any = False,
        timeout: Any = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Any = None,
        persistent_workers: Any = False,
        pin_memory_device: Any = "",
        in_order: Any = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if sampler is not None and shuffle:
            raise ProgramError("ValueError", "sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ProgramError(
                    "ValueError", "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ProgramError("ValueError", "batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset = dataset
        self.generator = generator
        self.num_workers = num_workers
        self.timeout, self.worker_init_fn, self.multiprocessing_context = timeout, worker_init_fn, multiprocessing_context
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        #: the length of an iterable data set, once it was asked for
        self.reported: int | None = None
        #: those that stay until the next pass
        self.workers: list[Worker] = []
        self.pin_memory_device, self.in_order = pin_memory_device, in_order
        if isinstance(dataset, IterableDataset):
            _check_iterable(shuffle, sampler, batch_sampler)
            sampler = _Endless()
        elif sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.batch_size = batch_size
        self.drop_last = drop_last
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory

    def __len__(self) -> int:
        if not isinstance(self.sampler, _Endless):
            return size_of(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count: int = size_of(self.dataset)
        self.reported = count
        if self.batch_size is None:
            return count
        batch: int = self.batch_size
        return count // batch if self.drop_last else -(-count // batch)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warnings.emit(_NOT_PINNED, once=f"pin_memory {bool(self.num_workers)}")
        endless = isinstance(self.sampler, _Endless)
        order = repeat(None) if endless else language.iterate(self.sampler if self.batch_sampler is None else self.batch_sampler)
        # PyTorch draws the seed of its workers even without workers
        base = 0 if self.workers else drawn_seed(generator_of(self.generator))
        if self.num_workers:
            from gradcli.core.data.workers import Worker, batches

            limits.check_list(self.num_workers)
            workers = self.workers or [Worker(self, number, base) for number in range(self.num_workers)]
            if self.persistent_workers:
                self.workers = workers
            return WorkersIterator(self, batches(self, workers, order))
        if endless:
            return LoaderIterator(self, self.batches_in_sequence(language.iterate(self.dataset)))
        return LoaderIterator(self, self.batches_by_index(self.dataset, order))

    def batches_by_index(self, dataset: Any, order: Iterator[Any]) -> Iterator[Any]:
        """The batches, or the samples without batching, of a data set for the indices, or lists of indices, in `order`."""
        for chosen in order:
            if self.batch_sampler is None:
                sample = sample_of(dataset, chosen)
                yield self.collate_fn(sample)
                continue
            batch = [sample_of(dataset, index) for index in language.iterate(chosen)]
            yield self.collate_fn(batch)

    def batches_in_sequence(self, samples: Iterator[Any]) -> Iterator[Any]:
        """The batches, or the samples without batching, of an iterable data set."""
        if self.batch_size is None:
            for sample in samples:
                yield self.collate_fn(sample)
            return
        check_batch_size(self.batch_size, self.drop_last)
        while batch := [_counted(sample) for sample in islice(samples, self.batch_size)]:
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield self.collate_fn(batch)

    SCRIPT_METHODS = DataObject.SCRIPT_METHODS | {function.__name__: Routine(function) for function in (__iter__, __len__)}


def _counted(sample: Any) -> Any:
    """The sample; reading it is a step of the program."""
    limits.evaluation.tick()
    return sample


script_type(DataLoader, "torch.utils.data.dataloader")
DataLoader.open_fields()
