"""PyTorch's errors for wrong calls within vmap: those of the operation on the whole batch, which counts the dimension of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.tensor.batched import Level, innermost
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.transforms.batched_samples import Outside, front, is_of, varies
from gradcli.errors import Code, ProgramError, shape_error

#: the arguments of a call for the whole batch, or None where it has been made already
_Form = Callable[[str, Level, Sequence[Any]], "Sequence[Any] | None"]


def of_batch(name: str, run: Callable[..., Any], args: Sequence[Any], error: ProgramError) -> ProgramError:
    """The error of a call with samples, as the same call with the batches raises it; `error` itself where that raises none."""
    form, level = _FORMS.get(name), innermost(args)
    if form is None or level is None or not level.open or not varies(list(args), level):
        return error
    with Outside(level):
        values: Sequence[Any] | None = None
        try:
            values = form(name, level, args)
            if values is not None:
                run(*values)
        except ProgramError as found:
            if found.code is not Code.NEEDS_SAMPLES:
                return found if values is None else of_batch(name, run, values, found)
    return error


def _whole(value: Any, level: Level) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_whole(one, level) for one in value])
    return front(value) if is_of(value, level) else value


def _expanded(value: Any, level: Level) -> Any:
    """The batch of a tensor, also of one that is the same for all samples."""
    if isinstance(value, (list, tuple)):
        return type(value)([_expanded(one, level) for one in value])
    own = _whole(value, level)
    if type(value) is not Tensor or varies(value, level):
        return own
    return catalog.function("broadcast_to")(own, (level.size, *own.array.shape))


#: functions along a dimension that PyTorch checks by themselves for samples without dimensions
_OF_NUMBERS = ("gather", "scatter", "scatter_add", "glu", "squeeze")


def _along(*places: int, spread: Sequence[int] = (), extra: int = 0) -> _Form:
    """The form of an operation whose arguments at `places` are dimensions, and whose tensors at `spread` are batches in any case."""

    def form(name: str, level: Level, args: Sequence[Any]) -> Sequence[Any] | None:
        first = args[0][0] if isinstance(args[0], (list, tuple)) else args[0]
        rank = first.array.ndim + extra
        if not rank and name in _OF_NUMBERS:
            return None
        values = [(_expanded if place in spread else _whole)(value, level) for place, value in enumerate(args)]
        for place in places:
            dim = args[place] if place < len(args) else None
            if isinstance(dim, int):
                values[place] = wrap_dim(dim, rank) + 1
            elif isinstance(dim, (list, tuple)):
                values[place] = tuple([wrap_dim(d, rank) + 1 for d in dim])
        return values

    return form


def _sized(name: str, level: Level, args: Sequence[Any]) -> Sequence[Any]:
    """The form of an operation whose second argument is the shape of the result, or a tensor of that shape."""
    size = args[1]
    shape = size.array.shape if type(size) is Tensor else tuple(size)
    whole = front(args[0], len(shape) if name in ("expand", "broadcast_to") else None)
    size = catalog.method("new_empty").method(size, ((level.size, *shape),), {}) if type(size) is Tensor else (level.size, *shape)
    return (whole, size, *args[2:])


def _of_matrices(name: str, level: Level, args: Sequence[Any]) -> Sequence[Any] | None:
    return None if args[0].array.ndim < 2 else [_whole(value, level) for value in args]


def _permuted(name: str, level: Level, args: Sequence[Any]) -> Sequence[Any]:
    return front(args[0]), (0, *[wrap_dim(d, args[0].array.ndim) + 1 for d in args[1]])


#: the dimensions that products of matrices ask for
_RANKS = {"mv": (2, 1), "mm": (2, 2), "bmm": (3, 3)}


def _product(name: str, level: Level, args: Sequence[Any]) -> None:
    """Multiply batches of matrices and vectors, by matmul as PyTorch does it."""
    a, b = args[0], args[1]
    if name == "linear":
        b = catalog.method("t").method(b, (), {})
    ranks = a.array.ndim, b.array.ndim
    want = _RANKS.get(name, ranks)
    if ranks != want:
        raise shape_error(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {ranks[0]}and b has dim {ranks[1]}but expected them to "
            f"have dim {want[0]} and dim {want[1]}"
        )
    if 0 in ranks or (name in ("dot", "vdot") and ranks != (1, 1)):
        return
    matmul, unsqueeze = catalog.function("matmul"), catalog.function("unsqueeze")
    left, right = _whole(a, level), _whole(b, level)
    if ranks == (1, 2) or (ranks == (1, 1) and varies(a, level) and varies(b, level)):
        left = unsqueeze(left, -2)
    if ranks[1] == 1 and varies(b, level):
        right = unsqueeze(right, -1) if varies(a, level) else catalog.function("movedim")(right, 0, -1)
    matmul(left, right)


_FORMS: dict[str, _Form] = {
    **dict.fromkeys(("layer_norm", "masked_fill"), _along()),
    **dict.fromkeys(
        ["sum", "mean", "amax", "amin", "nansum", "squeeze", "flip", "max", "min", "glu", "select", "unfold", "index_fill"], _along(1)
    ),
    **dict.fromkeys(["kthvalue", "split", "split_with_sizes", "roll", "rot90", "linalg_cross"], _along(2)),
    **dict.fromkeys(["gather", "scatter", "scatter_add"], _along(1, spread=(0, 2, 3))),
    "index_add": _along(1, spread=(0, 3)),
    **dict.fromkeys(("linalg_inv", "linalg_cholesky", "linalg_solve"), _of_matrices),
    "permute": _permuted,
    "cat": _along(1, spread=(0,)),
    "stack": _along(1, spread=(0,), extra=1),
    **dict.fromkeys(["view", "reshape", "view_as", "reshape_as", "expand", "broadcast_to"], _sized),
    **dict.fromkeys(["mv", "mm", "bmm", "dot", "vdot", "matmul", "linear"], _product),
    **{f"add{name}": lambda name, level, args: _product(name.removeprefix("add"), level, args[1:]) for name in ("mv", "mm")},
    "baddbmm": lambda name, level, args: _product("bmm", level, args[1:]),
}
