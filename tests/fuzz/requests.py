"""Requests that one process answers one after the other; `python -m tests.fuzz.requests COUNT [SEED]`.

A request is answered alike whatever was answered before it, and leaves nothing behind: the state of the process is as it was.
"""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np

from gradcli import limits
from gradcli.core.random import generator
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.state import state
from gradcli.lang.values.execution import execution
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz.running import Child, counted, fault_of, main

#: each changes something that belongs to a session, or leaves something open
NASTY = (
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(False); torch.set_grad_enabled(False); 1/0",
    "m = torch.no_grad(); m.__enter__()",
    "m = torch.no_grad(); m.__enter__(); m.__enter__(); m.__exit__(None, None, None)",
    "m = torch.enable_grad(); n = torch.no_grad(); m.__enter__(); n.__enter__(); m.__exit__(None, None, None)",
    "m = torch.inference_mode(); m.__enter__()",
    "torch.autograd.graph.disable_saved_tensors_hooks('no').__enter__()",
    "a = torch.autograd.graph.disable_saved_tensors_hooks('a'); b = torch.autograd.graph.disable_saved_tensors_hooks('b')\n"
    "a.__enter__(); b.__enter__(); a.__exit__(None, None, None); 1/0",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2).__enter__()",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: 1/0, lambda t: t): (x * x)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.autograd.set_detect_anomaly(True); (x / 0 * 0).sum().sqrt().backward()",
    "torch.autograd.detect_anomaly().__enter__()",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.float16); torch.ones(3).sum()",
    "torch.set_printoptions(precision=1, sci_mode=True, edgeitems=1, threshold=2, linewidth=20)",
    "torch.set_printoptions(profile='full')",
    "np.set_printoptions(precision=1, suppress=True)",
    "np.seterr(all='raise')",
    "np.random.seed(3); np.random.rand()",
    "torch.manual_seed(7); torch.randn(3)",
    "torch.seed()",
    "import random; random.seed(1); random.random()",
    "torch.set_rng_state(torch.Generator().manual_seed(5).get_state())",
    "torch.use_deterministic_algorithms(True)",
    "torch.set_num_threads(1)",
    "torch.set_default_device('cpu')",
    "torch.set_flush_denormal(True)",
    "h = x.register_hook(lambda g: g); print(h.id)",
    "for i in range(50): x.register_hook(lambda g: g)",
    "y.grad_fn.register_hook(lambda a, b: None); y.grad_fn.register_prehook(lambda a: None)",
    "y.grad_fn.metadata['self'] = y.grad_fn",
    "net.register_forward_hook(lambda *a: 1/0); net(x)",
    "net.register_full_backward_hook(lambda *a: None); net(x).sum().backward()",
    "torch.nn.modules.module.register_module_forward_hook(lambda *a: print('hook'))",
    "x.grad = torch.ones(2); x.data = torch.zeros(2); x.requires_grad_(False)",
    "import warnings; warnings.filterwarnings('error')",
    "import warnings; warnings.simplefilter('ignore')",
    "torch.cross(torch.ones(3), torch.ones(3)); F.tanh(x); float(x.sum())",
    "import sys; sys.setrecursionlimit(50)",
    "import sys; sys.setrecursionlimit(10**6)\ndef f(n): return f(n + 1)\nf(0)",
    "import sys; sys.set_int_max_str_digits(0); print(10**5000)",
    "print(10**4299)",
    "10**4300",
    "int('1' * 5000)",
    "print(torch.tensor(10**18), id(x), id(y))",
    "print(x.grad_fn, y.grad_fn, object(), lambda: 0)",
    "id(lambda: 0); a = [object() for i in range(100)]; [id(o) for o in a]",
    "torch.autograd.forward_ad.enter_dual_level()",
    "import torch.autograd.forward_ad as fwAD\nm = fwAD.dual_level(); m.__enter__(); fwAD.make_dual(x.detach(), x.detach())",
    "torch.func.vmap(lambda a: 1/0)(x)",
    "torch.func.vmap(lambda a: torch.func.grad(lambda b: b * a.item())(a))(x)",
    "torch.func.grad(lambda a: (_ for _ in ()).throw(ValueError('a')))(x)",
    "torch.func.jvp(lambda a: a.unknown, (x,), (x,))",
    "torch.autograd.gradcheck(lambda a: a.detach(), x.double())",
    "class F1(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a): return a\n    @staticmethod\n"
    "    def backward(ctx, g): 1/0\nF1.apply(x).sum().backward()",
    "class torch: pass",
    "print = len = sum = 5",
    "del torch",
    "def gen():\n    try:\n        yield 1\n    finally:\n        print('late')\ng = gen(); next(g)",
    "def gen():\n    with torch.no_grad():\n        yield 1\ng = gen(); next(g)",
    "import functools\n@functools.lru_cache\ndef f(n): return n\n[f(i) for i in range(1000)]",
    "l = []; l.append(l); print(l)",
    "t = ()\nfor i in range(15_000): t = (t,)",
    "a = ()\nfor i in range(60): a = (a, a)\nprint(a)",
    "a = ()\nfor i in range(60): a = (a, a)\nhash(a)",
    "while True: pass",
    "x = torch.ones(9_000_000); y = [x * i for i in range(100)]",
    "'a' * 10**9",
    "def f(): return f()\nf()",
    "y = x\nfor i in range(8_000): y = y * 1\ny.sum().backward()",
    "y = x\nfor i in range(8_000): y = y * 1",
    "raise KeyboardInterrupt",
    "raise SystemExit(3)",
    "exit()",
    "assert False, 'a' * 100_000",
    "print('\\x1b[31m' + '\\u202e' + '\\ud800')",
    "1 +",
    "(" * 300,
    "x = 1\n  y = 2",
    "match = 1; type = 2; print(match, type)",
    "opt = torch.optim.SGD([x], lr=0.1); opt.state['a'] = 1; opt.param_groups[0]['lr'] = 'a'; opt.step()",
    "import dataclasses\n@dataclasses.dataclass\nclass D: v: int\nprint(D(D(1)))",
    "import matplotlib.pyplot as plt; plt.plot([1, 2])",
    "import enum\nclass E(enum.Enum): A = 1\nE.A.value = 3",
    "nn.Linear(2, 2).double(); torch.nn.init.normal_(net.weight); print(net.weight)",
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)",
    "F.dropout(x); net.train(); torch.nn.Dropout()(x)",
)
PRELUDE = """
import torch, numpy as np
import torch.nn as nn, torch.nn.functional as F
x = torch.ones(2, requires_grad=True)
y = (x * 2).sum()
net = nn.Linear(2, 2)
print(x, y.grad_fn, torch.is_grad_enabled(), torch.get_default_dtype(), torch.rand(2), np.float64(1) / 3, id(y), x.register_hook(len).id)
print(10**4000 % 7, torch.is_anomaly_enabled(), torch.tensor(1.23456789))
"""
SECONDS = 20.0
#: so many requests one process answers; a new one costs as much as some ten of them
_TOGETHER = 120


