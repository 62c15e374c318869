"""Every formula that is shown is evaluated by the project's own parser and agrees with the rule that backward runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.analysis.recording import Recorder, recorded
from gradcli.core import catalog, namespace, settings
from gradcli.core.function import Sample
from gradcli.core.graph import AccumulateGrad
from gradcli.core.nodes import OpNode
from gradcli.core.record import Op
from gradcli.core.tensor import Tensor, wrap
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.interpreter import Interpreter
from gradcli.lang.parser import parse_expression, parse_input
from gradcli.source import Source

#: formulas in words, by the reason why they are: (grad_fn, argument)
IN_WORDS: dict[str, str] = {
    "elements are placed at or read from positions that the step keeps": (
        "AmaxBackward0.input AminBackward0.input AsStridedBackward0.input ClampBackward0.input ClampBackward0.max "
        "ClampBackward0.min ClampBackward1.input ConstantPadNdBackward0.input CummaxBackward0.input CumminBackward0.input "
        "CumprodBackward0.input DiagonalBackward0.input DiagonalBackward0_copy.input EmbeddingBackward0.weight "
        "ExpandBackward0.input GatherBackward0.input IndexBackward0.input IndexPutBackward0.input IndexPutBackward0.values "
        "IndexSelectBackward0.input KthvalueBackward0.input LogitBackward0.input MaskedScatterBackward0.source "
        "MaskedSelectBackward0.input MaxBackward0.input MedianBackward1.input MinBackward0.input ModeBackward0.input "
        "NanmedianBackward1.input NansumBackward0.input PermuteBackward0.input PutBackward0.input RepeatBackward0.input "
        "RollBackward0.input SelectBackward0.input SliceBackward0.input SortBackward0.input SortBackward1.input "
        "TakeBackward0.input TopkBackward0.input TraceBackward0.input UnfoldBackward0.input DiagonalScatterBackward0.input "
        "DiagonalScatterBackward0.src SelectScatterBackward0.input SelectScatterBackward0.src SliceScatterBackward0.input "
        "SliceScatterBackward0.src"
    ),
    "one formula for the several tensors of a list, or for several outputs": (
        "AminmaxBackward0.input BlockDiagBackward0.tensors CatBackward0.tensors GluBackward0.input SplitBackward0.input "
        "SplitWithSizesBackward0.input StackBackward0.tensors StdMeanBackward0.input UnbindBackward0.input VarMeanBackward0.input"
    ),
    "cases that depend on options such as the reduction or the keepdim of the call": (
        "BinaryCrossEntropyBackward0.input BinaryCrossEntropyBackward0.target BinaryCrossEntropyWithLogitsBackward0.input "
        "BinaryCrossEntropyWithLogitsBackward0.target DistBackward0.input DistBackward0.other GeluBackward0.input "
        "HuberLossBackward0.input HuberLossBackward0.target LinalgVectorNormBackward0.input LogsumexpBackward0.input "
        "MeanBackward1.input MseLossBackward0.input MseLossBackward0.target NativeBatchNormBackward0.bias "
        "NativeBatchNormBackward0.input NativeBatchNormBackward0.weight NativeLayerNormBackward0.input "
        "NativeLayerNormBackward0.weight NllLoss2DBackward0.input NllLossBackward0.input NormBackward1.input ProdBackward0.input "
        "ProdBackward1.input SmoothL1LossBackward0.input SmoothL1LossBackward0.target SoftMarginLossBackward0.input "
        "StdBackward0.input SumBackward1.input VarBackward0.input CdistBackward0.x1 CdistBackward0.x2 MvlgammaBackward0.input "
        "ScatterReduceBackward0.input ScatterReduceBackward0.src"
    ),
    "the derivative of a derivative, that PyTorch has as a step of its own": (
        "BinaryCrossEntropyBackwardBackward0.grad_output BinaryCrossEntropyBackwardBackward0.input "
        "BinaryCrossEntropyBackwardBackward0.target HuberLossBackwardBackward0.grad_output HuberLossBackwardBackward0.input "
        "HuberLossBackwardBackward0.target MseLossBackwardBackward0.grad_output MseLossBackwardBackward0.input "
        "MseLossBackwardBackward0.target NllLoss2DBackwardBackward0.grad_output NllLossBackwardBackward0.grad_output "
        "SmoothL1LossBackwardBackward0.grad_output SmoothL1LossBackwardBackward0.input SmoothL1LossBackwardBackward0.target "
        "SoftMarginLossBackwardBackward0.grad_output SoftMarginLossBackwardBackward0.input"
    ),
    "a decomposition, whose formula takes more than a line": (
        "CholeskyBackward0.A LinalgCholeskyExBackward0.A LinalgDetBackward0.A LinalgEighBackward0.A LinalgPinvBackward0.A "
        "LinalgQrBackward0.A LinalgSlogdetBackward0.A LinalgSolveExBackward0.A LinalgSolveTriangularBackward0.A "
        "LinalgSolveTriangularBackward0.B LinalgSvdBackward0.A"
    ),
    "PyTorch has no derivative either": ("NotImplemented.input NotImplemented.other NotImplemented.values"),
}

#: formulas that no sample reaches: the derivative of a derivative that is 0, and what raises PyTorch's "not implemented"
UNREACHED = {
    ("NllLossBackwardBackward0", "input"),
    ("NllLoss2DBackwardBackward0", "input"),
    ("IgammaBackward0", "input"),
    ("IgammacBackward0", "input"),
    ("SpecialZetaBackward0", "input"),
    ("SpecialZetaBackward2", "input"),
    ("UniqueConsecutiveBackward0", "input"),
    ("NotImplemented", "input"),
}

#: records that only other spellings than the samples' reach
MORE = (
    "F.celu(x * 1, inplace=True)",
    "F.elu(x * 1, inplace=True)",
    "F.hardsigmoid(x)",
    "F.threshold(x * 1, 0.3, 2., inplace=True)",
    "torch.div(x, y, rounding_mode='floor')",
    "torch.sub(x, y, alpha=3)",
    "(x * 1).fill_(2.)",
    "(x * 1).fill_(y.sum())",
    "(x * 1).zero_()",
    "(x * 1).copy_(y)",
    "(x * 1).squeeze_()",
    "(x * 1).squeeze_(0)",
    "(x * 1).squeeze_((0,))",
    "(m * 1).t_()",
    "(m * 1).transpose_(0, 1)",
    "(x * 1).unsqueeze_(0)",
    "x.to(torch.float32)",
    "torch.as_strided_scatter(x, y[:2] * 1, (2,), (1,), 1)",
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
    for name, value in values.items():
        if value is not None or name in op.attrs:
            run.set(name, value)
    return run.execute_input(parse_input(Source("<formula>", formula)))


def in_language(value: Any) -> Any:
    """An argument that a step keeps, with tensors for arrays, also in a tuple."""
    if isinstance(value, np.ndarray):
        return wrap(value)
    return tuple(map(in_language, value)) if isinstance(value, tuple) else value


def gradients(node: OpNode) -> Iterator[list[Any]]:
    """Gradients of the outputs to try a rule with; of several outputs also each one alone."""
    random = np.random.default_rng(0)
    count = 1 if node.outputs is None else len(node.outputs)
    drawn = [random.normal(size=node.meta(k)[0]) if k < node.op.differentiable else None for k in range(count)]
    yield drawn
    if count > 1:
        for k in range(count):
            yield [grad if j == k else None for j, grad in enumerate(drawn)]


def formulas() -> dict[tuple[str, str, str], str]:
    """(grad_fn, argument, formula) of every rule, with a function that it belongs to."""
    return {(op.grad_fn, name, rule.formula): function for op, function in records().values() for name, rule in op.rules.items() if rule}


def test_formulas_in_words_are_known() -> None:
    """A formula that begins with "=" is words, which cannot be evaluated: each has its reason above."""
    listed = {tuple(entry.split(".")) for entries in IN_WORDS.values() for entry in entries.split()}
    words = {(grad_fn, name) for grad_fn, name, formula in formulas() if formula.startswith("=")}
    assert words <= listed, f"new formulas in words: {sorted(words - listed)}"
    assert listed <= words, f"no longer in words: {sorted(listed - words)}"


def test_every_formula_agrees_with_its_rule() -> None:
    agreed: set[tuple[str, str, str]] = set()
    samples = [sample for function in catalog.all_functions() for sample in function.samples]
    samples += [Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)}) for text in MORE]
    for node, recorder in steps_of(samples):
        for grads in gradients(node):
            if any(grad is not None for grad in grads):
                agreed |= set(compared(node, recorder, grads))
    missing = {key for key in formulas() if not key[2].startswith("=") and key[:2] not in UNREACHED} - agreed
    assert not missing, f"never evaluated: {sorted(missing)}"


def compared(node: OpNode, recorder: Recorder, grads: list[Any]) -> Iterator[tuple[str, str, str]]:
    """What formulas were found to agree with their rules at one step."""
    try:
        parts = node.gradients(list(grads), False, [parent is not None for parent, _ in node.edges])
    except ProgramError:
        return
    full = [np.zeros(node.meta(k)[0]) if grad is None else grad for k, grad in enumerate(grads)]
    for i, (parent, number) in enumerate(node.edges):
        name = node.op.tensors[0 if node.op.variadic else i]
        rule = node.op.rules[name]
        if parent is None or rule is None or parts[i] is None or rule.formula.startswith("="):
            continue
        try:
            value = evaluated(node, recorder, rule.formula, full, i)
        except GradcliError as error:
            raise AssertionError(f"{node.type_name}, {name}: {rule.formula}: {error}") from error
        shape = parent.meta(number)[0]
        told = namespace.numeric.sum_to(np.asarray(value.array if type(value) is Tensor else value, np.float64), shape)
        ran = namespace.numeric.sum_to(np.asarray(parts[i].array if type(parts[i]) is Tensor else parts[i]), shape)
        np.testing.assert_allclose(told, ran, rtol=1e-7, atol=1e-9, err_msg=f"{node.type_name}, {name}: {rule.formula}")
        yield node.type_name, name, rule.formula


def test_a_wrong_formula_is_found() -> None:
    """The test itself: with cos for sin the two sides differ."""
    (sample,) = [s for f in catalog.all_functions() if f.name == "sin" for s in f.samples][:1]
    (node, recorder) = next(steps_of([sample]))
    grad = np.ones(node.meta(0)[0])
    right = node.gradients([grad], False, [True])[0]
    assert np.allclose(evaluated(node, recorder, "grad * cos(input)", [grad]).array, right)
    assert not np.allclose(evaluated(node, recorder, "grad * sin(input)", [grad]).array, right)
    assert np.allclose(evaluated(node, recorder, "slope = cos(input); grad * slope", [grad]).array, right)
