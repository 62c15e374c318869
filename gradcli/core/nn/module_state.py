"""`state_dict` and `load_state_dict` of modules, and the hooks around them."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Self

from gradcli.core.calling.mappings import Mapping, OrderedDict, SavedState, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Hooks, Removable, Scripted
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.graph.write_checks import shared_places, shares_places
from gradcli.core.kernels import blocks
from gradcli.core.kernels.memory_format import tell_followers
from gradcli.core.nn.module_hooks import StateHooks, saving
from gradcli.core.nn.module_members import ModuleMembers
from gradcli.core.nn.module_tree import EXTRA_STATE
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

_NO_EXTRA_STATE = (
    "Reached a code path in Module.{} that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
_NOT_COPIED = (
    'While copying the parameter named "{}", whose dimensions in the model are {} and whose dimensions in the checkpoint are {}, '
    "an exception occurred : ('{}',)."
)
_NO_TENSOR = 'While copying the parameter named "{}", expected torch.Tensor or Tensor-like object from checkpoint but received {}'
_NO_NEW_KEYS = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if incompatible_keys need to "
    "be modified, it should be done inplace."
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
        given, errors = dict(table_of(state_dict)), list[str]()
        hooks = [(f"{path}." if path else "", module, module.state_hooks) for path, module in self.walk(once=False) if module.state_hooks]
        missing, unexpected = list[str](), list[str]()
        for start, module, found in hooks:
            changed = OrderedDict(given)
            for hook in found.before_loading:
                hook(module, changed, start, {"version": module.version()}, strict, missing, unexpected, errors)
            given = changed.table
        own = {name: (module, key, tensor) for name, module, key, tensor in self.named_state("set_extra_state")}
        old = not isinstance(state_dict, SavedState)
        missing += [name for name, (module, key, _) in own.items() if name not in given and not (old and key == module.ADDED_LATER)]
        for name, (module, key, tensor) in own.items():
            if name not in given:
                continue
            value = given[name]
            if tensor is None:
                module.set_extra_state(value)
                continue
            if isinstance(value, Tensor) and type(value) is not Tensor:  # a parameter without a shape
                if type(tensor) is Tensor:
                    shapeless: Any = value
                    shapeless.SCRIPT_ATTRIBUTES["shape"](value)  # which is an error
                continue
            if type(value) is not Tensor:
                errors.append(_NO_TENSOR.format(name, language.type_repr(value)))
                continue
            if type(tensor) is not Tensor:
                tensor.become(Tensor(dtypes.cast(value.array, tensor.dtype).copy(), tensor.dtype))
                continue
            if value.array.shape != tensor.array.shape:
                errors.append(
                    f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {tensor.shape}."
                )
                continue
            if assign:
                module.take_state(key, value)
                continue
            if shares_places(tensor.array):
                errors.append(_NOT_COPIED.format(name, tensor.shape, value.shape, shared_places().message))
                continue
            blocks.settle()
            tensor.array[...] = dtypes.cast(value.array, tensor.dtype)
            tensor.counter().count += 1
            tell_followers(tensor.array)
        known = {name for name, *_ in self.named_state("set_extra_state")}  # an extra state may have brought modules
        unexpected += [name for name in given if name not in own and name not in known]
        keys = IncompatibleKeys((missing, unexpected))
        for _, module, found in reversed(hooks):
            for hook in found.after_loading:
                if hook(module, keys) is not None:
                    raise ProgramError("AssertionError", _NO_NEW_KEYS)
        if strict:  # after the hooks, which may have changed the lists
            kinds = {"Missing": missing, "Unexpected": unexpected}
            errors[:0] = [f"{kind} key(s) in state_dict: {_quoted(names)}. " for kind, names in kinds.items() if names]
        if errors:
            raise runtime_error(f"Error(s) in loading state_dict for {self.SCRIPT_NAME}:\n\t" + "\n\t".join(errors))
        return keys

    def take_state(self, key: str, value: Tensor) -> None:
        """Hold a tensor itself as the parameter or buffer `key`; a parameter requires gradients as the one before."""
        before = self.own_parameters.get(key)
        if before is None:
            self.own_buffers[key] = value
        else:
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
