"""Evaluating by a plan where one holds, else in the ordinary way, which is watched to make the next plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from gradcli import limits
from gradcli.core.functions.function import Function
from gradcli.core.plans import making
from gradcli.core.plans.backward_plan import BackwardPlan, BackwardRepetition
from gradcli.core.plans.making import Result
from gradcli.core.plans.modules import Known, known
from gradcli.core.plans.plan import Plan
from gradcli.core.plans.slots import LARGEST, StepError
from gradcli.core.plans.watching import may_watch, watch
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.compile_context import Context, Frame, Part, Run
from gradcli.lang.interpreter.plans.plannable import FUNCTIONS, Leaves, names_of_test
from gradcli.lang.names import attributes, builtins
from gradcli.lang.syntax.nodes import Attribute, Expr, If, Name, Stmt
from gradcli.lang.values.execution import execution
from gradcli.lang.values.value_classes import MISSING, Builtin, Namespace

#: how many plans an expression keeps, and how often it is watched at most: values of changing kinds are left to the ordinary way
KEPT, TRIES = 4, 12
#: after so many evaluations without a plan, plans are no longer looked for
MISSES = 256

NUMBERS = frozenset((int, float, bool))
find_zero_grad = attributes.finder("zero_grad")

_MODULES = frozenset(("torch", "torch.nn", "torch.nn.functional"))
_PLAIN = frozenset((int, float, bool, str, type(None), Tensor))


class Parts:
    """What a plan is made for: one expression, or assignments that follow each other, each of whose results a later one uses.

    With an `ending`, `.backward()` of the last result follows.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        leaves: Sequence[Leaves],
        targets: Sequence[str | None],
        keys: Sequence[Any],
        ending: Ending | Walk | None = None,
    ) -> None:
        self.runs = runs
        self.ending = ending
        #: for each assignment, how often its result stands in those that follow, and whether its name has it in the end
        self.uses = [0] * len(runs)
        self.stays = [target not in targets[i + 1 :] for i, target in enumerate(targets)]
        self.keys = keys
        #: the keys of the results that stay
        self.kept = [key for key, stays in zip(keys, self.stays, strict=True) if stays]
        #: the names that come from outside, and how often each stands there
        self.count: Counter[str] = Counter()
        self.first: dict[str, Expr] = {}
        #: what is called and may be a module, and how often each is called
        self.modules = {key_of(module): module for found in leaves for module in found.modules}
        self.calls = Counter([key_of(module) for found in leaves for module in found.modules])
        made: dict[str | None, int] = {}
        for i, found in enumerate(leaves):
            for name in found.names:
                key = key_of(name)
                if key in made:
                    self.uses[made[key]] += 1
                else:
                    self.count[key] += 1
                    self.first.setdefault(key, name)
            made[targets[i]] = i

    def run(self, frame: Frame) -> list[Result]:
        """Carry out the assignments in the ordinary way."""
        results: list[Result] = []
        for run, key, uses, stays in zip(self.runs, self.keys, self.uses, self.stays, strict=True):
            run(frame)
            results.append(Result(frame[key], uses, stays))
        return results


class Ending:
    """`.backward()` behind assignments. An `if` of plain numbers and `.zero_grad()` may stand before it."""

    def __init__(self, runs: Sequence[Run], statements: Sequence[Stmt], context: Context) -> None:
        self.runs = runs
        once = context.once()
        #: the test of the `if`, and the names in it
        self._test: Run | None = None
        self._names: Sequence[Run] = ()
        #: what `.zero_grad()` is called on, and the call
        self._owner: Run | None = None
        self._clear: Run | None = None
        for statement, run in zip(statements[:-1], runs, strict=False):
            if isinstance(statement, If):
                test = statement.branches[0][0]
                self._test = once.expression(test)
                self._names = [once.expression(name) for name in names_of_test(test) or ()]
            else:
                self._owner, self._clear = once.expression(statement.value.function.value), run  # type: ignore[attr-defined]

    def run(self, frame: Frame, _: Any) -> None:
        """Carry it out in the ordinary way."""
        for run in self.runs:
            run(frame)

    def between(self, frame: Frame) -> Callable[[], object] | None:
        """What a plan does before its backward pass; None for nothing.

        Raises an error where the test is true or not of plain numbers, and where `.zero_grad()` is a method of a class of the program.
        """
        if self._test is not None and (any(type(name(frame)) not in NUMBERS for name in self._names) or self._test(frame)):
            raise LookupError
        if self._owner is None or self._clear is None:
            return None
        if find_zero_grad(type(self._owner(frame))) is None:
            raise LookupError
        return partial(self._clear, frame)


class Walk:
    """A backward pass from the value of an expression, which a function carries out in the ordinary way."""

    def __init__(self, walk: Callable[[Any], object]) -> None:
        self._walk = walk

    def run(self, _: Frame, value: Any) -> None:
        """Carry it out in the ordinary way."""
        self._walk(value)

    def between(self, _: Frame) -> None:
        """None: nothing comes before it."""


