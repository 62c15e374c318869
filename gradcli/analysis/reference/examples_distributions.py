"""Examples for torch.distributions, in the manner of examples.py."""

from __future__ import annotations

_D = "torch.distributions"
_HALF = "torch.tensor(0.5)"
_TWO = "tensor([0.3, 0.7])"

#: by distribution, its arguments, and a value in its support
_MADE = {
    "Bernoulli": ("0.3", "tensor(1.)"),
    "Beta": ("2., 3.", _HALF),
    "Binomial": ("5, 0.4", "tensor(2.)"),
    "Categorical": (_TWO, "tensor(1)"),
    "Cauchy": ("0., 1.", _HALF),
    "Chi2": ("3.", _HALF),
    "ContinuousBernoulli": ("0.3", _HALF),
    "Dirichlet": ("tensor([2., 3.])", _TWO),
    "Exponential": ("2.", _HALF),
    "FisherSnedecor": ("3., 4.", _HALF),
    "Gamma": ("2., 1.", _HALF),
    "GeneralizedPareto": ("0., 1., 0.5", _HALF),
    "Geometric": ("0.3", "tensor(2.)"),
    "Gumbel": ("0., 1.", _HALF),
    "HalfCauchy": ("1.", _HALF),
    "HalfNormal": ("1.", _HALF),
    "Independent": (f"{_D}.Normal(zeros(2), ones(2)), 1", _TWO),
    "InverseGamma": ("2., 1.", _HALF),
    "Kumaraswamy": ("2., 3.", _HALF),
    "LKJCholesky": ("2, 0.5", "eye(2)"),
    "Laplace": ("0., 1.", _HALF),
    "LogNormal": ("0., 1.", _HALF),
    "LogisticNormal": ("zeros(1), ones(1)", _TWO),
    "LowRankMultivariateNormal": ("zeros(2), ones(2, 1), ones(2)", _TWO),
    "MixtureSameFamily": (f"{_D}.Categorical({_TWO}), {_D}.Normal(zeros(2), ones(2))", _HALF),
    "Multinomial": (f"3, {_TWO}", "tensor([1., 2.])"),
    "MultivariateNormal": ("zeros(2), eye(2)", _TWO),
    "NegativeBinomial": ("3., 0.4", "tensor(2.)"),
    "Normal": ("0., 1.", _HALF),
    "OneHotCategorical": (_TWO, "tensor([0., 1.])"),
    "OneHotCategoricalStraightThrough": (_TWO, "tensor([0., 1.])"),
    "Pareto": ("1., 2.", "tensor(1.5)"),
    "Poisson": ("2.", "tensor(1.)"),
    "RelaxedBernoulli": ("tensor(0.5), tensor(0.3)", _HALF),
    "RelaxedOneHotCategorical": (f"tensor(0.5), {_TWO}", _TWO),
    "StudentT": ("3.", _HALF),
    "TransformedDistribution": (f"{_D}.Normal(0., 1.), {_D}.ExpTransform()", _HALF),
    "Uniform": ("0., 2.", _HALF),
    "VonMises": ("tensor(0.), tensor(1.)", _HALF),
    "Weibull": ("1., 2.", _HALF),
    "Wishart": ("tensor(3.), eye(2)", "eye(2)"),
    "relaxed_bernoulli.LogitRelaxedBernoulli": ("tensor(0.5), tensor(0.3)", _HALF),
    "relaxed_categorical.ExpRelaxedCategorical": (f"tensor(0.5), {_TWO}", "tensor([0.3, 0.7]).log()"),
}

