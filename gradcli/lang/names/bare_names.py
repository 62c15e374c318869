"""The meaning of names that the program has not bound: Python's built-in names, prebound modules, torch's functions."""

from __future__ import annotations

import difflib
from functools import cache

from gradcli.core.vocabulary import library
from gradcli.errors import EXCEPTION_PARENTS
from gradcli.lang.names import builtins, importable_modules
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED
from gradcli.lang.values.value_classes import MISSING

_TYPES = {
    value.name: value
    for value in (
        types.INT,
        types.FLOAT,
        types.COMPLEX,
        types.BOOL,
        types.STR,
        types.LIST,
        types.TUPLE,
        types.DICT,
        types.SET,
        types.FROZENSET,
        types.RANGE,
        types.SLICE,
        types.TYPE,
        types.OBJECT,
    )
}
_TYPES |= {kind.name: kind for kind in (types.PROPERTY, types.STATICMETHOD, types.CLASSMETHOD)}

#: exception types that are not built in: torch's, numpy's, those of modules that are imported
_NOT_PYTHON = (
    *("_LinAlgError", "GradcheckError", "CheckpointError", "FrozenInstanceError", "AxisError", "LinAlgError", "UFuncTypeError"),
    *("StatisticsError", "UnpicklingError", "error", "JSONDecodeError"),
)

PYTHON: dict[str, Value] = {
    **builtins.FUNCTIONS,
    **_TYPES,
    **{name: types.exception_type(name) for name in EXCEPTION_PARENTS if name not in _NOT_PYTHON},
    "Ellipsis": ...,
    "NotImplemented": NOT_IMPLEMENTED,
    "__name__": "__main__",
}

#: Python's built-in names that are not part of the language
REFUSED = frozenset(
    (
        *("aiter", "anext", "breakpoint", "bytearray", "bytes", "compile", "copyright", "credits"),
        *("eval", "exec", "frozenset", "globals", "help", "input", "license", "locals"),
        *("memoryview", "open", "__import__"),
    )
)

#: torch's names that mean nothing bare in a script, because programs use them as variables of their own (`except ... as e`)
NOT_BARE = frozenset({"e"})
#: names of other languages and of mathematics, and how they are written here
OTHER_NAMES = {
    "true": "True", "TRUE": "True", "false": "False", "FALSE": "False", "null": "None", "nil": "None", "none": "None", "NULL": "None",
    "NaN": "nan", "NAN": "nan", "Inf": "inf", "Infinity": "inf", "infinity": "inf", "Pi": "pi", "PI": "pi", "E": "e",
    "tg": "tan", "arctg": "atan", "arcsen": "asin", "sen": "sin", "lg": "log10", "avg": "mean", "average": "mean",
    "stdev": "std", "stddev": "std", "variance": "var", "magnitude": "norm", "length": "len", "concat": "cat", "concatenate": "cat",
    "power": "pow", "square_root": "sqrt", "sqroot": "sqrt", "logistic": "sigmoid", "signum": "sign", "mod": "remainder",
    "factorial": "math.factorial", "fact": "math.factorial",
    "ceiling": "ceil", "array": "tensor", "matrix": "tensor", "vector": "tensor", "identity": "eye",
}  # fmt: skip
#: names of torch's functions that an expression may use besides
ALIASES = {"ln": "log"}


@cache
def _torch_names() -> frozenset[str]:
    return frozenset(name for name in library.members("") if name not in library.MODULES)


def is_python(name: str) -> bool:
    """Whether Python itself binds the name."""
    return name in PYTHON or name in REFUSED


def default(name: str, one_off: bool) -> Value:
    """The value of a name that the program has not bound, where it is known without loading anything; else MISSING."""
    if one_off and name in builtins.ONE_OFF:
        return builtins.ONE_OFF[name]
    found = PYTHON.get(name, MISSING)
    return importable_modules.PREBOUND.get(name, MISSING) if found is MISSING else found


def is_torch(name: str, one_off: bool) -> bool:
    """Whether the bare name means `torch.NAME`."""
    if name in ALIASES:
        return one_off
    return library.has(name) and not is_python(name) and (one_off or name not in NOT_BARE)


def torch_value(name: str) -> Value:
    """`torch.NAME`, loaded on first use."""
    return importable_modules.TORCH.get(ALIASES.get(name, name))


def hints(name: str, variables: dict[str, Value]) -> list[str]:
    """Hints for a name that is not defined."""
    from gradcli.lang.names import left_out

    if name in REFUSED:
        return [f"{name} is not part of gradcli's language"]
    other = ALIASES.get(name) or OTHER_NAMES.get(name)
    if other is not None:
        return [f"this is written {other}"]
    if left_out.is_left_out("", name):
        return [left_out.text("", name)]
    if name.startswith("_"):
        return []
    known = [*variables, *PYTHON, *importable_modules.PREBOUND, *_torch_names()]
    close = difflib.get_close_matches(name, [k for k in known if not k.startswith("_")], 3, 0.75)
    if close:
        return [f"did you mean {', '.join(dict.fromkeys(close))}?"]
    if len(name) < 3:
        return []
    places = [place for place in library.MODULES if place and (library.has(whole := f"{place}.{name}") or whole in library.MODULES)]
    places.sort(key=lambda place: place.startswith("distributions"))  # constraints have names of functions
    return [f"did you mean torch.{places[0]}.{name}?"] if places else []


def completions(variables: dict[str, Value]) -> list[str]:
    """Every name that can be written bare, for completion."""
    return sorted({*variables, *PYTHON, *importable_modules.PREBOUND, *_torch_names()} - {"__name__"})
