"""What is chosen where a function has no derivative: PyTorch's choice, as PyTorch 2.13 computed it, one test for each odd point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.autograd import torch_autograd
from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import wrap
from gradcli.core.vocabulary import settings
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression
from gradcli.source import Source

NAN, INF = math.nan, math.inf


def gradient(text: str, *x: float) -> Any:
    """The gradient of an expression of x, summed where it is no scalar, in double precision."""
    settings.reset()
    leaf = wrap(np.array(x, np.float64))
    leaf.requires_grad = True
    run = Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)
    run.set("x", leaf)
    value = run.evaluate(parse_expression(Source("<odd point>", text)))
    (found,) = torch_autograd.grad(catalog.function("sum")(value), (leaf,))
    assert found is not None
    return found.array


def expect(text: str, x: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(gradient(text, *x), wanted, rtol=1e-12, atol=1e-15)


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


def test_norm_at_0() -> None:
    expect("x.norm()", [0.0, 0.0], [0.0, 0.0])


def test_norm_of_order_1_at_0() -> None:
    expect("x.norm(p=1)", [0.0, 2.0], [0.0, 1.0])


def test_norm_of_order_3_at_0() -> None:
    expect("x.norm(p=3)", [0.0, 0.0], [0.0, 0.0])


def test_norm_of_order_half_at_0() -> None:
    expect("x.norm(p=0.5)", [0.0, 4.0], [0.0, 1.0])


def test_infinity_norm_with_ties() -> None:
    expect("x.norm(p=math.inf)", [2.0, -2.0, 1.0], [0.5, -0.5, 0.0])


def test_norm_of_order_0_is_flat() -> None:
    expect("x.norm(p=0) + 0 * x.sum()", [2.0, 0.0], [0.0, 0.0])


def test_dist_at_0() -> None:
    expect("torch.dist(x, tensor([1., 2.], dtype=torch.float64))", [1.0, 2.0], [0.0, 0.0])


def test_max_with_ties() -> None:
    expect("torch.max(x)", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0])


def test_min_with_ties() -> None:
    expect("torch.min(x)", [1.0, 2.0, 1.0], [0.5, 0.0, 0.5])


def test_max_along_a_dimension_with_ties() -> None:
    expect("torch.max(x, 0).values", [2.0, 2.0, 1.0], [1.0, 0.0, 0.0])


def test_min_along_a_dimension_with_ties() -> None:
    expect("torch.min(x, 0).values", [2.0, 1.0, 1.0], [0.0, 1.0, 0.0])


def test_max_with_nan() -> None:
    expect("torch.max(x)", [1.0, NAN, 2.0], [0.0, 1.0, 0.0])


def test_amax_with_ties() -> None:
    expect("x.amax(0)", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0])


def test_amin_with_ties() -> None:
    expect("x.amin(0)", [1.0, 2.0, 1.0], [0.5, 0.0, 0.5])


def test_aminmax_with_ties() -> None:
    expect("x.aminmax().max - x.aminmax().min", [2.0, 2.0, 1.0, 1.0], [0.5, 0.5, -0.5, -0.5])


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


def test_median_of_all_with_ties() -> None:
    expect("x.median()", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0])


def test_median_along_a_dimension_with_ties() -> None:
    expect("x.median(0).values", [2.0, 2.0, 1.0], [1.0, 0.0, 0.0])


def test_mode_picks_the_last_of_the_equal() -> None:
    expect("x.mode().values", [2.0, 1.0, 2.0], [0.0, 0.0, 1.0])


def test_kthvalue_with_ties() -> None:
    expect("x.kthvalue(2).values", [1.0, 1.0, 1.0], [1.0, 0.0, 0.0])


def test_topk_with_ties() -> None:
    expect("(x.topk(2).values * tensor([1., 10.], dtype=torch.float64)).sum()", [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 10.0])


def test_sort_of_equal_elements_keeps_their_order() -> None:
    expect("(x.sort().values * tensor([1., 10., 100.], dtype=torch.float64)).sum()", [1.0, 1.0, 0.0], [10.0, 100.0, 1.0])


def test_cummax_with_ties() -> None:
    expect("x.cummax(0).values", [1.0, 1.0, 0.0], [1.0, 2.0, 0.0])


def test_cummin_with_ties() -> None:
    expect("x.cummin(0).values", [1.0, 1.0, 2.0], [1.0, 2.0, 0.0])


def test_prod_with_one_zero() -> None:
    expect("torch.prod(x)", [0.0, 2.0, 3.0], [6.0, 0.0, 0.0])


def test_prod_with_two_zeros() -> None:
    expect("torch.prod(x)", [0.0, 0.0, 3.0], [0.0, 0.0, 0.0])


def test_prod_along_a_dimension_with_a_zero() -> None:
    expect("x.prod(0)", [2.0, 0.0, 3.0], [0.0, 6.0, 0.0])


def test_cumprod_with_a_zero() -> None:
    expect("x.cumprod(0)", [2.0, 0.0, 3.0, 4.0], [1.0, 32.0, 0.0, 0.0])


def test_std_of_equal_elements() -> None:
    expect("x.std()", [2.0, 2.0, 2.0], [0.0, 0.0, 0.0])


def test_var_of_one_element() -> None:
    expect("x.var()", [2.0], [NAN])


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


def test_logsumexp_of_infinities() -> None:
    expect("x.logsumexp(0)", [-INF, 0.0], [0.0, 1.0])


def test_softmax_of_equal_elements() -> None:
    expect("(x.softmax(0) * tensor([1., 0.], dtype=torch.float64)).sum()", [3.0, 3.0], [0.25, -0.25])


def test_nansum_skips_nan() -> None:
    expect("x.nansum()", [NAN, 1.0], [0.0, 1.0])


def test_sum_of_nothing() -> None:
    expect("x.sum()", [], [])


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


def test_det_of_a_singular_matrix_in_a_batch() -> None:
    expect("torch.linalg.det(x.view(2, 2, 2))", [1.0, 2.0, 2.0, 4.0, 2.0, 1.0, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0, 3.0, -1.0, -1.0, 2.0])


def test_nll_loss_with_every_class_ignored() -> None:
    expect("F.nll_loss(x.view(1, 3), tensor([-100]))", [0.5, -1.0, 2.0], [0.0, 0.0, 0.0])


def test_max_pooling_of_equal_elements() -> None:
    expect("F.max_pool1d(x.reshape(1, 1, 4), 2, 1)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 2.0, 0.0])


def test_adaptive_max_pooling_of_equal_elements() -> None:
    expect("F.adaptive_max_pool1d(x.reshape(1, 1, 4), 2)", [1.0, 1.0, 2.0, 2.0], [1.0, 0.0, 1.0, 0.0])


def test_margins_just_met() -> None:
    expect("F.multi_margin_loss(x, tensor(0))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0])
    expect("F.multilabel_margin_loss(x, tensor([0, -1, -1]))", [2.0, 1.0, 0.5], [0.0, 0.0, 0.0])


def test_rrelu_at_0() -> None:
    expect("F.rrelu(x, 0.25, 0.25)", [0.0, -0.0], [0.25, 0.25])


def test_the_largest_of_equal_rows_in_a_bag() -> None:
    expect("F.embedding_bag(tensor([[2, 0]]), x.reshape(3, 1), mode='max')", [1.0, 0.0, 1.0], [0.0, 0.0, 1.0])
