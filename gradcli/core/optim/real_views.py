"""Complex parameters as pairs of real numbers, which is how most optimisers see them."""

from __future__ import annotations

from gradcli.core.functions import catalog
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor


def real_view(tensor: Tensor) -> Tensor:
    """`view_as_real` of a complex tensor, any other tensor itself."""
    if not tensor.dtype.is_complex:
        return tensor
    with recording(False):
        pairs: Tensor = catalog.function("view_as_real")(tensor)
    return pairs
