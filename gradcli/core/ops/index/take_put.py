"""take and put, which count positions in the flattened tensor, and take_along_dim."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.graph.write_checks import read_while_written, warn_of_samples
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import common_shape, size, wrap_dim
from gradcli.core.ops.index.adding import combined_in_bfloat16, combined_in_steps
from gradcli.core.ops.index.gather_scatter import gather, out_of_bounds, out_of_range
from gradcli.core.ops.rules import in_half_precision, zeros_as
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error, shape_error


def _put(a: Array, source: Array, index: Array, accumulate: bool, add: Any = combined_in_steps) -> Array:
    made = np.array(a, order="C")
    flat = made.reshape(-1)
    index = index.reshape(source.shape)
    # of elements that go to the same position the last one counts, in the order in which PyTorch walks both
    order = memory_format.outer_first(source.shape, memory_format.element_strides(source), [index])
    places, values = (x.transpose(order).reshape(-1) for x in (index, source))
    if accumulate:
        add(flat, (places,), values)
    else:
        flat[places] = values
    return made


def _put_rule(xp: Any, grad: Any, index: Any, accumulate: bool, input_dtype: Any) -> Any:
    return grad if accumulate else xp.call(PUT, grad, xp.zeros(index.shape, input_dtype), index, False)


TAKE: Op = Op(
    "TakeBackward0",
    lambda a, index: a.reshape(-1)[index],
    "input",
    "index",
    saved="index self",
    layout="contiguous",
    input=Rule(
        lambda xp, grad, input, index, input_dtype: xp.call(_put_of(input_dtype), zeros_as(xp, input), grad, index, True),
        "zeros_like(input).put(index, grad, True)",
    ),
    complex=True,
)
PUT: Op = Op(
    "PutBackward0",
    _put,
    "input source",
    "index accumulate",
    saved="index source accumulate",
    layout="preserved",
    input=Rule(_put_rule, "grad if accumulate else grad.put(index, zeros_like(source))"),
    source=Rule(lambda xp, grad, index, source_shape: xp.reshape(xp.call(TAKE, grad, index), source_shape), "grad.take(index)"),
    complex=True,
)
_PUT_BFLOAT = in_half_precision(PUT, partial(_put, add=combined_in_bfloat16), "preserved")


def _put_of(dtype: DType) -> Op:
    return _PUT_BFLOAT if dtype is dtypes.bfloat16 else PUT


def _not_long(name: str, index: Tensor) -> ProgramError:
    return runtime_error(f"{name}(): Expected a long tensor for index, but got {index.dtype.torch_name}")


def _flat_positions(name: str, input: Tensor, index: Tensor) -> Array:
    """The positions that an index gives in the flattened tensor. Raises RuntimeError, and IndexError if out of range."""
    if index.dtype is not dtypes.int64:
        raise _not_long(name, index)
    count = input.array.size
    if not count and index.array.size:
        does = "tried to take from" if name == "take" else "Tried to put elements into"
        raise ProgramError("IndexError", f"{name}(): {does} an empty tensor")
    bad = out_of_range(index.array, count, -count)
    if bad is not None:
        raise out_of_bounds(f"out of range: tried to access index {bad} on a tensor of {count} elements.", "IndexError")
    return watched(index)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at positions of the flattened tensor, in the shape of the index."""
    warn_of_samples("take", input, index)
    return TAKE(input, _flat_positions("take", input, index))  # type: ignore[no-any-return]


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with the elements of `source` written, or added with `accumulate`, at positions of the flattened tensor."""
    warn_of_samples("put", input, index, source)
    if index.dtype is not dtypes.int64:
        raise _not_long("put_", index)
    if input.dtype is not source.dtype:
        raise runtime_error(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.torch_name} and source.dtype = "
            f"{source.dtype.torch_name}"
        )
    if index.array.size != source.array.size:
        raise ProgramError(
            "IndexError",
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.array.size}, index.numel() = {index.array.size}",
        )
    return _put_of(input.dtype)(input, source, _flat_positions("put_", input, index), accumulate)  # type: ignore[no-any-return]


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with input and indices broadcast to each other; without `dim`, of the flattened tensors."""
    if dim is None:
        return gather(view(input, (-1,)), 0, view(indices, (-1,)))
    if input.array.ndim != indices.array.ndim:
        raise shape_error(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.array.ndim} dimensions for input, and {indices.array.ndim} dimensions for indices"
        )
    if indices.dtype is not dtypes.int64:
        raise runtime_error(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.torch_name}")
    at = wrap_dim(dim, input.array.ndim)
    size(input, at)  # raises the error for a 0-d tensor, which has no sizes
    a, b = list(input.array.shape), list(indices.array.shape)
    length, count = a[at], b[at]
    a[at] = b[at] = 1
    shape = list(common_shape([tuple(a), tuple(b)]))
    wide_input, wide_index = list(shape), list(shape)
    wide_input[at], wide_index[at] = length, count
    if not length and 0 not in wide_index:
        raise runtime_error("ZeroDivisionError")
    return gather(expand(input, wide_input), at, wrap(np.broadcast_to(indices.array % max(length, 1), wide_index)))


