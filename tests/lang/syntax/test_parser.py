"""The parser against CPython's own: trees and spans for generated programs and for the standard library."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.errors import LanguageError, LimitError
from gradcli.lang.prompt.editing import is_complete, tokens
from gradcli.lang.syntax import nodes as s
from gradcli.lang.syntax.parser import parse_expression, parse_file, parse_input
from gradcli.source import Source

# --- both trees in one form: (kind, parts ...) with spans of expressions -----------------------------

_BIN = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ONE_CLAUSE = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}


class Theirs:
    """CPython's tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = Source("", text).line_starts()

    def span(self, node: Any) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def expr(self, n: Any) -> Any:
        if n is None:
            return None
        # a generator that is a call's sole argument takes in the call's parentheses in CPython, but not here
        span = None if isinstance(n, ast.JoinedStr | ast.GeneratorExp | ast.Slice | ast.FormattedValue) else self.span(n)
        return (*self.plain(n), span)

    def many(self, nodes: list[Any]) -> tuple[Any, ...]:
        return tuple(self.expr(n) for n in nodes)

    def plain(self, n: Any) -> tuple[Any, ...]:
        e, many = self.expr, self.many
        match n:
            case ast.Constant():
                return "constant", type(n.value).__name__, repr(n.value)
            case ast.Name():
                return "name", n.id
            case ast.JoinedStr():
                return "fstring", self.pieces(n)
            case ast.List():
                return "list", many(n.elts)
            case ast.Tuple():
                return "tuple", many(n.elts)
            case ast.Set():
                return "set", many(n.elts)
            case ast.Dict():
                return "dict", tuple((e(k), e(v)) for k, v in zip(n.keys, n.values, strict=True))
            case ast.Starred():
                return "starred", e(n.value)
            case ast.Slice():
                return "slice", e(n.lower), e(n.upper), e(n.step)
            case ast.Subscript():
                return "subscript", e(n.value), e(n.slice)
            case ast.Attribute():
                return "attribute", e(n.value), n.attr
            case ast.Call():
                return "call", e(n.func), many(n.args), tuple((k.arg, e(k.value)) for k in n.keywords)
            case ast.UnaryOp():
                return "unary", _UNARY[type(n.op)], e(n.operand)
            case ast.BinOp():
                return "binary", e(n.left), _BIN[type(n.op)], e(n.right)
            case ast.Compare():
                return "compare", e(n.left), tuple(_COMPARE[type(o)] for o in n.ops), many(n.comparators)
            case ast.BoolOp():
                return "bool", "and" if isinstance(n.op, ast.And) else "or", many(n.values)
            case ast.IfExp():
                return "conditional", e(n.test), e(n.body), e(n.orelse)
            case ast.NamedExpr():
                return "named", e(n.target), e(n.value)
            case ast.Lambda():
                return "lambda", self.parameters(n.args), e(n.body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return "comprehension", _ONE_CLAUSE[type(n)], e(n.elt), None, self.clauses(n)
            case ast.DictComp():
                return "comprehension", "dict", e(n.key), e(n.value), self.clauses(n)
        raise NotImplementedError(n)

    def pieces(self, n: ast.JoinedStr) -> tuple[Any, ...]:
        made: list[Any] = []
        for value in n.values:
            if isinstance(value, ast.Constant):
                made.append(value.value)
            else:
                assert isinstance(value, ast.FormattedValue)
                spec = None if value.format_spec is None else self.pieces(value.format_spec)  # type: ignore[arg-type]
                # places inside f-strings are wrong in Python 3.11
                made.append((_without_spans(self.expr(value.value)), "" if value.conversion < 0 else chr(value.conversion), spec))
        return tuple(made)

    def clauses(self, n: Any) -> tuple[Any, ...]:
        return tuple((self.expr(g.target), self.expr(g.iter), self.many(g.ifs)) for g in n.generators)

    def parameters(self, a: ast.arguments) -> tuple[Any, ...]:
        plain = [*a.posonlyargs, *a.args]
        defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
        kinds = ["positional"] * len(a.posonlyargs) + ["plain"] * len(a.args)
        made = [(p.arg, kind, self.expr(d)) for p, kind, d in zip(plain, kinds, defaults, strict=True)]
        if a.vararg:
            made.append((a.vararg.arg, "*", None))
        made += [(p.arg, "keyword", self.expr(d)) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
        if a.kwarg:
            made.append((a.kwarg.arg, "**", None))
        return tuple(made)

    def body(self, nodes: list[Any]) -> tuple[Any, ...]:
        # of compound statements only the start: CPython's end takes in a `;` after the last statement inside
        return tuple((*self.statement(n), (self.span(n)[0],) * 2 if hasattr(n, "body") else self.span(n)) for n in nodes)

    def statement(self, n: Any) -> tuple[Any, ...]:
        e, many, body = self.expr, self.many, self.body
        match n:
            case ast.Expr():
                return "expr", e(n.value)
            case ast.Assign():
                return "assign", many(n.targets), e(n.value)
            case ast.AnnAssign():
                return ("assign", (e(n.target),), e(n.value)) if n.value else ("pass",)
            case ast.AugAssign():
                return "aug", e(n.target), _BIN[type(n.op)], e(n.value)
            case ast.For():
                return "for", e(n.target), e(n.iter), body(n.body), body(n.orelse)
            case ast.While():
                return "while", e(n.test), body(n.body), body(n.orelse)
            case ast.If():
                branches = [(e(n.test), body(n.body))]
                while len(n.orelse) == 1 and isinstance(n.orelse[0], ast.If) and self.is_elif(n.orelse[0]):
                    n = n.orelse[0]
                    branches.append((e(n.test), body(n.body)))
                return "if", tuple(branches), body(n.orelse)
            case ast.With():
                return "with", tuple((e(i.context_expr), e(i.optional_vars)) for i in n.items), body(n.body)
            case ast.FunctionDef():
                return "def", n.name, self.parameters(n.args), body(n.body), many(n.decorator_list)
            case ast.ClassDef():
                keywords = tuple((k.arg, e(k.value)) for k in n.keywords)
                return "class", n.name, many(n.bases), keywords, body(n.body), many(n.decorator_list)
            case ast.Try():
                handlers = tuple((e(h.type), h.name, body(h.body)) for h in n.handlers)
                return "try", body(n.body), handlers, body(n.orelse), body(n.finalbody)
            case ast.Raise():
                return "raise", e(n.exc), e(n.cause)
            case ast.Assert():
                return "assert", e(n.test), e(n.msg)
            case ast.Delete():
                return "delete", many(n.targets)
            case ast.Return():
                return "return", e(n.value)
            case ast.Pass() | ast.Break() | ast.Continue():
                return (type(n).__name__.lower(),)
            case ast.Global() | ast.Nonlocal():
                return type(n).__name__.lower(), tuple(n.names)
            case ast.Import():
                return "import", tuple((a.name, a.asname) for a in n.names)
            case ast.ImportFrom():
                return "from", n.module, () if n.names[0].name == "*" else tuple((a.name, a.asname) for a in n.names)
        raise NotImplementedError(n)

    def is_elif(self, node: ast.If) -> bool:
        return self.text.startswith("elif", self.span(node)[0])


class Ours:
    """Our tree in the same form."""

    def expr(self, n: Any) -> Any:
        if n is None:
            return None
        if type(n) is s.Binary:
            return self.binary(n)
        loose = type(n) is s.JoinedStr or type(n) is s.Slice or (type(n) is s.Comprehension and n.kind == "generator")
        return (*self.plain(n), None if loose else (n.start, n.end))

    def binary(self, n: s.Binary) -> Any:
        made = self.expr(n.first)
        for at, (op, right) in enumerate(zip(n.ops, n.rest, strict=True)):
            end = n.end if at == len(n.ops) - 1 else _closing(right)
            made = ("binary", made, op, self.expr(right), (n.start, end))
        return made

    def many(self, nodes: Any) -> tuple[Any, ...]:
        return tuple(self.expr(n) for n in nodes)

    def plain(self, n: Any) -> tuple[Any, ...]:
        e, many = self.expr, self.many
        match n:
            case s.Constant():
                return "constant", type(n.value).__name__, repr(n.value)
            case s.Name():
                return "name", n.id
            case s.JoinedStr():
                return "fstring", self.pieces(n.parts)
            case s.ListExpr():
                return "list", many(n.items)
            case s.TupleExpr():
                return "tuple", many(n.items)
            case s.SetExpr():
                return "set", many(n.items)
            case s.DictExpr():
                return "dict", tuple((e(k), e(v)) for k, v in n.items)
            case s.Starred():
                return "starred", e(n.value)
            case s.Slice():
                return "slice", e(n.lower), e(n.upper), e(n.step)
            case s.Subscript():
                return "subscript", e(n.value), e(n.index)
            case s.Attribute():
                assert n.source.text[n.name_start :].startswith(n.name)
                return "attribute", e(n.value), n.name
            case s.Call():
                return "call", e(n.function), many(n.args), tuple((k.name, e(k.value)) for k in n.keywords)
            case s.Unary():
                return "unary", n.op, e(n.operand)
            case s.Compare():
                return "compare", e(n.first), n.ops, many(n.rest)
            case s.BoolOp():
                return "bool", n.op, many(n.items)
            case s.Conditional():
                return "conditional", e(n.test), e(n.body), e(n.orelse)
            case s.NamedExpr():
                return "named", e(n.target), e(n.value)
            case s.Lambda():
                return "lambda", self.parameters(n.parameters), e(n.body)
            case s.Comprehension():
                clauses = tuple((e(c.target), e(c.iterable), many(c.conditions)) for c in n.clauses)
                return "comprehension", n.kind, e(n.element), e(n.value), clauses
        raise NotImplementedError(n)

    def pieces(self, parts: tuple[str | s.Field, ...]) -> tuple[Any, ...]:
        return tuple(
            p if isinstance(p, str) else (_without_spans(self.expr(p.value)), p.conversion, None if p.spec is None else self.pieces(p.spec))
            for p in parts
        )

    def parameters(self, parameters: tuple[s.Parameter, ...]) -> tuple[Any, ...]:
        return tuple((p.name, p.kind, self.expr(p.default)) for p in parameters)

    def body(self, nodes: tuple[s.Stmt, ...]) -> tuple[Any, ...]:
        return tuple((*self.statement(n), (n.start, n.start if hasattr(n, "body") or hasattr(n, "branches") else n.end)) for n in nodes)

    def statement(self, n: Any) -> tuple[Any, ...]:
        e, many, body = self.expr, self.many, self.body
        match n:
            case s.ExprStmt():
                return "expr", e(n.value)
            case s.Assign():
                return "assign", many(n.targets), e(n.value)
            case s.AugAssign():
                return "aug", e(n.target), n.op, e(n.value)
            case s.For():
                return "for", e(n.target), e(n.iterable), body(n.body), body(n.orelse)
            case s.While():
                return "while", e(n.test), body(n.body), body(n.orelse)
            case s.If():
                return "if", tuple((e(test), body(b)) for test, b in n.branches), body(n.orelse)
            case s.With():
                return "with", tuple((e(c), e(t)) for c, t in n.items), body(n.body)
            case s.FunctionDef():
                return "def", n.name, self.parameters(n.parameters), body(n.body), many(n.decorators)
            case s.ClassDef():
                keywords = tuple((k.name, e(k.value)) for k in n.keywords)
                return "class", n.name, many(n.bases), keywords, body(n.body), many(n.decorators)
            case s.Try():
                handlers = tuple((e(h.type), h.name, body(h.body)) for h in n.handlers)
                return "try", body(n.body), handlers, body(n.orelse), body(n.finalbody)
            case s.Raise():
                return "raise", e(n.error), e(n.cause)
            case s.Assert():
                return "assert", e(n.test), e(n.message)
            case s.Delete():
                return "delete", many(n.targets)
            case s.Return():
                return "return", e(n.value)
            case s.Declaration():
                return ("pass",)
            case s.Pass() | s.Break() | s.Continue():
                return (type(n).__name__.lower(),)
            case s.Global() | s.Nonlocal():
                return type(n).__name__.lower(), n.names
            case s.Import():
                return "import", n.names
            case s.ImportFrom():
                return "from", n.module, n.names
        raise NotImplementedError(n)


def _closing(node: s.Node) -> int:
    """The end of an operand inside a chain with its parentheses: after the last ")" before the next operator."""
    text, at, end = node.source.text, node.end, node.end
    while at < len(text) and text[at] in " \t\r\n\f)\\#":
        if text[at] == "#":
            at = text.find("\n", at)
            continue
        at += 1
        if text[at - 1] == ")":
            end = at
    return end


def _without_spans(form: Any) -> Any:
    if not isinstance(form, tuple):
        return form
    if len(form) == 2 and all(isinstance(part, int) for part in form):
        return None
    return tuple(_without_spans(part) for part in form)


def same_as_python(text: str) -> None:
    """The text means the same to both, to the place of every node."""
    assert Ours().body(parse_file(Source("t", text)).body) == Theirs(text).body(ast.parse(text).body)


# --- examples ----------------------------------------------------------------------------------------

EXPRESSIONS = (
    r"""
a or b and not c or d
not a == b < c != d
a | b ^ c & d << e >> f + g - h * i / j // k % l @ m
-x ** -y ** +z
~-+a
a if b else c if d else e
lambda: 0
lambda x, y=1, *a, k, z=2, **kw: (x, y)
lambda *, k: k
lambda x, /, y: x
(a := 1, b)
f(a := 1)
x[a := 1]
[y := f(x), y**2]
a < b is not c not in d in e is f
f()
f(x,)
f(*a, b, *c, k=1, **d, m=2)
f(k=1, *a)
f(x for x in y)
f(a)(b)[c].d
x[1]
x[1:2]
x[:]
x[::]
x[a:b:c]
x[:, 1]
x[..., None, ::2]
x[1,]
x[*a]
x[*a, 1]
x[(1, 2)]
x[-1:]
()
(a,)
(a, *b)
(a)
((a))
a,
a, b
*a, b
[]
[a, *b, ]
{}
{a}
{a, *b}
{a: b, **c, }
{a: b for a, b in c if d if e for f in g}
{a for a in b}
[a for a, in b]
[a for a, *b in c]
[x for x in a if b or c for y in d]
((yes) for yes in no)
(a)(b)
(a).b
(a)[b]
(a) + (b) * (c)
((a) + b)
(a) if (b) else (c)
(a) < (b) < (c)
(a) and (b)
-(a)
(a) ** (b)
not (a)
*(a), (b)
f((a), (b), k=(c), *(d), **(e))
1_000
0x_fF
0b1_0
0o17
1.5e-3
.5
5.
1e10
1_0.0_1e1_0
00
0.0
012.5
"a" 'b' """
    + '"""c"""'
    + r"""
r"\n" u'x' R'\''
'\n\t\\\'\"\a\b\f\v\0\x41\u0041\U00000041\101\q'
"\N{BULLET}"
""
f""
f"{x}"
f"a{x!r}b{y:>{w}.{p}f}c{{}}"
f"{x=}"
f"{x = }"
f"{x=!s}"
f"{x=:5}"
f"{x:}"
f"{x!r:^{width}}"
f"{a['b']}" "c{}" f'{d["e"]}'
rf"\{x}\n"
f"\n{x}\x41"
f"{ {1: 2}[1] }"
f"{(lambda x: x)(1)}"
f"{x:%H:%M}"
f"{a if b else c}"
f"{a != b}"
f"{a == b}"
f"{a,}"
f"{*a, b}"
f"{'a' 'b'}"
f"{f'{x}'}"
'a' f'{x}' 'b'
None
True is not False
...
1if x else 2
0x1for x in y
a.b.c
a . b
1 .real
1..real
1.0.real
x if not y else z
(
1 +
2 # three
)
"""
).strip("\n")

STATEMENTS = r'''
x = y = z
x, y = y, x
(x, y), [a, *b] = z
x.a = x[0] = 1
class A: pass
class A(): x: int = 1
class A(B, C.D, metaclass=M, **k): x = y = 1; pass
*a, = b
x: int
x: int = 1
x.y: f(a) = 1, 2
x += 1
x **= y; x //= 2; x >>= 1; x @= m
x -= 1, 2
a; b;
pass
del a, b.c, d[0]
del (a, b), [c]
del (a), b
del (a)
assert a
assert a, "b"
raise
raise a
raise a from b
import a
import a.b.c as d, e
from a import b
from a.b import c as d, e
from a import (b, c as d,)
from a import *
global a
if a: b
if a: b; c
if a:
    b
elif c:
    d
elif e: f
else:
    g
if a:
    b
else:
    if c:
        d
for x in y: pass
for x, in y: pass
for x, *y in a, b:
    break
else:
    c
for (x) in (y): continue
for x.a in y: z
for x[0] in *y, z: z
while a:
    if b: continue
    break
else:
    pass
with a: b
with a as b: c
with a as b, c as (d, e): f
with (a as b): c
with (a as b, c): d
with (a as b, c as d,): e
with (a, b): c
with (a, b,): c
with (a): b
with (a) as b: c
with (a, b) as c: d
with (a).b as c: d
with (a)(b), c: d
with (a for a in b): c
with (): c
with (a, *b): c
with (a := b): c
with (a := b, c): d
with (a) + (b): c
with(a as b): c
with \
  (a as b): c
with a(), b() as c, d: e
def f(): pass
def f(a, b: int = 1, *args: T, k, m=2, **kw: U) -> V:
    return a
def f(a, /, b, *, c): return
def f(a,): return (a)
@a
@b.c(d)
def f():
    def g():
        nonlocal_ = 1
        return
    return g
try:
    a
except:
    b
try: a
finally: b
try:
    a
except A: b
except (A, B) as e:
    c
else:
    d
finally:
    e
if a:

  # comment
    b
	# tab

    c
x = 1 # comment
x = [
  1,
# comment
  2
]
x = 1 + \
    2
if a:
	b
	if c:
		d
e
match = 1
match(x)
match[x]
type = case = _ = match
print
exec(x)
return_ = 1; lambda_ = 2
"""doc
string"""
x = """a
b""" + 'c'; y
lambda x=(a): x
in_ = not_in = x
x = *a, b
return"x" if 0 else 1
'''


def _chunks(text: str) -> list[str]:
    """The statements one by one: a line with what is indented below it, or continued by a clause."""
    chunks: list[str] = []
    for line in text.strip("\n").split("\n"):
        goes_on = line[:1] in (" ", "\t", "#", "", "]") or line.split(":")[0].split(" ")[0] in ("elif", "else", "except", "finally")
        if chunks and (goes_on or (chunks[-1].startswith("@") and "def" not in chunks[-1]) or chunks[-1].count('"""') % 2):
            chunks[-1] += "\n" + line
        else:
            chunks.append(line)
    return chunks


def _expression_chunks() -> list[str]:
    *lines, a, b, c, d = EXPRESSIONS.split("\n")
    return [*(line for line in lines if '"""' not in line), "\n".join((a, b, c, d))]


@pytest.mark.filterwarnings("ignore:invalid")
@pytest.mark.parametrize("text", _expression_chunks())
def test_expressions(text: str) -> None:
    same_as_python(text)
    if not text.startswith("*") and "\n" not in text:
        assert Ours().expr(parse_expression(Source("t", text))) == Theirs(text).expr(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", [c for c in _chunks(STATEMENTS) if not c.startswith("return")])
def test_statements(text: str) -> None:
    same_as_python(text)
    if '"""' not in text and "import *" not in text:
        inner = text.replace("\n", "\n  ")
        same_as_python(f"def f():\n while 1:\n  {inner}\n")
        # positions stay offsets into the text as it is given
        windows = text.replace("\n", "\r\n")
        assert _without_spans(Ours().body(parse_file(Source("t", windows)).body)) == _without_spans(Theirs(text).body(ast.parse(text).body))
        for node in parse_file(Source("t", windows)).body:
            assert windows[node.start : node.end] == node.text and not node.text[:1].isspace()


@pytest.mark.parametrize("module", [textwrap, ast, inspect], ids=lambda m: str(m.__name__))
def test_standard_library(module: Any) -> None:
    """Every function of a few modules, and of what they import, without what the language leaves out."""
    seen = 0
    for text in _functions(ast.parse(inspect.getsource(module)), inspect.getsource(module)):
        same_as_python(text)
        seen += 1
    assert seen > 5


_LEFT_OUT = (ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.Yield, ast.YieldFrom, ast.Match)


def _functions(tree: ast.Module, text: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not any(isinstance(inner, _LEFT_OUT) for inner in ast.walk(node)):
            chunk = textwrap.dedent("\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]))
            free = {name for inner in ast.walk(node) if isinstance(inner, ast.Nonlocal) for name in inner.names}
            if not free and chunk.isascii():
                yield chunk


# --- generated programs --------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "foo", "x1", "_"])
LEAVES = NAMES | st.sampled_from(["1", "2.5", "'s'", "None", "...", "[]", "()", "{}", "f'{a}'", "0x1F", "2.5j", "True"])


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Operators around operands without parentheses, so that precedence decides."""
    signs = "+ - * / // % @ ** << >> & | ^ < > <= >= == != is in and or is_not not_in"
    binary = st.sampled_from(signs.split(" ")).map(lambda sign: sign.replace("_", " "))
    pairs = st.tuples(inner, binary, inner).map(" ".join)
    many = st.lists(inner, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        pairs,
        pairs,
        st.tuples(st.sampled_from(["-", "+", "~", "not "]), inner).map("".join),
        inner.map(lambda e: f"({e})"),
        many.map(lambda e: f"[{e}]"),
        many.map(lambda e: f"{{{e}}}"),
        many.map(lambda e: f"({e},)"),
        st.tuples(NAMES, many).map(lambda p: f"{p[0]}({p[1]}, *{p[0]}, k=1)"),
        st.tuples(inner, many).map(lambda p: f"({p[0]})[{p[1]}]"),
        st.tuples(inner, inner).map(lambda p: f"{{{p[0]}: {p[1]}}}"),
        st.tuples(inner, inner).map(lambda p: f"a[{p[0]}:{p[1]}]"),
        st.tuples(inner, inner, inner).map(lambda p: f"{p[0]} if {p[1]} else {p[2]}"),
        inner.map(lambda e: f"lambda a, b=1: {e}"),
        st.tuples(inner, NAMES, inner).map(lambda p: f"[{p[0]} for {p[1]} in ({p[2]}) if {p[1]}]"),
        st.tuples(NAMES, inner).map(lambda p: f"({p[0]} := {p[1]})"),
        inner.map(lambda e: f"foo.bar.baz({e}).qux"),
    )


EXPRESSION = st.recursive(LEAVES, _expressions, max_leaves=12)
SIMPLE = st.one_of(
    EXPRESSION,
    st.tuples(NAMES, EXPRESSION).map(" = ".join),
    st.tuples(NAMES, EXPRESSION).map(" += ".join),
    st.tuples(NAMES, NAMES, EXPRESSION).map(lambda p: f"{p[0]}, *{p[1]} = {p[2]}"),
    EXPRESSION.map(lambda e: f"assert {e}; pass"),
    st.just("del a, b"),
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda lines: textwrap.indent("\n".join(lines), "    "))
    one = st.tuples(EXPRESSION, body)
    return st.one_of(
        one.map(lambda p: f"if {p[0]}:\n{p[1]}"),
        st.tuples(EXPRESSION, body, body, body).map(lambda p: f"if {p[0]}:\n{p[1]}\nelif a:\n{p[2]}\nelse:\n{p[3]}"),
        one.map(lambda p: f"while {p[0]}:\n{p[1]}\n    break"),
        one.map(lambda p: f"for a, b in {p[0]}, :\n{p[1]}\nelse: pass"),
        one.map(lambda p: f"def foo(a, *b, c={p[0]}):\n{p[1]}\n    return"),
        one.map(lambda p: f"with {p[0]} as a, b:\n{p[1]}"),
        st.tuples(body, body).map(lambda p: f"try:\n{p[0]}\nexcept a as b:\n{p[1]}\nfinally:\n    pass"),
    )


PROGRAM = st.lists(st.recursive(SIMPLE, _blocks, max_leaves=8), min_size=1, max_size=4).map("\n".join)


def _python_takes(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(PROGRAM)
def test_generated_programs(text: str) -> None:
    """What Python parses means the same here; what it refuses (`lambda` after an operator) is refused here."""
    if _python_takes(text):
        same_as_python(text)
    else:
        with pytest.raises(LanguageError):
            parse_file(Source("t", text))


PIECES = st.sampled_from([*"()[]{}:;,.=+-*'\"\\\n \t#!@ax1fré\0", "if ", "for ", "def ", "in ", "f'", "{{", "else", "lambda "])


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25))
def test_any_text_ends_in_a_tree_or_an_error(pieces: list[str]) -> None:
    text = "".join(pieces)
    for parse in (parse_file, parse_input, parse_expression):
        try:
            parse(Source("t", text))
        except (LanguageError, LimitError) as error:
            assert error.span is not None
            assert 0 <= error.span.start <= error.span.end <= len(text) + 1
    at = 0
    for _, start, end in tokens(Source("t", text)):
        assert at <= start < end <= len(text)
        at = end
    assert is_complete(text) in (True, False)
