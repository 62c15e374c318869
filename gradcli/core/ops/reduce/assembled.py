"""Functions that PyTorch assembles of others: combinations, vander, gradient, nanmean, powers in double precision and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.namespaces import traced
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Rule
from gradcli.core.ops import checks
from gradcli.core.ops.elementwise import add_multiply, scalars
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _error(text: str, kind: str = "RuntimeError") -> ProgramError:
    return ProgramError(kind, text)


# --- powers ---


def _double(x: Any) -> Any:
    return to_dtype(x, dtypes.float64) if type(x) is Tensor and x.dtype is not dtypes.float64 else x


def float_power(input: Any, exponent: Any) -> Any:
    """`input ** exponent` in double precision."""
    if type(input) is not Tensor:
        return add_multiply.rpow(_double(exponent), float(input))
    return add_multiply.pow(_double(input), _double(exponent) if type(exponent) is Tensor else float(exponent))


def _float_power_in_place(input: Tensor, exponent: Any) -> Any:
    if input.dtype is not dtypes.float64:
        raise ProgramError(
            "RuntimeError",
            f"the base given to float_power_ has dtype {input.dtype.torch_name} but the operation's result requires dtype Double",
        )
    return in_place.apply(input, "float_power_", lambda t: float_power(t, exponent))


def _powers_of_two(xp: Any, grad: Any, other: Any) -> Any:
    return np.exp2(np.asarray(xp.plain(other), xp.plain(grad).dtype))


LDEXP = Pointwise(
    "LdexpBackward0",
    lambda x, other: x * np.exp2(np.asarray(other, x.dtype)),
    "input other",
    kind="float",
    input=Rule(lambda xp, grad, other: scalars.times_data(xp, grad, _powers_of_two(xp, grad, other)), "grad * 2.**other"),
    other=None,
)


# --- vectors ---


def diagflat(input: Tensor, offset: int = 0) -> Any:
    """The matrix with all elements on its diagonal."""
    return _call("diag", _call("reshape", input, (-1,)), offset)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Any:
    """All ways to choose r elements of a vector, in their order, one a row."""
    if input.array.ndim != 1:
        raise _error(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    if r < 0:
        raise _error(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return Tensor(np.empty(0, input.dtype.np), input.dtype)
    n = input.array.shape[0]
    limits.check_elements(n**r * r, input.array.itemsize)
    places = np.indices((n,) * r)
    mask = np.ones((n,) * r, bool)
    for k in range(r - 1):
        mask &= places[k] <= places[k + 1] if with_replacement else places[k] < places[k + 1]
    grids = catalog.function("meshgrid")([input] * r, indexing="ij")
    return _call("stack", [_call("masked_select", grid, wrap(mask)) for grid in grids], 1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of a vector's elements, one a row; the highest first."""
    if x.array.ndim != 1:
        raise _error("x must be a one-dimensional tensor.")
    count = x.array.shape[0] if N is None else N
    if count < 0:
        raise _error("N must be non-negative.")
    limits.check_elements(x.array.shape[0] * count, x.array.itemsize)
    powers = x.array[:, None] ** np.arange(count)
    if x.requires_grad:
        raise _error("vander of a tensor that requires grad is not part of gradcli; torch.linalg.vander is")
    made = powers if increasing else powers[:, ::-1]
    return wrap(np.ascontiguousarray(made).astype(x.dtype.np if x.dtype.is_floating_point else np.int64))


def linalg_vander(x: Tensor, N: int | None = None) -> Any:
    """The powers of a vector's elements, the lowest first."""
    count = x.array.shape[-1] if N is None else N
    if count < 2:
        raise _error("N must be greater than 1.")
    limits.check_elements(x.array.size * count, x.array.itemsize)
    column = _call("unsqueeze", x, -1)
    powers = _call("cumprod", catalog.method("expand").method(column, ((*x.array.shape, count - 1),), {}), -1)
    ones = Tensor(np.ones((*x.array.shape, 1), powers.dtype.np), powers.dtype)
    return _call("cat", [ones, powers], -1)


# --- differences ---


