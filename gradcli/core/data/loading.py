"""Samplers, which give the order of the samples, and the DataLoader, which reads them in batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.extensible import checked_setter
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Generated, Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.data.collating import default_collate, default_convert
from gradcli.core.data.data_object import DataObject
from gradcli.core.data.datasets import IterableDataset, sample_of, size_of
from gradcli.core.functions import catalog
from gradcli.core.random.generator import Generator, default
from gradcli.core.random.seeds import generator_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def _check_batch_size(size: int, drop_last: bool) -> None:
    """Raise the error of Python's function that takes so many samples together where it cannot count them."""
    if size > sys.maxsize:
        if drop_last:
            raise ProgramError("OverflowError", "cannot fit 'int' into an index-sized integer")
        raise ProgramError("ValueError", "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")


def _drawn_seed(source: Generator) -> int:
    return int(source.random_full(())[()])


class Sampler(DataObject):
    """The base of samplers."""

    SCRIPT_NAME = "Sampler"
    SCRIPT_TYPE: ScriptType

    def __init_subclass__(cls, known: bool = True) -> None:
        """Make the tables of a class and its type, if scripts know it."""
        if known:
            cls.SCRIPT_NAME = cls.__name__
            cls.SCRIPT_METHODS = DataObject.SCRIPT_METHODS | {name: Routine(vars(cls)[name]) for name in ("__iter__", "__len__")}
            cls.open_fields()
            script_type(cls, "torch.utils.data.sampler")

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise ProgramError("NotImplementedError", "")

    def __len__(self) -> int:
        raise ProgramError("TypeError", f"object of type '{self.SCRIPT_NAME}' has no len()")

    SCRIPT_METHODS = DataObject.SCRIPT_METHODS | {function.__name__: Routine(function) for function in (__iter__, __len__)}


class SequentialSampler(Sampler):
    """The samples in order."""

    SCRIPT_ATTRIBUTES = Attributes.read("data_source")

    def __init__(self, data_source: Any) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[Any]:
        return iter(range(size_of(self.data_source)))

    def __len__(self) -> int:
        return size_of(self.data_source)


