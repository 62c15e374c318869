"""Calls of public functions: made from the samples of the record and from the signatures, by a seeded generator."""

from __future__ import annotations

import ast
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from keyword import iskeyword

from gradcli.core.calling.signature import Parameter, Signature
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Callee, Function, InplaceFunction, PythonMethod
from tools.comparison import inputs, outs
from tools.comparison.inputs import Input

#: how a call is observed: gradients of first and second order, a tangent of forward mode, the values alone, or gradients of views that
#: `backward` adds to, where the results are used twice
MODES = ("gradient", "forward", "value", "backward")
#: what the inputs of the last mode are of their leaves
_VIEWS = (
    "{} * 1",
    "{}[...]",
    "{}.mT.mT",
    "{}.clone()[...]",
    "{}.flatten().view({}.shape)",
    "torch.cat([{}, {}])[:{}.size(0)]",
    "{}.unbind()[0]",
)

_BY_NAME: dict[str, tuple[str, ...]] = {
    "reduction": ("'mean'", "'sum'", "'none'", "'no'"),
    "reduce": ("'sum'", "'prod'", "'mean'", "'amax'", "'amin'"),
    "mode": ("'constant'", "'reflect'", "'replicate'", "'nearest'", "'linear'", "'bilinear'", "'mean'", "'sum'", "'max'"),
    "ord": ("2", "1", "inf", "-inf", "0", "'fro'", "'nuc'", "3.5", "-2"),
    "p": ("2", "1", "0.5", "0", "inf", "'fro'"),
    "approximate": ("'none'", "'tanh'", "'no'"),
    "rounding_mode": ("'trunc'", "'floor'", "None", "'no'"),
    "indexing": ("'ij'", "'xy'"),
    "side": ("'left'", "'right'"),
    "UPLO": ("'L'", "'U'"),
    "driver": ("'gelsy'", "'gelsd'", "'gels'", "'gelss'"),
    "equation": ("'ij,jk->ik'", "'ij->ji'", "'i,i'", "'ii'", "'bij,bjk->bik'"),
    "kernel_size": ("1", "2", "3", "(2, 1)"),
    "output_size": ("1", "2", "(2, 3)", "0"),
    "eps": ("1e-5", "0.1", "0.", "1."),
    "n": ("0", "1", "2", "3", "5", "-1"),
}
_BY_TYPE: dict[str, tuple[str, ...]] = {
    "Number": ("0", "1", "2", "-1", "0.5", "1.5", "-0.7", "3", "0.", "1e-3", "True", "inf", "nan"),
    "float": ("0.", "1.", "0.5", "1.5", "-0.7", "2", "1e-3", "inf"),
    **dict.fromkeys(("int", "symint"), ("0", "1", "-1", "2", "3", "-2", "5", "-4")),
    "bool": ("True", "False"),
    "str": ("'sum'", "'mean'", "'none'"),
    "ints": ("(0,)", "(1,)", "(2, 3)", "(0, 1)", "(-1,)", "()", "[1, 0]", "(3, 2)", "(0, 0)", "(6,)"),
    "floats": ("(0., 1.)", "(-1, 2.5)", "(2., 1.)", "(0.,)", "(1., 1.)"),
    "scalars": ("(0.5,)", "(2, 1.5)", "[1, 1]", "(1., 0.5, 2)"),
    "dtype": ("torch.float32", "torch.float64", "torch.int64", "torch.float16", "torch.bool", "None"),
    "layout": ("torch.strided",),
    "device": ("'cpu'",),
    "memory_format": ("torch.contiguous_format", "torch.preserve_format"),
    "Generator": ("None",),
    "any": ("0", "1", "2", "(1, 1)", "0.5", "None", "True"),
}
_WRONG = ("'a'", "None", "1.5", "[1, 2]", "torch.float32", "{}", "(a,)", "2", "True", "[a, 'b']", "a")
#: names of tensor parameters that hold whole numbers
_INDEXES = ("index", "indices", "target", "repeats", "sections", "pivots", "LU_pivots", "tensor_indices_or_sections", "offsets", "n", "ind")
_MASKS = ("mask", "condition")


@dataclass(frozen=True)
class Call:
    """The call `number` of the function `name`: lines that make its inputs, the expression, and the leaves."""

    name: str
    number: int
    mode: str
    setup: tuple[str, ...]
    text: str
    leaves: tuple[str, ...]
    #: what `out=` writes into, and the tensors that it is a view of
    outs: tuple[str, ...] = ()


