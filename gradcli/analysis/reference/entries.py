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

#: families of operations, or the folders that they stand in -> titles in the reference; several may share a title
_TITLES = {
    "tensor_methods": "autograd of a tensor",
    "elementwise.add_multiply": "arithmetic",
    "elementwise.divide_remainder": "arithmetic",
    "elementwise.power": "arithmetic",
    "elementwise.comparison": "comparison",
    "elementwise.bitwise": "arithmetic of bits",
    "shape.casting": "dtypes and copies",
    "elementwise.exponential": "exponentials and logarithms",
    "elementwise.trigonometric": "trigonometric and hyperbolic",
    "elementwise.special.error_function": "error function and normal distribution",
    "elementwise.special.gamma": "gamma and zeta functions",
    "elementwise.special.bessel": "Bessel functions",
    "elementwise.special.polynomials": "orthogonal polynomials",
    "activation": "activations",
    "activation.softmax": "softmax",
    "elementwise.rounding": "rounding and signs",
    "elementwise.fake_quantize": "rounding and signs",
    "elementwise.signs": "rounding and signs",
    "elementwise.floating_point": "floating point numbers",
    "elementwise.complex_numbers": "complex numbers",
    "elementwise.where": "choosing elementwise",
    "elementwise.maximum": "choosing elementwise",
    "reduce": "reductions",
    "reduce.variance": "statistics",
    "reduce.order_statistics": "statistics",
    "reduce.histogram": "statistics",
    "reduce.cumulative": "cumulative sums and products",
    "reduce.differences": "differences and integrals",
    "index.sorting": "sorting",
    "index.unique": "sorting",
    "shape.views": "shapes and views",
    "shape.transpose": "shapes and views",
    "shape.squeeze": "shapes and views",
    "shape.rearrange": "rearranging",
    "shape.diagonal": "diagonals and triangles",
    "shape.broadcasting": "broadcasting",
    "shape.grid": "grids and combinations",
    "shape.slicing": "parts of tensors",
    "shape.splitting": "parts of tensors",
    "shape.joining": "joining",
    "shape.view_copies": "copies of views",
    "shape.layout": "sizes and memory",
    "shape.as_strided": "sizes and memory",
    "index.indexing": "indexing",
    "index.nonzero": "indexing",
    "index.gather_scatter": "gathering and scattering",
    "index.index_reduce": "gathering and scattering",
    "index.scatter_reduce": "gathering and scattering",
    "index.index_select": "gathering and scattering",
    "index.take_put": "gathering and scattering",
    "index.masked": "gathering and scattering",
    "shape.view_scatter": "gathering and scattering",
    "shape.fill": "writing in place",
    "shape.apply": "writing in place",
    "linalg.products": "products of matrices",
    "linalg": "linear algebra",
    "linalg.solving": "linear algebra",
    "linalg.decompositions": "factorisations of matrices",
    "linalg.solving.lu_solve": "factorisations of matrices",
    "loss": "losses",
    "layers.linear": "layers and normalization",
    "layers.normalization": "layers and normalization",
    "layers.embedding": "embeddings",
    "layers.embedding_bag": "embeddings",
    "layers.dropout": "dropout",
    "create.random_tensors": "random numbers",
    "create.random_in_place": "random numbers",
    "fourier": "Fourier transforms",
    "linalg.distances": "distances",
    "create.from_data": "creation",
    "create.constants": "creation",
    "create.ranges": "creation",
    "layers.convolution": "convolution",
    "layers.pooling": "pooling",
    "layers.padding": "padding",
    "layers.interpolation": "interpolation",
    "layers.grid_sampling": "interpolation",
    "layers.pixel_shuffle": "pixels and windows of images",
    "layers.fold": "pixels and windows of images",
    "layers.recurrent": "recurrent",
    "layers.lstm_layer": "recurrent",
    "layers.attention": "attention",
    "create.window_functions": "window functions",
}
#: modules of torch -> titles for what is no function of tensors
_PLACES = {
    "autograd": "autograd",
    "func": "autograd",
    "masked": "reductions",
    "signal.windows": "window functions",
    "nn": "modules",
    "nn.parameter": "modules",
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
    for family in catalog.FAMILIES:
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
        family=_TITLES.get(family) or _TITLES[family.rpartition(".")[0]],
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
