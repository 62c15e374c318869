"""torch.func.vmap: a function of one sample, applied to a batch. The samples are run one after the other and stacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.functions import catalog
from gradcli.core.random import generator
from gradcli.core.random.batched import BatchedGenerator
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.core.transforms import batched_results
from gradcli.core.transforms.captured_writes import Batch
from gradcli.core.transforms.pytree import LEAF, Spec, flatten, rebuild, spread
from gradcli.core.transforms.user_functions import call, name_of, qualified_name_of, type_text
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
    samples: dict[int, tuple[list[Any], Spec]] = {}
    slices: dict[int, list[Any]] = {}
    source = generator.default
    before = source.get_state()
    written = Batch(count, randomness == "different", batch.leaves, batch.dims)
    refusal = runtime_error(DRAWN) if randomness == "error" else None
    batched = BatchedGenerator(source, count, refusal) if refusal is not None or (randomness == "different" and count) else None
    failed: ProgramError | None = None
    # the first sample comes last: what it prints has the values of all
    for at in (*range(1, count), 0):
        number = chosen[at] if count else 0
        sliced = [leaf if dim is None else _slice(leaf, dim, number) for leaf, dim in zip(batch.leaves, batch.dims, strict=True)]
        slices[at] = sliced
        written.begin(sliced)
        if batched is not None:
            batched.begin(at)
        try:
            with _on_sample(not at, batched or source):
                samples[at] = flatten(call(func, rebuild(batch.spec, sliced), kwargs, written))
        except ProgramError as error:
            if not at:
                raise
            failed = failed or error
        if (randomness == "same" and at) or not count:
            source.set_state(before)
    if failed is not None:
        raise failed
    whole = {
        id(slices[0][k]): (leaf, dim, [slices[at][k] for at in range(max(count, 1))])
        for k, (leaf, dim) in enumerate(zip(batch.leaves, batch.dims, strict=True))
        if count == batch.size
    }
    return _joined(func, [samples[at] for at in range(max(count, 1))], out_dims, count, whole)


@contextmanager
def _on_sample(last: bool, source: generator.Generator) -> Iterator[None]:
    """The state while the function runs on a sample and draws from `source`; unless it is the last, backward keeps what was saved."""
    outer = state.retaining, state.transforms, state.quiet, generator.default
    state.mapped += 1
    state.retaining, state.quiet = state.retaining or not last, state.quiet or not last
    state.transforms, generator.default = (*state.transforms, "vmap"), source
    try:
        yield
    finally:
        state.mapped -= 1
        state.retaining, state.transforms, state.quiet, generator.default = outer


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
            f"got: {type_text(in_dims)}."
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
            f"{where}: Got in_dim={formatted(dim)} for an input but the input is of type {type_text(leaf)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim"
        )
    ndim = leaf.array.ndim
    if not -ndim <= dim < ndim:
        raise shape_error(
            f"{where}: Got in_dim={formatted(dim)} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim "
            f"to satisfy -{ndim} <= in_dim < {ndim}.",
            "ValueError",
        )


def _slice(tensor: Tensor, dim: int, at: int) -> Tensor:
    """One sample; of an empty batch a sample of zeros, which only shows what shape results have."""
    if not tensor.array.shape[dim]:
        shape = list(tensor.array.shape)
        del shape[dim % len(shape)]
        return Tensor(np.zeros(shape, tensor.dtype.np), tensor.dtype)
    sample: Tensor = catalog.function("select")(tensor, dim, at)
    return sample


#: by the identity of the first sample of an argument: the argument, the dimension that is mapped, and all samples
_Whole = dict[int, tuple[Any, int | None, list[Any]]]


def _joined(func: Any, samples: Sequence[tuple[list[Any], Spec]], out_dims: Any, count: int, whole: _Whole) -> Any:
    """The results of all samples as one nest of batched tensors."""
    spec = samples[0][1]
    single = spec == LEAF and isinstance(out_dims, tuple) and len(out_dims) == 1
    dims = list(out_dims) if single else spread(out_dims, spec)
    if dims is None:
        raise _value_error(
            f"vmap({name_of(func)}, ..., out_dims={_shown(out_dims)})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1].listing()} but outputs has structure {spec.listing()}."
        )
    columns = [[leaves[k] for leaves, _ in samples] for k in range(spec.leaves)]
    return rebuild(spec, [_stacked(func, column, dim, count, whole) for column, dim in zip(columns, dims, strict=True)])


def _stacked(func: Any, values: list[Any], dim: int | None, count: int, whole: _Whole) -> Any:
    name = name_of(func)
    first = values[0]
    if dim is None:
        # the same object every time depends on no sample
        if type(first) is Tensor and any(v is not first for v in values):
            raise _value_error(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return first
    if type(first) is not Tensor:
        raise _value_error(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type_text(first)}. Did you mean to set out_dims= to "
            "None for output?"
        )
    limits.check_elements(first.array.size * count, first.array.itemsize)
    ndim = first.array.ndim + 1
    if not -ndim <= dim < ndim:
        raise shape_error(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}], but got {dim})", "IndexError")
    if any(v.requires_grad for v in values):
        argument, mapped, own = whole.get(id(first), (None, None, []))
        if mapped is not None and all(value is sample for value, sample in zip(values, own, strict=True)):
            return batched_results.moved(argument, mapped, dim)
    if not count:
        shape = list(first.array.shape)
        shape.insert(dim % ndim, 0)
        return Tensor(np.zeros(shape, first.dtype.np), first.dtype)
    given = [(own[0].grad_fn, mapped % argument.array.ndim) for argument, mapped, own in whole.values() if mapped is not None]
    nodes = {node: dim for node, dim in given if node is not None}
    return batched_results.joined(values[:count], dim, batched_results.place_of_batch(first, nodes))


VMAP = Routine(vmap)
