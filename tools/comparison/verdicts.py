"""What two implementations said of one call, compared fact by fact."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from tests.conformance import harness

#: kinds of difference, the worst first
KINDS = (
    "wrong value",  # other numbers, or another structure
    "no error",  # PyTorch raises, gradcli does not
    "fault",  # a fault of gradcli itself, or too slow
    "wrong error",  # gradcli raises something that is no refusal, PyTorch does not
    "zero sign",  # 0. where PyTorch has -0., or the other way round
    "rounding",  # numbers of half precision that are rounded otherwise
    "dtype",
    "shape",
    "strides",
    "graph",  # grad_fn, requires_grad, next_functions
    "saved",  # saved values of nodes
    "error type",
    "error text",
    "warning",
    "refused",  # gradcli says that it does not do this
    "noise",  # numbers of single or half precision that double precision shows to be rounding errors, PyTorch's as large as gradcli's
    "digits",  # numbers that differ in their last digits
    "known",  # listed as a known difference
    "equal",
)
#: kinds that count as equal or announced
FINE = ("refused", "noise", "digits", "known", "equal")

ERROR = re.compile(r"_?[A-Z]\w*(?:Error|Exception|Warning|Iteration)?: ")
#: what refusals say; a fault of gradcli may say it too
REFUSAL = re.compile(
    r"\A(?!InternalFault).*(?:not part of gradcli|not supported by gradcli|gradcli does not|gradcli has no|more than gradcli|"
    r"has no attribute|No module named|cannot import name)",
    re.DOTALL,
)
#: a real number, or one of the parts of a complex one
NUMBER = re.compile(r"(?:(?<![\w.])[+-]?|[+-](?=[\dainfe.+-]+j))(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|nan|inf)(?!(?!j\b)\w)")
_GRAD_FN = re.compile(r",\s*(?:grad_fn=<[^>]*>|requires_grad=True)|grad_fn=<[^>]*>")
_TENSOR_DTYPE = re.compile(r",\s*dtype=torch\.\w+")
#: how far the numbers of a composed result may be apart: times the rounding of the largest of them
_COMPOSED = {"gradient": 1.0, "tangent": 1.0, "second": 5.0}
_GRAPH = {"graph": "graph", "edges": "graph", "saved": "saved", "gradient layout": "strides", "written layout": "strides"}


@dataclass(frozen=True)
class Difference:
    """One fact that differs: its kind, and what PyTorch and gradcli printed."""

    fact: str
    kind: str
    theirs: str
    ours: str


#: what the texts of inputs have that rows of known differences are about
_INPUTS = {
    "with nan or infinity": r"inf\b|nan\b",
    "with huge numbers": r"e\+\d\d",
    "without elements": r"zeros\(|tensor\(\[\]|strided\([([][^)\]]*\b0\b",
    "in half precision": r"torch\.b?float16",
    "in single precision": r"\A(?!.*torch\.(?:float64|complex128|b?float16))",
    "with tiny numbers": r"e-(?!0)\d\d",
    "of repeated rows": r"\.expand\((?!1\b)",
    "of shared memory": r"\bz = (\w+)\.detach\(\); .*\(.*\b\1\b",
}
#: from which share of the largest singular value on a matrix counts as singular, up to the rounding of single precision
_SINGULAR = 1e-6


def _literal_matrices(inputs: str) -> Iterator[Any]:
    """The matrices that are written out in the inputs, and batches of them."""
    for node in ast.walk(ast.parse(inputs)):
        if isinstance(node, ast.List):
            with contextlib.suppress(ValueError):  # of lists in it that are no numbers, or not of one length
                array = np.array(ast.literal_eval(node), float)
                if array.ndim > 1 and array.size:
                    yield array


def _is_singular(matrix: Any) -> bool:
    """Whether a matrix, or one of a batch, has a rank below its rows and columns, up to rounding."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return bool((values[..., -1] <= _SINGULAR * values[..., 0]).any())


def _has_singular(inputs: str) -> bool:
    """Whether a matrix of the inputs has rows that are equal, or a rank below its rows and columns up to rounding."""
    return bool(re.search(_INPUTS["of repeated rows"], inputs)) or any(map(_is_singular, _literal_matrices(inputs)))


def _has_equal_values(inputs: str) -> bool:
    """Whether two singular values of a matrix of the inputs are equal, up to rounding."""
    found = (np.linalg.svd(m, compute_uv=False) for m in _literal_matrices(inputs))
    return any(bool((values[..., :-1] - values[..., 1:] <= _SINGULAR * values[..., :1]).any()) for values in found)


