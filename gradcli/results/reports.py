"""The contents of a report."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.explanations import Explanation
from gradcli.results.plots import Curves, HeatMap
from gradcli.results.values import Value


class Report(Plain):
    """The contents of a report of an expression or a script. `of` is the name in the script whose value is shown, "" for an expression.

    `value` is None where the script has none to show, `explanation` where the value has no graph. `others` are names that were bound to
    expressions, with the texts of these. `printed` is what the script printed.
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
