"""Hooks of modules: around `forward`, and around the part of a backward that belongs to a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from gradcli.core.autograd import custom_function
from gradcli.core.autograd.hooks import register_node_hook, register_node_prehook
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Hooks, Removable
from gradcli.core.ops.operators import iterate
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more details."
)
_NONE_EXPECTED = "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."


def before_forward(hook: Callable[..., Any], with_kwargs: object, registered: Any = None) -> Callable[..., Any]:
    """A hook before `forward` as a function of module, args and kwargs that returns both; `registered` is what programs see of it."""

    def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if changed is None:
            return args, kwargs
        if not with_kwargs:
            return changed if isinstance(changed, tuple) else (changed,), kwargs
        if isinstance(changed, tuple) and len(changed) == 2:
            return changed
        raise runtime_error(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {formatted(changed)}.")

    setattr(run, "hook", registered or hook)  # noqa: B010
    return run


def after_forward(hook: Callable[..., Any], with_kwargs: object, always: object) -> Callable[..., Any]:
    """A hook after `forward` as a function of module, args, kwargs and output that returns the output."""

    def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        changed = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        return output if changed is None else changed

    setattr(run, "hook", hook)  # noqa: B010
    setattr(run, "always", bool(always))  # noqa: B010
    return run


def _pass(ctx: custom_function.FunctionNode, *tensors: Tensor) -> tuple[Tensor, ...]:
    ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
    return tensors


_PASS = custom_function.Functions("BackwardHookFunction", _pass, lambda ctx, *grads: grads, None, None)


class StateHooks:
    """The hooks of one module that saving and loading its state call."""

    __slots__ = ("before_saving", "after_saving", "before_loading", "after_loading")

    def __init__(self) -> None:
        self.before_saving = Hooks()
        self.after_saving = Hooks()
        self.before_loading = Hooks()
        self.after_loading = Hooks()


def saving(modules: Iterable[tuple[str, Any]], state: Any, keep_vars: object) -> Iterator[tuple[str, Any]]:
    """The modules, each before those in it, with the hooks around what is put into `state` for each and for those in it."""
    entered: list[tuple[str, Any]] = []

    def leave(prefix: str, module: Any) -> None:
        for hook in module.state_hooks.after_saving if module.state_hooks else ():
            if hook(module, state, prefix, {"version": module.version()}) is not None:
                raise runtime_error("state_dict post-hook must return None")

    for prefix, module in modules:
        while entered and not prefix.startswith(entered[-1][0]):
            leave(*entered.pop())
        for hook in module.state_hooks.before_saving if module.state_hooks else ():
            hook(module, prefix, keep_vars)
        entered.append((prefix, module))
        yield prefix, module
    while entered:
        leave(*entered.pop())


class BackwardHooks:
    """The hooks of one module that its backward calls."""

    __slots__ = ("after", "before", "full", "of_node")

    def __init__(self) -> None:
        self.before = Hooks()
        self.after = Hooks()
        #: the hooks of `register_backward_hook`, which the node of the output calls
        self.of_node = Hooks()
        #: which of the two kinds the module has; None until one is registered
        self.full: bool | None = None

    def choose(self, full: bool, owner: str = "on a single Module") -> None:
        """Say which kind is registered. Raises RuntimeError if the owner has hooks of the other one."""
        if self.full is (not full):
            raise runtime_error(f"Cannot use both regular backward hooks and full backward hooks {owner}. Please use only one of them.")
        self.full = full

    def behind(self, others: BackwardHooks | None) -> BackwardHooks:
        """These hooks, and those of one module behind them."""
        made = BackwardHooks()
        for name in ("before", "after", "of_node"):
            for hooks in (self, others):
                getattr(made, name).functions.update(getattr(hooks, name).functions if hooks else {})
        return made

    def watch(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        """Let the node of the output call the hooks, with PyTorch's warnings where they do not see all gradients."""
        first = result
        while type(first) is not Tensor:
            first = next(v for v in first.values() if type(v) is Tensor) if isinstance(first, dict) else first[0]
        node = first.grad_fn
        if node is None:
            return
        for hook in self.of_node:
            register_node_hook(node, _Hook(partial(hook, module), getattr(hook, "name", "<unknown>")))
        text = _incomplete(args, result, node)
        if text:
            warnings.emit(text, "FutureWarning", once=text)


