"""The base of all modules: parameters, buffers and submodules by name, and what scripts can do with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from operator import attrgetter, itemgetter
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import Mapping, OrderedDict, SavedState, table_of
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Generated, Hooks, Removable, Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.kernels import blocks
from gradcli.core.nn.member_tables import ComputedMembers, MemberTable
from gradcli.core.nn.module_hooks import BackwardHooks, Passage, StateHooks, after_forward, before_forward, saving
from gradcli.core.nn.parameter import as_parameter, is_buffer
from gradcli.core.ops.checks import in_format
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.optim.optimizer import zero_gradients
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error

#: the default of `Module.attribute` that raises an error
NO_DEFAULT = object()

_EXTRA_STATE = "_extra_state"
#: the name of the submodule that holds parametrizations
_PARAMETRIZATIONS = "parametrizations"
_NO_EXTRA_STATE = (
    "Reached a code path in Module.{} that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
_NO_TENSOR = 'While copying the parameter named "{}", expected torch.Tensor or Tensor-like object from checkpoint but received {}'
_NO_NEW_KEYS = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if incompatible_keys need to "
    "be modified, it should be done inplace."
)
#: how deep modules are nested at most
_MAX_DEPTH = 900

#: methods that cast a module, and their dtypes
_CASTS = {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16}


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


def _caster(dtype: DType) -> Callable[[Module], Module]:
    return lambda self: self.convert(dtype)


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


def _registered(hooks: Hooks | None) -> OrderedDict:
    """The hooks by number, as programs read them."""
    return OrderedDict({number: getattr(run, "hook", run) for number, run in (hooks.functions if hooks else {}).items()})


class Module(Scripted):
    """The base class of modules.

    A subclass defines `forward` and declares by name what scripts reach of it; `class Linear(Module, place="linear")` is
    the class that scripts know as `torch.nn.modules.linear.Linear`. A class without a place only shares code.
    """

    SCRIPT_NAME = "Module"
    #: classes of programs may derive from modules
    BASE_OF = "modules"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
        "training": attrgetter("training"),
        "_forward_hooks": lambda module: _registered(module.after),
        "_forward_pre_hooks": lambda module: _registered(module.before),
        "_parameters": lambda module: module._member_table("own_parameters"),
        "_buffers": lambda module: module._member_table("own_buffers"),
        "_modules": lambda module: module._member_table("children_by_name"),
    }
    #: names of fields that scripts read
    SETTINGS = ""
    #: names of fields that scripts assign
    ASSIGNED = ""
    #: the buffer that a state saved without versions may lack
    ADDED_LATER = ""
    #: names of parameters, which scripts read and assign
    PARAMETERS = ""
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
        self.training = True
        #: attributes that a program assigned, other than parameters, buffers and modules
        self.fields: dict[str, Any] = getattr(self, "fields", {})
        self.own_parameters: dict[str, Tensor | None] = {}
        self.own_buffers: dict[str, Tensor | None] = {}
        #: names of buffers that `state_dict` leaves out
        self.unsaved: set[str] = set()
        #: None in place of a module that was taken away by assigning None
        self.children_by_name: dict[str, Any] = {}
        #: hooks before and after `forward`; None until the first is registered
        self.before: Hooks | None = None
        self.after: Hooks | None = None
        #: hooks that a backward calls; None until the first is registered
        self.backward_hooks: BackwardHooks | None = None
        #: hooks that saving and loading call; None until the first is registered
        self.state_hooks: StateHooks | None = None

    # --- calls ---

    def forward(self, *input: Any) -> Any:
        """Compute the output of the module."""
        raise ProgramError("NotImplementedError", f'Module [{self.SCRIPT_NAME}] is missing the required "forward" function')

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        kind = type(self)
        routine = Module._forwards.get(kind)
        if routine is None:
            routine = Module._forwards[kind] = Routine(kind.forward, f"{self.FORWARD_NAME or self.SCRIPT_NAME}.forward")
        for hook in self.before or ():
            args, kwargs = hook(self, args, kwargs)
        called = self.backward_hooks
        passage = Passage(self, called) if called is not None and (called.before or called.after) else None
        if passage is not None:
            args = passage.enter(args)
        result = routine(self, *args, **kwargs)
        for hook in self.after or ():
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
        limits.evaluation.tick()  # what is shared, or holds itself, comes again and again
        extra, lines, name = self.extra_repr(), self.lines(), self.shown_name()
        if not lines and "\n" not in extra:
            return f"{name}({extra})"
        text = "\n  ".join([f"{name}(", *(extra.split("\n") if extra else []), *lines]) + "\n)"
        limits.check_string(len(text))
        return text

    def shown_name(self) -> str:
        """The name that the repr begins with."""
        return f"Parametrized{self.SCRIPT_NAME}" if _PARAMETRIZATIONS in self.children_by_name else self.SCRIPT_NAME

    # --- walks ---

    def walk(self, prefix: str = "", once: object = True) -> Iterator[tuple[str, Module]]:
        """This module and its submodules with dotted names, each once, or else under each of its names. TypeError for a wrong prefix."""
        if type(prefix) is not str:
            raise type_error("unsupported operand type(s) for +: '{}' and 'str'", prefix)
        seen: set[int] = set()
        count = 0
        pending: list[tuple[str, Module]] = [(prefix, self)]
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

    def named_state(self, saved: bool = False) -> Iterator[tuple[str, Module, str, Any]]:
        """Parameters and buffers: full name, owner, name in the owner, tensor.

        With `saved`, what `state_dict` has: also the extra state of modules that define it, and shared modules under each name.
        """
        for path, module in self.walk(once=not saved):
            for name, tensor in module.own_state(saved):
                yield f"{path}.{name}" if path else name, module, name, tensor

    def own_state(self, saved: bool) -> Iterator[tuple[str, Any]]:
        """Parameters and buffers of this module by name; with `saved`, those that are saved and the extra state, as None."""
        for name, tensor in (*self.own_parameters.items(), *self.own_buffers.items()):
            if tensor is not None and not (saved and name in self.unsaved):
                yield name, tensor
        if saved and self.overrides("get_extra_state"):
            yield _EXTRA_STATE, None

    def version(self) -> int:
        """The version of what is saved of a module of this class."""
        return 2 if self.ADDED_LATER else 1

    def distinct_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules directly below, each once, under their first names."""
        seen: set[int] = set()
        for name, child in self.children_by_name.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def declared_parameters(self) -> list[Any]:
        """The parameters that the class names, in its order, the computed ones among them."""
        return [self.own_parameters[name] for name in self.PARAMETERS.split()]

    def overrides(self, name: str) -> bool:
        """Whether a class of the program defines a method of modules anew."""
        return False

    # --- changes ---

    def _tables(self) -> list[dict[str, Any]]:
        fields = vars(self)
        return [fields[name] for name in ("own_parameters", "own_buffers", "children_by_name") if name in fields]

    def assign(self, name: str, value: Any) -> None:
        """`module.name = value`: parameters and modules are registered under the name. AttributeError before `__init__`."""
        is_parameter = type(value) is Tensor and value.is_parameter
        tables = self._tables()
        if tables and _PARAMETRIZATIONS in self.children_by_name and (computed := self.parametrization(name)) is not None:
            computed.right_inverse(value)
            return
        if is_parameter or isinstance(value, Module):
            if not tables:
                what = "parameters" if is_parameter else "module"
                raise ProgramError("AttributeError", f"cannot assign {what} before Module.__init__() call")
            table = self.own_parameters if is_parameter else self.children_by_name
            if name not in table:
                self.forget(name)
            table[name] = value
        elif tables and name in self.own_parameters:
            if value is not None:
                raise _wrong_kind(value, "parameter", name, "torch.nn.Parameter")
            self.own_parameters[name] = None
        elif tables and name in self.own_buffers and (value is None or type(value) is Tensor):
            self.own_buffers[name] = value
            if value is not None and is_buffer(value):
                (self.unsaved.discard if value.property_of("persistent") else self.unsaved.add)(name)
        elif tables and name in self.children_by_name:
            if value is not None:
                raise _wrong_kind(value, "child module", name, "torch.nn.Module")
            self.children_by_name[name] = value
        elif tables and name in self.own_buffers:
            raise _wrong_kind(value, "buffer", name, "torch.nn.Buffer, torch.Tensor")
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
        return found

    def _deletable(self, field: str) -> dict[str, Any]:
        """A table of members; a parameter or buffer that is deleted from it is looked for among the other attributes."""
        table: dict[str, Any] = vars(self)[field]
        if type(table) is dict and field.startswith("own_"):
            table = vars(self)[field] = ComputedMembers(self, table)
        return table

    def attribute(self, name: str, default: Any = NO_DEFAULT) -> Any:
        """A parameter, buffer or submodule, or an attribute that the program assigned. AttributeError unless there is a default."""
        for table in (vars(self).get("fields", {}), *self._tables()):
            if name in table:
                return table[name]
        if _PARAMETRIZATIONS in vars(self).get("children_by_name", ()) and (computed := self.parametrization(name)) is not None:
            return computed.value()
        if default is NO_DEFAULT:
            raise ProgramError("AttributeError", f"'{self.shown_name()}' object has no attribute '{name}'")
        return default

    def parametrization(self, name: object) -> Any:
        """What computes a parameter or buffer, None for one that is held."""
        lists = self.children_by_name.get(_PARAMETRIZATIONS)
        return None if lists is None or type(name) is not str else lists.children_by_name.get(name)

    def computed(self, name: str) -> Any:
        """A parameter or buffer that a parametrization computes, or that a hook before `forward` has put into the fields."""
        found = self.parametrization(name)
        if found is None and name not in self.fields:
            raise ProgramError("AttributeError", f"'{self.shown_name()}' object has no attribute '{name}'")
        return self.fields[name] if found is None else found.value()

    def convert(self, dtype: DType) -> Module:
        """Cast floating point parameters to another dtype in place, and put converted buffers in the place of the others."""
        for _, module, name, tensor in list(self.named_state()):
            if not tensor.dtype.is_floating_point or tensor.dtype is dtype:
                continue
            if name in module.own_buffers:
                module.own_buffers[name] = to_dtype(tensor, dtype)
                continue
            for held in (tensor, tensor.grad):
                if held is not None:
                    held.array, held.dtype, held.accumulator = dtypes.cast(held.array, dtype), dtype, None
        return self

    # --- methods that scripts call, with PyTorch's parameters ---

    def parameters(self, recurse: Any = True) -> Generated:
        """The parameters, each once."""
        return Generated((p for _, p in self.walk_parameters("", bool(recurse))), "Module.parameters")

    def named_parameters(self, prefix: Any = "", recurse: Any = True, remove_duplicate: Any = True) -> Generated:
        """Pairs of dotted name and parameter."""
        return Generated(self.walk_parameters(prefix, recurse, remove_duplicate), "Module.named_parameters")

    def buffers(self, recurse: Any = True) -> Generated:
        """The buffers."""
        return Generated((t for _, module, name, t in self.named_state() if name in module.own_buffers), "Module.buffers")

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

    def register_buffer(self, name: Any, tensor: Any, persistent: Any = True) -> None:
        """Add a buffer. With `persistent` False, `state_dict` leaves it out. TypeError, KeyError or AttributeError for wrong arguments."""
        if not self._tables():
            raise ProgramError("AttributeError", "cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self.own_buffers)
        if tensor is not None and type(tensor) is not Tensor:
            text = f"cannot assign '{kind_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            raise ProgramError("TypeError", text)
        self.own_buffers[name] = tensor
        (self.unsaved.discard if persistent else self.unsaved.add)(name)

    def register_parameter(self, name: Any, param: Any) -> None:
        """Add a parameter. TypeError, KeyError or AttributeError for wrong arguments."""
        if not self._tables():
            raise ProgramError("AttributeError", "cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self.own_parameters)
        if param is not None and not (type(param) is Tensor and param.is_parameter):
            text = f"cannot assign '{kind_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            raise ProgramError("TypeError", text)
        self.own_parameters[name] = param

    def add_module(self, name: Any, module: Any) -> None:
        """Add a submodule. TypeError or KeyError for wrong arguments."""
        if module is not None and not isinstance(module, Module):
            raise ProgramError("TypeError", f"{kind_of(module)} is not a Module subclass")
        self._check_name("module", name, self.children_by_name)
        self.children_by_name[name] = module

    def _check_name(self, what: str, name: Any, table: Collection[str]) -> None:
        if type(name) is not str:
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

    def has_nothing(self, name: str) -> bool:
        """Whether there is an attribute of the name whose value is None."""
        tables = (self.own_parameters, self.own_buffers, self.children_by_name, self.fields)
        return any(name in table and table[name] is None for table in tables)

    def get_submodule(self, target: Any) -> Module:
        """The submodule of a dotted name. AttributeError if there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            found = module.attribute(name, None)
            if found is None and not module.has_nothing(name):
                raise ProgramError("AttributeError", f"{module.SCRIPT_NAME} has no attribute `{name}`")
            if not isinstance(found, Module):
                raise ProgramError("AttributeError", f"`{name}` is not an nn.Module")
            module = found
        return module  # type: ignore[no-any-return]

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

    def cast(self, dst_type: Any) -> Module:
        """Cast all parameters and buffers to a dtype, or to that of a legacy tensor type. ValueError for an unknown name."""
        method = catalog.method("type")
        for *_, tensor in list(self.named_state()):
            for held in (tensor, tensor.grad):
                if held is not None:
                    made = method.method(held, (dst_type,), {})
                    if held.requires_grad and not made.dtype.is_differentiable:
                        raise runtime_error("data set to a tensor that requires gradients must be floating point or complex dtype")
                    held.array, held.dtype, held.accumulator = made.array, made.dtype, None
        return self

    def cpu(self) -> Module:
        """The module itself: all tensors are on the cpu."""
        return self

    def share_memory(self) -> Module:
        """The module itself: there is no other process."""
        return self

    def cuda(self, device: Any = None) -> Module:
        """AssertionError, as in PyTorch without an accelerator."""
        raise ProgramError("AssertionError", "Torch not compiled with CUDA enabled")

    def set_submodule(self, target: Any, module: Any, strict: Any = False) -> None:
        """Register a module under a dotted name. ValueError or AttributeError where that cannot be."""
        if target == "":
            raise ProgramError("ValueError", "Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ProgramError("ValueError", f"`module` is not an nn.Module, found {language.type_repr(module)}")
        parent = self.get_submodule(path)
        found = parent.attribute(name, None if strict else module)
        if found is None:
            raise ProgramError("AttributeError", f"{parent.SCRIPT_NAME} has no attribute `{name}`")
        if not isinstance(found, Module):
            raise ProgramError("AttributeError", f"`{name}` is not an nn.Module")
        parent.assign(name, module)

    def state_dict(self, *, destination: Any = None, prefix: Any = "", keep_vars: Any = False) -> Any:
        """Parameters and buffers by dotted name; the tensors share memory and version with those of the module."""
        if type(prefix) is not str:
            raise type_error("unsupported operand type(s) for +: '{}' and 'str'", prefix)
        made = SavedState() if destination is None else destination
        walked = ((f"{prefix}{path}." if path else prefix, module) for path, module in self.walk(once=False))
        for start, module in saving(walked, made, keep_vars):
            for own, tensor in module.own_state(saved=True):
                made[start + own] = module.get_extra_state() if own == _EXTRA_STATE else tensor if keep_vars else _shared(tensor)
        return made

    def get_extra_state(self) -> Any:
        """What a class keeps in its `state_dict` besides tensors."""
        raise runtime_error(_NO_EXTRA_STATE.format("get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` of a saved module gave."""
        raise runtime_error(_NO_EXTRA_STATE.format("set_extra_state()"))

    def load_state_dict(self, state_dict: Any, strict: Any = True, assign: Any = False) -> IncompatibleKeys:
        """Write the tensors of a `state_dict` into parameters and buffers. RuntimeError if names or shapes do not match."""
        if not isinstance(state_dict, (dict, Mapping)):
            raise type_error("Expected state_dict to be dict-like, got <class '{}'>.", state_dict)
        given, errors = dict(table_of(state_dict)), list[str]()
        hooks = [(f"{path}." if path else "", module, module.state_hooks) for path, module in self.walk(once=False) if module.state_hooks]
        missing, unexpected = list[str](), list[str]()
        for start, module, found in hooks:
            changed = OrderedDict(given)
            for hook in found.before_loading:
                hook(module, changed, start, {"version": module.version()}, strict, missing, unexpected, errors)
            given = changed.table
        own = {name: (module, key, tensor) for name, module, key, tensor in self.named_state(saved=True)}
        old = not isinstance(state_dict, SavedState)
        missing += [name for name, (module, key, _) in own.items() if name not in given and not (old and key == module.ADDED_LATER)]
        unexpected += [name for name in given if name not in own]
        if strict and missing:
            errors.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if strict and unexpected:
            errors.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        for name, (module, key, tensor) in own.items():
            if name not in given:
                continue
            value = given[name]
            if tensor is None:
                module.set_extra_state(value)
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
            blocks.settle()
            tensor.array[...] = dtypes.cast(value.array, tensor.dtype)
            tensor.counter().count += 1
        keys = IncompatibleKeys((missing, unexpected))
        for _, module, found in reversed(hooks):
            for hook in found.after_loading:
                if hook(module, keys) is not None:
                    raise ProgramError("AssertionError", _NO_NEW_KEYS)
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

    def zero_grad(self, set_to_none: Any = True) -> None:
        """Take away the gradients of all parameters, or fill them with zeros."""
        zero_gradients([parameter for _, parameter in self.walk_parameters()], set_to_none)

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

    def requires_grad_(self, requires_grad: Any = True) -> Module:
        """Set `requires_grad` of all parameters."""
        for _, parameter in self.walk_parameters():
            catalog.method("requires_grad_").method(parameter, (requires_grad,), {})
        return self

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, memory_format: Any = None) -> Module:
        """Cast to a dtype, which may be that of a tensor; a device can only be the cpu. TypeError for an integer dtype.

        `memory_format` is that of parameters and buffers of four and five dimensions.
        """
        for value in (*args, *(v for v in (dtype, device) if v is not None)):
            wanted = value.dtype if type(value) is Tensor else value if isinstance(value, DType) else language.as_dtype(value)
            if wanted is None:
                check_device(value)
                continue
            if not wanted.is_floating_point:
                text = f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted!r}"
                raise ProgramError("TypeError", text)
            self.convert(wanted)
        if memory_format is not None:
            self._lay_out(memory_format)
        return self

    def _lay_out(self, format: Any) -> None:
        for *_, tensor in list(self.named_state()):
            for held in (tensor, tensor.grad):
                if held is not None and held.array.ndim in (4, 5):
                    held.array = in_format(held.array, format)

    def apply(self, fn: Any) -> Module:
        """Call a function on every submodule, children first, and on the module itself."""
        order: list[Module] = []
        pending = [self]
        while pending:
            module = pending.pop()
            limits.evaluation.tick()  # what is shared comes again and again
            order.append(module)
            pending += [child for child in module.children_by_name.values() if child is not None]
        for module in reversed(order):
            fn(module)
        return self

    def register_forward_hook(self, hook: Any, *, prepend: Any = False, with_kwargs: Any = False, always_call: Any = False) -> Removable:
        """Call `hook(module, args, output)` after `forward`; its result replaces the output unless it is None."""
        if always_call:
            raise ProgramError("NotImplementedError", "always_call=True is not part of gradcli")
        self.after = self.after or Hooks()
        return self.after.add(after_forward(hook, with_kwargs), prepend)

    def register_forward_pre_hook(self, hook: Any, *, prepend: Any = False, with_kwargs: Any = False) -> Removable:
        """Call `hook(module, args)` before `forward`; its result replaces the arguments unless it is None."""
        self.before = self.before or Hooks()
        return self.before.add(before_forward(hook, with_kwargs), prepend)

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

    def _member_table(self, field: str) -> MemberTable:
        """`_parameters`, `_buffers` or `_modules`: what a program puts in is checked."""

        def check(name: Any, value: Any) -> None:
            if type(name) is not str:
                raise type_error("the name of a member must be a str, not {}", name)
            known = (Tensor if field != "children_by_name" else Module) if value is not None else type(None)
            if not isinstance(value, known):
                raise type_error(f"{{}} is no value for the member '{name}' of a module", value)

        return MemberTable(self._deletable(field), check)

    SCRIPT_METHODS: dict[str, Routine] = {
        **{
            function.__name__: Routine(function, f"Module.{function.__name__}")
            for function in (
                *(parameters, named_parameters, buffers, modules, named_modules, children, named_children),
                *(state_dict, load_state_dict, zero_grad, train, eval, requires_grad_, to, apply, forward, extra_repr),
                *(register_forward_hook, register_forward_pre_hook, register_buffer, register_parameter, add_module),
                *(named_buffers, get_submodule, get_parameter, get_buffer, cpu, get_extra_state, set_extra_state, share_memory),
                *(cuda, set_submodule),
                *(register_backward_hook, register_full_backward_hook, register_full_backward_pre_hook),
                *(register_state_dict_pre_hook, register_state_dict_post_hook),
                *(register_load_state_dict_pre_hook, register_load_state_dict_post_hook),
            )
        },
        "register_module": Routine(add_module, "Module.register_module"),
        "type": Routine(cast, "Module.type"),
        "_get_name": Routine(shown_name, "Module._get_name"),
        "__getattr__": Routine(attribute, "Module.__getattr__"),
        "__setattr__": Routine(assign, "Module.__setattr__"),
        "__delattr__": Routine(forget, "Module.__delattr__"),
        **{name: Routine(_caster(dtype), f"Module.{name}") for name, dtype in _CASTS.items()},
        "__call__": Routine(lambda self, *args, **kwargs: self(*args, **kwargs), "Module.__call__"),
    }


