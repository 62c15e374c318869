"""Calls with `out=`: a seeded generator adds tensors that fit the result of a call, and others that do not."""

from __future__ import annotations

import ast
import math
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from gradcli.core.functions.function import Function, InplaceFunction
from tools.comparison import child, probes
from tools.comparison.inputs import DIFFERENTIABLE

if TYPE_CHECKING:
    from tools.comparison.calls import Call, Subject

#: which part of the calls of a function that takes `out=` pass it
SHARE = 0.3
#: kinds of tensors to write into, and how often each is taken
KINDS = {
    "fitting": 6,
    "dtype": 4,
    "shape": 3,
    "empty": 4,
    "transposed": 2,
    "strided": 2,
    "view": 2,
    "expanded": 1,
    "leaf": 1,
    "node": 1,
    "dual": 1,
    "input": 2,
    "part of an input": 2,
    "number": 1,
    "type": 1,
}
_DTYPES = ("float32", "float64", "int64", "bool", "float16", "bfloat16", "int32", "uint8", "complex64", "complex128")
_SHAPES = ((2, 3), (3,), (1,), (), (4, 4), (2, 1), (2, 0), (6,))
_PARTS = ("[:1]", "[-1]", "[..., :1]", ".detach()", ".view(-1)", ".transpose(0, -1)", "[1:]")
_WRONG = ("'a'", "None", "1", "({},)", "[{}]", "[]", "({}, None)", "[1.]")
#: sessions run one at a time
_LOCK = threading.Lock()


def takes_out(subject: Subject) -> bool:
    """Whether calls under this name may pass `out=`."""
    function = subject.function
    if subject.name.startswith("Tensor.") or isinstance(subject.callee, InplaceFunction) or not isinstance(function, Function):
        return False
    return function.takes_out or any(p.name == "out" for s in function.parser.signatures for p in s.parameters)


def with_out(call: Call, sample: Call, rng: random.Random) -> Call:
    """The call with `out=`, and the lines that make what it writes into; where it fails, for the results of the `sample`."""
    several, parts = _result(call) or _result(sample) or (False, [((2, 3), "float32")])
    inputs = [line.partition(" = ")[0] for line in call.setup]
    kind = rng.choices(tuple(KINDS), tuple(KINDS.values()))[0]
    names = [f"o{i}" if several else "o" for i in range(len(parts))]
    odd = rng.randrange(len(parts))  # of several tensors one is of this kind, the others fit
    lines = []
    for i, (name, (shape, dtype)) in enumerate(zip(names, parts, strict=True)):
        lines += _target(kind if i == odd else "fitting", name, shape, dtype, inputs, rng)
    text = f"({', '.join(names)}{',' if len(names) == 1 else ''})" if several else names[0]
    if several and rng.random() < 0.1:
        text = f"[{', '.join(names)}]"
    if kind == "number":
        text = rng.choice((f"({names[0]},)", f"({', '.join([*names, names[0]])})", names[0]))
    elif kind == "type":
        text = rng.choice(_WRONG).format(names[0])
    head = call.text.removesuffix(")")
    return replace(
        call,
        mode="forward" if kind == "dual" else call.mode,
        setup=(*call.setup, *lines),
        text=f"{head}{'' if head.endswith('(') else ', '}out={text})",
        leaves=(*call.leaves, *(line.partition(" = ")[0] for line in lines if line.endswith(".requires_grad_()"))),
        outs=tuple(line.partition(" = ")[0] for line in lines),
    )


def _target(kind: str, name: str, shape: tuple[int, ...], dtype: str, inputs: list[str], rng: random.Random) -> list[str]:
    """The lines that make a tensor of the kind for a result of this shape and dtype, full of sevens, so that what is not written shows."""

    def full(size: tuple[int, ...] = shape, dtype: str = dtype) -> str:
        return f"torch.full({size}, 7, dtype=torch.{dtype})"

    count, base = math.prod(shape), f"w{name[1:]}"
    made = full()
    if kind == "dtype":
        made = full(rng.choice((shape, (0,))), rng.choice(_DTYPES))
    elif kind == "shape":
        made = full(rng.choice(_SHAPES))
    elif kind == "empty":
        made = f"torch.empty(0, dtype=torch.{dtype})"
    elif kind == "transposed" and len(shape) > 1:
        made = f"{full(shape[::-1])}.permute({', '.join(map(str, reversed(range(len(shape)))))})"
    elif kind == "strided" and shape:
        made = f"{full((*shape[:-1], 2 * shape[-1]))}[..., ::2]"
    elif kind == "view":
        return [f"{base} = {full((count + 2,))}", f"{name} = {base}[1:{count + 1}].view({shape})"]
    elif kind == "expanded" and shape:
        made = f"{full((1, *shape[1:]))}.expand({shape})"
    elif kind == "leaf" and dtype in DIFFERENTIABLE:
        made = f"{full()}.requires_grad_()"
    elif kind == "node" and dtype in DIFFERENTIABLE:
        return [f"{base} = {full()}.requires_grad_()", f"{name} = {base} * 1"]
    elif kind == "dual" and dtype in DIFFERENTIABLE:
        made = f"forward_ad.make_dual({full()}, {full()})"
    elif kind in ("input", "part of an input") and inputs:
        made = rng.choice(inputs) + (rng.choice(_PARTS) if kind == "part of an input" else "")
    return [f"{name} = {made}"]


def _result(call: Call) -> tuple[bool, list[tuple[tuple[int, ...], str]]] | None:
    """Whether gradcli gives several tensors for the call, and the shape and the dtype of each; None where it fails, or gives none."""
    read = "print((isinstance(y, (tuple, list)), [(tuple(t.shape), str(t.dtype)[6:]) for t in flat(y)]))"
    with _LOCK:
        answer = _run()("\n".join(["torch.manual_seed(0)", *call.setup, f"y = {call.text}", read, ""]))
    several, parts = ast.literal_eval(answer["out"]) if answer["out"] and not answer["error"] else (False, [])
    return (several, parts) if parts else None


@cache
def _run() -> Callable[[str], dict[str, Any]]:
    return child.under_gradcli(probes.PRELUDE)
