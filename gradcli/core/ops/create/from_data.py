"""Tensors from numbers, nested lists and other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import check_no_view
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import is_index, language
from gradcli.core.calling.type_errors import not_an_integer, not_one_element, type_error
from gradcli.core.functions.function import Function, Sample, SingleArgument
from gradcli.core.graph.clone import CLONE
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import check_rank
from gradcli.core.ops.create.leaf import cannot_pin, leaf
from gradcli.core.ops.shape.casting import converted, to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

#: PyTorch's bound on the depth of nested sequences
_MAX_DIMS = 128
#: beyond so many dimensions steps are counted: what is shared is visited once for each path
_FEW_DIMS = 4


def _sizes(data: Any) -> list[int]:
    """The lengths of the first elements at each depth of nested sequences; a tensor counts as one number."""
    sizes: list[int] = []
    while True:
        if not isinstance(data, (list, tuple, str, range)):
            return sizes
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise shape_error(f"too many dimensions '{language.type_name(data)}'", "ValueError")
        if not data:
            return sizes
        data = data[0]


def _collect(data: Any, sizes: list[int]) -> list[Any]:
    """The elements in row-major order. Raises TypeError or ValueError for ragged data, LimitError for too many elements."""
    level: list[Any] = [data]
    for depth, size in enumerate(sizes):
        below: list[Any] = []
        for part in level:
            if depth >= _FEW_DIMS:
                limits.evaluation.tick()
            if type(part) is Tensor:
                if part.array.ndim == 0:
                    raise ProgramError("TypeError", "not a sequence")
                part = [Tensor(np.asarray(row), part.dtype) for row in part.array]
            elif not isinstance(part, (list, tuple, range)):
                raise ProgramError("TypeError", "not a sequence")
            if len(part) != size:
                raise ProgramError("ValueError", f"expected sequence of length {size} at dim {depth} (got {len(part)})")
            below.extend(part)
        limits.check_elements(len(below))
        level = below
    return level


def _infer(elements: list[Any]) -> DType:
    """The dtype that all elements promote to. Raises TypeError or RuntimeError for what is not a number."""
    found: DType | None = None
    for kind in dict.fromkeys(map(type, elements)):
        if kind is float:
            dtype = dtypes.get_default()
        elif kind is int:
            dtype = dtypes.int64
        elif kind is bool:
            dtype = dtypes.bool_
        elif kind is complex:
            if dtypes.get_default() is dtypes.bfloat16:
                raise runtime_error("invalid default scalar type for complex")
            dtype = dtypes.scalar_dtype(0j)
        elif kind in (Tensor, list, tuple, range):
            continue
        else:
            value = next(e for e in elements if type(e) is kind)
            if kind is str:
                raise ProgramError("TypeError", "new(): invalid data type 'str'")
            raise runtime_error(f"Could not infer dtype of {language.type_name(value)}")
        found = dtype if found is None else dtypes.promote(found, dtype)
    for element in elements:
        if type(element) is Tensor:
            found = element.dtype if found is None else dtypes.promote(found, element.dtype)
        elif isinstance(element, (list, tuple, range)):
            limits.evaluation.tick()
            if any(item is element for item in element):
                raise ProgramError("TypeError", "new(): self-referential lists are incompatible")
            inner = _infer(list(element))
            found = inner if found is None else dtypes.promote(found, inner)
    return dtypes.get_default() if found is None else found


def _numbers(elements: list[Any], dtype: DType) -> Array:
    """The elements as an array of `dtype`. Raises the errors of Python and PyTorch for values that do not fit it."""
    kinds = set(map(type, elements))
    if not kinds <= {int, float, bool, complex}:
        elements = [_scalar(e, dtype) for e in elements]
        kinds = set(map(type, elements))
    if complex in kinds and not dtype.is_complex and dtype is not dtypes.bool_:
        text = "must be real number, not complex" if dtype.is_floating_point else "'complex' object cannot be interpreted as an integer"
        raise ProgramError("TypeError", text)
    if dtype.is_differentiable:
        try:
            array = np.array(elements, np.complex128 if dtype.is_complex else np.float64)
        except OverflowError:
            raise ProgramError("OverflowError", "int too large to convert to float") from None
        return dtypes.cast(array, dtype)
    if dtype is dtypes.bool_:
        return np.array([bool(e) for e in elements], np.bool_)
    if float in kinds:
        return np.array([scalar_of(e, dtype, dtype.name) for e in elements], dtype.np)
    try:
        array = np.array(elements, np.int64) if elements else np.zeros(0, np.int64)
    except OverflowError:
        raise ProgramError("ValueError", "Overflow when unpacking long long") from None
    if dtype is not dtypes.int64 and elements:
        info = np.iinfo(dtype.np)
        low = info.min or -info.max
        if array.max(initial=0) > info.max or array.min(initial=0) < low:
            raise runtime_error(f"value cannot be converted to type {dtype.name} without overflow")
    return array.astype(dtype.np)


def _scalar(element: Any, dtype: DType) -> Any:
    """The number that an element stands for. Raises TypeError or ValueError for what is not a number."""
    if type(element) is Tensor:
        warnings.of_scalar(element.requires_grad and dtype.is_floating_point)
        if element.array.size != 1 and dtype.is_differentiable:
            raise not_one_element()
        if not dtype.is_differentiable and not is_index(element):
            raise not_an_integer(element)
        return element.number()
    if type(element) in (int, float, bool, complex):
        return element
    kind = language.type_name(element)
    if dtype.is_differentiable:
        raise ProgramError("TypeError", f"must be real number, not {kind}")
    raise ProgramError("TypeError", f"'{kind}' object cannot be interpreted as an integer")


def from_data(data: Any, dtype: DType | None = None) -> Tensor:
    """A tensor of numbers, nested sequences or a tensor, always a copy.

    `dtype` None means that of the elements. Raises the errors of `torch.tensor` for ragged data and values that do not fit.
    """
    if isinstance(data, str):
        raise ProgramError("TypeError", "new(): invalid data type 'str'")
    if type(data) is Tensor:
        wanted = dtype or data.dtype
        return Tensor(converted(data.array, wanted), wanted)
    if dtype is not None and dtype.is_floating_point and (type(data) is float or (type(data) is list and set(map(type, data)) == {float})):
        if type(data) is list:
            limits.check_elements(len(data))
        return Tensor(dtypes.cast(np.array(data, np.float64), dtype), dtype)
    given = language.as_array(data)
    if given is not None:
        wanted = dtype or _of_numpy(given)
        _check_integers(data, wanted)
        return Tensor(converted(given, wanted), wanted)
    try:
        return _from_sequences(data, dtype)
    except ProgramError:
        if not _holds_others(data):
            raise
        plain, inferred = _with_numpy(data)
        wanted = dtype or inferred
        _check_integers(data, wanted)
        return _from_sequences(plain, wanted)


def from_positions(data: Any) -> Tensor:
    """The tensor that PyTorch makes of a sequence in an index: a mask of truth values or bytes, else whole numbers.

    Raises the errors of `from_data`.
    """
    inferred = _with_numpy(data)[1] if _holds_others(data) else _infer(list(data))
    return from_data(data, inferred if inferred in (dtypes.bool_, dtypes.uint8) else dtypes.int64)


def _with_numpy(data: Any) -> tuple[Any, DType]:
    """Nested lists with Python numbers for what is numpy's in `data`, and the dtype that all of it promotes to."""
    found: list[DType] = []
    plain = _as_lists(data, found)
    return plain, _infer([Tensor(np.empty(0, one.np), one) for one in found])


