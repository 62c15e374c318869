"""`state_dict` and `load_state_dict` of modules, and the hooks around them."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Self

from gradcli.core.autograd.tensor_state import set_requires_grad
from gradcli.core.calling.mappings import Mapping, SavedState
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Hooks, Removable, Scripted
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.nn.loading import Loading
from gradcli.core.nn.module_hooks import StateHooks, saving
from gradcli.core.nn.module_members import ModuleMembers
from gradcli.core.nn.module_tree import EXTRA_STATE
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_NO_EXTRA_STATE = (
    "Reached a code path in Module.{} that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class IncompatibleKeys(Scripted, tuple[list[str], list[str]]):
    """The result of `load_state_dict`: the keys that were missing and the keys that were unexpected."""

    __slots__ = ()
    _fields = ("missing_keys", "unexpected_keys")

    SCRIPT_NAME = "_IncompatibleKeys"
    SCRIPT_ATTRIBUTES = {"missing_keys": itemgetter(0), "unexpected_keys": itemgetter(1)}

    def __repr__(self) -> str:
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


class SavedModule(ModuleMembers):
    """A module whose parameters and buffers scripts save and load."""

    #: hooks that saving and loading call; None until the first is registered
    state_hooks: StateHooks | None = None

    def state_dict(self, *, destination: Any = None, prefix: Any = "", keep_vars: Any = False) -> Any:
        """Parameters and buffers by dotted name; the tensors share memory and version with those of the module."""
        if not isinstance(prefix, str):
            raise type_error("unsupported operand type(s) for +: '{}' and 'str'", prefix)
        made = SavedState() if destination is None else destination
        for start, module in saving(self._parts(made, prefix, keep_vars), made, keep_vars):
            if type(made) is SavedState:
                made.metadata.table[start[:-1]] = {"version": module.version()}
            for own, tensor in module.own_state("get_extra_state"):
                made[start + own] = module.get_extra_state() if own == EXTRA_STATE else tensor if keep_vars else _shared(tensor)
        return made

    def _parts(self, made: Any, prefix: str, keep_vars: Any) -> Iterator[tuple[str, Self]]:
        """The modules with their prefixes. A submodule whose class defines `state_dict` adds to `made` by itself."""
        done: str | None = None
        for path, module in self.walk(once=False):
            start = f"{prefix}{path}." if path else prefix
            if done is not None and start.startswith(done):
                continue
            if module is not self and module.overrides("state_dict"):
                done = start
                module.state_dict(destination=made, prefix=start, keep_vars=keep_vars)
            else:
                yield start, module

    def get_extra_state(self) -> Any:
        """What a class keeps in its `state_dict` besides tensors."""
        raise runtime_error(_NO_EXTRA_STATE.format("get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` of a saved module gave."""
        raise runtime_error(_NO_EXTRA_STATE.format("set_extra_state()"))

    def load_state_dict(self, state_dict: Any, strict: Any = True, assign: Any = False) -> IncompatibleKeys:
        """Write the tensors of a `state_dict` into parameters and buffers. RuntimeError if names or shapes do not match."""
        if not isinstance(state_dict, (dict, Mapping)):
            raise ProgramError("TypeError", f"Expected state_dict to be dict-like, got {language.type_repr(state_dict)}.")
        keys = IncompatibleKeys((list[str](), list[str]()))
        loading = Loading(keys, assign)
        loading.load(self, state_dict)
        errors = loading.errors
        if strict:  # after the hooks, which may have changed the lists
            kinds = {"Missing": keys[0], "Unexpected": keys[1]}
            errors[:0] = [f"{kind} key(s) in state_dict: {_quoted(names)}. " for kind, names in kinds.items() if names]
        if errors:
            raise runtime_error(f"Error(s) in loading state_dict for {self.shown_name()}:\n\t" + "\n\t".join(errors))
        return keys

    def take_state(self, key: str, value: Tensor) -> None:
        """Hold a tensor itself as the parameter or buffer `key`; a parameter requires gradients as the one before."""
        before = self.own_parameters.get(key)
        if before is None:
            self.own_buffers[key] = value
        else:
            if value.is_parameter:
                set_requires_grad(value, before.requires_grad)
            self.own_parameters[key] = value if value.is_parameter else as_parameter(value, before.requires_grad)

    def _state_hook(self, moment: str, hook: Any) -> Removable:
        self.state_hooks = self.state_hooks or StateHooks()
        hooks: Hooks = getattr(self.state_hooks, moment)
        return hooks.add(hook)

    def register_state_dict_pre_hook(self, hook: Any) -> Removable:
        """Call `hook(module, prefix, keep_vars)` before the module's part of a `state_dict` is made."""
        return self._state_hook("before_saving", hook)

    def register_state_dict_post_hook(self, hook: Any) -> Removable:
        """Call `hook(module, state_dict, prefix, local_metadata)` when the module's part of a `state_dict` is there; it may change it."""
        return self._state_hook("after_saving", hook)

    def register_load_state_dict_pre_hook(self, hook: Any) -> Removable:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._state_hook("before_loading", hook)

    def register_load_state_dict_post_hook(self, hook: Any) -> Removable:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists of keys."""
        return self._state_hook("after_loading", hook)

    SCRIPT_METHODS = ModuleMembers.SCRIPT_METHODS | {
        function.__name__: Routine(function, f"Module.{function.__name__}")
        for function in (
            *(state_dict, load_state_dict, get_extra_state, set_extra_state, register_state_dict_pre_hook),
            *(register_state_dict_post_hook, register_load_state_dict_pre_hook, register_load_state_dict_post_hook),
        )
    }


def _shared(tensor: Any) -> Any:
    """A tensor without history that shares memory and version."""
    if type(tensor) is not Tensor:
        return tensor
    held = Tensor(tensor.array, tensor.dtype)
    held.version = tensor.counter()
    return held


def _quoted(names: list[Any]) -> str:
    return ", ".join(f'"{formatted(name)}"' for name in names)
