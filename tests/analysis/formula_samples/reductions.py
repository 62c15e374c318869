"""Reductions, running and ordered values, clamps, activations: every option, ties, zeros, 0-d tensors, derivatives of derivatives."""

from __future__ import annotations

import re
from typing import Any

from gradcli.core.functions.function import Sample

NAN, INF = float("nan"), float("inf")
CUBE = [[[0.5, -1.5, 2.0], [1.75, 0.25, -3.0]], [[0.75, 1.25, -0.5], [-2.0, 3.5, 1.0]]]
INPUTS: dict[str, Any] = {
    "x": CUBE,
    "y": [[[1.5, -2.5, 0.5], [0.25, 3.0, -1.0]], [[2.5, 0.5, -0.25], [1.0, -3.0, 0.2]]],
    "v": [[[0.3, -0.7, 1.1], [1.3, 0.4, 0.9]], [[-0.2, 0.6, 0.8], [0.7, -1.2, 0.1]]],
    "tied": [[2.0, -1.5, 2.0, -1.5], [0.25, 0.25, 0.25, 1.0]],
    "equal": [[1.25, 1.25, 1.25], [-0.5, 1.0, 2.0]],
    "zeros": [[0.0, 2.0, 3.0, 0.5], [1.5, 0.0, 0.0, 2.0], [2.0, -1.0, 0.5, 3.0]],
    "zero": [1.5, 0.0, -2.0],
    "missing": [[0.5, NAN, 2.0], [1.5, 0.25, -3.0]],
    "point": 0.75,
    "nothing": 0.0,
    "inside": [0.0, 0.05, 0.3, 0.7, 0.95, 1.0, 1.5, -0.5],
    "large": [2.5, 3.0, 4.75],
    "low": [[-1.0, 0.5, 2.5]],
    "high": [[1.0], [0.75]],
    "row": [0.1, -0.8, 0.6, 1.7],
    "pair": [0.4, -1.3],
}


def _calls(*texts: str) -> tuple[Sample, ...]:
    return tuple(Sample(text, **{name: value for name, value in INPUTS.items() if re.search(rf"\b{name}\b", text)}) for text in texts)


#: along no dimension, one of them, several, with the dimensions kept or not
SEVERAL = ("0", "-1", "(0, 2)", "(-1, 0), True", "1, True", "()")
ONE = ("0", "-1", "1, True")

REDUCTIONS = _calls(
    *(
        f"{f}({x}, {dims})"
        for f in ("sum", "mean", "nansum", "logsumexp", "amax", "amin")
        for x in ("x", "tied.unsqueeze(1)")
        for dims in SEVERAL
        if (f, dims) != ("logsumexp", "()")  # an error, as in PyTorch
    ),
    *(f"{f}(point, {dim})" for f in ("sum", "mean", "nansum", "logsumexp", "amax", "amin") for dim in ("0", "-1, True", "()")),
    *(f"{f}(x, None, True)" for f in ("sum", "mean", "nansum")),
    "nansum(missing, 1)",
    "nansum(missing)",
    *(f"prod({x}, {dim})" for x in ("x", "zeros.unsqueeze(1)", "zero.expand(2, 3, 3)") for dim in ONE),
    *(f"prod({x}{dim})" for x in ("point", "nothing") for dim in ("", ", 0", ", -1, True")),
    *(f"prod({x})" for x in ("x", "zeros", "zero", "zero[:2]")),
)

EXTREMES = _calls(
    *(f"{f}({x}, {dim})" for f in ("max", "min", "median", "nanmedian", "mode") for x in ("x", "tied.unsqueeze(1)") for dim in ONE),
    *(f"{f}({x})" for f in ("max", "min", "median", "nanmedian") for x in ("x", "tied", "missing", "point")),
    *(f"{f}(point, {dim})" for f in ("max", "min", "median", "nanmedian", "mode") for dim in ("0", "-1, True")),
    *(
        f"aminmax({x}{option})"
        for x in ("x", "tied.unsqueeze(1)", "point")
        for option in ("", ", keepdim=True", ", dim=0", ", dim=-1, keepdim=True")
    ),
    *(f"kthvalue({x}, 2, {dim})" for x in ("x", "tied.unsqueeze(1).mT") for dim in ("0", "-2, True")),
    "kthvalue(point, 1, 0)",
    *(f"topk({x}, 2, {options})" for x in ("x", "tied.unsqueeze(0)") for options in ("-1", "2, False", "1, True, False")),
    "topk(point, 1)",
    *(
        f"sort({x}, {options})"
        for x in ("x", "tied.unsqueeze(0)")
        for options in ("-1", "0", "1, True", "stable=True", "stable=False, dim=1")
    ),
    *("sort(point)", "sort(point, stable=True)", "msort(x)"),
)

RUNNING = _calls(
    *(f"{f}({x}, {dim})" for f in ("cumprod", "cummax", "cummin") for x in ("x", "tied", "zeros") for dim in (0, 1, -1)),
    *(f"{f}({x}, {dim})" for f in ("cumprod", "cummax", "cummin") for x in ("point", "nothing") for dim in (0, -1)),
    *(f"logcumsumexp({x})" for x in ("x, 1", "point, 0")),
)

