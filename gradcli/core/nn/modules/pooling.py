"""Pooling: rows of classes that call the function of the same name."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.convolution import sizes_of
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class Pool(FunctionModule):
    """A pooling layer, whose function gets the settings by keyword."""

    PLACE = "pooling"
    BY_KEYWORD = True


class AdaptiveAvgPool(Pool):
    """The mean of each window; the output's size says how many windows there are."""

    INIT_NAME = "_AdaptiveAvgPoolNd"
    BY_KEYWORD = False
    ARGUMENTS = {"output_size": REQUIRED}
    SHOWN = "output_size"


class AdaptiveMaxPool(Pool):
    """The largest element of each window; the output's size says how many windows there are."""

    INIT_NAME = "_AdaptiveMaxPoolNd"
    ARGUMENTS = {"output_size": REQUIRED, "return_indices": False}
    SHOWN = "output_size"


class LPPool(Pool):
    """The p-norm of each window."""

    INIT_NAME = "_LPPoolNd"
    ARGUMENTS = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}
    SHOWN = "norm_type kernel_size stride ceil_mode"


class WindowPool(Pool):
    """A pooling layer whose stride is the size of the window by default."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given if given["stride"] is not None else given | {"stride": given["kernel_size"]})


class MaxPool(WindowPool):
    """The largest element of each window."""

    INIT_NAME = "_MaxPoolNd"
    ARGUMENTS = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
    SHOWN = "kernel_size stride padding dilation ceil_mode"


class AvgPool(WindowPool):
    """The mean of each window."""

    BY_KEYWORD = False


class RowAvgPool(AvgPool):
    """The mean of each window of 1D data; sizes are tuples of one element."""

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        sizes = {name: vars(self)[name] for name in ("kernel_size", "stride", "padding")}
        vars(self).update((name, tuple(size) if hasattr(size, "__iter__") else (size,)) for name, size in sizes.items())


class MaxUnpool(Pool):
    """The inverse of max pooling: every maximum back at its place, zeros elsewhere."""

    ARGUMENTS = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
    SHOWN = "kernel_size stride padding"

    def keep(self, given: dict[str, Any]) -> None:
        stride = given["kernel_size"] if given["stride"] is None else given["stride"]
        super().keep({name: sizes_of(value, self.RANK) for name, value in (given | {"stride": stride}).items()})

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:  # type: ignore[override]
        return catalog.function(self.FUNCTION)(input, indices, *self.settings().values(), output_size)


class FractionalMaxPool(Pool):
    """The largest element of each of so many windows, whose places are random."""

    ARGUMENTS = {"kernel_size": REQUIRED, "output_size": None, "output_ratio": None, "return_indices": False, "_random_samples": None}
    NOT_KEPT = "_random_samples"

    def keep(self, given: dict[str, Any]) -> None:
        size, ratio = given["output_size"], given["output_ratio"]
        if size is None and ratio is None:
            text = f"FractionalMaxPool{self.RANK}d requires specifying either an output size, or a pooling ratio"
            raise ProgramError("ValueError", text)
        if size is not None and ratio is not None:
            raise ProgramError("ValueError", "only one of output_size and output_ratio may be specified")
        wide = {name: given[name] and sizes_of(given[name], self.RANK) for name in ("kernel_size", "output_size", "output_ratio")}
        if ratio is not None and not all(0 < r < 1 for r in wide["output_ratio"]):
            raise ProgramError("ValueError", f"output_ratio must be between 0 and 1 (got {formatted(ratio)})")
        super().keep(given | wide)
        self.own_buffers["_random_samples"] = given["_random_samples"]

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, *self.settings().values(), self.own_buffers["_random_samples"])


_AVERAGE = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
CLASSES = ClassTable(
    row(MaxPool, {"MaxPool1d": "F.max_pool1d", "MaxPool2d": "F.max_pool2d", "MaxPool3d": "F.max_pool3d"}),
    row(RowAvgPool, {"AvgPool1d": "F.avg_pool1d"}, ARGUMENTS=_AVERAGE, SHOWN="kernel_size stride padding"),
    row(
        AvgPool,
        {"AvgPool2d": "F.avg_pool2d", "AvgPool3d": "F.avg_pool3d"},
        ARGUMENTS={**_AVERAGE, "divisor_override": None},
        SHOWN="kernel_size stride padding",
    ),
    row(
        AdaptiveAvgPool,
        {
            "AdaptiveAvgPool1d": "F.adaptive_avg_pool1d",
            "AdaptiveAvgPool2d": "F.adaptive_avg_pool2d",
            "AdaptiveAvgPool3d": "F.adaptive_avg_pool3d",
        },
    ),
    row(
        AdaptiveMaxPool,
        {
            "AdaptiveMaxPool1d": "F.adaptive_max_pool1d",
            "AdaptiveMaxPool2d": "F.adaptive_max_pool2d",
            "AdaptiveMaxPool3d": "F.adaptive_max_pool3d",
        },
    ),
    row(LPPool, {"LPPool1d": "F.lp_pool1d", "LPPool2d": "F.lp_pool2d", "LPPool3d": "F.lp_pool3d"}),
    row(MaxUnpool, {f"MaxUnpool{n}d": f"F.max_unpool{n}d" for n in (1, 2, 3)}),
    row(FractionalMaxPool, {f"FractionalMaxPool{n}d": f"F.fractional_max_pool{n}d" for n in (2, 3)}),
)
