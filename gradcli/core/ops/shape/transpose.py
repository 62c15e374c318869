"""The order of dimensions: t, transpose, permute, movedim, adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import conj
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_writable
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.shape.casting import ALIAS
from gradcli.core.ops.shape.views import view_and_inplace
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

T_RECORD: Op
T_INPLACE: Op
T_RECORD, T_INPLACE = view_and_inplace("T", (0, 1), np.transpose, "", Rule(lambda xp, grad: xp.call(T_RECORD, grad), "grad.t()"))


def _swap(a: Array, dim0: int, dim1: int) -> Array:
    return a.swapaxes(dim0, dim1) if a.ndim else a.view()


_SWAP_RULE = Rule(lambda xp, grad, dim0, dim1: xp.call(TRANSPOSE, grad, dim0, dim1), "grad.transpose(dim0, dim1)")
TRANSPOSE: Op
TRANSPOSE_INPLACE: Op
TRANSPOSE, TRANSPOSE_INPLACE = view_and_inplace("Transpose", (0, 1), _swap, "dim0 dim1", _SWAP_RULE)


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes a permutation; its dimensions may count from the end."""
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d] = i
    return tuple(back)


PERMUTE: Op = Op(
    "PermuteBackward0",
    lambda a, dims: a.transpose(dims),
    "input",
    "dims",
    view=True,
    input=Rule(lambda xp, grad, dims: xp.call(PERMUTE, grad, _inverse(dims)), "grad.movedim(tuple(range(len(dims))), dims)"),
)


def t(input: Tensor) -> Tensor:
    """The transposed matrix, as a view; tensors of rank 0 and 1 stay as they are."""
    rank = input.array.ndim
    if rank > 2:
        raise shape_error(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return T_RECORD(input)  # type: ignore[no-any-return]


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions swapped."""
    wrap_dim(dim0, input.array.ndim)
    wrap_dim(dim1, input.array.ndim)
    return TRANSPOSE(input, dim0, dim1)  # type: ignore[no-any-return]


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A view with the dimensions in another order."""
    rank = input.array.ndim
    if len(dims) != rank:
        raise shape_error(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(dims)}",
        )
    if len({wrap_dim(d, rank) for d in dims}) != rank:
        raise runtime_error("permute(): duplicate dims are not allowed.")
    return PERMUTE(input, tuple(dims))  # type: ignore[no-any-return]


def movedim(input: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """A view in which some dimensions are moved to other positions, while the others keep their order."""
    rank = input.array.ndim
    if len(source) != len(destination):
        raise runtime_error(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)"
        )
    froms, tos = [wrap_dim(d, rank) for d in source], [wrap_dim(d, rank) for d in destination]
    for name, dims, given in (("source", froms, source), ("destination", tos, destination)):
        if len(set(dims)) != len(dims):
            raise runtime_error(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not rank:
        return ALIAS(input)  # type: ignore[no-any-return]
    rest = iter(d for d in range(rank) if d not in froms)
    return PERMUTE(input, tuple(froms[tos.index(i)] if i in tos else next(rest) for i in range(rank)))  # type: ignore[no-any-return]


def T(input: Tensor) -> Tensor:
    """`x.T`: the dimensions in reverse order; warns for other tensors than matrices."""
    rank = input.array.ndim
    if rank == 0:
        warnings.emit(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4321.)",
            once="T of a number",
        )
    elif rank != 2:
        warnings.emit(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
            "in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
            "to reverse the dimensions of a tensor. (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4314.)",
            once="T",
        )
    return PERMUTE(input, tuple(range(rank - 1, -1, -1)))  # type: ignore[no-any-return]


