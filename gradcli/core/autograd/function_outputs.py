"""The outputs of a custom function, as its caller gets them: views of inputs, written inputs, and those without a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling import warnings
from gradcli.core.calling.signature import language
from gradcli.core.graph import in_place
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.graph.write_checks import check_writable
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, View
from gradcli.errors import Code, ProgramError, runtime_error

if TYPE_CHECKING:
    from gradcli.core.autograd.custom_function import FunctionNode

_DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all "
    "be outputs of the Function."
)
_DIRTY_OUTPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
    "ctx.mark_dirty(). (Triggered internally at /__w/pytorch/pytorch/torch/csrc/autograd/custom_function.cpp:320.)"
)
_WRITTEN_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. This "
    "is not supported by the current autograd engine. You should either make sure the input is not a view (using .clone() for example) or "
    "make your Function only return one Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single "
    "Tensor and a second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to "
    "do this change."
)
_SAVED_INPUT = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you override setup_context. "
    "You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
)


def connected(ctx: FunctionNode, outputs: Sequence[Any], inputs: Sequence[Tensor], needed: bool) -> list[Any]:
    """What `apply` returns of the outputs of forward; ctx is their node if a gradient is `needed`. Raises RuntimeError for wrong marks."""
    _check_marks(ctx)
    made = [_output(ctx, one, inputs, needed, len(outputs)) for one in outputs]
    if any(not _is_in(one, outputs) for one in ctx.dirty):
        raise runtime_error(_DIRTY_NOT_RETURNED)
    if needed:
        _connect(ctx, made)
    else:
        _disconnect(ctx, made)
    return made


def _is_in(tensor: Any, tensors: Sequence[Any]) -> bool:
    return any(tensor is one for one in tensors)


def _check_marks(ctx: FunctionNode) -> None:
    """Count the writes that forward has marked. Raises RuntimeError for marks of what is no tensor, in PyTorch's words."""
    if any(type(one) is not Tensor for one in ctx.non_differentiable):
        raise runtime_error("mark_non_differentiable only accepts variable arguments, but got ")
    for one in ctx.dirty:
        if type(one) is not Tensor:
            raise runtime_error("mark_dirty can only accept variables, but argument ")
        one.counter().count += 1


def _output(ctx: FunctionNode, one: Any, inputs: Sequence[Tensor], needed: bool, count: int) -> Any:
    """One of `count` outputs as the caller gets it: an input that forward returns unchanged becomes a view, without gradient a detached
    tensor. Raises RuntimeError for a written leaf and for a written view that is not the only output.
    """
    if type(one) is not Tensor:
        return one
    given, fixed = _is_in(one, inputs), _is_in(one, ctx.non_differentiable)
    if given and one.requires_grad and (fixed or not needed):
        return _marked(ctx, detach(one))
    if not fixed and _is_in(one, ctx.dirty):
        if needed and one.requires_grad and one.node is None:
            raise runtime_error("a leaf Variable that requires grad has been used in an in-place operation.", Code.LEAF_WRITTEN_IN_PLACE)
        if needed and not given:
            warnings.emit(_DIRTY_OUTPUT, once="mark_dirty")
        if needed and one.view is not None:
            if count > 1:
                raise runtime_error(_WRITTEN_VIEW)
            check_writable(one)
    if given and not _is_in(one, ctx.dirty):
        kept = ctx.functions.setup_context is not None and any(one is saved for saved, _ in ctx.kept or ())
        if kept and not fixed:
            raise runtime_error(_SAVED_INPUT)
        alias = Tensor(one.array, one.dtype)
        alias.version = one.counter()
        base = one if one.view is None else one.view.base
        alias.view = View(base, alias.version.count, "default", ctx.functions.name)
        return _marked(ctx, alias) if fixed else alias
    return one


def _marked(ctx: FunctionNode, output: Tensor) -> Tensor:
    """What stands for an output without gradient, which has none either."""
    ctx.non_differentiable = (*ctx.non_differentiable, output)
    return output


def _connect(ctx: FunctionNode, outputs: Sequence[Any]) -> None:
    """Make ctx the node of the outputs that have a gradient."""
    ctx.results = len(outputs)
    ctx.output_places = tuple([at for at, one in enumerate(outputs) if type(one) is Tensor])
    # other values than tensors count as outputs too, which no gradient reaches
    ctx.outputs = tuple([(one.array.shape, one.dtype) if type(one) is Tensor else ((), ctx.dtype) for one in outputs])
    ctx.plain = False
    tensors = [one for one in outputs if type(one) is Tensor]
    differentiable = [one for one in tensors if one.dtype.is_differentiable and not _is_in(one, ctx.non_differentiable)]
    for one in differentiable:
        _mark_view(ctx, one, "multi" if len(differentiable) > 1 else "function")
    for number, one in enumerate(outputs):
        if not _is_in(one, differentiable):
            continue
        if _is_in(one, ctx.dirty):
            in_place.set_history(one, ctx, number)
        else:
            one.node, one.output_nr, one.requires_grad = ctx, number, True
    kept = ctx.kept
    if kept is not None:
        for at, (one, _) in enumerate(kept):
            if one is not None and type(one) is not Tensor:
                kind = language.type_name(one)
                raise ProgramError("TypeError", f"save_for_backward can only save variables, but argument {at} is of type {kind}")
        ctx.kept = tuple([(_kept(one, ctx), expected) for one, expected in kept])


def _mark_view(ctx: FunctionNode, one: Tensor, creation: str) -> None:
    """Have writes to a view that the function has made refused, unless it is a written input."""
    if one.view is not None and not _is_in(one, ctx.dirty):
        one.view = View(one.view.base, one.counter().count, creation, ctx.functions.name)


def _kept(one: Any, ctx: FunctionNode) -> Any:
    """What a node keeps of a tensor: what the pack hook returns, or, without the tensor, which would make a cycle, an output of its own."""
    own = one is not None and one.node is ctx
    if state.saving is not None and one is not None:
        return state.saving.packed(one, ctx if own else None)
    return Saved(one, one.output_nr) if own else one


def _disconnect(ctx: FunctionNode, outputs: Sequence[Any]) -> None:
    """Without a node, an output requires no gradient, unless it is a view."""
    for one in outputs:
        if type(one) is not Tensor:
            continue
        if one.view is None:
            one.node, one.requires_grad = None, False
        _mark_view(ctx, one, "function")
