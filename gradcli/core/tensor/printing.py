"""Arrays as the text that PyTorch 2.13 prints for tensors, to the character (behaviour of torch/_tensor_str.py).

All numbers of a tensor share one form (whole, fixed or scientific) and one width, chosen from the visible numbers only:
tensors over `threshold` elements show `edgeitems` at both ends of every long axis, and the rest is never looked at.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.errors import LimitError, ProgramError, runtime_error

_FLOATING = frozenset(("float16", "bfloat16", "float32", "float64"))
#: dtypes that are never named in a suffix, besides the default one, as long as there are elements to tell them by
_EVIDENT = frozenset(("int64", "bool"))
#: what the text of a tensor begins with
_PREFIX = "tensor("
#: The most characters of a text: the default of the limit `string`.
_MAX_CHARS = 64 * 2**20
#: The largest precision that Python's number formatting takes.
_C_INT_MAX = 2**31 - 1


class PrintOptions:
    """What `torch.set_printoptions` sets.

    `precision` counts digits after the point, `linewidth` characters, `threshold` and `edgeitems` elements. `sci_mode`
    None means that the numbers decide. A precision that is no count is only an error once a number needs it.
    """

    __slots__ = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")

    def __init__(
        self,
        precision: float = 4,
        threshold: float = 1000,
        edgeitems: int = 3,
        linewidth: float = 80,
        sci_mode: bool | None = None,
    ) -> None:
        self.precision = precision
        self.threshold = threshold
        self.edgeitems = edgeitems
        self.linewidth = linewidth
        self.sci_mode = sci_mode

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrintOptions) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def copy(self, *, sci_mode: bool | None = None, **changes: Any) -> PrintOptions:
        """The same options but for `changes`; `sci_mode`, where given, in place of what was chosen."""
        kept = {name: getattr(self, name) for name in self.__slots__} | changes
        return PrintOptions(**kept if sci_mode is None else kept | {"sci_mode": sci_mode})


#: the options in force, which `torch.set_printoptions` changes
options = PrintOptions()

#: precision, threshold, edgeitems, linewidth
_PROFILES: dict[str, tuple[int, float, int, int]] = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}


def set_printoptions(
    options: PrintOptions,
    *,
    precision: float | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: object = None,
) -> None:
    """`torch.set_printoptions` on `options`: the profile first, then what is given besides; an unknown profile changes nothing.

    `sci_mode` is set by every call, so that leaving it out resets it. Raises TypeError for values that are no numbers,
    which PyTorch only finds out when it prints.
    """
    for name, value in (("precision", precision), ("threshold", threshold), ("linewidth", linewidth)):
        if value is not None and not isinstance(value, (int, float)):
            raise ProgramError("TypeError", f"set_printoptions(): {name} must be a number")
    if edgeitems is not None and not isinstance(edgeitems, int):
        raise ProgramError("TypeError", "set_printoptions(): edgeitems must be an int")
    if isinstance(profile, str) and profile in _PROFILES:
        options.precision, options.threshold, options.edgeitems, options.linewidth = _PROFILES[profile]
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = None if sci_mode is None else bool(sci_mode)


def tensor_text(
    array: Array,
    dtype_name: str,
    *,
    options: PrintOptions,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
    is_parameter: bool = False,
    tangent: str | None = None,
) -> str:
    """What `repr` of the tensor is in PyTorch.

    `dtype_name` is the name without `torch.`; bfloat16 comes as a float32 array. `default_dtype` is the name of the default
    floating point dtype. `grad_fn` is the node's name and stands in place of `requires_grad=True`. Raises LimitError
    ("string") before a text of over `_MAX_CHARS` characters is made, and ProgramError where the options are such that PyTorch fails too.
    """
    text = _PREFIX + values_text(array, dtype_name, options=options, indent=len(_PREFIX))
    suffixes = []
    default_complex = "complex128" if default_dtype == "float64" else "complex64"
    if array.size == 0:
        # Without elements nothing tells the shape and the dtype, so fewer of them go without saying.
        if array.ndim != 1:
            suffixes.append(f"size={array.shape}")
        shows_dtype = dtype_name != default_dtype
    else:
        if not options.edgeitems:
            suffixes.append(f"size={array.shape}")
        shows_dtype = dtype_name not in (default_dtype, default_complex) and dtype_name not in _EVIDENT
    if shows_dtype:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn.rpartition('::')[2]}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    if suffixes:
        text = _with_suffixes(text, suffixes, options.linewidth)
    return f"Parameter containing:\n{text})" if is_parameter else text + ")"


def _with_suffixes(text: str, suffixes: list[str], linewidth: float) -> str:
    """`text` with the suffixes that fit behind its last line, each of the others on a line of its own below the first number."""
    start = text.rfind("\n") + 1
    # PyTorch takes the last line to be two characters longer than it is, which leaves room for the closing parenthesis.
    length = len(text) - start + 2
    parts = [text]
    for suffix in suffixes:
        length += 2 + len(suffix)
        if length > linewidth:
            length = len(_PREFIX) + len(suffix)
            parts.append(",\n" + " " * len(_PREFIX) + suffix)
        else:
            parts.append(", " + suffix)
    return "".join(parts)


def values_text(array: Array, dtype_name: str, *, options: PrintOptions, indent: int = 0) -> str:
    """The part between `tensor(` and the suffixes: a number, or rows in brackets that begin at column `indent`.

    Raises what `tensor_text` raises.
    """
    if array.size == 0:
        return "[]"
    heads: list[int | None] = [None] * array.ndim
    if array.ndim and array.size > options.threshold:
        if not options.edgeitems:
            return "[...]"
        array, heads = _visible(array, options.edgeitems)
    _check_length(array.size * 3)
    values = array.ravel().tolist()
    if dtype_name in _FLOATING:
        texts, width = _float_texts(values, options)
    elif array.dtype.kind == "c":
        texts, width = _complex_texts(values, options)
    else:
        texts = list(map(str, values))
        width = max(map(len, texts), default=1)
    _check_length(len(texts) * (width + 2))
    if array.dtype.kind != "c":
        texts = [text.rjust(width) for text in texts]
    if not array.ndim:
        return texts[0]
    return _nested(texts, array.shape, heads, _per_line(width, indent + array.ndim - 1, options.linewidth), indent)


def _check_length(length: int) -> None:
    if length > _MAX_CHARS:
        raise LimitError("string", f"a string of {length:,} characters is over the limit of {_MAX_CHARS:,}")


def _visible(array: Array, edge: int) -> tuple[Array, list[int | None]]:
    """The elements that a summary shows, and for every axis how many of them stand before its `...`; None without one."""
    if array.ndim == 1:
        if len(array) <= 2 * edge:
            return array, [None]
        # A negative `edge` means to slices what it means in PyTorch, and the two ends overlap.
        head = array[:edge]
        return np.concatenate((head, array[-edge:])), [len(head)]
    if edge < 0:
        raise runtime_error("stack expects a non-empty TensorList")
    heads: list[int | None] = [edge if size > 2 * edge else None for size in array.shape]
    # Axes that are long together need not be long each: a broadcast of shape (6, 6, 6, ...) shows all it has.
    _check_length(3 * math.prod(size if head is None else 2 * edge for size, head in zip(array.shape, heads, strict=True)))
    # One gather: slicing axis after axis would copy whole slices of long inner axes.
    indices = [
        np.arange(size) if head is None else np.concatenate((np.arange(head), np.arange(size - head, size)))
        for size, head in zip(array.shape, heads, strict=True)
    ]
    return array[np.ix_(*indices)], heads


def _float_texts(values: list[float], options: PrintOptions) -> tuple[list[str], int]:
    """The numbers in their common form, not padded yet, and the width to pad them to.

    Zeros, nan and infinities have no say in form and width, so they may stick out (`[-0.0000, 1.5000]`).
    """
    # v - v is nan for nan and the infinities
    finite = [v for v in values if v and v - v == 0.0]
    if not finite:
        return [_whole(v) for v in values], 1
    sizes = list(map(abs, finite))
    low, high = min(sizes), max(sizes)
    scientific = options.sci_mode
    if scientific is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if not scientific and all(map(float.is_integer, finite)):
        texts = list(map(_whole, values))
    else:
        letter = "e" if scientific else "f"
        digits = _digits(options.precision, letter)
        _check_length(len(values) * (digits + 3))
        form = f"%.{digits}{letter}"
        texts = [form % v for v in values]
    if len(finite) == len(values):
        return texts, max(map(len, texts))
    return texts, max(len(text) for text, v in zip(texts, values, strict=True) if v and v - v == 0.0)


def _complex_texts(values: list[complex], options: PrintOptions) -> tuple[list[str], int]:
    """The numbers, padded, and the width that PyTorch takes them to have; real and imaginary parts have a form each."""
    reals, real_width = _float_texts([v.real for v in values], options)
    imags, imag_width = _float_texts([v.imag for v in values], options)
    texts = [real.rjust(real_width) + (imag if imag[0] in "+-" else f"+{imag}") + "j" for real, imag in zip(reals, imags, strict=True)]
    return texts, real_width + imag_width + 1


def _whole(value: float) -> str:
    """A whole number with a point to tell it from an integer; nan and infinities get none."""
    return f"{value:.0f}." if value - value == 0.0 else f"{value:.0f}"


def _digits(precision: float, letter: str) -> int:
    """The precision as a count of digits, or the ValueError of Python's number formatting, which PyTorch passes on."""
    if type(precision) is int and 0 <= precision <= _C_INT_MAX:
        return precision
    if isinstance(precision, bool) or not (precision >= 0 and math.isfinite(precision)):
        message = "Format specifier missing precision"
    elif isinstance(precision, float):
        message = f"Invalid format specifier '.{precision}{letter}' for object of type 'float'"
    else:
        message = "precision too big" if precision < 2**63 else "Too many decimal digits in format string"
    raise ProgramError("ValueError", message)


