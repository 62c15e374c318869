"""The gradients of elementwise functions at kinks, edges and poles: one test for each odd point."""

from __future__ import annotations

import numpy as np

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import wrap
from tests.core.ops.odd_points import INF, NAN, expect


def test_relu_at_0() -> None:
    expect("relu(x)", [0.0, -0.0], [0.0, 0.0])


def test_relu6_at_its_edges() -> None:
    expect("F.relu6(x)", [0.0, 6.0], [0.0, 0.0])


def test_hardtanh_at_its_edges() -> None:
    expect("F.hardtanh(x)", [-1.0, 1.0], [0.0, 0.0])


def test_leaky_relu_at_0() -> None:
    expect("F.leaky_relu(x, 0.25)", [0.0], [0.25])


def test_elu_at_0() -> None:
    expect("F.elu(x, 0.5)", [0.0], [0.5])


def test_selu_at_0() -> None:
    expect("F.selu(x)", [0.0], [1.7580993408473766])


def test_celu_at_0() -> None:
    expect("F.celu(x, 2.)", [0.0], [1.0])


def test_prelu_at_0() -> None:
    expect("F.prelu(x, tensor(0.25, dtype=torch.float64))", [0.0], [0.25])


def test_threshold_at_the_threshold() -> None:
    expect("F.threshold(x, 1., 5.)", [1.0], [0.0])


def test_hardshrink_at_its_edges() -> None:
    expect("F.hardshrink(x, 0.5)", [-0.5, 0.5], [0.0, 0.0])


def test_softshrink_at_its_edges() -> None:
    expect("F.softshrink(x, 0.5)", [-0.5, 0.5], [0.0, 0.0])


def test_hardsigmoid_at_its_edges() -> None:
    expect("F.hardsigmoid(x)", [-3.0, 3.0], [0.0, 0.0])


def test_hardswish_at_its_edges() -> None:
    expect("F.hardswish(x)", [-3.0, 3.0], [0.0, 1.0])


def test_softplus_is_linear_beyond_the_threshold() -> None:
    expect("F.softplus(x, 1, 2)", [2.0, 2.5], [0.8807970779778824, 1.0])


def test_abs_at_0() -> None:
    expect("x.abs()", [0.0, -0.0], [0.0, 0.0])


def test_sign_is_flat_at_0() -> None:
    expect("x.sign()", [0.0, 2.0], [0.0, 0.0])


def test_sgn_is_flat_at_0() -> None:
    expect("x.sgn()", [0.0, 2.0], [0.0, 0.0])


def test_floor_is_flat_at_its_steps() -> None:
    expect("x.floor()", [1.0, 1.5], [0.0, 0.0])


def test_ceil_is_flat_at_its_steps() -> None:
    expect("x.ceil()", [1.0, 1.5], [0.0, 0.0])


def test_round_is_flat_at_its_steps() -> None:
    expect("x.round()", [0.5, 1.5], [0.0, 0.0])


def test_trunc_is_flat_at_its_steps() -> None:
    expect("x.trunc()", [1.0, -1.0], [0.0, 0.0])


def test_frac_at_its_steps() -> None:
    expect("x.frac()", [1.0, -1.0], [1.0, 1.0])


def test_copysign_at_0() -> None:
    expect("torch.copysign(x, tensor(-1., dtype=torch.float64))", [0.0, 2.0], [0.0, -1.0])


def test_nan_to_num_where_it_replaces() -> None:
    expect("x.nan_to_num()", [NAN, INF, 1.0], [0.0, 0.0, 1.0])


def test_sqrt_at_0() -> None:
    expect("x.sqrt()", [0.0], [INF])