@dataclass
class _Arguments:
    """What a call is made of: texts of arguments, and the inputs that they name."""

    positional: list[str] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A public name, such as `torch.sin`, `torch.nn.functional.gelu` or `Tensor.add_`, and what it stands for."""

    name: str
    callee: Callee

    @property
    def function(self) -> Function | PythonMethod:
        return self.callee.of if isinstance(self.callee, InplaceFunction) else self.callee


def subjects() -> Iterator[Subject]:
    """Every public function and method, under each of its names."""
    for declared in catalog.all_functions():
        yield from (Subject(f"torch.{name}", callee) for name, callee in catalog.places(declared))
        yield from (Subject(f"Tensor.{name}", callee) for name, callee in catalog.methods(declared))


def passes_out(subject: Subject, number: int, seed: int) -> random.Random | None:
    """The generator of what the call of that number writes into, None for a call without `out=`."""
    rng = random.Random(f"out {seed} {subject.name} {number}")
    return rng if rng.random() < outs.SHARE and outs.takes_out(subject) else None


def make(subject: Subject, number: int, seed: int) -> Call:
    """The call of that number: the same for the same seed, whatever was made before."""
    rng = random.Random(f"{seed} {subject.name} {number}")
    mode = rng.choices(MODES, (5, 1, 4, 1))[0]
    of_out = passes_out(subject, number, seed)
    if of_out and mode in ("gradient", "backward") and of_out.random() < 0.75:
        mode = "value"  # most functions refuse `out=` where a gradient is wanted
    call = _without_out(subject, number, mode, rng)
    if of_out is None or "out=" in call.text:
        return call
    return outs.with_out(call, _without_out(subject, 0, mode, random.Random(0)), of_out)


def _without_out(subject: Subject, number: int, mode: str, rng: random.Random) -> Call:
    function = subject.function
    templates = _templates(function) if isinstance(function, Function) else []
    signatures = function.parser.signatures if isinstance(function, Function) else []
    signature = rng.choice(signatures) if signatures else None
    if number < len(templates):  # the samples themselves come first
        return _finish(subject, number, mode, templates[number](), rng)
    if templates and (signature is None or rng.random() < 0.6):
        made = rng.choice(templates)()
        _vary(made, rng)
    else:
        made = _from_signature(signature, rng) if signature else _Arguments(["a"], {}, {"a": inputs.random_input(rng)})
    if signature:
        _mutate(made, signature, function, rng)
    return _finish(subject, number, mode, made, rng)


def _finish(subject: Subject, number: int, mode: str, made: _Arguments, rng: random.Random) -> Call:
    """The texts of the call, with its inputs; what is written into is a copy of an input."""
    dtype = rng.choices(inputs.DTYPES, inputs.ODDS[mode])[0]
    mixed = rng.random() < 0.1
    leaves, setup = [], []
    for name, value in made.inputs.items():
        value = value.cast(rng.choices(inputs.DTYPES, inputs.ODDS[mode])[0] if mixed else dtype)
        grad = mode in ("gradient", "backward") and value.dtype in inputs.DIFFERENTIABLE and rng.random() < 0.9
        viewed = grad and mode == "backward" and value.data.ndim > 1 and rng.random() < 0.5
        leaf = f"{name}0" if viewed else name
        if grad:
            leaves.append(leaf)
        setup.append(f"{leaf} = {value.text(rng, expanded=mode != 'forward')}{'.requires_grad_()' if grad else ''}")
        if viewed:
            setup.append(f"{name} = {rng.choice(_VIEWS).replace('{}', leaf)}")
    positional = list(made.positional)
    own = subject.name.rpartition(".")[2]
    if own.endswith("_") and not own.endswith("__") and positional:
        copy = rng.choices(("clone()", "detach()", "clone()[...]"), (6, 2, 2))[0]
        setup.append(f"z = {positional[0]}.{copy}" if positional[0].isidentifier() else f"z = {positional[0]}")
        positional[0] = "z"
    keywords = [f"**{{'{key}': {value}}}" if iskeyword(key) else f"{key}={value}" for key, value in made.keywords.items()]
    if subject.name.startswith("Tensor."):
        receiver = positional[0] if positional else "torch.tensor([1.5, -0.5])"
        head = f"{receiver}.{own}" if receiver.isidentifier() else f"({receiver}).{own}"
        positional = positional[1:]
    else:
        head = subject.name.replace("torch.nn.functional.", "F.")
    return Call(subject.name, number, mode, tuple(setup), f"{head}({', '.join([*positional, *keywords])})", tuple(leaves))


# --- arguments from samples ---


def _templates(function: Function) -> list[Callable[[], _Arguments]]:
    """For each sample that calls the function: what makes its arguments anew."""
    names = {n.rpartition(".")[2] for n in (function.name, *function.aliases)}
    found = []
    for sample in function.samples:
        tree = ast.parse(sample.text, mode="eval")
        call = next((n for n in ast.walk(tree) if isinstance(n, ast.Call) and _called(n) in names), None)
        if call is not None:
            found.append(lambda call=call, sample=sample: _from_sample(call, sample.inputs))
    return found


def _called(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else None


def _from_sample(call: ast.Call, values: dict[str, object]) -> _Arguments:
    names = dict(zip(values, "abcdefgh", strict=False))
    made = _Arguments(inputs={names[name]: Input.of(value) for name, value in values.items()})

    def text(node: ast.expr) -> str:
        if isinstance(node, ast.Call) and _called(node) in ("tensor", "torch.tensor") and not node.keywords:
            with contextlib.suppress(ValueError):
                value = Input.of(ast.literal_eval(node.args[0]))
                name = "abcdefgh"[len(made.inputs)]
                made.inputs[name] = value
                return name
        return ast.unparse(_Torch(names).visit(node))

    arguments = list(call.args)
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).partition(".")[0] not in ("torch", "F"):
        arguments.insert(0, call.func.value)
    made.positional = [text(a) for a in arguments]
    made.keywords = {k.arg: text(k.value) for k in call.keywords if k.arg}
    return made


class _Torch(ast.NodeTransformer):
    """A sample as PyTorch writes it: built-in functions below `torch`, inputs under their names in the call."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.names:
            return ast.Name(self.names[node.id])
        known = node.id in catalog.FUNCTIONS or node.id in ("inf", "nan", "pi", "tensor")
        return ast.Attribute(ast.Name("torch"), node.id) if known else node


