"""torch.autograd.forward_ad: levels, and dual tensors that are made and taken apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradcli.core.autograd.grad_mode import Decorating
from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.ops.checks import is_sample
from gradcli.core.ops.rules import check_tangent_size
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import NO_RULE
from gradcli.core.transforms.forward_ad_level import PRIMAL, ForwardADLevel, Paused
from gradcli.errors import ProgramError, runtime_error

UnpackedDualTensor = named_tuple(
    "torch.autograd.forward_ad.UnpackedDualTensor", lambda primal, tangent: (primal, tangent), "primal", "tangent"
)
UNPACKED_DUAL_TENSOR = UnpackedDualTensor.SCRIPT_TYPE

_NESTED = "Nested forward mode AD is not supported at the moment"


def _level(level: Any) -> int:
    """The number of a level; None stands for the open one: 0, or -1 if none is open."""
    return (-1 if state.dual is None else 0) if level is None else level


def check_nesting() -> None:
    """Raise RuntimeError for forward mode of torch.func in a level that the program has opened itself."""
    if state.dual is not None and "jvp" not in state.transforms:
        raise runtime_error(_NESTED)


def enter_dual_level() -> int:
    """Open a level; returns its number."""
    return open_level(False)


def open_level(functional: bool) -> int:
    """Open a level, for torch.func where `functional`; returns its number."""
    if state.dual is not None:
        raise runtime_error(_NESTED)
    state.dual = ForwardADLevel(functional)
    return 0


@contextmanager
def numbers_as_such(wanted: bool) -> Iterator[None]:
    """Let numbers leave the dtype of tangents as it is, where `wanted`: PyTorch has gradients for a batch of directions then."""
    level = state.dual
    if not wanted or level is None:
        yield
        return
    before, level.functional = level.functional, False
    try:
        yield
    finally:
        level.functional = before


def exit_dual_level(*, level: Any = None) -> None:
    """Close the level; every tangent is gone."""
    if level is not None and level != _level(None):
        raise runtime_error("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if state.dual is None:
        raise runtime_error("Dual level must be a positive number.")
    state.dual = None


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, which has the same shape."""
    if _level(level) < 0:
        raise runtime_error("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for value, what in ((tensor, "primal"), (tangent, "tangent")):
        if type(value) is not Tensor:
            raise no_attribute(value, "is_floating_point")
        if not value.dtype.is_differentiable:
            raise ProgramError("ValueError", f"Expected {what} to be floating point or complex, but got: {value.dtype}")
    if _level(level) != 0 or state.dual is None:
        raise runtime_error("Invalid level given to _make_dual")
    if state.dual.tangent_of(tensor) is not None:
        raise runtime_error(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if state.dual.tangent_of(tangent) is not None:
        raise runtime_error("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    check_tangent_size(tensor, tangent)
    if state.mapped:
        tensor = state.mapped[-1].lift(tensor)
    made: Tensor = catalog.method("view").method(tensor, (tensor.array.shape,), {})
    made.array = tensor.array if tensor.batch is not None else tensor.array.view()  # with the strides of dimensions of size 1
    state.dual.set_tangent(made, tangent)
    return made


def _make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Tensor:
    """`make_dual` as programs call it, which PyTorch has not for samples of vmap."""
    if any(type(value) is Tensor and is_sample(value) for value in (tensor, tangent)):
        raise runtime_error(NO_RULE.format("_make_dual"))
    return make_dual(tensor, tangent, level=level)


def unpack_dual(tensor: Any, *, level: Any = None) -> Any:
    """A view of the tensor without its tangent, and the tangent (None without one)."""
    number = _level(level)
    if number < 0:
        return UnpackedDualTensor((tensor, None))
    if type(tensor) is not Tensor:
        raise ProgramError("TypeError", f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {language.type_name(tensor)}")
    if number != 0 or state.dual is None:
        raise runtime_error("Invalid level given to _fw_primal")
    with Paused(state.dual):
        primal = PRIMAL(tensor)
    return UnpackedDualTensor((primal, state.dual.tangent_of(tensor)))


class DualLevel(Decorating):
    """`dual_level()`: a block in which a level is open."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "dual_level"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = {}
    SCRIPT_METHODS: dict[str, Routine] = {}

    def __init__(self) -> None:
        """The level opens when the block begins."""

    def copy(self) -> DualLevel:
        return DualLevel()

    def enter(self) -> int:
        return enter_dual_level()

    def exit(self) -> None:
        exit_dual_level()


DUAL_LEVEL = script_type(DualLevel, "torch.autograd.forward_ad")
ENTER_DUAL_LEVEL = Routine(enter_dual_level)
EXIT_DUAL_LEVEL = Routine(exit_dual_level)
MAKE_DUAL = Routine(_make_dual, "make_dual")
UNPACK_DUAL = Routine(unpack_dual)
