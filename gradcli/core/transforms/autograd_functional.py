"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, for functions of tensors.

A function takes one tensor or several and returns a tensor or a tuple of them. It is called once, on fresh tensors
that stand for the inputs, so that the same tensors reached by other ways (a closure) count as constants. Results have
no history unless `create_graph` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gradcli.core.autograd.tensor_state import detach, requires_grad_, set_requires_grad
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.transforms import forward_ad, jacobians
from gradcli.core.transforms.jacobians import Gradients
from gradcli.core.transforms.user_functions import call, stand_in
from gradcli.core.transforms.vmap import vmap
from gradcli.errors import Code, ProgramError, runtime_error, shape_error

Tensors = tuple[Tensor, ...]

_OUTPUTS = "outputs of the user-provided function"


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
                f"{language.type_repr(element)}.",
            )
    return several, values


def _stand_ins(tensors: Tensors, create_graph: bool) -> Tensors:
    """Fresh tensors for the inputs: views that lead back to them under `create_graph`, else leaves."""
    made = []
    for tensor in tensors:
        if create_graph and tensor.requires_grad:
            made.append(stand_in(tensor))
        else:
            made.append(requires_grad_(detach(tensor), True))
    return tuple(made)


def _vectors(v: Any, like: Tensors, several: bool, caller: str, create_graph: bool) -> Tensors:
    """The given vectors, checked to have the shapes of `like`."""
    _, given = _tuple_of(v, "v", caller)
    if len(given) != len(like):
        if several:
            raise runtime_error(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise runtime_error("The given v should contain a single Tensor.")
    for i, (vector, other) in enumerate(zip(given, like, strict=True)):
        if vector.array.shape != other.array.shape:
            which = f"Entry {i} in " if several else ""
            raise shape_error(f"{which}v has invalid size: should be {other.shape!r} but got {vector.shape!r}.")
    return tuple(stand_in(t) if create_graph and t.requires_grad else detach(t) for t in given)


def _result(values: Sequence[Tensor], create_graph: bool, several: bool) -> Any:
    """The result for the caller: without history unless `create_graph`, a tuple if `several`, else its only tensor."""
    if not values:
        raise ProgramError("IndexError", "tuple index out of range")
    made = tuple(values) if create_graph else tuple(detach(t) for t in values)
    return made if several else made[0]


# --- strict mode ---

_NOT_IN_STRICT = "This is not allowed in strict mode"
#: the errors of strict mode for a tensor at index i that does not require grad
_UNTRACKED = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. "
    "This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
}
#: the errors of strict mode for index i without a gradient, by the pass that gave none
_NOTHING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def _check_tracked(values: Gradients, what: str) -> None:
    """Strict mode: raise unless every value is there and requires grad."""
    for i, value in enumerate(values):
        if value is None:
            raise runtime_error(_NOTHING["back"].format(i=i))
        if not value.requires_grad:
            raise runtime_error(_UNTRACKED[what].format(i=i))


