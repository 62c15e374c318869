"""The contents of a report."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.explanations import Explanation
from gradcli.results.plots import Curves, HeatMap
from gradcli.results.values import Value


class Report(Plain):
    """All that a page shows of an expression or a script. `of` is the name of the script that is looked at, "" for an expression.

    `explanation` is None where no graph leads to the value, `value` where a script has none to be looked at. `others` are the texts
    of names that were bound to expressions. `printed` is what a script printed.
    """

    source: str
    text: str
    of: str
    value: Value | None
    explanation: Explanation | None
    others: tuple[tuple[str, str], ...]
    plots: tuple[Curves | HeatMap, ...]
    printed: str
    notes: tuple[str, ...]
