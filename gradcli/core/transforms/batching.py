"""How operations compute on batched tensors: on the whole batch where the record tells how, else on one sample after the other.

A batched tensor has a graph of its own at the level of the transforms that are inside of its vmap: nodes keep batched tensors, and
their rules compute with them. The tensors of all samples below belong to the graph outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.graph import in_place, namespaces
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule, mark_view
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import wrap_dim, wrap_dims
from gradcli.core.ops.index.indexing import INDEX_BACK
from gradcli.core.ops.reduce.sum_mean import MEAN, MEAN_DIM, SUM, SUM_DIM
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import batched, dtypes
from gradcli.core.tensor.batched import BatchedArray, Level, NeedsSamples, innermost
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.transforms.batched_results import batched_name, joined
from gradcli.core.transforms.pytree import flatten, rebuild
from gradcli.core.transforms.torch_func import Level as GradLevel
from gradcli.core.transforms.torch_func import pushed


class Outside:
    """What is in force while the values of a level's batched tensors are computed with: the transforms that the level is inside of."""

    __slots__ = ("before", "level")

    def __init__(self, level: Level) -> None:
        self.level = level
        self.before: tuple[Any, ...] = ()

    def __enter__(self) -> None:
        level = self.level
        self.before = state.enabled, state.within, state.transforms, state.mapped
        for inner in (state.within or {"levels": ()})["levels"]:
            if inner.number > level.number and inner.recorded is not None:  # it records whether or not the level is to be recorded
                state.enabled = inner.recorded
                break
        state.within = level.within
        state.transforms = state.transforms[: max(level.number, 1) - 1]
        state.mapped = tuple(other for other in state.mapped if other.number < level.number)

    def __exit__(self, *_: object) -> None:
        state.enabled, state.within, state.transforms, state.mapped = self.before


