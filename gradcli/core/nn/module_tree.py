"""Modules as trees: walks over parameters, buffers and submodules, and finding one of them by its name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Self

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Generated, Scripted, ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: the default of `ModuleTree.attribute` that raises an error
NO_DEFAULT = object()
#: the name of the submodule that holds parametrizations
PARAMETRIZATIONS = "parametrizations"
#: the name under which `state_dict` has what `get_extra_state` gives
EXTRA_STATE = "_extra_state"
#: how deep modules are nested at most
_MAX_DEPTH = 900

#: by dtype, the name of the legacy type of its tensors, as `torch.typename` gives it
_TENSOR_TYPES = {
    dtypes.float32: "Float",
    dtypes.float64: "Double",
    dtypes.float16: "Half",
    dtypes.bfloat16: "BFloat16",
    dtypes.int64: "Long",
    dtypes.int32: "Int",
    dtypes.int16: "Short",
    dtypes.int8: "Char",
    dtypes.uint8: "Byte",
}


class ModuleTree(Scripted):
    """What every module holds: parameters, buffers and submodules by name. Its one subclass that is used is Module."""

    SCRIPT_NAME = "Module"
    SCRIPT_TYPE: ScriptType
    #: names of parameters, which scripts read and assign
    PARAMETERS = ""
    #: the buffer that a state saved without versions may lack
    ADDED_LATER = ""

    def __init__(self) -> None:
        self.training = True
        #: attributes that a program assigned, other than parameters, buffers and modules
        self.fields: dict[str, Any] = getattr(self, "fields", {})
        self.own_parameters: dict[str, Tensor | None] = {}
        self.own_buffers: dict[str, Tensor | None] = {}
        #: names of buffers that `state_dict` leaves out
        self.unsaved: set[str] = set()
        #: None in place of a module that was taken away by assigning None
        self.children_by_name: dict[str, Any] = {}

    def shown_name(self) -> str:
        """The name that the repr begins with."""
        return f"Parametrized{self.SCRIPT_NAME}" if PARAMETRIZATIONS in self.children_by_name else self.SCRIPT_NAME

    @property
    def OWN_TYPE(self) -> ScriptType:
        """The type that scripts see: PyTorch makes one for modules with parametrizations."""
        kind: Any = type(self)
        return _parametrized(kind) if PARAMETRIZATIONS in self.children_by_name else self.SCRIPT_TYPE

    def overrides(self, name: str) -> bool:
        """Whether a class of the program defines a method of modules anew."""
        return False

    def version(self) -> int:
        """The version of what is saved of a module of this class."""
        return 2 if self.ADDED_LATER else 1

    # --- walks ---

    def walk(self, prefix: str = "", once: object = True) -> Iterator[tuple[str, Any]]:
        """This module and its submodules with dotted names, each once, or else under each of its names. TypeError for a wrong prefix."""
        if not isinstance(prefix, str):
            raise type_error("unsupported operand type(s) for +: '{}' and 'str'", prefix)
        seen: set[int] = set()
        count = 0
        pending: list[tuple[str, Any]] = [(prefix, self)]
        while pending:
            name, module = pending.pop()
            if once and id(module) in seen:
                continue
            seen.add(id(module))
            count += 1
            limits.evaluation.tick()
            limits.check_list(count)
            if name.count(".") > _MAX_DEPTH:
                raise ProgramError("RecursionError", "maximum recursion depth exceeded")
            yield name, module
            children = [(n, child) for n, child in module.children_by_name.items() if child is not None]
            below = [(f"{name}.{n}" if name else n, child) for n, child in children]
            pending += reversed(below)

    def walk_parameters(self, prefix: str = "", recurse: object = True, once: object = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters with dotted names, each once, or else under each of its names."""
        seen: set[int] = set()
        for path, module in self.walk(prefix, once) if recurse else [(prefix, self)]:
            for name, parameter in module.own_parameters.items():
                if parameter is not None and not (once and id(parameter) in seen):
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    def named_state(self, saved: str = "") -> Iterator[tuple[str, Any, str, Any]]:
        """Parameters and buffers: full name, owner, name in the owner, tensor.

        With `saved`, what `state_dict` has: also the extra state of modules that define a method of that name, and shared modules under
        each name.
        """
        for path, module in self.walk(once=not saved):
            for name, tensor in module.own_state(saved):
                yield f"{path}.{name}" if path else name, module, name, tensor

    def own_state(self, saved: str = "") -> Iterator[tuple[str, Any]]:
        """Parameters and buffers of this module by name; with `saved`, those that are saved, and None as the extra state."""
        for name, tensor in (*self.own_parameters.items(), *self.own_buffers.items()):
            if tensor is not None and not (saved and name in self.unsaved):
                yield name, tensor
        if saved and self.overrides(saved):
            yield EXTRA_STATE, None

    def distinct_children(self) -> Iterator[tuple[str, Any]]:
        """The submodules directly below, each once, under their first names."""
        seen: set[int] = set()
        for name, child in self.children_by_name.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def declared_parameters(self) -> list[Any]:
        """The parameters that the class names, in its order, the computed ones among them."""
        return [self.own_parameters[name] for name in self.PARAMETERS.split()]

    def parameters(self, recurse: Any = True) -> Generated:
        """The parameters, each once."""
        return Generated((p for _, p in self._pairs("named_parameters", bool(recurse))), "Module.parameters")

    def _pairs(self, name: str, recurse: bool) -> Any:
        """What `named_parameters` or `named_buffers` gives, also where a class of the program defines it."""
        found = getattr(self, name)(recurse=recurse)
        return language.collect(found) if self.overrides(name) else found

    def chosen_parameters(self) -> list[Tensor]:
        """What `parameters` gives, also where a class of the program defines it: what is set for all parameters is set for these."""
        return language.collect(self.parameters())

    def named_parameters(self, prefix: Any = "", recurse: Any = True, remove_duplicate: Any = True) -> Generated:
        """Pairs of dotted name and parameter."""
        return Generated(self.walk_parameters(prefix, recurse, remove_duplicate), "Module.named_parameters")

    def buffers(self, recurse: Any = True) -> Generated:
        """The buffers."""
        return Generated((t for _, t in self._pairs("named_buffers", bool(recurse))), "Module.buffers")

    def named_buffers(self, prefix: Any = "", recurse: Any = True, remove_duplicate: Any = True) -> Generated:
        """Pairs of dotted name and buffer."""
        walked = self.walk(prefix, remove_duplicate) if recurse else [(prefix, self)]
        found = ((path, name, tensor) for path, module in walked for name, tensor in module.own_buffers.items())
        pairs = ((f"{path}.{name}" if path else name, tensor) for path, name, tensor in found if tensor is not None)
        return Generated(pairs, "Module.named_buffers")

    def modules(self) -> Generated:
        """This module and its submodules, each once."""
        return Generated((module for _, module in self.walk()), "Module.modules")

    def named_modules(self, memo: Any = None, prefix: Any = "", remove_duplicate: Any = True) -> Generated:
        """Pairs of dotted name and module."""
        return Generated(self.walk(prefix, remove_duplicate), "Module.named_modules")

    def children(self) -> Generated:
        """The submodules directly below, each once."""
        return Generated((child for _, child in self.distinct_children()), "Module.children")

    def named_children(self) -> Generated:
        """Pairs of name and submodule directly below."""
        return Generated(self.distinct_children(), "Module.named_children")

    def apply(self, fn: Any) -> Self:
        """Call a function on every submodule, children first, and on the module itself."""
        order: list[Any] = []
        pending: list[Any] = [self]
        while pending:
            module = pending.pop()
            limits.evaluation.tick()  # a shared module comes again and again
            order.append(module)
            pending += [child for _, child in module.distinct_children()]
        for module in reversed(order):
            fn(module)
        return self

    # --- one by its name ---

    def _tables(self) -> list[dict[str, Any]]:
        fields = vars(self)
        return [fields[name] for name in ("own_parameters", "own_buffers", "children_by_name") if name in fields]

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """A parameter, buffer or submodule, or an attribute that the program assigned. AttributeError unless there is a default."""
        for table in (vars(self).get("fields", {}), *self._tables()):
            if name in table:
                return table[name]
        if PARAMETRIZATIONS in vars(self).get("children_by_name", ()) and (computed := self.parametrization(name)) is not None:
            return computed.value()
        if default is NO_DEFAULT:
            raise ProgramError("AttributeError", f"'{self.shown_name()}' object has no attribute '{name}'")
        return default

    def parametrization(self, name: object) -> Any:
        """What computes a parameter or buffer, None for one that is held."""
        lists = self.children_by_name.get(PARAMETRIZATIONS)
        return None if lists is None or not isinstance(name, str) else lists.children_by_name.get(name)

    def computed(self, name: str) -> Any:
        """A parameter or buffer that a parametrization computes, or that a hook before `forward` has put into the fields."""
        found = self.parametrization(name)
        if found is None and name not in self.fields:
            raise ProgramError("AttributeError", f"'{self.shown_name()}' object has no attribute '{name}'")
        return self.fields[name] if found is None else found.value()

    def has_nothing(self, name: str) -> bool:
        """Whether there is an attribute of the name whose value is None."""
        tables = (self.own_parameters, self.own_buffers, self.children_by_name, self.fields)
        return any(name in table and table[name] is None for table in tables)

    def get_submodule(self, target: Any) -> Any:
        """The submodule of a dotted name. AttributeError if there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            found = module.attribute(name, None)
            if found is None and not module.has_nothing(name):
                raise ProgramError("AttributeError", f"{module.SCRIPT_NAME} has no attribute `{name}`")
            if not isinstance(found, ModuleTree):
                raise ProgramError("AttributeError", f"`{name}` is not an nn.Module")
            module = found
        return module

    def get_parameter(self, target: Any) -> Any:
        """The parameter of a dotted name. AttributeError if there is none."""
        return self._member(target, "own_parameters", "an nn.Parameter")

    def get_buffer(self, target: Any) -> Any:
        """The buffer of a dotted name. AttributeError if there is none."""
        return self._member(target, "own_buffers", "a buffer")

    def _member(self, target: str, table: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = vars(module)[table].get(name)
        if found is None and (table != "own_buffers" or name not in module.own_buffers):
            missing = module.attribute(name, None) is None and not module.has_nothing(name)
            text = f"{module.SCRIPT_NAME} has no attribute `{name}`" if missing else f"`{name}` is not {what}"
            raise ProgramError("AttributeError", text)
        return found

    SCRIPT_METHODS: dict[str, Routine] = {
        function.__name__: Routine(function, f"Module.{function.__name__}")
        for function in (
            *(parameters, named_parameters, buffers, named_buffers, modules, named_modules, children),
            *(named_children, apply, get_submodule, get_parameter, get_buffer),
        )
    } | {"_get_name": Routine(shown_name, "Module._get_name"), "__getattr__": Routine(attribute, "Module.__getattr__")}


@cache
def _parametrized(kind: Any) -> ScriptType:
    def test(value: Any) -> bool:
        return type(value) is kind and PARAMETRIZATIONS in value.children_by_name

    made = ScriptType(f"Parametrized{kind.SCRIPT_NAME}", "torch.nn.utils.parametrize", None, test)
    made.instances = kind
    return made


def kind_of(value: Any) -> str:
    """The name of a value's type, as PyTorch's errors of assignments give it."""
    if type(value) is Tensor:
        return f"torch.{_TENSOR_TYPES.get(value.dtype, 'Bool')}Tensor"
    if isinstance(value, ModuleTree) and value.SCRIPT_TYPE.name == value.SCRIPT_NAME:
        return f"{value.SCRIPT_TYPE.module}.{value.SCRIPT_NAME}"
    if type(value) is ScriptType:
        return f"{value.module}.{value.name}"
    return language.qualified_name(value) or language.type_repr(value)[8:-2]
