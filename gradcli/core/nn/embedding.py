"""Bags of rows of a table, windows of images as columns and back, and leaky slopes drawn by chance, as modules."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.script_types import Attributes
from gradcli.core.functions import catalog
from gradcli.core.nn.linear import checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import as_parameter, new_parameter
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_WEIGHT, _SET_WEIGHT = parameters_of("weight")


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of a table, which begin normal."""

    SCRIPT_NAME = "EmbeddingBag"
    _SETTINGS = "num_embeddings embedding_dim max_norm norm_type scale_grad_by_freq mode sparse include_last_offset padding_idx"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(_SETTINGS) | _WEIGHT
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_WEIGHT

    def __init__(
        self,
        num_embeddings: Any,
        embedding_dim: Any,
        max_norm: Any = None,
        norm_type: Any = 2.0,
        scale_grad_by_freq: Any = False,
        mode: Any = "mean",
        sparse: Any = False,
        _weight: Any = None,
        include_last_offset: Any = False,
        padding_idx: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ProgramError("AssertionError", "padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx
        if type(_weight) is Tensor:
            self.own_parameters["weight"] = as_parameter(_weight)
            return
        wanted = floating(dtype)
        values = generator.default.normal(
            checked_size((num_embeddings, embedding_dim), wanted), wanted.np, bfloat16=wanted is dtypes.bfloat16
        )
        if padding_idx is not None:
            values[padding_idx] = 0
        self.own_parameters["weight"] = new_parameter(values, wanted)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return catalog.function("nn.functional.embedding_bag")(
            input,
            self.own_parameters["weight"],
            offsets,
            max_norm=self.max_norm,
            norm_type=self.norm_type,
            scale_grad_by_freq=self.scale_grad_by_freq,
            mode=self.mode,
            sparse=self.sparse,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra(self) -> str:
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, usual in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if vars(self)[name] != usual:
                shown.append(f"{name}={vars(self)[name]}")
        shown.append(f"mode={self.mode!r}")
        return ", ".join(shown if self.padding_idx is None else [*shown, f"padding_idx={self.padding_idx}"])


class Unfold(Module):
    """`F.unfold`."""

    SCRIPT_NAME = "Unfold"
    SHOWN = "kernel_size dilation padding stride"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.unfold")(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """`F.fold`."""

    SCRIPT_NAME = "Fold"
    SHOWN = "output_size kernel_size dilation padding stride"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read(SHOWN)

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Any) -> Any:
        options = (self.kernel_size, self.dilation, self.padding, self.stride)
        return catalog.function("nn.functional.fold")(input, self.output_size, *options)


class RReLU(Module):
    """`F.rrelu`."""

    SCRIPT_NAME = "RReLU"
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("lower upper inplace")

    def __init__(self, lower: Any = 1.0 / 8, upper: Any = 1.0 / 3, inplace: Any = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return catalog.function("nn.functional.rrelu")(input, self.lower, self.upper, self.training, bool(self.inplace))

    def extra(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


EMBEDDINGBAG_TYPE = module_type(EmbeddingBag, "sparse")
UNFOLD_TYPE = module_type(Unfold, "fold")
FOLD_TYPE = module_type(Fold, "fold")
RRELU_TYPE = module_type(RReLU, "activation")
