"""Every formula that is shown is evaluated by the project's own parser and agrees with the rule that backward runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcli.analysis.recorder import Recorder, recorded
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Sample
from gradcli.core.graph import namespaces
from gradcli.core.graph.complex_node import ComplexNode, conjugate
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.record import Op
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import AccumulateGrad
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression, parse_input
from gradcli.lang.values.value_classes import is_value
from gradcli.source import Source
from tests import settings
from tests.analysis.formula_samples import SAMPLES

#: records that no sample reaches, because only another spelling of the call uses them
MORE = (
    "F.celu(x * 1, inplace=True)",
    "F.elu(x * 1, inplace=True)",
    "torch.rrelu_(x * 1, 0.25, 0.25, True)",
    "F.hardsigmoid(x)",
    "F.threshold(x * 1, 0.3, 2., inplace=True)",
    "torch.div(x, y, rounding_mode='floor')",
    "torch.sub(x, y, alpha=3)",
    "(x * 1).fill_(2.)",
    "(x * 1).fill_(y.sum())",
    "(x * 1).zero_()",
    "(x * 1).copy_(y)",
    "(x * 1).squeeze_()",
    "ldexp(x, y)",
    "(x * 1).squeeze_(0)",
    "(x * 1).squeeze_((0,))",
    "(m * 1).t_()",
    "(m * 1).transpose_(0, 1)",
    "(x * 1).unsqueeze_(0)",
    "x.to(torch.float32)",
    "torch.as_strided_scatter(x, y[:2] * 1, (2,), (1,), 1)",
    "torch.detach_copy(x)",
    "torch.unique_consecutive(x)",
    "torch.igamma(x**2, y**2)",
    "torch.igammac(x**2, y**2)",
    "torch.special.zeta(x**2 + 2, y**2)",
    "torch.special.zeta(x**2 + 2, 1.5)",
    "torch.special.xlog1py(x, 1.5)",
    "torch.special.xlog1py(1.5, y**2)",
    "torch.geqrf(m)[0]",
    "torch.autograd.grad(F.fractional_max_pool2d(m[None], 1, 1).sum() * x[0], m, create_graph=True)[0]",
    "torch.autograd.grad(F.fractional_max_pool3d(m.expand(3, 2, 2)[None], 1, 1).sum() * x[0], m, create_graph=True)[0]",
)
INPUTS = {"x": [0.2, -1.5, 2.5], "y": [1.5, 0.7, -2.0], "m": [[0.3, 1.1], [-0.4, 2.0]]}


def records() -> dict[int, tuple[Op, str]]:
    """Every operation record, with a function it belongs to."""
    found: dict[int, tuple[Op, str]] = {}
    for function in catalog.all_functions():
        for op in function.ops:
            found.setdefault(id(op), (op, function.name))
    return found


def steps_of(samples: Any) -> Iterator[tuple[OpNode, Recorder]]:
    """The steps that samples record, in float64."""
    for sample in samples:
        settings.reset()
        run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
        for name, value in sample.inputs.items():
            leaf = wrap(np.array(value, np.float64))
            leaf.requires_grad = True
            run.set(name, leaf)
        recorder = Recorder()
        made: list[Any] = []
        with recorded(recorder):
            value = run.evaluate(parse_expression(Source("<sample>", sample.text)))
        stack = [t for t in (value if isinstance(value, (tuple, list)) else [value]) if type(t) is Tensor and t.node is not None]
        seen = set()
        nodes = [t.node for t in stack]
        while nodes:
            node = nodes.pop()
            if node is None or node in seen or isinstance(node, AccumulateGrad):
                continue
            seen.add(node)
            nodes += [parent for parent, _ in node.edges]
            if isinstance(node, OpNode):
                made.append(node)
        for node in made:
            yield node, recorder


def evaluated(node: OpNode, recorder: Recorder, formula: str, grads: list[Any], number: int = 0) -> Any:
    """The formula with the step's own values for its names; `number` is that of the tensor for an operation on a list."""
    op = node.op
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    values: dict[str, Any] = {"grads": [wrap(grad) for grad in grads]} if op.many else {"grad": wrap(grads[0]), "i": number}
    outs = recorder.values(node)
    if outs:
        values["out"] = wrap(outs[0])
    values |= {name: wrap(out) for name, out in zip(op.outputs, outs, strict=False)}
    saved = recorder.saved(node)
    inputs: list[Any] = []
    for i, (parent, output) in enumerate(node.edges):
        known = recorder.values(parent) if parent is not None else ()
        kept = saved[i] if i < len(saved) else None
        inputs.append(wrap(known[output]) if output < len(known) else wrap(kept.array) if type(kept) is Tensor else kept)
    values |= {op.tensors[0]: inputs} if op.variadic else dict(zip(op.tensors, inputs, strict=True))
    values |= {name: in_language(value) for name, value in zip(op.attrs, node.attrs, strict=True)}
    if type(node) is ComplexNode:  # the formula of a holomorphic function takes the conjugates
        values = {name: value if name in ("grad", "grads") else conjugate(value) for name, value in values.items()}
    for name, value in values.items():
        if is_value(value):  # what records hand on to their rules alone has no place in a formula
            run.set(name, value)
    return run.execute_input(parse_input(Source("<formula>", formula)))


