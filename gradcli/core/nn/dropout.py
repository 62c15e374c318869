"""Other kinds of dropout as modules: in training mode; the identity in evaluation mode."""

from __future__ import annotations

from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.nn.linear import Dropout
from gradcli.core.nn.module import module_type


class OtherDropout(Dropout):
    """What they share: `FUNCTION` under torch.nn.functional."""

    FUNCTION = ""

    def forward(self, input: Any) -> Any:
        arguments = (self.p, self.training) if self.SCRIPT_NAME.endswith("AlphaDropout") else (self.p, self.training, self.inplace)
        return catalog.function(f"nn.functional.{self.FUNCTION}")(input, *arguments)


class Dropout1d(OtherDropout):
    """`F.dropout1d`."""

    SCRIPT_NAME = "Dropout1d"
    FUNCTION = "dropout1d"


class Dropout2d(OtherDropout):
    """`F.dropout2d`."""

    SCRIPT_NAME = "Dropout2d"
    FUNCTION = "dropout2d"


class Dropout3d(OtherDropout):
    """`F.dropout3d`."""

    SCRIPT_NAME = "Dropout3d"
    FUNCTION = "dropout3d"


class AlphaDropout(OtherDropout):
    """`F.alpha_dropout`."""

    SCRIPT_NAME = "AlphaDropout"
    FUNCTION = "alpha_dropout"


class FeatureAlphaDropout(OtherDropout):
    """`F.feature_alpha_dropout`."""

    SCRIPT_NAME = "FeatureAlphaDropout"
    FUNCTION = "feature_alpha_dropout"


DROPOUT1D_TYPE = module_type(Dropout1d, "dropout")
DROPOUT2D_TYPE = module_type(Dropout2d, "dropout")
DROPOUT3D_TYPE = module_type(Dropout3d, "dropout")
ALPHADROPOUT_TYPE = module_type(AlphaDropout, "dropout")
FEATUREALPHADROPOUT_TYPE = module_type(FeatureAlphaDropout, "dropout")
