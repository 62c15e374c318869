"""Terms as LaTeX mathematics (amsmath)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradcli.analysis.formulas import Applied, Indexed, Keyword, Known, Listed, Number, Symbol, Term, is_module

_KNOWN = frozenset({"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "max", "min", "det"})
_LETTERS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
}
_RELATIONS = {"==": "=", "!=": r"\neq", "<": "<", "<=": r"\leq", ">": ">", ">=": r"\geq", "&": r"\wedge", "|": r"\vee", "//": r"\div"}
#: texts of more characters are set in a block of lines; sums of more characters of LaTeX in rows
_WORDS, _TERMS = 60, 220
_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = 1, 2, 3, 4, 5


def escaped(text: str) -> str:
    """Any text for LaTeX's text mode; characters outside of ASCII are written as their code points."""
    return "".join(_SPECIAL.get(c) or (c if " " <= c <= "~" else rf"\textsf{{U+{ord(c):04X}}}") for c in text)


def text(words: str) -> str:
    """Any text within mathematics; a long one in a block of several lines."""
    if len(words) > _WORDS:
        return rf"\parbox{{90mm}}{{\raggedright\strut {escaped(words)}\strut}}"
    return rf"\text{{{escaped(words)}}}"


def total(terms: Sequence[str]) -> str:
    """The sum of terms; each term has a row of its own where the sum is long."""
    rows = sum(map(len, terms)) > _TERMS
    out = terms[0] if terms else ""
    for term in terms[1:]:
        sign, term = ("-", term[1:]) if term.startswith("-") else ("+", term)
        out += rf" \\{chr(10)}  &\quad {sign} {term}" if rows else f" {sign} {term}"
    return out


def name(word: str) -> str:
    """The LaTeX of a variable's name: a letter, a Greek letter by its name, `w_1` and `w1` with an index, any other name upright."""
    if word in _LETTERS.split():
        return rf"\{word}"
    match = re.fullmatch(r"([A-Za-z])_?([0-9]+)", word)
    if match:
        return f"{match[1]}_{{{match[2]}}}"
    return word if len(word) == 1 and word.isalpha() and word.isascii() else text(word)


def latex(term: Term) -> str:
    """The LaTeX of a term, for mathematics mode; an elementwise product is a dot in a circle."""
    return _latex(term)[0]


def _latex(term: Term) -> tuple[str, int]:
    if isinstance(term, Number):
        return _number(term.value), _UNARY if term.value < 0 else _ATOM
    if isinstance(term, Known):
        return text(repr(term.value)), _ATOM
    if isinstance(term, Keyword):
        return f"{name(term.name)} = {latex(term.value)}", 0
    if isinstance(term, Symbol):
        known = term.latex or (name(term.text) if term.atomic else text(term.text))
        return known, _ATOM if term.atomic else 0
    if isinstance(term, Applied):
        return _applied(term), _ATOM
    if isinstance(term, Indexed):
        return f"{{{_at(term.owner, _ATOM)}}}_{{{text(f'[{term.place}]')}}}", _ATOM
    if isinstance(term, Listed):
        left, right = term.brackets[0], term.brackets[1]
        return rf"\left{left}{', '.join(map(latex, term.items))}\right{right}", _ATOM
    op, operands = term.op, term.operands
    if op == "neg":
        return f"-{_at(operands[0], _UNARY)}", _UNARY
    if op == "if":
        body, test, other = map(latex, operands)
        return rf"\begin{{cases}}{body} & {test}\\{other} & {text('otherwise')}\end{{cases}}", _ATOM
    a, b = operands
    if op == "/":
        return rf"\frac{{{latex(a)}}}{{{latex(b)}}}", _PRODUCT
    if op == "**":
        return f"{_at(a, _ATOM)}^{{{latex(b)}}}", _POWER
    if op in "*@":
        sign = r"\," if op == "@" else r"\cdot" if isinstance(a, Number) or isinstance(b, Number) else r"\odot"
        return f"{_at(a, _PRODUCT)} {sign} {_at(b, _UNARY if op == '*' else _ATOM)}", _PRODUCT
    if op in "+-":
        return f"{_at(a, _SUM)} {op} {_at(b, _PRODUCT)}", _SUM
    return f"{_at(a, _SUM)} {_RELATIONS.get(op, text(op))} {_at(b, _SUM)}", 0


def _applied(term: Applied) -> str:
    arguments, owner = term.arguments, term.owner
    if term.name in ("t", "mT", "T") and owner is not None:
        return rf"{_at(owner, _ATOM)}^{{\mathsf{{T}}}}"
    if term.name == "pi" and owner is not None:
        return r"\pi"
    if term.name in ("sqrt", "abs") and (arguments or owner is not None):
        inside = latex(owner if owner is not None else (arguments or ())[0])
        return rf"\sqrt{{{inside}}}" if term.name == "sqrt" else rf"\left|{inside}\right|"
    if term.name == "tensor" and owner is None and len(arguments or ()) == 1 and isinstance((arguments or ())[0], Number):
        return latex((arguments or ())[0])
    if owner is not None and is_module(owner):
        owner = None
    words = [*([] if owner is None else [latex(owner)]), *map(latex, arguments or ())]
    function = rf"\{term.name}" if term.name in _KNOWN else rf"\operatorname{{{escaped(term.name)}}}"
    return rf"{function}\left({', '.join(words)}\right)"


def _at(term: Term, level: int) -> str:
    found, own = _latex(term)
    return found if own >= level else rf"\left({found}\right)"


def _number(value: float) -> str:
    if isinstance(value, bool):
        return text(str(value))
    if value in (float("inf"), float("-inf")):
        return r"\infty" if value > 0 else r"-\infty"
    if value != value:
        return text("nan")
    digits = repr(value).removesuffix(".0")
    mantissa, _, exponent = digits.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else digits


def values(text_of: str) -> str:
    """The LaTeX of a tensor's text, such as `[[1., 2.], [3., 4.]]` or `all 0.25`: a matrix for up to two dimensions, else text."""
    if text_of.startswith("all "):
        return rf"{text('all ')}{_exponent(text_of[4:])}" if re.fullmatch(r"all [-+.\de]+", text_of) else text(text_of)
    rows = re.findall(r"\[([^\[\]]*)\]", text_of)
    if not rows or text_of.startswith("[[[") or "..." in text_of or "(" in text_of:
        return text(text_of) if re.search(r"[A-Za-z(\[]", text_of) else text_of
    cells = [" & ".join(_cell(number.strip()) for number in row.split(",")) for row in rows]
    if not text_of.startswith("[["):
        cells = cells[:1]
    return rf"\begin{{pmatrix}}{_BREAK.join(cells)}\end{{pmatrix}}"


_BREAK = r" \\ "


def _cell(number: str) -> str:
    if number in ("inf", "-inf"):
        return number.replace("inf", r"\infty")
    return text(number) if number in ("nan", "True", "False") else _exponent(number)


def _exponent(number: str) -> str:
    mantissa, _, exponent = number.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
