"""The special methods that programs read from containers, tensors and blocks, such as `found.__setitem__` as a callback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradcli.core.autograd.anomaly import AnomalyMode
from gradcli.core.autograd.grad_mode import GradMode
from gradcli.core.autograd.hooks import HookHandle
from gradcli.core.autograd.saved_tensor_hooks import SavedTensorsHooks
from gradcli.core.calling.script_types import Removable, Scripted
from gradcli.core.calling.signature import language
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import generators, operators, special_methods, subscripts, types
from gradcli.lang.values.object_operations import deterministic_hash, format_text, index_of, iterate
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.value_classes import MISSING, Builtin, IteratorValue

#: what begins and ends by changing the state of its session alone
_BLOCKS = (AnomalyMode, GradMode, HookHandle, Removable, SavedTensorsHooks)
_WITH_TEXT = (Tensor, DType, Scripted, list, tuple, dict, set, frozenset, str, range, int, float, complex, type(None))


def _iterator(value: Value) -> Value:
    if type(value) is IteratorValue:
        return value
    host = iterate(value)
    return host if isinstance(host, Scripted) else IteratorValue(type(host).__name__, host)


#: by name, what the language does for the method, and the kinds of values that have it
_METHODS: dict[str, tuple[Callable[..., Value], tuple[type, ...]]] = {
    "__contains__": (lambda container, item: operators.contains(item, container), (list, tuple, str, dict, set, frozenset, range, Tensor)),
    "__getitem__": (subscripts.getitem, (list, dict, str, tuple, range)),
    "__setitem__": (subscripts.setitem, (list, dict, Tensor)),
    "__delitem__": (subscripts.delitem, (list, dict)),
    "__iter__": (_iterator, (Tensor, list, dict, str, tuple, range, set, frozenset, IteratorValue)),
    "__next__": (generators.advance, (IteratorValue,)),
    "__len__": (lambda value: language.length(value), (Tensor, list, dict, str, tuple, range, set, frozenset)),
    "__bool__": (special_methods.truth, (Tensor,)),
    "__int__": (types.INT, (Tensor,)),
    "__float__": (types.FLOAT, (Tensor,)),
    "__complex__": (types.COMPLEX, (Tensor,)),
    "__index__": (index_of, (Tensor,)),
    "__repr__": (repr_text, _WITH_TEXT),
    "__str__": (str_text, _WITH_TEXT),
    "__format__": (format_text, (Tensor,)),
    "__hash__": (deterministic_hash, (Tensor,)),
    "__enter__": (lambda block: block.enter(), _BLOCKS),
    "__exit__": (lambda block, kind, error, traceback: block.exit(), _BLOCKS),
}


def special_method(value: Value, name: str) -> Value:
    """The special method `name` of a value, bound to it; MISSING if it has none."""
    found = _METHODS.get(name)
    if found is None:
        return MISSING
    method = found[0] if isinstance(value, found[1]) else getattr(type(value), "SCRIPT_METHODS", {}).get(name)
    if method is not None and name == "__iter__":
        method = _iterator  # what Python iterates with is no value of a program
    return MISSING if method is None else Builtin(name, partial(method, value), f"<method-wrapper '{name}'>")