class _Shown(dict[str, Any]):
    """The fields of a module by name; of a parameter, whether there is one."""

    def __init__(self, module: Module) -> None:
        super().__init__(vars(module))

    def __missing__(self, name: str) -> bool:
        return self["own_parameters"][name] is not None


def indented(text: str) -> str:
    """A text whose lines after the first are indented, as the repr of a submodule is."""
    return text.replace("\n", "\n  ")


def _shared(tensor: Any) -> Any:
    """A tensor without history that shares memory and version."""
    if type(tensor) is not Tensor:
        return tensor
    held = Tensor(tensor.array, tensor.dtype)
    held.version = tensor.counter()
    return held


def kind_of(value: Any) -> str:
    """The name of a value's type, as PyTorch's errors of assignments give it."""
    if type(value) is Tensor:
        return f"torch.{_TENSOR_TYPES.get(value.dtype, 'Bool')}Tensor"
    if isinstance(value, Module) and value.SCRIPT_TYPE.name == value.SCRIPT_NAME:
        return f"{value.SCRIPT_TYPE.module}.{value.SCRIPT_NAME}"
    if type(value) is ScriptType:
        return f"{value.module}.{value.name}"
    return language.type_repr(value)[8:-2]


def _wrong_kind(value: Any, what: str, name: str, wanted: str) -> ProgramError:
    return ProgramError("TypeError", f"cannot assign '{kind_of(value)}' as {what} '{name}' ({wanted} or None expected)")


def _from_table(table: str, name: str) -> Callable[[Any], Any]:
    return lambda module: vars(module)[table][name]


def _quoted(names: list[Any]) -> str:
    return ", ".join(f'"{formatted(name)}"' for name in names)


script_type(Module, "torch.nn.modules.module")
