"""`copy`: shallow and deep copies. What is shared stays shared in a deep copy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.declared_arguments import DeclaredArguments
from gradcli.core.calling.mappings import Mapping, MappingView
from gradcli.core.calling.script_types import Generated, Hooks
from gradcli.core.functions import catalog
from gradcli.core.kernels.memory_format import address, owner
from gradcli.core.nn.member_tables import ComputedMembers
from gradcli.core.nn.module import Module
from gradcli.core.optim.optimizer import Optimizer
from gradcli.core.tensor.tensor import Tensor, Version
from gradcli.errors import ProgramError
from gradcli.lang.libraries.collections import Deque
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance, special
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import Builtin, IteratorValue

#: values nested deeper than this are not copied, about as in CPython with its default recursion limit
_DEEPEST = 400

#: types whose values Python does not copy
_NOT_COPIED = (IteratorValue, Generated, DictView, MappingView)

_NOT_A_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were attempting "
    "to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)


class _Copies:
    """A deep copy under way: the copies by the identity of what they are copies of."""

    def __init__(self) -> None:
        #: the originals are kept too, so that no identity is used again
        self.made: dict[int, tuple[Value, Value]] = {}
        self.depth = 0

    def of(self, value: Value) -> Value:
        """The copy of a value."""
        known = self.made.get(id(value))
        if known is not None:
            return known[1]
        if self.depth >= _DEEPEST:
            raise ProgramError("RecursionError", "maximum recursion depth exceeded")
        self.depth += 1
        try:
            return self._copied(value)
        finally:
            self.depth -= 1

    def note(self, value: Value, made: Value) -> Value:
        """Remember a copy, before what it holds is copied: it may hold itself."""
        self.made[id(value)] = value, made
        limits.check_list(len(self.made))
        if not len(self.made) & 1023:
            limits.memory.check()
        return made

    def _copied(self, value: Value) -> Value:
        kind = type(value)
        if kind is Tensor:
            return self.note(value, self._tensor(value))
        if kind is list:
            made = self.note(value, [])
            made.extend([self.of(item) for item in value])
            return made
        if kind is dict or kind is OrderedDict:
            made = self.note(value, kind())
            made.update({self.of(key): self.of(item) for key, item in value.items()})
            return made
        if kind is ComputedMembers:
            members = self.note(value, ComputedMembers(None, {}))
            members.owner = self.of(value.owner)
            members.update({key: self.of(item) for key, item in value.items()})
            return members
        if kind is set:
            return self.note(value, {self.of(item) for item in value})
        if kind is frozenset:
            return self.note(value, frozenset([self.of(item) for item in value]))
        if isinstance(value, tuple):
            items = [self.of(item) for item in value]
            if all(one is other for one, other in zip(items, value, strict=True)):
                return self.note(value, value)
            return self.note(value, tuple.__new__(kind, items))
        return self._object(value)

    def _object(self, value: Value) -> Value:
        if isinstance(value, Instance):
            own = special(value, "__deepcopy__")
            if own is not None:
                return self.note(value, own({}))
        if isinstance(value, _NOT_COPIED):
            raise ProgramError("TypeError", f"cannot pickle '{type_name(value)}' object")
        if (own := getattr(type(value), "copied", None)) is not None:
            return self.note(value, own(value, True))
        if isinstance(value, Optimizer):
            made = self.note(value, _bare(value))
            made.start_afresh()
            for name in ("defaults", "state", "param_groups"):
                object.__setattr__(made, name, self.of(getattr(value, name)))
            return made
        if isinstance(value, Instance | Module | DeclaredArguments | Mapping | Deque | Hooks) or _is_of_fields(value):
            made = self.note(value, _bare(value))
            for name, held in _fields(value):
                object.__setattr__(made, name, self.of(held))
            return made
        return value

    def _tensor(self, tensor: Tensor) -> Tensor:
        if tensor.node is not None and tensor.requires_grad:
            raise ProgramError("RuntimeError", _NOT_A_LEAF)
        made = self._in_copied_memory(tensor)
        if tensor.is_parameter:
            made.meta = {"parameter": True}
        elif fields := tensor.property_of("fields"):
            made.set_property("fields", self.of(fields))
        made.requires_grad = tensor.requires_grad
        if tensor.grad is not None and not tensor.is_parameter:  # PyTorch copies a parameter without it
            made.grad = self.of(tensor.grad)
        return made

    def _in_copied_memory(self, tensor: Tensor) -> Tensor:
        """The tensor at the same place of a copy of its memory, which tensors that share memory have in common; a parameter alone."""
        array = tensor.array
        alone = tensor.is_parameter or tensor.batch is not None or tensor.property_of("conj") or tensor.property_of("neg")
        own = array if alone else owner(array)
        if alone or not own.size or not own.flags.forc:
            return catalog.function("clone")(detach(tensor))  # type: ignore[no-any-return]
        known = self.made.get(id(own))
        if known is None:
            limits.check_elements(own.size, own.itemsize)
            memory = self.note(own, own.copy(order="K"))
        else:
            memory = known[1]
        made = Tensor(np.ndarray(array.shape, array.dtype, memory, address(array) - address(own), array.strides), tensor.dtype)
        made.counter().count = 1
        return made


#: what instances share with their copies
_SHARED = ("cls", "SCRIPT_TYPE")


def _is_of_fields(value: Value) -> bool:
    """Whether a copy has copies of what the object holds, as its class says."""
    return getattr(type(value), "COPIED_BY_FIELD", False)


def _bare(value: Value) -> Value:
    made = object.__new__(type(value))
    if isinstance(value, Instance):
        object.__setattr__(made, "cls", value.cls)
    return made


def _fields(value: Value) -> list[tuple[str, Value]]:
    """The names and contents of what an object holds."""
    names: Collection[str] = [name for base in type(value).__mro__ for name in base.__dict__.get("__slots__", ())]
    found = {name: getattr(value, name) for name in names if name not in ("__weakref__", "__dict__") and hasattr(value, name)}
    found |= getattr(value, "__dict__", {})
    return [(name, held) for name, held in found.items() if name not in _SHARED]


def deep_copy(x: Value) -> Value:
    """A copy of a value and of all that it holds."""
    return _Copies().of(x)


def _deepcopy(x: Value, memo: Value = None) -> Value:
    return deep_copy(x)


def _copy(x: Value) -> Value:
    kind = type(x)
    if kind in (list, dict, set):
        limits.check_list(len(x))
        return x.copy()
    if kind is Tensor:
        return _shallow_tensor(x)
    if isinstance(x, Mapping | Deque):
        return x.copy()
    if isinstance(x, Instance):
        own = special(x, "__copy__")
        if own is not None:
            return own()
    if isinstance(x, _NOT_COPIED):
        raise ProgramError("TypeError", f"cannot pickle '{type_name(x)}' object")
    if (own := getattr(kind, "copied", None)) is not None:
        return own(x, False)
    if isinstance(x, Instance | Module | DeclaredArguments) or _is_of_fields(x):
        if isinstance(x, Module):
            x.make_hooks()
        made = _bare(x)
        shares = isinstance(x, Module | DeclaredArguments)  # such as the tables of parameters: all but the attributes of the program
        for name, held in _fields(x):
            object.__setattr__(made, name, held.copy() if type(held) in (dict, OrderedDict) and (name == "fields" or not shares) else held)
        return made
    return x


def _shallow_tensor(tensor: Tensor) -> Tensor:
    """A leaf in the memory of a tensor, with a version of its own: a parameter is made of its data, others are made and then set."""
    made = detach(tensor)
    made.view, made.version = None, Version()
    if tensor.is_parameter:
        made.meta = {"parameter": True}
    else:
        made.version.count = 1
    if fields := tensor.property_of("fields"):
        made.set_property("fields", fields)
    made.requires_grad = tensor.requires_grad
    return made


MEMBERS: dict[str, Value] = {"copy": Builtin("copy", _copy), "deepcopy": Builtin("deepcopy", _deepcopy)}
