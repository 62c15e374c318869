"""Functions that scripts hand to the transforms: calling them, their names, and what they get in place of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.calling.type_errors import not_callable
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a function value. Nodes that are recorded afterwards have the place in the text where the transform was called."""
    if not callable(function):
        raise not_callable(function)
    origin = state.origin
    result = function(*args, **(kwargs or {}))
    state.origin = origin
    return result


def name_of(function: Any) -> str:
    """`function.__name__`, which a function that is made from it takes over."""
    name = getattr(function, "name", None)
    return name.rpartition(".")[2] if isinstance(name, str) else "function"


def qualified_name_of(function: Any) -> str:
    """`function.__qualname__`, by which a function that is made from it is printed."""
    name = getattr(function, "name", None)
    if not isinstance(name, str):
        return "function"
    return f"_VariableFunctionsClass.{name}" if isinstance(function, Function) and function.namespace == "torch" else name


def stand_in(tensor: Tensor) -> Tensor:
    """A view of the whole tensor: a tensor of the same values with a place of its own in the graph."""
    view: Tensor = catalog.method("view_as").method(tensor, (tensor,), {})
    return view