def _has_dependent_columns(inputs: str) -> bool:
    """Whether the first columns of a matrix of the inputs, as many as it has rows, are dependent up to rounding; or rows by columns."""
    return any(_is_singular(m[..., : min(m.shape[-2:]), : min(m.shape[-2:])]) for m in _literal_matrices(inputs))


#: conditions on the matrices of the inputs, and on the texts of PyTorch and of gradcli
_MATRICES = {
    "of singular matrices": _has_singular,
    "of dependent columns": _has_dependent_columns,
    "of equal singular values": _has_equal_values,
}
_TEXTS: dict[str, Callable[[str, str], object]] = {
    "but for signs": lambda theirs, ours: _near(*(NUMBER.sub(_without_sign, text) for text in (theirs, ours))),
    "but for nan and infinity": lambda theirs, ours: _near(*(re.sub(r"-?inf\b", "nan", text) for text in (theirs, ours))),
    "of an internal assertion": lambda theirs, ours: "INTERNAL ASSERT FAILED" in theirs,
}


@dataclass(frozen=True)
class Known:
    """A row of the table of known differences: patterns of names; a fact, a kind, both as in "graph of gradient", or `*`; the reason.

    After it may follow "with nan or infinity", "with huge numbers", "with tiny numbers", "without elements", "in half precision", "in
    single precision", "of repeated rows", "of shared memory", "of singular matrices", "of equal singular values" or "of dependent columns",
    for calls of such inputs;
    "but for signs", for numbers that differ in their signs alone; "but for nan and infinity", for numbers that differ only where both are
    one of these; or "of an internal assertion", for errors that PyTorch calls its bug.
    """

    names: str
    what: str
    reason: str

    def covers(self, name: str, difference: Difference, inputs: str) -> bool:
        """Whether the row is about this difference of the function `name`, called with what `inputs` says."""
        short = name.replace("torch.nn.functional.", "F.")
        fits = any(fnmatchcase(n, pattern.strip(" `")) for pattern in self.names.split(",") for n in (name, short))
        odd = next((o for o in (*_INPUTS, *_MATRICES, *_TEXTS) if self.what.endswith(f" {o}")), "")
        what = self.what.removesuffix(f" {odd}")
        if odd in _INPUTS and not re.search(_INPUTS[odd], inputs):
            return False
        if odd in _MATRICES and not _MATRICES[odd](inputs):
            return False
        if odd in _TEXTS and not _TEXTS[odd](difference.theirs, difference.ours):
            return False
        return fits and what in ("*", difference.fact, difference.kind, f"{difference.kind} of {difference.fact}")


def known(path: Path) -> list[Known]:
    """The rows of the tables in a Markdown file whose heads are `functions | what | reason`."""
    rows: list[Known] = []
    inside = False
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            inside = False
        elif [c.lower() for c in cells] == ["functions", "what", "reason"]:
            inside = True
        elif inside and set(cells[0]) - set("-: "):
            rows.append(Known(*cells))
    return rows


def differences(name: str, theirs: dict[str, Any], ours: dict[str, Any], allowed: list[Known], inputs: str = "") -> list[Difference]:
    """All facts of a call of `inputs` that differ, the worst first; a refusal stands alone."""
    if ours["error"] and not theirs["error"]:
        text = ours["error"]
        kind = "refused" if REFUSAL.search(text) or text.startswith("SyntaxError") else "fault"
        return _without_known(name, [Difference("call", kind, theirs["out"], text)], allowed, inputs)
    mine, other = facts(ours["out"]), facts(theirs["out"])
    found = []
    if any(ERROR.match(facts.get("value", "")) for facts in (mine, other)):
        # of a call that fails there is nothing more to see
        mine, other = ({"value": facts.get("value", "")} for facts in (mine, other))
    for facts_of, others in ((mine, other), (other, mine)):
        if ERROR.match(facts_of.get("gradient", "")):  # then the facts that follow have nothing to be compared with
            for fact in ("gradient layout", "second"):
                others.pop(fact, None)
    scale = max((_largest(other.get(fact, "")) for fact in ("value", "gradient")), default=0.0)
    for fact in dict.fromkeys((*other, *mine)):
        a, b = harness.normalised(other.get(fact, "")), harness.normalised(mine.get(fact, ""))
        if a != b and (kind := kind_of(fact, a, b, scale)):
            found.append(Difference(fact, kind, other.get(fact, ""), mine.get(fact, "")))
    if theirs["warnings"] != ours["warnings"] and not any(d.kind in ("refused", "no error", "wrong error") for d in found):
        found.append(Difference("warnings", "warning", "\n".join(theirs["warnings"]), "\n".join(ours["warnings"])))
    if (theirs["error"] or "") != (ours["error"] or ""):
        found.append(Difference("call", "error text" if ours["error"] else "no error", str(theirs["error"]), str(ours["error"])))
    return _without_known(name, sorted(found, key=lambda d: KINDS.index(d.kind)), allowed, inputs)


