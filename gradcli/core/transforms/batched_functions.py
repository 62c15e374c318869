"""Functions that ask for the elements of batched tensors: by one sample after the other, with derivatives of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.graph import strided
from gradcli.core.graph.clone import CONTIGUOUS
from gradcli.core.graph.record import Op, Rule
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.batched import Level, innermost
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.transforms.batched_samples import Outside, finish, is_of, joined_samples, sample, varies, wrap
from gradcli.core.transforms.pytree import flatten, rebuild
from gradcli.core.transforms.torch_func import Level as GradLevel
from gradcli.core.transforms.torch_func import forward_products
from gradcli.errors import Code, ProgramError


def _together(results: Sequence[Any], level: Level, error: ProgramError) -> Any:
    """The results of all samples as batched tensors."""
    first = results[0]
    if type(first) is Tensor:
        if len(results) > 1 and all(result is first for result in results):
            return first
        return wrap(joined_samples(results, level), 0, level)
    if isinstance(first, (tuple, list)):
        parts = [_together(column, level, error) for column in zip(*results, strict=True)]
        return type(first)(parts)
    if any(type(result) is not type(first) or result != first for result in results):
        raise error
    return first


def by_samples(run: Callable[..., Any], args: Sequence[Any], error: ProgramError) -> Any:
    """The results of a function that asks for elements, by one sample after the other. Raises the error where there are none."""
    level = innermost(args)
    if level is None and state.mapped and state.mapped[-1].drawing is not None:
        level = state.mapped[-1]
    if level is None or not level.open:
        raise error
    leaves, spec = flatten(tuple(args))
    if any(isinstance(leaf, Generator) for leaf in leaves):
        raise error
    if any(_has_history(leaf, level) for leaf in leaves):
        return _with_history(run, leaves, spec, level, error)
    count = max(level.size, 1) if varies(leaves, level) or level.drawing is not None else 1
    rows, given = [], []
    drawing, before = level.drawing, generator.default.get_state()
    with Outside(level):
        try:
            for number in range(count):
                if drawing is None:
                    generator.default.set_state(before)  # all samples draw the same numbers
                else:
                    drawing.begin(number)
                given.append([sample(leaf, level, number) for leaf in leaves])
                rows.append(mapping(run, rebuild(spec, given[-1])))
        finally:
            if drawing is not None:
                drawing.end()
        written = next((leaf for leaf, value in zip(leaves, given[0], strict=True) if type(value) is Tensor and rows[0] is value), None)
        if written is not None:  # in place
            return written
        found = _together(rows, level, error)
    for leaf in flatten(found)[0]:
        if type(leaf) is Tensor:
            leaf.meta = state.within
    return found


def mapping(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """`run(*args)`, by one sample after the other where it asks for elements."""
    try:
        return run(*args)
    except ProgramError as error:
        if error.code is not Code.NEEDS_SAMPLES:
            raise
        return by_samples(run, args, error)


def _has_history(value: Any, level: Level) -> bool:
    """Whether a tensor has a history within the level, which its samples have not."""
    if not is_of(value, level):
        return False
    return (value.requires_grad and state.enabled) or (state.dual is not None and state.dual.tangent_of(value) is not None)


def _with_history(run: Callable[..., Any], leaves: list[Any], spec: Any, level: Level, error: ProgramError) -> Any:
    """The results of a function by samples, with a node and tangents of their own: the function runs again for its derivatives."""
    places = [k for k, leaf in enumerate(leaves) if _has_history(leaf, level)]
    drawing, before = level.drawing, generator.default.get_state()
    plain = [Tensor(leaf.array, leaf.dtype) if k in places else leaf for k, leaf in enumerate(leaves)]
    result = by_samples(lambda *values: run(*rebuild(spec, values)), plain, error)
    outs = _differentiable(result)
    if not outs:
        return result
    draws = None if drawing is None else drawing.before

    def derived(derive: Callable[..., Any], tensors: Sequence[Tensor], more: Sequence[Any]) -> Any:
        """What `derive` gives for each sample of the function of the tensors, which draws the same numbers again."""
        given = list(leaves)
        for k, tensor in zip(places, tensors, strict=True):
            given[k] = tensor

        def of_sample(*values: Any) -> Any:
            own = list(values[: len(leaves)])

            def of(*points: Tensor) -> tuple[Tensor, ...]:
                for k, point in zip(places, points, strict=True):
                    own[k] = point
                return _differentiable(run(*rebuild(spec, own)))

            after = generator.default.get_state()
            if drawing is None:
                generator.default.set_state(before)
            else:
                drawing.drawn = draws
            try:
                return derive(of, [own[k] for k in places], values[len(leaves) :])
            finally:
                if drawing is None:
                    generator.default.set_state(after)

        return by_samples(of_sample, (*given, *more), error)

    if len(outs) > 1:
        names = " ".join(f"out{k}" for k in range(len(outs)))
        rule = Rule(lambda grads, tensors: derived(_pull, tensors, grads), "")
    else:
        names, rule = "", Rule(lambda grad, tensors: derived(_pull, tensors, [grad]), "")
    op = Op(
        "NotImplemented",
        run,
        "tensors",
        outputs=names,
        differentiable=len(outs),
        variadic=True,
        saved="",
        wirtinger=True,
        jvp=lambda xp, tensors, attrs, tangents, outputs: tuple(derived(_push, tensors, tangents)),
        tensors=rule,
    )
    finish(op, outs, [leaves[k] for k in places], (), level)
    return result


def _differentiable(results: Any) -> tuple[Tensor, ...]:
    return tuple([leaf for leaf in flatten(results)[0] if type(leaf) is Tensor and leaf.dtype.is_differentiable])


def _pull(of: Callable[..., Any], tensors: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Tensor]:
    """v^T J of one sample."""
    level = GradLevel()
    with level:
        points = [level.stand_in(tensor) for tensor in tensors]
        outputs = of(*points)
        graph = level.is_recorded(*[out for out in (*outputs, *grads) if out is not None])
        pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True) if grad is not None]
        found = level.gradients([out for out, _ in pairs], points, [grad for _, grad in pairs], keep=graph, graph=graph)
        return [level.leave(gradient) for gradient in found]


def _push(of: Callable[..., Any], tensors: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> list[Tensor]:
    """J u of one sample, in forward mode: the level that asks for it is paused."""
    directions = [zeros_like(tensor) if tangent is None else tangent for tensor, tangent in zip(tensors, tangents, strict=True)]
    # a tensor whose elements share memory can have no tangent
    points = [tensor if strided.separate(strided.own_geometry(tensor.array)) else CONTIGUOUS(tensor) for tensor in tensors]
    before, state.dual = state.dual, None
    try:
        outputs, _, moved, _ = forward_products(of, flatten(tuple(tensors))[1], points, directions, False)
    finally:
        state.dual = before
    return [zeros_like(out) if m is None else m for out, m in zip(outputs, moved, strict=True)]
