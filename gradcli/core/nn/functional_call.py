"""Functions of torch.func for modules, which are called with other tensors as their parameters and buffers."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling import warnings
from gradcli.core.calling.mappings import Mapping, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError, runtime_error


def _given(dictionaries: Any) -> dict[Any, Any]:
    """One dictionary, from a dictionary or from several. ValueError if two have a common key."""
    if isinstance(dictionaries, (dict, Mapping)):
        return table_of(dictionaries)
    if not isinstance(dictionaries, (list, tuple)):
        raise ProgramError(
            "ValueError",
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {language.type_repr(dictionaries)}",
        )
    made: dict[Any, Any] = {}
    repeated: list[Any] = []
    for table in map(table_of, dictionaries):
        repeated += [key for key in made if key in table and key not in repeated]
        made |= table
    if repeated:
        text = f"{formatted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        raise ProgramError("ValueError", text)
    return made


@Routine
def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *, tie_weights: Any = True, strict: Any = False
) -> Any:
    """`module(*args, **kwargs)`; the module has its own tensors again afterwards."""
    if not isinstance(module, Module):
        raise no_attribute(module, "named_parameters")
    given = _given(parameter_and_buffer_dicts)
    held = [
        (f"{path}.{own}" if path else own, owner, own, tensor)
        for path, owner in module.walk(once=False)
        for own, tensor in owner.own_state()
    ]
    places = {name: (owner, own) for name, owner, own, _ in held}
    if tie_weights:
        given = _tied(given, [(name, tensor) for name, _, _, tensor in held])
    unexpected = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if strict and (unexpected or missing):
        kinds = (("Unexpected", unexpected), ("Missing", sorted(missing)))
        listed = [f"{what} key(s): {', '.join(map(shown, keys))}." for what, keys in kinds if keys]
        raise runtime_error(f"Error(s) in reparametrizing for {module.SCRIPT_NAME}:\n\t" + "\n\t".join(listed))
    for tensor in given.values():
        if tensor is not None and type(tensor) is not Tensor:
            raise ProgramError("TypeError", f"{formatted(tensor)} is not an instance of torch.Tensor")
    places |= {name: _new_place(module, name) for name in unexpected}
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    kept: list[tuple[dict[str, Any], str, list[Any]]] = []
    try:
        for name, tensor in given.items():
            owner, own = places[name]
            table = next((t for t in (owner.own_parameters, owner.own_buffers) if own in t), owner.fields)
            kept.append((table, own, [table[own]] if own in table else []))
            table[own] = tensor
        return module(*positional, **({} if kwargs is None else kwargs))
    finally:
        for table, own, before in reversed(kept):
            if before:
                table[own] = before[0]
            else:
                del table[own]


def _stateless(
    module: Any, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, tie_weights: Any = True, strict: Any = False
) -> Any:
    """The name that `functional_call` had before, with PyTorch's warning."""
    warnings.emit(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        "FutureWarning",
    )
    return functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


_STATELESS = Routine(_stateless, "functional_call")


def _tied(given: dict[Any, Any], held: list[tuple[str, Any]]) -> dict[Any, Any]:
    """The tensors under all names of the tensors that they replace. ValueError for different ones under names of one tensor."""
    names: dict[int, list[str]] = {}
    for name, tensor in held:
        names.setdefault(id(tensor), []).append(name)
    made = dict(given)
    for tied in names.values():
        known = [name for name in tied if name in given]
        if len(tied) == 1 or not known:
            continue
        if len(known) > 1 and (len(known) < len(tied) or any(given[name] is not given[known[0]] for name in known)):
            text = f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using tie_weights=False"
            raise ProgramError("ValueError", text)
        made |= dict.fromkeys(tied, given[known[-1]])
    return made


def _new_place(module: Module, name: str) -> tuple[Module, str]:
    """The owner of an attribute that the module has not, and its name there."""
    path, _, own = name.rpartition(".")
    return module.get_submodule(path), own


def named_tensors(module: Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters of a module by name, and its buffers; a tensor that has several names has the first."""
    parameters: dict[str, Tensor] = {}
    buffers: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, owner, own, tensor in module.named_state():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            (parameters if own in owner.own_parameters else buffers)[name] = tensor
    return parameters, buffers


def check_alike(models: Any, caller: str) -> None:
    """Raise RuntimeError unless there are modules, all of one class and in one mode."""
    if not models:
        raise runtime_error(f"{caller}: Expected at least one model, got 0.")
    for model in models:
        if not isinstance(model, Module):
            raise no_attribute(model, "training")
    if len({model.training for model in models}) > 1:
        raise runtime_error(f"{caller}: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise runtime_error(f"{caller}: Expected all models to be of the same class.")


def stacked(tensors: tuple[Tensor, ...]) -> Tensor:
    """The stack of tensors, without their history."""
    return detach(catalog.function("stack")(tensors))


@Routine
def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters of modules of one class, stacked under their names, and their buffers: what `vmap` takes for an ensemble."""
    check_alike(models, "stack_module_state")
    states = [named_tensors(model) for model in models]
    parameters, buffers = (
        {name: _stacked_leaf(name, tuple(state[at][name] for state in states)) for name in states[0][at]} for at in (0, 1)
    )
    return parameters, buffers


def _stacked_leaf(name: str, tensors: tuple[Tensor, ...]) -> Tensor:
    """The stack of the tensors of all modules: a leaf that requires grad if the tensors do. RuntimeError if only some do."""
    required = {tensor.requires_grad for tensor in tensors}
    if len(required) > 1:
        raise runtime_error(f"Expected {name} from each model to have the same .requires_grad")
    made = stacked(tensors)
    made.requires_grad = required == {True}
    return made