def _without_known(name: str, found: list[Difference], allowed: list[Known], inputs: str) -> list[Difference]:
    rows = [[k for k in allowed if k.covers(name, d, inputs)] for d in found]
    # the derivatives of vectors with other signs are others
    turned = any(d.fact == "value" and any(k.what.endswith("but for signs") for k in own) for d, own in zip(found, rows, strict=True))
    derived = ("saved", "gradient", "second", "tangent") if turned else ()
    made = [
        Difference(d.fact, "known", d.theirs, d.ours) if own or (d.fact in derived and d.kind in ("wrong value", "saved")) else d
        for d, own in zip(found, rows, strict=True)
    ]
    refused = [d for d in made if d.kind == "refused" and d.fact in ("value", "call")]
    return refused or sorted(made, key=lambda d: KINDS.index(d.kind))


def verdict(found: list[Difference]) -> str:
    """The worst kind of all, or `equal`."""
    return found[0].kind if found else "equal"


def facts(out: str) -> dict[str, str]:
    """The text of each fact; a name that comes twice is numbered.

    After the first sentence of an error about a missing kernel PyTorch lists what is installed, and after some others the frames of its
    own code, which is left out.
    """
    made: dict[str, str] = {}
    out = re.sub(r"(Could not run 'aten::\S+' with arguments from the '\w+' backend\.).*", r"\1", out, flags=re.DOTALL)
    out = re.sub(r"\nException raised from .*?(?=\n## |\Z)", "", out, flags=re.DOTALL)
    for part in ("\n" + out).split("\n## ")[1:]:
        name, _, text = part.partition("\n")
        made[name if name not in made else f"{name} {len(made)}"] = text.rstrip("\n")
    return made


def kind_of(fact: str, theirs: str, ours: str, scale: float = 0.0) -> str:
    """The kind of a difference between two texts of a fact, "" for none that counts.

    `scale` is the largest number of the value and of the gradient.
    """
    errors = [bool(ERROR.match(text)) for text in (theirs, ours)]
    if errors[1] and REFUSAL.search(ours) and not REFUSAL.search(theirs):
        return "refused"
    if errors[0] and errors[1]:
        return "error text" if theirs.partition(":")[0] == ours.partition(":")[0] else "error type"
    if errors[0]:
        return "no error"
    if errors[1]:
        return "wrong error"
    if fact in ("dtype", "shape", "strides"):
        return fact
    if fact in _GRAPH:
        return _GRAPH[fact] if _near(theirs, ours) != "digits" else "digits"
    # gradients are sums of terms that cancel, whose rounding is that of the largest
    composed = _COMPOSED.get(fact, 0.0)
    return _near(theirs, ours, composed, scale) or _near_without(theirs, ours, composed, scale)


def _near_without(theirs: str, ours: str, composed: float, scale: float) -> str:
    """The kind of a difference that may be one of grad_fn or dtype in the text of a tensor."""
    for pattern, kind in ((_GRAD_FN, "graph"), (_TENSOR_DTYPE, "dtype")):
        a, b = (re.sub(r"\s+", " ", pattern.sub("", text)) for text in (theirs, ours))
        if a == b or _near(a, b, composed, scale):
            return kind
    return "wrong value"


def _without_sign(number: re.Match[str]) -> str:
    """The number without its sign, but for the + of an imaginary part."""
    text = number.group().lstrip("+-")
    return f"+{text}" if number.string[number.start() - 1 : number.start()] in tuple("0123456789.fn") else text


def _largest(text: str) -> float:
    """The largest finite number of a text, without its sign."""
    return max((abs(n) for n in map(float, NUMBER.findall(text)) if math.isfinite(n)), default=0.0)


