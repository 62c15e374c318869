"""The samples of functions that work element by element, at 0, at kinks, at infinities and at nan; and their second derivatives."""

from __future__ import annotations

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Sample
from gradcli.core.graph.pointwise import Pointwise

POINTS = np.array([0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 2.0, 20.0, -2.0, np.nan, np.inf, -np.inf])
#: functions of arguments whose shapes belong together
SHAPED = ("ldexp", "prelu", "F.prelu", "nn.functional.prelu")


def _samples() -> tuple[Sample, ...]:
    found = []
    for function in catalog.all_functions():
        if function.ops and all(isinstance(op, Pointwise) for op in function.ops) and function.name not in SHAPED:
            for sample in function.samples:
                if sample.inputs and "tensor(" not in sample.text:
                    found += _at_points(sample)
    return tuple(found)


def _at_points(sample: Sample) -> list[Sample]:
    """The sample at every combination of the points: the call itself, and its gradient under create_graph."""
    first = next(iter(sample.inputs))
    grids = [grid.ravel() for grid in np.meshgrid(*[POINTS] * min(len(sample.inputs), 2))]
    inputs = {name: grids[min(i, 1)].tolist() for i, name in enumerate(sample.inputs)}
    second = f"torch.autograd.grad({sample.text}, {first}, 0 * {first} + 0.7, create_graph=True)"
    return [Sample(sample.text, **inputs), Sample(second, **inputs)]


SAMPLES = _samples()