class SharedHooks:
    """The hooks that calls of all modules run, in front of those of the module."""

    __slots__ = ("after", "backward", "before")

    def __init__(self) -> None:
        self.before = Hooks()
        self.after = Hooks()
        self.backward = BackwardHooks()


def _shared() -> SharedHooks:
    if state.module_hooks is None:
        state.module_hooks = SharedHooks()
    found: SharedHooks = state.module_hooks
    return found


_GLOBAL = "as a global Module hook"


@Routine
def register_module_forward_pre_hook(hook: Any) -> Removable:
    """Call `hook(module, args)` before the `forward` of every module."""
    return _shared().before.add(before_forward(hook, False))


@Routine
def register_module_forward_hook(hook: Any, *, with_kwargs: Any = False, always_call: Any = False) -> Removable:
    """Call `hook(module, args, output)` after the `forward` of every module."""
    return _shared().after.add(after_forward(hook, with_kwargs, always_call))


@Routine
def register_module_full_backward_pre_hook(hook: Any) -> Removable:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return _shared().backward.before.add(hook)


@Routine
def register_module_full_backward_hook(hook: Any) -> Removable:
    """Call `hook(module, grad_input, grad_output)` in the backward of every module."""
    hooks = _shared().backward
    hooks.choose(True, _GLOBAL)
    return hooks.after.add(hook)


@Routine
def register_module_backward_hook(hook: Any) -> Removable:
    """Call `hook(module, grad_input, grad_output)` with the gradients of a module's last node."""
    hooks = _shared().backward
    hooks.choose(False, _GLOBAL)
    return hooks.of_node.add(hook)


def after_failure(hooks: Iterable[Callable[..., Any]], ran: Sequence[Any], module: Any, call: tuple[Any, ...]) -> None:
    """Run the hooks that are always called and have not run; `call` has the arguments of a call that raised an error."""
    for hook in hooks:
        if getattr(hook, "always", False) and hook not in ran:
            try:
                hook(module, *call)
            except ProgramError as error:
                warnings.emit(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in "
                    f"forward: {error.message}"
                )


_DEPRECATED = "is deprecated and will be removed in future versions. This hook will be missing some {}."
_INSTEAD = " Please use register_full_backward_hook to get the documented behavior."


def _incomplete(args: tuple[Any, ...], result: Any, node: Node) -> str:
    """Why the hooks of the output's node do not see all gradients of a module; nothing if they do."""
    results = (result,) if type(result) is Tensor else result
    for values, start, what in (
        (results, "on a Module that does not return a single Tensor or a tuple of Tensors ", "of the grad_output"),
        (args, "on a Module that does not take as input a single Tensor or a tuple of Tensors ", "of the grad_input"),
    ):
        if not (isinstance(values, tuple) and all(type(value) is Tensor for value in values)):
            return f"Using non-full backward hooks {start}{_DEPRECATED.format(what)}{_INSTEAD}"
    nodes = {one.grad_fn for one in results if one.grad_fn is not None}
    start = "Using a non-full backward hook when "
    if node not in nodes and len(nodes) < 2:
        return f"{start}outputs are nested in python data structure {_DEPRECATED.format('grad_output')}"
    if len(nodes) > 1:
        return f"{start}outputs are generated by different autograd Nodes {_DEPRECATED.format('grad_output')}{_INSTEAD}"
    if {arg.grad_fn for arg in args if arg.grad_fn is not None} != {one for one, _ in node.next_functions}:
        return f"{start}the forward contains multiple autograd Nodes {_DEPRECATED.format('grad_input')}{_INSTEAD}"
    return ""