#: by transform, its arguments, and a value
_TRANSFORMS = {
    "AbsTransform": ("", "tensor(-2.)"),
    "AffineTransform": ("1., 2.", "tensor(3.)"),
    "ComposeTransform": (f"[{_D}.ExpTransform(), {_D}.AffineTransform(1., 2.)]", "tensor(1.)"),
    "CumulativeDistributionTransform": (f"{_D}.Normal(0., 1.)", "tensor(0.)"),
    "ExpTransform": ("", "tensor(1.)"),
    "IndependentTransform": (f"{_D}.ExpTransform(), 1", _TWO),
    "CatTransform": (f"[{_D}.ExpTransform(), {_D}.AffineTransform(1., 2.)]", _TWO),
    "CorrCholeskyTransform": ("", "ones(3)"),
    "LowerCholeskyTransform": ("", "ones(2, 2)"),
    "PositiveDefiniteTransform": ("", "ones(2, 2)"),
    "ReshapeTransform": ("(2,), (1, 2)", _TWO),
    "StackTransform": (f"[{_D}.ExpTransform(), {_D}.AffineTransform(1., 2.)]", _TWO),
    "PowerTransform": ("tensor(2.)", "tensor(3.)"),
    "SigmoidTransform": ("", "tensor(0.)"),
    "SoftmaxTransform": ("", _TWO),
    "SoftplusTransform": ("", "tensor(1.)"),
    "StickBreakingTransform": ("", _TWO),
    "TanhTransform": ("", "tensor(0.5)"),
}

#: by constraint, a value that is checked
_CHECKED = {
    "boolean": "tensor([0., 2.])",
    "corr_cholesky": "eye(2)",
    "lower_cholesky": "eye(2)",
    "lower_triangular": "ones(2, 2)",
    "one_hot": "tensor([0., 1.])",
    "positive_definite": "eye(2)",
    "positive_semidefinite": "eye(2)",
    "real_vector": _TWO,
    "simplex": _TWO,
    "square": "ones(2, 2)",
    "symmetric": "ones(2, 2)",
}

#: by constraint with bounds, what it is called with
_BOUNDS = {
    **dict.fromkeys(("greater_than", "greater_than_eq", "less_than"), "0."),
    **dict.fromkeys(("interval", "half_open_interval"), "0., 1."),
    "integer_interval": "0, 2",
    **dict.fromkeys(("cat", "stack"), f"[{_D}.constraints.real, {_D}.constraints.positive]"),
    "multinomial": "3",
    "independent": f"{_D}.constraints.real, 1",
}

EXAMPLES: dict[str, tuple[str, ...]] = {
    **{f"distributions.{name}": (f"d = {_D}.{name}({given})", f"d.log_prob({value})") for name, (given, value) in _MADE.items()},
    **{f"distributions.{name}": (f"t = {_D}.{name}({given})", f"t({value})") for name, (given, value) in _TRANSFORMS.items()},
    "distributions.identity_transform": (f"{_D}.identity_transform(tensor(1.))",),
    "distributions.ExponentialFamily": (f"issubclass({_D}.Gamma, {_D}.ExponentialFamily)",),
    "distributions.Distribution": (f"isinstance({_D}.Normal(0., 1.), {_D}.Distribution)",),
    "distributions.Transform": (f"isinstance({_D}.ExpTransform(), {_D}.Transform)",),
    **{f"distributions.{name}": (f"{_D}.{name}({_D}.constraints.positive)(tensor(1.))",) for name in ("biject_to", "transform_to")},
    "distributions.utils.broadcast_all": (f"{_D}.utils.broadcast_all(1., ones(2))",),
    "distributions.utils.clamp_probs": (f"{_D}.utils.clamp_probs({_TWO})",),
    "distributions.utils.tril_matrix_to_vec": (f"{_D}.utils.tril_matrix_to_vec(tensor([[1., 2.], [3., 4.]]))",),
    "distributions.utils.vec_to_tril_matrix": (f"{_D}.utils.vec_to_tril_matrix(tensor([1., 3., 4.]))",),
    **{f"distributions.utils.{name}": (f"{_D}.utils.{name}({_TWO})",) for name in ("logits_to_probs", "probs_to_logits")},
    "distributions.kl_divergence": (f"{_D}.kl_divergence({_D}.Normal(0., 1.), {_D}.Normal(1., 2.))",),
}


def lines_of_constraint(name: str) -> tuple[str, ...]:
    """The example of a constraint: it checks a value."""
    bounds = f"({_BOUNDS[name]})" if name in _BOUNDS else ""
    return (f"{_D}.constraints.{name}{bounds}.check({_CHECKED.get(name, 'tensor([-1., 0.5, 2.])')})",)
