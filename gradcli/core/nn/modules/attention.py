"""Multi-head attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.init import xavier_normal_, xavier_uniform_
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.modules.linear import NonDynamicallyQuantizableLinear
from gradcli.core.nn.parameter import checked_size, floating, new_parameter
from gradcli.core.ops.layers.multi_head_attention import canonical_masks, check_ranks, each_once, multi_head_attention_forward
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


def _parameter(name: str) -> Callable[[Any], Any]:
    return lambda module: module.own_parameters[name]


_PARAMETERS = "in_proj_weight q_proj_weight k_proj_weight v_proj_weight in_proj_bias bias_k bias_v"


class MultiheadAttention(FunctionModule, place="activation"):
    """Attention of several heads side by side, each of a part of the features (Vaswani et al. 2017)."""

    SETTINGS = "embed_dim kdim vdim num_heads dropout batch_first head_dim add_zero_attn"
    SCRIPT_ATTRIBUTES = (
        Module.SCRIPT_ATTRIBUTES
        | {name: _parameter(name) for name in _PARAMETERS.split()}
        | {"out_proj": lambda module: module.children_by_name["out_proj"]}
    )
    ARGUMENTS = {
        "embed_dim": REQUIRED,
        "num_heads": REQUIRED,
        "dropout": 0.0,
        "bias": True,
        "add_bias_kv": False,
        "add_zero_attn": False,
        "kdim": None,
        "vdim": None,
        "batch_first": False,
        "device": None,
        "dtype": None,
    }
    add_zero_attn: bool
    embed_dim: int
    kdim: int
    vdim: int
    num_heads: int
    head_dim: int
    dropout: float
    batch_first: bool

    def keep(self, given: dict[str, Any]) -> None:
        size, heads = given["embed_dim"], given["num_heads"]
        if size <= 0 or heads <= 0:
            text = (
                f"embed_dim and num_heads must be greater than 0, got embed_dim={formatted(size)} and num_heads={formatted(heads)} instead"
            )
            raise ProgramError("ValueError", text)
        sizes = {name: size if given[name] is None else given[name] for name in ("kdim", "vdim")}
        super().keep(given | sizes | {"head_dim": size // heads})
        if self.head_dim * heads != size:
            raise ProgramError("AssertionError", "embed_dim must be divisible by num_heads")
        self._draw(bool(given["bias"]), bool(given["add_bias_kv"]), floating(given["dtype"]))

    @property
    def alike(self) -> bool:
        """Whether queries, keys and values have the same size, so that one weight projects all three."""
        return bool(self.kdim == self.embed_dim and self.vdim == self.embed_dim)

    def _draw(self, bias: bool, more: bool, dtype: DType) -> None:
        """Make the parameters, those of one `more` key and value too."""
        size = self.embed_dim
        shapes = {"in_proj_weight": (3 * size, size)}
        if not self.alike:
            shapes = {"q_proj_weight": (size, size), "k_proj_weight": (size, self.kdim), "v_proj_weight": (size, self.vdim)}
        self.own_parameters = dict.fromkeys([*shapes, *_PARAMETERS.split()])
        for name, shape in shapes.items():
            self.own_parameters[name] = new_parameter(np.empty(checked_size(shape, dtype), dtype.np), dtype, 0)
        if bias:
            self.own_parameters["in_proj_bias"] = new_parameter(np.zeros(3 * size, dtype.np), dtype)
        last = self.children_by_name["out_proj"] = NonDynamicallyQuantizableLinear(size, size, bias, dtype=dtype)
        for name in shapes:
            xavier_uniform_(self.own_parameters[name])
        if bias:
            last.own_parameters["bias"] = new_parameter(np.zeros(size, dtype.np), dtype, 2)
        for name in ("bias_k", "bias_v") if more else ():
            self.own_parameters[name] = new_parameter(np.empty((1, 1, size), dtype.np), dtype, 0)
            xavier_normal_(self.own_parameters[name])

    # --- calls ---

    def forward(  # type: ignore[override]
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: Any = True,
        attn_mask: Any = None,
        average_attn_weights: Any = True,
        is_causal: Any = False,
    ) -> Any:
        for one in (query, key, value):
            if type(one) is not Tensor:
                raise no_attribute(one, "dim")
        fast = not any(type(one) is Tensor and one.dtype.is_floating_point for one in (attn_mask, key_padding_mask))
        fast = fast and self.is_fast(query, key, value)
        attn_mask, key_padding_mask = canonical_masks(query, attn_mask, "attn_mask", key_padding_mask, "key_padding_mask")
        if not fast:
            return self.attend(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
        return self.attend_fast(query, key_padding_mask, need_weights, attn_mask, average_attn_weights)

    def is_fast(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Whether PyTorch takes its kernel for attention of a sequence to itself of which no gradients are computed."""
        own, last = self.own_parameters, self.children_by_name["out_proj"].own_parameters
        weights = own["in_proj_weight"], own["in_proj_bias"], last["weight"], last["bias"]
        if query is not key or key is not value or query.array.ndim != 3 or self.training or self.num_heads % 2 or not self.batch_first:
            return False
        if self.add_zero_attn or own["bias_k"] is not None or any(one is None or one.dtype is not query.dtype for one in weights):
            return False
        return not (state.enabled and any(one is not None and one.requires_grad for one in (query, *weights)))

    def attend_fast(self, query: Tensor, key_padding_mask: Any, need_weights: Any, attn_mask: Any, average_attn_weights: Any) -> Any:
        """What that kernel gives: nan where every score is hidden, in row-major order. It takes no hint that a mask is causal."""
        out, weights = self.attend(query, query, query, key_padding_mask, True, attn_mask, average_attn_weights, False)
        return catalog.method("contiguous").method(out, (), {}), weights if need_weights else None

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any,
        need_weights: Any,
        attn_mask: Any,
        average_attn_weights: Any,
        is_causal: Any,
    ) -> Any:
        """Output and weights for masks that are added to the scores."""
        swapped = self.batch_first and query.array.ndim == 3
        if swapped:
            check_ranks(query, key, value, attn_mask, key_padding_mask, self.num_heads)
            query, key, value = each_once(query, key, value, lambda x: catalog.function("transpose")(x, 1, 0))
        own: Any = self.own_parameters
        last: Any = self.children_by_name["out_proj"].own_parameters
        out, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            own["in_proj_weight"],
            own["in_proj_bias"],
            own["bias_k"],
            own["bias_v"],
            self.add_zero_attn,
            self.dropout,
            last["weight"],
            last["bias"],
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self.alike,
            own["q_proj_weight"],
            own["k_proj_weight"],
            own["v_proj_weight"],
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return catalog.function("transpose")(out, 1, 0) if swapped else out, weights