class _Hook:
    """A hook of a node under the name that it has in PyTorch, which errors show."""

    __slots__ = ("name", "run")

    def __init__(self, run: Callable[..., Any], name: str = "hook") -> None:
        self.run = run
        self.name = name

    def __call__(self, /, *args: Any) -> Any:
        return self.run(*args)


class Passage:
    """One call of a module with backward hooks: nodes before and after it see the gradients of its inputs and outputs."""

    def __init__(self, module: Any, hooks: BackwardHooks) -> None:
        self.module = module
        self.before = list(hooks.before)
        self.after = list(hooks.after)
        #: positions of tensors among inputs and outputs; None where none of them requires grad
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None
        self.inputs = self.outputs = 0
        #: gradients of the outputs in the running backward
        self.grads: Any = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs behind a node."""
        self.inputs = len(args)
        found, self.input_places, node = _behind_node(args)
        if node is not None:
            register_node_hook(node, _Hook(self._inputs_known))
        return found

    def leave(self, output: Any) -> Any:
        """The output, or a tuple of outputs, behind a node."""
        whole = output if isinstance(output, tuple) else (output,)
        self.outputs = len(whole)
        found, self.output_places, node = _behind_node(whole)
        if node is not None:
            register_node_prehook(node, _Hook(self._outputs_known))
        return found if isinstance(output, tuple) else found[0]

    def _inputs_known(self, grad_inputs: Sequence[Any], _: Any) -> Any:
        if self.grads is None or self.input_places is None:
            return None  # the walk came to the inputs without passing the outputs
        found = _spread(self.input_places, grad_inputs, self.inputs)
        for hook in self.after:
            changed = hook(self.module, found, self.grads)
            if changed is not None:
                found = _same_length(changed, found, "Backward hook returned an invalid number of grad_input")
        self.grads = None
        return tuple([found[at] for at in self.input_places])

    def _outputs_known(self, grad_outputs: Sequence[Any]) -> Any:
        assert self.output_places is not None
        self.grads = _spread(self.output_places, grad_outputs, self.outputs)
        for hook in self.before:
            changed = hook(self.module, self.grads)
            if changed is not None:
                self.grads = _same_length(changed, self.grads, "Backward pre hook returned an invalid number of grad_output")
        grads = self.grads
        if self.input_places is None:
            warnings.emit(_NO_INPUT_GRADIENT)
            for hook in self.after:
                changed = hook(self.module, (None,) * self.inputs, grads)
                if changed is not None and not (isinstance(changed, tuple) and all(one is None for one in changed)):
                    raise runtime_error(_NONE_EXPECTED)
            self.grads = None
        return tuple([grads[at] for at in self.output_places])


def _behind_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Node | None]:
    """The values with their tensors behind one node that changes nothing, the places of the tensors, and the node."""
    places = [at for at, value in enumerate(values) if type(value) is Tensor]
    if not (state.enabled and any(values[at].requires_grad for at in places)):
        return values, None, None
    passed = custom_function.apply(_PASS, tuple([values[at] for at in places]))
    found = list(values)
    for at, value in zip(places, passed, strict=True):
        found[at] = value
    return tuple(found), places, next(value.node for value in passed if value.node is not None)


def _spread(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """A tuple of `count` values: those given at their places, None elsewhere."""
    found: list[Any] = [None] * count
    for at, value in zip(places, values, strict=True):
        found[at] = value
    return tuple(found)


def _same_length(changed: Any, before: Sequence[Any], text: str) -> Any:
    if type(changed) is Tensor:
        changed = tuple(iterate(changed))
    if len(changed) != len(before):
        raise runtime_error(f"{text}, got {len(changed)}, but expected {len(before)}")
    return changed
