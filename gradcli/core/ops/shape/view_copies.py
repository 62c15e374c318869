"""`torch.NAME_copy`: views with memory of their own; unsafe_split and its kin: parts that share memory, but do not count as views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out, OutRule, no_graph
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import warn_of_samples
from gradcli.core.kernels import memory_format
from gradcli.core.ops.checks import wrap_dim
from gradcli.core.ops.elementwise import complex_numbers
from gradcli.core.ops.rules import check_no_complex_gradient, moves, no_complex_gradient, not_differentiable
from gradcli.core.ops.shape import as_strided, broadcasting, casting, diagonal, slicing, splitting, squeeze, transpose, views
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import UNMET, ProgramError, runtime_error


def _dense(result: Any) -> Any:
    return [np.array(part, order="C") for part in result] if isinstance(result, (list, tuple)) else np.array(result, order="C")


def _copying(view: Op, name: str = "", shared: bool = False) -> Op:
    """The record of a copy of a view, with the gradient of the view; if `shared`, the result still shares memory with the input."""
    return Op(
        name or f"{view.grad_fn}_copy",
        view.forward if shared else lambda a, *attrs: _dense(view.forward(a, *attrs)),
        "input",
        " ".join(view.attrs),
        outputs=" ".join(view.outputs),
        differentiable=view.differentiable,
        saved=view.saved,
        input=view.rules["input"],
        complex=True,
    )


ALIAS = _copying(casting.ALIAS)
AS_STRIDED = _copying(as_strided.AS_STRIDED)
EXPAND = _copying(broadcasting.EXPAND)


def _narrow_back(xp: Any, grad: Any, dim: int, start: int, length: int, input_shape: Any) -> Any:
    if start < 0 and start + length == 0 and length > 1:  # PyTorch's rule takes -2:0 for the part, which is empty
        text = f"The size of tensor a (0) must match the size of tensor b ({length}) at non-singleton dimension {dim % len(input_shape)}"
        raise runtime_error(text)
    return xp.call(slicing.SLICE_BACK, grad, dim, start, start + length, 1, input_shape)


NARROW = Op(
    "NarrowCopyBackward0",
    lambda a, dim, start, length: _dense(slicing.SLICE.forward(a, dim, *_bounds(start, length, a.shape[dim]), 1)),
    "input",
    "dim start length",
    saved="dim length=? self_sym_sizes start",
    input=Rule(_narrow_back, "zeros_like(input).slice_scatter(grad, dim, start, start + length)"),
    complex=True,
)
PERMUTE = _copying(transpose.PERMUTE)
SELECT = _copying(slicing.SELECT)
SLICE = _copying(slicing.SLICE)
SPLIT = _copying(splitting.SPLIT)
SPLIT_SIZES = _copying(splitting.SPLIT_SIZES)
SQUEEZE = _copying(squeeze.SQUEEZE)
SQUEEZE_DIM = _copying(squeeze.SQUEEZE_DIM)
SQUEEZE_DIMS = _copying(squeeze.SQUEEZE_DIMS)
T_RECORD = _copying(transpose.T_RECORD)
TRANSPOSE = _copying(transpose.TRANSPOSE)
UNBIND = _copying(splitting.UNBIND)
UNFOLD = _copying(slicing.UNFOLD)
UNSQUEEZE = _copying(squeeze.UNSQUEEZE)
VIEW = _copying(views.VIEW)
AS_COMPLEX = _copying(complex_numbers.VIEW_AS_COMPLEX)
AS_REAL = _copying(complex_numbers.VIEW_AS_REAL)
UNSAFE_SPLIT = _copying(splitting.SPLIT, "UnsafeSplitBackward0", True)
UNSAFE_SPLIT_SIZES = _copying(splitting.SPLIT_SIZES, "UnsafeSplitWithSizesBackward0", True)


DETACH = not_differentiable("detach_copy", _dense, "input")


def _bounds(start: int, length: int, size: int) -> tuple[int, int]:
    first = start % size if start < 0 else start
    return first, first + length


def _plain(input: Tensor) -> Tensor:
    """A tensor of the same values outside of the graph, with which the function of a view is called for its checks."""
    return Tensor(input.array, input.dtype)


def _checked(view: Callable[..., Any], copy: Op) -> Callable[..., Any]:
    """The implementation of a copy: `view`, the function of the view, checks the arguments, which are the same."""

    def run(input: Tensor, *args: Any) -> Any:
        _check_copy(input)
        view(_plain(input), *args)
        return copy(input, *[tuple(a) if isinstance(a, (list, tuple)) else a for a in args])

    return run


def view_as_real_copy(input: Tensor) -> Tensor:
    """A copy of `view_as_real`."""
    warn_of_samples("view_as_real_copy", input)
    complex_numbers.view_as_real(_plain(input))
    return AS_REAL(input)  # type: ignore[no-any-return]


def view_as_complex_copy(input: Tensor) -> Tensor:
    """A copy of `view_as_complex`, which PyTorch has no derivative of."""
    warn_of_samples("view_as_complex_copy", input)
    complex_numbers.view_as_complex(_plain(input))
    if state.enabled and input.requires_grad:
        raise no_complex_gradient("view_as_complex_copy")
    return AS_COMPLEX(input)  # type: ignore[no-any-return]


def _check_copy(input: Tensor) -> None:
    limits.check_elements(input.array.size, input.dtype.itemsize)


def as_strided_copy(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """A copy of `as_strided`."""
    return AS_STRIDED(input, *as_strided.place(input, size, stride, storage_offset))  # type: ignore[no-any-return]


def expand_copy(input: Tensor, size: Sequence[int], implicit: bool) -> Tensor:
    """A copy of `expand`."""
    wanted = broadcasting.expanded_shape(input, size)
    broadcasting.expand(_plain(input), wanted)
    return EXPAND(input, wanted)  # type: ignore[no-any-return]


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `narrow`."""
    if dim >= input.array.ndim > 0:
        raise runtime_error(UNMET.format("dim < static_cast<int64_t>(self_sizes.size())"))
    slicing.part(input, dim, start, length)
    return NARROW(input, dim, start, length)  # type: ignore[no-any-return]


