"""Multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.init import xavier_normal_, xavier_uniform_
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.modules.linear import NonDynamicallyQuantizableLinear
from gradcli.core.nn.parameter import checked_size, floating, new_parameter
from gradcli.core.ops.layers.attention import additive
from gradcli.core.ops.layers.dropout import dropout as drop_out
from gradcli.core.ops.layers.linear import linear
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _view(x: Any, *shape: int) -> Any:
    return catalog.method("view").method(x, (shape,), {})


def _compact(x: Any) -> Any:
    return catalog.method("contiguous").method(x, (), {})


def _parameter(name: str) -> Callable[[Any], Any]:
    return lambda module: module.own_parameters[name]


_NO_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method `generate_square_subsequent_mask` to "
    "create this mask."
)
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
        attn_mask, key_padding_mask = canonical_masks(query, attn_mask, "attn_mask", key_padding_mask, "key_padding_mask")
        rank = query.array.ndim
        _check_ranks(query, key, value, attn_mask, key_padding_mask, self.num_heads)
        if self.batch_first and rank == 3:
            query, key, value = _each_once(query, key, value, lambda x: _call("transpose", x, 1, 0))
        if rank == 2:
            query, key, value = _each_once(query, key, value, lambda x: _call("unsqueeze", x, 1))
            key_padding_mask = None if key_padding_mask is None else _call("unsqueeze", key_padding_mask, 0)
        if is_causal and attn_mask is None:
            raise runtime_error(_NO_MASK)
        causal = bool(is_causal and key_padding_mask is None and not need_weights)  # a causal mask is made without looking at `attn_mask`
        self._check(query, key, value)
        mask = self._mask(query, key, None if causal else attn_mask, key_padding_mask)
        out, weights = self._attend(self._projected(query, key, value), mask, bool(need_weights), causal)
        if rank == 2:
            out = _call("squeeze", out, 1)
        elif self.batch_first:
            out = _call("transpose", out, 1, 0)
        if weights is not None:
            weights = _call("mean", weights, 1) if average_attn_weights else weights
            weights = _call("squeeze", weights, 0) if rank == 2 else weights
        return out, weights

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        if query.array.shape[-1] != self.embed_dim:
            raise shape_error(f"was expecting embedding dimension of {self.embed_dim}, but got {query.array.shape[-1]}", "AssertionError")
        if self.alike and key.array.shape != value.array.shape:
            raise shape_error(f"key shape {key.shape!r} does not match value shape {value.shape!r}", "AssertionError")
        if not self.alike and key.array.shape[:2] != value.array.shape[:2]:
            raise ProgramError(
                "AssertionError",
                f"key's sequence and batch dims {type(key.shape)(key.array.shape[:2])!r} do not match value's "
                f"{type(key.shape)(value.array.shape[:2])!r}",
            )

    def _mask(self, query: Tensor, key: Tensor, attn_mask: Any, padding: Any) -> Any:
        """The tensor that is added to the scores, of shape (batch * heads or 1, rows or 1, columns); None without a mask."""
        rows, batch = query.array.shape[:2]
        columns = key.array.shape[0]
        mask = None
        if attn_mask is not None:
            mask = attn_mask
            wanted = (rows, columns) if mask.array.ndim == 2 else (batch * self.num_heads, rows, columns)
            if mask.array.shape != wanted:
                kind = f"{mask.array.ndim}D"
                text = f"The shape of the {kind} attn_mask is {mask.shape!r}, but should be {wanted}."
                raise shape_error(text)
            mask = self._widened(_call("unsqueeze", mask, 0) if len(wanted) == 2 else mask)
        if padding is not None:
            for i, wanted_size in enumerate((batch, columns)):
                if padding.array.shape[i] != wanted_size:
                    text = f"Expected key_padded_mask.shape[{i}] to be {wanted_size}, but got {padding.array.shape[i]}"
                    raise shape_error(text, "AssertionError")
            hidden: Any = self._widened(padding)
            columns = hidden.array.shape[1]
            hidden = catalog.method("expand").method(_view(hidden, batch, 1, 1, columns), ((-1, self.num_heads, -1, -1),), {})
            hidden = _call("reshape", hidden, (batch * self.num_heads, 1, columns))
            mask = hidden if mask is None else mask + hidden
        return mask

    def _widened(self, mask: Any) -> Any:
        """A mask for the keys that are added, which are never hidden."""
        for added in (self.own_parameters["bias_k"] is not None, self.add_zero_attn):
            mask = _call("nn.functional.pad", mask, (0, 1)) if added else mask
        return mask

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Any]:
        """The projected query, key and value, with the features of all heads in the last dimension."""
        parameters: Any = self.own_parameters
        bias, size = parameters["in_proj_bias"], self.embed_dim
        if self.alike and query is key is value:
            return _taken_apart(linear(query, parameters["in_proj_weight"], bias), 3, size)
        biases = (None, None, None) if bias is None else _call("chunk", bias, 3)
        if not self.alike:
            weights = [parameters[f"{name}_proj_weight"] for name in "qkv"]
        elif key is value:
            first, both = _call("split", parameters["in_proj_weight"], [size, 2 * size])
            one, two = (None, None) if bias is None else _call("split", bias, [size, 2 * size])
            return [linear(query, first, one), *_taken_apart(linear(key, both, two), 2, size)]
        else:
            weights = list(_call("chunk", parameters["in_proj_weight"], 3))
        given = (query, key, value)
        return [linear(x, w, b) for x, w, b in zip(given, weights, biases, strict=True)]

    def _attend(self, projected: list[Any], mask: Any, need_weights: bool, causal: bool) -> tuple[Any, Any]:
        q, k, v = projected
        rows, batch, size = q.array.shape
        heads, width = self.num_heads, self.head_dim
        dropout = float(self.dropout) if self.training else 0.0
        parameters: Any = self.own_parameters
        if parameters["bias_k"] is not None:
            repeat = catalog.method("repeat").method
            added = [repeat(parameters[name], ((1, batch, 1),), {}) for name in ("bias_k", "bias_v")]
            k, v = (_call("cat", pair) for pair in zip((k, v), added, strict=True))
        q, k, v = (_call("transpose", _view(x, len(x.array), batch * heads, width), 0, 1) for x in (q, k, v))
        if self.add_zero_attn:
            shape = (batch * heads, 1, width)
            k, v = (_call("cat", (x, Tensor(np.zeros(shape, x.dtype.np), x.dtype)), 1) for x in (k, v))
        columns = k.array.shape[1]
        last = self.children_by_name["out_proj"]
        if not need_weights:
            if mask is not None:
                alone = mask.array.shape[0] == 1
                mask = _call("unsqueeze", mask, 0) if alone else _view(mask, batch, heads, -1, columns)
            q, k, v = (_view(x, batch, heads, n, width) for x, n in ((q, rows), (k, columns), (v, columns)))
            run = catalog.function("nn.functional.scaled_dot_product_attention")
            out = run(q, k, v, mask, dropout, causal)
            out = _view(_compact(_call("permute", out, (2, 0, 1, 3))), batch * rows, size)
            return _view(last(out), rows, batch, size), None
        scaled, turned = q * math.sqrt(1.0 / float(width)), _call("transpose", k, -2, -1)
        scores = _call("bmm", scaled, turned) if mask is None else _call("baddbmm", mask, scaled, turned)
        weights = catalog.method("softmax").method(scores, (-1,), {})
        if dropout:
            weights = drop_out(weights, dropout)
        out = _call("bmm", weights, v)
        out = last(_call("reshape", _call("transpose", out, 0, 1), (rows * batch, size)))
        return _view(out, rows, batch, size), _view(weights, batch, heads, rows, columns)


def _check_ranks(query: Tensor, key: Tensor, value: Tensor, mask: Any, padding: Any, heads: int) -> None:
    """Raise AssertionError for tensors and masks of other ranks than those of single sequences, or of batches."""
    rank = query.array.ndim
    if rank not in (2, 3):
        raise shape_error(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor", "AssertionError")
    start = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if not key.array.ndim == value.array.ndim == rank:
        found = f"{key.array.ndim}-D and {value.array.ndim}-D tensors respectively"
        raise shape_error(f"{start} `key` and `value` to be {rank}-D but found {found}", "AssertionError")
    if padding is not None and padding.array.ndim != rank - 1:
        text = f"{start} `key_padding_mask` to be `None` or {rank - 1}-D but found {padding.array.ndim}-D tensor instead"
        raise shape_error(text, "AssertionError")
    if mask is None:
        return
    if mask.array.ndim not in (2, 3):
        raise shape_error(f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.array.ndim}-D tensor instead", "AssertionError")
    wanted = (heads, query.array.shape[0], key.array.shape[0])
    if rank == 2 and mask.array.ndim == 3 and mask.array.shape != wanted:
        raise shape_error(f"Expected `attn_mask` shape to be {wanted} but got {mask.shape!r}", "AssertionError")


def canonical_masks(like: Tensor, mask: Any, name: str, padding: Any, padding_name: str) -> tuple[Any, Any]:
    """Two masks, or None, as tensors to add to scores; a boolean one is True where a score is hidden, which is minus infinity then.

    Warns of masks of two dtypes. Raises AssertionError for other dtypes.
    """
    made: list[Any] = [mask, padding]
    for i, one, its_name, other in ((1, padding, padding_name, mask), (0, mask, name, None)):
        if one is None:
            continue
        if one.dtype is not dtypes.bool_ and not one.dtype.is_floating_point:
            raise ProgramError("AssertionError", f"only bool and floating types of {its_name} are supported")
        if other is not None and other.dtype is not one.dtype:
            text = f"Support for mismatched {its_name} and {name} is deprecated. Use same type for both instead."
            warnings.emit(text, inside="MultiheadAttention")
        made[i] = additive(Tensor(~one.array, one.dtype), like) if one.dtype is dtypes.bool_ else one
    return made[0], made[1]


def _each_once(query: Any, key: Any, value: Any, change: Any) -> tuple[Any, Any, Any]:
    """`change` of all three; arguments that are the same tensor give the same tensor."""
    q = change(query)
    k = q if key is query else change(key)
    return q, k, k if value is key else q if value is query else change(value)


def _taken_apart(x: Any, count: int, size: int) -> list[Any]:
    """The `count` parts, of `size` features each, of a joint projection."""
    x = catalog.method("unflatten").method(x, (-1, (count, size)), {})
    x = _call("squeeze", _call("transpose", _call("unsqueeze", x, 0), 0, -2), -2)
    x = _compact(x)
    return [_call("select", x, 0, i) for i in range(count)]
