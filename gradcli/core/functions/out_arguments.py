"""`out=`: which dtypes a function writes into, and what PyTorch's errors call its operator. It is loaded when a program uses `out=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import complex_refusals, warnings
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.kernels import memory_format
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import ForwardLevel, recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

_SAME = "Found dtype {out} but expected {result}"
_EXACT = "Expected out tensor to have dtype {result_c}, but got {out_c} instead"
_BOOLEAN = "{name} does not support non-boolean outputs."
_TENSORDOT = "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}"
_MATCHING = "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype."
_EXPECTED = (
    "Expected {} to be true, but got false.  "
    "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
)
_SEARCH = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
    "True, but we got output tensor's dtype {out} and out_int32 flag is {small}"
)
_GER = (
    "torch.ger is deprecated and will be removed in a future PyTorch release. Use torch.outer instead. (Triggered internally at "
    "/__w/pytorch/pytorch/aten/src/ATen/native/LinearAlgebra.cpp:1270.)"
)
_HISTOGRAM = (
    "torch.histogram: input tensor and {field} tensor should have the same dtype, but got input {{result_c}} and {field} {{out_c}}{more}"
)
_MEDIAN_VALUES = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{out}Tensor does not equal "
    "torch.{result}Tensor (while checking arguments for median)"
)
_MEDIAN_INDICES = (
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{out}Tensor instead "
    "(while checking arguments for median)"
)
#: copies, of views above all, which PyTorch gives a node without a derivative where they write into `out`
_VIEW_COPIES = (
    "conj_physical",
    *("diag", "slice_scatter", "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy"),
    *("select_copy", "slice_copy", "squeeze_copy", "t_copy", "transpose_copy", "unfold_copy", "unsqueeze_copy"),
    *("view_as_complex_copy", "view_as_real_copy", "view_copy"),
)

#: the errors of functions that write into a tensor of the result's dtype alone
_STRICT: dict[str, str] = {
    **dict.fromkeys(("abs", "bitwise_not", "ceil", "clamp", "floor", "frac", "lerp", "neg", "round", "sgn", "sign", "trunc"), _SAME),
    **dict.fromkeys(("clamp_max", "clamp_min", "negative"), _SAME),
    **dict.fromkeys(("argmax", "argmin", "argsort", "renorm", "isin", "cross", "linalg_cross"), _EXACT),
    **dict.fromkeys(("matmul", "linalg_matmul"), _EXACT),
    **dict.fromkeys(
        ("mm", "mv", "bmm", "addmm", "addmv", "baddbmm", "tril", "triu", "msort", "gather", "take_along_dim"),
        _EXACT,
    ),
    **dict.fromkeys(("scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_reduce"), _EXACT),
    **dict.fromkeys(_VIEW_COPIES, _EXACT),
    **dict.fromkeys(("index_select", "masked_select"), "{name}(): self and result must have the same scalar type"),
    **dict.fromkeys(("searchsorted", "bucketize"), _SEARCH),
    "special_round": _SAME,
    "hardshrink": _SAME,
    "conj_physical": _SAME,
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "linear": _EXACT,
    "linalg_solve_triangular": "expected scalar type {result} but found {out}",
    **{f"linalg_{name}": _EXACT for name in ("inv", "det", "solve", "cholesky", "eigvalsh", "svdvals", "lu_solve", "vector_norm")},
    **dict.fromkeys(("inverse", "lu_solve"), _EXACT),
    **dict.fromkeys(("isposinf", "isneginf", "signbit"), _BOOLEAN),
    **dict.fromkeys(("all", "any"), "{name} only supports bool tensor for result, got: {out}"),
    **dict.fromkeys(("amax", "amin"), _MATCHING),
    **dict.fromkeys(("dot", "vdot"), "result dtype {out} does not match input dtype {result}"),
    **dict.fromkeys(("tensordot", "inner"), _TENSORDOT),
    **dict.fromkeys(("quantile", "nanquantile"), "quantile() out tensor must be same dtype as the input tensor"),
    **dict.fromkeys(("linalg_norm", "linalg_matrix_norm"), "{dotted} expected out tensor dtype {result} but got: {out}"),
    **dict.fromkeys(("complex", "polar"), "Expected object of scalar type {result} but got scalar type {out} for argument 'out'"),
    "addbmm": "self and mat2 must have the same dtype, but got {out} and {result}",
    **dict.fromkeys(("chain_matmul", "linalg_multi_dot"), "multi_dot(): expected out tensor to have dtype {result_c} but got {out_c}"),
    "float_power": "the output given to float_power has dtype {out} but the operation's result requires dtype {result}",
    "histc": _HISTOGRAM.format(field="hist", more=""),
    "linalg_vecdot": "linalg.vecdot: Expected out of dtype{result} but found {out}",
    "logcumsumexp": "expected scalar_type {result} but found {out}",
    "multinomial": "multinomial expects Long tensor out, got: {out}",
    "nan_to_num": "nan_to_num: dtype of out: {out} should be same as input: {result}",
    "narrow_copy": _EXPECTED.format("self.dtype() == output.dtype()"),
    "nonzero": "nonzero: Expected out tensor to have scalar type Long but got scalar type{out}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}",
    "where": "Expected out type to be {result} but got {out}",
}
#: the errors of functions that write several tensors, each of the dtype of its part alone, in the order of PyTorch's checks
_SEVERAL: dict[str, str | dict[str, str]] = {
    **dict.fromkeys(("sort", "topk", "max", "min", "aminmax", "lu_unpack", "svd", "qr", "slogdet", "triangular_solve"), _EXACT),
    **{f"linalg_{name}_ex": _EXACT for name in ("inv", "cholesky", "solve", "lu_factor", "ldl_factor")},
    **{f"linalg_{name}": _EXACT for name in ("eigh", "svd", "qr", "lu", "slogdet", "lu_factor", "ldl_factor")},
    **dict.fromkeys(("cummax", "cummin"), "expected scalar_type {result} but found {out}"),
    **{name: {"indices": _MEDIAN_INDICES, "values": _MEDIAN_VALUES} for name in ("median", "nanmedian")},
    "mode": "expected scalar type '{result}' but got '{out}' for {field} output",
    "kthvalue": {
        "values": "output values must be of same type as input",
        "indices": "output indices must be of scalar type Long",
    },
    "frexp": {
        "mantissa": "torch.frexp() expects mantissa to have dtype {result_c} but got {out_c}",
        "exponent": "torch.frexp() expects exponent to have int dtype but got {out_c}",
    },
    "histogram": {
        "hist": _HISTOGRAM.format(field="hist", more=""),
        "bin_edges": _HISTOGRAM.format(field="bin_edges", more=" for dimension 0"),
    },
}
#: overloads that are stricter than the others of their function, by the count of their tensors and `out`
_STRICT_COUNTS = {"lerp": 4, "clamp": 2, "clamp_min": 2, "clamp_max": 2}
_CASTABLE = "{dotted}: Expected {field} to be safely castable from {result} dtype, but got {field} with dtype {out}"
_CAN_CAST = _EXPECTED.format("canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype()))")
#: the errors of functions for a dtype of a lower category than the result's; others say `result type ... can't be cast`
_LOWER: dict[str, str] = {
    **dict.fromkeys(("cholesky_inverse", "cholesky_solve", "linalg_pinv", "linalg_cond"), _CASTABLE),
    **dict.fromkeys(("linalg_tensorinv", "linalg_tensorsolve"), _CASTABLE.replace("{dotted}", "{name}")),
    **{f"linalg_{name}": f"torch.{_CASTABLE}" for name in ("eig", "eigvals", "lstsq", "householder_product", "matrix_rank")},
    "geqrf": f"torch.{_CASTABLE}",
    "orgqr": f"torch.{_CASTABLE.format(dotted='linalg.householder_product', field='result', result='{result}', out='{out}')}",
    **dict.fromkeys(("max", "min"), _CAN_CAST),
    **dict.fromkeys(("logsumexp", "special_logsumexp"), "logsumexp(): Expected floating point type for result tensor, but got: {out}"),
    "ldexp": "ldexp can't be cast to the desired output type {out}",
}
#: the operators that functions hand `out` to, where they are others
_OPERATORS = {
    **dict.fromkeys(("column_stack", "dstack", "hstack", "vstack"), "cat"),
    "bernoulli": "bernoulli",
    "chain_matmul": "mm",
    "cross": "linalg_cross",
    "diag": "diagonal_copy",
    "diff": "sub",
    "divide": "div",
    "ger": "mul",
    "inverse": "linalg_inv_ex",
    "kron": "mul",
    "linalg_cholesky": "linalg_cholesky_ex",
    "linalg_det": "_linalg_det",
    "linalg_eigvalsh": "_linalg_eigh",
    "linalg_inv": "linalg_inv_ex",
    "linalg_multi_dot": "mm",
    "linalg_solve": "_linalg_solve_ex",
    "linalg_svdvals": "_linalg_svd",
    "linalg_vecdot": "sum",
    "linear": "linear",
    "lu_solve": "linalg_lu_solve",
    "msort": "sort",
    "normal": "normal",
    "multiply": "mul",
    "nanmean": "nansum",
    "orgqr": "linalg_householder_product",
    "outer": "mul",
    "special_round": "round",
    "square": "pow",
    "subtract": "sub",
    "take_along_dim": "gather",
    "true_divide": "div",
}
#: functions that PyTorch composes of others, and whose result it copies into `out`, with its history
_COPIED = frozenset(
    f"{prefix}{name}"
    for prefix, names in (
        ("", ("quantile", "nanquantile", "tensordot", "inner")),
        ("special_", ("ndtr",)),
        ("linalg_", ("tensorinv", "tensorsolve", "cond", "norm", "matrix_norm")),
    )
    for name in names
)
#: functions whose result is copied into `out` in row-major order: always, or where `out` does not fit as it is
_ROW_MAJOR = ("cholesky", "cholesky_solve", "linalg_tensorinv")
_BY_COLUMNS = ("cholesky_inverse", "orgqr", "linalg_householder_product", "geqrf", "linalg_eig", "linalg_lstsq")
#: functions that compute in the dtype of `out`, if the call names none
IN_ITS_DTYPE = ("sum", "nansum", "prod", "cumsum", "cumprod")
#: operators without a derivative, which PyTorch does not follow into `out` in forward mode either
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not")
#: functions whose operator depends on the ranks of their tensors
_PRODUCTS = ("matmul", "linalg_matmul", "linalg_vecdot")
#: functions whose result in `out` gets a node without a derivative
_UNDERIVED = frozenset((*_VIEW_COPIES, "linalg_eigvals"))
#: functions that compute before they look at the dtype of `out`, or whose result has another dtype than their operands
_LATE = frozenset(
    (*_COPIED, *_COMPARISONS, *IN_ITS_DTYPE, "lerp", "argmax", "argmin", "argsort", "searchsorted", "bucketize", "isin"),
)
#: functions that look at the dtype of `out` before anything else
_TRUTH = ("all", "any")
_DTYPE_FIRST = ("dot", "vdot", "amin", "amax", "logcumsumexp", "cummax", "cummin", *_TRUTH)
#: functions composed of others, which look at their arguments before these refuse a graph
_GRAPH_LATE = ("outer", "ger", "lu_solve", "linalg_vecdot", "chain_matmul")
#: operators without a derivative, to which PyTorch gives a node all the same
_UNTRACKED = ("floor_divide", "heaviside", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_ldl_solve")


def _operator(name: str, tensors: Sequence[Tensor]) -> str:
    if name in _PRODUCTS and len(tensors) == 3:
        return _product_operator(name, tensors)
    if name == "diag" and tensors and tensors[0].array.ndim == 1:
        return "diag_embed"
    if name in ("max", "min") and len(tensors) > 2:
        return f"{name}imum"
    return _OPERATORS.get(name, name)


def _product_operator(name: str, tensors: Sequence[Tensor]) -> str:
    """The operator that a product of two tensors of these ranks writes `out` by."""
    ranks = [t.array.ndim for t in tensors[:2]]
    if name == "linalg_vecdot":
        return "vdot" if ranks == [1, 1] else "sum"
    if max(ranks) > 2:
        return "bmm" if min(ranks) > 2 else "mm"
    return {(1, 1): "dot", (2, 1): "mv"}.get((ranks[0], ranks[1]), "mm")


def _follows(name: str, known: bool) -> bool:
    """Whether the operator has a derivative (`known`: the function has one), which PyTorch does not follow into `out`."""
    return name not in _COPIED and name not in _UNTRACKED and name not in _UNDERIVED and (known or name in _OPERATORS)


def _prepare(name: str, values: list[Any]) -> None:
    """Change the arguments as PyTorch does where there is an `out`. Raises RuntimeError where there is no dimension for `torch.cross`."""
    if name == "cross" and values[2] is None:  # it finds its dimension before anything else, and without a warning
        shape = values[0].array.shape
        if 3 not in shape:
            raise shape_error("no dimension of size 3 in input")
        values[2] = shape.index(3)
    elif name == "ger":
        warnings.emit(_GER)
    elif name in ("mm", "bmm", "addmm", "baddbmm") and any(type(v) is DType for v in values):  # the dtype of the result
        raise ProgramError("NotImplementedError", f"Could not run 'aten::{name}.dtype_out' with arguments from the 'CPU' backend.")
    elif name == "kron":  # its view is of `out`, so that any strides will do
        values[:] = [Tensor(np.array(t.array, order="C"), t.dtype) for t in values]


def check_no_graph(name: str, tensors: Sequence[Tensor], known: bool, out: Any) -> None:
    """Raise PyTorch's error where an argument, `out` among them, requires a gradient. `known`: the function has a derivative."""
    product = name in ("matmul", "linalg_matmul")
    if name in _VIEW_COPIES:
        _check_copy(f"aten::{_operator(name, tensors)}", tensors, out)
    elif (product or _follows(name, known)) and state.enabled and any(t.requires_grad for t in tensors):
        raise no_graph("matmul" if product else _operator(name, tensors))
    if type(out) is Tensor and _is_looked_at_first(name, tensors[0], out.dtype):
        raise runtime_error(_STRICT[name].format(out=out.dtype.torch_name))


