"""The gradients of reductions at ties, zeros and NaN: one test for each odd point."""

from __future__ import annotations

from tests.core.ops.odd_points import INF, NAN, expect


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


def test_median_of_all_with_ties() -> None:
    expect("x.median()", [2.0, 2.0, 1.0], [0.5, 0.5, 0.0])


def test_median_along_a_dimension_with_ties() -> None:
    expect("x.median(0).values", [2.0, 2.0, 1.0], [1.0, 0.0, 0.0])


def test_mode_picks_the_last_of_the_equal() -> None:
    expect("x.mode().values", [2.0, 1.0, 2.0], [0.0, 0.0, 1.0])


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


def test_logsumexp_of_infinities() -> None:
    expect("x.logsumexp(0)", [-INF, 0.0], [0.0, 1.0])


def test_nansum_skips_nan() -> None:
    expect("x.nansum()", [NAN, 1.0], [0.0, 1.0])


def test_sum_of_nothing() -> None:
    expect("x.sum()", [], [])
