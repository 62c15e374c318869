"""torch.func.functional_call and stack_module_state, which call modules with other tensors as their parameters and buffers."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.mappings import Mapping, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _given(dictionaries: Any) -> dict[Any, Any]:
    """One dictionary, from a dictionary or from several. ValueError if two have a common key."""
    if isinstance(dictionaries, (dict, Mapping)):
        return table_of(dictionaries)
    if not isinstance(dictionaries, (list, tuple)):
        raise ProgramError(
            "TypeError",
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got <class '{language.type_name(dictionaries)}'>",
        )
    made: dict[Any, Any] = {}
    for table in map(table_of, dictionaries):
        repeated = [key for key in table if key in made]
        if repeated:
            raise ProgramError("ValueError", f"{repeated[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
        made |= table
    return made


@Routine
def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: Any = True,
    strict: Any = False,
) -> Any:
    """`module(*args, **kwargs)`; the module has its own tensors again afterwards."""
    if not isinstance(module, Module):
        raise no_attribute(module, "named_parameters")
    given = _given(parameter_and_buffer_dicts)
    places = {name: (owner, own) for name, owner, own, _ in module.named_state()}
    unexpected = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if strict and (unexpected or missing):
        listed = [
            f"{what} key(s): {', '.join(map(str, keys))}." for what, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys
        ]
        raise runtime_error(f"Error(s) in reparametrizing for {module.SCRIPT_NAME}:\n\t" + "\n\t".join(listed))
    if unexpected:
        raise ProgramError("KeyError", f"'{unexpected[0]}'", args=(unexpected[0],))
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    kept: list[tuple[dict[str, Tensor | None], str, Tensor | None]] = []
    try:
        for name, tensor in given.items():
            owner, own = places[name]
            table = owner.own_parameters if own in owner.own_parameters else owner.own_buffers
            kept.append((table, own, table[own]))
            table[own] = tensor
        return module(*positional, **({} if kwargs is None else kwargs))
    finally:
        for table, own, tensor in reversed(kept):
            table[own] = tensor


@Routine
def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters of modules of one class, stacked under their names, and their buffers: what `vmap` takes for an ensemble."""
    if not models:
        raise runtime_error("stack_module_state: Expected at least one model, got 0.")
    for model in models:
        if not isinstance(model, Module):
            raise no_attribute(model, "training")
    if len({model.training for model in models}) > 1:
        raise runtime_error("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise runtime_error("stack_module_state: Expected all models to be of the same class.")
    states = [{name: (owner, own, tensor) for name, owner, own, tensor in model.named_state()} for model in models]
    parameters: dict[str, Tensor] = {}
    buffers: dict[str, Tensor] = {}
    for name, (owner, own, _) in states[0].items():
        table = parameters if own in owner.own_parameters else buffers
        table[name] = _stacked_leaf(name, tuple(state[name][2] for state in states))
    return parameters, buffers


def _stacked_leaf(name: str, tensors: tuple[Tensor, ...]) -> Tensor:
    """The stack of the tensors of all modules: a leaf that requires grad if the tensors do. RuntimeError if only some do."""
    required = {tensor.requires_grad for tensor in tensors}
    if len(required) > 1:
        raise runtime_error(f"Expected {name} from each model to have the same .requires_grad")
    made = detach(catalog.function("stack")(tensors))
    made.requires_grad = required == {True}
    return made
