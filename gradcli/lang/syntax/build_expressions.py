"""The builder's callbacks for expressions: productions of grammar/expressions.lark to nodes; see build_base."""

from __future__ import annotations

from typing import Any

from gradcli.errors import LanguageError
from gradcli.lang.syntax import nodes
from gradcli.lang.syntax.build_base import Children
from gradcli.lang.syntax.build_parameters import ParameterBuilder
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.literals import number
from gradcli.lang.syntax.targets import check_target, check_whole, describe

_CONSTANTS = {"None": None, "True": True, "False": False, "...": Ellipsis}


class ExpressionBuilder(ParameterBuilder):
    """Callbacks for expressions."""

    # --- operators

    def deeper(self, c: Children) -> Lexeme:
        """An operator whose right operand is one level deeper."""
        token: Lexeme = c[0]
        self.lexer.deeper(token.start, token.end)
        return token

    def chain(self, c: Children) -> tuple[nodes.Expr, list[str], list[nodes.Expr]]:
        """The first operator of a level, with both operands."""
        return c[0], [c[1].text], [c[2]]

    def chain_more(self, c: Children) -> tuple[nodes.Expr, list[str], list[nodes.Expr]]:
        """One more operator and operand."""
        so_far: tuple[nodes.Expr, list[str], list[nodes.Expr]] = c[0]
        so_far[1].append(c[1].text)
        so_far[2].append(c[2])
        return so_far

    def binary(self, c: Children) -> nodes.Binary:
        """A finished chain of arithmetic."""
        head, ops, rest = c[0]
        ends = tuple(map(self.last, rest))
        return nodes.Binary(self.source, self.first(head), ends[-1], head, tuple(ops), tuple(rest), ends)

    def compare(self, c: Children) -> nodes.Compare:
        """A finished chain of comparisons."""
        head, ops, rest = c[0]
        return nodes.Compare(self.source, self.first(head), self.last(rest[-1]), head, tuple(ops), tuple(rest))

    def two_words(self, c: Children) -> Lexeme:
        """`not in`, `is not`."""
        return Lexeme("COMPARE", f"{c[0].text} {c[1].text}", c[0].start, c[1].end)

    def bool_and(self, c: Children) -> nodes.BoolOp:
        """`a and b and c`."""
        items: list[nodes.Expr] = c[0]
        return nodes.BoolOp(self.source, self.first(items[0]), self.last(items[-1]), "and", tuple(items))

    def bool_or(self, c: Children) -> nodes.BoolOp:
        """`a or b or c`."""
        items: list[nodes.Expr] = c[0]
        return nodes.BoolOp(self.source, self.first(items[0]), self.last(items[-1]), "or", tuple(items))

    def unary(self, c: Children) -> nodes.Unary:
        """`-x`, `not x`."""
        op, operand = c
        self.lexer.depth -= 1
        return nodes.Unary(self.source, op.start, self.last(operand), op.text, operand)

    def power(self, c: Children) -> nodes.Binary:
        """`a ** b`."""
        base, op, exponent = c
        self.lexer.depth -= 1
        end = self.last(exponent)
        return nodes.Binary(self.source, self.first(base), end, base, (op.text,), (exponent,), (end,))

    def conditional(self, c: Children) -> nodes.Conditional:
        """`body if test else orelse`."""
        body, _, test, _, orelse = c
        self.lexer.depth -= 1
        return nodes.Conditional(self.source, self.first(body), self.last(orelse), test, body, orelse)

    def lambda_(self, c: Children) -> nodes.Lambda:
        """`lambda parameters: body`."""
        self.lexer.depth -= 1
        parameters = self.parameters(c[1]) if len(c) > 3 else ()
        return nodes.Lambda(self.source, c[0].start, self.last(c[-1]), parameters, c[-1])

    def named(self, c: Children) -> nodes.NamedExpr:
        """`target := value`."""
        target, _, value = c
        if not isinstance(target, nodes.Name):
            raise LanguageError(f"cannot use assignment expressions with {describe(target)}", span=target.span)
        return nodes.NamedExpr(self.source, self.first(target), self.last(value), target, value)

    # --- primaries

    def attribute(self, c: Children) -> nodes.Attribute:
        """`value.name`."""
        value, _, name = c
        return nodes.Attribute(self.source, self.first(value), name.end, value, name.text, name.start)

    def call(self, c: Children) -> nodes.Call:
        """`function(arguments)`."""
        function = c[0]
        given: list[Any] = c[2] if len(c) > 3 else []
        if self.bare:
            self._check_bare(given, trailing=len(c) > 4)
        for item in given:
            if type(item) is nodes.Keyword:
                args, keywords = self.split(given)
                break
        else:
            args, keywords = tuple(given), ()
        return nodes.Call(self.source, self.first(function), c[-1].end, function, args, keywords)

    def split(self, given: list[Any]) -> tuple[tuple[nodes.Expr, ...], tuple[nodes.Keyword, ...]]:
        """Positional arguments and keywords. Raises LanguageError where Python does not allow their order."""
        args: list[nodes.Expr] = []
        keywords: list[nodes.Keyword] = []
        seen: set[str | None] = set()
        for item in given:
            if isinstance(item, nodes.Keyword):
                if item.name is not None and item.name in seen:
                    raise self.lexer.error(f"keyword argument repeated: {item.name}", item.start, item.end)
                seen.add(item.name)
                keywords.append(item)
                continue
            if None in seen:
                what = "iterable argument unpacking" if isinstance(item, nodes.Starred) else "positional argument"
                raise self.lexer.error(f"{what} follows keyword argument unpacking", item.start, item.end)
            if keywords and not isinstance(item, nodes.Starred):
                raise self.lexer.error("positional argument follows keyword argument", item.start, item.end)
            args.append(item)
        return tuple(args), tuple(keywords)

    def _check_bare(self, given: list[Any], *, trailing: bool) -> None:
        for item in given:
            if item in self.bare:
                if len(given) > 1 or trailing:
                    raise self.lexer.error("Generator expression must be parenthesized", item.start, item.end)
                self.bare.discard(item)

    def yield_(self, c: Children) -> nodes.Yield:
        """`yield`, `yield value`, `yield from value`."""
        value = check_whole(c[-1]) if len(c) > 1 else None
        return nodes.Yield(self.source, c[0].start, c[0].end if value is None else self.last(value), value, len(c) > 2)

    def yield_group(self, c: Children) -> nodes.Yield:
        """`(yield value)`."""
        self.outer[c[1]] = (c[0].start, c[2].end)
        return c[1]  # type: ignore[no-any-return]

    def keyword(self, c: Children) -> nodes.Keyword:
        """`name=value` in a call."""
        name, _, value = c
        if isinstance(name, nodes.Name) and name not in self.outer:
            return nodes.Keyword(self.source, name.start, self.last(value), name.id, value)
        if isinstance(name, nodes.Constant) and (name.value is None or isinstance(name.value, bool)):
            raise LanguageError(f"cannot assign to {name.value}", span=name.span)
        raise self.lexer.error('expression cannot contain assignment, perhaps you meant "=="?', self.first(name), c[1].end)

    def keyword_spread(self, c: Children) -> nodes.Keyword:
        """`**value` in a call."""
        return nodes.Keyword(self.source, c[0].start, self.last(c[1]), None, c[1])

    def subscript(self, c: Children) -> nodes.Subscript:
        """`value[index]`."""
        value, _, index, closing = c
        if type(index) is nodes.Starred:
            index = nodes.TupleExpr(self.source, index.start, index.end, (index,))
        return nodes.Subscript(self.source, self.first(value), closing.end, value, index)

    def slice(self, c: Children) -> nodes.Slice:
        """`lower:upper:step`, each part optional."""
        parts: list[nodes.Expr | None] = [None, None, None]
        at = 0
        for child in c:
            if type(child) is Lexeme:
                at += 1
            else:
                parts[at] = child
        start = c[0].start if type(c[0]) is Lexeme else self.first(c[0])
        end = c[-1].end if type(c[-1]) is Lexeme else self.last(c[-1])
        return nodes.Slice(self.source, start, end, parts[0], parts[1], parts[2])

    def name(self, c: Children) -> nodes.Name:
        """A name."""
        token = c[0]
        return nodes.Name(self.source, token.start, token.end, token.text)

    def number(self, c: Children) -> nodes.Constant:
        """A number."""
        token = c[0]
        return nodes.Constant(self.source, token.start, token.end, number(self.source, token.text, token.start))

    def constant(self, c: Children) -> nodes.Constant:
        """None, True, False, `...`."""
        token = c[0]
        return nodes.Constant(self.source, token.start, token.end, _CONSTANTS[token.text])

    # --- displays

    def starred(self, c: Children) -> nodes.Starred:
        """`*value`."""
        return nodes.Starred(self.source, c[0].start, self.last(c[1]), c[1])

    def tuple_one(self, c: Children) -> nodes.TupleExpr:
        """`a,`."""
        self.last_bare = nodes.TupleExpr(self.source, self.first(c[0]), c[1].end, (c[0],))
        return self.last_bare

    def tuple_bare(self, c: Children) -> nodes.TupleExpr:
        """`a, b` without parentheses."""
        items: list[nodes.Expr] = c[0]
        end = c[1].end if len(c) > 1 else self.last(items[-1])
        self.last_bare = nodes.TupleExpr(self.source, self.first(items[0]), end, tuple(items))
        return self.last_bare

    def tuple_empty(self, c: Children) -> nodes.TupleExpr:
        """`()`."""
        return nodes.TupleExpr(self.source, c[0].start, c[1].end, ())

    def group(self, c: Children) -> nodes.Expr:
        """`(a)`, which is `a`, or `(a, b)`."""
        items: list[nodes.Expr] = c[1]
        start, end = c[0].start, c[-1].end
        if len(items) > 1 or len(c) > 3:
            return nodes.TupleExpr(self.source, start, end, tuple(items))
        inner = items[0]
        if type(inner) is nodes.Starred:
            raise self.lexer.error("cannot use starred expression here", inner.start, inner.end)
        self.outer[inner] = (start, end)
        return inner

    def list_(self, c: Children) -> nodes.ListExpr:
        """`[a, b]`."""
        return nodes.ListExpr(self.source, c[0].start, c[-1].end, tuple(c[1]) if len(c) > 2 else ())

    def set_(self, c: Children) -> nodes.SetExpr:
        """`{a, b}`."""
        return nodes.SetExpr(self.source, c[0].start, c[-1].end, tuple(c[1]))

    def dict_(self, c: Children) -> nodes.DictExpr:
        """`{k: v}`."""
        return nodes.DictExpr(self.source, c[0].start, c[-1].end, tuple(c[1]) if len(c) > 2 else ())

    def as_pattern(self, c: Children) -> nodes.AsPattern:
        """`pattern as name`."""
        return nodes.AsPattern(self.source, self.first(c[0]), c[2].end, c[0], self.name(c[2:]))

    def dict_pair(self, c: Children) -> tuple[nodes.Expr, nodes.Expr]:
        """`k: v`."""
        return c[0], c[2]

    def dict_spread(self, c: Children) -> tuple[None, nodes.Expr]:
        """`**d`."""
        return None, c[1]

    def as_pair(self, c: Children) -> tuple[nodes.Expr, nodes.Expr, Lexeme]:
        """`context as target` among the entries of `with (...)`."""
        check_target(c[2])
        return c[0], c[2], c[1]

    def with_group(self, c: Children) -> nodes.Expr:
        """A group in parentheses directly after `with`; its entries are kept for `with_header`."""
        entries: list[Any] = c[1]
        plain = [entry[0] if type(entry) is tuple else entry for entry in entries]
        node = self.group([c[0], plain, *c[2:]])
        self.with_entries = node, entries
        return node

    # --- comprehensions

    def for_clause(self, c: Children) -> tuple[int, int, nodes.Expr, nodes.Expr, list[nodes.Expr]]:
        """`for target in iterable`; conditions follow."""
        check_target(c[1])
        return c[0].start, self.last(c[3]), c[1], c[3], []

    def condition(self, c: Children) -> list[Any]:
        """`if condition` after the clauses so far."""
        c[0][-1][4].append(c[2])
        return c[0]  # type: ignore[no-any-return]

    def comprehension(
        self, kind: str, element: nodes.Expr, value: nodes.Expr | None, clauses: list[Any], start: int, end: int
    ) -> nodes.Comprehension:
        """A comprehension of any kind; with a negative `end` it ends with its last clause."""
        made = tuple(
            nodes.ForClause(self.source, begin, self.last(conditions[-1]) if conditions else stop, target, iterable, tuple(conditions))
            for begin, stop, target, iterable, conditions in clauses
        )
        return nodes.Comprehension(self.source, start, made[-1].end if end < 0 else end, kind, element, value, made)

    def generator(self, c: Children) -> nodes.Comprehension:
        """`(x for x in y)`."""
        return self.comprehension("generator", c[1], None, c[2], c[0].start, c[3].end)

    def generator_bare(self, c: Children) -> nodes.Comprehension:
        """`x for x in y` as an argument."""
        node = self.comprehension("generator", c[0], None, c[1], self.first(c[0]), -1)
        self.bare.add(node)
        return node

    def list_comprehension(self, c: Children) -> nodes.Comprehension:
        """`[x for x in y]`."""
        return self.comprehension("list", c[1], None, c[2], c[0].start, c[3].end)

    def set_comprehension(self, c: Children) -> nodes.Comprehension:
        """`{x for x in y}`."""
        return self.comprehension("set", c[1], None, c[2], c[0].start, c[3].end)

    def dict_comprehension(self, c: Children) -> nodes.Comprehension:
        """`{k: v for x in y}`."""
        return self.comprehension("dict", c[1], c[3], c[4], c[0].start, c[5].end)

    # --- strings

    def string(self, c: Children) -> nodes.Constant | nodes.JoinedStr:
        """Adjacent literals: one constant, or one f-string when any of them is."""
        items: list[Any] = c[0]
        if all(type(item) is Lexeme for item in items):
            value = items[0].text if len(items) == 1 else "".join(item.text for item in items)
            return nodes.Constant(self.source, items[0].start, items[-1].end, value)
        parts: list[str | nodes.Field] = []
        for item in items:
            parts += [item.text] if type(item) is Lexeme else item[2]
        ends = [(item.start, item.end) if type(item) is Lexeme else item[:2] for item in (items[0], items[-1])]
        return nodes.JoinedStr(self.source, ends[0][0], ends[1][1], _merged(parts))

    def fstring(self, c: Children) -> tuple[int, int, list[str | nodes.Field]]:
        """One f-string literal: its place and its pieces."""
        return c[0].start, c[-1].end, _pieces(c[1]) if len(c) > 2 else []

    def field_value(self, c: Children) -> tuple[Lexeme, nodes.Expr, str, str | None]:
        """`{value`, `{value=`, `{value!r`, `{value=!r`: the brace, the value, the conversion, and the text that `=` echoes."""
        conversion = c[-1].text if type(c[-1]) is Lexeme and c[-1].type == "CONVERSION" else ""
        equal = c[2] if len(c) > 2 and c[2].type == "FIELD_EQUAL" else None
        echo = None if equal is None else self.source.text[c[0].end : equal.end]
        if type(c[1]) is nodes.Starred:
            raise self.lexer.error("f-string: cannot use starred expression here", c[1].start, c[1].end)
        return c[0], c[1], conversion, echo

    def field(self, c: Children) -> tuple[str | None, nodes.Field]:
        """A whole replacement field, with the text that `=` echoes before it."""
        brace, value, conversion, echo = c[0]
        spec: tuple[str | nodes.Field, ...] | None = None
        if len(c) > 2:
            spec = _merged(_pieces(c[2])) if len(c) > 3 else ()
        elif echo is not None and not conversion:
            conversion = "r"
        return echo, nodes.Field(self.source, brace.start, c[-1].end, value, conversion, spec)


def _pieces(items: list[Any]) -> list[str | nodes.Field]:
    """Pieces of text and fields in order, the text that `=` echoes before its field."""
    parts: list[str | nodes.Field] = []
    for item in items:
        if type(item) is Lexeme:
            parts.append(item.text)
        else:
            parts += [part for part in item if part is not None]
    return parts


def _merged(parts: list[str | nodes.Field]) -> tuple[str | nodes.Field, ...]:
    """The parts with neighbouring texts joined and empty ones left out."""
    result: list[str | nodes.Field] = []
    text: list[str] = []
    for part in [*parts, None]:
        if isinstance(part, str):
            text.append(part)
            continue
        if whole := "".join(text):
            result.append(whole)
        text.clear()
        if part is not None:
            result.append(part)
    return tuple(result)
