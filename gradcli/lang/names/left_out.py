"""What PyTorch has and gradcli has not. Errors alone load it."""

from __future__ import annotations

from gradcli.lang.names._torch_names import NAMES

#: the type of tensors, among the places of names
TENSOR = "Tensor"


def is_left_out(place: str, name: str) -> bool:
    """Whether `torch.PLACE` (torch itself for "", a tensor for TENSOR) has a public name in PyTorch that gradcli leaves out."""
    return name in NAMES.get(place, "").split()


def text(place: str, name: str) -> str:
    """What errors say of such a name."""
    owner = place if place == TENSOR else f"torch.{place}" if place else "torch"
    return f"{owner}.{name} is not part of gradcli"