class Mapped(Level):
    """A call of vmap that is running, and how operations compute within it."""

    __slots__ = ()

    levels, hides = staticmethod(batched.levels), staticmethod(batched.hides)

    def on_batch(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The results of an operation record; None where no argument is batched."""
        return on_batch(op, args)

    def by_samples(self, run: Callable[..., Any], args: Sequence[Any], error: Any) -> Any:
        """The results of a function that asked for elements, by one sample after the other."""
        return by_samples(run, args, error)

    def lift(self, tensor: Tensor) -> Tensor:
        """A tensor as it stands within the level, with a history of its own there."""
        known = innermost((tensor,))
        return tensor if known is not None and known.number >= self.number else wrap(tensor, None, self)

    def rewrite(self, tensor: Tensor, compute: Callable[[Any], Any], apply: Callable[..., Any]) -> Tensor:
        """An in-place operation on a batched tensor, of which `compute` gives the new values."""
        return rewrite(tensor, compute, apply)

    def write(self, tensor: Tensor, more: Sequence[Any], run: Callable[..., Any]) -> None:
        """An in-place operation on a batched tensor that needs none of the old values."""
        write(tensor, more, run)


# --- batched tensors and their samples ---


def wrap(value: Tensor, dim: int | None, level: Any) -> Tensor:
    """The tensor that the function inside sees of `value`, which has the batch in dimension `dim`."""
    return Tensor(BatchedArray(value, dim, level), value.dtype)  # type: ignore[arg-type]


def _tensor(array: Any) -> Tensor:
    return Tensor(array, dtypes.of(array.dtype))


def _is_of(value: Any, level: Level) -> bool:
    return type(value) is Tensor and value.batch is not None and value.batch.level is level


def front(tensor: Tensor, rank: int | None = None) -> Tensor:
    """The values of a batched tensor with the batch first, and `rank` further dimensions."""
    array: Any = tensor.array
    value: Tensor = array.value
    if array.dim is None:
        return value
    if array.dim:
        value = catalog.function("movedim")(value, array.dim, 0)
    for _ in range(0 if rank is None else rank - array.ndim):
        value = UNSQUEEZE(value, 1)
    return value


def sample(value: Any, level: Level, number: int) -> Any:
    """One sample of a batched tensor or array, and of those in lists and tuples; of an empty batch a sample of zeros."""
    kind: Any = type(value)
    if kind is BatchedArray:
        return sample(_tensor(value), level, number).array if value.level is level else value
    if kind is list or kind is tuple:
        return kind([sample(one, level, number) for one in value])
    if not _is_of(value, level):
        return value
    array: Any = value.array
    if array.dim is None:
        return array.value
    if not level.size:
        return Tensor(np.zeros(array.shape, value.dtype.np), value.dtype)
    return SELECT(array.value, array.dim, number)


def _samples(value: Any, level: Level) -> Sequence[Any]:
    """All samples of a batched tensor; the value itself for each, where it is none."""
    count = max(level.size, 1)
    if not _is_of(value, level) or value.batch.dim is None or not level.size:
        return [sample(value, level, 0)] * count
    whole: Tensor = value.batch.value
    if whole.batch is not None or state.dual is not None or (whole.requires_grad and state.enabled):
        return [sample(value, level, number) for number in range(count)]
    arrays = np.moveaxis(whole.array, value.batch.dim, 0)
    return [Tensor(arrays[number, ...], whole.dtype) for number in range(count)]


def _varies(value: Any, level: Level) -> bool:
    """Whether a value is batched at the level, or has parts that are."""
    if isinstance(value, (list, tuple)):
        return any(_varies(one, level) for one in value)
    array = value.array if type(value) is Tensor else value
    return type(array) is BatchedArray and array.level is level and array.dim is not None


def _together(results: Sequence[Any], level: Level, error: NeedsSamples) -> Any:
    """The results of all samples as batched tensors."""
    first = results[0]
    if type(first) is Tensor:
        if len(results) > 1 and all(result is first for result in results):
            return first
        return wrap(joined_samples(results, level), 0, level)
    if isinstance(first, (tuple, list)):
        parts = [_together(column, level, error) for column in zip(*results, strict=True)]
        return type(first)(parts)
    if any(type(result) is not type(first) or result != first for result in results):
        raise error
    return first


def joined_samples(results: Sequence[Tensor], level: Level) -> Tensor:
    """The results of all samples, with the batch first; of an empty batch, whose only sample is one of zeros, no elements."""
    if not level.size:
        return Tensor(np.zeros((0, *results[0].array.shape), results[0].dtype.np), results[0].dtype)
    return joined(results)


# --- records ---


def on_batch(op: Op, args: tuple[Any, ...]) -> Any:
    """The results of a record; None where none of its arguments is batched."""
    level = innermost(args)
    if level is None:
        return None
    if level.number < 0:  # the call of vmap has ended
        raise NeedsSamples
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
    _finish(op, outs, inputs, op.kept_attrs(attrs, outs), level)
    return outs if len(outs) > 1 or op.outputs else outs[0]


def _finish(op: Op, outs: tuple[Tensor, ...], inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> None:
    """Give batched results the node and the tangents that they have within the level."""
    several = outs if op.outputs else ()
    if state.enabled:
        op.record(outs[0], inputs, attrs, several, [value if _is_of(value, level) else None for value in inputs])
    if state.dual is not level.dual and state.dual is not None:
        state.dual.push(op, inputs, attrs, several or outs[:1])


def _values(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> tuple[Sequence[Tensor], int | None]:
    plain = not _varies(attrs, level)
    if plain and not _varies(inputs, level):
        given = [sample(value, level, 0) for value in inputs]
        made = op(given, *sample(attrs, level, 0)) if op.variadic else op(*given, *sample(attrs, level, 0))
        return made if isinstance(made, tuple) else (made,), None
    if isinstance(op, Pointwise) or op.jvp == "elementwise" or op.grad_fn in _OF_ELEMENTS:
        return _elementwise(op, inputs, attrs, level)
    if plain and op.view and _is_of(inputs[0], level) and level.size:
        array: Any = inputs[0].array
        found = _batched_view(op)(array.value, array.dim, attrs)
        return (found if op.outputs else (found,)), 0
    if plain and level.size and (op in _OF_ALL or op.grad_fn in _ALONG) and inputs[0].array.ndim:
        return (_along(op, inputs[0], attrs), 0)
    rows = []
    apart = list(zip(*(_samples(value, level) for value in inputs), strict=True))
    for number, values in enumerate(apart):
        given = list(values)
        if op is INDEX_BACK and not _varies(given[0], level):  # it writes into its first input
            given[0] = Tensor(given[0].array.copy(), given[0].dtype)
        made = op(given, *sample(attrs, level, number)) if op.variadic else op(*given, *sample(attrs, level, number))
        rows.append(made if isinstance(made, tuple) else (made,))
    return [joined_samples(column, level) for column in zip(*rows, strict=True)], 0


#: operations along dimensions, which are others for the batch
_ALONG = frozenset(
    f"{name}Backward{number}"
    for number, names in (
        (0, "SafeSoftmax Glu Softmax LogSoftmax Nansum Logsumexp Max Min Amax Amin Sort Topk Kthvalue Mode"),
        (0, "Cumsum Cumprod Logcumsumexp Cummax Cummin"),
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
    at = op.attrs.index("dim")
    dim = attrs[at]
    moved = wrap_dim(dim, rank) + 1 if isinstance(dim, int) else tuple(d + 1 for d in wrap_dims(dim, rank))
    made = op(front(tensor), *attrs[:at], moved, *attrs[at + 1 :])
    return made if isinstance(made, tuple) else (made,)


#: operations on the elements of one tensor, beside those that broadcast, for which PyTorch leaves the batch where it is
_OF_ELEMENTS = frozenset({"CloneBackward0", "ToCopyBackward0", "RsubBackward1", "ClampBackward1"})


def _elementwise(op: Op, inputs: Sequence[Any], attrs: tuple[Any, ...], level: Level) -> tuple[Sequence[Tensor], int | None]:
    tensors = [value for value in inputs if type(value) is Tensor]
    data = [_tensor(attr) if type(attr) is BatchedArray else attr for attr in attrs]
    if not _varies(attrs, level) and (len(inputs) == 1 or (len(tensors) == 1 and op.grad_fn in _OF_ELEMENTS)):
        array: Any = tensors[0].array
        return (op(*[array.value if value is tensors[0] else value for value in inputs], *attrs),), array.dim
    rank = max(value.array.ndim for value in (*tensors, *data) if type(value) is Tensor)
    aligned = [front(value, rank) if _is_of(value, level) else value for value in inputs]
    data = [front(value, rank).array if _is_of(value, level) else attr for value, attr in zip(data, attrs, strict=True)]
    wanted = dtypes.result_type(tuple(inputs))
    if dtypes.result_type(tuple(aligned)) is not wanted:  # samples without dimensions count less than the batch of them does
        aligned = [
            namespaces.provided.to_dtype(value, wanted) if _is_of(given, level) and not given.array.ndim else value
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
        value = front(made) if _is_of(made, inner) else namespaces.traced.broadcast_to(made, (shape[dim], *made.array.shape))
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


# --- functions that need samples ---


def by_samples(run: Callable[..., Any], args: Sequence[Any], error: NeedsSamples) -> Any:
    """The results of a function that asks for elements, by one sample after the other. Raises the error where there are none."""
    level = innermost(args)
    if level is None and state.mapped and state.mapped[-1].drawing is not None:
        level = state.mapped[-1]
    if level is None or level.number < 0:
        raise error
    leaves, spec = flatten(tuple(args))
    if any(isinstance(leaf, Generator) for leaf in leaves):
        raise error
    if any(_has_history(leaf, level) for leaf in leaves):
        return _with_history(run, leaves, spec, level, error)
    count = max(level.size, 1) if _varies(leaves, level) or level.drawing is not None else 1
    rows, given = [], []
    drawing, before = level.drawing, generator.default.get_state()
    with Outside(level):
        try:
            for number in range(count):
                if drawing is None:
                    generator.default.set_state(before)  # all samples draw the same numbers
                else:
                    drawing.begin(number)
                given.append([sample(leaf, level, number) for leaf in leaves])
                rows.append(mapping(run, rebuild(spec, given[-1])))
        finally:
            if drawing is not None:
                drawing.end()
        written = next((leaf for leaf, value in zip(leaves, given[0], strict=True) if type(value) is Tensor and rows[0] is value), None)
        if written is not None:  # in place
            return written
        found = _together(rows, level, error)
    for leaf in flatten(found)[0]:
        if type(leaf) is Tensor:
            leaf.meta = state.within
    return found


def mapping(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """`run(*args)`, by one sample after the other where it asks for elements."""
    try:
        return run(*args)
    except NeedsSamples as error:
        return by_samples(run, args, error)


def _has_history(value: Any, level: Level) -> bool:
    """Whether a tensor has a history within the level, which its samples have not."""
    if not _is_of(value, level):
        return False
    return (value.requires_grad and state.enabled) or (state.dual is not None and state.dual.tangent_of(value) is not None)


def _with_history(run: Callable[..., Any], leaves: list[Any], spec: Any, level: Level, error: NeedsSamples) -> Any:
    """The results of a function by samples, with a node and tangents of their own: the function runs again for its derivatives."""
    places = [k for k, leaf in enumerate(leaves) if _has_history(leaf, level)]
    drawing, before = level.drawing, generator.default.get_state()
    plain = [Tensor(leaf.array, leaf.dtype) if k in places else leaf for k, leaf in enumerate(leaves)]
    result = by_samples(lambda *values: run(*rebuild(spec, values)), plain, error)
    outs = _differentiable(result)
    if not outs:
        return result
    draws = None if drawing is None else drawing.before

    def derived(derive: Callable[..., Any], tensors: Sequence[Tensor], more: Sequence[Any]) -> Any:
        """What `derive` gives for each sample of the function of the tensors, which draws the same numbers again."""
        given = list(leaves)
        for k, tensor in zip(places, tensors, strict=True):
            given[k] = tensor

        def of_sample(*values: Any) -> Any:
            own = list(values[: len(leaves)])

            def of(*points: Tensor) -> tuple[Tensor, ...]:
                for k, point in zip(places, points, strict=True):
                    own[k] = point
                return _differentiable(run(*rebuild(spec, own)))

            after = generator.default.get_state()
            if drawing is None:
                generator.default.set_state(before)
            else:
                drawing.drawn = draws
            try:
                return derive(of, [own[k] for k in places], values[len(leaves) :])
            finally:
                if drawing is None:
                    generator.default.set_state(after)

        return by_samples(of_sample, (*given, *more), error)

    if len(outs) > 1:
        names = " ".join(f"out{k}" for k in range(len(outs)))
        rule = Rule(lambda grads, tensors: derived(_pull, tensors, grads), "")
    else:
        names, rule = "", Rule(lambda grad, tensors: derived(_pull, tensors, [grad]), "")
    op = Op(
        "NotImplemented",
        run,
        "tensors",
        outputs=names,
        differentiable=len(outs),
        variadic=True,
        saved="",
        jvp=lambda xp, tensors, attrs, tangents, outputs: tuple(derived(_push, tensors, tangents)),
        tensors=rule,
    )
    _finish(op, outs, [leaves[k] for k in places], (), level)
    return result


def _differentiable(results: Any) -> tuple[Tensor, ...]:
    return tuple([leaf for leaf in flatten(results)[0] if type(leaf) is Tensor and leaf.dtype.is_differentiable])


def _pull(of: Callable[..., Any], tensors: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Tensor]:
    """v^T J of one sample."""
    level = GradLevel()
    with level:
        points = [level.stand_in(tensor) for tensor in tensors]
        outputs = of(*points)
        graph = any(level.matters_outside(out) for out in (*outputs, *grads) if out is not None)
        pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True) if grad is not None]
        found = level.gradients([out for out, _ in pairs], points, [grad for _, grad in pairs], keep=False, graph=graph)
        return [level.leave(gradient) for gradient in found]


def _push(of: Callable[..., Any], tensors: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> list[Tensor]:
    """J u of one sample."""
    level = GradLevel("jvp")
    with level:
        points = [level.stand_in(tensor) for tensor in tensors]
        outputs = of(*points)
        directions = [zeros_like(tensor) if tangent is None else tangent for tensor, tangent in zip(tensors, tangents, strict=True)]
        graph = any(level.matters_outside(tensor) for tensor in (*outputs, *directions))
        moved = [pushed(level, out, points, directions, graph) for out in outputs]
        return [zeros_like(out) if m is None else level.leave(m) for out, m in zip(outputs, moved, strict=True)]


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
        whole: Tensor = front(result, array.ndim) if _is_of(result, level) else result
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
            run(front(tensor), *[front(value, array.ndim) if _is_of(value, level) else value for value in more])
            return
        if run in (in_place.fill_, in_place.zero_):
            run(array.value, *more)
            return
        for number in range(level.size):
            run(SELECT(array.value, array.dim, number), *[sample(value, level, number) for value in more])
