"""torch.func.vmap: a function of one sample, applied to a batch. The function runs once, on batched tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.random import generator
from gradcli.core.random.batched import BatchedGenerator
from gradcli.core.tensor.batched import BatchedArray, Level
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.core.transforms import batched_samples, batching
from gradcli.core.transforms.pytree import LEAF, Spec, flatten, rebuild, spread
from gradcli.core.transforms.user_functions import call, name_of, qualified_name_of
from gradcli.errors import ProgramError, runtime_error, shape_error

DRAWN = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap "
    "or perform the randomness operation out of vmap"
)


def _value_error(text: str) -> ProgramError:
    return ProgramError("ValueError", text)


def vmap(func: Any, in_dims: Any = 0, out_dims: Any = 0, randomness: Any = "error", *, chunk_size: Any = None) -> Routine:
    """`vmap(f, in_dims, out_dims)(*args)`: f on each slice of the arguments along `in_dims` (None: the whole), results stacked."""
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise shape_error(f"vmap: chunk_size should be None or greater than 0. (got {formatted(chunk_size)})", "ValueError")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        batch = _batch(func, in_dims, args)
        if chunk_size is None or None in flatten(out_dims)[0]:
            return _mapped(func, batch, range(batch.size), kwargs, out_dims, randomness)
        starts = range(0, max(batch.size, 1), chunk_size)
        chunks = [range(start, min(start + chunk_size, batch.size)) for start in starts]
        before = generator.default.get_state()
        results = []
        for chunk in chunks:
            if randomness == "same":
                generator.default.set_state(before)
            results.append(flatten(_mapped(func, batch, chunk, kwargs, out_dims, randomness)))
        spec = results[0][1]
        parts = zip(*(leaves for leaves, _ in results), strict=True)
        joined = catalog.function("cat")
        return rebuild(spec, [joined(part, dim=dim) for part, dim in zip(parts, spread(out_dims, spec) or (), strict=True)])

    return Routine(wrapped, qualified_name_of(func))


def _mapped(func: Any, batch: _Batched, chosen: range, kwargs: dict[str, Any], out_dims: Any, randomness: str) -> Any:
    """The results of the samples with the numbers `chosen`."""
    count = len(chosen)
    given = batch.leaves
    if count != batch.size:
        part = catalog.function("narrow")
        given = [leaf if dim is None else part(leaf, dim, chosen.start, count) for leaf, dim in zip(given, batch.dims, strict=True)]
    source = generator.default
    before = source.get_state()
    drawing = None
    if randomness == "error" or (randomness == "different" and count):
        drawing = BatchedGenerator(source, count, runtime_error(DRAWN) if randomness == "error" else None)
    level = batching.Mapped(count, drawing)
    outer = state.mapped, state.transforms
    state.mapped, state.transforms, generator.default = (*state.mapped, level), (*state.transforms, "vmap"), drawing or source
    try:
        args = [leaf if dim is None else batched_samples.wrap(leaf, dim, level) for leaf, dim in zip(given, batch.dims, strict=True)]
        results, spec = flatten(call(func, rebuild(batch.spec, args), kwargs))
    finally:
        state.mapped, state.transforms = outer
        generator.default, level.open = source, False
        if not count:
            source.set_state(before)
    return _joined(func, results, spec, out_dims, level)


def check_randomness(randomness: Any) -> None:
    """Raise PyTorch's RuntimeError for another way to treat random numbers."""
    if randomness not in ("error", "different", "same"):
        raise runtime_error(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {formatted(randomness)}")


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for dim in flatten(out_dims)[0]:
        if dim is not None and not isinstance(dim, int):
            raise shape_error(
                f"vmap({name_of(func)}, ..., out_dims={formatted(out_dims)}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear.",
                "ValueError",
            )


def _shown(dims: Any) -> str:
    return shown(dims) if isinstance(dims, (tuple, list, dict)) else formatted(dims)


class _Batched(NamedTuple):
    """The arguments' leaves and shape, the dimension of each leaf to slice, and how many samples there are."""

    leaves: list[Any]
    spec: Spec
    dims: list[int | None]
    size: int


def _batch(func: Any, in_dims: Any, args: tuple[Any, ...]) -> _Batched:
    """What vmap maps over."""
    where = f"vmap({name_of(func)}, in_dims={_shown(in_dims)}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise _value_error(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {language.type_repr(in_dims)}."
        )
    if not args:
        raise _value_error(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    leaves, spec = flatten(args)
    dims = spread(in_dims, spec)
    if dims is None:
        raise _value_error(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1].listing()} but inputs has structure {spec.listing()}."
        )
    for leaf, dim in zip(leaves, dims, strict=True):
        _check_dim(where, leaf, dim)
    sizes = [leaf.array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise _value_error("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        text = f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        raise shape_error(text, "ValueError")
    return _Batched(leaves, spec, dims, sizes[0])


def _check_dim(where: str, leaf: Any, dim: Any) -> None:
    if dim is None:
        return
    if not isinstance(dim, int):
        raise shape_error(
            f"{where}: Got in_dim={formatted(dim)} for an input but in_dim must be either an integer dimension or None.", "ValueError"
        )
    if type(leaf) is not Tensor:
        raise _value_error(
            f"{where}: Got in_dim={formatted(dim)} for an input but the input is of type {language.type_repr(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    ndim = leaf.array.ndim
    if not -ndim <= dim < ndim:
        raise shape_error(
            f"{where}: Got in_dim={formatted(dim)} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim "
            f"to satisfy -{ndim} <= in_dim < {ndim}.",
            "ValueError",
        )


def _joined(func: Any, results: Sequence[Any], spec: Spec, out_dims: Any, level: Level) -> Any:
    """The results as one nest of tensors of all samples."""
    single = spec == LEAF and isinstance(out_dims, tuple) and len(out_dims) == 1
    dims = list(out_dims) if single else spread(out_dims, spec)
    if dims is None:
        raise _value_error(
            f"vmap({name_of(func)}, ..., out_dims={_shown(out_dims)})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1].listing()} but outputs has structure {spec.listing()}."
        )
    return rebuild(spec, [_whole(func, result, dim, level) for result, dim in zip(results, dims, strict=True)])


def _whole(func: Any, result: Any, dim: int | None, level: Level) -> Any:
    """The tensor of all samples that a result stands for, with the batch as dimension `dim`."""
    name = name_of(func)
    array: Any = result.array if type(result) is Tensor else None
    own = type(array) is BatchedArray and array.level is level
    if dim is None:
        if own and array.dim is not None:
            raise _value_error(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return array.value if own else result
    if array is None:
        raise _value_error(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {language.type_repr(result)}. Did you mean to set out_dims= "
            "to None for output?"
        )
    limits.check_elements(array.size * level.size, array.itemsize)
    ndim = array.ndim + 1
    if not -ndim <= dim < ndim:
        raise shape_error(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}], but got {dim})", "IndexError")
    if own and array.dim is not None:
        place, end = array.dim, dim % ndim
        return array.value if place == end else catalog.function("movedim")(array.value, place, end)
    value = array.value if own else result
    shape = list(value.array.shape)
    shape.insert(dim % ndim, level.size)
    return catalog.function("broadcast_to")(UNSQUEEZE(value, dim % ndim), tuple(shape))


VMAP = Routine(vmap)
