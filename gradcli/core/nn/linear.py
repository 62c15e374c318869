"""Layers with parameters or with settings of their own: Linear, Embedding, normalisation, Dropout, Flatten, Identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.init import uniform_array
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import as_parameter, new_parameter
from gradcli.core.ops.layers import batch_norm, dropout, linear
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_WEIGHT, _SET_WEIGHT = parameters_of("weight")
_BOTH, _SET_BOTH = parameters_of("weight bias")


def floating(dtype: Any) -> DType:
    """The dtype of new parameters."""
    if dtype is None:
        return dtypes.get_default()
    wanted = dtype if isinstance(dtype, DType) else hooks.as_dtype(dtype)
    if wanted is None or not wanted.is_floating_point:
        raise dtypes.cannot_require_grad()
    return wanted


def checked_size(size: tuple[Any, ...], dtype: DType) -> tuple[int, ...]:
    """Sizes as `torch.empty` takes them."""
    for position, n in enumerate(size, 1):
        if type(n) is not int:
            raise ProgramError(
                "TypeError",
                f"empty(): argument 'size' failed to unpack the object at pos {position} with error "
                f'"type must be tuple of ints,but got {hooks.type_name(n)}"',
            )
    for n in size:
        if n < 0:
            raise ProgramError("RuntimeError", f"Trying to create tensor with negative dimension {n}: {list(size)}")
    limits.check_elements(math.prod(size), dtype.itemsize)
    return size


class Linear(Module):
    """A linear map; weight and bias begin uniform within 1 / sqrt(in_features)."""

    SCRIPT_NAME = "Linear"
    SHOWN = "in_features out_features"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN) | _BOTH
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def __init__(self, in_features: Any, out_features: Any, bias: Any = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        wanted = floating(dtype)
        size = checked_size((out_features, in_features), wanted)
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0.0
        if 0 in size:
            warnings.emit("Initializing zero-element tensors is a no-op")
            weight = np.zeros(size, wanted.np)
        else:
            # kaiming_uniform_ with a = sqrt(5), whose bound is this one but for rounding
            weight = uniform_array(size, math.sqrt(3.0) * (math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(in_features)), wanted)
        self.own_parameters["weight"] = new_parameter(weight, wanted)
        self.own_parameters["bias"] = new_parameter(uniform_array((out_features,), bound, wanted), wanted) if bias else None

    def forward(self, input: Any) -> Any:
        parameters = self.own_parameters
        weight, bias = parameters["weight"], parameters["bias"]
        if type(input) is not Tensor or weight is None:
            return catalog.function("nn.functional.linear")(input, weight, bias)
        return linear.linear(input, weight, bias)

    def extra(self) -> str:
        return f"{super().extra()}, bias={self.own_parameters['bias'] is not None}"


class Identity(Module):
    """The input itself; whatever it is made with."""

    SCRIPT_NAME = "Identity"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """Dimensions from `start_dim` to `end_dim` as one."""

    SCRIPT_NAME = "Flatten"
    SHOWN = "start_dim end_dim"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, start_dim: Any = 1, end_dim: Any = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        return catalog.function("flatten")(input, self.start_dim, self.end_dim)


class Dropout(Module):
    """Dropout in training mode, the identity in evaluation mode."""

    SCRIPT_NAME = "Dropout"
    INIT_NAME = "_DropoutNd"
    SHOWN = "p inplace"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | Attributes.write(SHOWN)

    def __init__(self, p: Any = 0.5, inplace: Any = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ProgramError("ValueError", f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return dropout.dropout(input, self.p, self.training, self.inplace)


class Embedding(Module):
    """A table of vectors, which begin normal."""

    SCRIPT_NAME = "Embedding"
    _SETTINGS = "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(_SETTINGS) | _WEIGHT
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_WEIGHT

    def __init__(
        self,
        num_embeddings: Any,
        embedding_dim: Any,
        padding_idx: Any = None,
        max_norm: Any = None,
        norm_type: Any = 2.0,
        scale_grad_by_freq: Any = False,
        sparse: Any = False,
        _weight: Any = None,
        _freeze: Any = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise ProgramError("NotImplementedError", "sparse gradients are not part of gradcli")
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ProgramError("AssertionError", "Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        wanted = floating(dtype)
        if type(_weight) is Tensor:
            self.own_parameters["weight"] = as_parameter(_weight, not _freeze)
            return
        size = checked_size((num_embeddings, embedding_dim), wanted)
        values = generator.default.normal(size, wanted.np, bfloat16=wanted is dtypes.bfloat16)
        if padding_idx is not None:
            values[padding_idx] = 0
        self.own_parameters["weight"] = as_parameter(Tensor(values, wanted), not _freeze)

    def forward(self, input: Any) -> Any:
        weight = self.own_parameters["weight"]
        options = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return catalog.function("nn.functional.embedding")(input, weight, *options)

    def extra(self) -> str:
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if vars(self)[name] != usual:
                shown.append(f"{name}={vars(self)[name]}")
        return ", ".join(shown)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted."""

    SCRIPT_NAME = "LayerNorm"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("normalized_shape eps elementwise_affine") | _BOTH
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def __init__(
        self,
        normalized_shape: Any,
        eps: Any = 1e-5,
        elementwise_affine: Any = True,
        bias: Any = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        wanted = floating(dtype)
        size = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape = checked_size(size, wanted)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.own_parameters["weight"] = new_parameter(np.ones(size, wanted.np), wanted) if elementwise_affine else None
        self.own_parameters["bias"] = new_parameter(np.zeros(size, wanted.np), wanted) if elementwise_affine and bias else None

    def forward(self, input: Any) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        return catalog.function("nn.functional.layer_norm")(input, self.normalized_shape, weight, bias, self.eps)

    def extra(self) -> str:
        bias = self.own_parameters["bias"] is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={bias}"


def check_dimensions(input: Any, allowed: tuple[int, ...]) -> None:
    """Refuse an input of another number of dimensions."""
    if type(input) is not Tensor:
        raise no_attribute(input, "dim")
    if input.array.ndim not in allowed:
        wanted = " or ".join(f"{n}D" for n in allowed)
        raise ProgramError("ValueError", f"expected {wanted} input (got {input.array.ndim}D input)")


class BatchNorm1d(Module):
    """Mean 0 and variance 1 for each channel, over the batch in training mode, else with running figures."""

    SCRIPT_NAME = "BatchNorm1d"
    INIT_NAME = "_BatchNorm"
    #: the numbers of dimensions that an input may have
    DIMENSIONS: tuple[int, ...] = (2, 3)
    _SETTINGS = "num_features eps momentum affine track_running_stats"
    SCRIPT_ATTRIBUTES = (
        Module.SCRIPT_ATTRIBUTES
        | Attributes.read(_SETTINGS)
        | _BOTH
        | {
            "running_mean": lambda m: m.own_buffers["running_mean"],
            "running_var": lambda m: m.own_buffers["running_var"],
            "num_batches_tracked": lambda m: m.own_buffers["num_batches_tracked"],
        }
    )
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def __init__(
        self,
        num_features: Any,
        eps: Any = 1e-5,
        momentum: Any = 0.1,
        affine: Any = True,
        track_running_stats: Any = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: Any = True,
    ) -> None:
        super().__init__()
        wanted = floating(dtype)
        size = checked_size((num_features,), wanted)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.own_parameters["weight"] = new_parameter(np.ones(size, wanted.np), wanted) if affine else None
        self.own_parameters["bias"] = new_parameter(np.zeros(size, wanted.np), wanted) if affine and bias else None
        tracked = bool(track_running_stats)
        self.own_buffers["running_mean"] = Tensor(np.zeros(size, wanted.np), wanted) if tracked else None
        self.own_buffers["running_var"] = Tensor(np.ones(size, wanted.np), wanted) if tracked else None
        self.own_buffers["num_batches_tracked"] = Tensor(np.zeros((), np.int64), dtypes.int64) if tracked else None

    def forward(self, input: Any) -> Any:
        check_dimensions(input, self.DIMENSIONS)
        mean, var, count = (self.own_buffers[n] for n in ("running_mean", "running_var", "num_batches_tracked"))
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and count is not None:
            count.array += 1
            count.counter().count += 1
            if self.momentum is None:
                momentum = 1.0 / count.array.item()
        batch = self.training or mean is None
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        return batch_norm.batch_norm(input, mean, var, weight, bias, batch, momentum, self.eps)

    def extra(self) -> str:
        bias = self.own_parameters["bias"] is not None
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={bias}, "
            f"track_running_stats={self.track_running_stats}"
        )


LINEAR_TYPE = module_type(Linear, "linear")
IDENTITY_TYPE = module_type(Identity, "linear")
FLATTEN_TYPE = module_type(Flatten, "flatten")
DROPOUT_TYPE = module_type(Dropout, "dropout")
EMBEDDING_TYPE = module_type(Embedding, "sparse")
LAYERNORM_TYPE = module_type(LayerNorm, "normalization")
BATCHNORM1D_TYPE = module_type(BatchNorm1d, "batchnorm")
