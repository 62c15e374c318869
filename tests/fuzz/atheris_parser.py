"""The lexer and the parser under atheris, which looks for texts that take new ways through the code.

    pip install atheris
    python -m tests.fuzz.atheris_parser tests/fuzz/corpus -max_total_time=600

Ends with an error and a file crash-... when anything but one of our errors comes out, or a text takes too long. New texts
are added to the first folder that is named; those in tests/fuzz/corpus are where it begins.
"""

from __future__ import annotations

import sys

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["gradcli.lang", "gradcli.source", "gradcli.errors"]):
    from gradcli import limits
    from gradcli.errors import GradcliError, InternalFault
    from gradcli.lang.prompt import editing
    from gradcli.lang.syntax import parser
    from gradcli.source import Source

WAYS = (parser.parse_file, parser.parse_input, parser.parse_expression)


def one(data: bytes) -> None:
    """Parse one text, in the way that its first byte says."""
    if not data:
        return
    text = data[1:].decode("utf-8", "surrogateescape" if data[0] & 4 else "ignore")
    try:
        WAYS[data[0] % 3](Source("<fuzz>", text))
    except InternalFault:
        raise
    except GradcliError as error:
        assert error.span is None or 0 <= error.span.start <= error.span.end <= len(text) + 1
    if data[0] & 8:
        editing.is_complete(text)
        end = 0
        for _, start, stop in editing.tokens(Source("<fuzz>", text)):
            assert end <= start < stop <= len(text)
            end = stop


def main() -> None:
    """Run atheris."""
    limits.use(limits.strict())
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