def H(input: Tensor) -> Tensor:
    """`x.H`: the transposed matrix; raises RuntimeError for tensors of other ranks than 0 and 2."""
    rank = input.array.ndim
    if rank not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if rank > 2 else ""
        raise shape_error(f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.{more}")
    if rank == 0:
        warnings.emit(
            "Tensor.H is deprecated on 0-D tensors. Consider using x.conj(). (Triggered internally at "
            "/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:4335.)",
            once="H",
        )
    turned: Tensor = input if rank == 0 else TRANSPOSE(input, 0, 1)
    return conj(turned)


#: for each name, what its warning about 0-d tensors says, and the line of PyTorch's code that emits it
_OF_NUMBERS = {
    "mT": ("This function is the identity in these cases.", 4373),
    "mH": ("Consider using x.conj().", 4382),
    "adjoint()": ("Consider using x.conj().", 4390),
}


def mT(input: Tensor, name: str = "mT") -> Tensor:
    """`x.mT`, `x.mH` and `x.adjoint()`: the last two dimensions swapped; errors and warnings call the function `name`."""
    rank = input.array.ndim
    if not rank:
        what, line = _OF_NUMBERS[name]
        warnings.emit(
            f"{'' if name == 'adjoint()' else 'Tensor.'}{name} is deprecated on 0-D tensors. {what} (Triggered internally at "
            f"/__w/pytorch/pytorch/aten/src/ATen/native/TensorShape.cpp:{line}.)",
            once=name,
        )
        return conj(input) if name != "mT" else input
    if rank < 2:
        raise shape_error(f"tensor.{name} is only supported on matrices or batches of matrices. Got {rank}-D tensor.")
    turned: Tensor = TRANSPOSE(input, -2, -1)
    return conj(turned) if name != "mT" else turned


def _t_(input: Tensor) -> Tensor:
    check_writable(input)
    rank = input.array.ndim
    if rank > 2:
        raise shape_error(f"t_() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return in_place.reshape_(input, T_INPLACE)


def _transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    check_writable(input)
    wrap_dim(dim0, input.array.ndim)
    wrap_dim(dim1, input.array.ndim)
    return in_place.reshape_(input, TRANSPOSE_INPLACE, dim0, dim1)


_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_O: Any = [[[1.0], [2.0], [3.0]]]


FUNCTIONS = (
    Function(
        "t",
        ("Tensor input", t),
        analytic=np.transpose,
        doc="The transposed matrix.",
        ops=(T_RECORD,),
        samples=(Sample("x.t()", np.transpose, x=_M),),
    ),
    *(
        Function(
            name,
            (f"Tensor input, int {first}, int {second}", transpose),
            doc="Two dimensions swapped.",
            ops=(TRANSPOSE,) if name == "transpose" else (),
            samples=(Sample(f"{name}(x, 0, {'-1' if name == 'transpose' else '1'})", np.transpose, x=_M),),
        )
        for name, first, second in (("transpose", "dim0", "dim1"), ("swapaxes", "axis0", "axis1"), ("swapdims", "dim0", "dim1"))
    ),
    Function(
        "permute",
        ("Tensor input, ints dims", permute),
        doc="Dimensions in another order.",
        ops=(PERMUTE,),
        samples=(Sample("permute(x, (2, 0, 1))", lambda x: np.transpose(x, (2, 0, 1)), x=_O),),
    ),
    Function(
        "movedim",
        ("Tensor input, int source, int destination", lambda a, s, d: movedim(a, (s,), (d,))),
        ("Tensor input, ints source, ints destination", movedim),
        doc="Dimensions moved to other places.",
        aliases=("moveaxis",),
        samples=(Sample("movedim(x, 0, 2)", lambda x: np.moveaxis(x, 0, 2), x=_O),),
    ),
    Function(
        "adjoint",
        ("Tensor input", lambda a: mT(a, "adjoint()")),
        doc="The last two dimensions swapped.",
        samples=(Sample("adjoint(x)", np.transpose, x=_M),),
    ),
    Function("t_", ("Tensor input", _t_), doc="Transposed, in place.", ops=(T_INPLACE,), function=False),
    Function(
        "transpose_",
        ("Tensor input, int dim0, int dim1", _transpose_),
        doc="Two dimensions swapped, in place.",
        ops=(TRANSPOSE_INPLACE,),
        function=False,
        aliases=("swapdims_",),
    ),
    Function(
        "swapaxes_",
        ("Tensor input, int axis0, int axis1", _transpose_),
        doc="Two dimensions swapped, in place.",
        ops=(TRANSPOSE_INPLACE,),
        function=False,
    ),
)
