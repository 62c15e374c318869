"""Inputs that only look: values and what functions of tensors compute from them, nothing that could change any state."""

from __future__ import annotations

from collections.abc import Mapping

from gradcli.core.functions._index import FUNCTIONS, METHODS
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.names.importable_modules import PREBOUND
from gradcli.lang.syntax.nodes import Attribute, Call, ExprStmt, Name, NamedExpr, Node, Program, Subscript, children

#: families of functions and methods that draw random numbers, write, or change how gradients flow
_CHANGING = ("create.random", "layers.dropout", "shape.fill", "shape.apply", "tensor_methods")
#: methods of such a family that change nothing
_READING = {"item", "tolist", "detach", "is_complex", "is_floating_point", "is_inference", "is_same_size", "is_signed"}
#: Python's functions that change nothing
_PYTHON = {
    *("abs", "bool", "float", "int", "isinstance", "len", "list", "max", "min", "range", "repr", "round", "str", "sum", "tuple", "type"),
}


def only_looks(program: Program, variables: Mapping[str, object]) -> bool:
    """Whether the program consists of expressions that change nothing; False where that is not sure. `variables` are the bound names."""
    if not all(isinstance(statement, ExprStmt) for statement in program.body):
        return False
    pending: list[Node] = [program]
    while pending:
        node = pending.pop()
        if isinstance(node, NamedExpr) or (isinstance(node, Call) and not _reads(node, variables)):
            return False
        pending += children(node)
    return True


def _reads(call: Call, variables: Mapping[str, object]) -> bool:
    """Whether a call is one of a function or a method that only computes."""
    if any(keyword.name in (None, "out", "inplace") for keyword in call.keywords):
        return False
    function = call.function
    if isinstance(function, Name):
        name = function.id
        return name not in variables and (name in _PYTHON or _computes(name, FUNCTIONS.get(name)))
    if not isinstance(function, Attribute):
        return False
    owner, name = function.value, function.name
    while isinstance(owner, Attribute | Subscript):
        owner = owner.value
    if isinstance(owner, Name) and type(variables.get(owner.id, None)) is not Tensor and owner.id not in PREBOUND:
        return False  # `add` of a set changes it
    return _computes(name, METHODS.get(name) or FUNCTIONS.get(name) or FUNCTIONS.get(f"nn.functional.{name}"))


def _computes(name: str, family: str | None) -> bool:
    if family is None or name.endswith("_"):
        return False
    return name in _READING or not family.startswith(_CHANGING)
