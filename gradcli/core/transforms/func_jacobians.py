"""torch.func.jacrev, jacfwd and hessian: all derivatives of a function, by backward passes or in forward mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.saved_tensor_hooks import Disabled
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.random import generator
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.transforms import forward_ad, jacobians
from gradcli.core.transforms.pytree import flatten, map_leaves, rebuild
from gradcli.core.transforms.torch_func import (
    JVP_TEXT,
    NO_HOOKS,
    VJP_TEXT,
    Level,
    check_differentiable,
    forward_products,
    points_of,
    positions_of,
    split_aux,
    tensor_leaves,
)
from gradcli.core.transforms.user_functions import call, qualified_name_of
from gradcli.core.transforms.vmap import DRAWN, check_randomness, vmap
from gradcli.errors import runtime_error, shape_error


def _jacobian(func: Any, argnums: Any, has_aux: Any, args: tuple[Any, ...], caller: str) -> Any:
    backward = caller == VJP_TEXT
    before = generator.default.get_state()
    level = Level() if backward else Level("vmap", "jvp")
    with Disabled(NO_HOOKS) if backward else nullcontext(), level, forward_ad.numbers_as_such(backward):
        placed, points = points_of(level, args, argnums)
        output, aux = split_aux(call(func, placed), has_aux, caller)
        outputs, out_spec = tensor_leaves(output, caller)
        _check_outputs(outputs, caller, before)
        leaves, in_spec = flatten(points)
        rows = []
        if backward and level.is_recorded(*outputs):
            rows = [rebuild(in_spec, map(level.leave, row)) for row in _batched_rows(level, outputs, leaves)]
            outputs = []
        for o in outputs:
            outside = level.is_recorded(o)
            if backward:
                others = [other for other in outputs if other is not o]
                whole = jacobians.jacobian(o, leaves, create_graph=outside, others=others)
            else:
                whole = _columns(level, o, leaves, outside)
            rows.append(rebuild(in_spec, map(level.leave, whole)))
        extra = level.leave(aux) if has_aux else None
    result = rebuild(out_spec, rows)
    return (result, extra) if has_aux else result


def _batched_rows(level: Level, outputs: list[Tensor], leaves: list[Tensor]) -> Iterator[list[Tensor]]:
    """For each output its derivatives by each input: v^T J of a batch of vectors, one for each element of the outputs."""

    def pull(*vectors: Tensor) -> Any:
        return level.gradients(outputs, leaves, vectors, keep=True, graph=True)

    sizes = [output.array.size for output in outputs]
    columns = vmap(pull)(*jacobians.basis(outputs))
    parts = [catalog.function("split")(column, sizes, 0) for column in columns]
    for number, output in enumerate(outputs):
        shapes = [(*output.array.shape, *leaf.array.shape) for leaf in leaves]
        yield [catalog.method("view").method(part[number], (shape,), {}) for part, shape in zip(parts, shapes, strict=True)]


def _check_outputs(outputs: list[Tensor], caller: str, before: Any = None) -> None:
    """Raise PyTorch's errors for outputs that have no Jacobian, and, of `jacfwd`, for random numbers that the function has drawn."""
    name = "jacfwd" if caller == JVP_TEXT else "jacrev"
    if name == "jacrev":
        check_differentiable(outputs)
    elif before is not None and not np.array_equal(before, generator.default.get_state()):
        raise runtime_error(DRAWN)
    _check_real(name, outputs, "outputs")


