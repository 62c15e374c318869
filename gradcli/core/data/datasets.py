"""Data sets: of tensors, parts of data sets, and several data sets in a row."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.extensible import checked_setter
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, ScriptType, script_type, sequence_of
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.data.data_object import DataObject
from gradcli.core.ops.index.indexing import getitem
from gradcli.core.random.seeds import generator_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: types of Python values that may be used as a data set
_SEQUENCES = (list, tuple, str, range)


def size_of(data: Any) -> int:
    """The number of samples. TypeError for a value without a length."""
    if type(data) is Tensor and data.array.ndim:
        return len(data.array)
    return len(data) if isinstance(data, (*_SEQUENCES, dict)) else language.length(data)


def sample_of(data: Any, index: Any) -> Any:
    """`data[index]`."""
    if type(data) is Tensor:
        return getitem(data, index)
    return language.item(data, index)


class Dataset(DataObject):
    """The base of data sets."""

    SCRIPT_NAME = "Dataset"
    SCRIPT_TYPE: ScriptType

    def __init_subclass__(cls, known: bool = True) -> None:
        """Make the tables of a class and its type, if scripts know it."""
        if known:
            cls.declare("torch.utils.data.dataset")

    def __init__(self) -> None:
        pass

    def __len__(self) -> int:
        raise ProgramError("TypeError", f"object of type '{self.SCRIPT_NAME}' has no len()")

    def __getitem__(self, index: Any) -> Any:
        raise ProgramError("NotImplementedError", "Subclasses of Dataset should implement __getitem__.")

    def __iter__(self) -> Iterator[Any]:
        """The samples from the first to the last, as Python iterates over a class without `__iter__`."""
        for index in range(len(self)):
            yield self[index]

    def __add__(self, other: Any) -> Dataset:
        return ConcatDataset([self, other])

    def special(self, name: str) -> Callable[..., Any] | None:
        """The method of the operator `+`; None for another."""
        return partial(self.SCRIPT_METHODS[name], self) if name == "__add__" else None

    SCRIPT_METHODS = DataObject.SCRIPT_METHODS | {
        function.__name__: Routine(function) for function in (__len__, __getitem__, __iter__, __add__)
    }


class IterableDataset(Dataset):
    """The base of data sets that only give their samples one after the other."""

    def __iter__(self) -> Iterator[Any]:
        raise ProgramError("NotImplementedError", "Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> Dataset:
        return ChainDataset([self, other])

    SCRIPT_METHODS = Dataset.SCRIPT_METHODS | {"__add__": Routine(__add__)}


class ChainDataset(IterableDataset):
    """Iterable data sets one after the other."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = datasets

    def _parts(self) -> Iterator[Any]:
        for dataset in language.iterate(self.datasets):
            if not isinstance(dataset, IterableDataset):
                raise ProgramError("AssertionError", "ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._parts():
            yield from language.iterate(dataset)

    def __len__(self) -> int:
        return sum(map(size_of, self._parts()))


def _are_tensors(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(one) is Tensor and one.array.ndim > 0 for one in value)


class TensorDataset(Dataset):
    """Tensors with the samples along the first dimension; a sample is a tuple."""

    SCRIPT_ATTRIBUTES = Attributes.read("tensors")
    SCRIPT_SETTERS = {"tensors": checked_setter("tensors", _are_tensors, "a tuple of tensors")}

    def __init__(self, *tensors: Any) -> None:
        for tensor in tensors:
            if type(tensor) is not Tensor:
                raise no_attribute(tensor, "size")
            if not tensor.array.ndim:
                raise ProgramError("IndexError", "Dimension specified as 0 but tensor has no dimensions")
        if any(len(tensor.array) != len(tensors[0].array) for tensor in tensors):
            raise ProgramError("AssertionError", "Size mismatch between tensors")
        self.tensors = tensors

    def __len__(self) -> int:
        if not self.tensors:
            raise ProgramError("IndexError", "tuple index out of range")
        return len(self.tensors[0].array)

    def __getitem__(self, index: Any) -> Any:
        return tuple(getitem(tensor, index) for tensor in self.tensors)


class Subset(Dataset):
    """Chosen samples of a data set."""

    SCRIPT_ATTRIBUTES = Attributes.read("dataset indices")

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        return size_of(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return sample_of(self.dataset, [sample_of(self.indices, i) for i in index])
        return sample_of(self.dataset, sample_of(self.indices, index))


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) is int for one in value)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    SCRIPT_ATTRIBUTES = Attributes.read("datasets cumulative_sizes")
    SCRIPT_SETTERS = {
        "datasets": checked_setter("datasets", lambda value: isinstance(value, list), "a list"),
        "cumulative_sizes": checked_setter("cumulative_sizes", _are_sizes, "a list of ints"),
    }

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(sequence_of(datasets))
        if not self.datasets:
            raise ProgramError("AssertionError", "datasets should not be an empty iterable")
        if any(isinstance(one, IterableDataset) for one in self.datasets):
            raise ProgramError("AssertionError", "ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(size_of, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            if -index > len(self):
                raise ProgramError("ValueError", "absolute value of index should not exceed dataset length")
            index += len(self)
        place = bisect_right(self.cumulative_sizes, index)
        if place >= len(self.datasets):
            raise ProgramError("IndexError", "list index out of range")
        before = self.cumulative_sizes[place - 1] if place else 0
        return sample_of(self.datasets[place], index - before)


class StackDataset(Dataset):
    """Data sets side by side: a sample is a tuple, or for data sets with names a dict, of their samples."""

    SCRIPT_ATTRIBUTES = Attributes.read("datasets")
    SCRIPT_SETTERS = {"datasets": checked_setter("datasets", lambda value: isinstance(value, (tuple, list, dict)), "a tuple or a dict")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            text = "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are given."
            raise ProgramError("ValueError", text)
        self.datasets: Any = args or kwargs
        if not self.datasets:
            raise ProgramError("ValueError", "At least one dataset should be passed")
        sizes = [size_of(data) for data in args or kwargs.values()]
        if any(size != sizes[0] for size in sizes):
            raise ProgramError("ValueError", "Size mismatch between datasets")
        self.size = sizes[0]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: sample_of(data, index) for name, data in self.datasets.items()}
        return tuple([sample_of(data, index) for data in self.datasets])


def _split_sizes(total: int, lengths: list[Any]) -> list[Any]:
    """Fractions of 1 as counts of samples; the samples left over go one each to the first parts. Counts stay counts."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return lengths
    for i, part in enumerate(lengths):
        if part < 0 or part > 1:
            raise ProgramError("ValueError", f"Fraction at index {i} is not between 0 and 1")
    sizes = [math.floor(total * part) for part in lengths]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.emit(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return sizes


@Routine
def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """Random parts of a data set without common samples."""
    total = size_of(dataset)
    sizes = _split_sizes(total, list(sequence_of(lengths)))
    if sum(sizes) != total:
        raise ProgramError("ValueError", "Sum of input lengths does not equal the length of the input dataset!")
    limits.check_list(total)
    order = generator_of(generator).randperm(total).tolist()
    return [Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)]


script_type(Dataset, "torch.utils.data.dataset")
