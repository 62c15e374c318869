"""In-place writes: the new values, the count of versions, and the history of the tensor and of the views around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.graph import strided
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.op_node import OpNode, Plan
from gradcli.core.graph.recast import Part, replayed
from gradcli.core.graph.record import Op, Rule, broadcast_error
from gradcli.core.graph.write_checks import (
    UNASKED,
    bump,
    check_batch,
    check_memory,
    check_order,
    check_overlap,
    check_writable,
    resized,
    why_not,
)
from gradcli.core.kernels import Array, blocks, conjugates, memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, filling
from gradcli.core.tensor.node import NO_EDGE, Edge, Node, freed_error, misfit_error
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def store(array: Array, values: Any, dtype: DType) -> None:
    """Write values, converted as torch converts."""
    if isinstance(values, (np.ndarray, blocks.Deferred)) and (values.dtype is not array.dtype or dtype is dtypes.bfloat16):
        if values.dtype.kind == "c" and not dtype.is_complex and dtype is not dtypes.bool_ and array.size:
            warnings.imaginary_discarded()
        values = dtypes.cast(np.asarray(values), dtype)
    elif dtype.itemsize == 2 and dtype.is_floating_point:
        values = dtypes.cast(np.asarray(values, np.float32), dtype)
    blocks.settle()
    array[...] = values


def alias(tensor: Tensor) -> Tensor:
    """The tensor as an input: same values and edge, without being the tensor."""
    made = Tensor(tensor.array, tensor.dtype)
    if state.dual is not None:
        state.dual.alias(tensor, made)
    if state.enabled:
        made.requires_grad = tensor.requires_grad
        made.node, made.output_nr = tensor.grad_fn, tensor.output_nr
        made.accumulator = tensor.accumulator
    return made


def write_part(tensor: Tensor, op: Op, more: Sequence[Any], attrs: tuple[Any, ...], write: Callable[[Array], Any]) -> Tensor:
    """An in-place operation that needs none of the old values: `write` changes the array, `op` describes what happened."""
    wanted = any(type(t) is Tensor and t.requires_grad for t in more)
    check_writable(tensor, wanted)
    node = None
    if state.enabled and tensor.dtype.is_differentiable and (wanted or tensor.requires_grad):
        # before the write: views among the operands still have the nodes that made them
        probe = Tensor(tensor.array, tensor.dtype)
        op.record(probe, (alias(tensor), *more), attrs)
        node = probe.node
    blocks.settle()
    write(tensor.array)
    bump(tensor)
    if state.dual is not None:
        state.dual.written(tensor, op, more, attrs)
    if node is not None:
        set_history(tensor, node)
    return tensor


def resize_out(out: Tensor, result: Tensor, row_major: bool = False, silent: bool = False, compared: Any = None) -> None:
    """`out=`: give a tensor of another shape that of the result, and its strides unless it is to be `row_major`; warn unless `silent`.

    The warning is about the shapes that `compared` makes of both.
    """
    shape = result.array.shape
    if compared is not None:
        have, wanted = compared(out.array.shape, shape)
        if have != wanted and out.array.size:
            warnings.emit(resized(have, wanted))
        silent = True
    if out.array.shape != shape:
        resize_to(out, shape, None if row_major else memory_format.preserved(result.array), silent)


def resize_to(out: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, silent: bool = False) -> None:
    """`out=`: give a tensor of another shape this one, in row-major order or with the strides; warn unless `silent`."""
    if out.array.shape != shape:
        if out.array.size and not silent:
            warnings.emit(resized(out.array.shape, shape))
        out.array = strided.resized(out.array, shape, strides or memory_format.contiguous_strides(shape))


def write_out(out: Tensor, result: Tensor) -> Tensor:
    """`out=`: write a result, whose dtype can be cast, into a tensor, which gets its shape."""
    resize_out(out, result)
    store(out.array, result.array, out.dtype)
    bump(out)
    return out


def unfit(shape: tuple[int, ...], source: tuple[int, ...]) -> ProgramError:
    """PyTorch's error for a source of a shape that does not broadcast to the one it is copied into."""
    try:
        whole = np.broadcast_shapes(shape, source)
    except ValueError:
        return broadcast_error(shape, source)
    return shape_error(f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}")


