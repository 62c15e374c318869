"""Dropout layers, which are the identity in evaluation mode."""

from __future__ import annotations

from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import ClassTable, FunctionModule, row
from gradcli.core.ops.layers.dropout import dropout
from gradcli.errors import ProgramError


class Dropout(FunctionModule, place="dropout", exact=True):
    """Dropout in training mode, the identity in evaluation mode."""

    PLACE = "dropout"
    INIT_NAME = "_DropoutNd"
    ARGUMENTS = {"p": 0.5, "inplace": False}
    ASSIGNED = "p inplace"
    SHOWN = "p inplace"

    def keep(self, given: dict[str, Any]) -> None:
        self.p, self.inplace = given["p"], given["inplace"]
        if self.p < 0 or self.p > 1:
            raise ProgramError("ValueError", f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Any) -> Any:
        return dropout(input, self.p, self.training, self.inplace)


class ChannelDropout(Dropout):
    """Dropout of whole channels."""

    def settings(self) -> dict[str, Any]:
        return {"p": self.p, "training": self.training, "inplace": self.inplace}

    def forward(self, input: Any) -> Any:
        return self.call_inside(input)


class ScaledDropout(Dropout):
    """Dropout that keeps mean and variance; it ignores `inplace`."""

    def forward(self, input: Any) -> Any:
        return catalog.function(self.FUNCTION)(input, self.p, self.training)


CLASSES = ClassTable(
    row(ChannelDropout, {"Dropout1d": "F.dropout1d", "Dropout2d": "F.dropout2d", "Dropout3d": "F.dropout3d"}),
    row(ScaledDropout, {"AlphaDropout": "F.alpha_dropout", "FeatureAlphaDropout": "F.feature_alpha_dropout"}),
)