def _check_long(values: list[Any], out: Tensor) -> None:
    if values[1].dtype is not dtypes.int64:
        raise _not_long("take", values[1])


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_V: Any = [7.0, 8.0]


def _take_out(input: Tensor, index: Tensor) -> Out:
    def lay_out(out: Tensor, result: Tensor) -> None:
        """Give the result the strides of the index, which `out` gets too where it gets the shape."""
        result.array = memory_format.laid_out(result.array, memory_format.preserved(index.array))

    text = "take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}"
    anywhere = Tensor(np.zeros(index.array.shape, np.int64), dtypes.int64)
    return Out(text, first=True, inspect=_check_long, check=lay_out, instead={1: anywhere})


def _check_views(values: list[Any], out: Tensor) -> None:
    with recording(False):
        for tensor in values[:2]:
            view(Tensor(tensor.array, tensor.dtype), (-1,))
    if values[1].array.ndim != 1 and np.shares_memory(out.array, values[1].array):
        raise read_while_written()


def _along_dim_out(input: Tensor, indices: Tensor, dim: int | None) -> Out:
    if dim is None:  # this is `gather` of vectors
        return Out(
            EXACT, operator="gather", first=True, overlap=("any", "partial"), prepare=_check_views, shape=lambda _: (indices.array.size,)
        )
    return Out(EXACT, operator="gather", late=True, overlap=("any", ""))


FUNCTIONS = (
    Function(
        "take",
        ("Tensor input, Tensor index", take),
        doc="Elements by their position in the flattened tensor.",
        ops=(TAKE,),
        samples=(Sample("take(x, tensor([5, 0, 0]))", lambda x: x.reshape(-1)[[5, 0, 0]], x=_M),),
        out=_take_out,
        overlap="any",
    ),
    Function(
        "put",
        ("Tensor input, Tensor index, Tensor source, bool accumulate=False", put),
        doc="A copy with elements written, or added, at positions of the flattened tensor.",
        ops=(PUT,),
        samples=(Sample("put(x, tensor([5, 0]), v)", None, x=_M, v=_V), Sample("put(x, tensor([5, 5]), v, True)", None, x=_M, v=_V)),
        inplace=True,
        overlap="any",
    ),
    Function(
        "take_along_dim",
        ("Tensor input, Tensor indices, int? dim=None", take_along_dim),
        doc="gather, with input and indices broadcast to each other.",
        samples=(Sample("take_along_dim(x, tensor([[2], [0]]), 1)", lambda x: np.take_along_axis(x, np.array([[2], [0]]), 1), x=_M),),
        out=_along_dim_out,
    ),
)