_LIST_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
    "numpy.ndarray with numpy.array() before converting to a tensor. (Triggered internally at "
    "/__w/pytorch/pytorch/torch/csrc/utils/tensor_new.cpp:252.)"
)


def _holds_others(data: Any, depth: int = 0) -> bool:
    """Whether an array or scalar of numpy, or a sequence that is neither list nor tuple, is among nested sequences."""
    if isinstance(data, (list, tuple)):
        if depth > _FEW_DIMS:
            limits.evaluation.tick()
        return depth < _MAX_DIMS and any(_holds_others(item, depth + 1) for item in data)
    return language.as_array(data) is not None or language.as_sequence(data) is not None


def _as_lists(data: Any, found: list[DType], depth: int = 0, first: bool = True) -> Any:
    """Nested lists with Python numbers for what is numpy's in `data`; `found` gets the dtypes. Raises ValueError beyond 128 dimensions."""
    if depth > _MAX_DIMS:
        raise shape_error(f"too many dimensions '{language.type_name(data)}'", "ValueError")
    if type(data) is list and data and language.as_number(data[0]) is None and language.as_array(data[0]) is not None:
        warnings.emit(_LIST_OF_ARRAYS, once="list of arrays")
    array = language.as_array(data)
    # PyTorch finds the shape by the first items alone, of which it takes the lengths
    if first and depth and array is not None and not array.ndim and language.as_number(data) is None:
        raise ProgramError("TypeError", "len() of unsized object")
    items = data if isinstance(data, (list, tuple)) else language.as_sequence(data) if array is None else None
    if items is not None:
        limits.evaluation.tick()
        return [_as_lists(item, found, depth + 1, first and not at) for at, item in enumerate(items)]
    if array is None:
        if type(data) in (int, float, bool, complex):
            found.append(_infer([data]))
        elif type(data) is Tensor:
            found.append(data.dtype)
        return data
    limits.check_elements(array.size, 32)
    found.append(_of_numpy(array))
    return array.tolist()


