"""Normalisation as modules: images in batches, groups of channels, single images, the root of the mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.linear import BatchNorm1d, check_dimensions, checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import new_parameter
from gradcli.core.ops.layers.batch_norm import instance_norm
from gradcli.errors import ProgramError

_WEIGHT, _SET_WEIGHT = parameters_of("weight")
_BOTH, _SET_BOTH = parameters_of("weight bias")


class BatchNorm2d(BatchNorm1d):
    """Batch normalisation of images."""

    SCRIPT_NAME = "BatchNorm2d"
    DIMENSIONS = (4,)


class BatchNorm3d(BatchNorm1d):
    """Batch normalisation of volumes."""

    SCRIPT_NAME = "BatchNorm3d"
    DIMENSIONS = (5,)


class GroupNorm(Module):
    """`F.group_norm`."""

    SCRIPT_NAME = "GroupNorm"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("num_groups num_channels eps affine") | _BOTH
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_BOTH

    def __init__(
        self,
        num_groups: Any,
        num_channels: Any,
        eps: Any = 1e-5,
        affine: Any = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: Any = True,
    ) -> None:
        super().__init__()
        wanted = floating(dtype)
        if num_channels % num_groups != 0:
            raise ProgramError("ValueError", f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        size = checked_size((num_channels,), wanted)
        self.own_parameters["weight"] = new_parameter(np.ones(size, wanted.np), wanted) if affine else None
        self.own_parameters["bias"] = new_parameter(np.zeros(size, wanted.np), wanted) if affine and bias else None

    def forward(self, input: Any) -> Any:
        weight, bias = self.own_parameters["weight"], self.own_parameters["bias"]
        return catalog.function("nn.functional.group_norm")(input, self.num_groups, weight, bias, self.eps)

    def extra(self) -> str:
        bias = self.own_parameters["bias"] is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class InstanceNorm1d(BatchNorm1d):
    """Mean 0 and variance 1 for each channel of each image; one without a batch too."""

    SCRIPT_NAME = "InstanceNorm1d"
    INIT_NAME = "_InstanceNorm"

    def __init__(
        self,
        num_features: Any,
        eps: Any = 1e-5,
        momentum: Any = 0.1,
        affine: Any = False,
        track_running_stats: Any = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: Any = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:
        check_dimensions(input, self.DIMENSIONS)
        alone = self.DIMENSIONS[0]
        at = input.array.ndim - alone
        found = input.array.shape[at]
        if found != self.num_features:
            if self.affine:
                text = f"expected input's size at dim={at} to match num_features ({self.num_features}), but got: {found}."
                raise ProgramError("ValueError", text)
            warnings.emit(
                f"input's size at dim={at} does not match num_features. You can silence this warning by not passing in num_features, "
                "which is not used because affine=False"
            )
        if at:
            return self._normal(input)
        return catalog.function("squeeze")(self._normal(catalog.function("unsqueeze")(input, 0)), 0)

    def _normal(self, input: Any) -> Any:
        parameters, buffers = self.own_parameters, self.own_buffers
        return instance_norm(
            input,
            buffers["running_mean"],
            buffers["running_var"],
            parameters["weight"],
            parameters["bias"],
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm2d(InstanceNorm1d):
    """The same of images."""

    SCRIPT_NAME = "InstanceNorm2d"
    DIMENSIONS = (3, 4)


class InstanceNorm3d(InstanceNorm1d):
    """The same of volumes."""

    SCRIPT_NAME = "InstanceNorm3d"
    DIMENSIONS = (4, 5)


class RMSNorm(Module):
    """`F.rms_norm`."""

    SCRIPT_NAME = "RMSNorm"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("normalized_shape eps elementwise_affine") | _WEIGHT
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_WEIGHT

    def __init__(
        self, normalized_shape: Any, eps: Any = None, elementwise_affine: Any = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        wanted = floating(dtype)
        size = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape = checked_size(size, wanted)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.own_parameters["weight"] = new_parameter(np.ones(size, wanted.np), wanted) if elementwise_affine else None

    def forward(self, x: Any) -> Any:
        return catalog.function("nn.functional.rms_norm")(x, self.normalized_shape, self.own_parameters["weight"], self.eps)

    def extra(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """`F.local_response_norm`."""

    SCRIPT_NAME = "LocalResponseNorm"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("size alpha beta k")

    def __init__(self, size: Any, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.local_response_norm")(input, self.size, self.alpha, self.beta, self.k)

    def extra(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


BATCHNORM2D_TYPE = module_type(BatchNorm2d, "batchnorm")
BATCHNORM3D_TYPE = module_type(BatchNorm3d, "batchnorm")
GROUPNORM_TYPE = module_type(GroupNorm, "normalization")
INSTANCENORM1D_TYPE = module_type(InstanceNorm1d, "instancenorm")
INSTANCENORM2D_TYPE = module_type(InstanceNorm2d, "instancenorm")
INSTANCENORM3D_TYPE = module_type(InstanceNorm3d, "instancenorm")
RMSNORM_TYPE = module_type(RMSNorm, "normalization")
LOCALRESPONSENORM_TYPE = module_type(LocalResponseNorm, "normalization")