def _is_looked_at_first(name: str, input: Tensor, wanted: dtypes.DType) -> bool:
    """Whether PyTorch refuses the dtype of `out` before it looks at the other arguments."""
    if name == "multinomial":
        return input.dtype.is_floating_point and input.array.ndim in (1, 2) and wanted is not dtypes.int64
    return name == "narrow_copy" and wanted is not input.dtype


def _check_copy(operator: str, tensors: Sequence[Tensor], out: Any) -> None:
    if state.enabled and type(out) is Tensor and out.requires_grad:
        raise no_graph(operator)
    if _have_tangent(tensors):
        raise ProgramError("NotImplementedError", f"Trying to use forward AD with {operator} that does not support it.")


def _level(name: str, known: bool) -> ForwardLevel | None:
    """The open level of forward AD, for an operator that does not take tangents into `out`."""
    return state.dual if _follows(name, known or name in _COMPARISONS or name in _PRODUCTS) else None


def _without_tangents(name: str, known: bool, run: Callable[[], Any]) -> Any:
    """The result of `run`, without a tangent where the operator takes none into `out`."""
    level = _level(name, known)
    if level is None:
        return run()
    before, level.paused = level.paused, True
    try:
        return run()
    finally:
        level.paused = before


def check_no_tangent(name: str, tensors: Sequence[Tensor], known: bool) -> None:
    """Raise PyTorch's error where an argument has a tangent; it looks after the result has been written."""
    level = _level(name, known)
    if level is not None and _have_tangent(tensors):
        raise ProgramError(
            "NotImplementedError",
            f"Trying to use forward AD with {_operator(name, tensors)}_out that does not support it because it is an out= function",
        )