def _check_integers(data: Any, dtype: DType) -> None:
    """Raise TypeError for a number of numpy's that has no `__index__`, float64 apart, where `dtype` stores whole numbers."""
    if dtype.is_differentiable:
        return
    if isinstance(data, (list, tuple)):
        for item in data:
            _check_integers(item, dtype)
    elif language.as_number(data) is not None:
        kind = language.as_array(data).dtype  # type: ignore[union-attr]
        if (kind.kind == "f" and kind.itemsize < 8) or (kind.kind == "b" and dtype is not dtypes.bool_):
            raise not_an_integer(data)


def _of_numpy(array: Array) -> DType:
    """The dtype of the tensor that an array becomes. Raises TypeError, ValueError for what tensors do not have."""
    if any(stride < 0 for stride in array.strides):
        raise ProgramError(
            "ValueError",
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported. "
            "(You can probably work around this by making a copy of your array  with array.copy().) ",
        )
    try:
        return dtypes.of(array.dtype)
    except KeyError:
        raise ProgramError("TypeError", f"tensors of the dtype {array.dtype.name} are not part of gradcli") from None


def _from_sequences(data: Any, dtype: DType | None) -> Tensor:
    """A tensor of numbers in nested sequences."""
    sizes = _sizes(data)
    check_rank(len(sizes))
    if 0 in sizes:  # PyTorch does not compare lengths where there is no element to store
        wanted = dtype or _infer(list(data))
        return Tensor(np.zeros(sizes, wanted.np), wanted)
    elements = _collect(data, sizes)
    wanted = dtype or _infer(elements)
    array = _numbers(elements, wanted).reshape(sizes)
    return Tensor(array, wanted)


_COPIED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


