"""The vmap staticmethod of a custom function, which computes on the tensors of all samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.signature import language
from gradcli.core.tensor.batched import innermost
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.core.transforms.batched_samples import Outside, is_of, varies, wrap
from gradcli.core.transforms.pytree import flatten, rebuild, spread
from gradcli.errors import runtime_error

_TWO = (
    "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    "Got {} instead"
)
_OUT_DIMS = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={} to be compatible "
    "with the structure of `output`. out_dims has structure {} but output has structure {}. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)

VmapInfo = named_tuple("torch._functorch.autograd_function.VmapInfo", lambda *values: values, "batch_size", "randomness")


def by_rule(rule: Callable[..., Any], run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The outputs of `rule(info, in_dims, *args)`, batched again; those of `run(*args)` where no argument is batched."""
    leaves, spec = flatten(tuple(args))
    level = innermost(leaves)
    if level is None or not varies(leaves, level):
        return run(*args)
    arrays = [leaf.array if is_of(leaf, level) else None for leaf in leaves]
    values = [leaf if array is None else array.value for leaf, array in zip(leaves, arrays, strict=True)]
    dims = [None if array is None else array.dim for array in arrays]
    randomness = "same" if level.drawing is None else "different" if level.drawing.refusal is None else "error"
    with Outside(level):
        found = rule(VmapInfo((level.size, randomness)), rebuild(spec, dims), *rebuild(spec, values))
    if not isinstance(found, tuple):
        raise runtime_error(_TWO.format(f"a {language.type_repr(found)}"))
    if len(found) != 2:
        raise runtime_error(_TWO.format(f"{len(found)} returns"))
    outputs, shape = flatten(found[0])
    places = spread(found[1], shape)
    if places is None:
        raise runtime_error(_OUT_DIMS.format(formatted(found[1]), flatten(found[1])[1].listing(), shape.listing()))
    batched = [dim is not None and type(one) is Tensor for one, dim in zip(outputs, places, strict=True)]
    return rebuild(shape, [wrap(one, dim, level) if own else one for one, dim, own in zip(outputs, places, batched, strict=True)])