def _check_real(name: str, values: list[Any], what: str) -> None:
    """Raise PyTorch's error for complex tensors, which have no Jacobian."""
    for at, value in enumerate(values):
        if type(value) is Tensor and value.dtype.is_complex:
            raise runtime_error(f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {at}")


def _columns(level: Level, output: Tensor, leaves: list[Tensor], graph: bool) -> list[Tensor]:
    """The derivatives of an output for each input, by J u for each direction u of an element."""
    sizes = [leaf.array.size for leaf in leaves]
    limits.check_elements(output.array.size * sum(sizes), output.array.itemsize)
    probe = level.leaf(zeros_like(output))
    pulled = jacobians.vjp((output,), leaves, (probe,), create_graph=True)
    columns = []
    for at, leaf in enumerate(leaves):
        for direction in jacobians.one_hot(leaf):
            directions = [direction if i == at else zeros_like(other) for i, other in enumerate(leaves)]
            (found,) = jacobians.vjp(pulled, (probe,), directions, create_graph=graph, retain_graph=True)
            columns.append(zeros_like(output) if found is None else found)
    if not columns:
        return [zeros_like(leaf) for leaf in leaves]
    return _blocks(catalog.function("stack")(tuple(columns)), output, leaves)


def _blocks(columns: Tensor, output: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """The derivatives by each element of the inputs as one tensor for each input, views of the same memory as in PyTorch."""
    whole = catalog.function("movedim")(columns, 0, -1)
    parts = catalog.function("split")(whole, [leaf.array.size for leaf in leaves], -1)
    shapes = [(*output.array.shape, *leaf.array.shape) for leaf in leaves]
    return [catalog.method("view").method(part, (shape,), {}) for part, shape in zip(parts, shapes, strict=True)]


def jacrev(func: Any, argnums: Any = 0, *, has_aux: Any = False, chunk_size: Any = None) -> Routine:
    """`jacrev(f)(*args)`: all derivatives, by backward passes."""
    if not (chunk_size is None or chunk_size > 0):
        raise shape_error("jacrev: `chunk_size` should be greater than 0.", "ValueError")

    def wrapper_fn(*args: Any) -> Any:
        _check_real("jacrev", flatten(args)[0], "inputs")
        return _jacobian(func, argnums, has_aux, args, VJP_TEXT)

    return Routine(wrapper_fn, qualified_name_of(func))


def _forward_jacobian(func: Any, argnums: Any, has_aux: Any, args: tuple[Any, ...], randomness: Any) -> Any:
    """The Jacobian in forward mode, of a batch of directions, one for each element of the inputs."""
    positions = positions_of(argnums, len(args))
    leaves, spec = flatten(tuple(args[at] for at in positions))

    def of_points(*points: Any) -> Any:
        others = Level("jvp")
        placed = [arg if at in positions else map_leaves(others.wrapped, arg) for at, arg in enumerate(args)]
        for at, point in zip(positions, points, strict=True):
            placed[at] = point
        return call(func, placed)

    found: list[Any] = []

    def push(*directions: Tensor) -> Any:
        output, out_spec, products, aux = forward_products(of_points, spec, leaves, list(directions), has_aux)
        outputs = flatten(output)[0]
        _check_outputs(outputs, JVP_TEXT)
        found[:] = [out_spec, outputs]
        return [zeros_like(o) if p is None else p for o, p in zip(outputs, products, strict=True)], aux if has_aux else ()

    columns, aux = vmap(push, randomness=randomness)(*jacobians.basis(leaves))
    out_spec, outputs = found
    blocks = [_blocks(column, output, leaves) for column, output in zip(columns, outputs, strict=True)]
    results = [rebuild(spec, row) for row in blocks]
    result = rebuild(out_spec, results if isinstance(argnums, tuple) else [row[0] for row in results])
    return (result, map_leaves(lambda value: catalog.function("select")(value, 0, 0), aux)) if has_aux else result


#: up to so many elements of the inputs `jacfwd` runs the function once for each, in forward mode
_DIRECTIONS = 32


def jacfwd(func: Any, argnums: Any = 0, has_aux: Any = False, *, randomness: Any = "error") -> Routine:
    """`jacfwd(f)(*args)`: all derivatives, by a product J u for each element of the arguments."""

    def wrapper_fn(*args: Any) -> Any:
        _check_real("jacfwd", flatten(args)[0], "inputs")
        check_randomness(randomness)
        points = flatten([args[at] for at in positions_of(argnums, len(args))])[0]
        for point in points:
            if type(point) is not Tensor:
                raise no_attribute(point, "numel")
        forward_ad.check_nesting()
        few = 0 < sum(point.array.size for point in points) <= _DIRECTIONS
        if few and state.dual is None:
            return _forward_jacobian(func, argnums, has_aux, args, randomness)
        return _jacobian(func, argnums, has_aux, args, JVP_TEXT)

    return Routine(wrapper_fn, qualified_name_of(func))


def hessian(func: Any, argnums: Any = 0) -> Routine:
    """`hessian(f)(*args)`: all second derivatives."""
    return jacfwd(jacrev(func, argnums), argnums)


JACREV = Routine(jacrev)
JACFWD = Routine(jacfwd)
HESSIAN = Routine(hessian)
