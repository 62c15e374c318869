"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, for functions of tensors.

A function takes one tensor or several and returns a tensor or a tuple of them. It is called once, on fresh tensors
that stand for the inputs, so that the same tensors reached by other ways (a closure) count as constants. Results have
no history unless `create_graph` asks for it. Products J u come from two backward passes: v^T J is linear in v, and
the derivative of that map, applied to u, is J u.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd import backward
from gradcli.core.autograd.tensor_state import detach, set_requires_grad
from gradcli.core.calling.script_types import Routine
from gradcli.core.calling.signature import hooks
from gradcli.core.functions import catalog
from gradcli.core.tensor.node import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

Tensors = tuple[Tensor, ...]
Gradients = Sequence[Tensor | None]

_OUTPUTS = "outputs of the user-provided function"


def type_text(value: object) -> str:
    """`str(type(value))` as Python would print it."""
    name = hooks.type_name(value)
    if type(value) is Tensor:
        name = "torch.nn.parameter.Parameter" if value.is_parameter else "torch.Tensor"
    return f"<class '{name}'>"


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """Call a function value; what follows counts as done by the place that called us."""
    if not callable(function):
        raise ProgramError("TypeError", f"'{hooks.type_name(function)}' object is not callable")
    origin = state.origin
    result = function(*args, **(kwargs or {}))
    state.origin = origin
    return result


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros of the same shape and dtype, without history."""
    return Tensor(np.zeros(tensor.array.shape, tensor.dtype.np), tensor.dtype)


def stand_in(tensor: Tensor) -> Tensor:
    """A view of all of a tensor: the same values, told apart from it by the graph."""
    view: Tensor = catalog.method("view_as").method(tensor, (tensor,), {})
    return view


def one_hot_rows(tensor: Tensor) -> Iterator[Tensor]:
    """Gradients that select each element of a tensor in turn. The array is made anew for each."""
    for j in range(tensor.array.size):
        row = np.zeros(tensor.array.shape, tensor.dtype.np)
        row.reshape(-1)[j] = 1
        yield Tensor(row, tensor.dtype)


def _tuple_of(value: Any, what: str, caller: str) -> tuple[bool, Tensors]:
    """Whether a tuple was given, and the tensors as one."""
    several = isinstance(value, tuple)
    values: tuple[Any, ...] = value if several else (value,)
    for i, element in enumerate(values):
        if type(element) is not Tensor:
            which = f"value at index {i}" if several else f"given {what}"
            raise ProgramError(
                "TypeError",
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type_text(element)}.",
            )
    return several, values


def _stand_ins(tensors: Tensors, create_graph: bool) -> Tensors:
    """Fresh tensors for the inputs: views that lead back to them under `create_graph`, else leaves."""
    made = []
    for tensor in tensors:
        if create_graph and tensor.requires_grad:
            made.append(stand_in(tensor))
        else:
            leaf = detach(tensor)
            set_requires_grad(leaf, True)
            made.append(leaf)
    return tuple(made)


def _vectors(v: Any, like: Tensors, several: bool, caller: str, create_graph: bool) -> Tensors:
    """The given vectors, checked to have the shapes of `like`."""
    _, given = _tuple_of(v, "v", caller)
    if len(given) != len(like):
        if several:
            raise ProgramError("RuntimeError", f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise ProgramError("RuntimeError", "The given v should contain a single Tensor.")
    for i, (vector, other) in enumerate(zip(given, like, strict=True)):
        if vector.array.shape != other.array.shape:
            which = f"Entry {i} in " if several else ""
            raise ProgramError("RuntimeError", f"{which}v has invalid size: should be {other.shape!r} but got {vector.shape!r}.")
    return tuple(stand_in(t) if create_graph and t.requires_grad else detach(t) for t in given)


def _gradients(outputs: Gradients, inputs: Tensors, v: Gradients | None, *, create_graph: bool, keep: bool | None = None) -> Gradients:
    """Gradients of what depends on anything; None where nothing does."""
    given = [None] * len(outputs) if v is None else v
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    return backward.grad(
        [o for o, _ in pairs], inputs, [g for _, g in pairs], retain_graph=keep, create_graph=create_graph, allow_unused=True
    )


def _result(values: Sequence[Tensor], create_graph: bool, several: bool) -> Any:
    """What is handed back: without history unless asked for, one tensor where one was given."""
    if not values:
        raise ProgramError("IndexError", "tuple index out of range")
    made = tuple(values) if create_graph else tuple(detach(t) for t in values)
    return made if several else made[0]


# --- strict mode ---

_NOT_IN_STRICT = "This is not allowed in strict mode"
#: what is said about index i of something that does not require grad
_UNTRACKED = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. "
    "This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
}
#: what is said about index i where no gradient came back, by the pass that was run
_NOTHING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def _check_tracked(values: Gradients, what: str) -> None:
    """Strict mode: everything must depend on something."""
    for i, value in enumerate(values):
        if value is None:
            raise ProgramError("RuntimeError", _NOTHING["back"].format(i=i))
        if not value.requires_grad:
            raise ProgramError("RuntimeError", _UNTRACKED[what].format(i=i))


def _filled(gradients: Gradients, like: Tensors, stage: str, strict: bool, create_graph: bool) -> Tensors:
    """Zeros where nothing depends on an input; an error instead in strict mode."""
    made = []
    for i, (gradient, other) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise ProgramError("RuntimeError", _NOTHING[stage].format(i=i))
            gradient = zeros_like(other)
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise ProgramError(
                "RuntimeError",
                f"The {what} of the user-provided function is independent of input {i}. {_NOT_IN_STRICT} when create_graph=True.",
            )
        made.append(gradient)
    return tuple(made)


# --- products ---


def vjp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's outputs and v^T J."""
    with recording(True):
        several, given = _tuple_of(inputs, "inputs", "vjp")
        points = _stand_ins(given, create_graph)
        many, outputs = _tuple_of(call(func, points), _OUTPUTS, "vjp")
        if strict:
            _check_tracked(outputs, "outputs")
        vectors: Gradients | None = None
        if v is not None:
            vectors = _vectors(v, outputs, many, "vjp", create_graph)
        elif len(outputs) != 1 or outputs[0].array.size != 1:
            raise ProgramError(
                "RuntimeError", "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
    gradients = _gradients(outputs, points, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, points, "back", strict, create_graph)
    return _result(outputs, create_graph, many), _result(product, create_graph, several)


def _directions(v: Any, inputs: Tensors, several: bool, caller: str, create_graph: bool) -> Gradients | None:
    """The `v` of a product with J or H from the right."""
    if v is not None:
        return _vectors(v, inputs, several, caller, create_graph)
    if len(inputs) != 1 or inputs[0].array.size != 1:
        raise ProgramError(
            "RuntimeError",
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
        )
    return None


def _probes(tensors: Tensors) -> Tensors:
    """Zeros to take the derivative with respect to: what is linear in them does not depend on their values."""
    made = tuple(zeros_like(t) for t in tensors)
    for probe in made:
        set_requires_grad(probe, True)
    return made


def jvp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's outputs and J v."""
    with recording(True):
        several, given = _tuple_of(inputs, "inputs", "jvp")
        points = _stand_ins(given, create_graph)
        vectors = _directions(v, points, several, "jvp", create_graph)
        many, outputs = _tuple_of(call(func, points), _OUTPUTS, "jvp")
        if strict:
            _check_tracked(outputs, "outputs")
        probes = _probes(outputs)
        back = _gradients(outputs, points, probes, create_graph=True)
        if strict:
            _check_tracked(back, "grad_inputs")
    gradients = _gradients(back, probes, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, outputs, "back_trick", strict, create_graph)
    return _result(outputs, create_graph, many), _result(product, create_graph, many)


def _scalar_and_gradient(func: Any, inputs: Any, v: Any, caller: str, create_graph: bool, strict: bool) -> Any:
    """What `vhp` and `hvp` have in common: the value, the gradient with its graph, and the checked vectors."""
    several, given = _tuple_of(inputs, "inputs", caller)
    points = _stand_ins(given, create_graph)
    vectors = _directions(v, points, several, caller, create_graph)
    many, outputs = _tuple_of(call(func, points), _OUTPUTS, caller)
    if strict:
        _check_tracked(outputs, "outputs")
    if many:
        raise ProgramError("RuntimeError", f"The function given to {caller} should return a single Tensor")
    if outputs[0].array.size != 1:
        raise ProgramError("RuntimeError", f"The Tensor returned by the function given to {caller} should contain a single element")
    slope = _gradients(outputs, points, None, create_graph=True)
    if strict:
        _check_tracked(slope, "jacobian")
    return several, points, vectors, outputs, slope


def vhp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's value and v^T H, by a backward pass through the gradient."""
    with recording(True):
        several, points, vectors, outputs, slope = _scalar_and_gradient(func, inputs, v, "vhp", create_graph, strict)
    gradients = _gradients(slope, points, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, points, "double_back", strict, create_graph)
    return _result(outputs, create_graph, False), _result(product, create_graph, several)


def hvp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's value and H v, as the Jacobian of the gradient times v."""
    with recording(True):
        several, points, vectors, outputs, slope = _scalar_and_gradient(func, inputs, v, "hvp", create_graph, strict)
        probes = _probes(points)
        back = _gradients(slope, points, probes, create_graph=True)
    gradients = _gradients(back, probes, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, points, "double_back_trick", strict, create_graph)
    return _result(outputs, create_graph, False), _result(product, create_graph, several)


# --- whole matrices ---

_STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Any, inputs: Any, create_graph: Any = False, strict: Any = False, vectorize: Any = False, strategy: Any = "reverse-mode"
) -> Any:
    """All derivatives: for each output and input a tensor of the output's shape followed by the input's."""
    if strategy not in _STRATEGIES:
        raise ProgramError(
            "AssertionError",
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".',
        )
    forward = strategy == "forward-mode"
    if forward:
        _check_forward(create_graph, strict, vectorize)
    with recording(True):
        several, given = _tuple_of(inputs, "inputs", "jacobian")
        points = _stand_ins(given, create_graph)
        many, outputs = _tuple_of(call(func, points), _OUTPUTS, "jacobian")
        if strict:
            _check_tracked(outputs, "outputs")
            if vectorize:
                raise ProgramError(
                    "RuntimeError",
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                    "Please either set `strict=False` or `vectorize=False`.",
                )
        blocks = [_blocks(i, output, points, bool(create_graph), bool(strict)) for i, output in enumerate(outputs)]
    if not blocks:
        raise ProgramError("IndexError", "tuple index out of range")
    if forward and several:  # forward mode hands out lists where it need not unpack
        return [list(row) for row in blocks] if many else list(blocks[0])
    rows = [_result(row, create_graph, several) for row in blocks]
    return tuple(rows) if many else rows[0]


