"""Samplers, which give the order of the samples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from gradcli import limits
from gradcli.core.calling.extensible import checked_setter
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.data.data_object import DataObject
from gradcli.core.data.datasets import sample_of, size_of
from gradcli.core.functions import catalog
from gradcli.core.random.generator import Generator, default
from gradcli.core.random.seeds import generator_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def check_batch_size(size: int, drop_last: bool) -> None:
    """Raise the error of Python's function that takes so many samples together where it cannot count them."""
    if size > sys.maxsize:
        if drop_last:
            raise ProgramError("OverflowError", "cannot fit 'int' into an index-sized integer")
        raise ProgramError("ValueError", "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")


def drawn_seed(source: Generator) -> int:
    """A seed for other numbers, drawn from a generator."""
    return int(source.random_full(())[()])


class Sampler(DataObject):
    """The base of samplers."""

    SCRIPT_NAME = "Sampler"
    SCRIPT_TYPE: ScriptType

    def __init_subclass__(cls, known: bool = True) -> None:
        """Make the tables of a class and its type, if scripts know it."""
        if known:
            cls.declare("torch.utils.data.sampler")

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
        source = Generator().manual_seed(drawn_seed(default)) if self.generator is None else generator_of(self.generator)
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
        check_batch_size(self.batch_size, self.drop_last)
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


script_type(Sampler, "torch.utils.data.sampler")
