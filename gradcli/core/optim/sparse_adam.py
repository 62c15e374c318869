"""SparseAdam. Gradients are dense tensors here, which it refuses as in PyTorch."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.optim import checks
from gradcli.core.optim.optimizer import Group, Optimizer
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


class SparseAdam(Optimizer, place="sparse_adam"):
    """`torch.optim.SparseAdam`."""

    ARGUMENTS = {"params": REQUIRED, "lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "maximize": False}
    OPTIONS = "lr betas eps maximize"

    def prepare(self, given: dict[str, Any]) -> None:
        checks.one_element(given["lr"])
        for name, shown in (("lr", "learning rate"), ("eps", "epsilon value")):
            if not checks.number(given[name], "<") > 0.0:
                raise ProgramError("ValueError", f"Invalid {shown}: {formatted(given[name])}")
        checks.option("betas", given["betas"])

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        params = [(group, i) for group, options in enumerate(self.param_groups) for i in range(len(options["params"]))]
        refused = [[group, i] for group, i in params if self.param_groups[group]["params"][i].dtype.is_complex]
        if refused:
            text = f"Complex params at indices {refused}: SparseAdam does not support complex parameters"
            raise ProgramError("ValueError", text)

    def update(self, group: Group) -> None:
        if any(param.grad is not None for param in group["params"]):
            raise runtime_error("SparseAdam does not support dense gradients, please consider Adam instead")
