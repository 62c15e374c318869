"""The parts of Lark that run a parse table, imported without its reader of grammars, which would take as long as they do.

`import lark.x` runs the package's own `__init__` first, and that imports everything. So while the parts are imported
the package stands there unexecuted; whoever imports lark later gets all of it, with these same parts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec


@contextmanager
def _unexecuted(name: str) -> Iterator[None]:
    spec = find_spec(name)
    if name in sys.modules or spec is None:
        yield
        return
    sys.modules[name] = module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[name]


with _unexecuted("lark"):
    from lark.exceptions import UnexpectedToken
    from lark.grammar import NonTerminal, Rule, Terminal
    from lark.parsers.lalr_analysis import IntParseTable, Reduce, Shift
    from lark.parsers.lalr_parser_state import ParseConf, ParserState

__all__ = ["IntParseTable", "NonTerminal", "ParseConf", "ParserState", "Reduce", "Rule", "Shift", "Terminal", "UnexpectedToken"]