def copy_(tensor: Tensor, source: Tensor) -> Tensor:
    """`tensor.copy_(source)`: broadcast and convert; gradients go to the source."""
    if state.mapped:
        check_batch(tensor, "copy_", (source,))
    check_writable(tensor, source.requires_grad)
    if tensor.batch is not None:
        if np.broadcast_shapes(source.array.shape, tensor.array.shape) != tensor.array.shape:
            raise unfit(tensor.array.shape, source.array.shape)
        return write_part(tensor, COPY_INTO, (source,), (), lambda _: tensor.batch.level.write(tensor, (source,), copy_))
    if source is tensor and not (state.enabled and tensor.requires_grad):
        bump(tensor)
        return tensor
    values, array = source.array, tensor.array
    same = values.shape == array.shape and values.strides == array.strides and strided.geometry(values, array)[2] == 0
    if not same or source.dtype is not tensor.dtype:  # PyTorch leaves a view of the same elements as it is
        if memory_format.followers:
            check_overlap(Tensor(conjugates.plain(array), tensor.dtype), Tensor(conjugates.plain(values), source.dtype))
        elif source is not tensor and source.version is not None and source.version is tensor.version:
            check_overlap(tensor, source)
        check_memory(tensor)
    if values.shape != tensor.array.shape:
        try:
            values = np.broadcast_to(values, tensor.array.shape)
        except ValueError:
            raise unfit(tensor.array.shape, values.shape) from None
    if np.may_share_memory(values, tensor.array):
        check_order(tensor, source, copied=True)
        values = values.copy()
    return write_part(tensor, COPY_INTO, (source,), (), lambda array: store(array, values, tensor.dtype))


