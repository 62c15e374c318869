"""Where names live: finds a public function or method by name and loads its family on first use.

`_index.py` says which family holds a name, so that names are known before a family is loaded. `python tools/make_index.py` writes it.
"""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.functions._index import FAMILIES, FUNCTIONS, METHODS
from gradcli.core.functions.function import Callee, Declared, Function, InplaceFunction

_functions: dict[str, Callee] = {}
_methods: dict[str, Callee] = {}


class Provided:
    """What the catalog needs of the wings above this one. `gradcli.core` provides it."""

    __slots__ = ("load_family",)

    #: the public functions that a family declares, by the family's name
    load_family: Callable[[str], tuple[Declared, ...]]


provided = Provided()


def places(f: Declared) -> list[tuple[str, Callee]]:
    """The names below `torch.` that a declared function has, in-place forms included, each with what it stands for."""
    if not isinstance(f, Function) or not f.is_function:
        return []
    prefix = f.namespace.removeprefix("torch").removeprefix(".")
    found: list[tuple[str, Callee]] = []
    for name in (f.name, *f.aliases):
        place = name if "." in name else f"{prefix}.{name}".lstrip(".")
        named = _under(f, name)
        found.append((place, named))
        if f.inplace and (f"{name}_" in f.torch_inplace if "." not in place else place.startswith("nn.")):
            found.append((f"{place}_", InplaceFunction(named)))
    return found


def _under(f: Function, alias: str) -> Function:
    """`f` as it is called by an alias; errors call `linalg.x` linalg_x."""
    named = f.under(alias.removeprefix("nn.functional.").replace(".", "_"))
    if named is not f and "." in alias:
        named.namespace = f"torch.{alias.rpartition('.')[0]}"
    return named


def methods(f: Declared) -> list[tuple[str, Callee]]:
    """The names of methods that a declared function has, in-place forms included, each with what it stands for."""
    own = f.name.removeprefix("Tensor.")  # names of PythonMethods begin with it, as their errors do
    if not isinstance(f, Function):
        return [(own, f)]
    found: list[tuple[str, Callee]] = []
    for name in (own, *(a for a in f.aliases if "." not in a)) if f.is_method else ():
        named = f if name == own else _under(f, name)
        found.append((name, named))
        if f.inplace:
            found.append((f"{name}_", InplaceFunction(named)))
    return found


def function(name: str) -> Callee:
    """The function `torch.NAME`; NAME may be dotted. Raises KeyError where there is none."""
    known = _functions.get(name)
    if known is None:
        for f in provided.load_family(FUNCTIONS[name]):
            _functions.update(places(f))
        known = _functions[name]
    return known


def method(name: str) -> Callee:
    """The method `Tensor.NAME`. Raises KeyError where there is none."""
    known = _methods.get(name)
    if known is None:
        for f in provided.load_family(METHODS[name]):
            _methods.update(methods(f))
        known = _methods[name]
    return known


def all_functions() -> list[Declared]:
    """Every public function and method; loads all families."""
    return [f for family in FAMILIES for f in provided.load_family(family)]
