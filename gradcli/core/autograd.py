"""torch.autograd as scripts call it: backward, grad, hooks, `.grad`, modes; over the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradcli.core import catalog, engine, mode, warnings
from gradcli.core.graph import AFTER, BEFORE, Node, state
from gradcli.core.mode import GradMode
from gradcli.core.objects import PythonMethod, Routine, ScriptType
from gradcli.core.record import mark_view
from gradcli.core.signature import hooks
from gradcli.core.tensor import Tensor
from gradcli.core.walk import Walk
from gradcli.errors import ProgramError


def _tensors(value: Any) -> tuple[Tensor, ...]:
    """One tensor or a sequence of them."""
    if type(value) is Tensor:
        return (value,)
    if not isinstance(value, (tuple, list)):
        raise ProgramError("TypeError", f"'{hooks.type_name(value)}' object is not iterable")
    return tuple(value)


def _gradients(value: Any, count: int) -> list[Tensor | None]:
    """`grad_outputs` and its like: None, a tensor, or a sequence of tensors and Nones."""
    if value is None:
        return [None] * count
    given: tuple[Any, ...] = tuple(value) if isinstance(value, str) else _tensors(value)
    for g in given:
        if g is not None and type(g) is not Tensor:
            raise ProgramError("TypeError", f"gradients can be either Tensors or None, but got {hooks.type_name(g)}")
    return list(given)


def _check_tensors(values: tuple[Any, ...], where: str) -> None:
    for i, value in enumerate(values):
        if type(value) is not Tensor:
            raise ProgramError("TypeError", f"element {i} of {where} tuple is not a Tensor")


def _check_inputs(values: tuple[Any, ...]) -> None:
    for value in values:
        if type(value) is not Tensor:
            raise ProgramError("RuntimeError", f"all inputs have to be Tensors or GradientEdges, but got {hooks.type_name(value)}")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """`torch.autograd.backward`."""
    roots = _tensors(tensors)
    _check_tensors(roots, "tensors")
    leaves = None if inputs is None else _tensors(inputs)
    _check_inputs(leaves or ())
    engine.backward(roots, _gradients(grad_tensors, len(roots)), retain_graph=retain_graph, create_graph=bool(create_graph), inputs=leaves)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    allow_unused: Any = None,
    is_grads_batched: Any = False,
    materialize_grads: Any = False,
) -> tuple[Tensor | None, ...]:
    """`torch.autograd.grad`."""
    roots = _tensors(outputs)
    leaves = _tensors(inputs)
    _check_tensors(roots, "outputs")
    _check_inputs(leaves)
    if materialize_grads and allow_unused is False:
        raise ProgramError(
            "ValueError", "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    gradients = _gradients(grad_outputs, len(roots))

    def walk(weights: list[Tensor | None], keep: Any) -> tuple[Tensor | None, ...]:
        return engine.grad(
            roots,
            leaves,
            weights,
            retain_graph=keep,
            create_graph=bool(create_graph),
            allow_unused=allow_unused,
            materialize_grads=bool(materialize_grads),
        )

    if is_grads_batched:
        return _batched(walk, gradients, bool(create_graph) if retain_graph is None else retain_graph)
    return walk(gradients, retain_graph)


def _batched(
    walk: Callable[[list[Tensor | None], Any], tuple[Tensor | None, ...]], gradients: list[Tensor | None], keep: Any
) -> tuple[Tensor | None, ...]:
    """`is_grads_batched`: one walk for each entry along the first dimension of the gradients; the results are stacked."""
    sizes = {g.array.shape[0] for g in gradients if g is not None and g.array.ndim}
    if len(sizes) != 1 or any(g is None or not g.array.ndim for g in gradients):
        raise ProgramError("RuntimeError", "is_grads_batched=True needs gradients of one and the same batch size, in their first dimension")
    (count,) = sizes
    if not count:
        raise ProgramError("RuntimeError", "is_grads_batched=True needs a batch size of at least 1")
    row, stack = catalog.method("select").method, catalog.function("stack")
    rows = [walk([row(g, (0, i), {}) for g in gradients], keep or i < count - 1) for i in range(count)]
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


def _backward_method(self: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None) -> None:
    if inputs is None and (gradient is None or type(gradient) is Tensor):  # nothing to check
        engine.backward((self,), (gradient,), retain_graph=retain_graph, create_graph=bool(create_graph))
        return
    backward((self,), None if gradient is None else _gradients(gradient, 1), retain_graph, create_graph, inputs=inputs)


# --- the tensor's own state ---


def detach(input: Tensor) -> Tensor:
    """The same values outside the graph: shares memory and version, never requires grad."""
    made = Tensor(input.array, input.dtype)
    made.version = input.counter()
    if input.meta is not None and input.meta.get("inference"):
        made.meta = {"inference": True}
    return made


def detach_(self: Tensor) -> Tensor:
    """Cut the tensor itself out of the graph."""
    if self.view is not None:
        raise ProgramError(
            "RuntimeError",
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
            "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
            "torch/optim/optimizer.py as the solution.",
        )
    self.node = None
    self.output_nr = 0
    self.requires_grad = False
    return self


def read_data(tensor: Tensor) -> Tensor:
    """`.data`: the same values with a version of their own, so that edits go unnoticed."""
    return Tensor(tensor.array, tensor.dtype)


_ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."
_DETACH_INSTEAD = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)


def assign_requires_grad(tensor: Tensor, flag: Any) -> None:
    """`tensor.requires_grad = flag`: unlike the method refused for a computed tensor also where nothing changes."""
    if flag is True and tensor.node is not None:
        raise ProgramError("RuntimeError", _ONLY_LEAVES)
    set_requires_grad(tensor, flag, "floating point and complex")


def set_requires_grad(tensor: Tensor, flag: Any, kinds: str = "floating point") -> None:
    """Make a leaf require grad or not; `kinds` is what the error says of the dtypes."""
    if type(flag) is not bool:
        raise ProgramError("RuntimeError", "requires_grad must be a bool")
    if tensor.node is not None:
        if not flag:
            raise ProgramError("RuntimeError", _ONLY_LEAVES + _DETACH_INSTEAD)
        return
    if flag and not tensor.dtype.is_floating_point:
        raise ProgramError("RuntimeError", f"only Tensors of {kinds} dtype can require gradients")
    if flag and tensor.property_of("inference") and not state.inference:
        raise ProgramError("RuntimeError", "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    tensor.requires_grad = flag


def requires_grad_(input: Tensor, requires_grad: bool) -> Tensor:
    """`tensor.requires_grad_(flag)`."""
    set_requires_grad(input, requires_grad)
    return input


def read_grad(tensor: Tensor) -> Tensor | None:
    """`.grad`, with PyTorch's warning where it is never filled."""
    if tensor.node is not None and tensor.grad is None and not tensor.property_of("retains_grad"):
        warnings.emit(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
            "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
            ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
            "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information. (Triggered internally at "
            "/__w/pytorch/pytorch/build/aten/src/ATen/core/TensorBody.h:493.)"
        )
    return tensor.grad


