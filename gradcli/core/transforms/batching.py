"""How operations compute on batched tensors: on the whole batch where the record tells how, else on one sample after the other.

A batched tensor has a graph of its own at the level of the transforms that are inside of its vmap: nodes keep batched tensors, and
their rules compute with them. The tensors of all samples below belong to the graph outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph import in_place, namespaces
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, mark_view
from gradcli.core.kernels import Array
from gradcli.core.kernels.blocks import Deferred
from gradcli.core.ops import operators
from gradcli.core.ops.checks import wrap_dim, wrap_dims
from gradcli.core.ops.index.indexing import INDEX_BACK
from gradcli.core.ops.reduce.sum_mean import MEAN, MEAN_DIM, SUM, SUM_DIM
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.tensor import batched, dtypes
from gradcli.core.tensor.batched import BatchedArray, Level, innermost, needs_samples
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms import batched_errors
from gradcli.core.transforms.batched_functions import by_samples
from gradcli.core.transforms.batched_results import batched_name
from gradcli.core.transforms.batched_rules import by_rule
from gradcli.core.transforms.batched_samples import Outside, finish, front, is_of, joined_samples, sample, samples, tensor_of, varies, wrap
from gradcli.errors import ProgramError


class Mapped(Level):
    """A call of vmap that is running, and how operations compute within it."""

    __slots__ = ()

    levels, hides, number_of = staticmethod(batched.levels), staticmethod(batched.hides), staticmethod(operators.item)

    def on_batch(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The results of an operation record; None where no argument is batched."""
        return on_batch(op, args)

    def by_samples(self, run: Callable[..., Any], args: Sequence[Any], error: Any) -> Any:
        """The results of a function that asked for elements, by one sample after the other."""
        return by_samples(run, args, error)

    def of_batch(self, name: str, run: Callable[..., Any], args: Sequence[Any], error: ProgramError) -> ProgramError:
        """The error of a function, as PyTorch's operation on the whole batch raises it."""
        return batched_errors.of_batch(name, run, args, error)

    def by_rule(self, rule: Callable[..., Any], run: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The outputs of the vmap staticmethod `rule` of a custom function whose forward is `run`."""
        return by_rule(rule, run, args)

    def is_recorded_outside(self, tensor: Tensor) -> bool:
        """Whether a tensor has a history, or a tangent, outside of the vmap that it is batched in."""
        value = batched.below(tensor)
        return value is not tensor and (value.requires_grad or value.property_of("tangent") is not None)

    def lift(self, tensor: Tensor) -> Tensor:
        """A tensor as it stands within the level, with a history of its own there."""
        known = innermost((tensor,))
        return tensor if known is not None and (not known.open or known.number >= self.number) else wrap(tensor, None, self)

    def rewrite(self, tensor: Tensor, compute: Callable[[Any], Any], apply: Callable[..., Any]) -> Tensor:
        """An in-place operation on a batched tensor, of which `compute` gives the new values."""
        return rewrite(tensor, compute, apply)

    def write(self, tensor: Tensor, more: Sequence[Any], run: Callable[..., Any]) -> None:
        """An in-place operation on a batched tensor that needs none of the old values."""
        write(tensor, more, run)


# --- records ---


def on_batch(op: Op, args: tuple[Any, ...]) -> Any:
    """The results of a record; None where none of its arguments is batched."""
    level = innermost(args)
    if level is None:
        return None
    if not level.open:
        raise needs_samples()
    n = len(op.tensors)
    if isinstance(op.complex, Op) and isinstance(op, Pointwise) and dtypes.result_type(args[:n]).is_complex:
        return op.complex(*args)
    inputs: Sequence[Any] = args[0] if op.variadic else args[:n]
    attrs = args[1:] if op.variadic else args[n:]
    with Outside(level):
        values, dim = _values(op, inputs, attrs, level)
    outs = tuple([wrap(value, dim, level) for value in values])
    for out in outs if op.view else ():
        mark_view(out, inputs[0], op.grad_fn, "multi" if op.outputs else "default")
    finish(op, outs, inputs, op.kept_attrs(attrs, outs), level)
    return outs if len(outs) > 1 or op.outputs else outs[0]


def _values(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> tuple[Sequence[Tensor], int | None]:
    plain = not varies(attrs, level)
    if plain and not varies(inputs, level):
        given = [sample(value, level, 0) for value in inputs]
        made = op(given, *sample(attrs, level, 0)) if op.variadic else op(*given, *sample(attrs, level, 0))
        return made if isinstance(made, tuple) else (made,), None
    if op is CONTIGUOUS:  # the samples lie one behind the other
        return (op(front(inputs[0])),), 0
    if isinstance(op, Pointwise) or op.jvp in ("elementwise", "backward") or op.grad_fn in _OF_ELEMENTS:
        return _elementwise(op, inputs, attrs, level)
    if plain and op.view and is_of(inputs[0], level) and level.size:
        array: Any = inputs[0].array
        found = _batched_view(op)(array.value, array.dim, attrs)
        return (found if op.outputs else (found,)), 0
    if plain and level.size and op.grad_fn in _TRIANGLES:  # vectors are the rows of a matrix
        return (op(front(inputs[0]), *attrs),), 0
    if plain and level.size and op.grad_fn == "RollBackward0" and not attrs[1]:
        return (_rolled(op, front(inputs[0]), attrs[0]),), 0
    if plain and level.size and (op in _OF_ALL or op.grad_fn in _ALONG) and inputs[0].array.ndim:
        return (_along(op, inputs[0], attrs), 0)
    rows = []
    apart = list(zip(*(samples(value, level) for value in inputs), strict=True))
    for number, values in enumerate(apart):
        given = list(values)
        if op is INDEX_BACK and not varies(given[0], level):  # it writes into its first input
            given[0] = Tensor(given[0].array.copy(), given[0].dtype)
        made = op(given, *sample(attrs, level, number)) if op.variadic else op(*given, *sample(attrs, level, number))
        rows.append(made if isinstance(made, tuple) else (made,))
    joined = [joined_samples(column, level) for column in zip(*rows, strict=True)]
    if op.grad_fn == "IndexBackward0" and not plain and level.size:
        joined = [_indexed(joined[0], varies(inputs[0], level), attrs[0])]
    return joined, 0


def _indexed(whole: Tensor, is_batched: bool, key: Sequence[Any]) -> Tensor:
    """Elements at positions of the samples, laid out as PyTorch finds them.

    Dimensions in front of the positions are outside of those of a tensor that is the same for all samples, and inside of those of others,
    whose batch has positions too.
    """
    places = [d for d, item in enumerate(key) if not isinstance(item, slice)]
    first, last = places[0], places[-1]
    if not first or last - first >= len(places):
        return whole
    rank = max(key[d].ndim for d in places)
    before, after = range(1, 1 + first), range(1 + first, 1 + first + rank)
    order = [0, *after, *before] if is_batched else [*before, 0, *after]
    order += range(len(order), whole.array.ndim)
    permute = catalog.function("permute")
    made: Tensor = permute(CONTIGUOUS(permute(whole, order)), [order.index(d) for d in range(len(order))])
    return made


def _rolled(op: Op, whole: Tensor, shifts: tuple[int, ...]) -> Tensor:
    """A batch whose samples are rolled as vectors; numbers are rolled from sample to sample, as PyTorch does it."""
    shape = whole.array.shape
    flat = catalog.function("reshape")(whole, (shape[0], math.prod(shape[1:])) if len(shape) > 1 else (1, *shape))
    made: Tensor = catalog.function("reshape")(op(flat, shifts, (1,)), shape)
    return made


#: operations on the last two dimensions of the batch
_TRIANGLES = frozenset({"TrilBackward0", "TriuBackward0"})
#: operations along dimensions, which are others for the batch
_ALONG = frozenset(
    f"{name}Backward{number}"
    for number, names in (
        (0, "SafeSoftmax Glu Softmax LogSoftmax Nansum Logsumexp Max Min Amax Amin Sort Topk Kthvalue Mode"),
        (0, "Cumsum Cumprod Logcumsumexp Cummax Cummin Flip Roll"),
        (1, "Sum Mean Prod Sort Median Nanmedian"),
    )
    for name in names.split()
)
#: operations on all elements, and what they are for the batch: along all dimensions but one
_OF_ALL = {SUM: SUM_DIM, MEAN: MEAN_DIM}


def _along(op: Op, tensor: Tensor, attrs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The outputs of an operation along dimensions, of a batched tensor that has some, with the batch first."""
    rank = tensor.array.ndim
    if op in _OF_ALL:
        op, attrs = _OF_ALL[op], (None, False, *attrs)
    at = op.attrs.index("dims" if "dims" in op.attrs else "dim")
    dim = attrs[at]
    moved = wrap_dim(dim, rank) + 1 if isinstance(dim, int) else tuple(d + 1 for d in wrap_dims(dim, rank))
    made = op(front(tensor), *attrs[:at], moved, *attrs[at + 1 :])
    return made if isinstance(made, tuple) else (made,)


#: operations on the elements of one tensor, beside those that broadcast, for which PyTorch leaves the batch where it is
_OF_ELEMENTS = frozenset({"CloneBackward0", "ConjBackward0", "ToCopyBackward0", "RsubBackward1", "ClampBackward1"})


def _elementwise(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> tuple[Sequence[Tensor], int | None]:
    tensors = [value for value in inputs if type(value) is Tensor]
    data = [tensor_of(attr) if type(attr) is BatchedArray else attr for attr in attrs]
    shaped: list[Any] = [value.array for value in (*tensors, *data) if type(value) is Tensor]
    shaped += [value for value in data if isinstance(value, (np.ndarray, Deferred))]
    if len(shaped) == 1 and (len(inputs) == 1 or op.grad_fn in _OF_ELEMENTS):
        array: Any = tensors[0].array
        return (op(*[array.value if value is tensors[0] else value for value in inputs], *attrs),), array.dim
    rank = max(array.ndim for array in shaped)
    aligned = [front(value, rank) if is_of(value, level) else value for value in inputs]
    data = [front(value, rank).array if is_of(value, level) else attr for value, attr in zip(data, attrs, strict=True)]
    wanted = dtypes.result_type(tuple(inputs))
    if dtypes.result_type(tuple(aligned)) is not wanted:  # samples without dimensions count less than the batch of them does
        aligned = [
            namespaces.provided.to_dtype(value, wanted) if is_of(given, level) and not given.array.ndim else value
            for value, given in zip(aligned, inputs, strict=True)
        ]
    return (op(*aligned, *data),), 0


# --- views ---


def _spread(view: Array, array: Array, dim: int) -> Array:
    """The views that lie in all samples of an array as `view` does in the first."""
    shape = (array.shape[dim], *view.shape)
    strides = (array.strides[dim], *view.strides)
    made: Array = np.lib.stride_tricks.as_strided(view, shape, strides, writeable=view.flags.writeable)
    return made


@cache
def _batched_view(op: Op) -> Op:
    """The record of `op`, which makes views, for a whole batch."""

    def forward(array: Array, dim: int, attrs: tuple[Any, ...]) -> Any:
        found = op.forward(np.moveaxis(array, dim, 0)[0, ...], *attrs)
        return tuple(_spread(one, array, dim) for one in found) if op.outputs else _spread(found, array, dim)

    name = op.tensors[0]
    own = op.rules[name]
    assert own is not None

    def gradient(xp: Any, grad: Any, given: Any, shape: Any, dtype: Any) -> Any:
        dim, attrs = given
        outer = state.mapped
        inner = Mapped(shape[dim])
        state.mapped = (*outer, inner)
        before, state.transforms = state.transforms, (*state.transforms, "vmap")
        try:
            whole = [None if g is None else wrap(namespaces.as_tensor(g), 0, inner) for g in (grad if op.many else [grad])]
            known = {
                **dict(zip(op.attrs, attrs, strict=False)),
                "xp": xp,
                "grad": whole if op.many else whole[0],
                "grads": whole,
                "attrs": attrs,
                f"{name}_shape": (*shape[:dim], *shape[dim + 1 :]),
                f"{name}_dtype": dtype,
            }
            made = own.function(*[known[parameter] for parameter in own.parameters])
        finally:
            state.mapped, state.transforms = outer, before
        value = front(made) if is_of(made, inner) else namespaces.traced.broadcast_to(made, (shape[dim], *made.array.shape))
        return catalog.function("movedim")(value, 0, dim) if dim else value

    if op.many:
        rule = Rule(lambda xp, grads, attrs, input_shape, input_dtype: gradient(xp, grads, attrs, input_shape, input_dtype), "")
    else:
        rule = Rule(lambda xp, grad, attrs, input_shape, input_dtype: gradient(xp, grad, attrs, input_shape, input_dtype), "")
    return Op(
        batched_name(op.grad_fn),
        forward,
        "input",
        "dim attributes",
        outputs=" ".join(op.outputs),
        differentiable=op.differentiable,
        view=True,
        on_tensors=True,
        saved="",
        input=rule,
    )


# --- in place ---


def rewrite(tensor: Tensor, compute: Callable[[Any], Any], apply: Callable[..., Any]) -> Tensor:
    """An in-place operation on a batched tensor: the values of `compute`, which gets an alias, are written into those of all samples."""
    array: Any = tensor.array
    level: Level = array.level
    inside = state.enabled, state.within, state.transforms, state.mapped
    found: list[Tensor] = []

    def below(old: Tensor) -> Tensor:
        outside = state.enabled, state.within, state.transforms, state.mapped
        state.enabled, state.within, state.transforms, state.mapped = inside
        try:
            result = compute(BatchedArray(old, array.dim, level))
        finally:
            state.enabled, state.within, state.transforms, state.mapped = outside
        found.append(result)
        whole: Tensor = front(result, array.ndim) if is_of(result, level) else result
        if array.dim and whole is not result:
            whole = catalog.function("movedim")(whole, 0, array.dim)
        return whole

    with Outside(level):
        apply(array.value, below)
    return found[0]


def write(tensor: Tensor, more: Sequence[Any], run: Callable[..., Any]) -> None:
    """Let `run` write in place, from the further operands, into the values of a batched tensor: sample by sample."""
    array: Any = tensor.array
    level: Level = array.level
    with Outside(level):
        if array.dim is None:
            run(array.value, *sample(list(more), level, 0))
            return
        if run is in_place.copy_:
            run(front(tensor), *[front(value, array.ndim) if is_of(value, level) else value for value in more])
            return
        if run in (in_place.fill_, in_place.zero_):
            run(array.value, *more)
            return
        for number in range(level.size):
            run(SELECT(array.value, array.dim, number), *[sample(value, level, number) for value in more])