def _check_forward(create_graph: Any, strict: Any, vectorize: Any) -> None:
    """What PyTorch's forward mode refuses. The numbers are the same in both modes, so one mechanism serves."""
    if create_graph:
        raise ProgramError(
            "NotImplementedError",
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `create_graph=False` or `strategy="reverse-mode"`.',
        )
    if strict:
        raise ProgramError(
            "RuntimeError",
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `strict=False` or `strategy="reverse-mode"`.',
        )
    if not vectorize:
        raise ProgramError(
            "NotImplementedError",
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.",
        )


def _blocks(number: int, output: Tensor, points: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The derivatives of one output with respect to each input: one backward pass for each element."""
    for point in points:
        limits.check_elements(output.array.size * point.array.size, point.array.itemsize)
    rows: list[list[Tensor]] = [[] for _ in points]
    for unit in one_hot_rows(output):
        gradients = _gradients((output,), points, (unit,), create_graph=create_graph, keep=True)
        for k, (gradient, point) in enumerate(zip(gradients, points, strict=True)):
            if gradient is None:
                if strict:
                    raise ProgramError(
                        "RuntimeError", f"Output {number} of the user-provided function is independent of input {k}. {_NOT_IN_STRICT}."
                    )
                gradient = zeros_like(point)
            elif strict and create_graph and not gradient.requires_grad:
                raise ProgramError(
                    "RuntimeError",
                    f"The jacobian of the user-provided function is independent of input {number}. {_NOT_IN_STRICT} when "
                    "create_graph=True.",
                )
            rows[k].append(gradient)
    return tuple(stacked(row, output, point, create_graph) for row, point in zip(rows, points, strict=True))


def stacked(rows: Sequence[Tensor], output: Tensor, point: Tensor, create_graph: bool) -> Tensor:
    """Gradients of the elements of `output`, in order, as one tensor of the shapes of `output` and `point` together."""
    shape = (*output.array.shape, *point.array.shape)
    if not rows:
        raise ProgramError("RuntimeError", "stack expects a non-empty TensorList")
    if create_graph and any(r.requires_grad for r in rows):
        whole = catalog.function("stack")(tuple(rows))
        made: Tensor = catalog.method("view").method(whole, (shape,), {})
        return made
    return Tensor(np.stack([r.array for r in rows]).reshape(shape), point.dtype)


def hessian(
    func: Any,
    inputs: Any,
    create_graph: Any = False,
    strict: Any = False,
    vectorize: Any = False,
    outer_jacobian_strategy: Any = "reverse-mode",
) -> Any:
    """All second derivatives of a function with one value: the Jacobian of its gradient."""
    several, given = _tuple_of(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise ProgramError("AssertionError", 'Expected strategy to be either "forward-mode" or "reverse-mode".')

    def value(*points: Tensor) -> Tensor:
        result = call(func, points)
        many, outputs = _tuple_of(result, _OUTPUTS, "hessian")
        if strict:
            _check_tracked(outputs, "outputs")
        if many:
            raise ProgramError("RuntimeError", "The function given to hessian should return a single Tensor")
        if outputs[0].array.size != 1:
            raise ProgramError("RuntimeError", "The Tensor returned by the function given to hessian should contain a single element")
        squeezed: Tensor = catalog.function("squeeze")(outputs[0])
        return squeezed

    def slope(*points: Tensor) -> Tensors:
        made: Tensors = jacobian(value, points, create_graph=True)
        if strict:
            _check_tracked(made, "jacobian")
        return made

    rows = jacobian(slope, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    if several:
        return rows if outer_jacobian_strategy == "forward-mode" else tuple(rows)
    return rows[0][0]


JACOBIAN = Routine(jacobian)
HESSIAN = Routine(hessian)
VJP = Routine(vjp)
JVP = Routine(jvp)
HVP = Routine(hvp)
VHP = Routine(vhp)
