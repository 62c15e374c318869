"""The base of all modules: calls with their hooks, the repr, the mode, and the tables of what scripts reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import OrderedDict
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Hooks, Removable, script_type
from gradcli.core.nn.member_tables import HookTable
from gradcli.core.nn.module_conversion import ConvertedModule
from gradcli.core.nn.module_hooks import BackwardHooks, Passage, StateHooks, after_failure, after_forward, before_forward
from gradcli.core.nn.module_state import SavedModule
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError


def _registered(hooks: Hooks) -> HookTable:
    """The hooks by number, as programs read them."""
    return HookTable(hooks.functions)


def _of_base(name: str) -> Callable[[Any], Any]:
    return lambda module: module.base_attributes()[name]


class Module(SavedModule, ConvertedModule):
    """The base class of modules.

    A subclass defines `forward` and declares by name what scripts reach of it; `class Linear(Module, place="linear")` is
    the class that scripts know as `torch.nn.modules.linear.Linear`. A class without a place only shares code.
    """

    #: classes of programs may derive from modules
    BASE_OF = "modules"
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
        "training": attrgetter("training"),
        **{name: _of_base(name) for name in ("_backward_hooks", "_backward_pre_hooks", "_is_full_backward_hook")},
        "_forward_hooks": lambda module: _registered(module.hooks_after()),
        "_forward_pre_hooks": lambda module: _registered(module.hooks_before()),
        "_non_persistent_buffers_set": attrgetter("unsaved"),
        "_parameters": lambda module: module._member_table("own_parameters"),
        "_buffers": lambda module: module._member_table("own_buffers"),
        "_modules": lambda module: module._member_table("children_by_name"),
    }
    #: names of fields that scripts read
    SETTINGS = ""
    #: names of fields that scripts assign
    ASSIGNED = ""
    #: names of buffers, which scripts read
    BUFFERS = ""
    #: names of further methods that scripts call
    METHODS = ""
    #: names of fields that the repr shows as `name=value`
    SHOWN = ""
    #: the repr's text between the parentheses in place of SHOWN, as a format string of fields; `{bias}` of a parameter says
    #: whether there is one
    EXTRA = ""
    #: the class of PyTorch that has `forward`, where it is a base class; errors of calls name it
    FORWARD_NAME = ""
    #: whether `forward` only computes: from its arguments, parameters, settings and submodules, whatever mode the module is in
    PURE = False
    #: whether it is the class of modules to which a program has assigned a `forward`
    OWN_FORWARD = False
    #: the steps that a call counts, besides those of submodules
    STEPS = 0
    #: `forward` with Python's errors for wrong calls, by class
    _forwards: dict[type, Routine] = {}

    def __init_subclass__(cls, place: str = "", exact: bool = False) -> None:
        """Make the tables of a class and its type; with `exact`, instances of subclasses are not instances of the type."""
        own = {name: vars(cls).get(name, "").split() for name in ("SETTINGS", "ASSIGNED", "PARAMETERS", "BUFFERS")}
        getters = {name: attrgetter(name) for name in own["SETTINGS"]}
        getters |= {name: _from_table("own_parameters", name) for name in own["PARAMETERS"]}
        getters |= {name: _from_table("own_buffers", name) for name in own["BUFFERS"]}
        setters = Attributes.write(" ".join(own["ASSIGNED"]))
        if getters:
            cls.SCRIPT_ATTRIBUTES = cls.SCRIPT_ATTRIBUTES | getters
        if setters:
            cls.SCRIPT_SETTERS = {**cls.SCRIPT_SETTERS, **setters}
        if place:
            cls.SCRIPT_NAME = cls.__name__
        if "METHODS" in vars(cls):
            further = {name: Routine(getattr(cls, name), f"{cls.__name__}.{name}") for name in cls.METHODS.split()}
            cls.SCRIPT_METHODS = cls.SCRIPT_METHODS | further
        if place:
            owner = cls.FORWARD_NAME or cls.__name__
            called = {name: Routine(getattr(cls, name), f"{owner}.{name}") for name in ("forward", "extra_repr")}
            cls.SCRIPT_METHODS = cls.SCRIPT_METHODS | called
            script_type(cls, f"torch.nn.modules.{place}", exact)

    def __init__(self) -> None:
        super().__init__()
        #: hooks before and after `forward`; None until the first is registered
        self.before: Hooks | None = None
        self.after: Hooks | None = None
        #: hooks that a backward calls; None until the first is registered
        self.backward_hooks: BackwardHooks | None = None

    # --- calls ---

    def forward(self, *input: Any) -> Any:
        """Compute the output of the module."""
        raise ProgramError("NotImplementedError", f'Module [{self.SCRIPT_NAME}] is missing the required "forward" function')

    def assign_forward(self, value: Any) -> None:
        """`module.forward = value`: calls of this module call `value` from now on."""
        self.assign("forward", value)
        kind: Any = type(self)
        if "forward" in self.fields:
            self.__class__ = _with_own_forward(kind)

    def forget(self, name: str) -> bool:
        found = super().forget(name)
        if name == "forward" and type(self).OWN_FORWARD:
            self.__class__ = type(self).__bases__[0]
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        kind = type(self)
        routine = Module._forwards.get(kind)
        if routine is None:
            routine = Module._forwards[kind] = Routine(kind.forward, f"{self.FORWARD_NAME or self.SCRIPT_NAME}.forward")
        before, after, called = self.before or (), self.after or (), self.backward_hooks
        shared = state.module_hooks
        if shared is not None:
            before, after, called = (*shared.before, *before), (*shared.after, *after), shared.backward.behind(called)
        if not after or not any(getattr(hook, "always", False) for hook in after):
            return self._pass(routine, before, after, called, args, kwargs)
        ran: list[Any] = []
        try:
            return self._pass(routine, before, _noted(after, ran), called, args, kwargs)
        except ProgramError:
            after_failure(after, ran, self, (args, kwargs, None))
            raise

    def _pass(
        self,
        routine: Routine,
        before: Iterable[Callable[..., Any]],
        after: Iterable[Callable[..., Any]],
        called: BackwardHooks | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call `forward` between hooks."""
        for hook in before:
            args, kwargs = hook(self, args, kwargs)
        passage = Passage(self, called) if called is not None and (called.before or called.after) else None
        if passage is not None:
            args = passage.enter(args)
        result = routine(self, *args, **kwargs)
        for hook in after:
            result = hook(self, args, kwargs, result)
        if passage is not None:
            result = passage.leave(result)
        if called is not None and called.of_node:
            called.watch(self, args, result)
        return result

    # --- repr ---

    def extra_repr(self) -> str:
        """The text between the parentheses of the repr."""
        fields = vars(self)
        if self.EXTRA:
            return self.EXTRA.format_map(_Shown(self))
        return ", ".join(f"{name}={fields[name]}" for name in self.SHOWN.split())

    def lines(self) -> list[str]:
        """The repr of the submodules, each under its name."""
        return [f"({name}): {indented(repr(child))}" for name, child in self.children_by_name.items()]

    def __repr__(self) -> str:
        limits.evaluation.tick()  # a module that is shared, or holds itself, comes again and again
        extra, lines, name = self.extra_repr(), self.lines(), self.shown_name()
        if not lines and "\n" not in extra:
            return f"{name}({extra})"
        text = "\n  ".join([f"{name}(", *(extra.split("\n") if extra else []), *lines]) + "\n)"
        limits.check_string(len(text))
        return text

    def base_attributes(self) -> dict[str, Any]:
        """What PyTorch's base class keeps in the `__dict__` of every module, in its order."""
        hooks, saving = self.backward_hooks or BackwardHooks(), self.state_hooks or StateHooks()
        return {
            "training": self.training,
            "_parameters": self._member_table("own_parameters"),
            "_buffers": self._member_table("own_buffers"),
            "_non_persistent_buffers_set": self.unsaved,
            "_backward_pre_hooks": _registered(hooks.before),
            "_backward_hooks": _registered(hooks.after if hooks.full else hooks.of_node),
            "_is_full_backward_hook": hooks.full,
            "_forward_hooks": _registered(self.hooks_after()),
            "_forward_hooks_with_kwargs": OrderedDict(),
            "_forward_hooks_always_called": OrderedDict(),
            "_forward_pre_hooks": _registered(self.hooks_before()),
            "_forward_pre_hooks_with_kwargs": OrderedDict(),
            "_state_dict_hooks": _registered(saving.after_saving),
            "_state_dict_pre_hooks": _registered(saving.before_saving),
            "_load_state_dict_pre_hooks": _registered(saving.before_loading),
            "_load_state_dict_post_hooks": _registered(saving.after_loading),
            "_modules": self._member_table("children_by_name"),
        }

    # --- mode ---

    def train(self, mode: Any = True) -> Module:
        """Set the mode of this module and its submodules. ValueError if it is not a bool."""
        if type(mode) is not bool:
            raise ProgramError("ValueError", "training mode is expected to be boolean")
        pending: list[Module] = [self]
        seen: set[int] = set()
        while pending:
            module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            if module is not self and module.overrides("train"):
                module.train(mode)
                continue
            module.training = mode
            pending += [child for child in reversed(module.children_by_name.values()) if child is not None]
        return self

    def eval(self) -> Module:
        """Set evaluation mode."""
        return self.train(False)

    # --- hooks ---

    def hooks_before(self) -> Hooks:
        """The hooks before `forward`."""
        if self.before is None:
            self.before = Hooks()
        return self.before

    def hooks_after(self) -> Hooks:
        """The hooks after `forward`."""
        if self.after is None:
            self.after = Hooks()
        return self.after

    def make_hooks(self) -> None:
        """Make all tables of hooks, which a shallow copy shares."""
        self.hooks_before()
        self.hooks_after()
        self.backward_hooks = self.backward_hooks or BackwardHooks()
        self.state_hooks = self.state_hooks or StateHooks()

    def register_forward_hook(self, hook: Any, *, prepend: Any = False, with_kwargs: Any = False, always_call: Any = False) -> Removable:
        """Call `hook(module, args, output)` after `forward`; its result replaces the output unless it is None."""
        return self.hooks_after().add(after_forward(hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(self, hook: Any, *, prepend: Any = False, with_kwargs: Any = False) -> Removable:
        """Call `hook(module, args)` before `forward`; its result replaces the arguments unless it is None."""
        return self.hooks_before().add(before_forward(hook, with_kwargs), prepend)

    def register_backward_hook(self, hook: Any) -> Removable:
        """Call `hook(module, grad_input, grad_output)` with the gradients of the node that made the output. Deprecated in PyTorch."""
        self.backward_hooks = self.backward_hooks or BackwardHooks()
        self.backward_hooks.choose(False)
        return self.backward_hooks.of_node.add(hook)

    def register_full_backward_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(module, grad_input, grad_output)` in each backward; its result replaces grad_input unless it is None."""
        self.backward_hooks = self.backward_hooks or BackwardHooks()
        self.backward_hooks.choose(True)
        return self.backward_hooks.after.add(hook, prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: Any = False) -> Removable:
        """Call `hook(module, grad_output)` before the module's backward; its result replaces grad_output unless it is None."""
        self.backward_hooks = self.backward_hooks or BackwardHooks()
        return self.backward_hooks.before.add(hook, prepend)

    SCRIPT_SETTERS = {"forward": assign_forward}
    SCRIPT_METHODS = (
        {**SavedModule.SCRIPT_METHODS, **ConvertedModule.SCRIPT_METHODS}
        | {
            function.__name__: Routine(function, f"Module.{function.__name__}")
            for function in (
                *(train, eval, forward, extra_repr, register_forward_hook, register_forward_pre_hook),
                *(register_backward_hook, register_full_backward_hook, register_full_backward_pre_hook),
            )
        }
        | {
            "__call__": Routine(lambda self, *args, **kwargs: self(*args, **kwargs), "Module.__call__"),
            "__delattr__": Routine(forget, "Module.__delattr__"),
        }
    )


@cache
def _with_own_forward(kind: Any) -> Any:
    """The class of modules that were of class `kind` before a program assigned a `forward` to them: it is no method any more."""
    if kind.OWN_FORWARD:
        return kind
    members = {
        "OWN_FORWARD": True,
        "PURE": False,
        "forward": lambda self, *args, **kwargs: self.fields["forward"](*args, **kwargs),
        "another": lambda self, content: kind(content),
        "SCRIPT_ATTRIBUTES": kind.SCRIPT_ATTRIBUTES | {"forward": lambda self: self.fields["forward"]},
        "SCRIPT_METHODS": {name: method for name, method in kind.SCRIPT_METHODS.items() if name != "forward"},
    }
    return type(kind.__name__, (kind,), members)


class _Shown(dict[str, Any]):
    """The fields of a module by name; of a parameter, whether there is one."""

    def __init__(self, module: Module) -> None:
        super().__init__(vars(module))

    def __missing__(self, name: str) -> bool:
        return self["own_parameters"][name] is not None


def indented(text: str) -> str:
    """A text whose lines after the first are indented, as the repr of a submodule is."""
    return text.replace("\n", "\n  ")


def _noted(hooks: Iterable[Callable[..., Any]], ran: list[Any]) -> Iterator[Callable[..., Any]]:
    """The hooks, each of which is noted in `ran` when its turn comes."""
    for hook in hooks:
        ran.append(hook)
        yield hook


def _from_table(table: str, name: str) -> Callable[[Any], Any]:
    return lambda module: vars(module)[table][name]


script_type(Module, "torch.nn.modules.module")
