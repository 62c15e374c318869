"""The modules that `import` binds: torch and below, math, and numpy, which is loaded when a program names something of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module

import numpy as np

from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError
from gradcli.lang.names import attributes
from gradcli.lang.python.math import CONSTANTS, math_table
from gradcli.lang.python.object_protocol import TorchVersion, Value
from gradcli.lang.values.object_operations import OPS, iterate
from gradcli.lang.values.operators import BINARY
from gradcli.lang.values.special_methods import Instance, special
from gradcli.lang.values.types import exception_type
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import MISSING, Builtin, Namespace

_made: dict[str, Namespace] = {}

#: `torch.__version__`: the version of PyTorch whose behaviour is reproduced
_VERSION = TorchVersion("2.13.0+cpu")
#: what has no entry in the tables of the library, by module
_CONSTANTS: dict[str, dict[str, Value]] = {
    "": {"__version__": _VERSION, "newaxis": None},
    "version": {"__version__": str(_VERSION), "cuda": None, "hip": None, "xpu": None, "debug": False},
}

#: torch's own exception types, by their place in torch
_ERRORS = {
    "linalg.LinAlgError": "_LinAlgError",
    "autograd.gradcheck.GradcheckError": "GradcheckError",
    "utils.checkpoint.CheckpointError": "CheckpointError",
}


#: names of torch that the language has, each with its module
_SHARED = "gradcli.lang.arrays.shared_memory"
_OF_LANGUAGE = {
    **dict.fromkeys(("save", "load"), "gradcli.lang.saving.torch_files"),
    **dict.fromkeys(("from_dlpack", "frombuffer", "to_dlpack", "utils.dlpack.from_dlpack", "utils.dlpack.to_dlpack"), _SHARED),
    "distributions.constraints.dependent_property": "gradcli.lang.classes.distributions",
    **dict.fromkeys(("TypedStorage", "UntypedStorage"), "gradcli.lang.names.storages"),
}


def torch(place: str = "") -> Namespace:
    """The namespace `torch.PLACE` (`torch` itself for ""); always the same object."""
    known = _made.get(place)
    if known is None:
        path = f"torch.{place}" if place else "torch"
        more = [name.rpartition(".")[2] for name in _OF_LANGUAGE if name.rpartition(".")[0] == place]
        known = _made[place] = Namespace(path, dict(_CONSTANTS.get(place, {})), _finder(place), lambda: [*library.members(place), *more])
    return known


def _finder(place: str) -> Callable[[str], Value]:
    prefix = f"{place}." if place else ""

    def find(name: str) -> Value:
        full = prefix + name
        if "." in name or (name.startswith("_") and not library.has_private(full)):
            return MISSING
        if full in library.MODULES:
            return torch(full)
        if full in _ERRORS:
            return exception_type(_ERRORS[full])
        if full in _OF_LANGUAGE:
            return getattr(import_module(_OF_LANGUAGE[full]), name.upper())
        found = library.find(full)
        return MISSING if found is None else found

    return find


def _math_members() -> dict[str, Value]:
    table = math_table(OPS)
    rounded = {name: _rounding(name, table[name]) for name in ("ceil", "floor", "trunc")}
    entries = table | rounded | {"prod": _product(table["prod"])}
    return {name: Builtin(name, entry) if callable(entry) else entry for name, entry in entries.items()}


def _product(of_numbers: Value) -> Value:
    """`math.prod`, which multiplies tensors too."""

    def run(*args: Value, **kwargs: Value) -> Value:
        if len(args) != 1 or type(args[0]) not in (Tensor, list, tuple) or kwargs.keys() - {"start"}:
            return of_numbers(*args, **kwargs)
        items = [kwargs.get("start", 1), *iterate(args[0])]
        if not any(type(item) is Tensor for item in items):
            return of_numbers(*args, **kwargs)
        return functools.reduce(BINARY["*"], items)

    return run


def _rounding(name: str, function: Value) -> Value:
    """`math.floor` and its like, which ask `__floor__` of an instance first."""

    def run(*args: Value, **kwargs: Value) -> Value:
        if name == "trunc" and args and type(args[0]) is Tensor:
            raise ProgramError("TypeError", "type Tensor doesn't define __trunc__ method")
        own = special(args[0], f"__{name}__") if len(args) == 1 and isinstance(args[0], Instance) else None
        return function(*args, **kwargs) if own is None else own()

    return run


def _numpy_members() -> dict[str, Value]:
    from gradcli.lang.arrays import namespace

    return namespace.MEMBERS


def _numpy_member(name: str) -> Value:
    found = _numpy_members().get(name, MISSING)
    if found is not MISSING or name.startswith("_"):
        return found
    if name not in dir(np):
        import warnings

        try:
            with warnings.catch_warnings(action="ignore"):
                getattr(np, name)
        except AttributeError as error:  # numpy explains names that it had before
            raise ProgramError("AttributeError", str(error)) from None
    hints = ["gradcli reads no files: data comes from the command line, as in x=@FILE"] if name in _FILES else []
    raise ProgramError("AttributeError", f"numpy.{name} is not part of gradcli", hints=hints)


#: functions of numpy that read or write files
_FILES = ("load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile", "memmap")
MATH = Namespace("math", _math_members())
_NUMPY_CONSTANTS = {"__version__": np.__version__, **{name: CONSTANTS[name] for name in ("e", "inf", "nan", "pi")}}
NUMPY = Namespace("numpy", _NUMPY_CONSTANTS, _numpy_member, lambda: list(_numpy_members()))
TORCH = torch()

#: the top-level modules; modules below torch are made when first asked for
TOP: dict[str, Namespace] = {"torch": TORCH, "math": MATH, "numpy": NUMPY}

_STANDARD = (
    *("argparse", "collections", "contextlib", "copy", "dataclasses", "datetime", "enum", "functools", "inspect", "itertools"),
    *("logging", "operator", "pprint", "random", "re", "statistics", "string", "time", "traceback", "typing", "warnings"),
)
#: modules of Python's standard library and others, each with the module of ours and the table that has its names
LIBRARIES: dict[str, tuple[str, str]] = {
    **{name: (f"gradcli.lang.libraries.{name}", "MEMBERS") for name in _STANDARD},
    "abc": ("gradcli.lang.libraries.typing", "ABSTRACT"),
    "types": ("gradcli.lang.classes.types", "MEMBERS"),
    "collections.abc": ("gradcli.lang.names.abstract_types", "MEMBERS"),
    "functorch": ("gradcli.lang.names.functorch", "MEMBERS"),
    "numbers": ("gradcli.lang.names.abstract_types", "NUMBERS"),
    "typing_extensions": ("gradcli.lang.libraries.typing", "MEMBERS"),
    "timeit": ("gradcli.lang.libraries.time", "TIMEIT"),
    "sys": ("gradcli.lang.libraries.system", "SYS"),
    "os": ("gradcli.lang.saving.os_files", "OS"),
    "gc": ("gradcli.lang.libraries.system", "GC"),
    "__future__": ("gradcli.lang.libraries.system", "FUTURE"),
    "pathlib": ("gradcli.lang.saving.paths", "MEMBERS"),
    "json": ("gradcli.lang.saving.json_text", "MEMBERS"),
    "heapq": ("gradcli.lang.libraries.operator", "HEAPQ"),
    "bisect": ("gradcli.lang.libraries.operator", "BISECT"),
    "textwrap": ("gradcli.lang.libraries.string", "TEXTWRAP"),
    "unicodedata": ("gradcli.lang.libraries.string", "UNICODEDATA"),
    "array": ("gradcli.lang.arrays.number_arrays", "MEMBERS"),
    "io": ("gradcli.lang.saving.buffers", "MEMBERS"),
    "os.path": ("gradcli.lang.saving.os_files", "PATH"),
    "matplotlib": ("gradcli.lang.plotting.pyplot", "MATPLOTLIB"),
    "matplotlib.cm": ("gradcli.lang.plotting.pyplot", "CM"),
    "matplotlib.pyplot": ("gradcli.lang.plotting.pyplot", "MEMBERS"),
    "matplotlib.pyplot.style": ("gradcli.lang.plotting.pyplot", "STYLE"),
    "IPython": ("gradcli.lang.libraries.pprint", "IPYTHON"),
    "IPython.display": ("gradcli.lang.libraries.pprint", "DISPLAY"),
    **dict.fromkeys(("tqdm", "tqdm.auto", "tqdm.notebook"), ("gradcli.lang.libraries.tqdm", "MEMBERS")),
}

#: bound before a program starts
PREBOUND: dict[str, Namespace] = {
    "torch": TORCH,
    "nn": torch("nn"),
    "F": torch("nn.functional"),
    "optim": torch("optim"),
    "math": MATH,
    "np": NUMPY,
}


def module(dotted: str) -> Namespace | None:
    """The module of a dotted name; None if there is none."""
    top, _, rest = dotted.partition(".")
    if dotted in LIBRARIES and dotted not in TOP:
        place, table = LIBRARIES[dotted]
        made = import_module(place)
        if hasattr(made, "provided"):
            made.provided.read_attribute = attributes.get_attribute
        TOP[dotted] = Namespace(dotted, dict(getattr(made, table)))
        for value in TOP[dotted].members.values():
            if type(value) is UserClass:
                value.fixed = True
        for below in LIBRARIES:
            if below.startswith(f"{dotted}."):
                inner = module(below)
                TOP[dotted].members.setdefault(below.removeprefix(f"{dotted}."), inner)
    if not rest or dotted in TOP:
        return TOP.get(dotted)
    if top == "numpy":
        found = NUMPY.get(rest) if rest in ("linalg", "random") else None
        return found if type(found) is Namespace else None
    return torch(rest) if top == "torch" and rest in library.MODULES else None
