"""Embeddings: tables of vectors whose rows are looked up by index."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.parameter import as_parameter, checked_size, floating
from gradcli.core.ops.create.random_tensors import normal
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


class VectorTable(FunctionModule):
    """A module whose parameter is a table of vectors."""

    NOT_KEPT = "_weight _freeze device dtype"
    #: the spelling of `padding_idx` in PyTorch's error
    PADDING = "padding_idx"
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def keep(self, given: dict[str, Any]) -> None:
        count, padding, weight = given["num_embeddings"], given["padding_idx"], given["_weight"]
        if padding is not None:
            if not -count <= padding < count:
                raise ProgramError("AssertionError", f"{self.PADDING} must be within num_embeddings")
            padding %= count
        super().keep(given | {"padding_idx": padding})
        if type(weight) is Tensor and weight.array.shape != (count, given["embedding_dim"]):
            raise ProgramError("AssertionError", "Shape of weight does not match num_embeddings and embedding_dim")
        if type(weight) is not Tensor:
            weight = self._drawn(floating(given["dtype"]))
        self.own_parameters["weight"] = as_parameter(weight, not given.get("_freeze"))

    def _drawn(self, dtype: DType) -> Tensor:
        """A table from the standard normal distribution, with zeros in the row `padding_idx`. RuntimeError as of a parameter."""
        if not dtype.is_differentiable:
            raise dtypes.cannot_require_grad()
        size = checked_size((self.num_embeddings, self.embedding_dim), dtype)
        values = normal(size, dtype, None)
        if self.padding_idx is not None:
            values[self.padding_idx] = 0
        made = Tensor(values, dtype)
        made.counter().count = 1 if self.padding_idx is None else 2
        return made

    def from_pretrained(self, /, *args: Any, **kwargs: Any) -> Any:
        """A module of the same class with the vectors given."""
        return self.SCRIPT_STATIC["from_pretrained"](*args, **kwargs)

    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in super().settings().items() if name not in ("num_embeddings", "embedding_dim")}


def _shape_of(embeddings: Any) -> dict[str, Any]:
    """The sizes of a table that is given. AssertionError if it is no matrix."""
    if type(embeddings) is not Tensor:
        raise no_attribute(embeddings, "dim")
    if embeddings.array.ndim != 2:
        raise ProgramError("AssertionError", "Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.array.shape
    return {"num_embeddings": rows, "embedding_dim": columns, "_weight": embeddings}


def _embedding(
    embeddings: Any,
    freeze: Any = True,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: Any = 2.0,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Embedding:
    return Embedding(
        **_shape_of(embeddings),
        _freeze=freeze,
        padding_idx=padding_idx,
        max_norm=max_norm,
        norm_type=norm_type,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )


def _bag(
    embeddings: Any,
    freeze: Any = True,
    max_norm: Any = None,
    norm_type: Any = 2.0,
    scale_grad_by_freq: Any = False,
    mode: Any = "mean",
    sparse: Any = False,
    include_last_offset: Any = False,
    padding_idx: Any = None,
) -> EmbeddingBag:
    made = EmbeddingBag(
        **_shape_of(embeddings),
        max_norm=max_norm,
        norm_type=norm_type,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=mode,
        sparse=sparse,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    made.own_parameters["weight"].requires_grad = not freeze  # type: ignore[union-attr]
    return made


class Embedding(VectorTable, place="sparse"):
    """A table of vectors, which begin normal."""

    SCRIPT_STATIC = {"from_pretrained": Routine(_embedding, "Embedding.from_pretrained", hide_first=True)}
    METHODS = "from_pretrained reset_parameters"

    FUNCTION = "nn.functional.embedding"
    PADDING = "Padding_idx"
    ARGUMENTS = {
        "num_embeddings": REQUIRED,
        "embedding_dim": REQUIRED,
        "padding_idx": None,
        "max_norm": None,
        "norm_type": 2.0,
        "scale_grad_by_freq": False,
        "sparse": False,
        "_weight": None,
        "_freeze": False,
        "device": None,
        "dtype": None,
    }
    PARAMETERS = "weight"

    def keep(self, given: dict[str, Any]) -> None:
        if given["sparse"]:
            raise ProgramError("NotImplementedError", "sparse gradients are not part of gradcli")
        super().keep(given)

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.own_parameters["weight"], *self.settings().values())

    def extra_repr(self) -> str:
        shown = self.unusual("padding_idx max_norm norm_type scale_grad_by_freq")
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *shown])


class EmbeddingBag(VectorTable, place="sparse"):
    """Sums, means or maxima of rows of a table, which begin normal."""

    SCRIPT_STATIC = {"from_pretrained": Routine(_bag, "EmbeddingBag.from_pretrained", hide_first=True)}
    METHODS = "from_pretrained reset_parameters"
    FUNCTION = "nn.functional.embedding_bag"
    ARGUMENTS = {
        "num_embeddings": REQUIRED,
        "embedding_dim": REQUIRED,
        "max_norm": None,
        "norm_type": 2.0,
        "scale_grad_by_freq": False,
        "mode": "mean",
        "sparse": False,
        "_weight": None,
        "include_last_offset": False,
        "padding_idx": None,
        "device": None,
        "dtype": None,
    }
    PARAMETERS = "weight"
    mode: str

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        weight = self.own_parameters["weight"]
        return catalog.function(self.FUNCTION)(input, weight, offsets, per_sample_weights=per_sample_weights, **self.settings())

    def extra_repr(self) -> str:
        shown = self.unusual("max_norm norm_type scale_grad_by_freq")
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *shown, f"mode={self.mode!r}", *self.unusual("padding_idx")])
