"""The pruning methods of torch.nn.utils.prune, and the functions that apply them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.kernels import Array
from gradcli.core.nn.utils.pruning import BasePruningMethod, Make, PruningContainer, apply_pruning, check_place, copied, flattened
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError


def _check_amount(amount: Any) -> None:
    if type(amount) not in (int, float, bool):
        raise ProgramError("TypeError", f"Invalid type for amount: {formatted(amount)}. Must be int or float.")
    if amount < 0 or (type(amount) is float and not 0 <= amount <= 1):
        text = f"amount={formatted(amount)} should either be a float in the range [0, 1] or a non-negative integer"
        raise ProgramError("ValueError", text)


def _count(amount: Any, size: int) -> int:
    count: int = round(amount * size) if type(amount) is float else amount
    if count > size:
        raise ProgramError("ValueError", f"amount={count} should be smaller than the number of parameters to prune={size}")
    return count


def _size_along(t: Tensor, dim: Any) -> int:
    with_method(t, "shape")
    if type(dim) is not int:
        raise type_error("'>=' not supported between instances of '{}' and 'int'", dim)
    if t.array.ndim <= 1:
        text = f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape}"
        raise ProgramError("ValueError", f"{text} with {t.array.ndim} dims")
    if dim >= t.array.ndim:
        raise ProgramError("IndexError", f"Invalid index {dim} for tensor of size {t.shape}")
    if dim < -t.array.ndim:
        raise ProgramError("IndexError", "tuple index out of range")
    size: int = t.array.shape[dim]
    return size


def _slices(t: Tensor, dim: int, kept: Array, default_mask: Tensor) -> Tensor:
    """1 in the slices of `kept` along a dimension, where the mask before had 1 too."""
    made = np.zeros(t.array.shape, t.dtype.np)
    made[(slice(None),) * (dim % t.array.ndim) + (kept,)] = 1
    return Tensor(made * np.asarray(default_mask.array).astype(t.dtype.np), t.dtype)


class Identity(BasePruningMethod):
    """All elements stay."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        return lambda module, name: apply_pruning(make, module, name)


