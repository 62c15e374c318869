"""Pooling as modules: the function of the same name with its settings kept."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module, module_type


class Pool(Module):
    """What they share: `FUNCTION` under torch.nn.functional, called with the fields of `SETTINGS`."""

    FUNCTION = ""
    SETTINGS = ""

    def forward(self, input: Any) -> Any:
        fields = vars(self)
        settings = {name: fields[name] for name in self.SETTINGS.split()}
        return catalog.function(f"nn.functional.{self.FUNCTION}")(input, **settings)


class MaxPool(Pool):
    """The largest element of each window."""

    INIT_NAME = "_MaxPoolNd"
    SHOWN = "kernel_size stride padding dilation ceil_mode"
    SETTINGS = f"{SHOWN} return_indices"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: Any = False,
        ceil_mode: Any = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class AvgPool1d(Pool):
    """`F.avg_pool1d`."""

    SCRIPT_NAME = "AvgPool1d"
    FUNCTION = "avg_pool1d"
    SHOWN = "kernel_size stride padding"
    SETTINGS = f"{SHOWN} ceil_mode count_include_pad"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: Any = False, count_include_pad: Any = True
    ) -> None:
        super().__init__()
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (tuple(v) if hasattr(v, "__iter__") else (v,) for v in given)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad


class AvgPool2d(Pool):
    """`F.avg_pool2d`."""

    SCRIPT_NAME = "AvgPool2d"
    FUNCTION = "avg_pool2d"
    SHOWN = "kernel_size stride padding"
    SETTINGS = f"{SHOWN} ceil_mode count_include_pad divisor_override"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: Any = False,
        count_include_pad: Any = True,
        divisor_override: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool3d(AvgPool2d):
    """`F.avg_pool3d`."""

    SCRIPT_NAME = "AvgPool3d"
    FUNCTION = "avg_pool3d"


class AdaptiveAvgPool(Pool):
    """The mean of each of so many windows."""

    INIT_NAME = "_AdaptiveAvgPoolNd"
    SHOWN = "output_size"
    SETTINGS = SHOWN
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveMaxPool(Pool):
    """The largest element of each of so many windows."""

    INIT_NAME = "_AdaptiveMaxPoolNd"
    SHOWN = "output_size"
    SETTINGS = f"{SHOWN} return_indices"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(self, output_size: Any, return_indices: Any = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices


class LPPool(Pool):
    """The p-norm of each window."""

    INIT_NAME = "_LPPoolNd"
    SHOWN = "norm_type kernel_size stride ceil_mode"
    SETTINGS = SHOWN
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SETTINGS)

    def __init__(self, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: Any = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode


class MaxPool1d(MaxPool):
    """`F.max_pool1d`."""

    SCRIPT_NAME = "MaxPool1d"
    FUNCTION = "max_pool1d"


class MaxPool2d(MaxPool):
    """`F.max_pool2d`."""

    SCRIPT_NAME = "MaxPool2d"
    FUNCTION = "max_pool2d"


class MaxPool3d(MaxPool):
    """`F.max_pool3d`."""

    SCRIPT_NAME = "MaxPool3d"
    FUNCTION = "max_pool3d"


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """`F.adaptive_avg_pool1d`."""

    SCRIPT_NAME = "AdaptiveAvgPool1d"
    FUNCTION = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """`F.adaptive_avg_pool2d`."""

    SCRIPT_NAME = "AdaptiveAvgPool2d"
    FUNCTION = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """`F.adaptive_avg_pool3d`."""

    SCRIPT_NAME = "AdaptiveAvgPool3d"
    FUNCTION = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """`F.adaptive_max_pool1d`."""

    SCRIPT_NAME = "AdaptiveMaxPool1d"
    FUNCTION = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """`F.adaptive_max_pool2d`."""

    SCRIPT_NAME = "AdaptiveMaxPool2d"
    FUNCTION = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """`F.adaptive_max_pool3d`."""

    SCRIPT_NAME = "AdaptiveMaxPool3d"
    FUNCTION = "adaptive_max_pool3d"


class LPPool1d(LPPool):
    """`F.lp_pool1d`."""

    SCRIPT_NAME = "LPPool1d"
    FUNCTION = "lp_pool1d"


class LPPool2d(LPPool):
    """`F.lp_pool2d`."""

    SCRIPT_NAME = "LPPool2d"
    FUNCTION = "lp_pool2d"


MAXPOOL1D_TYPE = module_type(MaxPool1d, "pooling")
MAXPOOL2D_TYPE = module_type(MaxPool2d, "pooling")
MAXPOOL3D_TYPE = module_type(MaxPool3d, "pooling")
ADAPTIVEAVGPOOL1D_TYPE = module_type(AdaptiveAvgPool1d, "pooling")
ADAPTIVEAVGPOOL2D_TYPE = module_type(AdaptiveAvgPool2d, "pooling")
ADAPTIVEAVGPOOL3D_TYPE = module_type(AdaptiveAvgPool3d, "pooling")
ADAPTIVEMAXPOOL1D_TYPE = module_type(AdaptiveMaxPool1d, "pooling")
ADAPTIVEMAXPOOL2D_TYPE = module_type(AdaptiveMaxPool2d, "pooling")
ADAPTIVEMAXPOOL3D_TYPE = module_type(AdaptiveMaxPool3d, "pooling")
LPPOOL1D_TYPE = module_type(LPPool1d, "pooling")
LPPOOL2D_TYPE = module_type(LPPool2d, "pooling")
AVGPOOL1D_TYPE = module_type(AvgPool1d, "pooling")
AVGPOOL2D_TYPE = module_type(AvgPool2d, "pooling")
AVGPOOL3D_TYPE = module_type(AvgPool3d, "pooling")
