"""What changes the members of a module: assignment and deletion of attributes, and registering."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.nn.member_tables import ComputedMembers, MemberTable, replace
from gradcli.core.nn.module_tree import PARAMETRIZATIONS, ModuleTree, kind_of
from gradcli.core.nn.parameter import is_buffer
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: the tables of hooks, which scripts assign to take all hooks out
_HOOKS = frozenset(
    (
        *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks"),
        *("_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
    )
)


class ModuleMembers(ModuleTree):
    """A tree of modules whose members scripts set, register and delete."""

    def base_attributes(self) -> dict[str, Any]:
        """What PyTorch's base class keeps in the `__dict__` of every module, in its order."""
        raise NotImplementedError

    def assign(self, name: str, value: Any) -> None:
        """`module.name = value`: parameters and modules are registered under the name. AttributeError before `__init__`."""
        if name in _HOOKS:
            replace(self.base_attributes()[name], value)
            return
        is_parameter = isinstance(value, Tensor) and value.is_parameter
        tables = self._tables()
        if tables and PARAMETRIZATIONS in self.children_by_name and (computed := self.parametrization(name)) is not None:
            computed.right_inverse(value)
            return
        if is_parameter or (isinstance(value, ModuleTree) and not (tables and name in self.own_parameters)):
            if not tables:
                what = "parameters" if is_parameter else "module"
                raise ProgramError("AttributeError", f"cannot assign {what} before Module.__init__() call")
            table = self.own_parameters if is_parameter else self.children_by_name
            if name not in table:
                self.forget(name)
            table[name] = value
        elif tables and name in self.own_parameters:
            if value is not None:
                raise wrong_kind(value, "parameter", name, "torch.nn.Parameter")
            self.own_parameters[name] = None
        elif tables and name in self.own_buffers and (value is None or type(value) is Tensor):
            self.own_buffers[name] = value
            if value is not None and is_buffer(value):
                (self.unsaved.discard if value.property_of("persistent") else self.unsaved.add)(name)
        elif tables and name in self.children_by_name:
            if value is not None:
                raise wrong_kind(value, "child module", name, "torch.nn.Module")
            self.children_by_name[name] = value
        elif tables and name in self.own_buffers:
            raise wrong_kind(value, "buffer", name, "torch.nn.Buffer, torch.Tensor")
        elif is_buffer(value):
            self.register_buffer(name, value, value.property_of("persistent"))
        elif name in self.SCRIPT_ATTRIBUTES and name in vars(self):
            setattr(self, name, value)
        else:
            self.fields[name] = value

    def forget(self, name: str) -> bool:
        """`del module.name`; False if there is no such attribute. `forward` finds what the program assigns to the name later."""
        found = False
        for field in ("own_parameters", "own_buffers", "children_by_name", "fields"):
            table = vars(self).get(field, {})
            if name in table:
                found = True
                del self._deletable(field)[name]
                if field == "own_buffers":
                    self.unsaved.discard(name)
        return found

    def _deletable(self, field: str) -> dict[str, Any]:
        """A table of members; a parameter or buffer that is deleted from it is looked for among the other attributes."""
        table: dict[str, Any] = vars(self)[field]
        if type(table) is dict and field.startswith("own_"):
            table = vars(self)[field] = ComputedMembers(self, table)
        return table

    def register_buffer(self, name: Any, tensor: Any, persistent: Any = True) -> None:
        """Add a buffer. With `persistent` False, `state_dict` leaves it out. TypeError, KeyError or AttributeError for wrong arguments."""
        if not self._tables():
            raise ProgramError("AttributeError", "cannot assign buffer before Module.__init__() call")
        self.check_name("buffer", name, self.own_buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            text = f"cannot assign '{kind_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            raise ProgramError("TypeError", text)
        self.own_buffers[name] = tensor
        (self.unsaved.discard if persistent else self.unsaved.add)(name)

    def register_parameter(self, name: Any, param: Any) -> None:
        """Add a parameter. TypeError, KeyError or AttributeError for wrong arguments."""
        if not self._tables():
            raise ProgramError("AttributeError", "cannot assign parameter before Module.__init__() call")
        self.check_name("parameter", name, self.own_parameters)
        if param is not None and not (isinstance(param, Tensor) and param.is_parameter):
            text = f"cannot assign '{kind_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            raise ProgramError("TypeError", text)
        self.own_parameters[name] = param

    def add_module(self, name: Any, module: Any) -> None:
        """Add a submodule. TypeError or KeyError for wrong arguments."""
        if module is not None and not isinstance(module, ModuleTree):
            raise ProgramError("TypeError", f"{kind_of(module)} is not a Module subclass")
        self.check_name("module", name, self.children_by_name)
        self.children_by_name[name] = module

    def check_name(self, what: str, name: Any, table: Collection[str]) -> None:
        """TypeError or KeyError for a name that no member can have, or that something else than a member of `table` has."""
        if not isinstance(name, str):
            raise type_error(f"{what} name should be a string. Got {{}}", name)
        if what != "module" and "." in name:
            raise ProgramError("KeyError", repr(f'{what} name can\'t contain "."'))
        if name not in table and (name in self.SCRIPT_METHODS or self._reads(name) or self.attribute(name, None) is not None):
            raise ProgramError("KeyError", repr(f"attribute '{name}' already exists"))
        if what == "module" and "." in name:
            raise ProgramError("KeyError", repr(f'module name can\'t contain ".", got: {name}'))
        if not name:
            raise ProgramError("KeyError", repr(f'{what} name can\'t be empty string ""'))

    def _reads(self, name: str) -> bool:
        """Whether a declared attribute can be read; a parameter or buffer that was deleted cannot."""
        try:
            return name in self.SCRIPT_ATTRIBUTES and bool([self.SCRIPT_ATTRIBUTES[name](self)])
        except ProgramError:
            return False

    def set_submodule(self, target: Any, module: Any, strict: Any = False) -> None:
        """Register a module under a dotted name. ValueError or AttributeError where that cannot be."""
        if target == "":
            raise ProgramError("ValueError", "Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, ModuleTree):
            raise ProgramError("ValueError", f"`module` is not an nn.Module, found {language.type_repr(module)}")
        parent = self.get_submodule(path)
        found = parent.attribute(name, None if strict else module)
        if found is None:
            raise ProgramError("AttributeError", f"{parent.SCRIPT_NAME} has no attribute `{name}`")
        if not isinstance(found, ModuleTree):
            raise ProgramError("AttributeError", f"`{name}` is not an nn.Module")
        parent.assign(name, module)

    def _member_table(self, field: str) -> MemberTable:
        """`_parameters`, `_buffers` or `_modules`: what a program puts in is checked."""

        def check(name: Any, value: Any) -> None:
            if not isinstance(name, str):
                raise type_error("the name of a member must be a str, not {}", name)
            known = (Tensor if field != "children_by_name" else ModuleTree) if value is not None else type(None)
            if not isinstance(value, known):
                raise type_error(f"{{}} is no value for the member '{name}' of a module", value)

        return MemberTable(self._deletable(field), check)

    SCRIPT_METHODS = (
        ModuleTree.SCRIPT_METHODS
        | {
            function.__name__: Routine(function, f"Module.{function.__name__}")
            for function in (register_buffer, register_parameter, add_module, set_submodule)
        }
        | {
            "register_module": Routine(add_module, "Module.register_module"),
            "__setattr__": Routine(assign, "Module.__setattr__"),
            "__delattr__": Routine(forget, "Module.__delattr__"),
        }
    )


def wrong_kind(value: Any, what: str, name: str, wanted: str) -> ProgramError:
    """The TypeError for a value that cannot take the place of a member."""
    return ProgramError("TypeError", f"cannot assign '{kind_of(value)}' as {what} '{name}' ({wanted} or None expected)")