def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `select`."""
    slicing.select(_plain(input), dim, index)
    check_no_complex_gradient("select_copy", input)
    return SELECT(input, dim, index)  # type: ignore[no-any-return]


def slice_copy(input: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """A copy of a slice of a dimension; raises IndexError and RuntimeError."""
    if not input.array.ndim:
        raise ProgramError("IndexError", "slice() cannot be applied to a 0-dim tensor.")
    wrap_dim(dim, input.array.ndim)
    if step <= 0:
        raise runtime_error("slice step must be positive")
    check_no_complex_gradient("slice_copy", input)
    return SLICE(input, dim, start, end, step)  # type: ignore[no-any-return]


def unbind_copy(input: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Copies of `unbind`."""
    return UNBIND(input, dim) if splitting.unbind(_plain(input), dim) else ()


def view_copy(input: Tensor, size: Sequence[int]) -> Tensor:
    """A copy of `view`, also where the strides do not allow a view."""
    _check_copy(input)
    if moves(input):  # the tangent is a view, which the strides have to allow
        views.view(input, size)
    return VIEW(input, views.infer_size(size, input.array.size))  # type: ignore[no-any-return]


def _view_dtype(input: Tensor, dtype: DType) -> Tensor:
    if dtype is not input.dtype:
        return Tensor(views.as_dtype(input, dtype).copy(), dtype)
    return Tensor(_dense(input.array), dtype)