class Planned(NamedTuple):
    """How to evaluate by plans."""

    evaluate: Run
    #: begins to repeat the evaluation with its backward pass; raises an error where no plan holds
    begin: Callable[[Frame, bool], RepeatedBlock]


def planned(run: Run, leaves: Leaves, context: Context, frame: Frame) -> Run | None:
    """The closure of an expression from its second evaluation on; `run` is the ordinary one. None where what it calls can have no plan."""
    found = _planned(run, Parts([run], [leaves], [None], [None]), lambda frame: [Result(run(frame), 0, True)], context, frame)
    return None if found is None else found.evaluate


def planned_walk(
    both: Run, run: Run, walk: Callable[[Any], object], leaves: Leaves, context: Context, frame: Frame, again: bool
) -> Run | None:
    """As `planned`, for an expression and `walk`, which walks back from its value; `both` does both in the ordinary way.

    `again`: between two evaluations nothing changes but values of names, and arrays and gradients of leaves. Then values have no graph.
    """
    parts = Parts([run], [leaves], [None], [None], Walk(walk))
    found = _planned(both, parts, lambda frame: [Result(run(frame), 0, True)], context, frame)
    if found is None or not again:
        return None if found is None else found.evaluate
    evaluate, begin = found
    repeated: RepeatedBlock | None = None

    def evaluate_again(frame: Frame) -> Any:
        nonlocal repeated
        if repeated is not None:
            if repeated.again(frame):
                return repeated.value()
            repeated = None
            return evaluate(frame)
        value = evaluate(frame)
        with suppress(LookupError):
            repeated = begin(frame, True)
        return value

    return evaluate_again


def planned_block(run: Run, parts: Parts, context: Context, frame: Frame, part: Part) -> Run | None:
    """The closure of assignments from their second time on; `run` carries them out in the ordinary way. None as for `planned`.

    `part` of the body of a loop gets a function that begins to repeat them.
    """
    found = _planned(run, parts, parts.run, context, frame)
    if found is None:
        return None
    evaluate, begin = found
    part.begin = lambda frame: begin(frame, part.varies)
    return evaluate


def _planned(run: Run, parts: Parts, watched: Callable[[Frame], list[Result]], context: Context, frame: Frame) -> Planned | None:
    modules = [Called(module, parts.calls[key], context) for key, module in parts.modules.items()]
    if not all(module.is_pure(frame) for module in modules):
        return None
    loads = [load_of(name, context) for name in parts.first.values()]
    keys = parts.kept if parts.keys[0] is not None else None
    plans: list[Plan | BackwardPlan] = []
    tries, misses = TRIES, 0
    current: Run = run
    ending = parts.ending
    # calls of bare `sum` and its like are noted at the prompt
    is_noted = context.one_off and not builtins.ONE_OFF.keys().isdisjoint(parts.first)

    def load_all(frame: Frame) -> list[Any]:
        values = [load(frame) for load in loads]
        for module in modules:
            known = module.known(frame)
            values.append(known.structure)
            values += known.parameters
        return values

    def evaluate(frame: Frame) -> Any:
        if is_noted and execution.choices is not None:
            return run(frame)
        try:
            values = load_all(frame)
            between = None if ending is None else ending.between(frame)
        except Exception:  # evaluation in the ordinary way raises the error, at the name
            return run(frame)
        for plan in plans:
            made = plan.run(values, between) if isinstance(plan, BackwardPlan) else plan.run(values)
            if made is not None:
                for module in modules:
                    module.count()
                return finish(frame, made, plan)
        return without(frame, values, between)

    def finish(frame: Frame, made: list[Tensor], plan: Plan | BackwardPlan) -> Any:
        if keys is not None:
            for key, tensor in zip(keys, made, strict=True):
                frame[key] = tensor
        if ending is not None and type(plan) is Plan:
            ending.run(frame, made[-1])
        return made[0] if keys is None else None

    def without(frame: Frame, values: list[Any], between: Callable[[], object] | None) -> Any:
        nonlocal current, tries, misses
        misses += 1
        if misses > MISSES:
            current = run
        large = is_large(values)
        if not tries or (large and ending is None) or not may_watch() or not all(map(may_be_planned, values[: len(loads)])):
            return run(frame)
        tries -= 1
        results, ran = watch(lambda: watched(frame))
        occurrences = [*parts.count.values(), *[None] * (len(values) - len(loads))]
        try:
            made = _plans_of(values, occurrences, ran, results, ending is not None, large)
        except StepError:
            made, tries = [], 0
        del ran
        if made:
            plans.extend(made)
            del plans[: -KEPT * len(made)]
            if compile_context.plans == "first":
                for one in made:
                    again = one.run(values, between) if isinstance(one, BackwardPlan) else one.run(values)
                    if again is not None:
                        return finish(frame, again, one)
        if ending is not None:
            ending.run(frame, results[-1].value)
        return results[0].value if keys is None else None

    def begin(frame: Frame, varies: bool) -> RepeatedBlock:
        if ending is None or is_noted:
            raise LookupError
        return RepeatedBlock(plans, load_all, modules, keys or (), ending, varies, frame)

    current = evaluate
    return Planned(lambda frame: current(frame), begin)