def tensor(data: Any, dtype: DType | None, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    """`torch.tensor`: a copy of the data as a leaf. Raises the errors of `from_data`."""
    if type(data) is Tensor:
        warnings.emit(_COPIED.format("torch.tensor"))
        check_no_view(CLONE(data))  # PyTorch detaches its copy in place
    if pin_memory and dtype is not None:
        raise cannot_pin()
    made = from_data(data, dtype)
    if pin_memory:
        raise cannot_pin()
    return leaf(made.array, made.dtype, requires_grad)


def as_tensor(data: Any, dtype: DType | None, device: Any) -> Tensor:
    """`torch.as_tensor`: the tensor itself where its dtype stays. Raises the errors of `from_data`."""
    if type(data) is Tensor:
        return to_dtype(data, dtype or data.dtype)
    if language.as_array(data) is not None and language.as_number(data) is None:
        made = from_numpy(data)
        return made if dtype in (None, made.dtype) else to_dtype(made, dtype)
    return from_data(data, dtype)


_UNSPECIFIED = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False explicitly to "
    "get the old behavior and silence this warning. (Triggered internally at /__w/pytorch/pytorch/torch/csrc/utils/tensor_new.cpp:1737.)"
)


def asarray(obj: Any, dtype: DType | None, device: Any, copy: bool | None, requires_grad: bool | None) -> Tensor:
    """`torch.asarray`: the tensor or the memory of the array itself where neither dtype nor `copy` asks for a copy.

    Raises ValueError for `copy=False` where a copy is needed.
    """
    shared = language.as_array(obj) is not None and language.as_number(obj) is None
    made = obj if type(obj) is Tensor else from_numpy(obj) if shared else None
    if made is None and copy is False:
        raise ProgramError("ValueError", "can't alias arbitrary sequence into a tensor.")
    if made is None:
        made = from_data(obj, dtype)
    elif dtype is not None and dtype is not made.dtype:
        if copy is False:
            raise ProgramError("ValueError", f"can't alias tensor with dtype '{made.dtype.torch_name}' into dtype '{dtype.torch_name}'.")
        made = to_dtype(made, dtype)
    elif copy:
        made = CLONE(made)
    if requires_grad is None and made.requires_grad:
        warnings.emit(_UNSPECIFIED, once="asarray")
    return made if requires_grad in (None, made.requires_grad) else leaf(made.array, made.dtype, bool(requires_grad))


def from_numpy(ndarray: Any) -> Tensor:
    """The memory of a numpy array as a tensor. Raises TypeError for other values."""
    array = language.as_array(ndarray)
    if array is None or language.as_number(ndarray) is not None:
        raise type_error("expected np.ndarray (got {})", ndarray)
    return Tensor(array.view(), _of_numpy(array))


def _new_tensor(input: Tensor, data: Any, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    if type(data) is Tensor:
        warnings.emit(_COPIED.format("tensor.new_tensor"))
        check_no_view(CLONE(data))  # PyTorch detaches its copy in place
    made = from_data(data, dtype or input.dtype)
    return leaf(made.array, made.dtype, requires_grad)


_TENSOR = "any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False"
_AS_TENSOR = "*, dtype? dtype=None, device? device=None"

FUNCTIONS = (
    Function(
        "tensor",
        (f"{_TENSOR}, bool pin_memory=False", tensor),
        doc="A tensor of numbers and nested lists; a copy.",
        samples=(Sample("tensor([[1., 2.], [3., 4.]])"),),
        method=False,
    ),
    Function("as_tensor", (f"any data, {_AS_TENSOR}", as_tensor), doc="A tensor of data; the tensor itself where it is one.", method=False),
    Function(
        "asarray",
        (f"any obj, {_AS_TENSOR}, bool? copy=None, bool? requires_grad=None", asarray),
        doc="As as_tensor; copy asks for a copy, or for none.",
        method=False,
    ),
    SingleArgument(
        "from_numpy",
        ("any ndarray", from_numpy),
        at="torch._VariableFunctionsClass",
        doc="The memory of a numpy array as a tensor.",
        method=False,
    ),
    Function("new_tensor", (f"Tensor input, {_TENSOR}", _new_tensor), doc="A tensor of data in the same dtype.", function=False),
)
