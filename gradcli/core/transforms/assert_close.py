"""torch.testing.assert_close: an AssertionError where tensors or numbers, or what sequences and mappings hold of them, differ by more
than their dtype's tolerances."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from gradcli import limits
from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.routines import Routine
from gradcli.core.functions import catalog
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

#: by dtype, the relative and the absolute tolerance; of others it is 0
_TOLERANCES = {
    dtypes.float16: (0.001, 1e-5),
    dtypes.bfloat16: (0.016, 1e-5),
    **dict.fromkeys((dtypes.float32, dtypes.complex64), (1.3e-6, 1e-5)),
    **dict.fromkeys((dtypes.float64, dtypes.complex128), (1e-7, 1e-7)),
}
#: how deep sequences and mappings may nest
_DEPTH = 100
_OF_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


Path = tuple[Any, ...]


class _Comparison:
    """The options of one call."""

    def __init__(self, rtol: Any, atol: Any, equal_nan: Any, check_dtype: Any, check_stride: Any, msg: Any) -> None:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise ProgramError("ValueError", text)
        if not all(one is None or type(one) in (int, float) for one in (rtol, atol)):
            raise ProgramError("NotImplementedError", "the tolerances of torch.testing.assert_close are numbers here")
        self.rtol, self.atol = rtol, atol
        self.equal_nan, self.check_dtype, self.check_stride, self.msg = equal_nan, check_dtype, check_stride, msg
        #: the keys and positions that lead to what is compared
        self.path: Path = ()

    def fail(self, text: str) -> NoReturn:
        """Raise the AssertionError, with the program's own text if it has given one."""
        text += _where(self.path)
        shown = text if self.msg is None else self.msg(text) if callable(self.msg) else self.msg
        if not isinstance(shown, str):
            raise ProgramError("NotImplementedError", "the msg of torch.testing.assert_close is a text, or a function that gives one, here")
        raise ProgramError("AssertionError", shown)

    def tolerances(self, *kinds: dtypes.DType) -> tuple[float, float]:
        """The given tolerances, or the largest of those of dtypes."""
        if self.rtol is not None:
            return self.rtol, self.atol
        relative, absolute = zip(*(_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds), strict=True)
        return max(relative), max(absolute)

    def pair(self, path: Path, actual: Any, expected: Any) -> None:
        """Compare what is no sequence and no mapping."""
        self.path = path
        if actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}")
        elif type(actual) is type(expected) is bool:
            if actual is not expected:
                self.path = ()  # PyTorch forgets it here
                self.fail(f"Booleans mismatch: {actual} is not {expected}")
        elif type(actual) in _OF_NUMBERS:
            self.numbers(actual, expected)
        else:
            self.tensors(actual, expected)

    def numbers(self, actual: complex, expected: complex) -> None:
        """Compare two numbers."""
        if self.check_dtype and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        rtol, atol = self.tolerances(_OF_NUMBERS[type(actual)], _OF_NUMBERS[type(expected)])
        apart = abs(actual - expected)
        if not (math.isfinite(apart) and apart <= atol + rtol * abs(expected)):
            self.fail(_of_scalars(actual, expected, rtol, atol))

    def tensors(self, actual: Tensor, expected: Tensor) -> None:
        """Compare two tensors."""
        strides = [catalog.method("stride").method(one, (), {}) for one in (actual, expected)]
        facts = (
            ("shape", actual.shape, expected.shape, True),
            ("stride()", *strides, self.check_stride),
            ("dtype", actual.dtype, expected.dtype, self.check_dtype),
        )
        for name, ours, theirs, checked in facts:
            if checked and ours != theirs:
                self.fail(f"The values for attribute '{name}' do not match: {ours!r} != {theirs!r}.")
        rtol, atol = self.tolerances(actual.dtype, expected.dtype)
        one, two = _alike(actual, expected)
        matches = catalog.function("isclose")(one, two, rtol, atol, bool(self.equal_nan)).array.reshape(-1)
        if matches.all():
            return
        if not one.array.ndim:
            self.fail(_of_scalars(one.item(), two.item(), rtol, atol))
        count = matches.size - int(matches.sum())
        lines = [f"Mismatched elements: {count} / {matches.size} ({count / matches.size:.1%})"]
        a, b = (x.array.reshape(-1) for x in (one, two))
        if not (one.dtype.is_floating_point or one.dtype.is_complex):
            a, b = a.astype(np.int64), b.astype(np.int64)  # the quotient of whole numbers is one of single precision
        with np.errstate(all="ignore"):
            apart = np.abs(a - b)
            apart[matches] = 0
            single = np.float32 if a.dtype.kind == "i" else apart.dtype
            relative = apart.astype(single) / np.abs(b).astype(single)
        relative[matches] = 0
        for name, found in (("absolute", apart), ("relative", relative)):
            at = int(np.argmax(found))
            place = tuple(int(i) for i in np.unravel_index(at, one.array.shape))
            lines.append(f"Greatest {name} difference: {found[at].item()} at index {place}")
        self.fail(_text("Tensor-likes", lines, rtol, atol))


