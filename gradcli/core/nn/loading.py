"""How `load_state_dict` writes what was saved into the modules of a tree, one after the other."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.mappings import OrderedDict, SavedState, table_of
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.graph.write_checks import shared_places, shares_places
from gradcli.core.kernels import blocks
from gradcli.core.kernels.memory_format import tell_followers
from gradcli.core.nn.module_tree import EXTRA_STATE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_NOT_COPIED = (
    'While copying the parameter named "{}", whose dimensions in the model are {} and whose dimensions in the checkpoint are {}, '
    "an exception occurred : ('{}',)."
)
_NO_TENSOR = 'While copying the parameter named "{}", expected torch.Tensor or Tensor-like object from checkpoint but received {}'
_NO_NEW_KEYS = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if incompatible_keys need to "
    "be modified, it should be done inplace."
)


class Loading:
    """One call of `load_state_dict`: the keys that are missing or not expected so far, and the errors."""

    def __init__(self, keys: Any, assign: object) -> None:
        #: the result, which hooks see and may change
        self.keys = keys
        self.missing: list[str] = keys[0]
        self.unexpected: list[Any] = keys[1]
        self.errors: list[str] = []
        self.assign = assign

    def load(self, root: Any, state_dict: Any) -> None:
        """Load a module, then those in it. Each gets the keys that begin with its name, as the hooks of the one around it left them."""
        metadata = state_dict.metadata if isinstance(state_dict, SavedState) else None
        entered: list[tuple[str, Any, dict[Any, Any]]] = []
        for path, module in root.walk(once=False):
            start = f"{path}." if path else ""
            while entered and not start.startswith(entered[-1][0]):
                self._leave(entered.pop()[1])
            if entered:
                given = {key: value for key, value in entered[-1][2].items() if key.startswith(start)}
                shown: Any = given
            else:
                shown = OrderedDict(table_of(state_dict)) if metadata is None else SavedState(table_of(state_dict))
                if metadata is not None:
                    shown.metadata = metadata
                given = shown.table
            local = {} if metadata is None else metadata.table.get(path, {})
            if self.assign:
                local["assign_to_params_buffers"] = self.assign
            self._load_one(module, start, given, shown, local)
            entered.append((start, module, given))
        while entered:
            self._leave(entered.pop()[1])

    def _leave(self, module: Any) -> None:
        for hook in module.state_hooks.after_loading if module.state_hooks else ():
            if hook(module, self.keys) is not None:
                raise ProgramError("AssertionError", _NO_NEW_KEYS)

    def _load_one(self, module: Any, start: str, given: dict[Any, Any], shown: Any, local: dict[str, Any]) -> None:
        later = module.own_buffers.get(module.ADDED_LATER)
        if later is not None and local.get("version", 1) < 2:
            given.setdefault(start + module.ADDED_LATER, later)
        for hook in module.state_hooks.before_loading if module.state_hooks else ():
            hook(module, shown, start, local, True, self.missing, self.unexpected, self.errors)
        own = dict(module.own_state("set_extra_state"))
        for name, tensor in own.items():
            key = start + name
            if key not in given:
                self.missing.append(key)
            elif tensor is None:
                module.set_extra_state(given[key])
            else:
                self._write(module, name, tensor, key, given[key])
        if start + EXTRA_STATE in given and EXTRA_STATE not in own:
            self.unexpected.append(start + EXTRA_STATE)
        for key in given:
            if not isinstance(key, str):
                raise no_attribute(key, "startswith")
            if key.startswith(start) and key != start + EXTRA_STATE:
                first, dot, _ = key[len(start) :].partition(".")
                if first not in (module.children_by_name if dot else own):
                    self.unexpected.append(key)

    def _write(self, module: Any, name: str, tensor: Any, key: str, value: Any) -> None:
        """Write a value into one parameter or buffer, or hold it in its place."""
        if isinstance(value, Tensor) and type(value) is not Tensor:  # a parameter without a shape
            if type(tensor) is Tensor:
                shapeless: Any = value
                shapeless.SCRIPT_ATTRIBUTES["shape"](value)  # which is an error
            return
        if type(value) is not Tensor:
            self.errors.append(_NO_TENSOR.format(key, language.type_repr(value)))
            return
        if type(tensor) is not Tensor:
            tensor.become(Tensor(dtypes.cast(value.array, tensor.dtype).copy(), tensor.dtype))
            return
        if tensor.array.shape == () and value.array.shape == (1,):
            value = Tensor(value.array.reshape(()), value.dtype)
        if value.array.shape != tensor.array.shape:
            self.errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}."
            )
        elif self.assign:
            module.take_state(name, value)
        elif shares_places(tensor.array):
            self.errors.append(_NOT_COPIED.format(key, tensor.shape, value.shape, shared_places().message))
        else:
            blocks.settle()
            tensor.array[...] = dtypes.cast(value.array, tensor.dtype)
            tensor.counter().count += 1
            tell_followers(tensor.array)