def _slope(x: Tensor, at: int, spacing: float, edge_order: int) -> Any:
    """Central differences along one dimension, one-sided at the ends."""
    size = x.array.shape[at]

    def part(start: int, length: int) -> Any:
        return _call("narrow", x, at, start, length)

    def over(value: Any, number: float) -> Any:
        return scalars.over(traced, value, number)

    def rise(low: int, high: int, length: int) -> Any:
        # what is taken away is made first, as PyTorch's compiler has it
        less = part(low, length)
        return part(high, length) - less

    centre = over(over(rise(0, 2, size - 2), 2), spacing) if size > 2 else None
    if edge_order == 1:
        first, last = over(rise(0, 1, 1), spacing), over(rise(size - 2, size - 1, 1), spacing)
    else:
        first = over(
            scalars.times(traced, part(0, 1), -1.5) + scalars.times(traced, part(1, 1), 2) - scalars.times(traced, part(2, 1), 0.5), spacing
        )
        last = over(
            scalars.times(traced, part(size - 3, 1), 0.5)
            - scalars.times(traced, part(size - 2, 1), 2)
            + scalars.times(traced, part(size - 1, 1), 1.5),
            spacing,
        )
    return _call("cat", [first, last] if centre is None else [first, centre, last], at)


def gradient(input: Tensor, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The slope along each dimension of values at even distances."""
    rank = input.array.ndim
    dims = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    places = [checks.wrap_dim(d, rank) for d in dims]
    if edge_order not in (1, 2):
        raise _error("torch.gradient only supports edge_order=1 and edge_order=2.")
    if isinstance(spacing, Sequence) and len(spacing) == len(places) and all(isinstance(s, (int, float)) for s in spacing):
        steps = [float(s) for s in spacing]
    elif spacing is None or isinstance(spacing, (int, float)):
        steps = [1.0 if spacing is None else float(spacing)] * len(places)
    else:
        raise _error("gradient with coordinates as spacing is not part of gradcli; numbers are", "NotImplementedError")
    for at in places:
        if input.array.shape[at] <= edge_order:
            raise _error("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_slope(input, at, step, edge_order) for at, step in zip(places, steps, strict=True))


# --- reductions ---


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Any:
    """The mean of what is not nan."""
    if not input.dtype.is_floating_point:
        raise _error(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.torch_name}")
    axes = checks.wrap_dims(dim, input.array.ndim)
    counted = wrap(np.asarray(np.sum(~np.isnan(input.array), axis=axes, keepdims=keepdim), np.int64))
    return add_multiply.div(catalog.function("nansum")(input, dim, keepdim, dtype=dtype), counted)


def sum_to_size(input: Tensor, size: Sequence[int]) -> Any:
    """Summed over what broadcasting to the present shape would repeat."""
    have = input.array.shape
    try:
        fits = np.broadcast_shapes(have, tuple(size)) == have
    except ValueError:
        fits = False
    if not fits:
        shown = [f"{{[{', '.join(map(str, shape))}]}}" for shape in (size, have)]
        raise _error(f"size {shown[0]} is not expandable to size {shown[1]}.")
    return traced.sum_to(input, tuple(size))


# --- tests ---


def isin(elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements are among the others."""
    left, right = (np.asarray(x.array if type(x) is Tensor else x) for x in (elements, test_elements))
    return wrap(np.asarray(np.isin(left, right, invert=invert)))


def _integers(name: str, ufunc: np.ufunc) -> Any:
    def run(input: Tensor, other: Tensor) -> Tensor:
        dtype = dtypes.result_type((input, other))
        if dtype.is_floating_point or dtype is dtypes.bool_:
            raise checks.not_implemented(f"{name}_cpu", dtype)
        checks_shapes = np.broadcast_shapes(input.array.shape, other.array.shape)
        limits.check_elements(int(np.prod(checks_shapes)), dtype.itemsize)
        return Tensor(np.asarray(ufunc(input.array.astype(dtype.np), other.array.astype(dtype.np))), dtype)

    return run


def _same(input: Tensor) -> Tensor:
    """What concerns complex numbers leaves real ones as they are."""
    return input


_X = [0.5, -1.5, 2.0, 1.25]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0], [1.0, 2.0, 0.75]]
_P = [0.5, 1.5, 2.0]


def _test(name: str, run: Any, doc: str, out: bool = True) -> Function:
    return Function(name, ("Tensor input", run), doc=doc, samples=(Sample(f"torch.{name}(tensor([1., -math.inf]))"),), out=out)


