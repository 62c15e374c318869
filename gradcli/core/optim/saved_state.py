"""The state of an optimiser as state_dict gives it, in which parameters are numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.core.calling import mappings
from gradcli.core.calling.mappings import table_of
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: options that a saved group may lack, with what they are then
ADDED_LATER: dict[str, Any] = {
    **dict.fromkeys(("nesterov", "maximize", "differentiable", "capturable", "amsgrad", "centered", "decoupled_weight_decay"), False),
    **dict.fromkeys(("foreach", "fused")),
}


def packed(param_groups: Sequence[dict[str, Any]], state: dict[Any, Any]) -> dict[str, Any]:
    """Groups and state, with the numbers of parameters in their places."""
    numbers: dict[int, int] = {}
    groups: list[dict[str, Any]] = []
    count = 0
    for group in param_groups:
        # of a parameter that a group has twice, the last place counts
        numbers |= {id(param): at for at, param in enumerate(group["params"], count) if id(param) not in numbers}
        count += len(group["params"])
        others = {key: value for key, value in group.items() if key != "params"}
        groups.append(others | {"params": [numbers[id(p)] for p in group["params"]]})
    by_number = {numbers[id(key)] if type(key) is Tensor else key: value for key, value in state.items()}
    return {"state": by_number, "param_groups": groups}


def unpacked(
    given: dict[Any, Any], param_groups: Sequence[dict[str, Any]], defaults: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[Any, Any]]:
    """The groups and the state of a `state_dict`, for the parameters of these groups; `defaults` are of options that it may lack.

    ValueError if the groups differ.
    """
    if language.length(given["param_groups"]) != len(param_groups):
        raise ProgramError("ValueError", "loaded state dict has a different number of parameter groups")
    groups = [_saved_group(g) for g in language.iterate(language.deep_copy(given["param_groups"]))]
    pairs = list(zip(param_groups, groups, strict=True))
    if any(len(mine["params"]) != len(new["params"]) for mine, new in pairs):
        raise ProgramError("ValueError", "loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    by_number = {number: p for mine, new in pairs for number, p in zip(new["params"], mine["params"], strict=True)}
    state = {by_number.get(key, key): _adapted(value, by_number.get(key)) for key, value in _saved_state(given["state"]).items()}
    for mine, new in pairs:
        new["params"] = mine["params"]
        if "param_names" in mine:
            new.setdefault("param_names", mine["param_names"])
        for name, default in defaults.items():
            new.setdefault(name, default)
    return groups, state


def _saved_group(group: Any) -> dict[str, Any]:
    if not isinstance(group, (dict, mappings.Mapping)):
        language.item(group, "params")
        raise type_error("a saved parameter group must be a dict, not {}", group)
    return dict(table_of(group))


def _saved_state(state: Any) -> dict[Any, Any]:
    if not isinstance(state, (dict, mappings.Mapping)):
        raise no_attribute(state, "items")
    return table_of(state)


def _adapted(value: Any, param: Tensor | None, key: object = None) -> Any:
    """A loaded state, whose tensors are cast to the dtype of its parameter, except for the count of steps."""
    if param is None:
        return value
    if type(value) is Tensor:
        wanted = param.dtype
        if key == "step" or value.dtype is wanted or not wanted.is_floating_point:
            return value
        return Tensor(dtypes.cast(value.array, wanted), wanted)
    if type(value) is dict:
        return {name: _adapted(entry, param, name) for name, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_adapted(entry, param) for entry in value)
    return value