def _unit(number: str) -> float:
    """One unit in the last place of a number as it is printed; 0 for nan and infinities."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** min(int(exponent or 0) - len(mantissa.partition(".")[2]), 308) if mantissa[-1].isdigit() or mantissa[-1] == "." else 0.0


#: how many times PyTorch's own error a rounding error of gradcli may be
_NOISE = 4.0


def settled(found: list[Difference], exact: dict[str, Any], matrices: bool) -> list[Difference]:
    """The differences, of which those are noise whose numbers the same call in double precision, `exact`, shows to be rounding errors.

    Of functions of `matrices` a number that single precision has lost to overflow or to a pivot of 0 is such an error too.
    """
    true = facts(exact["out"])
    made = []
    for d in found:
        noise = d.kind in ("wrong value", "saved") and is_noise(d, true.get(d.fact, ""), matrices)
        made.append(Difference(d.fact, "noise", d.theirs, d.ours) if noise else d)
    return sorted(made, key=lambda d: KINDS.index(d.kind))


def is_noise(difference: Difference, exact: str, matrices: bool) -> bool:
    """Whether the texts differ in numbers alone, and the largest error of each tensor is at most four times that of PyTorch.

    Errors are known up to one unit in the last place that is printed. Of functions of `matrices` PyTorch's error may be infinite: any
    number will do there, but nan and infinity only where PyTorch has them.
    """
    texts = [
        re.sub(r"\s+", " ", _GRAD_FN.sub("", re.sub(r",\s*dtype=torch\.(b?float|complex)\d+", "", text)))
        for text in (difference.theirs, difference.ours, exact)
    ]
    if len({re.sub(r"[\s,]", "", NUMBER.sub("#", text)) for text in texts}) != 1 or "torch.float64" in difference.theirs:
        return False
    for parts in zip(*(text.split("tensor(") for text in texts), strict=True):
        triples = zip(*(NUMBER.findall(part) for part in parts), strict=True)
        numbers = [(float(a), float(b), float(t), _printed(b)) for a, b, t in triples]
        errors = [(_error(a, t), max(_error(b, t) - unit, 0.0), math.isfinite(b) or not math.isfinite(a)) for a, b, t, unit in numbers]
        lost = [fair for own, _, fair in errors if own == math.inf]
        largest = max((own for own, _, _ in errors if own < math.inf), default=0.0)
        if (lost and not (matrices and all(lost))) or any(own < math.inf and other > _NOISE * largest for own, other, _ in errors):
            return False
    return True


def _printed(number: str) -> float:
    """One unit in the last place of a number as it is printed; 0 for a whole number, which is exact."""
    return 0.0 if number.endswith(".") else _unit(number)


def _error(number: float, true: float) -> float:
    """The distance of a number from the true one; 0 for the same infinity or nan, else infinite where one of them is not finite."""
    if number == true or (number != number and true != true):
        return 0.0
    return abs(number - true) if math.isfinite(number) and math.isfinite(true) else math.inf


#: one unit in the last place of a number of half precision, at most, as a share of the number
_HALF = {"torch.bfloat16": 1.01 * 2**-7, "torch.float16": 1.01 * 2**-10}


def _near(theirs: str, ours: str, composed: float = 0.0, scale: float = 0.0) -> str:
    """ "digits" where the texts are equal but for numbers that nearly are, "rounding" where these are of half precision.

    In a composed result, and in any of half precision, numbers may also differ by `composed` times the rounding of the largest; of a
    composed result this is the largest of the value and of the gradient too (`scale`), since its terms cancel. A number that is printed
    with fewer digits than the other may differ by half a unit in its last place.
    """
    shapes = [re.sub(r"\s+", " ", NUMBER.sub("#", text)).replace("[ ", "[") for text in (theirs, ours)]
    if shapes[0] != shapes[1]:
        return ""
    pairs = list(zip(NUMBER.findall(theirs), NUMBER.findall(ours), strict=True))
    largest = _largest(theirs)
    half = next((unit for name, unit in _HALF.items() if name in theirs), 0.0)
    units = (half * max(composed, 1) or 1e-6 * composed) * max(largest, scale if composed else 0.0)
    kinds = set()
    for a, b in pairs:
        steps = _unit(a), _unit(b)
        shown = 0.5 * max(steps) if steps[0] != steps[1] else 0.0
        kinds.add(_apart(float(a), float(b), half, 1e-7 * largest + shown, units))
    if "" in kinds and not harness.differs_in_last_digits_only(ours, theirs):
        return ""
    if re.search(r"\dj|\.j", theirs):  # zeros of complex numbers come from sums of products, in the order of the library
        kinds.discard("zero sign")
    return next(kind for kind in ("zero sign", "rounding", "digits") if kind in kinds or kind == "digits")


def _apart(a: float, b: float, half: float, slack: float, units: float) -> str:
    """How two numbers differ: by the sign of zero, by rounding or in the last digits; "" where they are others."""
    if a == b:
        return "equal" if math.copysign(1, a) == math.copysign(1, b) else "zero sign"
    if not (math.isfinite(a) and math.isfinite(b)):
        return "equal" if a != a and b != b else ""
    apart = abs(a - b) - slack
    if apart <= 2e-5 * abs(a) or (not half and apart <= units):
        return "digits"
    return "rounding" if apart <= max(half * abs(a), units if half else 0) else ""
