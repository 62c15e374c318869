"""Layers as functions: linear maps, normalisation, dropout, embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph import in_place as inplace
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise.add_multiply import MUL
from gradcli.core.ops.layers import records
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _view(x: Tensor, shape: tuple[int, ...]) -> Any:
    return catalog.method("view").method(x, (shape,), {})


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """`input @ weight.T + bias`."""
    rank, width = input.array.ndim, weight.array.ndim
    if not rank or not width:
        raise ProgramError("RuntimeError", f"both arguments to linear need to be at least 1D, but they are {rank}D and {width}D")
    transposed = _call("t", weight)
    if bias is None:
        return _call("mm" if rank == width == 2 else "matmul", input, transposed)
    if rank == 2:
        return _call("addmm", bias, input, transposed)
    if not input.array.flags.c_contiguous or not bias.array.ndim:
        return _call("matmul", input, transposed) + bias
    shape = input.array.shape
    flat = _call("addmm", bias, _view(input, (math.prod(shape[:-1]), shape[-1])), transposed)
    return _view(flat, (*shape[:-1], flat.array.shape[-1]))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """Divide by the p-norm along a dimension, at least eps."""
    norm = _call("linalg.vector_norm", input, p, dim, True)
    return input / catalog.method("expand_as").method(_call("clamp_min", norm, eps), (input,), {})


def one_hot(input: Tensor, num_classes: int) -> Tensor:
    """Class numbers as rows with a single 1."""
    if input.dtype is not dtypes.int64:
        raise ProgramError("RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.")
    indices = input.array
    if not indices.size and num_classes <= 0:
        if num_classes == -1:
            raise ProgramError("RuntimeError", "Can not infer total number of classes from empty tensor.")
        raise ProgramError("RuntimeError", "num_classes should be positive")
    if indices.size and indices.min() < 0:
        raise ProgramError("RuntimeError", "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(indices.max()) + 1
    elif indices.size and indices.max() >= num_classes:
        raise ProgramError("RuntimeError", "Class values must be smaller than num_classes.")
    limits.check_elements(indices.size * num_classes, 8)
    made = np.zeros((*indices.shape, num_classes), np.int64)
    np.put_along_axis(made, np.expand_dims(indices, -1), 1, -1)
    return Tensor(made, dtypes.int64)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Any:
    """The cosine of the angle between vectors along a dimension; their norms count as eps at least."""
    dtype = dtypes.promote(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise ProgramError("RuntimeError", f"expected common dtype to be floating point, yet common dtype is {dtype.torch_name}")
    x1, x2 = _call("broadcast_tensors", x1, x2) if x1.array.shape != x2.array.shape else (x1, x2)
    dim = wrap_dim(dim, x1.array.ndim)
    parts = [x / _at_least(_call("clone", _call("linalg.vector_norm", x, 2, (dim,), True)), eps) for x in (x1, x2)]
    return _call("sum", parts[0] * parts[1], (dim,))


def _at_least(norm: Tensor, eps: float) -> Tensor:
    """Raise small norms to eps without telling the graph, as PyTorch does."""
    np.maximum(norm.array, norm.array.dtype.type(eps), out=norm.array)
    return norm


def layer_norm(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enable: bool
) -> Any:
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted."""
    shape = input.array.shape
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.array.shape != tuple(normalized_shape):
            raise ProgramError(
                "RuntimeError",
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(tensor.array.shape)} and "
                f"normalized_shape = {list(normalized_shape)}",
            )
    if not normalized_shape or shape[-len(normalized_shape) :] != tuple(normalized_shape):
        inner = ", ".join(map(str, normalized_shape))
        raise ProgramError(
            "RuntimeError",
            f"Given normalized_shape=[{inner}], expected input with shape [*, {inner}], but got input of size{list(shape)}",
        )
    if not input.dtype.is_floating_point:
        raise ProgramError("NotImplementedError", f"\"LayerNormKernelImpl\" not implemented for '{input.dtype.torch_name}'")
    return records.LAYER_NORM(input, weight, bias, tuple(normalized_shape), eps)[0]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel, over the batch in training, else with running figures."""
    shape = input.array.shape
    if training and input.array.size // max(shape[1], 1) == 1:
        raise ProgramError("ValueError", f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise ProgramError("RuntimeError", f"{missing} must be defined in evaluation mode")
    tensors = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, tensor in tensors:
        if tensor is not None and tensor.array.size != shape[1]:
            raise ProgramError("RuntimeError", f"{name} should contain {shape[1]} elements not {tensor.array.size}")
    if training:
        if running_mean is not None and running_var is not None:
            records.follow(input.array, running_mean, running_var, momentum)
        return records.BATCH_NORM(input, weight, bias, eps)
    assert running_mean is not None and running_var is not None
    return records.BATCH_NORM_FIXED(input, weight, bias, running_mean.array.copy(), running_var.array.copy(), eps)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element is 0 with probability p, the others are divided by 1 - p."""
    if isinstance(p, (int, float)) and not 0.0 <= p <= 1.0:
        raise ProgramError("ValueError", f"dropout probability has to be between 0 and 1, but got {p}")
    return drop(input, float(p), bool(training), bool(inplace))


