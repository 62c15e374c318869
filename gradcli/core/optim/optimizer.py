"""The base class of optimisers: parameter groups, state, and the loop of a step over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gradcli.core.calling import mappings, warnings
from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredArguments, DeclaredConstructor
from gradcli.core.calling.extensible import Extensible, checked_setter
from gradcli.core.calling.mappings import DefaultDict, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Hooks, Removable, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import not_callable, not_iterable, not_ordered, type_error
from gradcli.core.graph.write_checks import leaf_error
from gradcli.core.kernels import Array, blocks
from gradcli.core.kernels.memory_format import followers, tell_followers
from gradcli.core.optim import checks, fused_arithmetic, tensor_arithmetic
from gradcli.core.optim.real_views import real_view
from gradcli.core.optim.row import Row, row_of
from gradcli.core.optim.saved_state import ADDED_LATER, packed, unpacked
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

Group = dict[str, Any]
#: the state of a parameter: tensors by name
State = dict[str, Any]
#: the update of a parameter and its state by a gradient, which includes `maximize` and the weight decay; steps count from 1
Kernel = Callable[[Tensor, Any, State, float], None]


def _set_state(optimizer: Optimizer, value: Any) -> None:
    """`optimizer.state = value`, a mapping."""
    if not isinstance(value, (dict, mappings.Mapping)) and language.as_mapping(value) is None:
        raise type_error("the state of an optimizer has to be a dict, not '{}'", value)
    optimizer.state = value if isinstance(value, DefaultDict) else mappings.Mapping(table_of(value))


def _are_groups(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(group, (dict, mappings.Mapping)) for group in value)


class Optimizer(DeclaredArguments, Extensible):
    """An optimiser. A subclass declares its arguments, options and state, and gives in `kernel` the update of one parameter."""

    SCRIPT_NAME = "Optimizer"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = Attributes.read("param_groups state defaults")
    SCRIPT_SETTERS = {
        **Attributes.write("defaults"),
        "param_groups": checked_setter("param_groups", _are_groups, "a list of dicts"),
        "state": _set_state,
    }
    ARGUMENTS = {"params": REQUIRED, "defaults": REQUIRED}
    #: names of the options in PyTorch's order, in which scripts see them in `defaults` and in the groups
    OPTIONS = ""
    #: options that a saved group may lack, with what they are then
    LATER: Mapping[str, Any] = ADDED_LATER
    #: names of the options that are checked, in PyTorch's order
    CHECKED = ""
    #: names of the tensors in the state of a parameter that begin with zeros
    STATE = ""
    #: whether the state of a parameter counts its steps
    COUNTS_STEPS = True
    #: whether the update treats each element by itself, with no state but STATE and the count of steps
    ELEMENTWISE = False

    #: what PyTorch's error for `capturable` names besides the steps, without `foreach` and with it
    CAPTURED = ("params", "params")
    #: whether PyTorch's error for `capturable` lists XLA, without `foreach` and with it
    ON_XLA = (True, False)

    #: classes of programs may derive from optimisers
    BASE_OF = "optimizers"

    def __init_subclass__(cls, place: str = "") -> None:
        """Make the type of a class that scripts know as `torch.optim.PLACE.NAME`."""
        if place:
            cls.SCRIPT_NAME = cls.__name__
            _declare(cls, place)

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        given = self.bind(args, kwargs)
        self.prepare(given)
        params = given["params"]
        if type(params) is Tensor:
            raise ProgramError(
                "TypeError",
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got torch.{params.dtype.torch_name}Tensor",
            )
        self.defaults: dict[str, Any] = {name: given[name] for name in self.OPTIONS.split()} or table_of(given["defaults"])
        self.state: mappings.Mapping = DefaultDict()
        self.param_groups: list[Group] = []
        self.start_afresh()
        listed = _listed(params)
        if not listed:
            raise ProgramError("ValueError", "optimizer got an empty parameter list")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)
        if "fused" in given:
            checks.fused(given["fused"], given["differentiable"], given["foreach"])

    def start_afresh(self) -> None:
        """Without hooks and before the first step, as a deep copy begins too."""
        #: whether a step was made since a scheduler first asked
        self.stepped = False
        self.watched = False
        self.before, self.after = Hooks(), Hooks()
        self.before_saving, self.after_saving = Hooks(), Hooks()
        self.before_loading, self.after_loading = Hooks(), Hooks()
        #: rows of parameters that were updated at once
        self.rows: dict[int, Row] = {}

    def prepare(self, given: dict[str, Any]) -> None:
        """Check the arguments, and change those that become options in another form. Raises PyTorch's errors."""
        for name in self.CHECKED.split():
            checks.option(name, given[name])

    def __repr__(self) -> str:
        lines = [f"{self.SCRIPT_NAME} ("]
        for i, group in enumerate(self.param_groups):
            if (other := next((key for key in group if not isinstance(key, str)), None)) is not None:
                raise not_ordered("<", other, "params")
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {formatted(language.plain(group[key]))}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"

    # --- groups ---

    def add_param_group(self, param_group: Any) -> None:
        """Add a group; the dict given becomes the group. TypeError or ValueError for values that cannot be optimised."""
        if not isinstance(param_group, dict):
            raise ProgramError("TypeError", f"param_group must be a dict, but got {language.type_repr(param_group)}")
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
        if any(("param_names" in param_group) != ("param_names" in group) for group in self.param_groups):
            raise ProgramError(
                "ValueError",
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer",
            )
        if any(id(p) in chosen for group in self.param_groups for p in group["params"]):
            raise ProgramError("ValueError", "some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_parameter(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise ProgramError("TypeError", f"optimizer can only optimize Tensors, but one of the params is {language.type_name(param)}")
        if not (self.defaults.get("differentiable") or param.node is None or param.property_of("retains_grad")):
            raise ProgramError("ValueError", "can't optimize a non-leaf Tensor")

    # --- steps ---

    def hooked(self, /, *args: Any, **kwargs: Any) -> Any:
        """`step`, with the hooks before and after it."""
        return self.with_hooks(self.SCRIPT_STEP, args, kwargs)

    def with_hooks(self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`step(self, *args, **kwargs)`, with the hooks before and after it."""
        self.stepped = True
        for hook in self.before:
            changed = hook(self, (self, *args), kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise runtime_error(
                        f"step_pre_hook should return None or a tuple of (new_args, new_kwargs), but got {formatted(changed)}.",
                    )
                args, kwargs = tuple(changed[0][1:]), changed[1]
        made = step(self, *args, **kwargs)
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
        """Update every parameter that has a gradient; returns the loss if a closure computes it."""
        self.stepped = True
        loss = None
        if closure is not None:
            with recording(True):
                loss = called(closure)
        blocks.settle()
        for group in self.param_groups:
            if group.get("differentiable"):
                self._refuse_differentiable(group)
            self.update(group)
        return loss

    def update(self, group: Group) -> None:
        """Update every parameter of a group that has a gradient."""
        if not self.OPTIONS:
            raise ProgramError("NotImplementedError", "")
        if group.get("capturable") and not group.get("fused"):
            self._refuse_capturable(group)
        maximize, decay = group["maximize"], checks.number(group.get("weight_decay", 0))
        decoupled, counts = group.get("decoupled_weight_decay"), self.COUNTS_STEPS
        fused = group.get("fused")  # PyTorch's fused kernels do not count their writes
        if fused:
            checks.fused_parameters(group["params"])
        move: Kernel | None = None
        xp: Any = None
        state: State = {}
        step = 0.0
        row = row_of(group["params"], self.state.table, self.rows) if self.ELEMENTWISE else None
        params: list[Tensor] = group["params"] if row is None else [row.param]
        for param in params:
            gradient = param.grad
            if gradient is None:
                continue
            writes = param.counter().count if fused else 0
            if xp is not (needed := tensor_arithmetic if param.dtype.itemsize == 2 else fused_arithmetic):
                xp, move = needed, None
            grad = xp.operand(gradient)
            if row is not None:
                state = row.state
                move, step = self._advance_row(group, row, xp)
            elif counts:
                state, step = self.advance(group, param)
            if maximize:
                grad = xp.negative(grad)
            if decay:
                if decoupled:
                    xp.multiply(xp.operand(param), 1 - checks.rate(group) * decay)
                    written(param)
                else:
                    grad = xp.plus(grad, xp.operand(param), decay)
            # PyTorch makes the state before it looks at the options, which may be invalid
            move = move or self.kernel(group, xp)
            try:
                if counts and param.dtype.is_complex:
                    move(real_view(param), real_view(like(param, grad)).array, {name: real_view(state[name]) for name in state}, step)
                else:
                    move(param, grad, state, step)
            except ValueError:  # numpy's, for arrays that do not broadcast
                raise checks.misshapen(param, self.state[param] if row is None else state) from None
            written(param)
            if fused:
                param.counter().count = writes
        if row is not None:
            row.spread()

    def _with_state(self, group: Group) -> list[Tensor]:
        """The parameters with a gradient; their states are made, as PyTorch makes them before it refuses an option."""
        params = [param for param in group["params"] if param.grad is not None]
        for param in params if self.COUNTS_STEPS else ():
            if not self.state[param]:
                self.start(group, param, self.state[param])
        return params

    def _refuse_differentiable(self, group: Group) -> None:
        """Refuse a step that is to be recorded; a leaf is refused first, since the step would write to it."""
        params = self._with_state(group)
        if params and group.get("foreach") and self.COUNTS_STEPS:
            raise ProgramError("AssertionError", "_foreach ops don't support autograd")
        if any(param.node is None for param in params):
            raise leaf_error("a leaf Variable")
        raise ProgramError("NotImplementedError", "differentiable=True is not part of gradcli")

    def _refuse_capturable(self, group: Group) -> None:
        """AssertionError if a parameter has a gradient, since there is no accelerator."""
        if self._with_state(group):
            foreach = bool(group.get("foreach"))
            devices = ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * self.ON_XLA[foreach]
            text = f"If capturable=True, {self.CAPTURED[foreach]} and state_steps must be on supported devices: {devices}."
            raise ProgramError("AssertionError", text)

    def _advance_row(self, group: Group, row: Row, xp: Any) -> tuple[Kernel, float]:
        """The update, and the number of the step, counted for each parameter of a row: for the first before the options are read."""
        first, *others = row.steps
        step = first.item() + 1.0
        first.fill(step)
        move = self.kernel(group, xp)
        for array in others:
            array.fill(step)
        return move, step

    def advance(self, group: Group, param: Tensor) -> tuple[State, float]:
        """The state of a parameter, which the first step makes, and the number of the step."""
        state: State | None = self.state.table.get(param)
        if not state:
            state = self.state[param]
            self.start(group, param, state)
        array = state["step"].array
        count = array.item() + 1
        array[...] = count
        return state, float(count)

    def start(self, group: Group, param: Tensor, state: State) -> None:
        """Make the state of a parameter."""
        state["step"] = Tensor(np.zeros((), np.float32), dtypes.float32)
        self.begin(group, param, state)

    def begin(self, group: Group, param: Tensor, state: State) -> None:
        """Make the state of a parameter besides the count of steps."""
        for name in self.STATE.split():
            state[name] = zeros_like(param)

    def kernel(self, group: Group, xp: Any) -> Kernel:
        """The update of a parameter with the options of a group; `xp` has its arithmetic, that of arrays or of tensors."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: Any = True) -> None:
        """Take away the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            zero_gradients(group["params"], set_to_none)

    # --- state ---

    def state_dict(self) -> Any:
        """State and options; parameters are numbers."""
        for hook in self.before_saving:
            hook(self)
        return _hooked(self.after_saving, self, packed(self.param_groups, self.state.table))

    def load_state_dict(self, state_dict: Any) -> None:
        """Set state and options to those of a `state_dict`. ValueError if the groups differ."""
        given = table_of(_hooked(self.before_loading, self, state_dict))
        later = {name: self.LATER[name] for name in self.OPTIONS.split() if name in self.LATER}
        self.param_groups, state = unpacked(given, self.param_groups, later)
        self.state = DefaultDict(state)
        for hook in self.after_loading:
            hook(self)

    def register_state_dict_pre_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(optimizer)` before a `state_dict` is made."""
        return self.before_saving.add(hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(optimizer, state_dict)` when a `state_dict` is made; what it returns, if anything, replaces it."""
        return self.after_saving.add(hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(optimizer, state_dict)` before loading; what it returns, if anything, is loaded."""
        return self.before_loading.add(hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(optimizer)` after loading."""
        return self.after_loading.add(hook, prepend)

    #: `step` without hooks, with Python's errors for wrong calls
    SCRIPT_STEP = Routine(step, "Optimizer.step")
    SCRIPT_METHODS = (
        Extensible.SCRIPT_METHODS
        | {
            function.__name__: Routine(function, f"Optimizer.{function.__name__}")
            for function in (
                *(register_step_pre_hook, register_step_post_hook, zero_grad, add_param_group, state_dict, load_state_dict),
                *(register_state_dict_pre_hook, register_state_dict_post_hook),
                *(register_load_state_dict_pre_hook, register_load_state_dict_post_hook),
            )
        }
        | {"step": Routine(hooked, "Optimizer.step")}
    )


def _hooked(hooks: Hooks, optimizer: Optimizer, state_dict: Any) -> Any:
    """A state after hooks, of which each may replace it."""
    for hook in hooks:
        changed = hook(optimizer, state_dict)
        state_dict = state_dict if changed is None else changed
    return state_dict


def _listed(params: Any) -> list[Any]:
    if not hasattr(params, "__iter__") or type(params) is Tensor:
        raise not_iterable(params)
    return language.collect(params)


def _split_names(group: Group, params: list[Any]) -> None:
    """Set `params` of a group and, if parameters are given as (name, tensor), `param_names`. ValueError for a mix."""
    named = [p for p in params if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
    if not named:
        return
    if len(named) != len(params):
        raise ProgramError("ValueError", "all optimizer params should be with/without names. Some param names are missing")
    group["param_names"] = [p[0] for p in params]


def _declare(made: type[Optimizer], place: str) -> None:
    """Make the type of an optimiser; PyTorch has the class in torch.optim.PLACE."""
    kind = script_type(made, "torch.optim" if place.startswith("_") else f"torch.optim.{place}")
    kind.construct = DeclaredConstructor(made, made.SCRIPT_NAME)


def called(closure: Any) -> Any:
    """Call a closure of the script. TypeError if it is not callable."""
    if not callable(closure):
        raise not_callable(closure)
    return closure()


def zero_gradients(params: Iterable[Tensor], set_to_none: object) -> None:
    """Take away the gradients of tensors, or fill them with zeros."""
    for param in params:
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
        tell_followers(gradient.array)


def like(param: Tensor, array: Array) -> Tensor:
    """A tensor of an array, in the dtype of a parameter."""
    return Tensor(array, param.dtype)


def zeros_like(param: Tensor) -> Tensor:
    """Zeros in the shape and dtype of a parameter."""
    return Tensor(np.zeros_like(param.array), param.dtype)


def filled_like(param: Tensor, number: float) -> Tensor:
    """A tensor of one number in the shape and dtype of a parameter; both parts of complex elements are that number."""
    array = np.full_like(param.array, complex(number, number) if param.dtype.is_complex else number)
    return Tensor(dtypes.cast(array, param.dtype), param.dtype)


def written(param: Tensor) -> None:
    """Count a write to a parameter in its version."""
    param.counter().count += 1
    if followers:
        tell_followers(param.array)


_declare(Optimizer, "optimizer")