# --- arguments from a signature ---


def _from_signature(signature: Signature, rng: random.Random) -> _Arguments:
    made = _Arguments()
    positional = True
    for p in signature.parameters:
        if p.name == "out" or (p.has_default and rng.random() < 0.65):
            positional = False
            continue
        value = _value(p, made, rng)
        if positional and not p.keyword_only:
            made.positional.append(value)
        else:
            made.keywords[p.name] = value
    return made


def _value(p: Parameter, made: _Arguments, rng: random.Random) -> str:
    """An argument for the parameter; a tensor becomes a new input."""
    kind = p.type
    if kind == "Tensors":
        return f"[{', '.join(_tensor(p, made, rng) for _ in range(rng.choice((1, 2, 2, 3))))}]"
    if kind == "Tensor" or (kind == "Operand" and rng.random() < 0.75) or (kind == "any" and p.name in ("input", "tensor", "a", "b")):
        return "None" if p.nullable and rng.random() < 0.2 else _tensor(p, made, rng)
    if p.name in _BY_NAME and kind in ("any", "str", "Number", "float") and rng.random() < 0.8:
        return rng.choice(_BY_NAME[p.name])
    if kind == "any" and isinstance(p.default, bool):
        kind = "bool"
    elif kind == "any" and isinstance(p.default, (int, float)):
        kind = type(p.default).__name__
    if kind == "ints1":
        kind = rng.choice(("int", "ints"))
    text = rng.choice(_BY_TYPE["Number" if kind == "Operand" else kind])
    text = f"float('{text}')" if text in ("inf", "nan") else text
    return f"torch.tensor({text})" if kind in ("Number", "float", "int", "symint", "Operand") and rng.random() < 0.05 else text


def _tensor(p: Parameter, made: _Arguments, rng: random.Random) -> str:
    name = "abcdefgh"[len(made.inputs)] if len(made.inputs) < 8 else "a"
    first = next(iter(made.inputs.values()), None)
    if p.name in _INDEXES and rng.random() < 0.8:
        made.inputs[name] = inputs.random_index(rng, first)
    elif p.name in _MASKS and rng.random() < 0.8:
        made.inputs[name] = inputs.random_mask(rng, first)
    else:
        made.inputs[name] = inputs.random_input(rng, first)
    return name


# --- variations ---


def _vary(made: _Arguments, rng: random.Random) -> None:
    """Other values and other shapes of the inputs of a sample."""
    if rng.random() < 0.3:
        change = inputs.change_of_shape(rng)
        made.inputs = {name: change(value) for name, value in made.inputs.items()}
    for name, value in made.inputs.items():
        if rng.random() < 0.5:
            made.inputs[name] = value.filled(rng)


def _mutate(made: _Arguments, signature: Signature, function: object, rng: random.Random) -> None:
    """Other options, spellings and wrong arguments, in some of the calls."""
    parameters = [p for p in signature.parameters if p.name != "out"]
    dice = rng.random()
    if dice < 0.15:  # one option more, or another value of one
        p = rng.choice(parameters) if parameters else None
        at = parameters.index(p) if p else 0
        if p and p.type not in ("Tensor", "Tensors", "Operand"):
            if at < len(made.positional):
                made.positional[at] = _value(p, made, rng)
            else:
                made.keywords[p.name] = _value(p, made, rng)
    elif dice < 0.25:  # by keywords
        keep = rng.randrange(len(made.positional) + 1)
        names = [p.name for p in parameters if not p.keyword_only][keep : len(made.positional)]
        spelled = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"} if rng.random() < 0.2 else {}
        if len(names) == len(made.positional) - keep and not any(v.startswith("*") for v in made.positional[keep:]):
            moved = {spelled.get(n, n): v for n, v in zip(names, made.positional[keep:], strict=True)}
            made.positional, made.keywords = made.positional[:keep], {**moved, **made.keywords}
    elif dice < 0.31 and made.positional:  # a wrong type
        made.positional[rng.randrange(len(made.positional))] = rng.choice(_WRONG)
    elif dice < 0.33 and made.positional:
        made.positional.pop()
    elif dice < 0.35:
        made.positional.append(rng.choice(_WRONG))
    elif dice < 0.36:
        made.keywords["foo"] = "1"
    elif dice < 0.37 and getattr(function, "takes_out", False):
        made.keywords["out"] = "torch.empty(0)"
    if not any("a" in v for v in (*made.positional, *made.keywords.values())):
        made.inputs.setdefault("a", inputs.random_input(rng))