FUNCTIONS = (
    Function(
        "float_power",
        ("Tensor input, Tensor exponent", float_power),
        ("Number self, Tensor exponent", float_power),
        ("Tensor input, Number exponent", float_power),
        doc="input ** exponent in double precision.",
        samples=(Sample("float_power(x, 3)", lambda x: x**3, x=_X), Sample("float_power(x, y)", lambda x, y: x**y, x=_P, y=_P)),
        out=True,
    ),
    Function(
        "float_power_",
        ("Tensor input, Tensor exponent", _float_power_in_place),
        ("Tensor input, Number exponent", _float_power_in_place),
        doc="input to a power in double precision, in place.",
        samples=(Sample("(x.double() * 1).float_power_(3)", lambda x: x**3, x=_X),),
        function=False,
    ),
    Function(
        "ldexp",
        ("Tensor input, Tensor other", lambda x, other: LDEXP(x, other)),
        doc="input * 2**other.",
        ops=(LDEXP,),
        samples=(Sample("ldexp(x, tensor([1, 2, -1, 0]))", lambda x: x * np.array([2, 4, 0.5, 1]), x=_X),),
        inplace=True,
        out=True,
    ),
    Function(
        "diagflat",
        ("Tensor input, int offset=0", diagflat),
        doc="The matrix with all elements on its diagonal.",
        samples=(Sample("diagflat(x)", np.diagflat, x=_X), Sample("diagflat(x, 1)", lambda x: np.diagflat(x, 1), x=_M)),
    ),
    Function(
        "combinations",
        ("Tensor input, int r=2, bool with_replacement=False", combinations),
        doc="All ways to choose r elements of a vector.",
        samples=(Sample("combinations(x)", None, x=_X), Sample("combinations(x, 2, True)", None, x=_P)),
        method=False,
    ),
    Function(
        "vander",
        ("Tensor x, int? N=None, bool increasing=False", vander),
        doc="The powers of a vector's elements.",
        samples=(Sample("vander(tensor([1., 2., 3.]))"),),
        method=False,
    ),
    Function(
        "vander",
        ("Tensor x, *, int? N=None", linalg_vander),
        doc="The powers of a vector's elements, the lowest first.",
        samples=(Sample("torch.linalg.vander(x)", lambda x: np.vander(x, increasing=True), x=_P),),
        namespace="torch.linalg",
        method=False,
    ),
    Function(
        "gradient",
        ("Tensor input, *, any spacing=None, any dim=None, int edge_order=1", gradient),
        doc="The slope along each dimension of values at even distances.",
        samples=(
            Sample("torch.gradient(x)[0]", np.gradient, x=_X),
            Sample("torch.gradient(x, spacing=2.)[1]", lambda x: np.gradient(x, 2.0)[1], x=_M),
            Sample("torch.gradient(x, edge_order=2)[0]", lambda x: np.gradient(x, edge_order=2), x=_X),
        ),
        method=False,
    ),
    Function(
        "nanmean",
        ("Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None", nanmean),
        doc="The mean of what is not nan.",
        samples=(Sample("nanmean(x)", np.nanmean, x=_X), Sample("x.nanmean(0)", lambda x: np.nanmean(x, 0), x=_M)),
        out=True,
    ),
    Function(
        "sum_to_size",
        ("Tensor input, ints size", sum_to_size),
        doc="Summed over what broadcasting to the present shape would repeat.",
        samples=(Sample("x.sum_to_size(1, 3)", lambda x: x.sum(0, keepdims=True), x=_M),),
        function=False,
    ),
    Function(
        "isin",
        ("Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False", isin),
        ("Number element, Tensor test_elements, *, bool assume_unique=False, bool invert=False", isin),
        ("Tensor elements, Number test_element, *, bool assume_unique=False, bool invert=False", isin),
        doc="Which elements are among the others.",
        samples=(Sample("isin(tensor([1, 2, 3]), tensor([2, 5]))"),),
        method=False,
        out=True,
    ),
    *(
        Function(
            name,
            ("Tensor input, Tensor other", _integers(name, ufunc)),
            doc=doc,
            samples=(Sample(f"{name}(tensor([4, 6]), tensor(10))"),),
            inplace=True,
            out=True,
        )
        for name, ufunc, doc in (("gcd", np.gcd, "The greatest common divisor."), ("lcm", np.lcm, "The least common multiple."))
    ),
    _test("isposinf", lambda x: wrap(np.asarray(x.array == np.inf)), "Whether elements are infinity."),
    _test("isneginf", lambda x: wrap(np.asarray(x.array == -np.inf)), "Whether elements are minus infinity."),
    _test("isreal", lambda x: wrap(np.ones(x.array.shape, bool)), "Whether elements have no imaginary part: all have none.", False),
    _test("real", _same, "The input itself, which has no imaginary part.", False),
    _test("conj", _same, "The input itself, which has no imaginary part.", False),
)
