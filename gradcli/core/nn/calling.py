"""torch.func.functional_call: a module with other tensors in the places of its parameters and buffers."""

from __future__ import annotations

from typing import Any

from gradcli.core.mapping import Mapping, table_of
from gradcli.core.nn.module import Module
from gradcli.core.objects import Routine
from gradcli.core.signature import hooks
from gradcli.core.tensor import Tensor
from gradcli.errors import ProgramError


def _given(dictionaries: Any) -> dict[Any, Any]:
    """One table of names, from a dictionary or from several without common keys."""
    if isinstance(dictionaries, (dict, Mapping)):
        return table_of(dictionaries)
    if not isinstance(dictionaries, (list, tuple)):
        raise ProgramError(
            "TypeError",
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got <class '{hooks.type_name(dictionaries)}'>",
        )
    made: dict[Any, Any] = {}
    for table in map(table_of, dictionaries):
        repeated = [key for key in table if key in made]
        if repeated:
            raise ProgramError("ValueError", f"{repeated[0]} appears in multiple dictionaries; behavior of functional call is ambiguous")
        made |= table
    return made


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
        raise ProgramError("AttributeError", f"'{hooks.type_name(module)}' object has no attribute 'named_parameters'")
    given = _given(parameter_and_buffer_dicts)
    places = {name: (owner, own) for name, owner, own, _ in module.named_state()}
    unexpected = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if strict and (unexpected or missing):
        listed = [
            f"{what} key(s): {', '.join(map(str, keys))}." for what, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys
        ]
        raise ProgramError("RuntimeError", f"Error(s) in reparametrizing for {module.SCRIPT_NAME}:\n\t" + "\n\t".join(listed))
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


FUNCTIONAL_CALL = Routine(functional_call)
