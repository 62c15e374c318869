"""Normalisation over batches, layers, groups of channels and single images; weights begin with ones, biases with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.graph.write_checks import check_captured
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.parameter import checked_size, floating, new_parameter
from gradcli.core.ops.layers.normalization.batch_norm import batch_norm
from gradcli.core.ops.layers.normalization.instance_norm import instance_norm
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, shape_error


class Norm(FunctionModule):
    """A normalisation with a weight and mostly a bias; it can be made without them."""

    def begin(self, size: tuple[int, ...], dtype: DType, weight: Any, bias: Any) -> None:
        """Make the parameters; they are None if they are not wanted, and there is no bias without a weight."""
        self.own_parameters["weight"] = new_parameter(np.ones(size, dtype.np), dtype) if weight else None
        if "bias" in self.PARAMETERS.split():
            self.own_parameters["bias"] = new_parameter(np.zeros(size, dtype.np), dtype) if weight and bias else None


class BatchNorm1d(Norm, place="batchnorm", exact=True):
    """Mean 0 and variance 1 for each channel, over the batch in training mode, else with running figures."""

    INIT_NAME = FORWARD_NAME = "_BatchNorm"
    METHODS = "reset_parameters reset_running_stats"
    ARGUMENTS = {
        "num_features": REQUIRED,
        "eps": 1e-5,
        "momentum": 0.1,
        "affine": True,
        "track_running_stats": True,
        "device": None,
        "dtype": None,
        "bias": True,
    }
    KEYWORD_ONLY = "bias"
    PARAMETERS = "weight bias"
    BUFFERS = "running_mean running_var num_batches_tracked"
    ADDED_LATER = "num_batches_tracked"
    EXTRA = "{num_features}, eps={eps}, momentum={momentum}, affine={affine}, bias={bias}, track_running_stats={track_running_stats}"
    #: the numbers of dimensions that an input may have
    DIMENSIONS: tuple[int, ...] = (2, 3)
    num_features: int
    eps: Any
    momentum: Any
    affine: Any
    track_running_stats: Any

    def keep(self, given: dict[str, Any]) -> None:
        dtype = floating(given["dtype"])
        size = checked_size((given["num_features"],), dtype)
        super().keep(given)
        self.begin(size, dtype, self.affine, given["bias"])
        self.own_buffers = dict.fromkeys(self.BUFFERS.split())
        if self.track_running_stats:
            mean, variance = Tensor(np.zeros(size, dtype.np), dtype), Tensor(np.ones(size, dtype.np), dtype)
            buffers = mean, variance, Tensor(np.zeros((), np.int64), dtypes.int64)
            for buffer in buffers:
                buffer.counter().count = 1  # writing the first numbers counts as a write
            self.own_buffers = dict(zip(self.BUFFERS.split(), buffers, strict=True))

    def reset_running_stats(self) -> None:
        """Set the running figures to those of a new module."""
        self.reset(("own_buffers",))

    def check_dimensions(self, input: Any) -> None:
        """ValueError for an input of another number of dimensions; AttributeError for anything but a tensor."""
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        if input.array.ndim not in self.DIMENSIONS:
            wanted = " or ".join(f"{n}D" for n in self.DIMENSIONS)
            raise shape_error(f"expected {wanted} input (got {input.array.ndim}D input)", "ValueError")

    def forward(self, input: Any) -> Any:
        self.check_dimensions(input)
        mean, var, count = (self.own_buffers[name] for name in self.BUFFERS.split())
        momentum = 0.0 if self.momentum is None else self.momentum
        by_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        elif self.training and count is not None:
            check_captured("add_", (count,))
            count.array += 1
            count.counter().count += 1
            if self.momentum is None:
                momentum = 1.0 / count.array.item()
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        return batch_norm(input, mean, var, weight, bias, by_batch, momentum, self.eps)


class BatchNorm2d(BatchNorm1d, place="batchnorm"):
    """Batch normalisation of images."""

    DIMENSIONS = (4,)


class BatchNorm3d(BatchNorm1d, place="batchnorm"):
    """Batch normalisation of volumes."""

    DIMENSIONS = (5,)


class SyncBatchNorm(BatchNorm1d, place="batchnorm"):
    """Batch normalisation over the batches of all processes: there is one process."""

    INIT_NAME = FORWARD_NAME = "SyncBatchNorm"
    ARGUMENTS = {
        name: BatchNorm1d.ARGUMENTS.get(name)
        for name in (*("num_features", "eps", "momentum", "affine", "track_running_stats", "process_group"), *("device", "dtype", "bias"))
    }
    process_group: Any

    def check_dimensions(self, input: Any) -> None:
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        if input.array.ndim < 2:
            raise shape_error(f"expected at least 2D input (got {input.array.ndim}D input)", "ValueError")
        if not input.array.shape[1]:
            raise shape_error("SyncBatchNorm number of input channels should be non-zero", "ValueError")


def _convert_sync_batchnorm(module: Any, process_group: Any = None) -> Any:
    """The module with a SyncBatchNorm of the same tensors in the place of each batch normalisation."""
    made = module
    if isinstance(module, BatchNorm1d) and not isinstance(module, InstanceNorm1d):
        settings = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
        made = SyncBatchNorm(*settings, bias=module.own_parameters["bias"] is not None)
        made.own_parameters, made.own_buffers = dict(module.own_parameters), dict(module.own_buffers)
        made.training = module.training
    for name, child in module.distinct_children():
        made.children_by_name[name] = _convert_sync_batchnorm(child, process_group)
    return made


SyncBatchNorm.SCRIPT_STATIC = {"convert_sync_batchnorm": Routine(_convert_sync_batchnorm, "SyncBatchNorm.convert_sync_batchnorm")}


class InstanceNorm1d(BatchNorm1d, place="instancenorm", exact=True):
    """Mean 0 and variance 1 for each channel of each image; the input may also be one image without a batch."""

    INIT_NAME = FORWARD_NAME = "_InstanceNorm"
    ARGUMENTS = {**BatchNorm1d.ARGUMENTS, "affine": False, "track_running_stats": False}

    def forward(self, input: Any) -> Any:
        self.check_dimensions(input)
        at = input.array.ndim - self.DIMENSIONS[0]
        found = input.array.shape[at]
        if found != self.num_features:
            if self.affine:
                text = f"expected input's size at dim={at} to match num_features ({self.num_features}), but got: {found}."
                raise shape_error(text, "ValueError")
            warnings.emit(
                f"input's size at dim={at} does not match num_features. You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
                inside="InstanceNorm",
            )
        if at:
            return self._normal(input)
        return catalog.function("squeeze")(self._normal(catalog.function("unsqueeze")(input, 0)), 0)

    def _normal(self, input: Any) -> Any:
        mean, var = self.own_buffers["running_mean"], self.own_buffers["running_var"]
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        momentum = 0.0 if self.momentum is None else self.momentum
        use_input = self.training or not self.track_running_stats
        return instance_norm(input, mean, var, weight, bias, use_input, momentum, self.eps)


class InstanceNorm2d(InstanceNorm1d, place="instancenorm"):
    """Mean 0 and variance 1 for each channel of each two-dimensional image."""

    DIMENSIONS = (3, 4)


class InstanceNorm3d(InstanceNorm1d, place="instancenorm"):
    """Mean 0 and variance 1 for each channel of each volume."""

    DIMENSIONS = (4, 5)


class GroupNorm(Norm, place="normalization"):
    """`F.group_norm`."""

    FUNCTION = "nn.functional.group_norm"
    METHODS = "reset_parameters"
    ARGUMENTS = {"num_groups": REQUIRED, "num_channels": REQUIRED, "eps": 1e-5, "affine": True, "device": None, "dtype": None, "bias": True}
    KEYWORD_ONLY = "bias"
    PARAMETERS = "weight bias"
    EXTRA = "{num_groups}, {num_channels}, eps={eps}, affine={affine}, bias={bias}"
    num_groups: int
    eps: Any

    def keep(self, given: dict[str, Any]) -> None:
        dtype, groups, channels = floating(given["dtype"]), given["num_groups"], given["num_channels"]
        if channels % groups != 0:
            raise ProgramError("ValueError", f"num_channels ({formatted(channels)}) must be divisible by num_groups ({formatted(groups)})")
        super().keep(given)
        self.begin(checked_size((channels,), dtype), dtype, given["affine"], given["bias"])

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.num_groups, *self.declared_parameters(), self.eps)


class ShapeNorm(Norm):
    """A normalisation over the last dimensions, whose sizes are `normalized_shape`."""

    METHODS = "reset_parameters"
    normalized_shape: tuple[int, ...]
    eps: Any

    def keep(self, given: dict[str, Any]) -> None:
        dtype, shape = floating(given["dtype"]), given["normalized_shape"]
        size = checked_size(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), dtype)
        super().keep(given | {"normalized_shape": size})
        self.begin(size, dtype, given["elementwise_affine"], given.get("bias"))


class LayerNorm(ShapeNorm, place="normalization"):
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted."""

    FUNCTION = "nn.functional.layer_norm"
    ARGUMENTS = {"normalized_shape": REQUIRED, "eps": 1e-5, "elementwise_affine": True, "bias": True, "device": None, "dtype": None}
    PARAMETERS = "weight bias"
    EXTRA = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}, bias={bias}"

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.normalized_shape, *self.declared_parameters(), self.eps)


class RMSNorm(ShapeNorm, place="normalization"):
    """`F.rms_norm`."""

    FUNCTION = "nn.functional.rms_norm"
    ARGUMENTS = {"normalized_shape": REQUIRED, "eps": None, "elementwise_affine": True, "device": None, "dtype": None}
    PARAMETERS = "weight"
    EXTRA = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}"

    def forward(self, x: Any) -> Any:
        return catalog.function(self.FUNCTION)(x, self.normalized_shape, self.own_parameters["weight"], self.eps)


class LocalResponseNorm(FunctionModule, place="normalization"):
    """`F.local_response_norm`."""

    FUNCTION = "nn.functional.local_response_norm"
    ARGUMENTS = {"size": REQUIRED, "alpha": 1e-4, "beta": 0.75, "k": 1.0}
    EXTRA = "{size}, alpha={alpha}, beta={beta}, k={k}"
