"""Kullback-Leibler divergences of distributions with matrices as parameters."""

from __future__ import annotations

from typing import Any

from gradcli.core.autograd.torch_autograd import grad
from gradcli.core.distributions.functions import expand, f, linear, method, sum_last
from gradcli.core.distributions.multivariate import half_log_det, squared_length
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _check_events(p: Any, q: Any, kind: str) -> None:
    if p.event_shape != q.event_shape:
        text = f"KL-divergence between two {kind}Multivariate Normals with{' ' * 26}different event shapes cannot be computed"
        raise ProgramError("ValueError", text)


def _trace(x: Tensor) -> Tensor:
    """The traces of matrices times their transposes."""
    flat = f.sum(f.pow(f.reshape(x, (-1, x.shape[-1] * x.shape[-2])), 2), -1)
    return f.reshape(flat, tuple(x.shape[:-2]))


def _solved(root: Tensor, x: Tensor) -> Any:
    return linear("solve_triangular", root, x, upper=False)


def multivariate_normal(p: Any, q: Any) -> Tensor:
    """The divergence of two normal distributions of vectors."""
    _check_events(p, q, "")
    n = p.event_shape[0]
    batch = tuple(f.broadcast_shapes(tuple(q.root.shape[:-2]), tuple(p.root.shape[:-2])))
    ours, theirs = (expand(d.root, (*batch, n, n)) for d in (p, q))
    trace, length = _trace(_solved(theirs, ours)), squared_length(q.root, q.loc - p.loc)
    return half_log_det(q.root) - half_log_det(p.root) + 0.5 * (trace + length - n)


def low_rank(p: Any, q: Any) -> Tensor:
    """The divergence of two normal distributions whose covariances are of low rank but for a diagonal."""
    _check_events(p, q, "Low Rank ")
    norms, length = q.log_det() - p.log_det(), q.length(q.loc - p.loc)
    a = _solved(q.root, q.scaled)
    own = f.sum(p.diagonal / q.diagonal, -1) + _trace(p.factor * f.unsqueeze(f.rsqrt(q.diagonal), -1))
    mixed = own - _trace(a * f.unsqueeze(f.sqrt(p.diagonal), -2)) - _trace(f.matmul(a, p.factor))
    return 0.5 * (norms + mixed + length - p.event_shape[0])


def normal_low_rank(p: Any, q: Any) -> Tensor:
    """The divergence of a normal distribution from one of low rank."""
    _check_events(p, q, "(Low Rank) ")
    norms, length = q.log_det() - 2 * half_log_det(p.root), q.length(q.loc - p.loc)
    own = _trace(p.root * f.unsqueeze(f.rsqrt(q.diagonal), -1))
    return 0.5 * (norms + (own - _trace(f.matmul(_solved(q.root, q.scaled), p.root))) + length - p.event_shape[0])


def low_rank_normal(p: Any, q: Any) -> Tensor:
    """The divergence of a distribution of low rank from a normal one."""
    _check_events(p, q, "(Low Rank) ")
    norms, length = 2 * half_log_det(q.root) - p.log_det(), squared_length(q.root, q.loc - p.loc)
    batch = tuple(f.broadcast_shapes(tuple(q.root.shape[:-2]), tuple(p.factor.shape[:-2])))
    root, factor, diagonal = (expand(x, (*batch, *x.shape[-2:])) for x in (q.root, p.factor, f.diag_embed(f.sqrt(p.diagonal))))
    return 0.5 * (norms + (_trace(_solved(root, factor)) + _trace(_solved(root, diagonal))) + length - p.event_shape[0])


def wishart(p: Any, q: Any) -> Tensor:
    """The divergence of two Wishart distributions, by Bregman's divergence of their natural parameters."""
    ours = [method("requires_grad_", f.detach(one)) for one in p.natural()]
    norm = p.log_normalizer(*ours)
    slopes = grad(f.sum(norm), ours, create_graph=True)
    theirs = q.natural()
    found: Tensor = q.log_normalizer(*theirs) - norm
    for our, their, slope in zip(ours, theirs, slopes, strict=True):
        found = found - sum_last((their - our) * slope, len(q.event_shape))
    return found