def _filled(gradients: Gradients, like: Tensors, stage: str, strict: bool, create_graph: bool) -> Tensors:
    """Zeros where nothing depends on an input; an error instead in strict mode."""
    made = []
    for i, (gradient, other) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise runtime_error(_NOTHING[stage].format(i=i))
            gradient = zeros_like(other)
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise runtime_error(
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
            raise runtime_error(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
    gradients = jacobians.vjp(outputs, points, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, points, "back", strict, create_graph)
    return _result(outputs, create_graph, many), _result(product, create_graph, several)


def _directions(v: Any, inputs: Tensors, several: bool, caller: str, create_graph: bool) -> Gradients | None:
    """The `v` of a product with J or H from the right."""
    if v is not None:
        return _vectors(v, inputs, several, caller, create_graph)
    if len(inputs) != 1 or inputs[0].array.size != 1:
        raise runtime_error(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
        )
    return None


def jvp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's outputs and J v."""
    with recording(True):
        several, given = _tuple_of(inputs, "inputs", "jvp")
        points = _stand_ins(given, create_graph)
        vectors = _directions(v, points, several, "jvp", create_graph)
        many, outputs = _tuple_of(call(func, points), _OUTPUTS, "jvp")
        if strict:
            _check_tracked(outputs, "outputs")
    check = partial(_check_tracked, what="grad_inputs") if strict else None
    gradients = jacobians.jvp(outputs, points, vectors, check=check, create_graph=bool(create_graph))
    product = _filled(gradients, outputs, "back_trick", strict, create_graph)
    return _result(outputs, create_graph, many), _result(product, create_graph, many)


def _scalar_and_gradient(func: Any, inputs: Any, v: Any, caller: str, create_graph: bool, strict: bool) -> Any:
    """The first half of `vhp` and `hvp`: whether inputs came in a tuple, stand-ins, checked vectors, the value and the gradient."""
    several, given = _tuple_of(inputs, "inputs", caller)
    points = _stand_ins(given, create_graph)
    vectors = _directions(v, points, several, caller, create_graph)
    many, outputs = _tuple_of(call(func, points), _OUTPUTS, caller)
    if strict:
        _check_tracked(outputs, "outputs")
    if many:
        raise runtime_error(f"The function given to {caller} should return a single Tensor")
    if outputs[0].array.size != 1:
        raise runtime_error(f"The Tensor returned by the function given to {caller} should contain a single element")
    slope = jacobians.vjp(outputs, points, None, create_graph=True)
    if strict:
        _check_tracked(slope, "jacobian")
    return several, points, vectors, outputs, slope


def vhp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's value and v^T H, by a backward pass through the gradient."""
    with recording(True):
        several, points, vectors, outputs, slope = _scalar_and_gradient(func, inputs, v, "vhp", create_graph, strict)
    gradients = jacobians.vjp(slope, points, vectors, create_graph=bool(create_graph))
    product = _filled(gradients, points, "double_back", strict, create_graph)
    return _result(outputs, create_graph, False), _result(product, create_graph, several)


def hvp(func: Any, inputs: Any, v: Any = None, create_graph: Any = False, strict: Any = False) -> tuple[Any, Any]:
    """The function's value and H v, as the Jacobian of the gradient times v."""
    with recording(True):
        several, points, vectors, outputs, slope = _scalar_and_gradient(func, inputs, v, "hvp", create_graph, strict)
    probes = [jacobians.leaf_zeros(point) for point in points]
    gradients = jacobians.jvp(slope, points, vectors, probes=probes, create_graph=bool(create_graph))
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
    if strategy == "forward-mode":
        several, given = _tuple_of(inputs, "inputs", "jacobian")
        _check_forward(create_graph, strict, vectorize)
        many, rows = _forward_jacobian(func, given)
        if several:  # forward mode hands out lists where it need not unpack
            return rows if many else rows[0]
        return tuple([row[0] for row in rows]) if many else rows[0][0]
    return _backward_jacobian(func, inputs, create_graph, strict, vectorize)


def _backward_jacobian(func: Any, inputs: Any, create_graph: Any, strict: Any, vectorize: Any) -> Any:
    with recording(True):
        several, given = _tuple_of(inputs, "inputs", "jacobian")
        points = _stand_ins(given, create_graph)
        many, outputs = _tuple_of(call(func, points), _OUTPUTS, "jacobian")
        if strict:
            _check_tracked(outputs, "outputs")
            if vectorize:
                raise runtime_error(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                    "Please either set `strict=False` or `vectorize=False`.",
                )
        graph = bool(create_graph)
        blocks = []
        for i, output in enumerate(outputs):
            if not vectorize and output.dtype.is_complex and output.requires_grad and output.array.size:
                # PyTorch differentiates each element without a vector
                raise runtime_error(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
            check = partial(_check_row, i, graph) if strict else None
            others = [other for other in outputs if other is not output] if vectorize else []
            blocks.append(jacobians.jacobian(output, points, create_graph=graph, check=check, others=others))
    if not blocks:
        raise ProgramError("IndexError", "tuple index out of range")
    rows = [_result(row, create_graph, several) for row in blocks]
    return tuple(rows) if many else rows[0]


def _forward_jacobian(func: Any, given: Sequence[Tensor]) -> tuple[bool, list[list[Tensor]]]:
    """For each output and input the derivatives in forward mode, for all directions at once; and whether the function gave a tuple."""
    found: list[Any] = []

    def push(*directions: Tensor) -> Any:
        forward_ad.enter_dual_level()
        try:
            many, outputs = _tuple_of(call(func, tuple(map(forward_ad.make_dual, given, directions))), "outputs", "None")
            parts = [forward_ad.unpack_dual(output) for output in outputs]
        finally:
            forward_ad.exit_dual_level()
        found[:] = [many, [primal.array.shape for primal, _ in parts]]
        return tuple([zeros_like(primal) if tangent is None else tangent for primal, tangent in parts])

    columns = vmap(push)(*jacobians.basis(given))
    many, shapes = found
    rows = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = catalog.function("split")(column, [point.array.size for point in given])
        moved = [catalog.method("permute").method(part, ((*range(1, part.array.ndim), 0),), {}) for part in parts]
        pairs = zip(moved, given, strict=True)
        rows.append([catalog.method("reshape").method(part, ((*shape, *point.array.shape),), {}) for part, point in pairs])
    return many, rows


def _check_forward(create_graph: Any, strict: Any, vectorize: Any) -> None:
    """What PyTorch's forward mode refuses."""
    if create_graph:
        raise ProgramError(
            "NotImplementedError",
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `create_graph=False` or `strategy="reverse-mode"`.',
        )
    if strict:
        raise runtime_error(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
            'Please either set `strict=False` or `strategy="reverse-mode"`.',
        )
    if not vectorize:
        raise ProgramError(
            "NotImplementedError",
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.",
        )


def _check_row(number: int, create_graph: bool, gradients: Gradients) -> None:
    """Strict mode: an element of output `number` must depend on every input."""
    for k, gradient in enumerate(gradients):
        if gradient is None:
            raise runtime_error(f"Output {number} of the user-provided function is independent of input {k}. {_NOT_IN_STRICT}.")
        if create_graph and not gradient.requires_grad:
            raise runtime_error(
                f"The jacobian of the user-provided function is independent of input {number}. {_NOT_IN_STRICT} when create_graph=True."
            )


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
            raise runtime_error("The function given to hessian should return a single Tensor")
        if outputs[0].array.size != 1:
            text = "The Tensor returned by the function given to hessian should contain a single element"
            raise runtime_error(text, Code.HESSIAN_OF_MANY, shape=outputs[0].array.shape)
        squeezed: Tensor = catalog.function("squeeze")(outputs[0])
        return squeezed

    def slope(*points: Tensor) -> Tensors:
        made: Tensors = jacobian(value, points, create_graph=True)
        if strict:
            _check_tracked(made, "jacobian")
        return made

    def tracked(*points: Tensor) -> Tensors:
        for point in points:
            set_requires_grad(point, True)
        return slope(*points)

    if outer_jacobian_strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        with recording(True):  # PyTorch leaves the history of the gradients with the results
            rows = _forward_jacobian(tracked, _stand_ins(given, False))[1]
        return rows if several else rows[0][0]
    rows = _backward_jacobian(slope, given, create_graph, strict, vectorize)
    return tuple(rows) if several else rows[0][0]


JACOBIAN = Routine(jacobian)
HESSIAN = Routine(hessian)
VJP = Routine(vjp)
JVP = Routine(jvp)
HVP = Routine(hvp)
VHP = Routine(vhp)
