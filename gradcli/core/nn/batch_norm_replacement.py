"""torch.func.replace_all_batch_norm_modules_, by which batch normalisation can be a part of functions that vmap takes."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.normalization import BatchNorm1d, InstanceNorm1d


@Routine
def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Take the running figures of all batch normalisations below a module away, so that they use those of each batch."""
    if not isinstance(root, Module):
        raise no_attribute(root, "modules")
    for _, module in root.walk():
        if isinstance(module, BatchNorm1d) and not isinstance(module, InstanceNorm1d) and module.track_running_stats:
            module.own_buffers.update(dict.fromkeys(BatchNorm1d.BUFFERS.split()))
            module.track_running_stats = False
    return root
