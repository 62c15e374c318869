"""Connectionist temporal classification: the probability of label sequences, summed over all alignments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.python_function import PythonFunction
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.elementwise.where import WHERE
from gradcli.core.ops.loss.loss_reduction import reduction_number
from gradcli.core.ops.reduce.sum_mean import mean_all, sum_all
from gradcli.core.ops.rules import check_no_tangent, not_differentiable
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.squeeze import squeeze_dim, unsqueeze
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

#: the labels of each sample
Labels = tuple[tuple[int, ...], ...]
Lengths = tuple[int, ...]


def _padded(labels: tuple[int, ...], blank: int) -> Array:
    """The labels with blanks before, between and after them."""
    made = np.full(2 * len(labels) + 1, blank)
    made[1::2] = labels
    return made


def _sums(scores: Array, padded: Array) -> Array:
    """Row t holds, for each place in the padded labels, the logarithm of the probability of all ways there in t + 1 steps."""
    steps, size = len(scores), len(padded)
    made = np.full((steps, size), -np.inf, scores.dtype)
    made[0, :2] = scores[0, padded[:2]]
    skips = np.zeros(size, bool)
    skips[2:] = padded[2:] != padded[:-2]  # blanks are at every second place, and a label may be the blank, too
    ways = np.full((3, size), -np.inf, scores.dtype)
    for t in range(1, steps):
        before = made[t - 1]
        ways[0] = before
        ways[1, 1:] = before[:-1]
        ways[2, 2:] = np.where(skips[2:], before[:-2], -np.inf)
        made[t] = np.logaddexp.reduce(ways) + scores[t, padded]
    return made


def _losses(x: Array, targets: Labels, lengths: Lengths, blank: int) -> Array:
    made = np.empty(len(targets), x.dtype)
    for b, (labels, steps) in enumerate(zip(targets, lengths, strict=True)):
        if not steps:
            made[b] = np.inf if labels else -0.0
            continue
        last = _sums(x[:steps, b], _padded(labels, blank))[-1]
        made[b] = -np.logaddexp.reduce(last[-2:])
    return made


def _gradients(grad: Array, x: Array, targets: Labels, lengths: Lengths, blank: int, zero_infinity: bool) -> Array:
    """The gradient of scores that are normalised, as PyTorch takes them to be."""
    losses = _losses(x, targets, lengths, blank)
    made = np.zeros_like(x)
    for b, (labels, steps) in enumerate(zip(targets, lengths, strict=True)):
        if not steps or (zero_infinity and losses[b] == np.inf):
            continue
        scores, padded = x[:steps, b], _padded(labels, blank)
        ahead = _sums(scores, padded)
        behind = _sums(scores[::-1], padded[::-1])[::-1, ::-1]
        joint = ahead + behind
        ways = np.full_like(scores, -np.inf)
        for place, label in enumerate(padded):
            ways[:, label] = np.logaddexp(ways[:, label], joint[:, place])
        if labels:  # which PyTorch writes over what a blank that is the label, too, has at the last step
            ways[-1, labels[-1]] = joint[-1, -2]
        made[:steps, b] = (np.exp(scores) - np.exp(ways + losses[b] - scores)) * grad[b]
    return made


_STEPS = (
    "p = log_probs.exp(); o = {'dtype': grad.dtype}; L = [[blank, *[c for label in row for c in (label, blank)]] for row in targets]; "
    "A = [tensor([[float(i - j in (0, 1) or (i - j == 2 and l[i] not in (blank, l[j]))) for j in range(len(l))] "
    "for i in range(len(l))], **o) for l in L]; I = [eye(len(l), **o) for l in L]; "
    "S = [[p[t, b, l].diag() @ (A[b] if t else I[b]) for t in range(input_lengths[b])] for b, l in enumerate(L)]; "
    "a = [tensor([float(i < 2) for i in range(len(l))], **o) for l in L]; "
    "q = [[torch.linalg.multi_dot([I[b], *S[b][t::-1], I[b]]) @ a[b] * (a[b].flip(0) @ torch.linalg.multi_dot([I[b], *S[b][:t:-1], I[b]])) "
    "for t in range(len(S[b]))] for b in range(len(L))]; "
    "z = zeros(p.shape[2], **o); "
    "g = [[p[t, b] - z.index_add(0, tensor(L[b]), q[b][t] / q[b][t].sum()) if t < len(S[b]) else z for b in range(len(L))] "
    "for t in range(len(p))]; "
)
_ATTRS = "targets input_lengths blank zero_infinity"
_BACKWARD = not_differentiable("_ctc_loss_backward", _gradients, "grad_output log_probs", _ATTRS)
CTC = Op(
    "CtcLossBackward0",
    lambda x, targets, lengths, blank, zero_infinity: _losses(x, targets, lengths, blank),
    "log_probs",
    _ATTRS,
    saved="log_probs result0=out result1=? targets=? blank input_lengths target_lengths=? zero_infinity",
    log_probs=Rule(
        lambda xp, grad, log_probs, attrs: xp.call(_BACKWARD, grad, log_probs, *attrs),
        f"{_STEPS}torch.stack([torch.stack(row) for row in g]) * grad.unsqueeze(-1)",
        "the gradient of probabilities that sum to 1",
    ),
)


# --- arguments ---


def _integral(name: str, lengths: Tensor) -> Lengths:
    if lengths.dtype.is_differentiable or lengths.dtype is dtypes.bool_:
        raise runtime_error(f"{name} must be integral")
    return tuple(int(n) for n in lengths.array.reshape(-1))


_WHILE = " (while checking arguments for ctc_loss_allocate_outputs)"


def _labels(targets: Tensor, lengths: Lengths) -> Labels:
    """The labels of each sample, from rows with padding or from one row of all. RuntimeError for sizes that do not fit."""
    rows = targets.array
    wanted = sum(lengths) if rows.ndim == 1 else len(lengths)
    if rows.shape[0] != wanted:
        have = f"Expected tensor to have size {wanted} at dimension 0, but got size {rows.shape[0]}"
        raise shape_error(f"{have} for argument #2 'targets'{_WHILE}")
    if rows.ndim == 1:
        ends = np.cumsum(lengths)
        return tuple(tuple(int(c) for c in rows[end - n : end]) for end, n in zip(ends, lengths, strict=True))
    if rows.shape[1] < max(lengths, default=0):
        have = f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size {rows.shape[1]}"
        raise shape_error(f"{have} for argument #2 'targets'{_WHILE}")
    return tuple(tuple(int(c) for c in row[:n]) for row, n in zip(rows, lengths, strict=True))


def _checked(log_probs: Tensor, targets: Tensor, given: Lengths, wanted: Lengths, blank: int) -> Labels:
    """The labels of each sample. RuntimeError for what does not fit, NotImplementedError for other dtypes."""
    if log_probs.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("ctc_loss_cpu", log_probs.dtype)
    if not log_probs.array.size:
        raise shape_error("log_probs tensor must not be empty")
    if (rank := log_probs.array.ndim) != 3:
        raise shape_error(f"Expected 3-dimensional tensor, but got {rank}-dimensional tensor for argument #1 'log_probs'{_WHILE}")
    if (rank := targets.array.ndim) not in (1, 2):
        raise shape_error(f"Expected 1 to 2 dimensions, but got {rank}-dimensional tensor for argument #2 'targets'{_WHILE}")
    steps, batch, classes = log_probs.array.shape
    if not 0 <= blank < classes:
        raise runtime_error("blank must be in label range")
    for name, found in (("input_lengths", given), ("target_lengths", wanted)):
        if len(found) != batch:
            raise runtime_error(f"{name} must be of size batch_size")
    if min(wanted) < 0:
        raise runtime_error(f"Expected target_lengths to have value at least 0, but got value {min(wanted)}{_WHILE}")
    labels = _labels(targets, wanted)
    if min(given) < 0:
        raise runtime_error(f"Expected input_lengths to have value at least 0, but got value {min(given)}{_WHILE}")
    if max(given) > steps:
        raise runtime_error(f"Expected input_lengths to have value at most {steps}, but got value {max(given)}{_WHILE}")
    limits.check_work(40.0 * steps * sum(2 * len(row) + 50 for row in labels))
    if any(not 0 <= label < classes for row in labels for label in row):
        raise runtime_error("ctc_loss of a label that is not the number of a class is not supported by gradcli")
    return labels


def _of_lengths(log_probs: Tensor, targets: Tensor, given: Lengths, wanted: Lengths, blank: int, reduction: int, zero: bool) -> Tensor:
    """The losses, reduced; `reduction` is 0 for none, 1 for the mean, 2 for the sum."""
    single = log_probs.array.ndim != 3
    if single:
        log_probs = unsqueeze(log_probs, 1)
    check_no_tangent("_ctc_loss", log_probs)
    labels = _checked(log_probs, to_dtype(targets, dtypes.int64), given, wanted, blank)
    losses: Tensor = CTC(log_probs, labels, given, blank, zero)
    if zero:
        zeros = Tensor(np.zeros((), log_probs.dtype.np), log_probs.dtype)
        losses = WHERE(zeros, losses, np.asarray(losses.array == np.inf))
    if reduction == 1:
        divisors = np.maximum(np.array(wanted), 1).astype(log_probs.dtype.np)
        return mean_all(losses / Tensor(divisors, log_probs.dtype))
    if reduction == 2:
        return sum_all(losses)
    return squeeze_dim(losses, 0) if single else losses


def _of_tensors(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, reduction: int, zero: bool
) -> Tensor:
    """As `_of_lengths`, with both lengths as tensors."""
    given, wanted = _integral("input_lengths", input_lengths), _integral("target_lengths", target_lengths)
    return _of_lengths(log_probs, targets, given, wanted, blank, reduction, zero)


_SIGNATURE = (
    "Tensor log_probs, Tensor targets, {0} input_lengths, {0} target_lengths, int blank=0, int reduction=0, bool zero_infinity=False"
)
_SCORES = [[[-0.5, -1.5, -2.0]], [[-1.0, -0.7, -2.5]], [[-2.0, -1.0, -0.4]]]
_DOC = "Negative log likelihood of label sequences, over all alignments."
TORCH_CTC_LOSS = Function(
    "ctc_loss",
    (_SIGNATURE.format("ints"), _of_lengths),
    (_SIGNATURE.format("Tensor"), _of_tensors),
    doc=_DOC,
    samples=(Sample("torch.ctc_loss(x.log_softmax(2), tensor([1, 1]), (3,), (2,), 0, 2)", None, x=_SCORES),),
    method=False,
)


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: Any = 0,
    reduction: str = "mean",
    zero_infinity: Any = False,
) -> Any:
    """The negative logarithm of the probability of the labels. log_probs is (steps, batch, classes), or (steps, classes).

    Raises RuntimeError for sizes that do not fit, ValueError for an unknown reduction.
    """
    number = reduction_number(None, None, reduction)
    return TORCH_CTC_LOSS(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


FUNCTIONS: tuple[Function, ...] = (
    PythonFunction(
        ctc_loss,
        "ctc_loss",
        _DOC,
        ops=(CTC,),
        samples=(Sample("F.ctc_loss(x.log_softmax(2), tensor([[1, 2]]), (3,), (2,), reduction='sum')", None, x=_SCORES),),
        unchecked=True,
    ),
    TORCH_CTC_LOSS,
)
