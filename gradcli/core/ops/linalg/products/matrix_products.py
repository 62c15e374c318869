"""Products of two matrices, a matrix and a vector, two vectors, or two batches of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.conjugate import CONJ
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array, products
from gradcli.core.kernels.memory_format import Strides, element_strides
from gradcli.core.ops.checks import is_sample, refuse_bool, scalar_type_error, size
from gradcli.core.ops.linalg.samples import BATCH, PAIR, SQUARE_2, TALL
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.ops.shape.transpose import T_RECORD, TRANSPOSE
from gradcli.core.ops.shape.views import infer_size
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error


def multiply(a: Array, b: Array) -> Array:
    """The matrix product of two arrays; float16 is accumulated in float32, from 0."""
    if a.dtype == np.float16:
        return np.asarray(multiply(a.astype(np.float32), b.astype(np.float32)) + np.float32(0)).astype(np.float16)
    return products.matmul(a, b)


class _Product(Op):
    """A product of matrices; in bfloat16 it is accumulated from 0, so that a product of zeros is never -0."""

    __slots__ = ()

    def _special(self, array: Array, dtype: DType) -> Array:
        return super()._special(array if dtype.is_complex else array + np.float32(0), dtype)


def factor_strides(factor: Any) -> Strides:
    """The strides of a factor, for the layout of its gradient: of one that gets none there are none, as in what PyTorch saves."""
    return element_strides(factor.array) if type(factor) is Tensor and factor.requires_grad else ()


def _product(xp: Any, a: Any, b: Any) -> Any:
    return xp.call(MM, a, b, factor_strides(a), factor_strides(b))


def gradient_of_left(xp: Any, grad: Any, mat2: Any, strides: Strides) -> Any:
    """The gradient of the left factor, which has these strides: column by column where the factor is."""
    if strides == (1, grad.shape[0]):
        return xp.call(T_RECORD, _product(xp, mat2, xp.call(T_RECORD, grad)))
    return _product(xp, grad, xp.call(T_RECORD, mat2))


def gradient_of_right(xp: Any, grad: Any, input: Any, strides: Strides) -> Any:
    """The gradient of the right factor, which has these strides: column by column where the factor is."""
    if strides == (1, input.shape[1]):
        return xp.call(T_RECORD, _product(xp, xp.call(T_RECORD, grad), input))
    return _product(xp, xp.call(T_RECORD, input), grad)


MM: Op = _Product(
    "MmBackward0",
    lambda a, b, self_sym_strides, mat2_sym_strides: multiply(a, b),
    "input mat2",
    "self_sym_strides mat2_sym_strides",
    saved="mat2 self mat2_sym_sizes mat2_sym_strides self_sym_sizes self_sym_strides",
    input=Rule(lambda xp, grad, mat2, self_sym_strides: gradient_of_left(xp, grad, mat2, self_sym_strides), "grad @ mat2.t()"),
    mat2=Rule(lambda xp, grad, input, mat2_sym_strides: gradient_of_right(xp, grad, input, mat2_sym_strides), "input.t() @ grad"),
    complex=True,
)
MV: Op = Op(
    "MvBackward0",
    multiply,
    "input vec",
    input=Rule(lambda xp, grad, vec: xp.reshape(grad, (grad.shape[0], 1)) * vec, "outer(grad, vec)"),
    vec=Rule(lambda xp, grad, input: xp.call(MV, xp.call(T_RECORD, input), grad), "input.t() @ grad"),
    complex=True,
)
BMM: Op = Op(
    "BmmBackward0",
    multiply,
    "input mat2",
    input=Rule(lambda xp, grad, mat2: xp.call(BMM, grad, xp.call(TRANSPOSE, mat2, 1, 2)), "grad @ mat2.mT"),
    mat2=Rule(lambda xp, grad, input: xp.call(BMM, xp.call(TRANSPOSE, input, 1, 2), grad), "input.mT @ grad"),
    complex=True,
)


DOT: Op = Op(
    "DotBackward0",
    multiply,
    "input tensor",
    input=Rule(lambda grad, tensor: grad * tensor, "grad * tensor"),
    tensor=Rule(lambda grad, input: grad * input, "grad * input"),
    complex=True,
)
VDOT: Op = Op(
    "VdotBackward0",
    multiply,
    "input other",
    input=Rule(lambda grad, other: grad * other, "grad * other"),
    other=Rule(lambda grad, input: grad * input, "grad * input"),
)
COMPLEX_VDOT: Op = Op(
    "VdotBackward0",
    lambda a, b: multiply(np.conjugate(a), b),
    "input other",
    complex=True,
    wirtinger=True,
    input=Rule(lambda xp, grad, other: xp.call(CONJ, grad) * other, "grad.conj() * other"),
    other=Rule(lambda grad, input: grad * input, "grad * input"),
)


def check_product(a: Tensor, b: Tensor) -> None:
    """Raise the errors of `mm` for two matrices: sizes or dtypes that do not fit, bool, a product over the limits."""
    if a.array.shape[1] != b.array.shape[0]:
        MM.check_saved((a, b))
        (n, k), (j, m) = a.array.shape, b.array.shape
        raise runtime_error(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {j}x{m})", Code.MATRIX_PRODUCT)
    if a.dtype is not b.dtype:
        MM.check_saved((a, b))
        text = f"expected m1 and m2 to have the same dtype, but got: {a.dtype.c_name} != {b.dtype.c_name}"
        raise runtime_error(text, Code.DTYPES_DIFFER)
    if a.array.size and b.array.size:
        refuse_bool("addmm_impl_cpu_", a.dtype)
    limits.check_work(a.array.shape[0] * a.array.shape[1] * b.array.shape[1])
    limits.check_elements(a.array.shape[0] * b.array.shape[1], a.dtype.itemsize)


def check_addmv(first: Tensor, mat: Tensor, vec: Tensor) -> None:
    """Raise the errors of `addmv` for its tensors, the `first` of which is added: ranks, sizes or dtypes that do not fit."""
    if mat.array.ndim != 2 or vec.array.ndim != 1 or first.array.ndim > 1:
        raise runtime_error(f"vector + matrix @ vector expected, got {first.array.ndim}, {mat.array.ndim}, {vec.array.ndim}")
    rows, columns = mat.array.shape
    if columns != vec.array.size or first.array.size not in (rows, 1):
        MV.check_saved((mat, vec))
        raise shape_error(f"size mismatch, got input ({size(first, 0)}), mat ({rows}x{columns}), vec ({vec.array.size})")
    if not first.dtype is mat.dtype is vec.dtype:
        MV.check_saved((mat, vec))
        names = [t.dtype.torch_name for t in (first, mat, vec)]
        raise runtime_error(f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}")


def check_ranks(a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless both are batches of matrices."""
    for name, t in (("batch1", a), ("batch2", b)):
        if t.array.ndim != 3:
            raise shape_error(f"{name} must be a 3D tensor")


