"""A Pygments lexer for the language: the colours of the prompt, of excerpts under errors and of expressions in tables."""

from __future__ import annotations

from collections.abc import Iterator

from pygments.lexer import RegexLexer, include, inherit, words
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_KEYWORDS = (
    *("and", "as", "assert", "break", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global"),
    *("if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with"),
)
_MODULES = ("torch", "nn", "F", "optim", "math", "np")


class GradcliLexer(RegexLexer):
    """Python's lexical rules as far as the language has them, and the commands of the prompt."""

    name = "gradcli"
    aliases = ("gradcli",)
    tokens = {
        "root": [(r"\A\s*:[a-z]+", Keyword.Pseudo), (r"\A\s*\?|\?\s*\Z", Keyword.Pseudo), include("code")],
        "code": [
            (r"\s+", Whitespace),
            (r"#[^\n]*", Comment),
            (r"(?i)(?:rf|fr|[rfu])?'''(?:[^\\']|\\.|'(?!''))*(?:'''|\Z)", String),
            (r'(?i)(?:rf|fr|[rfu])?"""(?:[^\\"]|\\.|"(?!""))*(?:"""|\Z)', String),
            (r"(?i)(?:rf|fr|[rfu])?'(?:[^'\\\n]|\\.)*(?:'|$)", String),
            (r'(?i)(?:rf|fr|[rfu])?"(?:[^"\\\n]|\\.)*(?:"|$)', String),
            (r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+", Number),
            (r"(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?", Number),
            (words(_KEYWORDS, prefix=r"(?<!\.)\b", suffix=r"\b"), Keyword),
            (r"\b(?:True|False|None)\b", Keyword.Constant),
            (words(_MODULES, prefix=r"(?<!\.)\b", suffix=r"(?=\.)"), Name.Namespace),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"[-+*/%@&|^~<>=!:]+", Operator),
            (r"[()\[\]{},;.\\]", Punctuation),
            (r".", Error),
        ],
    }


class StepLexer(GradcliLexer):
    """The language of explanations, in which `#3` is the value of a step instead of a comment."""

    name = "gradcli-steps"
    aliases = ("gradcli-steps",)
    tokens = {"root": [(r"#\d+(?:\[\d+\])?", Name.Variable), inherit], "code": [(r"#\d+(?:\[\d+\])?", Name.Variable), inherit]}


#: roles of tokens, as in `look.STYLES`; a token has the role of the first of these that it belongs to
_ROLES = (
    (Keyword.Pseudo, "command"),
    (Keyword, "keyword"),
    (Number, "number"),
    (String, "string"),
    (Comment, "comment"),
    (Name.Function, "function"),
    (Name.Variable, "name"),
    (Name.Namespace, "namespace"),
)


def roles(text: str, *, steps: bool = False) -> Iterator[tuple[str, str]]:
    """`text` in pieces, each with its role in `look.STYLES`, "" for none. With `steps` it comes from an explanation."""
    lexer = StepLexer() if steps else GradcliLexer()
    for _, token, piece in lexer.get_tokens_unprocessed(text):
        role = next((role for kind, role in _ROLES if token in kind), "")  # type: ignore[comparison-overlap]
        yield piece, role