class RandomSampler(Sampler):
    """The samples in random order; unless a generator is given, each pass seeds one from the default."""

    SCRIPT_ATTRIBUTES = Attributes.read("data_source replacement generator") | {"num_samples": len}
    SCRIPT_SETTERS = {"replacement": checked_setter("replacement", lambda value: type(value) is bool, "a bool")}

    def __init__(self, data_source: Any, replacement: Any = False, num_samples: Any = None, generator: Any = None) -> None:
        if type(replacement) is not bool:
            raise ProgramError("TypeError", f"replacement should be a boolean value, but got replacement={formatted(replacement)}")
        super().__init__(data_source)
        self.replacement = replacement
        self.wanted = num_samples
        self.generator = generator
        count = size_of(data_source) if num_samples is None else num_samples
        if not isinstance(count, int) or count <= 0:
            raise ProgramError("ValueError", f"num_samples should be a positive integer value, but got num_samples={formatted(count)}")

    def __iter__(self) -> Iterator[Any]:
        source = Generator().manual_seed(_drawn_seed(default)) if self.generator is None else generator_of(self.generator)
        total, count = size_of(self.data_source), len(self)
        limits.check_list(max(total, count))
        if self.replacement:
            for begin in range(0, count, 32):
                yield from source.randint(0, total, (min(32, count - begin),)).tolist()
            return
        if not total:
            raise ProgramError("ZeroDivisionError", "integer division or modulo by zero")
        for _ in range(count // total):
            yield from source.randperm(total).tolist()
        yield from source.randperm(total).tolist()[: count % total]

    def __len__(self) -> int:
        return size_of(self.data_source) if self.wanted is None else int(self.wanted)


class SubsetRandomSampler(Sampler):
    """Given indices in random order."""

    SCRIPT_ATTRIBUTES = Attributes.read("indices generator")

    def __init__(self, indices: Any, generator: Any = None) -> None:
        super().__init__()
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[Any]:
        limits.check_list(len(self))
        for place in generator_of(self.generator).randperm(len(self)).tolist():
            yield sample_of(self.indices, place)

    def __len__(self) -> int:
        return size_of(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with the probabilities that weights give."""

    SCRIPT_ATTRIBUTES = Attributes.read("weights num_samples replacement generator")

    def __init__(self, weights: Any, num_samples: Any, replacement: Any = True, generator: Any = None) -> None:
        if type(num_samples) is not int or num_samples <= 0:
            text = f"num_samples should be a positive integer value, but got num_samples={formatted(num_samples)}"
            raise ProgramError("ValueError", text)
        if type(replacement) is not bool:
            raise ProgramError("ValueError", f"replacement should be a boolean value, but got replacement={formatted(replacement)}")
        super().__init__()
        self.weights: Tensor = catalog.function("as_tensor")(weights, dtype=dtypes.float64)
        if self.weights.array.ndim != 1:
            shape = tuple(self.weights.array.shape)
            raise ProgramError("ValueError", f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[Any]:
        drawn = catalog.function("multinomial")(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.array.tolist()

    def __len__(self) -> int:
        return int(self.num_samples)


class BatchSampler(Sampler):
    """Lists of indices from another sampler."""

    SCRIPT_ATTRIBUTES = Attributes.read("sampler batch_size drop_last")
    SCRIPT_SETTERS = {
        "batch_size": checked_setter("batch_size", lambda value: type(value) is int and value > 0, "a positive int"),
        "drop_last": checked_setter("drop_last", lambda value: type(value) is bool, "a bool"),
    }

    def __init__(self, sampler: Any, batch_size: Any, drop_last: Any) -> None:
        if type(batch_size) is not int or batch_size <= 0:
            raise ProgramError("ValueError", f"batch_size should be a positive integer value, but got batch_size={formatted(batch_size)}")
        if type(drop_last) is not bool:
            raise ProgramError("ValueError", f"drop_last should be a boolean value, but got drop_last={formatted(drop_last)}")
        super().__init__()
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[Any]:
        _check_batch_size(self.batch_size, self.drop_last)
        batch: list[Any] = []
        for index in language.iterate(self.sampler):
            limits.check_list(len(batch))
            limits.evaluation.tick()
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = size_of(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@Routine
def get_worker_info() -> None:
    """None: data sets are read in the program's own process."""


def _check_workers(num_workers: Any, worker_init_fn: Any, timeout: Any, prefetch_factor: Any, persistent: Any, context: Any) -> None:
    """Refuse options that PyTorch refuses, or that need processes of their own: here the loader starts none."""
    text = ""
    if num_workers < 0:
        text = "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
    elif timeout < 0:
        text = "timeout option should be non-negative"
    elif not num_workers and prefetch_factor is not None:
        text = "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, "
        text += "otherwise set prefetch_factor to None."
    elif persistent and not num_workers:
        text = "persistent_workers option needs num_workers > 0"
    elif context is not None and not num_workers:
        text = "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
    if text:
        raise ProgramError("ValueError", text)
    if num_workers and worker_init_fn is not None:
        raise ProgramError("NotImplementedError", "num_workers together with worker_init_fn is not part of gradcli")


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


_NOT_PINNED = "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."


class LoaderIterator(Generated):
    """What `iter(loader)` gives: the batches of one pass, and how many these are."""

    __slots__ = ("loader",)

    SCRIPT_NAME = "_SingleProcessDataLoaderIter"

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        super().__init__(batches, "DataLoader")
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        return self

    def size(self) -> int:
        """The number of batches, which loaders of iterable data sets do not know."""
        return len(self.loader)

    SCRIPT_METHODS = {**Generated.SCRIPT_METHODS, "__len__": Routine(size)}


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
        _check_workers(num_workers, worker_init_fn, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
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
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
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
        if self.batch_size is None:
            return count
        batch: int = self.batch_size
        return count // batch if self.drop_last else -(-count // batch)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory:
            warnings.emit(_NOT_PINNED, once=f"pin_memory {bool(self.num_workers)}")
        # PyTorch draws the seed of its workers even without workers
        order = language.iterate(self.sampler if self.batch_sampler is None else self.batch_sampler)
        _drawn_seed(generator_of(self.generator))
        batches = (
            self.batches_in_sequence(language.iterate(self.dataset)) if isinstance(self.sampler, _Endless) else self.batches_by_index(order)
        )
        return LoaderIterator(self, batches)

    def batches_by_index(self, order: Iterator[Any]) -> Iterator[Any]:
        """The batches, or the samples without batching, for the indices, or lists of indices, in `order`."""
        for chosen in order:
            if self.batch_sampler is None:
                sample = sample_of(self.dataset, chosen)
                yield self.collate_fn(sample)
                continue
            batch = [sample_of(self.dataset, index) for index in language.iterate(chosen)]
            yield self.collate_fn(batch)

    def batches_in_sequence(self, samples: Iterator[Any]) -> Iterator[Any]:
        """The batches, or the samples without batching, of an iterable data set."""
        if self.batch_size is None:
            for sample in samples:
                yield self.collate_fn(sample)
            return
        _check_batch_size(self.batch_size, self.drop_last)
        while batch := [_counted(sample) for sample in islice(samples, self.batch_size)]:
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield self.collate_fn(batch)

    SCRIPT_METHODS = DataObject.SCRIPT_METHODS | {function.__name__: Routine(function) for function in (__iter__, __len__)}


def _counted(sample: Any) -> Any:
    """The sample; reading it is a step of the program."""
    limits.evaluation.tick()
    return sample


script_type(Sampler, "torch.utils.data.sampler")
script_type(DataLoader, "torch.utils.data.dataloader")
DataLoader.open_fields()
