"""Gradients by rule against differences, element by element: which are wrong, which stand at a kink, where a nan began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from gradcli.analysis import adaptive_differences, kinks, nan_origins
from gradcli.analysis.complex_step import ComplexStep
from gradcli.analysis.recorder import Recorder, recorded, walk_back
from gradcli.analysis.step_names import Steps
from gradcli.core.autograd.backward import no_graph_error
from gradcli.core.kernels import Array
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import AccumulateGrad
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.transforms import jacobians
from gradcli.core.transforms.differences import along
from gradcli.results.checks import CheckResult, Comparison, InputCheck, Origin

#: outputs of so many elements are checked one by one, larger ones through a weighted sum
MOST_OUTPUTS = 64
#: elements of one input that are checked; of larger ones a sample
MOST_ELEMENTS = 2000
#: wrong elements that are told one by one
MOST_TOLD = 100

Evaluate = Callable[[], Tensor]
MakeStep = Callable[[Tensor], ComplexStep | None]
#: takes the numbers of elements that are compared, and of all
Progress = Callable[[int, int], None]


class Check:
    """One expression with its variables. `evaluate` runs it on what the variables hold now."""

    def __init__(
        self,
        evaluate: Evaluate,
        variables: Mapping[str, Tensor],
        weights: Callable[[Tensor], Tensor | None],
        step: MakeStep,
        progress: Progress,
    ) -> None:
        self._variables = variables
        self._progress = progress
        self._done, self._all = 0, sum(min(tensor.array.size, MOST_ELEMENTS) for tensor in variables.values())
        self._random = generator.default.get_state()
        self._evaluate = evaluate
        self.recorder = Recorder()
        with recorded(self.recorder):
            self.out = self._run()
        if not self.out.requires_grad:
            raise no_graph_error()
        self._weight = weights(self.out)
        self.notes: list[str] = []
        self._choose_outputs()
        root = self.out.edge()[0]
        assert root is not None
        self.steps = Steps(root, self.recorder, variables, {})
        self._unit = self._roundoff()
        self._complex = step(self.out) if self._unit == _roundoff_of(dtypes.float64) else None
        self._used_complex = False
        self._here = self._weighted(np.array(self.out.array, np.float64).reshape(-1))

    def _run(self) -> Tensor:
        """The value, with the random numbers of the first time."""
        generator.default.set_state(self._random)
        return self._evaluate()

    def _choose_outputs(self) -> None:
        """`_vectors`: what the output's elements are weighted with, one row for each number that is checked."""
        shape, size = self.out.array.shape, self.out.array.size
        if self._weight is not None:
            self._vectors = np.asarray(self._weight.array, np.float64).reshape(1, -1)
        elif size <= MOST_OUTPUTS:
            self._vectors = np.eye(size)
        else:
            # different for every element, so that no two errors cancel
            self._vectors = (1.5 + np.cos(np.arange(size))).reshape(1, -1)
            self.notes.append(f"the result has shape {shape}: its elements are checked through one weighted sum")
        self._single = size == 1 or len(self._vectors) == 1

    def _roundoff(self) -> float:
        """The unit roundoff of the coarsest dtype on the way."""
        used: list[DType] = [node.meta(0)[1] for node in self.steps.order]
        coarsest = max((dtype for dtype in used if dtype.is_floating_point), key=_roundoff_of)
        if coarsest is not dtypes.float64:
            self.notes.append(f"parts are computed in {coarsest.name}, so that differences are coarse")
        return _roundoff_of(coarsest)

    # --- the two sides ---

    def analytic(self) -> dict[str, Array]:
        """For each variable the derivatives by rule, of shape (checked outputs, elements)."""
        found = {name: np.zeros((len(self._vectors), tensor.array.size)) for name, tensor in self._variables.items()}
        used = {node.variable for node in self.steps.order if isinstance(node, AccumulateGrad)}
        names = [name for name, tensor in self._variables.items() if tensor in used]
        inputs = [self._variables[name] for name in names]
        shape, dtype = self.out.array.shape, self.out.dtype
        weights = (Tensor(vector.reshape(shape).astype(dtype.np), dtype) for vector in self._vectors)
        for row, gradients in enumerate(jacobians.vjps(self.out, inputs, weights)):
            for name, gradient in zip(names, gradients, strict=True):
                if gradient is not None:
                    found[name][row] = np.asarray(gradient.array, np.float64).reshape(-1)
        return found

    def moved(self, tensor: Tensor, index: tuple[int, ...]) -> adaptive_differences.Moved:
        """The checked outputs as a function of how far one element is moved."""

        def outputs() -> Array:
            result = np.array(self._run().array, np.float64).reshape(-1)
            if result.size != self._vectors.shape[1]:
                return np.full(len(self._vectors), np.nan)  # the result has another shape there, and no derivative
            return self._weighted(result)

        return along(tensor.array, index, outputs)

    def _weighted(self, result: Array) -> Array:
        """The numbers that are checked, of the elements of a result. One of weight 0 must not make nan of 0 * inf."""
        return np.array([(vector[vector != 0] * result[vector != 0]).sum() for vector in self._vectors])

    def _exact(self, name: str, index: tuple[int, ...], slope: adaptive_differences.Slope) -> Array | None:
        """The derivatives by a complex step, where it applies and is about what the differences say."""
        found = None if self._complex is None else self._complex.slopes(name, index)
        if found is None:
            return None
        exact = self._weighted(found)
        if not adaptive_differences.agrees(slope, exact).all():
            return None
        self._used_complex = True
        return exact

    # --- verdicts ---

    def input(self, name: str, analytic: Array) -> InputCheck:
        """The verdict on one variable."""
        tensor = self._variables[name]
        shape = tuple(tensor.array.shape)
        wrong: list[Comparison] = []
        kinked: list[Comparison] = []
        worst: Comparison | None = None
        absolute = relative = 0.0
        checked = list(self._elements(tensor))
        for flat, index in checked:
            self._progress(self._done, self._all)
            self._done += 1
            moved = self.moved(tensor, index)
            rule = analytic[:, flat]
            scale = abs(float(tensor.array[index]))
            slope = adaptive_differences.central(moved, scale, self._unit, rule, self._here)
            good = adaptive_differences.agrees(slope, rule)
            exact = self._exact(name, index, slope)
            numeric = slope.value if exact is None else exact
            if exact is not None:
                good &= np.abs(exact - rule) <= _EXACT * np.maximum(np.abs(exact), np.abs(rule)) + 1e-12
            for k in range(len(rule)):
                one = self._compare(index, k, rule[k], numeric[k])
                # a gradient between the slopes of a kink may agree with the differences by chance
                if exact is None and (not good[k] or slope.bent[k]):
                    judged, is_kink = self._judge(tensor, index, k, one, moved, scale)
                    if is_kink:
                        kinked.append(judged)
                        continue
                    one = one if good[k] else judged
                if not good[k] and one.remark not in (_ONE_SIDED, _STEEP):
                    wrong.append(one)
                off = abs(one.analytic - one.numeric)
                off = 0.0 if one.analytic == one.numeric else off
                # in a gradient that is right, tiny numbers in place of 0 are noise
                share = off / max(abs(one.analytic), abs(one.numeric), 1e-3 if good[k] else 1e-30) if off else 0.0
                absolute, relative = (_larger(a, b) for a, b in ((absolute, off), (relative, share)))
                if worst is None or _exceeds(off, worst):
                    worst = one
        if len(checked) < tensor.array.size:
            self.notes.append(f"{name}: {len(checked):,} of {tensor.array.size:,} elements")
        count = len(checked) * len(analytic)
        return InputCheck(name, shape, absolute, relative, worst, tuple(wrong[:MOST_TOLD]), tuple(kinked[:MOST_TOLD]), count)

    def _elements(self, tensor: Tensor) -> Iterator[tuple[int, tuple[int, ...]]]:
        size = tensor.array.size
        chosen: Sequence[int] = range(size) if size <= MOST_ELEMENTS else np.linspace(0, size - 1, MOST_ELEMENTS).astype(int).tolist()
        for flat in chosen:
            yield flat, tuple(int(k) for k in np.unravel_index(flat, tensor.array.shape))

    def _compare(self, index: tuple[int, ...], k: int, analytic: float, numeric: float) -> Comparison:
        output = None if self._single else tuple(int(i) for i in np.unravel_index(k, self.out.array.shape))
        return Comparison(index, output, float(analytic), float(numeric))

    def _judge(
        self, tensor: Tensor, index: tuple[int, ...], k: int, one: Comparison, moved: adaptive_differences.Moved, scale: float
    ) -> tuple[Comparison, bool]:
        """Whether a difference is a kink (the gradient lies between the slopes of both sides), and what to say."""
        sides = adaptive_differences.sides(moved, k, scale, self._unit)
        rule = one.analytic
        if not np.isfinite(sides.here):
            return one.replace(remark=f"the value itself is {sides.here:g} here"), False
        if np.isinf(rule) and rule == sides.steep:
            return one.replace(numeric=sides.steep, remark=_STEEP), False
        if np.isnan(sides.left) != np.isnan(sides.right):
            slope = sides.right if np.isnan(sides.left) else sides.left
            if abs(rule - slope) <= 1e-4 * max(abs(slope), 1.0):
                return one.replace(numeric=slope, remark=_ONE_SIDED), False
        if not sides.kinked or not np.isfinite(rule):
            return one, False
        low, high = sorted((sides.left, sides.right))
        margin = 1e-3 * max(abs(rule), 1.0)
        name, choice = kinks.find(self.run, self.steps, tensor, index)
        jump = "the value jumps, " if sides.jumps else ""
        remark = f"{name}: {jump}slope {sides.left:.4g} to the left, {sides.right:.4g} to the right{choice}"
        return one.replace(remark=remark), bool(low - margin <= rule <= high + margin)

    def run(self) -> tuple[Tensor, Recorder]:
        """One more run, recorded."""
        recorder = Recorder()
        with recorded(recorder):
            return self._run(), recorder

    def result(self, expression: str) -> CheckResult:
        """All verdicts."""
        analytic = self.analytic()
        inputs = tuple(self.input(name, analytic[name]) for name in self._variables)
        found: tuple[Origin, ...] = ()
        finite = np.isfinite(self.out.array).all() and all(np.isfinite(rows).all() for rows in analytic.values())
        if not finite:
            weight = ones_like(self.out) if self._weight is None else self._weight
            capture = walk_back(self.out, weight, self.steps.order)
            origin = nan_origins.first(self.steps, capture, bool(np.isfinite(self.out.array).all()))
            found = () if origin is None else (origin,)
        conditions = "float64, central differences, steps fitted to each element"
        if self._used_complex:
            conditions += "; and complex steps, which are exact to rounding"
        return CheckResult(expression, inputs, found, conditions, tuple(self.notes))


def _roundoff_of(dtype: DType) -> float:
    return 2.0**-8 if dtype is dtypes.bfloat16 else float(np.finfo(dtype.np).eps)


#: relative difference from a complex step that is put down to rounding
_EXACT = 1e-7
_STEEP = "infinitely steep here"
_ONE_SIDED = "not defined on the other side; compared with the slope of this one"


def _larger(a: float, b: float) -> float:
    return b if np.isnan(b) or b > a else a


def _exceeds(off: float, than: Comparison) -> bool:
    before = abs(than.analytic - than.numeric)
    return bool(np.isnan(off) and not np.isnan(before)) or bool(off > before)


def check(
    evaluate: Evaluate,
    variables: Mapping[str, Tensor],
    weights: Callable[[Tensor], Tensor | None],
    expression: str,
    step: MakeStep = lambda out: None,
    progress: Progress = lambda done, total: None,
) -> CheckResult:
    """Compare the gradients of `evaluate` for all `variables`, which it reads. Raises what running it raises.

    `step` makes complex steps for the value, where the expression allows them. `progress` is told before each element.
    """
    return Check(evaluate, variables, weights, step, progress).result(expression)