def _have_tangent(tensors: Sequence[Tensor]) -> bool:
    level = state.dual
    return level is not None and any(level.tangent_of(t) is not None for t in tensors)


def no_graph(operator: str) -> ProgramError:
    """PyTorch's error of an operator that writes into `out` while a gradient is wanted."""
    return runtime_error(
        f"{operator}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
    )


def _underived(name: str, out: Tensor, result: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Write the copy of a view into `out`, with a node that has no derivative."""
    error = no_derivative(f"aten::{_operator(name, tensors)}")

    def refuse(*_: Any) -> Any:
        raise error

    made = in_place.write_out(out, Tensor(memory_format.copy(result.array), result.dtype))
    if not any(t.requires_grad for t in tensors) and not _have_tangent(tensors):
        return made
    operands = [t for t in tensors if t is not out]
    names = [f"operand{i}" for i in range(len(operands))]
    rules: Any = dict.fromkeys(names, Rule(refuse, ""))
    kind: Any = {"full_name": "torch::autograd::NotImplemented", "jvp": refuse, "complex": True}
    op = Op("NotImplemented", lambda *_: result.array, " ".join(names), **kind, **rules)
    return in_place.apply(made, lambda _: op(*operands))


def computed(
    name: str, run: Callable[..., Any], values: list[Any], out: Any, tensors: Sequence[Tensor], listed: Sequence[Any], known: bool
) -> Any:
    """The result that is written into `out`. Raises PyTorch's errors for an `out` that does not fit, which come before others.

    `tensors` are those of the call, `out` included, `listed` those of a list; `known`: the function has a derivative.
    """
    _prepare(name, values)
    if name not in _GRAPH_LATE:
        check_no_graph(name, [*tensors, *listed], known, out)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if name in ("max", "min") and len(tensors) == 2:  # of all elements
        check_no_tangent(name, tensors, known)
    elif name in _UNDERIVED and name != "diag" and _have_tangent(tensors):
        raise ProgramError("NotImplementedError", f"Trying to use forward AD with aten::{name} that does not support it.")
    if name in _DTYPE_FIRST:
        _check_first(name, outs, values[0].dtype, tensors)
    try:
        with recording(state.enabled and name not in _UNDERIVED):
            result = _without_tangents(name, known, lambda: run(*values))
    except ProgramError as error:
        refused_first = bool(error.names) and complex_refusals.before_checks(error.names[0])
        if error.code is Code.NO_KERNEL and name not in _LATE and not refused_first:
            operands = [t for t in tensors if not any(t is into for into in outs)]
            kept = operands[:1] if name.startswith(("scatter", "index")) else operands
            _check_first(name, outs, dtypes.result_type(tuple(kept)), tensors)
        if error.code is Code.OUT_OF_RANGE and type(out) is Tensor:  # kernels look at positions after all else
            check_dtype(name, out, values[0].dtype, tensors)
        if name == "lu_solve":  # it only warns before it calls the other
            check_no_graph(name, tensors, known, out)
        raise
    if name == "linalg_vecdot":
        check_dtype(name, out, result.dtype, tensors)
    if name in _GRAPH_LATE:
        check_no_graph(name, tensors, known, out)
    return result


def _check_first(name: str, outs: Sequence[Tensor], dtype: DType, tensors: Sequence[Tensor]) -> None:
    """Check the first tensor before anything is computed, for a result of this dtype."""
    text = _SEVERAL.get(name) if len(outs) > 1 else ""
    if isinstance(text, str) and text and outs[0].dtype is not dtype:
        raise _wrong_dtype(text, name, outs[0], dtype, "values")
    check_dtype(name, outs[0], dtype, tensors)


def write_several(name: str, outs: Sequence[Tensor], results: Any, tensors: Sequence[Tensor]) -> Any:
    """Write the parts of a result into `outs`, and return these. Raises what `write` raises."""
    _check_dtypes(name, outs, results, tensors)
    kind = named(f"{results.type_name}_out", *results.fields) if isinstance(results, NamedResult) else type(results)
    return kind(write(name, into, part, tensors) for into, part in zip(outs, results, strict=False))


def _check_dtypes(name: str, outs: Sequence[Tensor], results: Any, tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError for one of several tensors whose dtype does not take its part of the result, before any is written."""
    fields: Sequence[Any] = getattr(results, "fields", range(len(results)))
    parts = list(zip(fields, zip(outs, results, strict=False), strict=False))
    pairs = dict(reversed(parts) if name == "linalg_eigh" else parts)  # which looks at the vectors first
    texts = _SEVERAL.get(name, "")
    for field in texts if isinstance(texts, dict) else pairs:
        out, result = pairs[field]
        text = texts[field] if isinstance(texts, dict) else texts
        if text and result.dtype is not out.dtype:
            raise _wrong_dtype(text, name, out, result.dtype, field)
        check_dtype(name, out, result.dtype, tensors, field)


def check_dtype(name: str, out: Tensor, dtype: DType, tensors: Sequence[Tensor], field: str = "result") -> None:
    """Raise RuntimeError for an `out` that does not take the `field` of the function's result, which has this dtype."""
    if dtype is out.dtype or (name in _TRUTH and out.dtype in (dtypes.bool_, dtypes.uint8)):
        return
    text = _STRICT.get(name, _EXACT if name in ("cumsum", "cumprod") else "")
    if _STRICT_COUNTS.get(name, len(tensors)) != len(tensors):
        text = ""
    if not text and dtype.category > out.dtype.category and name != "bernoulli":  # which draws in the dtype of `out`
        text = _LOWER.get(name, "")
        if _operator(name, tensors) in ("cat", "stack"):
            out_name = out.dtype.torch_name
            raise ProgramError("TypeError", f"torch.cat(): input types can't be cast to the desired output type {out_name}")
        if not text:
            raise result_dtype_error(dtype.torch_name, out.dtype)
    if text:
        raise _wrong_dtype(text, name, out, dtype, field)


def _wrong_dtype(text: str, name: str, out: Tensor, dtype: DType, field: str) -> ProgramError:
    return runtime_error(
        text.format(
            name=name.removeprefix("linalg_"),
            dotted=name.replace("linalg_", "linalg."),
            field=field,
            result=dtype.torch_name,
            out=out.dtype.torch_name,
            result_c=dtype.c_name,
            out_c=out.dtype.c_name,
            small=dtype is dtypes.int32,
        )
    )


def write(name: str, out: Tensor, result: Any, tensors: Sequence[Tensor]) -> Tensor:
    """Write a result of the function `name` into `out`. Raises RuntimeError for an `out` of a dtype that does not take it.

    `tensors` are those of the call, `out` included.
    """
    field = "eigenvalues" if name == "linalg_eigvals" else "result"
    check_dtype(name, out, result.dtype, tensors, field)
    if name == "tensordot" and out.requires_grad and out.array.shape != result.array.shape:
        raise runtime_error(
            "tensordot(): the 'out' tensor was specified and requires gradients, and its shape does not match the expected result. Either "
            "remove the 'out' argument, ensure it does not require gradients, or make sure its shape matches the expected output."
        )
    if name == "normal" and len(tensors) > 1 and out.array.shape != result.array.shape:  # PyTorch adds the means to what `out` holds
        raise ProgramError("NotImplementedError", "normal() into an out of another shape is not part of gradcli")
    if name in _UNDERIVED:
        return _underived(name, out, result, tensors)
    if result.requires_grad and result.is_leaf:  # a new tensor with requires_grad=True
        made = in_place.write_out(out, Tensor(result.array, result.dtype))
        made.requires_grad = True
        return made
    if result.requires_grad and name not in _COPIED and name not in _UNTRACKED:
        raise no_graph(_operator(name, ()))
    laid = result
    unfit = result.dtype is not out.dtype or (out.array.size > 0 and out.array.shape != result.array.shape)
    if name in _ROW_MAJOR or (name in _BY_COLUMNS and unfit):
        laid = Tensor(memory_format.contiguous(np.ascontiguousarray(result.array)), result.dtype)  # a copy, in row-major order
    made = in_place.write_out(out, laid)
    if name in _UNTRACKED:
        return in_place.apply(made, lambda _: result)
    return in_place.copy_(made, result) if name in _COPIED and (result.requires_grad or state.dual is not None) else made