#: one order of each kind of norm
ORDERS = (0, 0.5, 1, 1.5, 2, 3, "inf", "-inf", -1.5)
NORMS = _calls(
    *(f"torch.linalg.vector_norm({x}, {p})" for p in ORDERS for x in ("x", "tied", "zeros", "point", "nothing")),
    *(
        f"torch.linalg.vector_norm({x}, {p}, {dims})"
        for p in ORDERS
        for x in ("x", "zeros.unsqueeze(2)")
        for dims in ("0", "(0, -1)", "1, True")
    ),
    *(f"torch.linalg.vector_norm(zero * 0, {p})" for p in ORDERS),
    *(f"torch.linalg.vector_norm({x}, {p}, 0)" for p in ORDERS for x in ("point", "nothing")),
    # by 0 the second operand has no gradient: PyTorch raises an error
    *(f"dist({x}, {p})" for p in ORDERS if p for x in ("x, y", "x, y[0]", "tied, tied - tied.sgn()", "zero, zero", "point, nothing")),
    *(
        f"F.pairwise_distance({x}, p={p}, eps=0., keepdim={keepdim})"
        for p in ORDERS
        for x in ("x, y", "tied, tied - tied.sgn()", "zeros, zeros[0]")
        for keepdim in (True, False)
    ),
)

MOMENTS = _calls(
    *(
        f"torch.{f}({x}{option})"
        for f in ("var", "std", "var_mean", "std_mean")
        for x in ("x", "equal.unsqueeze(1)")
        for option in (
            "",
            ", False",
            ", 0, correction=0",
            ", -1",
            ", 1, correction=-2, keepdim=True",
            ", (0, 2), True",
            ", (-1, 0), False, True",
            ", correction=0.5, keepdim=True",
        )
    ),
    # no degree of freedom
    *(
        f"torch.{f}({x})"
        for f in ("var", "std")
        for x in (
            "x, correction=12",
            "x, correction=13",
            "x, 0, correction=2",
            "x, 1, correction=3, keepdim=True",
            "equal, 1, correction=3",
            "equal[0], correction=3",
            "point",
            "point, 0",
            "point, 0, False",
            "point, correction=0",
        )
    ),
)

POINTWISE = _calls(
    *(f"logit(inside{eps})" for eps in ("", ", 0.1", ", eps=0.", ", -0.1")),
    *(f"torch.mvlgamma(large, {p})" for p in (1, 2, 4)),
    *(
        f"clamp(x, {bounds})"
        for bounds in ("-1, 1", "min=0.5", "max=0.5", "0.5, 2", "1, -1", "low, high", "min=low", "max=high", "low, -low")
    ),
    *(f"clamp(missing, {bounds})" for bounds in ("-1, 1", "min=0.5", "low, high")),
    *(f"torch.{f}({x}, {bound})" for f in ("clamp_min", "clamp_max") for x in ("x", "missing") for bound in ("0.5", "low")),
    *(f"F.glu(x[:, :, {part}], {dim})" for part, dim in ((":2", -1), (":", 1), (":", 0))),
    *(f"F.gelu(x, approximate='{how}')" for how in ("none", "tanh")),
    *(f"torch.div(x, y, rounding_mode={mode})" for mode in ("None", "'trunc'", "'floor'")),
)

#: calls whose gradients record further operations under create_graph
SECOND = _calls(
    *(
        f"torch.autograd.grad({call}, x, {'v[:, :, :1]' if call.startswith('F.glu') else 'v'} * 1, create_graph=True)"
        for call in (
            "F.gelu(x)",
            "F.gelu(x, approximate='tanh')",
            "F.softplus(x)",
            "F.softplus(x, 2., 1.5)",
            "F.logsigmoid(x)",
            "F.glu(x[:, :, :2])",
            "F.prelu(x, pair)",
            "sort(x)[0]",
            "cummax(x, 1)[0]",
            "cumprod(x, -1)",
            "softmax(x, 1)",
            "log_softmax(x, -1)",
            "x.expand(2, 2, 3)",
        )
    ),
    *(
        f"torch.autograd.grad({call}, x, v[0] * 1, create_graph=True)"
        for call in ("max(x, 0)[0]", "median(x, 0)[0]", "x.var(0)", "x.norm(3, 0)")
    ),
    *(
        f"torch.autograd.grad({call}, x, v[0, 0, 0], create_graph=True)"
        for call in ("max(x)", "median(x)", "x.prod()", "x.std()", "x.norm(1.5)")
    ),
    "torch.autograd.grad(F.prelu(zero, pair[0]), zero, v[0, 0] * 1, create_graph=True)",
)

#: PyTorch has no derivative of these, or of their derivative
REFUSED = _calls(
    "x // y",
    "2. // x",
    "heaviside(x, y)",
    "torch.remainder(2., x)",
    "row.scatter(0, tensor([1, 0]), pair, reduce='add')",
    "torch.autograd.grad(F.hardsigmoid(x), x, v * 1, create_graph=True)",
    "torch.autograd.grad(torch.cdist(x[0], y[0]), x, v[0, :, :2] * 1, create_graph=True)",
)

SAMPLES = (*REDUCTIONS, *EXTREMES, *RUNNING, *NORMS, *MOMENTS, *POINTWISE, *SECOND, *REFUSED)
