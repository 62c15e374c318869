"""Transformers: layers of attention and of linear maps with sums around them, stacks of layers, encoder and decoder together."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.nn.init import xavier_uniform_
from gradcli.core.nn.member_tables import ComputedMembers
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.attention import MultiheadAttention
from gradcli.core.nn.modules.containers import ModuleList
from gradcli.core.nn.modules.dropout import Dropout
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.modules.linear import Linear
from gradcli.core.nn.modules.normalization import LayerNorm
from gradcli.core.nn.parameter import floating
from gradcli.core.ops.layers.multi_head_attention import canonical_masks
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_RELU = catalog.function("nn.functional.relu")
_GELU = catalog.function("nn.functional.gelu")
_SIZES = {"dim_feedforward": 2048, "dropout": 0.1, "activation": _RELU, "layer_norm_eps": 1e-5, "batch_first": False}
_LAYER = {"d_model": REQUIRED, "nhead": REQUIRED, **_SIZES, "norm_first": False, "bias": True, "device": None, "dtype": None}


def copied(module: Module) -> Any:
    """A module with parameters and buffers of its own, which have the same values."""
    limits.evaluation.tick()
    made = object.__new__(type(module))
    vars(made).update(vars(module))
    made.fields = dict(module.fields)
    made.own_parameters = {name: None if p is None else _copied(p) for name, p in module.own_parameters.items()}
    if isinstance(module.own_parameters, ComputedMembers):
        made.own_parameters = ComputedMembers(made, made.own_parameters)
    made.own_buffers = {name: None if b is None else _copied(b) for name, b in module.own_buffers.items()}
    made.children_by_name = {name: None if child is None else copied(child) for name, child in module.children_by_name.items()}
    made.unsaved = set(module.unsaved)
    return made


def _copied(tensor: Tensor) -> Tensor:
    made = Tensor(np.array(tensor.array), tensor.dtype)
    made.requires_grad = tensor.requires_grad
    if tensor.is_parameter:
        made.meta = {"parameter": True}
    return made


class Layer(FunctionModule):
    """What encoder and decoder layers share: attentions, a net of two linear maps, and a norm around each."""

    ARGUMENTS = _LAYER
    SETTINGS = "norm_first"
    #: the names of the attentions
    ATTENTIONS: tuple[str, ...] = ()
    norm_first: bool

    def keep(self, given: dict[str, Any]) -> None:
        size, eps, bias, options = given["d_model"], given["layer_norm_eps"], given["bias"], (given["device"], given["dtype"])
        rate, wide = given["dropout"], given["dim_feedforward"]
        self.norm_first = given["norm_first"]
        held = self.children_by_name
        for name in self.ATTENTIONS:
            held[name] = MultiheadAttention(
                size, given["nhead"], dropout=rate, bias=bias, batch_first=given["batch_first"], device=options[0], dtype=options[1]
            )
        held["linear1"], held["dropout"], held["linear2"] = (
            Linear(size, wide, bias, *options),
            Dropout(rate),
            Linear(wide, size, bias, *options),
        )
        count = len(self.ATTENTIONS) + 1
        held |= {f"norm{i + 1}": LayerNorm(size, eps, True, bias, *options) for i in range(count)}
        held |= {f"dropout{i + 1}": Dropout(rate) for i in range(count)}
        activation = given["activation"]
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise runtime_error(f"activation should be relu/gelu, not {formatted(activation)}")
            activation = _RELU if activation == "relu" else _GELU
        self.assign("activation", activation)

    @property
    def first(self) -> MultiheadAttention:
        """The attention to the layer's own input."""
        found = self.children_by_name["self_attn"]
        assert isinstance(found, MultiheadAttention)
        return found

    def _around(self, number: int, x: Any, part: Any) -> Any:
        """`x` plus a part of it, with the norm before the part or after the sum."""
        norm, drop = self.children_by_name[f"norm{number}"], self.children_by_name[f"dropout{number}"]
        return x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))

    def _attended(self, name: str, x: Any, other: Any, mask: Any, padding: Any, causal: Any) -> Any:
        held = self.children_by_name[name]
        return held(x, other, other, attn_mask=mask, key_padding_mask=padding, is_causal=causal, need_weights=False)[0]

    def _mapped(self, x: Any) -> Any:
        held = self.children_by_name
        return held["linear2"](held["dropout"](self.attribute("activation")(held["linear1"](x))))


