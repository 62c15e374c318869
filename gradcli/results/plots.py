"""Curves and heat maps."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.values import Array


class Curve(Plain):
    """A function of one variable at the points of a plot. `order` is 0 for values, 1 and 2 for derivatives.

    `joined` says of each pair of neighbours whether a line may go from one to the other: not over a jump, a pole or a nan.
    `defined` says of each point whether there is something to be shown: derivatives are not, where the function has no value.
    """

    label: str
    order: int
    values: Array
    joined: Array
    defined: Array


class Curves(Plain):
    """Curves over one variable. `low` and `high` are the values to be shown, less than all where a pole would flatten the rest.

    `at_once` says that one evaluation gave all points, as the expression works element by element.
    """

    expression: str
    name: str
    points: Array
    curves: tuple[Curve, ...]
    low: float
    high: float
    notes: tuple[str, ...]
    at_once: bool


class HeatMap(Plain):
    """A function of two variables on a grid, first axis `names[1]`, second `names[0]`; gradients in the order of `names`, or none."""

    expression: str
    names: tuple[str, str]
    xs: Array
    ys: Array
    values: Array
    gradients: tuple[Array, ...]
    low: float
    high: float
    notes: tuple[str, ...]
    at_once: bool