def check_batch_sizes(a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless both are batches of matrices that can be multiplied."""
    check_ranks(a, b)
    count, _, k = a.array.shape
    if b.array.shape[:2] != (count, k):
        text = f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {k}] but got: {list(b.array.shape[:2])}."
        raise shape_error(text)


def check_batches(a: Tensor, b: Tensor, kernel: str) -> None:
    """Raise the errors of a product of batches of matrices, as `kernel` names it: sizes or dtypes that do not fit, bool, limits."""
    check_batch_sizes(a, b)
    (count, n, k), p = a.array.shape, b.array.shape[2]
    if count and n and p:
        refuse_bool(kernel, a.dtype)
    if a.dtype is not b.dtype:
        raise scalar_type_error(a.dtype, b.dtype)
    limits.check_work(count * n * k * p)
    limits.check_elements(count * n * p, a.dtype.itemsize)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices. Raises RuntimeError for ranks, sizes or dtypes that do not fit."""
    for name, t in (("self", input), ("mat2", mat2)):
        if t.array.ndim != 2:
            raise runtime_error(f"{name} must be a matrix")
    check_product(input, mat2)
    return MM(input, mat2, factor_strides(input), factor_strides(mat2))  # type: ignore[no-any-return]


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector. Raises RuntimeError for ranks, sizes or dtypes that do not fit."""
    check_addmv(Tensor(np.empty(size(input, 0)), vec.dtype), input, vec)
    if input.array.size:
        refuse_bool("addmv_impl_cpu", input.dtype)
    limits.check_work(input.array.size)
    return MV(input, vec)  # type: ignore[no-any-return]


def _check_vectors(a: Tensor, b: Tensor) -> None:
    """Raise the errors of `dot`: ranks, dtypes or sizes that do not fit, bool."""
    if a.array.ndim != 1 or b.array.ndim != 1:
        if is_sample(a) or is_sample(b):
            raise shape_error("Got wrong shapes for dot")
        raise shape_error(f"1D tensors expected, but got {a.array.ndim}D and {b.array.ndim}D tensors")
    if a.dtype is not b.dtype:
        raise runtime_error(f"dot : expected both vectors to have same dtype, but found {a.dtype.torch_name} and {b.dtype.torch_name}")
    if a.array.size != b.array.size:
        n, m = a.array.size, b.array.size
        raise shape_error(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} "
            "elements respectively",
        )
    refuse_bool("dot", a.dtype)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The dot product of two vectors. Raises RuntimeError for ranks, sizes or dtypes that do not fit."""
    _check_vectors(input, tensor)
    return DOT(input, tensor)  # type: ignore[no-any-return]


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product of the conjugate of `input` and `other`. Raises what `dot` raises."""
    _check_vectors(input, other)
    if input.dtype.is_complex:
        return COMPLEX_VDOT(input, other)  # type: ignore[no-any-return]
    return VDOT(input, other)  # type: ignore[no-any-return]


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches (b, n, k) and (b, k, m) of matrices. Raises RuntimeError for ranks, sizes or dtypes that do not fit."""
    check_batches(input, mat2, "bmm")
    return BMM(input, mat2)  # type: ignore[no-any-return]


def with_out_dtype(name: str, tensors: str, more: str = "") -> Overload:
    """The overload with a dtype of the result, which PyTorch lists and refuses on the CPU."""

    def refuse(*args: Any) -> Tensor:
        check_no_tangent(f"aten::{name}", *args)
        raise ProgramError("NotImplementedError", f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend.")

    return f"Tensor input, {tensors}, dtype out_dtype{more} |function", refuse


def check_tangent_of_view(out: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError where the tangent of an `out` that was resized has no view of this shape: PyTorch does not resize it."""
    moved = None if state.dual is None else state.dual.tangent_of(out)
    if moved is not None:
        infer_size(shape, moved.array.size)


def exact_out(name: str) -> Callable[..., Out]:
    """How `name` takes `out`, which PyTorch does not implement together with a dtype of the result."""

    def refuse(*_: Any) -> Tensor:
        raise ProgramError("NotImplementedError", f"Could not run 'aten::{name}.dtype_out' with arguments from the 'CPU' backend.")

    def rule(*values: Any) -> Out:
        if any(type(v) is DType for v in values):
            return Out(operator=name, autograd="fallback", steps=refuse)
        # batches have the dtype of the last factor
        last = next(v.dtype for v in reversed(values) if type(v) is Tensor) if "bmm" in name else None
        instead = {}
        if name == "addmm":  # `out` is resized before the tensor is expanded
            at, start = next((i, v) for i, v in enumerate(values) if type(v) is Tensor)
            instead[at] = Tensor(start.array.reshape(-1)[:1].sum(), start.dtype)
        overlap: Any = ("partial", "any", "any") if "add" in name else "any"  # the tensor that is added may be `out`
        # a product of nothing is filled with 0
        unchecked = name == "bmm" or (name == "mm" and not values[0].array.size)
        return Out(EXACT, memory="unchecked" if unchecked else "own", overlap=overlap, dtype=last, instead=instead)

    return rule


_DOT_OUT = "result dtype {out} does not match input dtype {result}"


def _is_plain(values: Sequence[Any], out: Tensor) -> bool:
    """Whether no gradient is wanted, which is refused first."""
    return not (state.enabled and any(t.requires_grad for t in (*values, out)))


def _resize_to_number(values: Sequence[Any], out: Tensor) -> None:
    """The product of two vectors gives `out` its shape before anything else."""
    if _is_plain(values, out):
        in_place.resize_to(out, ())


def _check_as_start(values: Sequence[Any], out: Tensor) -> None:
    """PyTorch passes the `out` of `mv` to `addmv` as the tensor that is added 0 times, if it is a vector of the right size."""
    if _is_plain(values, out) and out.array.ndim < 2 and out.array.size in (size(values[0], 0), 1):
        check_addmv(out, *values)


_DOT = Out(_DOT_OUT, first=True, prepare=_resize_to_number)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "mm",
        ("Tensor input, Tensor mat2", mm),
        with_out_dtype("mm", "Tensor mat2"),
        doc="Product of two matrices.",
        analytic=np.matmul,
        ops=(MM,),
        samples=(Sample("mm(x, y)", lambda x, y: x @ y, x=TALL, y=SQUARE_2),),
        out=exact_out("mm"),
    ),
    Function(
        "mv",
        ("Tensor input, Tensor vec", mv),
        doc="Product of a matrix and a vector.",
        analytic=np.matmul,
        ops=(MV,),
        samples=(Sample("mv(x, v)", lambda x, v: x @ v, x=TALL, v=PAIR),),
        out=Out(EXACT, memory="unchecked", overlap="any", prepare=_check_as_start),
    ),
    Function(
        "dot",
        ("Tensor input, Tensor tensor", dot),
        doc="Sum of the products of two vectors' elements.",
        analytic=np.dot,
        ops=(DOT,),
        samples=(Sample("dot(v, w)", np.dot, v=PAIR, w=[3.0, 4.0]),),
        out=_DOT,
    ),
    Function(
        "vdot",
        ("Tensor input, Tensor other", vdot),
        doc="As dot, of the conjugate of input.",
        ops=(VDOT,),
        samples=(Sample("vdot(v, w)", np.vdot, v=PAIR, w=[3.0, 4.0]),),
        out=_DOT,
    ),
    Function(
        "bmm",
        ("Tensor input, Tensor mat2", bmm),
        with_out_dtype("bmm", "Tensor mat2"),
        doc="Products of two batches of matrices.",
        ops=(BMM,),
        samples=(Sample("bmm(b, b)", lambda b: b @ b, b=BATCH),),
        out=exact_out("bmm"),
    ),
)
