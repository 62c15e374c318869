"""The base of all optimisers: parameter groups, state, and what scripts can do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.mappings import DefaultDict, table_of
from gradcli.core.calling.script_types import Attributes, Hooks, Removable, Routine, ScriptType, script_type
from gradcli.core.calling.signature import hooks
from gradcli.core.calling.type_errors import not_callable, not_iterable, type_error
from gradcli.core.graph.in_place import leaf_error
from gradcli.core.kernels import blocks
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import recording
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

Group = dict[str, Any]


class Optimizer:
    """An optimiser. Subclasses say in `update` what a step does to one group."""

    SCRIPT_NAME = "Optimizer"
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = Attributes.read("param_groups state defaults")
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = Attributes.write("param_groups")
    SCRIPT_METHODS: dict[str, Routine] = {}
    #: `step` itself, without hooks
    SCRIPT_STEP: Routine

    def __init__(self, params: Any, defaults: Any) -> None:
        if type(params) is Tensor:
            raise ProgramError(
                "TypeError",
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got torch.{params.dtype.torch_name}Tensor",
            )
        self.defaults: dict[str, Any] = table_of(defaults)
        self.state = DefaultDict()
        self.param_groups: list[Group] = []
        #: whether a step was made since a scheduler first asked
        self.stepped = False
        self.watched = False
        self.before, self.after = Hooks(), Hooks()
        given = _listed(params)
        if not given:
            raise ProgramError("ValueError", "optimizer got an empty parameter list")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = [f"{self.SCRIPT_NAME} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {formatted(group[key])}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"

    # --- groups ---

    def add_param_group(self, param_group: Any) -> None:
        """Add a group; the dict given becomes the group. TypeError or ValueError for what cannot be optimised."""
        if not isinstance(param_group, dict):
            raise type_error("param_group must be a dict, but got <class '{}'>", param_group)
        if "params" not in param_group:
            raise ProgramError("KeyError", "'params'", args=("params",))
        params = param_group["params"]
        if isinstance(params, set):
            raise ProgramError(
                "TypeError",
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead.",
            )
        _split_names(param_group, [params] if type(params) is Tensor else _listed(params))
        for param in param_group["params"]:
            self._check_parameter(param)
        for key, default in self.defaults.items():
            param_group.setdefault(key, default)
        chosen = set(map(id, param_group["params"]))
        if len(chosen) != len(param_group["params"]):
            warnings.emit(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        if any(id(p) in chosen for group in self.param_groups for p in group["params"]):
            raise ProgramError("ValueError", "some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_parameter(self, param: Any) -> None:
        if type(param) is not Tensor:
            raise ProgramError("TypeError", f"optimizer can only optimize Tensors, but one of the params is {hooks.type_name(param)}")
        if not (self.defaults.get("differentiable") or param.node is None or param.property_of("retains_grad")):
            raise ProgramError("ValueError", "can't optimize a non-leaf Tensor")

    def only_group(self) -> Group:
        """The single group of an optimiser that takes no more."""
        return self.param_groups[0]

    # --- steps ---

    def hooked(self, *args: Any, **kwargs: Any) -> Any:
        """`step`, with the hooks before and after it."""
        for hook in self.before:
            changed = hook(self, (self, *args), kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise ProgramError(
                        "RuntimeError",
                        f"step_pre_hook should return None or a tuple of (new_args, new_kwargs), but got {formatted(changed)}.",
                    )
                args, kwargs = tuple(changed[0][1:]), changed[1]
        made = self.SCRIPT_STEP(self, *args, **kwargs)
        for hook in self.after:
            hook(self, (self, *args), kwargs)
        return made

    def register_step_pre_hook(self, hook: Any) -> Removable:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return self.before.add(hook)

    def register_step_post_hook(self, hook: Any) -> Removable:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self.after.add(hook)

    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient; the loss if a closure computed it."""
        self.stepped = True
        loss = None
        if closure is not None:
            with recording(True):
                loss = called(closure)
        blocks.settle()
        for group in self.param_groups:
            if group.get("differentiable"):
                _refuse_differentiable(group)
            self.update(group)
        return loss

    def update(self, group: Group) -> None:
        """What a step does to one group."""
        raise ProgramError("NotImplementedError", "")

    def zero_grad(self, set_to_none: Any = True) -> None:
        """Forget the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                gradient = param.grad
                if gradient is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                gradient.node, gradient.requires_grad = None, False
                blocks.settle()
                gradient.array[...] = 0
                gradient.counter().count += 1

    # --- state ---

    def state_dict(self) -> dict[str, Any]:
        """State and options, with parameters as numbers."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if type(key) is Tensor else key: value for key, value in self.state.table.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Any) -> None:
        """Take up what `state_dict` gave. ValueError where the groups differ."""
        given = table_of(state_dict)
        groups = [dict(table_of(g)) for g in given["param_groups"]]
        if len(groups) != len(self.param_groups):
            raise ProgramError("ValueError", "loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, groups, strict=True))
        if any(len(mine["params"]) != len(new["params"]) for mine, new in pairs):
            raise ProgramError(
                "ValueError", "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_number = {number: p for mine, new in pairs for number, p in zip(new["params"], mine["params"], strict=True)}
        state = {by_number.get(key, key): _adapted(value, by_number.get(key)) for key, value in table_of(given["state"]).items()}
        for mine, new in pairs:
            new["params"] = mine["params"]
        self.param_groups = groups
        self.state = DefaultDict(state)


for _name in ("register_step_pre_hook", "register_step_post_hook", "zero_grad", "add_param_group", "state_dict", "load_state_dict"):
    Optimizer.SCRIPT_METHODS[_name] = Routine(vars(Optimizer)[_name], f"Optimizer.{_name}")
Optimizer.SCRIPT_STEP = Routine(Optimizer.step, "Optimizer.step")
Optimizer.SCRIPT_METHODS["step"] = Routine(Optimizer.hooked, "Optimizer.step")


def _refuse_differentiable(group: Group) -> None:
    """A step that is itself recorded writes to its parameters, which leaves forbid."""
    for param in group["params"]:
        if param.grad is not None and param.node is None:
            raise leaf_error("a leaf Variable")
    raise ProgramError("NotImplementedError", "differentiable=True is not part of gradcli")


def _listed(params: Any) -> list[Any]:
    if not hasattr(params, "__iter__") or type(params) is Tensor:
        raise not_iterable(params)
    return list(params)


def _split_names(group: Group, params: list[Any]) -> None:
    """Parameters given as (name, tensor) go into `params` and `param_names`."""
    named = [p for p in params if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
    if not named:
        return
    if len(named) != len(params):
        raise ProgramError("ValueError", "all optimizer params should be with/without names. Some param names are missing")
    group["param_names"] = [p[0] for p in params]


def _adapted(value: Any, param: Tensor | None) -> Any:
    """A loaded state in the dtype of its parameter; the count of steps keeps its own."""
    if param is None or not isinstance(value, dict):
        return value
    wanted = param.dtype
    made = {}
    for key, entry in value.items():
        if type(entry) is Tensor and key != "step" and entry.dtype is not wanted and wanted.is_floating_point:
            entry = Tensor(dtypes.cast(entry.array, wanted), wanted)
        made[key] = entry
    return made


def called(closure: Any) -> Any:
    """Call a function of the script."""
    if not callable(closure):
        raise not_callable(closure)
    return closure()


def optimizer_type(made: type[Optimizer], module: str) -> ScriptType:
    """The type of an optimiser, under the name that the class declares."""
    return script_type(made, f"torch.optim.{module}")


def like(param: Tensor, array: Array) -> Tensor:
    """A tensor of state in the dtype of its parameter."""
    return Tensor(array, param.dtype)


def zeros_like(param: Tensor) -> Tensor:
    """Zeros shaped as the parameter."""
    return Tensor(np.zeros_like(param.array), param.dtype)


def counter() -> Tensor:
    """The count of steps, a float32 tensor."""
    return Tensor(np.zeros((), np.float32), dtypes.float32)


def advance(state: dict[str, Any]) -> float:
    """Count a step; returns the count."""
    array = state["step"].array
    count = array.item() + 1
    array[...] = count
    return float(count)


def written(param: Tensor, state: dict[str, Any] | None = None) -> None:
    """After a parameter was written to: its version, and the rounding that bfloat16 needs."""
    param.counter().count += 1
    if param.dtype is dtypes.bfloat16:
        for tensor in (param, *(state or {}).values()):
            if type(tensor) is Tensor and tensor.dtype is dtypes.bfloat16:
                tensor.array[...] = dtypes.round_bfloat16(tensor.array)


OPTIMIZER_TYPE = optimizer_type(Optimizer, "optimizer")