class _Amount(BasePruningMethod, known=False):
    SCRIPT_ATTRIBUTES = BasePruningMethod.SCRIPT_ATTRIBUTES | Attributes.read("amount")
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def chosen(self, t: Tensor, count: int) -> Any:
        """The places, in the flat tensor, that become 0."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _count(self.amount, with_method(t, "nelement").array.size)
        mask = copied(with_method(default_mask, "clone"))
        if count:
            np.asarray(mask.array).reshape(-1)[self.chosen(t, count).array] = 0
        return mask


class RandomUnstructured(_Amount):
    """Some elements become 0, whichever."""

    def chosen(self, t: Tensor, count: int) -> Any:
        return catalog.function("topk")(flattened(catalog.function("rand_like")(detach(t))), count)[1]

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        return lambda module, name, amount: apply_pruning(make, module, name, amount=amount)


class L1Unstructured(_Amount):
    """The smallest elements become 0."""

    def chosen(self, t: Tensor, count: int) -> Any:
        return catalog.function("topk")(flattened(catalog.function("abs")(detach(t))), count, largest=False)[1]

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        def apply(module: Any, name: Any, amount: Any, importance_scores: Any = None) -> Any:
            return apply_pruning(make, module, name, amount=amount, importance_scores=importance_scores)

        return apply


class RandomStructured(BasePruningMethod):
    """Some slices along a dimension become 0, whichever."""

    SCRIPT_ATTRIBUTES = BasePruningMethod.SCRIPT_ATTRIBUTES | Attributes.read("amount dim")
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: Any = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        size = _size_along(t, self.dim)
        count = _count(self.amount, size)
        if not count:
            return default_mask
        drawn = catalog.function("rand")(size)
        threshold = catalog.function("kthvalue")(drawn, count)[0]
        return _slices(t, self.dim, np.asarray(drawn.array > threshold.array), default_mask)

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        return lambda module, name, amount, dim=-1: apply_pruning(make, module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """The slices along a dimension with the smallest norms become 0."""

    SCRIPT_ATTRIBUTES = BasePruningMethod.SCRIPT_ATTRIBUTES | Attributes.read("amount n dim")
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: Any = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        size = _size_along(t, self.dim)
        count = _count(self.amount, size)
        others = [d for d in range(t.array.ndim) if d != self.dim % t.array.ndim]
        norm = catalog.function("norm")(detach(t), p=self.n, dim=others)
        kept = catalog.function("topk")(norm, size - count)[1]
        return _slices(t, self.dim, kept.array, default_mask) if count else default_mask

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        def apply(module: Any, name: Any, amount: Any, n: Any, dim: Any, importance_scores: Any = None) -> Any:
            return apply_pruning(make, module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)

        return apply


class CustomFromMask(BasePruningMethod):
    """The elements become 0 where a given mask is 0."""

    SCRIPT_ATTRIBUTES = BasePruningMethod.SCRIPT_ATTRIBUTES | Attributes.read("mask")
    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if with_method(default_mask, "shape").shape != with_method(self.mask, "shape").shape:
            text = f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            raise ProgramError("AssertionError", text)
        return default_mask * to_dtype(self.mask, default_mask.dtype)

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        return lambda module, name, mask: apply_pruning(make, module, name, mask=mask)


@Routine
def identity(module: Any, name: Any) -> Any:
    """A mask of ones for a parameter."""
    apply_pruning(Identity, module, name)
    return module


@Routine
def random_unstructured(module: Any, name: Any, amount: Any) -> Any:
    """Some elements of a parameter become 0, whichever; `amount` is their number or their share."""
    apply_pruning(RandomUnstructured, module, name, amount=amount)
    return module


@Routine
def l1_unstructured(module: Any, name: Any, amount: Any, importance_scores: Any = None) -> Any:
    """The smallest elements of a parameter become 0; `amount` is their number or their share."""
    apply_pruning(L1Unstructured, module, name, amount=amount, importance_scores=importance_scores)
    return module


@Routine
def random_structured(module: Any, name: Any, amount: Any, dim: Any) -> Any:
    """Some slices of a parameter along a dimension become 0, whichever."""
    apply_pruning(RandomStructured, module, name, amount=amount, dim=dim)
    return module


@Routine
def ln_structured(module: Any, name: Any, amount: Any, n: Any, dim: Any, importance_scores: Any = None) -> Any:
    """The slices of a parameter along a dimension with the smallest n-norms become 0."""
    apply_pruning(LnStructured, module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


@Routine
def custom_from_mask(module: Any, name: Any, mask: Any) -> Any:
    """The elements of a parameter become 0 where a mask is 0."""
    apply_pruning(CustomFromMask, module, name, mask=mask)
    return module


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    made: Tensor = catalog.function("cat")([flattened(one) for one in tensors])
    return made


@Routine
def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Choose among the elements of many parameters, pairs of module and name, at once."""
    try:
        pairs = [tuple(language.collect(pair)) for pair in language.collect(parameters)]
    except ProgramError as error:
        if not error.is_a("TypeError"):
            raise
        raise ProgramError("TypeError", "global_unstructured(): parameters is not an Iterable") from None
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise ProgramError("TypeError", "global_unstructured(): importance_scores must be of type dict")
    for module, name in pairs:
        check_place(module, name)
    held = [module.attribute(name) for module, name in pairs]
    relevant = _flat([with_method(scores.get(pair, tensor), "view") for pair, tensor in zip(pairs, held, strict=True)])
    masks = [module.attribute(f"{name}_mask", None) for module, name in pairs]
    default = _flat([ones_like(tensor) if mask is None else mask for mask, tensor in zip(masks, held, strict=True)])
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        text = f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {shown(pruning_method)}'
        raise ProgramError("TypeError", f"{text} of type {formatted(method.PRUNING_TYPE)}")
    final = np.asarray(PruningContainer(method).compute_mask(relevant, default).array)
    ends = np.cumsum([tensor.array.size for tensor in held])[:-1]
    for (module, name), part, tensor in zip(pairs, np.split(final, ends), held, strict=True):
        apply_pruning(CustomFromMask, module, name, mask=Tensor(part.reshape(tensor.array.shape), relevant.dtype))