def _per_line(width: int, column: int, linewidth: float) -> int:
    """How many numbers of `width` characters, each with its comma and space, go on a line that begins at `column`."""
    try:
        return max(1, math.floor((linewidth - column) / (width + 2)))
    except (OverflowError, ValueError) as error:
        # an infinite, nan or astronomic linewidth
        raise ProgramError(type(error).__name__, str(error)) from None


def _nested(texts: list[str], shape: tuple[int, ...], heads: list[int | None], per_line: int, indent: int) -> str:
    """The texts in brackets, innermost axis first: rows of `per_line` texts, then axis by axis what they stand in.

    An axis with n axes inside is separated by n line ends, and its items stand one column to the right of its bracket.
    """
    last = len(shape) - 1
    separator = ",\n" + " " * (indent + last + 1)
    items = []
    for row in _groups(texts, shape, heads, last, " ..."):
        if len(row) <= per_line:
            items.append(f"[{', '.join(row)}]")
        else:
            lines = [", ".join(row[at : at + per_line]) for at in range(0, len(row), per_line)]
            items.append(f"[{separator.join(lines)}]")
    for axis in range(last - 1, -1, -1):
        separator = "," + "\n" * (last - axis) + " " * (indent + axis + 1)
        items = [f"[{separator.join(group)}]" for group in _groups(items, shape, heads, axis, "...")]
    return items[0]


def _groups(items: list[str], shape: tuple[int, ...], heads: list[int | None], axis: int, dots: str) -> list[list[str]]:
    """`items` cut into the runs along `axis`, with `dots` where the summary leaves something out."""
    size = shape[axis]
    head = heads[axis]
    groups = [items[at * size : (at + 1) * size] for at in range(math.prod(shape[:axis]))]
    if head is not None:
        for group in groups:
            group.insert(head, dots)
    return groups