class TransformerEncoderLayer(Layer, place="transformer"):
    """Attention of a sequence to itself, and a net of two linear maps (Vaswani et al. 2017)."""

    ATTENTIONS = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False) -> Any:
        mask, padding = canonical_masks(src, src_mask, "src_mask", src_key_padding_mask, "src_key_padding_mask")
        if self._is_fast(src):
            x = self._around(1, src, lambda x: self.first.attend_fast(x, padding, False, mask, True)[0])
        else:
            x = self._around(1, src, lambda x: self._attended("self_attn", x, x, mask, padding, is_causal))
        return self._around(2, x, self._mapped)

    def _is_fast(self, src: Any) -> bool:
        """Whether PyTorch takes its kernel for whole layers, which computes no gradients and calls no hooks."""
        held = self.children_by_name
        if (
            self.training
            or type(src) is not Tensor
            or type(held["self_attn"]) is not MultiheadAttention
            or not self.first.is_fast(src, src, src)
        ):
            return False
        norms: Any = held["norm1"], held["norm2"]
        if not _is_relu_or_gelu(self.attribute("activation")) or norms[0].eps != norms[1].eps:
            return False
        if any(module.hooks_before().functions or module.hooks_after().functions for module in self.modules()):
            return False
        return not (state.enabled and any(parameter.requires_grad for parameter in self.parameters()))


def _is_relu_or_gelu(activation: Any) -> bool:
    return activation is _RELU or activation is _GELU or (isinstance(activation, Module) and activation.SCRIPT_NAME in ("ReLU", "GELU"))


class TransformerDecoderLayer(Layer, place="transformer"):
    """Attention of a sequence to itself, then to the output of an encoder, and a net of two linear maps."""

    ATTENTIONS = ("self_attn", "multihead_attn")

    def forward(  # type: ignore[override]
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: Any = False,
        memory_is_causal: Any = False,
    ) -> Any:
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        others = memory_mask, memory_key_padding_mask, memory_is_causal
        x = self._around(1, tgt, lambda x: self._attended("self_attn", x, x, *own))
        x = self._around(2, x, lambda x: self._attended("multihead_attn", x, memory, *others))
        return self._around(3, x, self._mapped)


class Stack(FunctionModule):
    """Copies of a layer, one after the other, and a norm at the end."""

    SETTINGS = "num_layers"
    num_layers: int

    def keep(self, given: dict[str, Any]) -> None:
        layer = next(iter(given.values()))
        self.children_by_name["layers"] = ModuleList([copied(layer) for _ in range(given["num_layers"])])
        self.num_layers = given["num_layers"]
        if given["norm"] is None:
            self.fields["norm"] = None
        else:
            self.children_by_name["norm"] = given["norm"]

    def _causal(self, x: Tensor, mask: Tensor | None, given: Any) -> bool:
        """Whether layers take their mask as causal: as given, else where it hides later places and no others."""
        if given is not None or mask is None:
            return given is True
        attention = self.children_by_name["layers"][0].first if x.array.ndim == 3 and len(self.children_by_name["layers"]) else None
        size = x.array.shape[1 if attention is not None and attention.batch_first else 0]
        kind = mask.array.dtype
        return mask.array.shape == (size, size) and bool((mask.array == np.triu(np.full((size, size), -np.inf).astype(kind), 1)).all())

    def _through(self, x: Any, *rest: Any, left_out: Tensor | None = None) -> Any:
        """The layers and the norm; between them the places `left_out` become 0."""
        for layer in self.children_by_name["layers"]:
            x = layer(x, *rest)
        if left_out is not None:
            x = catalog.method("masked_fill").method(x, (left_out, 0.0), {})
        norm = self.children_by_name.get("norm")
        return x if norm is None else norm(x)