def _plans_of(
    values: list[Any], occurrences: list[int | None], ran: Any, results: list[Result], has_ending: bool, large: bool
) -> list[Plan | BackwardPlan]:
    """The plans of what was watched, the first that fits to be taken; none where there can be none. Raises StepError."""
    plan = None if ran is None else making.make(values, occurrences, ran, results)
    if plan is not None:
        return [*making.with_backward(plan, values), plan] if has_ending else [plan]
    if ran is None or not large:
        return []
    from gradcli.core.plans import fused_pass

    return [*fused_pass.make(values, occurrences, ran, results)]


class RepeatedBlock:
    """Assignments with a backward pass. Raises an error where no plan holds."""

    def __init__(
        self,
        plans: Sequence[Plan | BackwardPlan],
        load: Callable[[Frame], list[Any]],
        modules: Sequence[Called],
        keys: Sequence[Any],
        ending: Ending | Walk,
        varies: bool,
        frame: Frame,
    ) -> None:
        self._load, self._modules, self._keys, self._ending, self._varies = load, modules, keys, ending, varies
        self._repetition = _repetition(plans, load(frame))

    def again(self, frame: Frame) -> bool:
        """Run once more; False, with nothing done, where the ordinary way has to."""
        try:
            if self._varies and not self._repetition.replace(self._load(frame)):
                return False
            between = self._ending.between(frame)
        except Exception:  # evaluation in the ordinary way raises the error, at the name
            return False
        if not self._repetition.run(between):
            return False
        for module in self._modules:
            module.count()
        return True

    def value(self) -> Tensor:
        """The value of an expression, without its graph."""
        return self._repetition.value()

    def settle(self, frame: Frame) -> None:
        """Give the names their values."""
        for key, tensor in zip(self._keys, self._repetition.results(), strict=False):
            frame[key] = tensor


def _repetition(plans: Sequence[Plan | BackwardPlan], values: list[Any]) -> BackwardRepetition:
    for plan in plans:
        if isinstance(plan, BackwardPlan):
            try:
                return BackwardRepetition(plan, values)
            except LookupError:
                pass
    raise LookupError


class Called:
    """What an expression calls so many times, and may be a module whose calls have plans."""

    def __init__(self, node: Expr, times: int, context: Context) -> None:
        self._times = times
        #: the attribute of the name, which must be a submodule; None for a name itself
        self.attribute = context.attribute(node.name) if isinstance(node, Attribute) else None
        self.load = context.expression(node.value if isinstance(node, Attribute) else node)
        self.last: Known | None = None

    def is_pure(self, frame: Frame) -> bool:
        """Whether it is a module whose calls can have plans."""
        try:
            self.known(frame)
        except Exception:  # evaluation in the ordinary way raises the error, at the name
            return False
        return True

    def count(self) -> None:
        """Count the steps of the calls. Raises LimitError."""
        for _ in range(self._times * self.last.steps if self.last is not None else 0):
            limits.evaluation.tick()

    def known(self, frame: Frame) -> Known:
        """What a call depends on. Raises an error where it is no such module."""
        module = self.load(frame)
        if self.attribute is not None:
            if module.cls.find(self.attribute) is not MISSING or self.attribute in module.fields:
                raise LookupError
            module = module.children_by_name[self.attribute]
        last = self.last
        if last is None or last.module is not module or not last.holds():
            self.last = last = known(module)
            if last is None:
                raise LookupError
        return last


def key_of(name: Expr) -> str:
    """A name or attribute of a name as a text."""
    return name.id if isinstance(name, Name) else f"{name.value.id}.{name.name}"  # type: ignore[attr-defined]


def load_of(name: Expr, context: Context) -> Run:
    """The closure of a name, or of the gradient of one."""
    if not isinstance(name, Attribute):
        return context.expression(name)
    owner = context.expression(name.value)

    def load(frame: Frame) -> Any:
        tensor = owner(frame)
        return tensor.grad if type(tensor) is Tensor else tensor

    return load


def is_large(values: Sequence[Any]) -> bool:
    """Whether one of the values is a tensor that is too large for steps on whole arrays, so that no `Plan` can be made."""
    return any(type(value) is Tensor and value.array.size > LARGEST for value in values)


def may_be_planned(value: Any) -> bool:
    """Whether a plan may hold for a value: a tensor, a number, or one of torch's functions or modules that only compute."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is Namespace:
        return value.path in _MODULES
    if kind is Builtin:
        return value is builtins.ONE_OFF.get(value.name)
    return kind is Function and value.name in FUNCTIONS
