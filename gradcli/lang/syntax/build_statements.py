"""The builder's callbacks for statements and programs: productions of grammar/statements.lark to nodes.

See build_base for what a callback gets. Blocks are plain lists until the statement around them is made.
"""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.errors import LanguageError, LimitError
from gradcli.lang.syntax import nodes
from gradcli.lang.syntax.build_base import Children
from gradcli.lang.syntax.build_expressions import ExpressionBuilder
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.lexer import Lexer
from gradcli.lang.syntax.patterns import check
from gradcli.lang.syntax.targets import check_annotated, check_augmented, check_target, check_whole
from gradcli.source import Span

Block = list[nodes.Stmt]
_STRAY: dict[type[nodes.Stmt], str] = {
    nodes.Return: "'return' outside function",
    nodes.Break: "'break' outside loop",
    nodes.Continue: "'continue' not properly in loop",
}


class Builder(ExpressionBuilder):
    """All callbacks."""

    def begin(self, lexer: Lexer) -> None:
        """Make ready for the tokens of `lexer`."""
        super().begin(lexer)
        self.most_blocks = limits.current.blocks
        self.blocks = 0
        #: whether there was a global or nonlocal statement
        self.declares = False
        # `return` statements whose def, and `break` and `continue` statements whose loop, has not been reduced yet
        self._returns: list[nodes.Return] = []
        self._jumps: list[nodes.Break | nodes.Continue] = []
        self._stray: list[nodes.Stmt] = []

    def release(self) -> None:
        """Let go of the tree."""
        super().release()
        self._returns, self._jumps, self._stray = [], [], []

    # --- programs

    def expression_only(self, c: Children) -> nodes.Expr:
        """A one-off expression."""
        return check_whole(c[0])

    def program_empty(self, c: Children) -> nodes.Program:
        """A text without statements."""
        return nodes.Program(self.source, 0, len(self.source.text), (), {})

    def program(self, c: Children) -> nodes.Program:
        """A text of statements."""
        stray: list[nodes.Stmt] = [*self._stray, *self._jumps, *self._returns]
        if stray:
            worst = min(stray, key=lambda node: node.start)
            raise LanguageError(_STRAY[type(worst)], span=worst.span)
        return nodes.Program(self.source, 0, len(self.source.text), tuple(c[0]), {})

    # --- lines and blocks

    def extend(self, c: Children) -> Block:
        """The statements so far and the statements of the next line."""
        c[0].extend(c[1])
        return c[0]  # type: ignore[no-any-return]

    def line(self, c: Children) -> Block:
        """A line of simple statements."""
        return c[0]  # type: ignore[no-any-return]

    def known_line(self, c: Children) -> Block:
        """A line whose statements a template has made, or whose callbacks are known."""
        made = c[0].text
        return made if type(made) is list else made()

    def line_silent(self, c: Children) -> Block:
        """A line of simple statements that ends in `;`."""
        _silence(c[0][-1])
        return c[0]  # type: ignore[no-any-return]

    def small_more(self, c: Children) -> Block:
        """`a; b`: the `;` follows the statement before it."""
        _silence(c[0][-1])
        c[0].append(c[2])
        return c[0]  # type: ignore[no-any-return]

    def block_open(self, c: Children) -> None:
        """Count the block that begins here. Raises LimitError."""
        self.blocks += 1
        if self.blocks > self.most_blocks:
            token = c[-1] if c else None
            span = None if token is None else Span(self.source, token.start, token.end)
            raise LimitError("blocks", f"blocks are nested deeper than the limit of {self.most_blocks:,.0f}", span=span)

    def block(self, c: Children) -> Block:
        """The statements of a block, which is indented or on the line of its header."""
        self.blocks -= 1
        return c[1]  # type: ignore[no-any-return]

    def clause(self, c: Children) -> Block:
        """`else:` or `finally:` with its block."""
        return c[2]  # type: ignore[no-any-return]

    # --- simple statements

    def expr_stmt(self, c: Children) -> nodes.ExprStmt:
        """An expression as a statement."""
        value = check_whole(c[0])
        return nodes.ExprStmt(self.source, self.first(value), self.last(value), value, False)

    def assign(self, c: Children) -> nodes.Assign:
        """`a = b = value`."""
        *targets, value = c[0]
        for target in targets:
            check_target(target, maybe_equal=len(targets) == 1)
        check_whole(value)
        return nodes.Assign(self.source, self.first(targets[0]), self.last(value), tuple(targets), value, None)

    def augmented(self, c: Children) -> nodes.AugAssign:
        """`a += value`."""
        target, op, value = c
        check_augmented(target)
        check_whole(value)
        return nodes.AugAssign(self.source, self.first(target), self.last(value), target, op.text[:-1], value)

    def annotated(self, c: Children) -> nodes.Assign | nodes.Declaration:
        """`a: annotation = value`, or without a value."""
        target = c[0]
        check_annotated(target)
        start, end = self.first(target), self.last(c[-1])
        if len(c) == 3:
            return nodes.Declaration(self.source, start, end, target.id if isinstance(target, nodes.Name) else "", c[2].text)
        return nodes.Assign(self.source, start, end, (target,), check_whole(c[4]), c[2].text)

    def pass_(self, c: Children) -> nodes.Pass:
        """`pass`."""
        return nodes.Pass(self.source, c[0].start, c[0].end)

    def break_(self, c: Children) -> nodes.Break:
        """`break`."""
        node = nodes.Break(self.source, c[0].start, c[0].end)
        self._jumps.append(node)
        return node

    def continue_(self, c: Children) -> nodes.Continue:
        """`continue`."""
        node = nodes.Continue(self.source, c[0].start, c[0].end)
        self._jumps.append(node)
        return node

    def return_(self, c: Children) -> nodes.Return:
        """`return value`."""
        value = check_whole(c[1]) if len(c) > 1 else None
        node = nodes.Return(self.source, c[0].start, c[0].end if value is None else self.last(value), value)
        self._returns.append(node)
        return node

    def raise_(self, c: Children) -> nodes.Raise:
        """`raise error from cause`."""
        error = c[1] if len(c) > 1 else None
        cause = c[3] if len(c) > 3 else None
        return nodes.Raise(self.source, c[0].start, c[0].end if error is None else self.last(c[-1]), error, cause)

    def assert_(self, c: Children) -> nodes.Assert:
        """`assert test, message`."""
        return nodes.Assert(self.source, c[0].start, self.last(c[-1]), c[1], c[3] if len(c) > 3 else None)

    def delete(self, c: Children) -> nodes.Delete:
        """`del a, b`."""
        check_target(c[1], "delete")
        bare = self.last_bare
        targets = bare.items if bare is not None and c[1] is bare else (c[1],)
        return nodes.Delete(self.source, c[0].start, self.last(c[1]), targets)

    def global_(self, c: Children) -> nodes.Global:
        """`global a, b`."""
        self.declares = True
        return nodes.Global(self.source, c[0].start, c[1][-1].end, tuple(name.text for name in c[1]))

    def nonlocal_(self, c: Children) -> nodes.Nonlocal:
        """`nonlocal a, b`."""
        self.declares = True
        return nodes.Nonlocal(self.source, c[0].start, c[1][-1].end, tuple(name.text for name in c[1]))

    # --- imports

    def dotted(self, c: Children) -> tuple[list[str], int]:
        """The parts of a module's name so far, and where they end."""
        return [c[0].text], c[0].end

    def dotted_more(self, c: Children) -> tuple[list[str], int]:
        """One more part."""
        c[0][0].append(c[2].text)
        return c[0][0], c[2].end

    def module(self, c: Children) -> tuple[str, str | None, int]:
        """`a.b as c`, and where it ends."""
        name = ".".join(c[0][0])
        return (name, c[2].text, c[2].end) if len(c) > 1 else (name, None, c[0][1])

    def import_name(self, c: Children) -> tuple[str, str | None, int]:
        """`a as b` of a from-import, and where it ends."""
        return c[0].text, c[2].text if len(c) > 1 else None, c[-1].end

    def import_(self, c: Children) -> nodes.Import:
        """`import a, b as c`."""
        return nodes.Import(self.source, c[0].start, c[1][-1][2], tuple((name, alias) for name, alias, _ in c[1]))

    def import_from(self, c: Children) -> nodes.ImportFrom:
        """`from a import b`, also with parentheses."""
        names = c[4] if type(c[3]) is Lexeme else c[3]
        end = c[-1].end if type(c[-1]) is Lexeme else names[-1][2]
        return nodes.ImportFrom(self.source, c[0].start, end, ".".join(c[1][0]), tuple((name, alias) for name, alias, _ in names))

    def import_star(self, c: Children) -> nodes.ImportFrom:
        """`from a import *`."""
        return nodes.ImportFrom(self.source, c[0].start, c[3].end, ".".join(c[1][0]), ())

    # --- compound statements

    def branch(self, c: Children) -> tuple[Lexeme, list[tuple[nodes.Expr, tuple[nodes.Stmt, ...]]]]:
        """`if test: body`."""
        return c[0], [(c[1], tuple(c[3]))]

    def branch_more(self, c: Children) -> tuple[Lexeme, list[tuple[nodes.Expr, tuple[nodes.Stmt, ...]]]]:
        """`elif test: body`."""
        c[0][1].append((c[2], tuple(c[4])))
        return c[0]  # type: ignore[no-any-return]

    def if_(self, c: Children) -> nodes.If:
        """A whole if statement."""
        word, branches = c[0]
        orelse = tuple(c[1]) if len(c) > 1 else ()
        return nodes.If(self.source, word.start, (orelse or branches[-1][1])[-1].end, tuple(branches), orelse)

    def case(self, c: Children) -> nodes.Case:
        """`case pattern: body`."""
        return self._case(c[0], c[1], None, c[3])

    def case_guarded(self, c: Children) -> nodes.Case:
        """`case pattern if guard: body`."""
        return self._case(c[0], c[1], c[3], c[5])

    def _case(self, word: Lexeme, pattern: nodes.Expr, guard: nodes.Expr | None, body: Block) -> nodes.Case:
        check(pattern)
        return nodes.Case(self.source, word.start, body[-1].end, pattern, guard, tuple(body))

    def match_(self, c: Children) -> nodes.Match:
        """`match subject:` with its cases."""
        self.blocks -= 1
        return nodes.Match(self.source, c[0].start, c[4][-1].end, check_whole(c[1]), tuple(c[4]))

    def while_(self, c: Children) -> nodes.While:
        """`while test: body`."""
        body, orelse = tuple(c[3]), tuple(c[4]) if len(c) > 4 else ()
        self._loop(c[0].start, body[-1].end)
        return nodes.While(self.source, c[0].start, (orelse or body)[-1].end, c[1], body, orelse)

    def for_(self, c: Children) -> nodes.For:
        """`for target in iterable: body`."""
        check_target(c[1])
        body, orelse = tuple(c[5]), tuple(c[6]) if len(c) > 6 else ()
        self._loop(c[0].start, body[-1].end)
        return nodes.For(self.source, c[0].start, (orelse or body)[-1].end, c[1], check_whole(c[3]), body, orelse)

    def _loop(self, start: int, end: int) -> None:
        """Forget the `break` and `continue` statements in the body of a loop; those in its else clause stay."""
        after = []
        while self._jumps and self._jumps[-1].start > start:
            jump = self._jumps.pop()
            if jump.start >= end:
                after.append(jump)
        self._jumps += reversed(after)

    def with_item(self, c: Children) -> tuple[nodes.Expr, nodes.Expr | None]:
        """`context as target`."""
        if len(c) == 1:
            return c[0], None
        check_target(c[2])
        return c[0], c[2]

    def with_header(self, c: Children) -> tuple[Lexeme, tuple[tuple[nodes.Expr, nodes.Expr | None], ...]]:
        """`with a as b, c:`; a group in parentheses that is everything after `with` is a list of items."""
        items = tuple(c[1])
        if self.with_entries is not None:
            group, entries = self.with_entries
            self.with_entries = None
            pairs = [entry for entry in entries if type(entry) is tuple]
            plain = any(isinstance(e, nodes.Starred) or (isinstance(e, nodes.NamedExpr) and e not in self.outer) for e in entries)
            if len(items) == 1 and items[0][0] is group and items[0][1] is None and not plain:
                items = tuple(entry[:2] if type(entry) is tuple else (entry, None) for entry in entries)
            elif pairs:
                raise self.lexer.error("invalid syntax", pairs[0][2].start, pairs[0][2].end)
        return c[0], items

    def with_(self, c: Children) -> nodes.With:
        """A whole with statement."""
        word, items = c[0]
        return nodes.With(self.source, word.start, c[1][-1].end, items, tuple(c[1]))

    def handler_all(self, c: Children) -> nodes.Handler:
        """`except: body`."""
        return nodes.Handler(self.source, c[0].start, c[2][-1].end, None, None, tuple(c[2]))

    def handler(self, c: Children) -> nodes.Handler:
        """`except type: body`."""
        return nodes.Handler(self.source, c[0].start, c[3][-1].end, c[1], None, tuple(c[3]))

    def handler_named(self, c: Children) -> nodes.Handler:
        """`except type as name: body`."""
        return nodes.Handler(self.source, c[0].start, c[5][-1].end, c[1], c[3].text, tuple(c[5]))

    def _try(self, word: Lexeme, body: Block, handlers: list[nodes.Handler], orelse: Block, finalbody: Block) -> nodes.Try:
        for handler in handlers[:-1]:
            if handler.type is None:
                raise self.lexer.error("default 'except:' must be last", handler.start, handler.start + len("except"))
        end = finalbody[-1].end if finalbody else orelse[-1].end if orelse else handlers[-1].end
        return nodes.Try(self.source, word.start, end, tuple(body), tuple(handlers), tuple(orelse), tuple(finalbody))

    def try_(self, c: Children) -> nodes.Try:
        """`try: ... except: ...`."""
        return self._try(c[0], c[2], c[3], [], [])

    def try_else(self, c: Children) -> nodes.Try:
        """`try: ... except: ... else: ...`."""
        return self._try(c[0], c[2], c[3], c[4], [])

    def try_finally(self, c: Children) -> nodes.Try:
        """`try: ... finally: ...`, perhaps with handlers."""
        return self._try(c[0], c[2], c[3] if len(c) > 4 else [], [], c[-1])

    def try_all(self, c: Children) -> nodes.Try:
        """A try statement with everything."""
        return self._try(c[0], c[2], c[3], c[4], c[5])

    # --- functions

    def def_head(self, c: Children) -> tuple[Lexeme, str, tuple[Any, ...]]:
        """`def name(parameters)`."""
        return c[0], c[1].text, self.parameters(c[3]) if len(c) > 4 else ()

    def function(self, c: Children) -> nodes.FunctionDef:
        """A whole def, without decorators."""
        word, name, parameters = c[0]
        while self._returns and self._returns[-1].start > word.start:
            self._returns.pop()
        while self._jumps and self._jumps[-1].start > word.start:
            self._stray.append(self._jumps.pop())
        returns = c[2].text if len(c) > 3 else None
        return nodes.FunctionDef(self.source, word.start, c[-1][-1].end, name, parameters, tuple(c[-1]), (), returns)

    def decorator(self, c: Children) -> nodes.Expr:
        """`@expression`."""
        return c[1]  # type: ignore[no-any-return]

    def class_head(self, c: Children) -> tuple[Lexeme, str, list[Any]]:
        """`class name(bases)`."""
        return c[0], c[1].text, c[3] if len(c) > 4 else []

    def class_(self, c: Children) -> nodes.ClassDef:
        """A whole class, without decorators."""
        word, name, given = c[0]
        bases, keywords = self.split(given)
        for pending in (self._returns, self._jumps):
            while pending and pending[-1].start > word.start:
                self._stray.append(pending.pop())
        return nodes.ClassDef(self.source, word.start, c[-1][-1].end, name, bases, keywords, tuple(c[-1]), ())

    def decorated(self, c: Children) -> nodes.FunctionDef | nodes.ClassDef:
        """A def or a class with its decorators."""
        c[1].decorators = tuple(c[0])
        return c[1]  # type: ignore[no-any-return]


def _silence(statement: nodes.Stmt) -> None:
    if type(statement) is nodes.ExprStmt:
        statement.silent = True
