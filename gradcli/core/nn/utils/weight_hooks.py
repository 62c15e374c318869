"""The older weight_norm and spectral_norm: hooks that compute a weight before each call of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Removable
from gradcli.core.calling.type_errors import type_error
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.nn.utils.parametrizations import default_dim
from gradcli.core.nn.utils.power_iteration import PowerIteration
from gradcli.core.ops.reduce.norm_except_dim import norm_except_dim
from gradcli.core.ops.reduce.weight_norm import weight_norm as weight_of
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError, runtime_error


class WeightHook:
    """What computes the parameter `name` of a module before each call, from parameters and buffers with endings."""

    def __init__(self, kind: str, name: str, endings: str) -> None:
        self.kind = kind
        self.name = name
        self.endings = endings.split()
        self.handle: Removable | None = None

    def compute(self, module: Module, training: bool) -> Any:
        """The parameter."""
        raise NotImplementedError

    def __call__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module.fields[self.name] = self.compute(module, module.training)
        return args, kwargs

    def held(self, module: Module, ending: str) -> Any:
        """A parameter or buffer with an ending."""
        return module.attribute(f"{self.name}_{ending}")

    def attach(self, module: Module, first: Any) -> None:
        """Compute the parameter, which the module has no more; `first` is what is read before the first call."""
        module.fields[self.name] = first
        self.handle = module.hooks_before().add(self)

    def detach(self, module: Module) -> None:
        """Hold the parameter again, with the value that was computed last."""
        with recording(False):
            weight = self.compute(module, False)
        for ending in self.endings:
            module.forget(f"{self.name}_{ending}")
        module.fields.pop(self.name, None)
        module.own_parameters[self.name] = as_parameter(detach(weight))
        if self.handle is not None:
            self.handle.remove()


class SizeAndDirection(WeightHook):
    """The hook of weight_norm."""

    def __init__(self, name: str, dim: Any) -> None:
        super().__init__("weight_norm", name, "g v")
        self.dim = -1 if dim is None else dim

    def compute(self, module: Module, training: bool) -> Any:
        return weight_of(self.held(module, "v"), self.held(module, "g"), self.dim)


class Spectral(WeightHook):
    """The hook of spectral_norm."""

    def __init__(self, name: str, steps: int, iteration: PowerIteration) -> None:
        super().__init__("spectral_norm", name, "u v orig")
        self.steps = steps
        self.iteration = iteration

    def compute(self, module: Module, training: bool) -> Any:
        weight, u, v = (self.held(module, ending) for ending in ("orig", "u", "v"))
        matrix = self.iteration.matrix(weight)
        if training:
            plain = detach(matrix)
            for _ in range(self.steps):
                self.iteration.update(v, catalog.function("transpose")(plain, 0, 1), u)
                self.iteration.update(u, plain, v)
            u, v = (catalog.function("clone")(one) for one in (u, v))
        return weight / catalog.function("dot")(u, catalog.function("mv")(matrix, v))


def _hooks(module: Any) -> list[Callable[..., Any]]:
    return list(module.before or ()) if isinstance(module, Module) else []


def _check_single(module: Any, kind: str, name: Any) -> None:
    """Raise TypeError for what is no name, RuntimeError for a weight that has a hook of the kind."""
    if not isinstance(name, str):
        raise type_error("attribute name must be string, not '{}'", name)
    if any(isinstance(hook, WeightHook) and (hook.kind, hook.name) == (kind, name) for hook in _hooks(module)):
        raise runtime_error(f"Cannot register two {kind} hooks on the same parameter {name}")


def _remove(module: Any, kind: str, name: Any) -> Any:
    for hook in _hooks(module):
        if isinstance(hook, WeightHook) and (hook.kind, hook.name) == (kind, name):
            hook.detach(module)
            return module
    raise ProgramError("ValueError", f"{kind} of '{formatted(name)}' not found in {shown(module)}")


@Routine
def weight_norm(module: Any, name: Any = "weight", dim: Any = 0) -> Any:
    """Learn a weight as the sizes of its slices and their directions; deprecated in favour of the parametrization."""
    text = "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`."
    warnings.emit(text, "FutureWarning", inside="weight_norm")
    _check_single(module, "weight_norm", name)
    hook, weight = SizeAndDirection(name, dim), module.attribute(name)
    with recording(False):
        sizes = norm_except_dim(weight, 2, hook.dim)
    module.forget(name)
    module.own_parameters[f"{name}_g"] = as_parameter(sizes)
    module.own_parameters[f"{name}_v"] = as_parameter(weight)
    hook.attach(module, hook.compute(module, False))
    return module


@Routine
def remove_weight_norm(module: Any, name: Any = "weight") -> Any:
    """Hold a weight again that weight_norm took apart. ValueError if it did not."""
    return _remove(module, "weight_norm", name)


@Routine
def spectral_norm(module: Any, name: Any = "weight", n_power_iterations: Any = 1, eps: Any = 1e-12, dim: Any = None) -> Any:
    """Divide a weight by its largest singular value before each call."""
    _check_single(module, "spectral_norm", name)
    if n_power_iterations <= 0:
        raise ProgramError(
            "ValueError", f"Expected n_power_iterations to be positive, but got n_power_iterations={formatted(n_power_iterations)}"
        )
    if name not in module.own_parameters:
        raise ProgramError("KeyError", shown(name), args=(name,))
    weight = module.own_parameters[name]
    if weight is None:
        raise ProgramError("ValueError", f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    hook = Spectral(name, n_power_iterations, PowerIteration(default_dim(module) if dim is None else dim, eps))
    u, v = hook.iteration.start(hook.iteration.matrix(detach(weight)))
    module.forget(name)
    module.own_parameters[f"{name}_orig"] = weight
    module.own_buffers[f"{name}_u"], module.own_buffers[f"{name}_v"] = u, v
    hook.attach(module, Tensor(weight.array, weight.dtype))
    return module


@Routine
def remove_spectral_norm(module: Any, name: Any = "weight") -> Any:
    """Hold a weight again that spectral_norm computes. ValueError if it does not."""
    return _remove(module, "spectral_norm", name)