def of_kind(values: Any, dtype: DType) -> Any:
    """A gradient in the precision of a tensor: that of a real tensor is real, of a complex one complex."""
    return np.asarray(values, np.complex128) if dtype.is_complex else np.asarray(values.real, np.float64)


def in_language(value: Any) -> Any:
    """An argument that a step keeps, with tensors for arrays, also in a tuple."""
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    return tuple(map(in_language, value)) if isinstance(value, tuple) else value


def of_meta(random: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Any:
    """A random gradient for an output."""
    drawn = random.normal(size=shape)
    return drawn + 1j * random.normal(size=shape) if dtype.is_complex else drawn


def gradients(node: OpNode) -> Iterator[list[Any]]:
    """Gradients of the outputs to try a rule with; of several outputs also each one alone."""
    random = np.random.default_rng(0)
    count = 1 if node.outputs is None else len(node.outputs)
    drawn = [of_meta(random, *node.meta(k)) if k < node.op.differentiable else None for k in range(count)]
    if node.type_name == "LinalgEigBackward0":  # eigenvectors have a derivative where their phases do not count
        vectors = node.kept_out[1].array
        phases = np.sum(vectors.conj() * drawn[1], -2, keepdims=True).imag
        drawn[1] = drawn[1] - 1j * vectors * phases
    yield drawn
    if node.type_name == "NativeGroupNormBackward0" and count > 1:  # the gradients of its figures count where both are there
        yield [drawn[0], None, None]
    elif count > 1:
        for k in range(count):
            yield [grad if j == k else None for j, grad in enumerate(drawn)]


def formulas() -> dict[tuple[str, str, str], str]:
    """(grad_fn, argument, formula) of every rule, with a function that it belongs to."""
    return {(op.grad_fn, name, rule.formula): function for op, function in records().values() for name, rule in op.rules.items() if rule}


#: the rule of an argument that is always None: maxima of bags take no weights, but their node has an edge for them
EDGES_ALONE = {("EmbeddingBagBackward0", "per_sample_weights", "0 * grad")}


@pytest.mark.slow
def test_every_formula_agrees_with_its_rule() -> None:
    agreed: set[tuple[str, str, str]] = set()
    samples = [sample for function in catalog.all_functions() for sample in function.samples]
    samples += [Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)}) for text in MORE]
    samples += SAMPLES
    for node, recorder in steps_of(samples):
        for grads in gradients(node):
            if any(grad is not None for grad in grads):
                agreed |= set(compared(node, recorder, grads))
    missing = formulas().keys() - agreed
    assert missing == EDGES_ALONE, f"never evaluated: {sorted(missing)}"


def compared(node: OpNode, recorder: Recorder, grads: list[Any]) -> Iterator[tuple[str, str, str]]:
    """The formulas that agree with their rules at one step: grad_fn, argument and formula."""
    names = [node.op.tensors[0 if node.op.variadic else i] for i in range(len(node.edges))]
    rules = [node.op.rules[name] for name in names]
    wanted = [parent is not None for parent, _ in node.edges]
    for i, (name, rule) in enumerate(zip(names, rules, strict=True)):
        if wanted[i] and rule is not None and not rule.formula:
            with pytest.raises(ProgramError, match="not implemented"):
                node.gradients(list(grads), False, [j == i for j in range(len(names))])
            wanted[i] = False
            yield node.type_name, name, ""
    if not any(wanted):
        return
    parts = node.gradients(list(grads), False, wanted)
    full = [np.zeros(node.meta(k)[0], node.meta(k)[1].np) if grad is None else grad for k, grad in enumerate(grads)]
    for i, (parent, number) in enumerate(node.edges):
        name, rule = names[i], rules[i]
        if parent is None or rule is None or not wanted[i]:
            continue
        try:
            value = evaluated(node, recorder, rule.formula, full, i)
        except GradcliError as error:
            raise AssertionError(f"{node.type_name}, {name}: {rule.formula}: {error}") from error
        shape = parent.meta(number)[0]
        part = np.zeros(shape) if parts[i] is None else parts[i]  # a rule may return None for a gradient of zeros
        told, ran = (
            namespaces.numeric.sum_to(of_kind(np.asarray(one.array if type(one) is Tensor else one), parent.meta(number)[1]), shape)
            for one in (value, part)
        )
        np.testing.assert_allclose(told, ran, rtol=1e-7, atol=1e-9, err_msg=f"{node.type_name}, {name}: {rule.formula}")
        yield node.type_name, name, rule.formula


def test_a_wrong_formula_is_found() -> None:
    """The comparison notices a wrong formula: with cos for sin the two sides differ."""
    (sample,) = [s for f in catalog.all_functions() if f.name == "sin" for s in f.samples][:1]
    (node, recorder) = next(steps_of([sample]))
    grad = np.ones(node.meta(0)[0])
    right = node.gradients([grad], False, [True])[0]
    assert np.allclose(evaluated(node, recorder, "grad * cos(input)", [grad]).array, right)
    assert not np.allclose(evaluated(node, recorder, "grad * sin(input)", [grad]).array, right)
    assert np.allclose(evaluated(node, recorder, "slope = cos(input); grad * slope", [grad]).array, right)
