"""Rows of a table at indices, and class numbers as one-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.inplace_forms import apply
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import Array
from gradcli.core.kernels.scattering import add_at
from gradcli.core.ops.checks import check_size, is_sample, size, with_method
from gradcli.core.ops.elementwise.add_multiply import mul
from gradcli.core.ops.index.adding import added_in_half
from gradcli.core.ops.layers.samples import SQUARE, WEIGHT
from gradcli.core.ops.operators import ordered
from gradcli.core.ops.reduce.norms import NORM, check_kind
from gradcli.core.ops.rules import refused
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _scattered(grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool) -> Array:
    """The rows of grad added up at their indices, in a table of `rows` rows."""
    out = np.zeros((rows, grad.shape[-1]), grad.dtype)
    flat = indices.ravel()
    values = grad.reshape(flat.size, grad.shape[-1])
    if by_frequency:
        values = values / np.bincount(flat, minlength=rows)[flat][:, None].astype(grad.dtype)
    add_at(out, flat, values)
    if padding_idx is not None and padding_idx < rows:
        out[padding_idx] = 0
    return out


def rows_added_in_half(shape: tuple[int, int], targets: Array, values: Array, dtype: DType) -> Array:
    """Zeros of half precision, to whose rows those of `values` are added one after the other, with a rounding of each sum."""
    return added_in_half(shape, targets[:, None] * shape[1] + np.arange(shape[1]), values, dtype)


def _scattered_in_half(dtype: DType, grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool) -> Array:
    """PyTorch rounds each sum, and the products with the reciprocals of frequencies."""
    flat, width = indices.ravel(), grad.shape[-1]
    values = grad.reshape(flat.size, width)
    if by_frequency:
        shares = dtypes.stored(1 / np.bincount(flat, minlength=rows)[flat][:, None].astype(np.float32), dtype)
        values = dtypes.stored(values * shares, dtype).astype(grad.dtype)
    out = rows_added_in_half((rows, width), flat, values, dtype)
    if padding_idx is not None and padding_idx < rows:
        out[padding_idx] = 0
    return out


def _taken(grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool) -> Array:
    """The transpose of `_scattered`: a row for each index."""
    out = grad[indices]
    if by_frequency:
        out = out / np.bincount(indices.ravel(), minlength=rows)[indices][..., None].astype(grad.dtype)
    if padding_idx is not None:
        out = np.where((indices == padding_idx)[..., None], out.dtype.type(0), out)
    return out


_ATTRS = "indices rows padding_idx scale_grad_by_freq"


def _rows(grad: str, result: str) -> str:
    """The formula `result`, in which `rows` stands for the row that each index contributes."""
    return (
        f"kept = {grad} if padding_idx is None else {grad}.masked_fill((indices == padding_idx).unsqueeze(-1), 0); "
        "rows = kept / indices.flatten().bincount()[indices].unsqueeze(-1) if scale_grad_by_freq else kept; "
        f"{result}"
    )


EMBEDDING_BACKWARD: Op = Op(
    "EmbeddingDenseBackwardBackward0",
    _scattered,
    "grad_output",
    _ATTRS,
    in_half=_scattered_in_half,
    saved="indices padding_idx",
    grad_output=Rule(lambda xp, grad, attrs: xp.call(TAKE_ROWS, grad, *attrs), _rows("grad[indices]", "rows")),
)
TAKE_ROWS: Op = Op(
    "IndexSelectBackward0",
    _taken,
    "input",
    _ATTRS,
    saved="index=indices dim=0 self_sym_sizes",
    input=Rule(
        lambda xp, grad, attrs: xp.call(EMBEDDING_BACKWARD, grad, *attrs),
        _rows("grad", "zeros_like(input).index_put((indices,), rows, True)"),
    ),
)
EMBEDDING = Op(
    "EmbeddingBackward0",
    lambda weight, indices, padding_idx, scale_grad_by_freq: weight[indices],
    "weight",
    "indices padding_idx scale_grad_by_freq",
    saved="indices padding_idx scale_grad_by_freq sparse=False weight_sym_argsize_0",
    weight=Rule(
        lambda xp, grad, weight_shape, indices, padding_idx, scale_grad_by_freq: xp.call(
            EMBEDDING_BACKWARD, grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
        ),
        _rows("grad", "zeros_like(weight).index_put((indices,), rows, True)"),
    ),
)


def _shortened(weight: Array, indices: Array, most: float, p: float, dtype: DType) -> Array:
    """The table with the rows at the indices scaled down to the p-norm `most`."""
    weight = weight.copy()
    for row in np.unique(indices):
        values = Tensor(weight[row], dtype)
        norm = NORM(values, p, (0,), False).array.item()
        if norm > most:
            weight[row] = mul(values, Tensor(dtypes.cast(np.asarray(most / (norm + 1e-7)), dtype), dtype)).array
    return weight


SHORTENED = Op(
    "EmbeddingRenormBackward0",
    _shortened,
    "input",
    "indices max_norm norm_type dtype",
    complex=True,
    saved="",
    jvp=without_jvp("embedding_renorm_"),
    input=refused(lambda: ProgramError("NotImplementedError", "the derivative for 'embedding_renorm' is not implemented.")),
)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` at the indices; the row `padding_idx` gets no gradient, rows longer than `max_norm` are shortened.

    Raises AssertionError, IndexError or RuntimeError for indices, ranks or dtypes that do not fit.
    """
    if padding_idx is None:
        padding_idx = -1
    elif ordered(padding_idx, ">", 0):
        if ordered(padding_idx, ">=", size(with_method(weight, "size"), 0)):
            raise ProgramError("AssertionError", "Padding_idx must be within num_embeddings")
    elif ordered(padding_idx, "<", 0):
        rows = size(with_method(weight, "size"), 0)
        if ordered(padding_idx, "<", -rows):
            raise ProgramError("AssertionError", "Padding_idx must be within num_embeddings")
        padding_idx = rows + padding_idx
    if max_norm is not None:
        input, weight = contiguous(with_method(input, "contiguous")), with_method(weight, "detach")
        shorten(weight, input, max_norm, norm_type)
    return catalog.function("embedding")(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """`torch.embedding_renorm_`."""
    shape = weight.array.shape
    if len(shape) != 2:
        raise shape_error(
            f"Expected 2-dimensional tensor, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking arguments for "
            "embedding_renorm_)"
        )
    check_indices("embedding_renorm_", indices, 2)
    if shape[0] > 1 and not weight.array.strides[0] and weight.array.size:
        raise ProgramError("NotImplementedError", "embedding_renorm_ of rows that share memory is not part of gradcli")
    for index in np.unique(indices.array).tolist():
        if not -shape[0] <= index < shape[0]:
            raise shape_error(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension 0", "IndexError")
    if indices.array.size:
        check_kind(weight)
    return apply(weight, lambda t: SHORTENED(t, indices.array, max_norm, norm_type, t.dtype))


def shorten(weight: Tensor, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows at the indices down to a norm, outside of the graph."""
    RENORM(detach(weight), indices, max_norm, norm_type)


RENORM = Function(
    "embedding_renorm_",
    ("Tensor input, Tensor indices, float max_norm, float norm_type", _renorm),
    doc="The rows of a table at the indices scaled down to a norm, in place.",
    samples=(Sample("torch.embedding_renorm_(tensor([[3., 4.], [0.3, 0.4]]), tensor([0, 1]), 1., 2.)"),),
    method=False,
)


def check_indices(function: str, indices: Tensor, position: int = 1, name: str = "indices") -> None:
    """Raise RuntimeError for what is no whole number of 32 or 64 bits."""
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise runtime_error(
            f"Expected tensor for argument #{position} '{name}' to have one of the following scalar types: Long, Int; but got "
            f"{indices.dtype.tensor_name} instead (while checking arguments for {function})"
        )


def _check_range(indices: Array, weight: Tensor) -> None:
    if indices.size and not weight.array.shape[0]:
        raise shape_error("index_select(): self indexing axis dim should be positive")
    wrong = indices[(indices < 0) | (indices >= weight.array.shape[0])]
    if wrong.size and not weight.array.shape[1]:
        raise runtime_error(f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={weight.array.shape[0]}")
    if wrong.size:
        raise ProgramError("IndexError", "index out of range in self")


def _looked_up(weight: Tensor, input: Tensor, padding_idx: int | None, scale_grad_by_freq: bool = False) -> Any:
    if weight.array.ndim != 2:
        raise shape_error("'weight' must be 2-D")
    check_indices("embedding", input)
    _check_range(input.array, weight)
    limits.check_elements(input.array.size * weight.array.shape[1], weight.dtype.itemsize)
    return EMBEDDING(weight, watched(input).copy(), padding_idx, scale_grad_by_freq)


def one_hot(input: Tensor, num_classes: int) -> Tensor:
    """Rows with a 1 at the class number and 0 elsewhere; -1 stands for as many classes as needed.

    Raises RuntimeError for class numbers or dtypes that do not fit.
    """
    if input.dtype is not dtypes.int64:
        raise runtime_error("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1 and is_sample(input):
        raise runtime_error("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
    indices = input.array
    if not indices.size and num_classes <= 0:
        raise runtime_error("Can not infer total number of classes from empty tensor.")
    if indices.size and indices.min() < 0:
        raise runtime_error("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(indices.max()) + 1
    elif indices.size and indices.max() >= num_classes:
        raise runtime_error("Class values must be smaller than num_classes.")
    check_size((*indices.shape, num_classes), 8)
    made = Tensor(np.zeros((*indices.shape, num_classes), np.int64), dtypes.int64)
    if indices.size:
        np.put_along_axis(made.array, np.expand_dims(indices, -1), 1, -1)
        made.counter().count = 2  # PyTorch fills, and writes the ones
    return made


def _under_torch(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    """The form under `torch`, where a negative `padding_idx` means none."""
    if weight.requires_grad and state.enabled:
        size(weight, 0)  # PyTorch asks for this size before it checks anything
    if sparse and weight.requires_grad and state.enabled:
        raise ProgramError("NotImplementedError", "the gradient of embedding with sparse=True, a sparse tensor, is not part of gradcli")
    return _looked_up(weight, indices, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        embedding,
        "embedding",
        "Rows of a table at indices.",
        unchecked=True,
        ops=(EMBEDDING,),
        samples=(Sample("F.embedding(tensor([1, 0, 1]), w)", lambda w: w[[1, 0, 1]], w=WEIGHT),),
    ),
    Function(
        "one_hot",
        ("Tensor input, int num_classes=-1", one_hot),
        doc="Class numbers as rows with a single 1.",
        samples=(Sample("F.one_hot(tensor([0, 2, 1]))"),),
        namespace="torch.nn.functional",
        method=False,
    ),
    Function(
        "embedding",
        ("Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False", _under_torch),
        doc="The rows of a table at the indices.",
        samples=(Sample("torch.embedding(x, tensor([1, 0, 1]))", lambda x: x[[1, 0, 1]], x=SQUARE),),
        method=False,
    ),
    RENORM,
)