def fill_(tensor: Tensor, value: Any) -> Tensor:
    """`tensor.fill_(value)` for a number or a 0-d tensor."""
    if state.mapped:
        check_batch(tensor, "fill_", (value,))
    if type(value) is Tensor:
        check_writable(tensor, value.requires_grad)
        if value.array.ndim:
            raise shape_error(f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions.")
        if tensor.batch is not None:
            return write_part(tensor, FILL_TENSOR, (value,), (), lambda _: tensor.batch.level.write(tensor, (value,), copy_))
        check_memory(tensor)
        number = value.array.copy()
        return write_part(tensor, FILL_TENSOR, (value,), (), lambda array: store(array, number, tensor.dtype))
    if tensor.batch is not None:
        return write_part(tensor, FILL, (), (), lambda _: tensor.batch.level.write(tensor, (value,), fill_))
    return write_part(tensor, FILL, (), (), lambda array: store(array, filling(value, tensor.dtype, array.size), tensor.dtype))


def zero_(tensor: Tensor) -> Tensor:
    """`tensor.zero_()`."""
    if tensor.batch is not None:
        return write_part(tensor, ZERO, (), (), lambda _: tensor.batch.level.write(tensor, (), zero_))
    return write_part(tensor, ZERO, (), (), lambda array: array.fill(0))


_ZERO_RULE = Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad")
COPY_INTO = Op(
    "CopyBackwards",
    lambda target, source: source,
    "input source",
    full_name="torch::autograd::CopyBackwards",
    input=_ZERO_RULE,
    source=Rule(lambda grad: grad, "grad"),
    complex=True,
)
ZERO = Op("ZeroBackward0", lambda a: a * 0, "input", input=_ZERO_RULE, complex=True)
FILL = Op("FillBackward2", lambda a: a, "input", input=_ZERO_RULE, complex=True)
FILL_TENSOR = Op(
    "FillBackward3",
    lambda a, v: a,
    "input value",
    input=_ZERO_RULE,
    value=Rule(lambda xp, grad: xp.sum(grad), "sum(grad)"),
    complex=True,
    real_part=False,
)


def reshape_(tensor: Tensor, op: Op, *attrs: Any) -> Tensor:
    """`t_`, `squeeze_` and their kin: another shape for the tensor itself; the elements stay where they are."""
    check_writable(tensor)
    before = alias(tensor)
    if tensor.batch is not None:
        probe = op(before, *attrs)
        bump(tensor)
    else:
        probe = Tensor(op.forward(memory_format.spelled_out(tensor.array), *attrs), tensor.dtype)
        bump(tensor)
        if state.enabled:
            op.record(probe, (before,), attrs)
    tensor.array = probe.array
    if state.dual is not None:
        state.dual.reshape(tensor, op, attrs)
    if probe.node is not None:
        _rebase(tensor, probe.node)
        if tensor.view is None:
            _adopt_views(tensor)
    if state.enabled and tensor.view is not None and tensor.version is not None:
        tensor.view.version = tensor.version.count
    return tensor


# --- history ---


def set_history(tensor: Tensor, node: Node, number: int = 0) -> None:
    """Let `node`, of which it is output `number`, be what made the present values of `tensor`; that of a view has one output."""
    view = tensor.view
    if view is None:
        _rebase(tensor, node, number)
        _adopt_views(tensor)
        return
    base = view.base
    slices = CopySlices(base.edge(), base, tensor, node)
    _rebase(base, slices)
    _adopt_views(base, tensor)
    _follow(tensor, base)
    if state.watch is not None:
        state.watch.append((slices, (base,)))


def _rebase(tensor: Tensor, node: Node, number: int = 0) -> None:
    """Put a new node in place of the old one; `retain_grad` moves along, hooks stay where they were registered."""
    old = tensor.node
    if old is not None and old.retained is not None and old.retained.get(tensor.output_nr) is tensor:
        del old.retained[tensor.output_nr]
        node.retained = {number: tensor}
        node.plain = False
    tensor.node, tensor.output_nr, tensor.requires_grad = node, number, True


def _adopt_views(base: Tensor, written: Tensor | None = None) -> None:
    """Views taken before the base needed gradients now need them too; `written` is the view that the gradients came by."""
    version = base.version
    if version is None or not version.views:
        return
    for reference in version.views:
        view = reference()
        if view is None or view.view is None or view.view.base is not base or view.node is not None:
            continue
        if view.dtype.is_differentiable:
            view.requires_grad = True
            if view is not written:
                view.view.version = UNASKED
            if view.view.creation == "default":
                _follow(view, base)
    version.views = []


def _follow(tensor: Tensor, base: Tensor) -> None:
    """A view whose base has a new node gets its own when somebody asks: `grad_fn` sees that its version is old."""
    tensor.requires_grad = True
    if tensor.node is not None and tensor.node.retained is not None:
        refresh_view(tensor)
    else:
        tensor.node, tensor.output_nr = base.node, 0


def refresh_view(tensor: Tensor) -> None:
    """Give a view of a base that was written to a fresh node: AsStridedBackward0 of the base."""
    view = tensor.view
    assert view is not None and tensor.version is not None
    base = view.base
    if view.creation != "default" and (base.requires_grad or tensor.node is not None):
        deed = "its base or another view of its base has been modified inplace"
        raise runtime_error(why_not(tensor, deed, deed))
    view.version = tensor.version.count
    if not base.requires_grad:
        # the tensor that required the gradient is a view of the base itself: as in PyTorch, no gradient reaches it any more
        if tensor.node is not None:
            where = (*strided.geometry(tensor.array, base.array), strided.own_geometry(base.array)[1])
            _rebase(tensor, OpNode(strided.AS_STRIDED, (NO_EDGE,), tensor.array.shape, tensor.dtype, Plan(strided.AS_STRIDED, 0), where))
        return
    with recording(True):
        if view.steps:
            probe = replayed(base, base.array, view.steps)
        else:
            probe = Tensor(tensor.array, tensor.dtype)
            where = (*strided.geometry(tensor.array, base.array), strided.own_geometry(base.array)[1])
            strided.AS_STRIDED.record(probe, (base,), where)
    assert probe.node is not None
    _rebase(tensor, probe.node)


class CopySlices(Node):
    """The node of a base after one of its views was written: the gradient of the written part goes through `inner`."""

    __slots__ = ("inner", "part", "freed", "has_derivative")

    def __init__(self, base_edge: Edge, base: Tensor, written: Tensor, inner: Node) -> None:
        # the first edge is the base before the write, the others are those of the operation but for its first
        self.has_derivative = inner.type_name != "NotImplemented"
        edges = inner.edges if self.has_derivative else [inner.edges[i] for i in inner.listed]
        super().__init__((base_edge, *edges[1:]), base.array.shape, base.dtype)
        self.inner = inner
        self.part = Part(written, base)
        self.freed = False

    @property
    def type_name(self) -> str:
        return "CopySlices"

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        self.inner.release()
        self.freed = True  # freed with the operation, even if that saved no tensor

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        if self.freed:
            raise freed_error()
        grad = grads[0]
        if not self.has_derivative:  # PyTorch calls the operation whatever is wanted, and this one raises its error
            return self.inner.gradients(grads, traced, [True] * len(self.inner.edges))
        if True not in wanted:
            return [None] * len(self.edges)
        # the operation's own first edge is the written view; without one its rule for it was never kept
        first = wanted[0] and self.inner.edges[0][0] is not None
        place, whole = self.part.place, self.part.whole
        if self.part.steps and not traced:
            return self._by_steps(grad, first, wanted)
        opened = None if traced else strided.laid_open(grad, place, whole)
        if opened is not None:
            made, window = opened
            inner = self._of_view(window.copy(), False, [first, *wanted[1:]])
            window[...] = inner[0] if first and inner[0] is not None else 0
            return [made, *inner[1:]]
        if not traced:
            # elements of the view share a place: add up what arrives for them
            inner = self._of_view(strided.gather(grad, place, whole).copy(), False, [first, *wanted[1:]])
            rest = np.where(strided.outside(place, whole), grad, np.zeros((), grad.dtype))
            if first and inner[0] is not None:
                rest = rest + strided.scatter(np.broadcast_to(inner[0], place[0]), place, whole)
            return [rest, *inner[1:]]
        return self._traced(grad, first, wanted)

    def _by_steps(self, grad: Array, first: bool, wanted: Sequence[bool]) -> list[Any]:
        """The same where the view has other numbers than the base."""
        with recording(False):
            whole, part = self.part.blank()
            copy_(whole, Tensor(grad, self.dtype))
            inner = self._of_view(part.array.copy(), False, [first, *wanted[1:]])
            if first and inner[0] is not None:
                copy_(part, Tensor(inner[0], part.dtype))
            else:
                zero_(part)
        return [whole.array, *inner[1:]]

    def _of_view(self, grad: Any, traced: bool, wanted: Sequence[bool]) -> list[Any]:
        """The gradients by the operation on the view. Errors about them name this node."""
        try:
            return self.inner.gradients([grad], traced, wanted)
        except ProgramError as error:
            if error.code is Code.GRADIENT_SHAPE:
                raise misfit_error(self.name(), *error.names) from None
            raise

    def _traced(self, grad: Tensor, first: bool, wanted: Sequence[bool]) -> list[Any]:
        """The same with in-place writes that are recorded, which is how PyTorch's own function does it."""
        result, part = self.part.blank()
        copy_(result, grad)
        if state.dual is not None:
            state.dual.set_part(part, result, self.part)
        inner = self._of_view(CONTIGUOUS(part), True, [first, *wanted[1:]])
        if first and inner[0] is not None:
            copy_(part, inner[0])
        else:
            zero_(part)
        return [result, *inner[1:]]