def answered(text: str) -> str:
    """What a session of its own says to a request: what it prints, warnings and the error; with what is wrong."""
    said: list[str] = []
    session = Session(
        bounds=limits.strict().changed(time=30.0, steps=2e4, string=2e5, bytes=2.0**26),
        write=said.append,
        warn=lambda category, message, span: said.append(f"{category}: {message}"),
        read_stdin=bytes,
    )
    before = snapshot()
    wrong, error = fault_of(partial(session.run, Source("<request>", PRELUDE + text + "\n"), reuse=True))
    del session
    after = snapshot()
    # a request may load modules, which count in variables of their own from then on
    left = list(changes(before, after))
    return f"{wrong}{'left behind: ' if left else ''}{'; '.join(left)}\0{''.join(said)}\0{error}"


def snapshot() -> dict[str, object]:
    """What a process keeps between requests and no request may change, as values that do not change themselves."""
    found: dict[str, object] = {f"state.{name}": repr(getattr(state, name)) for name in state.__slots__}
    found |= {f"execution.{name}": id(getattr(execution, name)) for name in execution.__slots__}
    found |= {f"generator.{name}": _digest(getattr(generator.default, name)) for name in generator.default.__slots__}
    found |= {
        "dtype": repr(dtypes.get_default()),
        "print options": str({name: getattr(printing.options, name) for name in printing.options.__slots__}),
        "limits": id(limits.current),
        "evaluations": (limits.evaluation.depth, limits.evaluation.tick),
        "digits": sys.get_int_max_str_digits(),
        "recursion": sys.getrecursionlimit(),
        "collector": (gc.get_threshold(), gc.isenabled()),
        "numpy": str((np.geterr(), np.get_printoptions())),
    }
    for name, namespace, keys in _counters(len(sys.modules)):
        found[name] = {key: _counted(namespace[key]) for key in keys}
    return found


def changes(before: dict[str, object], after: dict[str, object], within: str = "") -> Iterator[str]:
    """What is in both of two snapshots and differs."""
    for name, old in before.items():
        new = after.get(name, old)
        if old is new or old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from changes(old, new, f"{name}.")
        else:
            yield f"{within}{name}: {old} became {new}"


#: types of globals that functions may count in
_PLAIN = frozenset((int, float, str, bool, type(None), itertools.count))


@cache
def _counters(loaded: int) -> list[tuple[str, dict[str, object], list[str]]]:
    """The namespaces of gradcli's modules, when so many modules are `loaded`, with the globals in which functions may count."""
    found = []
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("gradcli."):
            plain = [key for key, one in vars(module).items() if type(one) in _PLAIN and not key.startswith("__")]
            found.append((module.__name__, vars(module), plain))
    return found


def _counted(value: object) -> object:
    return repr(value) if type(value) is itertools.count else value


def _digest(value: object) -> str:
    return str(hash(value.tobytes())) if isinstance(value, np.ndarray) else repr(value)


@cache
def alone(text: str) -> str:
    """What a process that has answered nothing says to a request."""
    child = Child(answered)
    try:
        return child.ask(text, SECONDS)
    finally:
        child.end()


def differences(sequence: list[str]) -> Iterator[str]:
    """What is wrong with the answers of one process to a sequence of requests."""
    child = Child(answered)
    try:
        for at, text in enumerate(sequence):
            found = child.ask(text, SECONDS)
            if wrong := found.partition("\0")[0]:
                yield f"{wrong}\n{text}"
            if found != alone(text):
                yield f"another answer after {sequence[:at][-3:]}:\n{found!r}\n{alone(text)!r}\n{text}"
            if not child.alive:
                return
    finally:
        child.end()


def pairs(nasty: Sequence[str]) -> list[str]:
    """A sequence in which every request follows every request, itself too, once."""
    size = len(nasty)
    left = [list(range(size)) for _ in range(size)]
    path, found = [0], []
    while path:  # a closed walk over all pairs
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            found.append(nasty[path.pop()])
    return found


def faults(count: int, seed: int) -> Iterator[str]:
    """The requests, of `count` in sequences, that were answered otherwise than alone, or that left something behind."""
    chance = random.Random(seed)
    limits.memory.begin()
    answered("1")  # loads what requests share, so that processes begin alike
    for _ in counted(count, _TOGETHER):
        yield from differences([chance.choice(NASTY) for _ in range(_TOGETHER)])


if __name__ == "__main__":
    sys.exit(main(faults))