def _where(path: Path) -> str:
    """What an error says of the place that it is about."""
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def _pairs(path: Path, actual: Any, expected: Any) -> Iterator[tuple[Path, Any, Any]]:
    """The pairs to compare, in PyTorch's order, with the way to each. Raises AssertionError where lengths or keys differ."""
    limits.evaluation.tick()
    if len(path) > _DEPTH:
        raise ProgramError("NotImplementedError", f"torch.testing.assert_close goes {_DEPTH} levels deep here")
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ProgramError("AssertionError", text + _where(path))
        for at, (one, two) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs((*path, at), one, two)
    elif isinstance(actual, dict | Mapping) and isinstance(expected, dict | Mapping):
        ours, theirs = (one.table if isinstance(one, Mapping) else one for one in (actual, expected))
        for key in _shared_keys(path, ours, theirs):
            yield from _pairs((*path, key), ours[key], theirs[key])
    elif _are_comparable(actual, expected):
        yield path, actual, expected
    else:
        raise ProgramError("NotImplementedError", "torch.testing.assert_close compares tensors, numbers, and lists and dicts of them here")


def _are_comparable(actual: Any, expected: Any) -> bool:
    kinds = {type(actual), type(expected)}
    if type(None) in kinds:
        return kinds <= {type(None), bool, Tensor, *_OF_NUMBERS}
    return kinds in ({bool}, {Tensor}) or kinds <= set(_OF_NUMBERS)


def _shared_keys(path: Path, actual: dict[Any, Any], expected: dict[Any, Any]) -> list[Any]:
    """The sorted keys of two mappings. Raises AssertionError unless both have the same ones."""
    kinds = {type(key) for one in (actual, expected) for key in one}
    if len(kinds) > 1 or not kinds <= {int, str}:
        raise ProgramError("NotImplementedError", "the keys of mappings are all texts or all integers in torch.testing.assert_close here")
    if actual.keys() != expected.keys():
        lines = (
            "The keys of the mappings do not match:",
            f"Missing keys in the actual mapping: {sorted(expected.keys() - actual.keys())}",
            f"Additional keys in the actual mapping: {sorted(actual.keys() - expected.keys())}",
        )
        raise ProgramError("AssertionError", "\n".join(lines) + _where(path))
    return sorted(actual)


def _alike(actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    if actual.dtype is expected.dtype:
        return actual, expected
    dtype = dtypes.promote(actual.dtype, expected.dtype)
    return Tensor(dtypes.cast(actual.array, dtype), dtype), Tensor(dtypes.cast(expected.array, dtype), dtype)


def _of_scalars(actual: complex, expected: complex, rtol: float, atol: float) -> str:
    apart = abs(actual - expected)
    relative = math.inf if expected == 0 else apart / abs(expected)
    lines = (f"Expected {expected} but got {actual}.", f"Absolute difference: {apart}", f"Relative difference: {relative}")
    return _text("Scalars", lines, rtol, atol)


def _text(what: str, lines: Sequence[str], rtol: float, atol: float) -> str:
    equality = rtol == 0 and atol == 0
    first, absolute, relative = lines
    if not equality:
        absolute, relative = f"{absolute} (up to {atol} allowed)", f"{relative} (up to {rtol} allowed)"
    return f"{what} are not {'equal' if equality else 'close'}!\n\n{first}\n{absolute}\n{relative}"


def _assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: Any = None,
    atol: Any = None,
    equal_nan: Any = False,
    check_dtype: Any = True,
    check_stride: Any = False,
    msg: Any = None,
) -> None:
    comparison = _Comparison(rtol, atol, equal_nan, check_dtype, check_stride, msg)
    pairs = []
    for pair in _pairs((), actual, expected):  # what is shared is visited once for each path
        pairs.append(pair)
        limits.check_list(len(pairs))
    with recording(False):
        for pair in pairs:
            comparison.pair(*pair)


ASSERT_CLOSE = Routine(_assert_close, "assert_close")
