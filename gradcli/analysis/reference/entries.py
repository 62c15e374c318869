"""The entries of the reference: everything that gradcli has of torch, by family.

Signatures, formulas and samples of functions come from their declarations.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from gradcli.analysis.reference import summaries
from gradcli.analysis.reference.signatures import signatures_of
from gradcli.core.calling.routines import Constructor, Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import FUNCTIONS
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.tensor import dtypes
from gradcli.core.vocabulary import library
from gradcli.results.reference import Derivative, Entry

#: title in the reference -> the families of operations that stand under it, in their order there
_FAMILIES = {
    "autograd of a tensor": "tensor_methods",
    "arithmetic": "elementwise.add_multiply elementwise.lerp elementwise.divide_remainder elementwise.power",
    "comparison": "elementwise.comparison",
    "arithmetic of bits": "elementwise.bitwise",
    "dtypes and copies": "shape.casting",
    "exponentials and logarithms": "elementwise.exponential",
    "trigonometric and hyperbolic": "elementwise.trigonometric",
    "error function and normal distribution": "elementwise.special.error_function",
    "gamma and zeta functions": "elementwise.special.gamma",
    "Bessel functions": "elementwise.special.bessel",
    "orthogonal polynomials": "elementwise.special.polynomials",
    "activations": "activation.piecewise activation.leaky activation.elu activation.smooth activation.glu",
    "softmax": "activation.softmax",
    "rounding and signs": "elementwise.rounding elementwise.fake_quantize elementwise.signs",
    "floating point numbers": "elementwise.floating_point",
    "complex numbers": "elementwise.complex_numbers",
    "choosing elementwise": "elementwise.where elementwise.maximum",
    "reductions": (
        "reduce.sum_mean reduce.product reduce.all_any reduce.max_min reduce.norms reduce.dist reduce.renorm reduce.norm_except_dim"
    ),
    "statistics": "reduce.variance reduce.order_statistics reduce.histogram",
    "cumulative sums and products": "reduce.cumulative",
    "differences and integrals": "reduce.differences",
    "sorting": "index.sorting index.unique",
    "shapes and views": "shape.views shape.transpose shape.squeeze",
    "rearranging": "shape.rearrange",
    "diagonals and triangles": "shape.diagonal",
    "broadcasting": "shape.broadcasting",
    "grids and combinations": "shape.grid",
    "parts of tensors": "shape.slicing shape.splitting",
    "joining": "shape.joining",
    "copies of views": "shape.view_copies",
    "sizes and memory": "shape.layout shape.as_strided",
    "indexing": "index.indexing index.nonzero",
    "gathering and scattering": (
        "index.gather_scatter index.index_reduce index.scatter_reduce index.index_select index.take_put index.masked shape.view_scatter"
    ),
    "writing in place": "shape.fill shape.apply",
    "products of matrices": (
        "linalg.products.matmul linalg.products.matrix_products linalg.products.vector_products linalg.products.addmm "
        "linalg.products.addr linalg.products.addbmm linalg.products.einsum linalg.products.tensordot"
    ),
    "linear algebra": (
        "linalg.solving.inverse linalg.determinant linalg.solving.solve linalg.solving.triangular linalg.matrix_norms "
        "linalg.matrix_powers linalg.solving.least_squares linalg.removed"
    ),
    "factorisations of matrices": (
        "linalg.decompositions.cholesky linalg.decompositions.eigen linalg.decompositions.svd linalg.decompositions.qr "
        "linalg.decompositions.householder linalg.decompositions.symmetric linalg.decompositions.lu linalg.solving.lu_solve"
    ),
    "distances": "linalg.distances",
    "Fourier transforms": "fourier.short_time fourier.transforms",
    "creation": "create.from_data create.constants create.ranges",
    "random numbers": "create.random_tensors create.random_in_place",
    "losses": (
        "loss.regression loss.cross_entropy loss.binary_cross_entropy loss.likelihoods loss.margins loss.embedding_losses loss.ctc "
        "loss.linear_cross_entropy"
    ),
    "layers and normalization": (
        "layers.linear layers.normalization.batch_norm layers.normalization.instance_norm layers.normalization.layer_norm "
        "layers.normalization.group_norm layers.normalization.rms_norm"
    ),
    "embeddings": "layers.embedding layers.embedding_bag",
    "dropout": "layers.dropout",
    "convolution": "layers.convolution layers.time_convolution",
    "pooling": "layers.pooling.max_pool layers.pooling.avg_pool layers.pooling.fractional layers.pooling.unpool",
    "padding": "layers.padding",
    "interpolation": "layers.interpolation layers.grid_sampling",
    "pixels and windows of images": "layers.pixel_shuffle layers.fold",
    "recurrent": "layers.recurrent layers.lstm_layer",
    "attention": "layers.attention layers.multi_head_attention",
    "window functions": "create.window_functions",
}
_TITLES = {family: title for title, families in _FAMILIES.items() for family in families.split()}
#: modules of torch -> titles for what is no function of tensors
_PLACES = {
    "autograd": "autograd",
    "func": "autograd",
    "masked": "reductions",
    "signal.windows": "window functions",
    "nn": "modules",
    "nn.parameter": "modules",
    "nn.grad": "gradients of convolutions",
    "nn.functional.grad": "gradients of convolutions",
    "nn.init": "initial values",
    "nn.utils": "modules",
    "optim": "optimisers",
    "optim.lr_scheduler": "schedules of the learning rate",
    "random": "random numbers",
}
_GRADIENT_MODES = frozenset(name for name in library.PLACES if "grad" in name or "inference" in name or "vmap" in name)


def all_entries() -> tuple[Entry, ...]:
    """All entries, in the order of the families; loads all families."""
    seen: set[int] = set()
    found: list[Entry] = []
    for family in _TITLES:
        found += of_family(family, seen)
    public = [name for name in library.PLACES if not name.rpartition(".")[2].startswith("_")]
    rest = [entry for name in public if (entry := of_place(name, seen)) is not None]
    rest += [of_constant(name, value) for name, value in constants().items()]
    return tuple(by_family([*found, *rest]))


def by_family(found: Iterable[Entry]) -> list[Entry]:
    """The entries, each name once, those of a family together."""
    groups: dict[str, list[Entry]] = {}
    # a dtype is listed under several names
    for entry in {entry.name: entry for entry in found}.values():
        groups.setdefault(entry.family, []).append(entry)
    return [entry for group in groups.values() for entry in group]


# --- functions of tensors -------------------------------------------------------------------------


def of_family(family: str, seen: set[int]) -> list[Entry]:
    """The functions of a module of operations, without those whose ids are in `seen`; theirs are added."""
    found = []
    for function in import_module(f"gradcli.core.ops.{family}").FUNCTIONS:
        if id(function) not in seen:
            seen.add(id(function))
            found.append(_function(function, family))
    return found


def _function(function: Any, family: str) -> Entry:
    places = [f"torch.{name}" for name, one in catalog.places(function) if not isinstance(one, InplaceFunction)]
    methods = [f"Tensor.{name}" for name, one in catalog.methods(function) if not isinstance(one, InplaceFunction)]
    names = [*places, *methods]
    ops = dict.fromkeys(function.ops)
    return Entry(
        name=names[0],
        family=_TITLES[family],
        kind="function" if places else "method",
        signatures=signatures_of(names[0], function),
        doc=function.doc,
        grad_fns=tuple(dict.fromkeys(op.grad_fn for op in ops)),
        derivatives=_derivatives(ops),
        aliases=tuple(names[1:]),
        is_method=bool(methods),
        inplace=function.inplace,
        takes_out=isinstance(function, Function) and function.takes_out,
    )


def _derivatives(ops: Iterable[Any]) -> tuple[Derivative, ...]:
    """The derivatives of operations; of operations with the same grad_fn, such as with and without alpha, the longest formulas."""
    records = list(ops)
    found: dict[tuple[str, str], Derivative] = {}
    for op in sorted(records, key=_length, reverse=True):
        for argument, rule in op.rules.items():
            if rule is not None:
                found.setdefault((op.grad_fn, argument), Derivative(op.grad_fn, argument, rule.formula, rule.note))
    order = dict.fromkeys((op.grad_fn, argument) for op in records for argument in op.rules)
    return tuple(found[key] for key in order if key in found)


def _length(op: Any) -> int:
    return sum(len(rule.formula) for rule in op.rules.values() if rule is not None)


# --- the rest -------------------------------------------------------------------------------------


def of_place(name: str, seen: set[int]) -> Entry | None:
    """The entry of a routine, a type or a constant; None where its id is in `seen`, to which it is added."""
    value = library.find(name)
    if id(value) in seen:
        return None
    seen.add(id(value))
    aliases = tuple(f"torch.{other}" for other, place in library.PLACES.items() if other != name and place == library.PLACES[name])
    kind = "type" if isinstance(value, ScriptType) else "routine" if isinstance(value, Routine) else "constant"
    doc = summaries.summary(name, _first_paragraph(value))
    return Entry(f"torch.{name}", _title(name), kind, signatures_of(f"torch.{name}", value), doc, aliases)


def _title(name: str) -> str:
    place = name.rpartition(".")[0]
    if place.startswith("autograd") or name in _GRADIENT_MODES:
        return "autograd"
    if "seed" in name or "rng" in name or "enerator" in name:
        return "random numbers"
    return _PLACES.get(place, "settings and types")


def _first_paragraph(value: object) -> str:
    target: Any = None
    if isinstance(value, ScriptType) and value.construct is not None:
        target = value.construct.made if isinstance(value.construct, Constructor) else value.construct.function
    elif isinstance(value, Routine):
        target = value.function
    text = "" if target is None else (target.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


def constants() -> dict[str, Any]:
    """The dtypes and numbers under `torch.`, by name."""
    names = [name for name in library.members("") if name not in FUNCTIONS and name not in library.PLACES and name not in library.MODULES]
    return {name: library.find(name) for name in names}


def of_constant(name: str, value: object) -> Entry:
    """The entry of a dtype or a number."""
    name = value.name if isinstance(value, dtypes.DType) else name
    full = f"torch.{name}"
    if not isinstance(value, dtypes.DType):
        return Entry(full, "constants", "constant", (full,), f"The number {value!r}.")
    others = tuple(f"torch.{other}" for other, one in dtypes.NAMED.items() if one is value and other != name)
    sort = "Floating-point numbers" if value.is_floating_point else "Truth values" if value is dtypes.bool_ else "Integers"
    return Entry(full, "dtypes", "dtype", (full,), f"{sort}: {value.name}.", others)
