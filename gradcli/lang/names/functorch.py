"""`functorch`: the names that torch.func had before it was a part of PyTorch, each with PyTorch's warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.nn.functional_call import check_alike, functional_call, named_tensors, stacked
from gradcli.core.nn.module import Module, indented
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms import func_jacobians, torch_func, vmap
from gradcli.errors import ProgramError, runtime_error
from gradcli.lang.libraries.copy import deep_copy
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.object_operations import iterate

Tensors = tuple[Tensor, ...]


def _warn(name: str, instead: str) -> None:
    warnings.emit(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
        f"Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
        "https://pytorch.org/docs/main/func.migrating.html",
        "FutureWarning",
    )


def _renamed(routine: Routine, instead: str) -> Routine:
    def run(*args: Value, **kwargs: Value) -> Value:
        routine.check(args, kwargs)
        _warn(routine.name, instead)
        return routine(*args, **kwargs)

    return Routine(run, routine.name)


class _Functional(Scripted):
    """A copy of a module that is called with its state as its first arguments: tuples of tensors in the order of their names."""

    SCRIPT_NAME = ""
    #: how many tuples there are
    STATES = 0

    def __init__(self, model: Module, *names: list[str]) -> None:
        self.model, self.names = model, names

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        state, rest = [tuple(iterate(given)) for given in args[: self.STATES]], args[self.STATES :]
        if [len(given) for given in state] != [len(names) for names in self.names]:
            raise ProgramError("NotImplementedError", "a functional module with a part of its tensors is not part of gradcli")
        given: dict[str, Value] = {}
        for names, tensors in zip(self.names, state, strict=True):
            given |= zip(names, tensors, strict=True)
        return functional_call(self.model, given, rest, kwargs)

    def __repr__(self) -> str:
        return f"{self.SCRIPT_NAME}(\n  (stateless_model): {indented(repr(self.model))}\n)"


class FunctionalModule(_Functional):
    """What `make_functional` makes of a module without buffers."""

    SCRIPT_NAME = "FunctionalModule"
    STATES = 1


class FunctionalModuleWithBuffers(_Functional):
    """What `make_functional_with_buffers` makes of a module."""

    SCRIPT_NAME = "FunctionalModuleWithBuffers"
    STATES = 2


for kind in (FunctionalModule, FunctionalModuleWithBuffers):
    script_type(kind, "torch._functorch.make_functional").construct = None


def _taken_apart(model: Value, untracked: Value) -> tuple[Module, list[tuple[list[str], Tensors]]]:
    """A copy of the module, and the names and tensors of its parameters and of its buffers."""
    if not isinstance(model, Module):
        raise no_attribute(model, "buffers")
    copied = deep_copy(model)
    parameters, buffers = named_tensors(copied)
    if untracked:
        for tensor in parameters.values():
            tensor.requires_grad = False
    return copied, [(list(table), tuple(table.values())) for table in (parameters, buffers)]


def _make_functional(model: Value, disable_autograd_tracking: Value = False) -> tuple[FunctionalModule, Tensors]:
    _warn("make_functional", "torch.func.functional_call")
    copied, [(names, parameters), (_, buffers)] = _taken_apart(model, disable_autograd_tracking)
    if buffers:
        raise runtime_error("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule(copied, names), parameters


def _with_buffers(model: Value, untracked: Value = False) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    copied, [(names, parameters), (buffer_names, buffers)] = _taken_apart(model, untracked)
    return FunctionalModuleWithBuffers(copied, names, buffer_names), parameters, buffers


def _make_functional_with_buffers(
    model: Value, disable_autograd_tracking: Value = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return _with_buffers(model, disable_autograd_tracking)


def _combine_state_for_ensemble(models: Value) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    check_alike(models, "combine_state_for_ensemble")
    made = [_with_buffers(model) for model in models]
    parameters, buffers = (tuple(stacked(each) for each in zip(*(parts[at] for parts in made), strict=True)) for at in (1, 2))
    return made[0][0], parameters, buffers


def _members() -> dict[str, Any]:
    transforms: list[Routine] = [torch_func.GRAD, torch_func.GRAD_AND_VALUE, torch_func.VJP, torch_func.JVP, torch_func.FUNCTIONALIZE]
    transforms += [func_jacobians.JACREV, func_jacobians.JACFWD, func_jacobians.HESSIAN]
    own: list[Callable[..., Any]] = [_make_functional, _make_functional_with_buffers, _combine_state_for_ensemble]
    return {
        "vmap": _renamed(vmap.VMAP, "torch.vmap"),
        **{routine.name: _renamed(routine, f"torch.func.{routine.name}") for routine in transforms},
        **{name: Routine(function, name) for function in own for name in (function.__name__.removeprefix("_"),)},
    }


MEMBERS: dict[str, Value] = _members()
