"""Clipping gradients, parameters as one vector, and modules whose parameters are not drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute, not_iterable
from gradcli.core.functions import catalog
from gradcli.core.optim.checks import number
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import UNMET, ProgramError, runtime_error, shape_error


def _float(value: Any) -> float:
    """A number as Python's `float` reads it, which takes texts such as 'inf' too. ValueError for another text."""
    return float(value) if isinstance(value, str) else float(number(value))


def _given(parameters: Any) -> list[Tensor]:
    """The tensors of an iterable, or the one tensor given. TypeError or AttributeError for anything else."""
    if type(parameters) is Tensor:
        return [parameters]
    if not hasattr(parameters, "__iter__"):
        raise not_iterable(parameters)
    given = language.collect(parameters)
    for value in given:
        limits.evaluation.tick()
        if type(value) is not Tensor:
            raise no_attribute(value, "grad")
    return given


def _gradients(parameters: Any) -> list[Tensor]:
    return [p.grad for p in _given(parameters) if p.grad is not None]


def total_norm(tensors: list[Tensor], order: float, error_if_nonfinite: bool) -> Tensor:
    """The norm of all elements of several tensors. RuntimeError if it is not finite and `error_if_nonfinite` is set."""
    if not tensors:
        return Tensor(np.zeros((), np.float32), dtypes.float32)
    norm = catalog.function("linalg.vector_norm")
    with recording(False):
        total: Tensor = norm(catalog.function("stack")([norm(t, order) for t in tensors]), order)
    if error_if_nonfinite and not np.isfinite(total.array):
        raise runtime_error(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`",
        )
    return total


def _scaled(gradients: list[Tensor], max_norm: Any, total: Any) -> None:
    with recording(False):
        factor = catalog.function("clamp")(_float(max_norm) / (total + 1e-6), max=1.0)
        for gradient in gradients:
            limits.evaluation.tick()
            catalog.method("mul_").method(gradient, (factor,), {})


@Routine
def clip_grads_with_norm_(parameters: Any, max_norm: Any, total_norm: Any, foreach: Any = None) -> None:
    """Scale gradients by the ratio of `max_norm` and a norm that is given, where that is below 1."""
    _scaled(_gradients(parameters), max_norm, total_norm)


@Routine
def clip_grad_norm_(parameters: Any, max_norm: Any, norm_type: Any = 2.0, error_if_nonfinite: Any = False, foreach: Any = None) -> Tensor:
    """Scale gradients so that their norm together is `max_norm` at most; returns the norm before."""
    given = _given(parameters)
    if not given and language.type_name(parameters) == "generator":
        warnings.emit("`parameters` is an empty generator, no gradient clipping will occur.")
    gradients = _gradients(given)
    total = total_norm(gradients, _float(norm_type), bool(error_if_nonfinite))
    _scaled(gradients, max_norm, total)
    return total


@Routine
def clip_grad_norm(parameters: Any, max_norm: Any, norm_type: Any = 2.0, error_if_nonfinite: Any = False, foreach: Any = None) -> Tensor:
    """The older name of `clip_grad_norm_`, with PyTorch's warning."""
    text = "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."
    warnings.emit(text, "FutureWarning")
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)  # type: ignore[no-any-return]


@Routine
def clip_grad_value_(parameters: Any, clip_value: Any, foreach: Any = None) -> None:
    """Clamp gradients to the range from minus to plus a value."""
    bound = _float(clip_value)
    gradients = _gradients(parameters)
    if not gradients:
        raise runtime_error(UNMET.format("!nested_tensorlist[0].empty()"))
    with recording(False):
        for gradient in gradients:
            limits.evaluation.tick()
            catalog.method("clamp_").method(gradient, (-bound, bound), {})


@Routine
def get_total_norm(tensors: Any, norm_type: Any = 2.0, error_if_nonfinite: Any = False, foreach: Any = None) -> Tensor:
    """The norm of all elements of several tensors."""
    return total_norm(_given(tensors), _float(norm_type), bool(error_if_nonfinite))


@Routine
def parameters_to_vector(parameters: Any) -> Any:
    """All elements of parameters as one vector."""
    view = catalog.method("view")
    flat = []
    for parameter in _given(parameters):
        limits.evaluation.tick()
        flat.append(view.method(parameter, (-1,), {}))
    return catalog.function("cat")(flat)


@Routine
def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Set the elements of parameters to those of a vector."""
    if type(vec) is not Tensor:
        raise ProgramError("TypeError", f"expected torch.Tensor, but got: {language.type_name(vec)}")
    at = 0
    for parameter in _given(parameters):
        count = parameter.array.size
        part = vec.array[at : at + count]
        if part.size != count:
            raise shape_error(f"shape '{list(parameter.array.shape)}' is invalid for input of size {part.size}")
        parameter.array = part.reshape(parameter.array.shape)
        at += count


@Routine
def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are zeros: the generator is as it was before."""
    before = generator.default.get_state()
    try:
        made = module_cls(*args, **kwargs)
    finally:
        generator.default.set_state(before)
    for _, parameter in made.walk_parameters():
        parameter.array[...] = 0
    return made
