"""Grad mode: the context managers that switch recording. They nest and restore what they found."""

from __future__ import annotations

from typing import Any

from gradcli.core.tensor.node import state


class Decorating:
    """A block that may stand above a function as a decorator too: each call runs in a block of its own, a `copy()`."""

    __slots__ = ()

    def copy(self) -> Decorating:
        """The same block, which has not begun."""
        raise NotImplementedError

    def enter(self) -> Any:
        """Begin the block."""
        raise NotImplementedError

    def exit(self) -> None:
        """End the block."""
        raise NotImplementedError


class GradMode(Decorating):
    """`torch.no_grad()`, `enable_grad()`, `set_grad_enabled(flag)` or `inference_mode()`, as a block or a decorator.

    `set_grad_enabled` acts at once when called, and restores only as a block.
    """

    __slots__ = ("kind", "enabled", "inference", "_saved")

    def __init__(self, kind: str, enabled: bool, inference: bool | None = None) -> None:
        self.kind = kind
        self.enabled = enabled
        self.inference = inference
        self._saved: list[tuple[bool, bool, bool]] = []
        if kind == "set_grad_enabled":
            self._save()
            self._set()

    def _save(self) -> None:
        self._saved.append((state.enabled, state.grad_mode, state.inference))

    def _set(self) -> None:
        if self.inference is not None:
            state.inference = self.inference
        state.grad_mode = self.enabled
        state.enabled = self.enabled and not state.inference

    def copy(self) -> GradMode:
        """The same mode, as a block that has not begun."""
        return GradMode("block", self.enabled, self.inference)

    def enter(self) -> None:
        """Begin the block."""
        if self.kind != "set_grad_enabled" or not self._saved:
            self._save()
        self._set()

    def exit(self) -> None:
        """End the block."""
        state.enabled, state.grad_mode, state.inference = self._saved.pop()


class recording:
    """Python's own `with` for code in core: recording on or off inside."""

    __slots__ = ("wanted", "before")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.before = True

    def __enter__(self) -> None:
        self.before = state.enabled
        state.enabled = self.wanted

    def __exit__(self, *_: object) -> None:
        state.enabled = self.before


def no_grad() -> GradMode:
    """`torch.no_grad()`."""
    return GradMode("no_grad", False)


def enable_grad() -> GradMode:
    """`torch.enable_grad()`."""
    return GradMode("enable_grad", True)


def set_grad_enabled(mode: bool) -> GradMode:
    """`torch.set_grad_enabled(mode)`."""
    return GradMode("set_grad_enabled", bool(mode))


def inference_mode(mode: bool = True) -> GradMode:
    """`torch.inference_mode(mode)`."""
    return GradMode("inference_mode", not mode, inference=mode)


def reset_modes() -> None:
    """Everything as in a fresh session."""
    state.enabled, state.grad_mode, state.inference = True, True, False
    state.anomaly, state.anomaly_nan, state.anomaly_turns = False, True, ()
    state.multithreading = True
    state.dual = None
