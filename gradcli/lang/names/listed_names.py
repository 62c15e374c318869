"""What `dir` lists: all names that Python and PyTorch have, those included that programs cannot read."""

from __future__ import annotations

from gradcli.core.autograd.custom_function import FunctionNode
from gradcli.core.nn.module import Module
from gradcli.core.tensor.node import Node
from gradcli.errors import ProgramError
from gradcli.lang.classes.modules import ModuleObject
from gradcli.lang.names.graph_attributes import node_names
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import CallableObject, UserClass, UserObject

_OF_OBJECT = (
    "__class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__ __getstate__ __gt__ __hash__ __init__ "
    "__init_subclass__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__ __sizeof__ __str__ __subclasshook__"
)
_OF_CLASSES = ["__dict__", "__module__", "__weakref__"]
_OF_CUSTOM_NODES = (
    "_autograd_function_id _compiled_autograd_backward_state _compiled_autograd_key _forward_cls _get_compiled_autograd_symints "
    "_get_user_fn _input_metadata _is_pure_view _materialize_non_diff_grads _raw_saved_tensors _register_hook _register_hook_dict "
    "_sequence_nr _set_sequence_nr apply apply_boxed apply_jvp dirty_tensors mark_dirty mark_non_differentiable mark_shared_storage "
    "materialize_grads maybe_clear_saved_tensors metadata name needs_input_grad next_functions non_differentiable register_hook "
    "register_prehook requires_grad save_for_backward save_for_forward saved_for_forward saved_tensors saved_variables "
    "set_materialize_grads to_save"
)
_OF_NODES = ["__call__", "_input_metadata", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr"]
_OF_MODULES = (
    "T_destination __annotations__ __call__ __getattr__ __setstate__ _apply _call_impl _compiled_call_impl _get_backward_hooks "
    "_get_backward_pre_hooks _get_name _load_from_state_dict _maybe_warn_non_full_backward_hook _named_members "
    "_register_load_state_dict_pre_hook _register_state_dict_hook _replicate_for_data_parallel _save_to_state_dict _slow_forward "
    "_version _wrapped_call_impl add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval "
    "extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia "
    "named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory state_dict "
    "to to_empty train type xpu zero_grad"
)


def listed(value: Value) -> list[str]:
    """`dir(value)`. TypeError for values of which not all names are known."""
    if isinstance(value, FunctionNode):
        return sorted({*_OF_OBJECT.split(), *_OF_CLASSES, *_OF_CUSTOM_NODES.split(), *value.fields})
    if isinstance(value, Node):
        return sorted({*_OF_OBJECT.split(), *_OF_NODES, *node_names(value)})
    if type(value) is Module:
        return sorted([*_OF_OBJECT.split(), *_OF_CLASSES, *_OF_MODULES.split(), *value.base_attributes(), *_members(value)])
    cls = value if type(value) is UserClass else value.cls if isinstance(value, Instance) else None
    host = cls.host if type(cls) is UserClass else None
    if type(cls) is not UserClass or host is None:
        raise _refused(value)
    classes = [one for one in cls.mro if type(one) is UserClass]
    if any(one.traits or one.abstract for one in classes):
        raise _refused(value)
    names = {*_OF_OBJECT.split(), *_OF_CLASSES, *(name for one in classes for name in one.fields)}
    if any(one.annotations for one in classes):
        names.add("__annotations__")
    if issubclass(host, ModuleObject) and host.MADE is Module:
        names.update(_OF_MODULES.split())
    elif host not in (UserObject, CallableObject):
        raise _refused(value)
    if isinstance(value, ModuleObject):
        own = (*value.fields, *value.base_attributes(), *_members(value))
        return sorted(name for name in (*names, *own) if not name[0].isdigit())
    return sorted({*names, *(value.fields if isinstance(value, Instance) else ())})


def _members(module: Module) -> list[str]:
    return [*module.own_parameters, *module.children_by_name, *module.own_buffers]


def _refused(value: Value) -> ProgramError:
    return ProgramError("TypeError", f"dir() of a value of the type {type_name(value)} is not part of gradcli's language")
