"""Calls of every reachable function and method with arguments drawn by chance; `python -m tests.fuzz.calls COUNT [SEED]`.

Whatever the arguments, a call ends well or with an error of PyTorch's, never with a fault of ours.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from functools import partial

from gradcli import limits
from gradcli.core.functions._index import METHODS
from gradcli.core.vocabulary import library
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz.running import fault_of, main

#: values of every kind, the odd ones of each too
PRELUDE = """
import torch, math
import torch.nn as nn
x = torch.tensor([1., -2., 3.], requires_grad=True)
y = torch.arange(12.).reshape(3, 4)
z = torch.tensor(2.5, requires_grad=True)
i = torch.tensor([0, 2, 1])
b = torch.tensor([True, False, True])
e = torch.empty(0)
h = torch.ones(3, dtype=torch.float16)
m = torch.tensor([[2., 1.], [1., 3.]], requires_grad=True)
d = torch.ones(2, 2, dtype=torch.float64)
n = torch.tensor([float('nan'), 1., float('inf')])
w = torch.ones(3, 1, 2, 2)
net = nn.Linear(2, 2)
opt = torch.optim.SGD([m], lr=0.1)
def f(*args, **named): return args[0] if args else None
g = torch.Generator()
ds = torch.utils.data.TensorDataset(y, i)
"""
_TENSORS = [*"xyzibehmdnw"]
_VALUES = (
    "x y z i b e h m d n w net opt f g ds 0 1 -1 2 3 0.5 -1.5 10**20 10**400 1e308 True False None 'mean' 'sum' '' 'ij,jk' (0,1) () (2,) "
    "[1,2] [x,x] [y,y] (x,) [] {} {'a':1} torch.float32 torch.int64 'cpu' slice(1) range(3) lambda*a:a[0] math.nan -10**6 10**7 "
    "[[1.,2.],[3.,4.]] torch.Size([3])"
)
_NAMES = (
    "dim keepdim dtype out reduction p alpha n k axis size input other weight unbiased correction requires_grad generator ord bins min max"
)
_AFTERWARDS = (
    "print(r)",
    "r.sum().backward()",
    "print(type(r), r)",
    "r(x)",
    "r[0]",
    "r.step()",
    "print(torch.autograd.grad(r.sum(), x, create_graph=True))",
)
#: so many calls share one session, then the names are made anew
_TOGETHER = 300


def drawn(chance: random.Random) -> str:
    """A call, and a statement that uses its result."""
    if chance.random() < 0.5:
        called = f"torch.{chance.choice(list(library.PLACES))}"
    else:
        called = f"{chance.choice(_TENSORS)}.{chance.choice(list(METHODS))}"
    args = [chance.choice(_VALUES.split()) for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))]
    if chance.random() < 0.3:
        args.append(f"{chance.choice(_NAMES.split())}={chance.choice(_VALUES.split())}")
    return f"r = {called}({', '.join(args)})\n{chance.choice(_AFTERWARDS)}\n"


def faults(count: int, seed: int) -> Iterator[str]:
    """The calls, of `count`, that ended with a fault of ours, each with the fault."""
    chance = random.Random(seed)
    session = _session()
    for number in range(count):
        text = drawn(chance)
        wrong, _ = fault_of(partial(session.run, Source("<call>", text)))
        if wrong:
            yield f"{wrong}\n{text}"
            session = _session()
        if number % _TOGETHER == 0:
            session = _session()


def _nothing(*values: object) -> None:
    return None


def _session() -> Session:
    bounds = limits.strict().changed(time=20.0, bytes=128 * 2**20, elements=10**6)
    session = Session(bounds=bounds, write=_nothing, warn=_nothing, read_stdin=bytes)
    session.run(Source("<prelude>", PRELUDE))
    return session


if __name__ == "__main__":
    sys.exit(main(faults))