def test_maximum_with_ties() -> None:
    expect("torch.maximum(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 3.0], [0.5, 1.0])


def test_minimum_with_ties() -> None:
    expect("torch.minimum(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 1.0], [0.5, 1.0])


def test_maximum_with_nan() -> None:
    expect("torch.maximum(x, tensor([1., 2.], dtype=torch.float64))", [NAN, 1.0], [1.0, 0.0])


def test_fmax_with_ties_and_nan() -> None:
    expect("torch.fmax(x, tensor([1., math.nan, 2.], dtype=torch.float64))", [1.0, 1.0, NAN], [1.0, 1.0, 0.0])


def test_fmin_with_ties_and_nan() -> None:
    expect("torch.fmin(x, tensor([1., math.nan, 2.], dtype=torch.float64))", [1.0, 1.0, NAN], [1.0, 1.0, 0.0])


def test_clamp_at_its_edges() -> None:
    expect("x.clamp(0, 1)", [0.0, 1.0, 2.0, -1.0], [1.0, 1.0, 0.0, 0.0])


def test_clamp_with_inverted_bounds() -> None:
    expect("x.clamp(3, 2)", [2.5, 1.0, 4.0], [0.0, 0.0, 0.0])


def test_clamp_with_tensors_at_its_edges() -> None:
    expect("x.clamp(tensor([0., 1.], dtype=torch.float64), tensor([2., 1.], dtype=torch.float64))", [0.0, 1.0], [1.0, 1.0])


def test_clamp_min_at_the_bound() -> None:
    expect("x.clamp_min(1)", [1.0, 0.0], [1.0, 0.0])


def test_clamp_max_at_the_bound() -> None:
    expect("x.clamp_max(1)", [1.0, 2.0], [1.0, 0.0])


def test_atan2_at_the_origin() -> None:
    expect("torch.atan2(x, tensor(0., dtype=torch.float64))", [0.0], [0.0])


def test_hypot_at_the_origin() -> None:
    expect("torch.hypot(x, tensor(0., dtype=torch.float64))", [0.0], [NAN])


def test_sinc_at_0() -> None:
    expect("torch.sinc(x)", [0.0, 1.0], [0.0, -1.0])


def test_logit_outside_of_its_domain() -> None:
    expect("torch.logit(x)", [-0.5, 0.5, 1.5], [NAN, 4.0, NAN])


def test_logit_where_eps_clamps() -> None:
    expect("torch.logit(x, 0.1)", [0.05, 0.5, 0.95], [0.0, 4.0, 0.0])


def test_logit_of_a_negative_eps() -> None:
    expect("torch.logit(x, -0.1)", [-0.05, 0.5, 1.5], [NAN, 4.0, NAN])


def test_xlogy_at_0() -> None:
    expect("torch.xlogy(x, tensor([0., -1., 2.], dtype=torch.float64))", [0.0, 0.0, 0.0], [0.0, 0.0, 0.6931471805599453])


def test_where_drops_what_is_not_chosen() -> None:
    expect("torch.where(x > 0, x, 2 * x)", [-1.0, 0.0, 1.0], [2.0, 2.0, 1.0])


def test_where_of_a_nan_branch() -> None:
    expect("torch.where(x > 0, x.log(), x)", [0.0, 1.0], [NAN, 1.0])


def test_logsigmoid_at_0() -> None:
    expect("F.logsigmoid(x)", [0.0], [0.5])


def test_erfinv_at_its_ends() -> None:
    expect("torch.erfinv(x)", [-1.0, 0.0], [INF, 0.8862269254527579])


def test_acos_at_its_ends() -> None:
    expect("x.acos()", [-1.0, 1.0], [-INF, -INF])


def test_atanh_at_its_ends() -> None:
    expect("x.atanh()", [1.0], [INF])


def test_hardsigmoid_has_no_second_derivative() -> None:
    leaf = wrap(np.array([0.5]))
    leaf.requires_grad = True
    (first,) = torch_autograd.grad(catalog.function("sum")(catalog.function("nn.functional.hardsigmoid")(leaf)), (leaf,), create_graph=True)
    assert first is not None
    assert first.grad_fn is not None
    assert first.grad_fn.name() == "torch::autograd::NotImplemented"


def test_second_derivative_of_elu_at_0() -> None:
    leaf = wrap(np.array([0.0]))
    leaf.requires_grad = True
    (first,) = torch_autograd.grad(catalog.function("sum")(catalog.function("nn.functional.elu")(leaf)), (leaf,), create_graph=True)
    assert first is not None
    (second,) = torch_autograd.grad(catalog.function("sum")(first), (leaf,))
    assert second is not None
    assert second.array.tolist() == [0.0]


def test_rrelu_at_0() -> None:
    expect("F.rrelu(x, 0.25, 0.25)", [0.0, -0.0], [0.25, 0.25])
