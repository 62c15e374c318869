"""torch.autograd.backward and torch.autograd.grad as scripts call them, with PyTorch's errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.autograd import backward as engine
from gradcli.core.autograd.gradient_edge import GradientEdge
from gradcli.core.calling import warnings
from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import sequence_of
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.functions.function import PythonMethod
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

Gradients = list[Tensor | None]


def is_target(value: Any) -> bool:
    """Whether a value is a tensor or a GradientEdge."""
    return type(value) is Tensor or type(value) is GradientEdge


def _outputs(value: Any) -> tuple[Any, ...]:
    return (value,) if is_target(value) else sequence_of(value)


def _inputs(value: Any, caller: str) -> tuple[Any, ...]:
    if is_target(value):
        return (value,)
    if isinstance(value, dict):
        given = tuple(value.values())
    elif isinstance(value, Mapping):
        raise ProgramError(
            "TypeError",
            f"`inputs` argument to `{caller}()` must be a dict, not {value.SCRIPT_NAME}. Other Mapping types are not supported.",
        )
    else:
        given = sequence_of(value)
    if not given:
        raise runtime_error(f"`inputs` argument to `{caller}()` cannot be empty.")
    return given


def _check_inputs(values: Sequence[Any]) -> None:
    for value in values:
        if not is_target(value):
            raise runtime_error(f"all inputs have to be Tensors or GradientEdges, but got {language.type_name(value)}")


def _gradients(value: Any, outputs: Sequence[Any], batched: bool = False) -> Gradients:
    """`grad_outputs` and its like, checked against the outputs: None, a tensor, or a sequence of tensors and Nones.

    Gradients beyond the number of outputs are left out.
    """
    given: Sequence[Any] = [None] * len(outputs) if value is None else (value,) if type(value) is Tensor else sequence_of(value)
    made: Gradients = []
    for i, (output, gradient) in enumerate(zip(outputs, given, strict=False)):
        if not is_target(output):
            raise ProgramError("AssertionError", "Expected output to be a torch.Tensor")
        if type(gradient) is Tensor:
            if batched and _first(gradient) != engine.meta_of(output)[0]:
                raise _mismatch(i, gradient, engine.meta_of(output)[0])
        elif gradient is not None:
            raise ProgramError("TypeError", f"gradients can be either Tensors or None, but got {language.type_name(gradient)}")
        made.append(gradient)
    return made


def _first(gradient: Tensor) -> tuple[int, ...]:
    """The shape of one of the gradients in a batch."""
    if not gradient.array.ndim:
        raise ProgramError(
            "IndexError",
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a "
            "number",
        )
    shape: tuple[int, ...] = gradient.array.shape
    return shape[1:]


def _mismatch(i: int, gradient: Tensor, shape: tuple[int, ...]) -> ProgramError:
    return shape_error(
        "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
        "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
        f"grad_output[{i}] has a shape of {Size(gradient.array.shape[2:])} and output[{i}] has a shape of {Size(shape)}. If you only want "
        "some tensors in `grad_output` to be considered batched, consider using vmap.",
    )


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """`torch.autograd.backward`."""
    engine.check_outside_transforms()
    if grad_variables is not None:
        warnings.emit("`grad_variables` is deprecated. Use `grad_tensors` instead.", "FutureWarning")
        if grad_tensors is not None:
            raise runtime_error(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`.",
            )
        grad_tensors = grad_variables
    leaves = None if inputs is None else _inputs(inputs, "backward")
    roots = _outputs(tensors)
    gradients = _gradients(grad_tensors, roots)
    engine.check_roots(roots, gradients)
    _check_inputs(leaves or ())
    engine.backward(roots, gradients, retain_graph=retain_graph, create_graph=bool(create_graph), inputs=leaves)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    only_inputs: Any = True,
    allow_unused: Any = None,
    is_grads_batched: Any = False,
    materialize_grads: Any = False,
) -> Any:
    """`torch.autograd.grad`: a tuple of gradients; a dict where `inputs` is one."""
    if materialize_grads and allow_unused is False:
        raise ProgramError(
            "ValueError", "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots = _outputs(outputs)
    leaves = _inputs(inputs, "grad")
    if not only_inputs:
        warnings.emit(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the "
            "graph, please use torch.autograd.backward.",
            "FutureWarning",
        )
    gradients = _gradients(grad_outputs, roots, bool(is_grads_batched))
    engine.check_roots(roots, gradients, bool(is_grads_batched))
    _check_inputs(leaves)
    if state.transforms:
        leaves = _within_transforms(roots, leaves)
    if isinstance(create_graph, str):
        raise ProgramError("TypeError", "'str' object cannot be interpreted as an integer")

    def walk(weights: Gradients, keep: Any) -> tuple[Tensor | None, ...]:
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
        found = _batched(walk, gradients, bool(create_graph) if retain_graph is None else retain_graph)
    else:
        found = walk(gradients, retain_graph)
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found


def _within_transforms(roots: Sequence[Any], leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as the innermost level of torch.func sees them: what was made outside has no part in what was made inside.

    Raises RuntimeError for an output whose innermost level is vmap, which has no history there.
    """
    tensors = [root for root in roots if type(root) is Tensor]
    for i, root in enumerate(tensors):
        if state.mapped and state.mapped[-1].hides(root):
            raise engine.no_graph_error(i)
    if state.transforms[-1] != "grad" or all(root.captured for root in tensors):
        return leaves
    return tuple([_apart(leaf) if type(leaf) is Tensor and leaf.captured else leaf for leaf in leaves])


def _apart(tensor: Tensor) -> Tensor:
    made = Tensor(tensor.array, tensor.dtype)
    made.requires_grad = True
    return made


def _batched(walk: Callable[[Gradients, Any], tuple[Tensor | None, ...]], gradients: Gradients, keep: Any) -> tuple[Tensor | None, ...]:
    """`is_grads_batched`: one walk for each entry along the first dimension of the gradients; the results are stacked."""
    given = [g for g in gradients if g is not None]
    sizes = [g.array.shape[0] for g in given]
    if len(given) < len(gradients):
        raise ProgramError("ValueError", "vmap(vjp, in_dims=0, ...)(<inputs>): grad_outputs must be given for every output")
    if len(set(sizes)) != 1:
        text = f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        raise shape_error(text, "ValueError")
    count = sizes[0]
    if not count:
        raise shape_error("is_grads_batched=True needs a batch size of at least 1")
    row, stack = catalog.method("select").method, catalog.function("stack")
    rows = [walk([row(g, (0, i), {}) for g in given], keep or i < count - 1) for i in range(count)]
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


def _backward_method(self: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None) -> None:
    if inputs is None and gradient is None:  # nothing else to check
        engine.backward((self,), None, retain_graph=retain_graph, create_graph=bool(create_graph))
        return
    backward((self,), gradient, retain_graph, create_graph, inputs=inputs)


BACKWARD = Routine(backward)
GRAD = Routine(grad)
METHODS = (PythonMethod(_backward_method, "backward", "Gradients of the leaves; `gradient` is the v of v^T J."),)
