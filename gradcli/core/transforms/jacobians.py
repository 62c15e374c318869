"""Derivatives of tensors that have been computed: products of their Jacobian with vectors from both sides, and whole Jacobians.

torch.autograd.functional, torch.func, gradcheck, forward AD and the commands all use these. Nothing is called here: outputs
come with their graph, and inputs are tensors of that graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from gradcli import limits
from gradcli.core.autograd import backward
from gradcli.core.autograd.tensor_state import set_requires_grad
from gradcli.core.functions import catalog
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, ones_like, zeros_like
from gradcli.errors import runtime_error

#: a gradient for each input, None for an input that no output depends on
Gradients = Sequence[Tensor | None]


def one_hot(tensor: Tensor) -> Iterator[Tensor]:
    """For each element of a tensor in turn, a tensor like it with 1 at that element and 0 elsewhere."""
    for j in range(tensor.array.size):
        row = np.zeros(tensor.array.shape, tensor.dtype.np)
        row.reshape(-1)[j] = 1
        yield Tensor(row, tensor.dtype)


def basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor a batch of directions, one for each element of all tensors: 1 at that element and 0 elsewhere."""
    count, start = sum(tensor.array.size for tensor in tensors), 0
    found = []
    for tensor in tensors:
        size = tensor.array.size
        limits.check_elements(count * size, tensor.array.itemsize)
        rows = np.zeros((count, size), tensor.dtype.np)
        np.fill_diagonal(rows[start:], 1)
        start += size
        found.append(Tensor(rows.reshape(count, *tensor.array.shape), tensor.dtype))
    return found


def vjp(
    outputs: Gradients, inputs: Sequence[Tensor], vectors: Gradients | None, *, create_graph: bool = False, retain_graph: bool | None = None
) -> Gradients:
    """v^T J: the gradients of `inputs`, with a vector for each output (None, for all or for one: 1, for outputs of one element).

    Outputs that are None or have no graph are left out.
    """
    given = [None] * len(outputs) if vectors is None else vectors
    pairs = [(output, vector) for output, vector in zip(outputs, given, strict=True) if output is not None and output.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    if state.mapped:
        pairs = [(output, _on_level_of(output, vector)) for output, vector in pairs]
    return backward.grad(
        [output for output, _ in pairs],
        inputs,
        [vector for _, vector in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )


def _on_level_of(output: Tensor, vector: Tensor | None) -> Tensor | None:
    """The vector for a batched output, whose products belong to the level of vmap that the output is on."""
    batch = output.batch
    if batch is None or (vector is None and (output.array.size != 1 or output.dtype.is_complex)):
        return vector
    lifted: Tensor = batch.level.lift(ones_like(output) if vector is None else vector)
    return lifted


def vjps(
    output: Tensor, inputs: Sequence[Tensor], vectors: Iterable[Tensor], *, create_graph: bool = False, others: Sequence[Tensor] = ()
) -> Iterator[Gradients]:
    """v^T J for one vector after the other, which is 0 for `others`. The graph stays."""
    zeros = [zeros_like(other) for other in others]
    for vector in vectors:
        yield vjp((output, *others), inputs, (vector, *zeros), create_graph=create_graph, retain_graph=True)


def leaf_zeros(tensor: Tensor) -> Tensor:
    """Zeros of the same shape and dtype that require grad. Raises PyTorch's RuntimeError for integers."""
    made = zeros_like(tensor)
    if tensor.batch is not None:
        made = tensor.batch.level.lift(made)
    set_requires_grad(made, True)
    return made


def jvp(
    outputs: Gradients,
    inputs: Sequence[Tensor],
    directions: Gradients | None,
    *,
    probes: Sequence[Tensor] | None = None,
    check: Callable[[Gradients], None] | None = None,
    create_graph: bool = False,
) -> Gradients:
    """J u for each output, None for an output that depends on no input: v^T J is linear in v, and its derivative, applied to u, is J u.

    `directions` has a tensor u for each input (None: 1, for inputs of one element). `probes` are the v, leaves of any value. `check`
    gets v^T J before it is differentiated.
    """
    probes = [leaf_zeros(output) for output in outputs if output is not None] if probes is None else probes
    pulled = vjp(outputs, inputs, probes, create_graph=True)
    if check is not None:
        check(pulled)
    return vjp(pulled, probes, directions, create_graph=create_graph, retain_graph=True)


def jacobian(
    output: Tensor,
    inputs: Sequence[Tensor],
    *,
    create_graph: bool = False,
    check: Callable[[Gradients], None] | None = None,
    others: Sequence[Tensor] = (),
) -> list[Tensor]:
    """For each input the derivatives of `output`, of the shape of `output` followed by the input's: one backward pass an element.

    The passes take zeros back from `others`, which decides the sign of zeros among the sums. `check` gets the gradients of each
    element. Raises LimitError for a Jacobian over the bounds, and PyTorch's error for an output without elements.
    """
    if not inputs:
        return []
    for tensor in inputs:
        limits.check_elements(output.array.size * tensor.array.size, tensor.array.itemsize)
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for gradients in vjps(output, inputs, one_hot(output), create_graph=create_graph, others=others):
        if check is not None:
            check(gradients)
        for column, gradient, tensor in zip(columns, gradients, inputs, strict=True):
            column.append(zeros_like(tensor) if gradient is None else gradient)
    return [_stacked(column, output, tensor) for column, tensor in zip(columns, inputs, strict=True)]


def _stacked(rows: Sequence[Tensor], output: Tensor, point: Tensor) -> Tensor:
    """The gradients of the elements of `output`, in order, as one tensor of the shapes of `output` and `point` together."""
    shape = (*output.array.shape, *point.array.shape)
    if not rows:
        raise runtime_error("stack expects a non-empty TensorList")
    if state.dual is not None or state.mapped or any(row.requires_grad for row in rows):
        whole = catalog.function("stack")(tuple(rows))
        made: Tensor = catalog.method("view").method(whole, (shape,), {})
        return made
    return Tensor(np.stack([row.array for row in rows]).reshape(shape), point.dtype)