class TransformerEncoder(Stack, place="transformer"):
    """A stack of encoder layers."""

    ARGUMENTS = {"encoder_layer": REQUIRED, "num_layers": REQUIRED, "norm": None, "enable_nested_tensor": True, "mask_check": True}

    SETTINGS = "num_layers enable_nested_tensor use_nested_tensor mask_check"
    use_nested_tensor: bool
    mask_check: bool

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        self.enable_nested_tensor, self.mask_check = given["enable_nested_tensor"], given["mask_check"]
        reason = _not_nested(given["encoder_layer"])
        self.use_nested_tensor = False if reason else self.enable_nested_tensor
        if given["enable_nested_tensor"] and reason:
            warnings.emit(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}")

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Any:
        masks = canonical_masks(src, mask, "mask", src_key_padding_mask, "src_key_padding_mask")
        return self._through(src, *masks, self._causal(src, masks[0], is_causal), left_out=self._left_out(src, *masks))

    def _left_out(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor | None:
        """The padded places, which PyTorch's nested tensors do not have and which are 0 in the end; None where it uses none.

        NotImplementedError for padding before the end of a sequence that is not to be checked.
        """
        layers = self.children_by_name["layers"]
        if (
            not self.use_nested_tensor
            or not len(layers)
            or layers[0].training
            or src.array.ndim != 3
            or padding is None
            or mask is not None
        ):
            return None
        if state.enabled and any(one is not None and one.requires_grad for one in (src, *layers[0].parameters())):
            return None
        hidden = padding.array != 0
        if (hidden[:, :-1] & ~hidden[:, 1:]).any():
            if self.mask_check:
                return None
            raise ProgramError("NotImplementedError", "padding before the end of a sequence, not to be checked, is not part of gradcli")
        warnings.emit(_NESTED, once="nested tensors", inside="TransformerEncoder")
        return Tensor(hidden[..., None], dtypes.bool_)


_NESTED = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
    "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator coverage, "
    "and works with torch.compile. (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/NestedTensorImpl.cpp:177.)"
)


def _not_nested(layer: Module) -> str:
    """Why PyTorch does not use nested tensors for a layer, which it warns of."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention, activation = layer.first, layer.attribute("activation")
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)": not attention.batch_first,
        "encoder_layer.self_attn was passed bias=False": attention.own_parameters["in_proj_bias"] is None,
        "encoder_layer.activation_relu_or_gelu was not True": not _is_relu_or_gelu(activation),
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(Stack, place="transformer"):
    """A stack of decoder layers."""

    ARGUMENTS = {"decoder_layer": REQUIRED, "num_layers": REQUIRED, "norm": None}

    def forward(  # type: ignore[override]
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: Any = None,
        memory_is_causal: Any = False,
    ) -> Any:
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self._through(tgt, memory, *masks, self._causal(tgt, tgt_mask, tgt_is_causal), memory_is_causal)


def _mask(sz: Any, device: Any = None, dtype: Any = None) -> Tensor:
    kind = floating(dtype)
    limits.check_elements(sz * sz, kind.itemsize)
    return Tensor(np.triu(np.full((sz, sz), -np.inf, kind.np), 1), kind)


class Transformer(FunctionModule, place="transformer"):
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017)."""

    SCRIPT_STATIC = {"generate_square_subsequent_mask": Routine(_mask, "Transformer.generate_square_subsequent_mask")}
    METHODS = "generate_square_subsequent_mask"

    ARGUMENTS = {
        "d_model": 512,
        "nhead": 8,
        "num_encoder_layers": 6,
        "num_decoder_layers": 6,
        "dim_feedforward": 2048,
        "dropout": 0.1,
        "activation": _RELU,
        "custom_encoder": None,
        "custom_decoder": None,
        "layer_norm_eps": 1e-5,
        "batch_first": False,
        "norm_first": False,
        "bias": True,
        "device": None,
        "dtype": None,
    }
    SETTINGS = "d_model nhead batch_first"
    d_model: int
    batch_first: bool

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        layer = {name: given[name] for name in _LAYER}
        norm = (given["d_model"], given["layer_norm_eps"], True, given["bias"], given["device"], given["dtype"])
        kinds = {"encoder": (TransformerEncoderLayer, TransformerEncoder), "decoder": (TransformerDecoderLayer, TransformerDecoder)}
        for name, (one, stack) in kinds.items():
            custom = given[f"custom_{name}"]
            self.children_by_name[name] = custom or stack(one(**layer), given[f"num_{name}_layers"], LayerNorm(*norm))
        for _, parameter in self.walk_parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)

    def generate_square_subsequent_mask(self, sz: Any, device: Any = None, dtype: Any = None) -> Tensor:
        """A square matrix with minus infinity above the diagonal, 0 elsewhere: no place attends to later ones."""
        return _mask(sz, device, dtype)

    def forward(  # type: ignore[override]
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: Any = None,
        tgt_is_causal: Any = None,
        memory_is_causal: Any = False,
    ) -> Any:
        for one in (src, tgt):
            if type(one) is not Tensor:
                raise ProgramError("AttributeError", f"'{language.type_name(one)}' object has no attribute 'dim'")
        at = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[at] != tgt.shape[at]:
            raise runtime_error("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise runtime_error("the feature number of src and tgt must be equal to d_model")
        memory = self.children_by_name["encoder"](src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.children_by_name["decoder"](tgt, memory, *masks, tgt_is_causal, memory_is_causal)
