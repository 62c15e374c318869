"""The answer to a request of a batch."""

from __future__ import annotations

from gradcli.plain import Plain
from gradcli.results.derivatives import Derivatives, Gradients
from gradcli.results.values import Evaluation


class Answer(Plain):
    """The answer to a request of a batch.

    `output` is what its script printed, None without a script. `want` are the names of the wanted results; the others are None.
    """

    output: str | None
    warnings: tuple[str, ...]
    evaluation: Evaluation | None
    gradients: Gradients | None
    jacobian: Derivatives | None
    hessian: Derivatives | None
    want: tuple[str, ...]