def write_grad(tensor: Tensor, value: Any) -> None:
    """`tensor.grad = value`, checked as PyTorch checks it."""
    if value is None:
        tensor.grad = None
        return
    if type(value) is not Tensor:
        raise ProgramError("TypeError", f"assigned grad expected to be a Tensor or None but got grad of type {hooks.type_name(value)}")
    if value is tensor:
        raise ProgramError("RuntimeError", "can't assign Variable as its own grad")
    if value.dtype is not tensor.dtype:
        raise ProgramError(
            "RuntimeError",
            f"attempting to assign a gradient with dtype '{value.dtype.c_name}' to a tensor with grad_dtype "
            f"'{tensor.dtype.torch_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
            "caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match.",
        )
    if value.array.shape != tensor.array.shape:
        raise ProgramError(
            "RuntimeError",
            f"attempting to assign a gradient of size '{list(value.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size",
        )
    tensor.grad = value


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of a computed tensor in `.grad`; nothing to do for a leaf."""
    engine.retain_grad(self)


class HookHandle:
    """What `register_hook` and its like return: `remove()` takes the hook away.

    `take_away(number)` removes the hook of that number from wherever it hangs.
    """

    __slots__ = ("take_away", "number")

    SCRIPT_NAME = "torch.utils.hooks.RemovableHandle"
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = {}
    SCRIPT_METHODS: dict[str, Routine] = {}

    _count = 0

    def __init__(self, take_away: Callable[[int], None]) -> None:
        self.take_away = take_away
        HookHandle._count += 1
        self.number = HookHandle._count

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.take_away(self.number)


HookHandle.SCRIPT_METHODS["remove"] = Routine(HookHandle.remove)


def register_hook(self: Tensor, hook: Any) -> HookHandle:
    """Call `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces it."""
    if not self.requires_grad:
        raise ProgramError("RuntimeError", "cannot register a hook on a tensor that doesn't require gradient")
    node = self.grad_fn
    if node is None:
        node = self.sink()
        self.set_property("sink", node)  # a leaf's hooks live as long as the leaf
    return _hang(node, self.output_nr, hook)


def _hang(node: Node, number: int, hook: Any) -> HookHandle:
    def take_away(known: int) -> None:
        node.hooks = [h for h in node.hooks or () if h[1] != known] or None

    handle = HookHandle(take_away)
    node.plain = False
    node.hooks = [*(node.hooks or []), (number, handle.number, hook)]
    return handle


def register_node_hook(node: Node, fn: Any) -> HookHandle:
    """`grad_fn.register_hook(fn)`: call `fn(grad_inputs, grad_outputs)` when the node has run; what it returns replaces grad_inputs."""
    return _hang(node, AFTER, fn)


def register_node_prehook(node: Node, fn: Any) -> HookHandle:
    """`grad_fn.register_prehook(fn)`: call `fn(grad_outputs)` before the node runs; what it returns replaces them."""
    return _hang(node, BEFORE, fn)


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> HookHandle:
    """Call `hook(leaf)` each time its `.grad` has been filled."""
    if not self.requires_grad:
        raise ProgramError("RuntimeError", "cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise ProgramError("RuntimeError", "post accumulate grad hooks cannot be registered on non-leaf tensors")

    def take_away(known: int) -> None:
        self.set_property("after_accumulation", [h for h in self.property_of("after_accumulation") or () if h[0] != known])

    handle = HookHandle(take_away)
    self.set_property("after_accumulation", [*(self.property_of("after_accumulation") or ()), (handle.number, hook)])
    return handle


def _register_multi_grad_hook(tensors: Any, fn: Any, *, mode: str = "all") -> HookHandle:
    """Call `fn(grads)` once in each backward, when the gradients of all `tensors` are known ("any": `fn(grad)` with the first)."""
    if mode not in ("all", "any"):
        raise ProgramError("ValueError", f"Expects mode to be one of ('all', 'any') but got {mode}")
    own = _tensors(tensors)
    known: list[Tensor | None] = [None] * len(own)
    #: how many of the tensors the walk has yet to come to; 0 between walks
    left = 0

    def arrived(i: int, grad: Tensor) -> None:
        nonlocal left
        walk = Walk.running
        first = not left
        if first:
            left = sum(walk is not None and walk.reaches(tensor.edge()[0]) for tensor in own)
            known[:] = [None] * len(own)
        known[i] = grad
        left -= 1
        if mode == "any" and first:
            fn(grad)
        elif mode == "all" and not left:
            fn(list(known))

    handles = [register_hook(tensor, partial(arrived, i)) for i, tensor in enumerate(own)]

    def take_away(_: int) -> None:
        for handle in handles:
            handle.remove()

    return HookHandle(take_away)


REGISTER_MULTI_GRAD_HOOK = Routine(_register_multi_grad_hook, "register_multi_grad_hook")


def alias(tensor: Tensor) -> Tensor:
    """A view of everything: what `x[...]` and a view to the same shape share."""
    made = Tensor(tensor.array.view(), tensor.dtype)
    mark_view(made, tensor, "AliasBackward0")
    return made


# --- modes and switches ---


def _grad_mode(name: str, construct: Callable[..., GradMode]) -> ScriptType:
    module = "torch.autograd.grad_mode"
    return ScriptType(name, module, construct, lambda v: type(v) is GradMode and v.kind == name)


NO_GRAD = _grad_mode("no_grad", mode.no_grad)
ENABLE_GRAD = _grad_mode("enable_grad", mode.enable_grad)
INFERENCE_MODE = _grad_mode("inference_mode", mode.inference_mode)


def _set_grad_enabled(mode: Any) -> GradMode:
    if type(mode) is not bool:
        raise ProgramError("TypeError", f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {hooks.type_name(mode)}")
    return GradMode("set_grad_enabled", mode)


SET_GRAD_ENABLED = _grad_mode("set_grad_enabled", _set_grad_enabled)


class AnomalyMode:
    """`set_detect_anomaly(...)` and `detect_anomaly()`: acts at once, restores as a block."""

    __slots__ = ("before",)

    SCRIPT_NAME = "torch.autograd.anomaly_mode.set_detect_anomaly"
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
    SCRIPT_SETTERS: dict[str, Callable[[Any, Any], None]] = {}
    SCRIPT_METHODS: dict[str, Routine] = {}

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = (state.anomaly, state.anomaly_nan)
        state.set_anomaly(bool(mode), bool(check_nan))

    def enter(self) -> None:
        """Begin the block."""

    def exit(self) -> None:
        """End the block."""
        state.set_anomaly(*self.before)


def _set_detect_anomaly(mode: bool, check_nan: bool = True) -> AnomalyMode:
    return AnomalyMode(mode, check_nan)


def _detect_anomaly(check_nan: bool = True) -> AnomalyMode:
    warnings.emit("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.")
    return AnomalyMode(True, check_nan)


def _is_anomaly_enabled() -> bool:
    return state.anomaly


def _is_anomaly_check_nan_enabled() -> bool:
    return state.anomaly_nan


def _is_grad_enabled() -> bool:
    return state.grad_mode if state.inference else state.enabled


def _is_inference_mode_enabled() -> bool:
    return state.inference


def reset_modes() -> None:
    """Everything as in a fresh session."""
    state.enabled, state.grad_mode, state.inference = True, True, False
    state.anomaly, state.anomaly_nan, state.anomaly_turns = False, True, ()


BACKWARD = Routine(backward)
GRAD = Routine(grad)
SET_DETECT_ANOMALY = Routine(_set_detect_anomaly, "set_detect_anomaly")
DETECT_ANOMALY = Routine(_detect_anomaly, "detect_anomaly")
IS_ANOMALY_ENABLED = Routine(_is_anomaly_enabled, "is_anomaly_enabled")
IS_ANOMALY_CHECK_NAN_ENABLED = Routine(_is_anomaly_check_nan_enabled, "is_anomaly_check_nan_enabled")
IS_GRAD_ENABLED = Routine(_is_grad_enabled, "is_grad_enabled")
IS_INFERENCE_MODE_ENABLED = Routine(_is_inference_mode_enabled, "is_inference_mode_enabled")

METHODS = (
    PythonMethod(_backward_method, "backward", "Gradients of the leaves; `gradient` is the v of v^T J."),
    PythonMethod(register_hook, "register_hook", "A function to call with the gradient."),
    PythonMethod(
        register_post_accumulate_grad_hook,
        "register_post_accumulate_grad_hook",
        "A function to call with the leaf when its .grad has been filled.",
    ),
)


def to_numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The values for `.numpy()`; refused for a tensor that requires grad."""
    if tensor.requires_grad:
        raise ProgramError("RuntimeError", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return tensor.array


def read_version(tensor: Tensor) -> int:
    """`._version`: how often the storage was written in place."""
    if tensor.property_of("inference"):
        raise ProgramError("RuntimeError", "Inference tensors do not track version counter.")
    return tensor.version_number
