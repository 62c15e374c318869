"""Labels on errors about shapes: each operand is shown with its shape. Called only after an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, Label, ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.syntax.nodes import Attribute, AugAssign, Call, Expr, ListExpr, Node, Starred, Step, TupleExpr

_MOST = 4
_ABOUT_SHAPES = (Code.SHAPE, Code.OUT_OF_RANGE, Code.BROADCAST, Code.MATRIX_PRODUCT, Code.INVALID_VIEW_SIZE)


def label_operands(error: ProgramError, a: Tensor, b: Tensor) -> None:
    """Label both operands of the operator at `state.origin`, if the error is about shapes."""
    place = state.origin
    if isinstance(place, Step):
        _label(error, [(place.left, a), (place.right, b)])
    elif isinstance(place, AugAssign):
        _label(error, [(place.target, a), (place.value, b)])


def label_tensor(error: ProgramError, place: Node, value: Value) -> None:
    """Label one value, if it is a tensor and the error is about shapes."""
    _label(error, [(place, value)])


def label_arguments(
    error: ProgramError, node: Call, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None, owner: Value = None
) -> None:
    """Label the tensors among the arguments of a call and its `owner`, the value whose method was called."""
    pairs: list[tuple[Node, Value]] = []
    if type(owner) is Tensor and isinstance(node.function, Attribute):
        pairs.append((node.function.value, owner))
    if not any(isinstance(place, Starred) for place in node.args):
        for place, value in zip(node.args, args, strict=False):
            pairs += _with_items(place, value)
    given = kwargs or {}
    pairs += [(keyword.value, given[keyword.name]) for keyword in node.keywords if keyword.name is not None and keyword.name in given]
    _label(error, pairs)


def _with_items(place: Expr, value: Value) -> Iterable[tuple[Node, Value]]:
    """An argument with its value, or the items of an argument that is written as a list or tuple."""
    if isinstance(place, ListExpr | TupleExpr) and isinstance(value, list | tuple) and len(place.items) == len(value):
        return zip(place.items, value, strict=True)
    return [(place, value)]


def _label(error: ProgramError, pairs: Iterable[tuple[Node, Value]]) -> None:
    # an error that has a span already came from inside a called function, with other operands
    if error.span is not None or error.labels or error.code not in _ABOUT_SHAPES:
        return
    tensors = [(place, value) for place, value in pairs if type(value) is Tensor]
    for place, tensor in tensors[:_MOST]:
        error.labels.append(Label(place.span, f"shape {tuple(tensor.array.shape)}"))