def drop(input: Tensor, p: float, training: bool, in_place: bool = False) -> Any:
    """Dropout of checked arguments."""
    if not 0.0 <= p <= 1.0:
        raise ProgramError("RuntimeError", f"dropout probability has to be between 0 and 1, but got {p:g}")
    if not training or p == 0 or not input.array.size:
        return input
    if p == 1:
        mask = np.zeros(input.array.shape, input.dtype.np)
    else:
        mask = generator.default.bernoulli(1 - p, input.array.shape, input.dtype.np, bfloat16=input.dtype is dtypes.bfloat16)
        if not input.dtype.is_floating_point:  # PyTorch has drawn by then
            raise inplace.result_dtype_error("Float", input.dtype)
        mask = dtypes.cast(np.asarray(mask / mask.dtype.type(1 - p)), input.dtype)
    factor = Tensor(mask, input.dtype)
    return inplace.apply(input, "dropout_", lambda x: MUL(x, factor)) if in_place else MUL(input, factor)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of a table at the indices; the row `padding_idx` gets no gradient."""
    rows = weight.array.shape[0] if weight.array.ndim else 0
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ProgramError("AssertionError", "Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if weight.array.ndim != 2:
        raise ProgramError("RuntimeError", "'weight' must be 2-D")
    if input.dtype not in (dtypes.int64, dtypes.int32):
        raise ProgramError(
            "RuntimeError",
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.torch_name}Tensor instead (while checking arguments for embedding)",
        )
    indices = input.array
    if indices.size and not (indices.min() >= 0 and indices.max() < rows):
        raise ProgramError("IndexError", "index out of range in self")
    limits.check_elements(indices.size * weight.array.shape[1], weight.dtype.itemsize)
    if max_norm is not None:
        records.shorten(weight, indices, float(max_norm), float(norm_type))
    return records.EMBEDDING(weight, watched(input).copy(), padding_idx, scale_grad_by_freq)


_X, _W = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], [[0.1, 0.2, 0.3], [-0.4, 0.5, 0.6]]

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "linear",
        ("Tensor input, Tensor weight, Tensor? bias=None", linear),
        doc="A linear map: input @ weight.T + bias.",
        samples=(
            Sample("F.linear(x, w, b)", lambda x, w, b: x @ w.T + b, x=_X, w=_W, b=[0.5, -1.0]),
            Sample("F.linear(x, w)", lambda x, w: x @ w.T, x=_X[0], w=_W),
        ),
        namespace="torch.nn.functional",
        method=False,
        out=True,
    ),
    PythonFunction(
        normalize,
        "normalize",
        "Divided by the norm along a dimension.",
        samples=(Sample("F.normalize(x)", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), x=_X),),
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
        "cosine_similarity",
        ("Tensor x1, Tensor x2, int dim=1, float eps=1e-08", cosine_similarity),
        doc="Cosine of the angle between vectors.",
        samples=(Sample("F.cosine_similarity(x, w)", None, x=_X, w=_W),),
        method=False,
        aliases=("nn.functional.cosine_similarity",),
    ),
    Function(
        "layer_norm",
        (
            "Tensor input, ints normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True",
            layer_norm,
        ),
        doc="Mean 0 and variance 1 over the last dimensions.",
        ops=(records.LAYER_NORM,),
        samples=(Sample("F.layer_norm(x, (3,), w, b)", None, x=_X, w=[1.0, 2.0, 0.5], b=[0.1, 0.2, 0.3]),),
        namespace="torch.nn.functional",
        method=False,
    ),
    PythonFunction(
        batch_norm,
        "batch_norm",
        "Mean 0 and variance 1 for each channel.",
        checked_as="batch_norm",
        ops=(records.BATCH_NORM, records.BATCH_NORM_FIXED),
        samples=(
            Sample("F.batch_norm(x, None, None, w, b, training=True)", None, x=[*_X, _W[0]], w=[1.0, 2.0, 0.5], b=[0.1, 0.2, 0.3]),
            Sample("F.batch_norm(x, tensor([1., 2., 3.]), tensor([1., 4., 2.]), w)", None, x=_X, w=[1.0, 2.0, 0.5]),
        ),
    ),
    PythonFunction(dropout, "dropout", "Elements set to 0 by chance, the others made larger.", checked_as="dropout"),
    PythonFunction(
        embedding,
        "embedding",
        "Rows of a table at indices.",
        checked_as="embedding",
        ops=(records.EMBEDDING,),
        samples=(Sample("F.embedding(tensor([1, 0, 1]), w)", lambda w: w[[1, 0, 1]], w=_W),),
    ),
    Function("dropout", ("Tensor input, float p, bool train", drop), doc="Elements set to 0 by chance.", method=False),
)
