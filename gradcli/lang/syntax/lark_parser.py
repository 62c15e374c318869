"""The parts of Lark that run a parse table, imported without the parts that read grammars, which would double the time.

`import lark.x` first runs `lark/__init__.py`, which imports everything. While the parts are imported, `sys.modules` therefore
holds a lark package that was not executed. A later `import lark` imports the rest and shares the parts imported here.
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
