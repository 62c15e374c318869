"""In-place writes: what PyTorch checks, the version bump, and the history of the tensor and of the views around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core import dtypes
from gradcli.core.dtypes import DType
from gradcli.core.graph import Edge, Node, state
from gradcli.core.mode import recording
from gradcli.core.record import Op, Rule
from gradcli.core.tensor import Array, Tensor
from gradcli.errors import ProgramError


def check_writable(tensor: Tensor) -> None:
    """Raise PyTorch's error where `tensor` may not be written to in place."""
    if tensor.property_of("inference") and not state.inference:
        raise ProgramError(
            "RuntimeError",
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
        )
    if not state.enabled:
        return
    if tensor.requires_grad and tensor.node is None and tensor.view is None:
        raise ProgramError("RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation.")
    view = tensor.view
    if view is None:
        return
    base = view.base
    if base.requires_grad and base.node is None:
        raise ProgramError("RuntimeError", "a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if view.creation == "multi" and (tensor.requires_grad or base.requires_grad):
        raise ProgramError(
            "RuntimeError",
            f"Output {tensor.output_nr} of {view.source} is a view and is being modified inplace. This view is the output of a "
            "function that returns multiple views. Such functions do not allow the output views to be modified inplace. You "
            "should replace the inplace operation by an out-of-place one.",
        )
    if view.creation == "no_grad" and base.requires_grad:
        raise ProgramError(
            "RuntimeError",
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
            "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
            "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "
            "to be tracked).",
        )


def _check_memory(tensor: Tensor) -> None:
    array = tensor.array
    if any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        raise ProgramError(
            "RuntimeError",
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
        )


def _check_fits(tensor: Tensor, result: Tensor) -> None:
    if result.array.shape != tensor.array.shape:
        raise ProgramError(
            "RuntimeError",
            f"output with shape {list(tensor.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}",
        )
    if result.dtype.category > tensor.dtype.category:
        raise ProgramError(
            "RuntimeError",
            f"result type {result.dtype.torch_name} can't be cast to the desired output type {tensor.dtype.torch_name}",
        )


def _store(array: Array, values: Any, dtype: DType) -> None:
    """Write values, converted as torch converts."""
    if isinstance(values, np.ndarray) and values.dtype is not array.dtype:
        values = dtypes.cast(values, dtype)
    array[...] = values


def apply(tensor: Tensor, name: str, compute: Callable[[Tensor], Any]) -> Tensor:
    """`tensor.name_(...)`: `compute` makes the new values from an alias of the tensor, out of place.

    The alias carries the tensor's place in the graph and a copy of its old values where the operation keeps them.
    """
    check_writable(tensor)
    old = _alias(tensor)
    result: Tensor = compute(old)
    _check_fits(tensor, result)
    _check_memory(tensor)
    node = result.node
    if node is not None:
        _keep_old_values(node, old)
    _store(tensor.array, result.array, tensor.dtype)
    tensor.counter().count += 1
    if node is not None:
        _rename_outputs(node, tensor)
        set_history(tensor, node)
    elif state.enabled and tensor.requires_grad:
        set_history(tensor, None)
    return tensor


def _alias(tensor: Tensor) -> Tensor:
    """The tensor as an input: same values and edge, without being the tensor."""
    made = Tensor(tensor.array, tensor.dtype)
    made.requires_grad = tensor.requires_grad
    made.node, made.output_nr = tensor.grad_fn, tensor.output_nr
    made.accumulator = tensor.accumulator
    return made


def _keep_old_values(node: Any, old: Tensor) -> None:
    """A node that keeps the written tensor as input needs its values from before."""
    saved = getattr(node, "saved", None)
    if saved is not None and any(s is old for s in saved):
        old.array = old.array.copy()


def _rename_outputs(node: Any, tensor: Tensor) -> None:
    """A node that keeps its output keeps the written tensor, at the version after the write."""
    for kept in getattr(node, "kept_out", None) or ():
        kept.array = tensor.array
        kept.version = tensor.counter()
        kept.expected = kept.version.count


def set_history(tensor: Tensor, node: Node | None) -> None:
    """Let `node` be what made the present values of `tensor` (None: values without history)."""
    view = tensor.view
    if view is None:
        if node is None:
            return
        tensor.node, tensor.output_nr, tensor.requires_grad = node, 0, True
        _adopt_views(tensor)
        return
    base = view.base
    if node is None and not base.requires_grad:
        return
    base_edge: Edge = base.edge()
    slices = CopySlices(base_edge, base, tensor, node)
    base.node, base.output_nr, base.requires_grad = slices, 0, True
    _adopt_views(base)
    refresh_view(tensor)


def _adopt_views(base: Tensor) -> None:
    """Views taken before the base needed gradients now need them too."""
    version = base.version
    if version is None or not version.views:
        return
    for reference in version.views:
        view = reference()
        if view is not None and view.view is not None and view.view.base is base and not view.requires_grad and view.dtype.is_floating_point:
            view.requires_grad = True
            refresh_view(view)
    version.views = []


def _geometry(array: Array, base: Array) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides (bytes) and offset (bytes) of a view within its base's memory."""
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return array.shape, array.strides, offset


def strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """The view of `array`'s memory with the given geometry; `array` must own or begin its buffer."""
    return np.ndarray(shape, array.dtype, array, offset, strides)


def _scatter_strided(grad: Array, shape: Any, strides: Any, offset: int, base_shape: Any, base_strides: Any) -> Array:
    base = _empty_like_layout(base_shape, base_strides, grad.dtype)
    base[...] = 0
    view = strided(base, shape, strides, offset)
    np.add.at(view, tuple(np.indices(shape, sparse=True)), grad) if 0 in strides else view.__setitem__(..., grad)
    return base


def _empty_like_layout(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
    """An array with the axis order that `strides` has, dense."""
    order = sorted(range(len(shape)), key=lambda i: -abs(strides[i]))
    made = np.empty([shape[i] for i in order], dtype)
    back = [order.index(i) for i in range(len(shape))]
    return made.transpose(back) if shape else made


AS_STRIDED = Op(
    "AsStridedBackward0",
    strided,
    "input",
    "size stride offset base_shape base_strides",
    view=True,
    input=Rule(
        lambda xp, grad, size, stride, offset, base_shape, base_strides: xp.call(
            STRIDED_SCATTER, grad, size, stride, offset, base_shape, base_strides
        ),
        "grad placed at the view's elements, 0 elsewhere",
    ),
)
STRIDED_SCATTER = Op(
    "AsStridedScatterBackward0",
    _scatter_strided,
    "input",
    "size stride offset base_shape base_strides",
    input=Rule(lambda xp, grad, size, stride, offset: xp.call(GATHER_STRIDED, grad, size, stride, offset), "the view's elements of grad"),
)
GATHER_STRIDED = Op(
    "AsStridedBackward0",
    lambda array, size, stride, offset: strided(np.ascontiguousarray(array), size, stride, offset).copy(),
    "input",
    "size stride offset",
    input=Rule(lambda grad: grad, "grad"),
)


def refresh_view(tensor: Tensor) -> None:
    """Give a view of a base that was written to a fresh node: AsStridedBackward0 of the base."""
    view = tensor.view
    assert view is not None and tensor.version is not None
    view.version = tensor.version.count
    base = view.base
    if not base.requires_grad:
        return
    shape, strides, offset = _geometry(tensor.array, base.array)
    probe = Tensor(tensor.array, tensor.dtype)
    with recording(True):
        AS_STRIDED.record(probe, (base,), (shape, strides, offset, base.array.shape, base.array.strides))
    tensor.node, tensor.output_nr, tensor.requires_grad = probe.node, 0, True


class CopySlices(Node):
    """The node of a base after one of its views was written: the gradient of the written part goes through `inner`."""

    __slots__ = ("inner", "size", "strides", "offset", "base_strides", "where")

    def __init__(self, base_edge: Edge, base: Tensor, written: Tensor, inner: Node | None) -> None:
        # the first edge is the base before the write, the others are those of the operation but for its first
        rest = () if inner is None else inner.edges[1:]
        super().__init__((base_edge, *rest), base.array.shape, base.dtype)
        self.inner = inner
        self.size, self.strides, self.offset = _geometry(written.array, base.array)
        self.base_strides = base.array.strides

    @property
    def type_name(self) -> str:
        return "CopySlices"

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        if self.inner is not None:
            self.inner.release()

    def gradients(self, grads: list[Any], traced: bool, wanted: list[bool]) -> list[Any]:
        from gradcli.core import namespace

        grad = namespace.as_tensor(grads[0])
        with recording(traced):
            dense = _empty_like_layout(self.shape, self.base_strides, grad.dtype.np)
            dense[...] = grad.array
            part = GATHER_STRIDED(grad, self.size, self.strides, self.offset)
            mask = np.ones(self.shape, bool)
            layout = _empty_like_layout(self.shape, self.base_strides, np.dtype(bool))
            layout[...] = mask
            strided(layout, self.size, tuple(s // self.dtype.np.itemsize for s in self.strides), self.offset // self.dtype.np.itemsize)[...] = False
            rest = namespace.traced.where(layout, grad, 0.0)
            if self.inner is None:
                return [rest.array if not traced else rest]
            inner_wanted = [True, *wanted[1:]]
            first = self.inner.edges[0][0] is not None
            inner = self.inner.gradients([part if traced else part.array], traced, inner_wanted if first else [False, *wanted[1:]])
            result: list[Any] = [rest if traced else rest.array]
            if first and inner[0] is not None:
                back = STRIDED_SCATTER(
                    namespace.as_tensor(inner[0]), self.size, self.strides, self.offset, self.shape, self.base_strides
                )
                total = rest + back
                result = [total if traced else total.array]
            return result + list(inner[1:])


def write_out(out: Tensor, result: Any) -> Tensor:
    """`out=`: write a result into a tensor, resized where its shape differs."""
    if result.dtype.category > out.dtype.category:
        raise ProgramError(
            "RuntimeError",
            f"result type {result.dtype.torch_name} can't be cast to the desired output type {out.dtype.torch_name}",
        )
    if out.array.shape != result.array.shape:
        out.array = np.empty(result.array.shape, out.dtype.np)
    _store(out.array, result.array, out.dtype)
    out.counter().count += 1
    return out


def copy_(tensor: Tensor, source: Tensor) -> Tensor:
    """`tensor.copy_(source)`: broadcast and convert; gradients go to the source."""
    check_writable(tensor)
    _check_memory(tensor)
    try:
        values = np.broadcast_to(source.array, tensor.array.shape)
    except ValueError:
        from gradcli.core.record import broadcast_error

        raise broadcast_error(tensor.array.shape, source.array.shape) from None
    if np.may_share_memory(values, tensor.array):
        values = values.copy()
    _store(tensor.array, values, tensor.dtype)
    tensor.counter().count += 1
    if state.enabled and (tensor.requires_grad or source.requires_grad) and tensor.dtype.is_floating_point:
        probe = Tensor(tensor.array, tensor.dtype)
        COPY_INTO.record(probe, (_alias(tensor), source), ())
        set_history(tensor, probe.node)
    return tensor


COPY_INTO = Op(
    "CopyBackwards",
    lambda target, source: source,
    "input source",
    full_name="torch::autograd::CopyBackwards",
    input=Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad"),
    source=Rule(lambda grad: grad, "grad"),
)


def fill_(tensor: Tensor, value: Any) -> Tensor:
    """`tensor.fill_(value)` for a number or a 0-d tensor."""
    if type(value) is Tensor:
        if value.array.ndim:
            raise ProgramError(
                "RuntimeError", f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions."
            )
        return _overwrite(tensor, value.array, FILL_TENSOR, (value,))
    from gradcli.core.signature import scalar_of

    return _overwrite(tensor, scalar_of(value, tensor.dtype), FILL, ())


def zero_(tensor: Tensor) -> Tensor:
    """`tensor.zero_()`."""
    return _overwrite(tensor, 0, ZERO, ())


def _overwrite(tensor: Tensor, value: Any, op: Op, more: tuple[Tensor, ...]) -> Tensor:
    check_writable(tensor)
    _check_memory(tensor)
    before = _alias(tensor)
    _store(tensor.array, value, tensor.dtype)
    tensor.counter().count += 1
    if state.enabled and tensor.dtype.is_floating_point:
        probe = Tensor(tensor.array, tensor.dtype)
        op.record(probe, (before, *more), ())
        if probe.node is not None:
            set_history(tensor, probe.node)
    return tensor


_ZERO_RULE = Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad")
ZERO = Op("ZeroBackward0", lambda a: a * 0, "input", input=_ZERO_RULE)
FILL = Op("FillBackward2", lambda a: a, "input", input=_ZERO_RULE)
FILL_TENSOR = Op("FillBackward3", lambda a, v: a, "input value", input=_ZERO_RULE, value=Rule(lambda xp, grad: xp.sum(grad), "sum(grad)"))


def overwrite(tensor: Tensor, values: Array, grad_fn: str) -> Tensor:
    """Replace the values by ones that depend on nothing (random draws); `grad_fn` names the node, whose gradient is 0."""
    return _overwrite(tensor, values, Op(grad_fn, lambda a: a, "input", input=_ZERO_RULE), ())
