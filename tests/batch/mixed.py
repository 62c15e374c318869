"""Mixed requests: valid, invalid, hostile and slow, the same ones for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

Draw = Callable[[random.Random, int], object]

VALID: tuple[Draw, ...] = (
    lambda rng, i: {"id": i, "expr": f"(x*{i % 97}).sum()", "vars": {"x": [i % 13, 1]}},
    lambda rng, i: {"id": i, "expr": "(x**2).sum()", "vars": {"x": [round(rng.random(), 3)] * 3}, "want": ["value", "grad"]},
    lambda rng, i: {"expr": "sigmoid(w*x + b)", "vars": {"w": rng.randint(-5, 5), "x": 0.5, "b": "randn(())"}, "seed": i % 50},
    lambda rng, i: {"id": str(i), "script": f"t = 0\nfor k in range({i % 20}):\n    t += k\nprint(t)"},
    lambda rng, i: {"id": [i], "expr": "1/(x-1)", "vars": {"x": ["nan", 1, i]}, "vector": [1, 1, 1], "dtype": "float64"},
)
INVALID: tuple[Draw, ...] = (
    lambda rng, i: "not json",
    lambda rng, i: {"id": i, "expr": "x +", "vars": {"x": 1}},
    lambda rng, i: {"id": i, "expr": f"nope{i % 7}"},
    lambda rng, i: {"id": i, "expr": "ones(2) + ones(3)"},
    lambda rng, i: {"id": i, "exprs": "1"},
    lambda rng, i: '{"expr": "1", "limits": {"time": 1000}}',
)
HOSTILE: tuple[Draw, ...] = (
    lambda rng, i: {"id": i, "expr": "ones(10**9)"},
    lambda rng, i: {"id": i, "script": "while True: pass", "limits": {"steps": 2000}},
    lambda rng, i: {"id": i, "script": "def f(n): return f(n + 1)\nf(0)"},
    lambda rng, i: "[" * 2000,
    lambda rng, i: {"id": i, "expr": "''.__class__.__mro__"},
    lambda rng, i: {"id": i, "expr": "'a' * 10**7"},
    lambda rng, i: {"id": i, "script": "t = ()\nfor i in range(3000): t = (t,)\nprint(hash(t))"},
)
SLOW: tuple[Draw, ...] = (
    lambda rng, i: {"id": i, "script": "while True: x = ones(1000)", "limits": {"time": 0.1}},
    lambda rng, i: {"id": i, "script": "for i in range(20000): x = ones(1)\nprint(i)"},
    lambda rng, i: {"id": i, "expr": "(ones(400, 400) @ ones(400, 400)).sum()"},
)
#: how often each kind but the slow one is drawn, in 100 lines
KINDS = ((VALID, 80), (INVALID, 14), (HOSTILE, 5.5))


def requests(count: int, seed: int = 0, slow: float = 0.5) -> Iterator[str]:
    """So many lines, with their newlines; `slow` of 100 lines are slow."""
    rng = random.Random(seed)
    kinds, weights = zip(*KINDS, (SLOW, slow), strict=True)
    for i in range(count):
        (kind,) = rng.choices(kinds, weights)
        made = rng.choice(kind)(rng, i)
        yield (made if isinstance(made, str) else json.dumps(made)) + "\n"