def unsafe_chunk(input: Tensor, chunks: int, dim: int) -> Any:
    """`chunk`, whose parts do not count as views."""
    splitting.chunk(_plain(input), chunks, dim)
    length = input.array.shape[dim]
    return _parts(UNSAFE_SPLIT, input, -(-length // chunks), dim) if length else _parts(UNSAFE_SPLIT_SIZES, input, (0,) * chunks, dim)


def unsafe_split(input: Tensor, split_size: int, dim: int) -> Any:
    """`split`, whose parts do not count as views."""
    splitting.split(_plain(input), split_size, dim)
    return _parts(UNSAFE_SPLIT, input, split_size, dim)


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int) -> Any:
    """`split_with_sizes`, whose parts do not count as views."""
    known = splitting.split_with_sizes(_plain(input), split_sizes, dim)
    return _parts(UNSAFE_SPLIT_SIZES, input, tuple(split_sizes), dim) if known else ()


def _parts(op: Op, input: Tensor, *attrs: Any) -> tuple[Tensor, ...]:
    """The outputs of a record, which are parts of the memory of the input in every dtype, also where they have no elements."""
    outs: tuple[Tensor, ...] = op(input, *attrs)
    for out, part in zip(outs, op.forward(memory_format.spelled_out(input.array), *attrs), strict=True):
        out.array = part
    return outs


def _split_sizes(copy: Op) -> Callable[..., Any]:
    def run(input: Tensor, split_sizes: Sequence[int], dim: int) -> Any:
        return copy(input, tuple(split_sizes), dim) if splitting.split_with_sizes(_plain(input), split_sizes, dim) else ()

    return run


def _check_shapes(outs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    if any(out.array.shape != result.array.shape for out, result in zip(outs, results, strict=False)):  # PyTorch would broadcast
        raise ProgramError("NotImplementedError", "split_copy into tensors of other shapes is not part of gradcli")


def _narrow_out(input: Tensor, *_: Any) -> Out:
    def check(out: Tensor, result: Tensor) -> None:
        if out.array.shape == result.array.shape and not out.array.flags.c_contiguous:  # PyTorch writes to other places
            raise ProgramError("NotImplementedError", "narrow_copy into an out that is not contiguous is not part of gradcli")

    return Out(UNMET.format("self.dtype() == output.dtype()"), first=input.array.ndim > 0, silent=True, check=check)


def _refuse_graph(_: list[Any], outs: Sequence[Tensor]) -> None:
    if state.enabled and any(out.requires_grad for out in outs):
        raise no_graph("unbind_copy")


def _into_parts(overload: str, check: Callable[[Any, Any], None] | None = None, **how: Any) -> Out:
    """How functions of several results take `out`. Raises RuntimeError for another number of tensors, in the name of the overload."""

    def check_all(outs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        if len(outs) != len(results):
            raise runtime_error(f"{overload} expected an out= argument of size {len(results)}, got size {len(outs)}")
        if check is not None:
            check(outs, results)

    return Out(autograd="constant", nothing=True, counted=True, check=check_all, **how)


_COPIED = Out(EXACT, autograd="fallback", resized_first=True)
_M: Any = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_O: Any = [[[1.0], [2.0], [3.0]]]


def _function(
    name: str, parameters: str, run: Callable[..., Any], op: Op, sample: Sample, of: str = "", out: OutRule = _COPIED
) -> Function:
    signature = f"Tensor input, {parameters}".removesuffix(", ") + (" |outs" if op.outputs else "")
    doc = f"The copy of what {of or name.removesuffix('_copy')} shows."
    return Function(name, (signature, run), doc=doc, ops=(op,), samples=(sample,), method=False, out=out)


def _unsafe(name: str, signature: str, run: Callable[..., Any], op: Op, sample: str) -> Function:
    doc = "Parts along a dimension that share memory, but are not tracked as views."
    return Function(name, (signature, run), doc=doc, ops=(op,), samples=(Sample(sample, lambda x: x[:, 1:], x=_M),))


FUNCTIONS = (
    _function("alias_copy", "", _checked(lambda a: a, ALIAS), ALIAS, Sample("torch.alias_copy(x)", np.copy, x=_M), of="the tensor"),
    _function(
        "as_strided_copy",
        "ints size, ints stride, symint? storage_offset=None",
        as_strided_copy,
        AS_STRIDED,
        Sample("torch.as_strided_copy(x, (2, 2), (1, 2))", lambda x: x.reshape(-1)[[[0, 2], [1, 3]]], x=_M),
    ),
    _function("detach_copy", "", _checked(lambda a: a, DETACH), DETACH, Sample("torch.detach_copy(tensor([1.]))")),
    _function(
        "diagonal_copy",
        "int offset=0, int dim1=0, int dim2=1",
        _checked(diagonal.diagonal, diagonal.DIAGONAL_COPY),
        diagonal.DIAGONAL_COPY,
        Sample("torch.diagonal_copy(x, 1)", lambda x: np.diagonal(x, 1), x=_M),
    ),
    _function(
        "expand_copy",
        "ints size, *, bool implicit=False",
        expand_copy,
        EXPAND,
        Sample("torch.expand_copy(x, (2, -1, -1, 2))", lambda x: np.broadcast_to(x, (2, 1, 3, 2)), x=_O),
    ),
    _function(
        "narrow_copy",
        "int dim, symint start, symint length",
        narrow_copy,
        NARROW,
        Sample("torch.narrow_copy(x, 1, -3, 2)", lambda x: x[:, :2], x=_M),
        out=_narrow_out,
    ),
    Function(
        "narrow_copy",
        ("Tensor input, int dim, symint start, symint length", narrow_copy),
        doc="The copy of what narrow shows.",
        samples=(Sample("x.narrow_copy(1, 1, 2)", lambda x: x[:, 1:], x=_M),),
        function=False,
    ),
    _function(
        "permute_copy",
        "ints dims",
        _checked(transpose.permute, PERMUTE),
        PERMUTE,
        Sample("torch.permute_copy(x, (-1, 0, 1))", lambda x: np.transpose(x, (2, 0, 1)), x=_O),
    ),
    _function("select_copy", "int dim, symint index", select_copy, SELECT, Sample("torch.select_copy(x, 1, -1)", lambda x: x[:, -1], x=_M)),
    _function(
        "slice_copy",
        "int dim=0, symint? start=None, symint? end=None, symint step=1",
        slice_copy,
        SLICE,
        Sample("torch.slice_copy(x, 1, 0, None, 2)", lambda x: x[:, ::2], x=_M),
        of="a slice",
    ),
    _function(
        "split_copy",
        "symint split_size, int dim=0",
        _checked(splitting.split, SPLIT),
        SPLIT,
        Sample("torch.split_copy(x, 2, 1)[1]", lambda x: x[:, 2:], x=_M),
        out=_into_parts("split_copy_Tensor_out()", _check_shapes, lower=None),
    ),
    _function(
        "split_with_sizes_copy",
        "ints split_sizes, int dim=0",
        _split_sizes(SPLIT_SIZES),
        SPLIT_SIZES,
        Sample("torch.split_with_sizes_copy(x, [1, 2], 1)[1]", lambda x: x[:, 1:], x=_M),
        out=_into_parts("split_with_sizes_copy_out", exact=EXACT),
    ),
    Function(
        "squeeze_copy",
        ("Tensor input", _checked(squeeze.squeeze, SQUEEZE)),
        ("Tensor input, int dim", _checked(squeeze.squeeze_dim, SQUEEZE_DIM)),
        ("Tensor input, ints dim", _checked(squeeze.squeeze_dims, SQUEEZE_DIMS)),
        doc="The copy of what squeeze shows.",
        ops=(SQUEEZE, SQUEEZE_DIM, SQUEEZE_DIMS),
        samples=(
            Sample("torch.squeeze_copy(x)", np.squeeze, x=_O),
            Sample("torch.squeeze_copy(x, -1)", lambda x: x[..., 0], x=_O),
            Sample("torch.squeeze_copy(x, (0, 2))", np.squeeze, x=_O),
        ),
        method=False,
        out=_COPIED,
    ),
    _function("t_copy", "", _checked(transpose.t, T_RECORD), T_RECORD, Sample("torch.t_copy(x)", np.transpose, x=_M)),
    _function(
        "transpose_copy",
        "int dim0, int dim1",
        _checked(transpose.transpose, TRANSPOSE),
        TRANSPOSE,
        Sample("torch.transpose_copy(x, 0, -1)", np.transpose, x=_M),
    ),
    _function(
        "unbind_copy",
        "int dim=0",
        unbind_copy,
        UNBIND,
        Sample("torch.unbind_copy(x, 1)[2]", lambda x: x[:, 2], x=_M),
        out=_into_parts("unbind_copy_int_out", prepare=_refuse_graph, exact=EXACT),
    ),
    _function(
        "unfold_copy",
        "int dimension, int size, int step",
        _checked(slicing.unfold, UNFOLD),
        UNFOLD,
        Sample("torch.unfold_copy(x, -1, 2, 1)", lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1), x=_M),
    ),
    _function(
        "unsqueeze_copy",
        "int dim",
        _checked(squeeze.unsqueeze, UNSQUEEZE),
        UNSQUEEZE,
        Sample("torch.unsqueeze_copy(x, -1)", lambda x: x[..., None], x=_M),
    ),
    Function(
        "view_as_complex_copy",
        ("Tensor input", view_as_complex_copy),
        doc="The copy of what view_as_complex shows.",
        samples=(Sample("torch.view_as_complex_copy(tensor([[1., 2.]]))"),),
        method=False,
        out=_COPIED,
    ),
    _function(
        "view_as_real_copy",
        "",
        view_as_real_copy,
        AS_REAL,
        Sample("torch.view_as_real_copy(torch.complex(x, x))", lambda x: np.stack([x, x], -1), x=_M),
    ),
    Function(
        "view_copy",
        ("Tensor input, dtype dtype", _view_dtype),
        ("Tensor input, ints size", view_copy),
        doc="The copy of what view shows.",
        ops=(VIEW,),
        samples=(Sample("torch.view_copy(x, (3, -1))", lambda x: x.reshape(3, 2), x=_M),),
        method=False,
        out=_COPIED,
    ),
    _unsafe("unsafe_chunk", "Tensor input, int chunks, int dim=0", unsafe_chunk, UNSAFE_SPLIT, "unsafe_chunk(x[:, 1:], 1, 1)[0]"),
    _unsafe("unsafe_split", "Tensor input, symint split_size, int dim=0", unsafe_split, UNSAFE_SPLIT, "unsafe_split(x[:, 1:], 2, 1)[0]"),
    _unsafe(
        "unsafe_split_with_sizes",
        "Tensor input, ints split_sizes, int dim=0",
        unsafe_split_with_sizes,
        UNSAFE_SPLIT_SIZES,
        "unsafe_split_with_sizes(x, [1, 2], 1)[1]",
    ),
)
