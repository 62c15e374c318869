"""The builder's callbacks for the parameters of def and lambda."""

from __future__ import annotations

from gradcli.lang.syntax.build_base import BuilderBase, Children
from gradcli.lang.syntax.lex_strings import Lexeme
from gradcli.lang.syntax.nodes import Parameter


class ParameterBuilder(BuilderBase):
    """Callbacks for parameters."""

    def param(self, c: Children) -> Parameter:
        """`name`."""
        return Parameter(self.source, c[0].start, c[0].end, c[0].text, "plain", None, c[2].text if len(c) > 1 else None)

    def param_default(self, c: Children) -> Parameter:
        """`name=default`."""
        return Parameter(self.source, c[0].start, self.last(c[-1]), c[0].text, "plain", c[-1], c[2].text if len(c) > 3 else None)

    def param_star(self, c: Children) -> Parameter:
        """`*name`."""
        return Parameter(self.source, c[0].start, c[1].end, c[1].text, "*", None, c[3].text if len(c) > 2 else None)

    def param_double(self, c: Children) -> Parameter:
        """`**name`."""
        return Parameter(self.source, c[0].start, c[1].end, c[1].text, "**", None, c[3].text if len(c) > 2 else None)

    def param_marker(self, c: Children) -> Lexeme:
        """A bare `*` or `/`."""
        return c[0]  # type: ignore[no-any-return]

    def parameters(self, items: list[Parameter | Lexeme]) -> tuple[Parameter, ...]:
        """Check the order of parameters and set the kind of positional-only and keyword-only ones. Raises LanguageError."""
        result: list[Parameter] = []
        seen: set[str] = set()
        star: Parameter | Lexeme | None = None
        default = slash = False
        for at, item in enumerate(items):
            if result and result[-1].kind == "**":
                raise self.lexer.error("arguments cannot follow var-keyword argument", item.start, item.end)
            if isinstance(item, Lexeme) and item.text == "/":
                self._check_slash(item, at, star, slash)
                slash = True
                for parameter in result:
                    parameter.kind = "positional"
                continue
            if isinstance(item, Lexeme) or item.kind == "*":
                if star is not None:
                    raise self.lexer.error("* argument may appear only once", item.start, item.end)
                star = item
                if isinstance(item, Lexeme):
                    following = items[at + 1] if at + 1 < len(items) else None
                    if not isinstance(following, Parameter) or following.kind == "**":
                        raise self.lexer.error("named arguments must follow bare *", item.start, item.end)
                    continue
            if item.name in seen:
                raise self.lexer.error(f"duplicate argument '{item.name}' in function definition", item.start, item.end)
            seen.add(item.name)
            if item.kind == "plain":
                if star is not None:
                    item.kind = "keyword"
                elif default and item.default is None:
                    raise self.lexer.error("non-default argument follows default argument", item.start, item.end)
                default = default or item.default is not None
            result.append(item)
        return tuple(result)

    def _check_slash(self, item: Lexeme, at: int, star: object, slash: bool) -> None:
        if at == 0:
            raise self.lexer.error("at least one argument must precede /", item.start, item.end)
        if slash:
            raise self.lexer.error("/ may appear only once", item.start, item.end)
        if star is not None:
            raise self.lexer.error("/ must be ahead of *", item.start, item.end)
