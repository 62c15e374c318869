"""Plans give what the ordinary way gives, to the last bit: values, gradients, graphs, errors and warnings of random programs."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gradcli import limits
from gradcli.core.graph.op_node import OpNode
from gradcli.core.plans import making
from gradcli.core.plans.backward_plan import BackwardPlan, BackwardRepetition
from gradcli.core.plans.folded_node import PartNode
from gradcli.core.plans.update_plan import UpdatePlan, UpdateRepetition
from gradcli.core.tensor.node import members
from gradcli.errors import GradcliError
from gradcli.lang.interpreter import compile_context
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.interpreter.plans import compile_shaped
from gradcli.lang.interpreter.plans.shapes import Shape
from gradcli.lang.syntax import parser
from gradcli.source import Source

SETUP = """
import torch
import torch.nn.functional as F

def show(name, t):
    if t is None:
        print(name, None)
    else:
        print(name, t.tolist(), t.shape, t.stride(), t.dtype, t.requires_grad, t.is_leaf, t._version, t.grad_fn is None)

SAVED = ["_saved_self", "_saved_other", "_saved_result", "_saved_exponent", "_saved_mat2"]
SAVED += ["_saved_dim", "_saved_index", "_saved_self_sym_sizes"]

def tree(f, depth):
    if f is None or depth > 9:
        print(" " * depth, f)
        return
    print(" " * depth, f.name())
    for name in SAVED:
        try:
            if hasattr(f, name):
                found = getattr(f, name)
                print(" " * depth, name, found, found.grad_fn if isinstance(found, torch.Tensor) else None)
        except RuntimeError as error:
            print(error)
    for g, n in f.next_functions:
        print(" " * depth, n)
        tree(g, depth + 1)

def loud(g):
    print("hook", g)

def doubling(g):
    return g * 2

def square_mean(x, w):
    return ((x * w - 1) * (x + w)).mean()

x = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
w = torch.tensor([[0.5, 1.5, -1.0], [2.0, 0.25, 3.0]], requires_grad=True)
c = torch.tensor([2.0, 0.5, -1.0])
s = torch.tensor(1.5, requires_grad=True)
torch.manual_seed(0)
b = torch.randn(2, 3)
k = 2
"""

ATOMS = ["x", "w", "c", "s", "b", "x", "w", "x[0]", "w[1]", "c[-1]", "b[:, 1:2]", "w[0, ::2].sum()", "2", "0.5", "k", "-3"]
UNARY = [
    "{}.exp()",
    "{}.sigmoid()",
    "torch.tanh({})",
    "F.relu({})",
    "-({})",
    "({}) ** 2",
    "({}) ** 3",
    "{}.sin()",
    "torch.log({})",
    "{}.abs()",
]
REDUCED = ["{}.sum()", "{}.mean()", "({}).sum(dim=0)", "torch.mean({}, dim=-1)", "{}.sum(-1, keepdim=True)", "({} * {}).mean()"]
PAIRS = ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} + {} * {})", "({} * {} - {} / {})"]
MATRIX = [
    "(w @ x)",
    "(b @ w.t())",
    "(w @ c + s)",
    "(x @ c)",
    "F.mse_loss(w, b)",
    "torch.matmul(w, x * c)",
    "square_mean(x, w)",
    "x.grad",
    "x * 0.1",
    "w[0][1] * x[1:]",
    "(b[0] - w[-1, 1:].mean())",
]

STEPS = [
    "y.sum().backward()",
    "y.sum().backward(retain_graph=True)",
    "y.sum().backward(retain_graph=True); y.mean().backward()",
    "y.sum().backward(); y.sum().backward()",
    "y.backward()",
    "y.backward(torch.ones_like(y) * 0.5)",
    "g = torch.autograd.grad(y.sum(), [x, w], create_graph=True, allow_unused=True); show('g', g[0]); g[0].sum().backward()",
    "g = torch.autograd.grad(y.sum(), [w], allow_unused=True); show('g', g[0])",
    "y.sum().backward(create_graph=True); x.grad.sum().backward()",
    "y.retain_grad(); y.sum().backward(); show('y.grad', y.grad)",
    "y.register_hook(loud); y.sum().backward()",
    "y.register_hook(doubling); (y * 2).sum().backward()",
    "y.grad_fn.register_hook(lambda a, b: print(a, b)); y.sum().backward()",
    "h = x.register_hook(lambda g: tree(y.grad_fn, 0)); y.sum().backward(); h.remove()",
    "h = x.register_post_accumulate_grad_hook(lambda p: p.data.mul_(0.5)); y.sum().backward(); h.remove()",
    "h = x.register_post_accumulate_grad_hook(lambda p: tree(z.grad_fn, 0)); z = y * y + y; z.sum().backward(); h.remove()",
    "h = w.register_hook(lambda g: print(z.grad_fn.next_functions)); z = y * w + w; z.sum().backward(); h.remove()",
    "tree(y.grad_fn, 0)",
    "y.sum().backward(); tree(y.grad_fn, 0)",
    "print(y.grad_fn, y)",
    "z = y * 2 + y; tree(z.grad_fn, 0); z.sum().backward()",
    "z = (y * x + y).sum(); z.backward()",
    "z = (y * x + y).sum() * (y + 1).mean(); z.backward(); z.backward()",
    "torch.no_grad().__enter__() if False else None; x.data.mul_(0.9); y.sum().backward()",
    "x.mul_(2.0)",
    "y.mul_(2.0); y.sum().backward()",
    "y.add_(1.0); tree(y.grad_fn, 0); y.sum().backward()",
    "v = y.view(-1); v.mul_(3.0); y.sum().backward(); tree(y.grad_fn, 0)",
    "d = y.detach(); d.mul_(2.0); y.sum().backward()",
    "q = (y.detach() * x - 1).sum(); q.backward()",
    "x.grad = None",
    "w.grad = None",
    "x.grad.zero_()",
    "y = y + y * k; y.sum().backward()",
    "x.data = x.data.clone(); y.sum().backward()",
    "y = torch.sum(y * y - y); y.backward()",
    "y.detach_(); tree(y.grad_fn, 0)",
    "y.data = torch.ones(2); (y * 2 + y.sin()).sum().backward()",
    "x.data = x.data.double()",
    "x.data = torch.cat([x.data, x.data])",
    "x.expand_as(x).grad_fn.next_functions[0][0].register_prehook(loud)",
    "y.sum().backward(); x.expand_as(x).grad_fn.next_functions[0][0].register_prehook(loud)",
    "x.grad = w.grad = None; x.grad = w.grad = torch.ones(3)",
    "x.grad = s.grad = c",
]
BLOCKS = [
    "with torch.no_grad():\n    x.mul_(0.5)\ny.sum().backward()",
    "with torch.no_grad():\n    y = {0}\nshow('y', y)",
    "with torch.no_grad():\n    w -= 0.1 * w.grad\n    w.grad.zero_()",
    "with torch.inference_mode():\n    y = {0}\nshow('y', y)\nz = y * x + x",
    "with torch.autograd.detect_anomaly():\n    y = {0}\n    y.sum().backward()",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2):\n    y = {0}\ny.sum().backward()",
    "x = x.detach().clone().requires_grad_()",
    "x = x.detach().clone()",
    "x = torch.cat([x.detach(), x.detach()])[::2].requires_grad_()",
    "w = w.detach().double().requires_grad_()",
    "w = torch.stack([w.detach()[0], w.detach()[1]]).requires_grad_() if i % 2 else w.detach().t().contiguous().t().requires_grad_()",
    "x = (x * 1.5 + 0).detach().requires_grad_()",
    "k = k + 1",
    "c = x",
    "s = torch.tensor([2.0], requires_grad=True)",
]


def expression(random: random.Random, depth: int) -> str:
    if not depth:
        return random.choice(ATOMS) if random.random() < 0.75 else random.choice(MATRIX)
    kind = random.choice([UNARY, PAIRS, PAIRS, REDUCED])
    form = random.choice(kind)
    return form.format(*[expression(random, depth - 1) for _ in range(form.count("{}"))])


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.split("\n"))


def program(seed: int) -> str:
    """A loop whose body evaluates the same expressions again and again, and in some rounds does something odd."""
    rng = random.Random(seed)
    lines = [f"for i in range({rng.randint(4, 7)}):\n    print('round', i)\n"]
    for _ in range(rng.randint(1, 3)):
        made = expression(rng, rng.randint(1, 3))
        steps = [f"y = {made}", "show('y', y)"]
        for _ in range(rng.randint(1, 2)):
            odd = rng.choice(STEPS) if rng.random() < 0.7 else rng.choice(BLOCKS).format(made)
            at = rng.choice(["True", "True", "True", "i == 3", "i > 2", "i % 2"])
            steps.append(f"if {at}:\n" + indented(odd.replace("; ", "\n"), 4).rstrip("\n"))
        steps += ["show('gx', x.grad)", "show('gw', w.grad)", "show('gs', s.grad)"]
        for step in steps:
            lines.append("    try:\n" + indented(step, 8) + "    except Exception as error:\n        print(type(error).__name__, error)\n")
    return SETUP + "".join(lines)


def block_program(seed: int) -> str:
    """A loop whose body has several assignments that follow each other, and in some rounds does something odd with one of their names."""
    rng = random.Random(seed)
    lines = [f"for i in range({rng.randint(4, 7)}):\n    print('round', i)\n"]
    for _ in range(rng.randint(1, 2)):
        first = expression(rng, rng.randint(1, 2))
        second = rng.choice(["t * x", "t + w", "t.exp()", "t * t", "x - t", "t ** 2", "t * k"])
        third = rng.choice(["u.mean()", "u * u - t", "(u + t).sum()", "u.tanh()", "torch.sum(u * x)", "u * w", "u ** 2"])
        names = rng.choice([("t", "u", "y"), ("t", "u", "y"), ("t", "t", "y"), ("t", "y", "y")])
        body = f"{names[0]} = {first}\n{names[1]} = {second}\n{names[2]} = " + re.sub(r"\bu\b", names[1], third)
        shows = "".join(f"\nshow({name!r}, {name})" for name in dict.fromkeys(names)) if rng.random() < 0.6 else ""
        steps = [body + shows]
        for _ in range(rng.randint(1, 3)):
            odd = (rng.choice(STEPS) if rng.random() < 0.7 else rng.choice(BLOCKS).format(first)).replace("; ", "\n")
            name = rng.choice(names)
            if rng.random() < 0.6:
                odd = re.sub(r"\by\b", name, odd)
            at = rng.choice(["True", "True", "i == 3", "i > 2", "i % 2"])
            steps.append(f"if {at}:\n" + indented(odd, 4).rstrip("\n"))
        steps += ["show('gx', x.grad)", "show('gw', w.grad)", "show('gs', s.grad)", "tree(y.grad_fn, 0)"]
        for step in steps:
            lines.append("    try:\n" + indented(step, 8) + "    except Exception as error:\n        print(type(error).__name__, error)\n")
    return SETUP + "".join(lines)


MODULE_SETUP = """
from torch import nn
import copy
import functools

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)
        self.act = nn.ELU()

    def forward(self, x):
        h = self.act(self.first(x))
        return self.second(h * k) + h.mean()

class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        y = self.body(x)
        z = y * self.scale
        return z + y

class Loud(nn.Linear):
    def forward(self, x):
        print("forward")
        return super().forward(x) * 2

plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
inner = nn.Sequential(nn.Sequential(nn.Linear(3, 4, bias=False), nn.LeakyReLU(0.2)), nn.GELU(), nn.Linear(4, 2), nn.Softmax(dim=-1))
net, deep, loud_net = Net(), Deep(), Loud(3, 2)
tied = nn.Linear(3, 3)
twice = nn.Sequential(tied, nn.Sigmoid(), tied, nn.Linear(3, 2))
dropping = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
loss_fn = nn.MSELoss()
total = nn.MSELoss(reduction="sum")
models = [plain, inner, net, deep, loud_net, twice, dropping]
T = torch.randn(2, 2)
"""

MODELS = ["plain", "plain", "inner", "net", "deep", "loud_net", "twice", "dropping"]
MODULE_FORMS = [
    "y = loss_fn({m}(b), T)",
    "y = loss_fn({m}(b * x), T) * 2",
    "y = ({m}(b) * {m}(b * s)).mean()",
    "p = {m}(b)\ny = loss_fn(p, T)",
    "p = {m}(b + x)\nq = p * s - T\ny = (q ** 2).mean()",
    "p = {m}(w)\ny = total(p, T) / k",
    "y = F.mse_loss({m}(b), T) + 0.1 * s",
    "p = F.relu({m}(w))\ny = torch.mean(p * p)",
    "p = loss_fn({m}(b), T)\ny = p + (s * x).sum()",
]
MODULE_STEPS = [
    "y.backward()",
    "y.backward()",
    "opt.zero_grad(); y.backward(); opt.step()",
    "opt.zero_grad(); y.backward(); opt.step()",
    "y.backward(retain_graph=True); y.backward()",
    "y.backward(); y.backward()",
    "tree(y.grad_fn, 0)",
    "y.backward(); tree(y.grad_fn, 0)",
    "g = torch.autograd.grad(y, list({m}.parameters()), create_graph=True); h = sum((a ** 2).sum() for a in g); h.backward()",
    "g = torch.autograd.grad(y, list({m}.parameters()), allow_unused=True); print(g)",
    "h = {m}.register_forward_hook(lambda m, a, o: print('hook', a, o)); y = loss_fn({m}(b), T); h.remove(); y.backward()",
    "h = {m}.register_forward_pre_hook(lambda m, a: (a[0] * 2,))",
    "h = {m}.register_full_backward_hook(lambda m, a, o: print('back', a, o)); y = loss_fn({m}(b), T); y.backward(); h.remove()",
    "h = param.register_hook(lambda g: g * 2); y.backward(); h.remove()",
    "h = param.register_hook(lambda g: tree(y.grad_fn, 0)); y.backward(); h.remove()",
    "param.requires_grad_(i % 2 == 0)",
    "param.requires_grad = False",
    "for q in {m}.parameters(): q.requires_grad_(False)",
    "for q in {m}.parameters(): q.requires_grad_(True)",
    "param.data.mul_(0.5); y.backward()",
    "param.data = param.data.clone(); y.backward()",
    "param.data = param.data.t().contiguous().t() if param.dim() > 1 else param.data * 2; y.backward()",
    "param.grad = None",
    "{m}.zero_grad()",
    "{m}.eval()",
    "{m}.train()",
    "{m} = copy.deepcopy({m}); y.backward()",
    "{m} = copy.deepcopy({m}); opt = torch.optim.SGD({m}.parameters(), lr=0.1)",
    "{m}.double()",
    "{m}.load_state_dict({m}.state_dict()); y.backward()",
    "inner[0][1].negative_slope = 0.3",
    "inner[0][1].negative_slope = 0.0",
    "inner[0][1].negative_slope = -0.0",
    "plain[1] = nn.Tanh()",
    "plain[0].weight = nn.Parameter(plain[0].weight.detach() * 2)",
    "plain[0].bias = None",
    "plain.append(nn.Sigmoid())",
    "plain[1].inplace = True",
    "net.act = nn.Softplus()",
    "net.first, net.act = net.first, nn.Tanh()",
    "deep.body[0] = nn.Linear(3, 4)",
    "deep.scale.data.mul_(0.5)",
    "net.forward = lambda x: x.sum(-1, keepdim=True) * s",
    "loss_fn.reduction = 'sum'",
    "loss_fn = nn.L1Loss()",
    "loss_fn = lambda a, c: ((a - c) ** 2).mean()",
    "total = loss_fn",
    "y = torch.func.functional_call({m}, {{n: q * 2 for n, q in {m}.named_parameters()}}, (b,)).mean(); y.backward()",
    "opt = torch.optim.Adam({m}.parameters(), lr=0.05)",
    "nn.utils.parametrizations.weight_norm(plain[0])",
    "b = b.clone().requires_grad_()",
    "b = torch.randn(3, 2).t()",
    "b = torch.randn(4, 2, 3)",
]
MODULE_BLOCKS = [
    "with torch.no_grad():\n    {0}\nshow('y', y)",
    "with torch.no_grad():\n    param.add_(0.1)\ny.backward()",
    "with torch.no_grad():\n    for q in {m}.parameters():\n        q -= 0.1 * q.grad if q.grad is not None else 0",
    "with torch.inference_mode():\n    {0}\nshow('y', y)",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2):\n    {0}\ny.backward()",
    "with torch.autograd.detect_anomaly():\n    {0}\n    y.backward()",
    "for other in models:\n    {m} = other\n    {0}\n    y.backward()",
]


def guarded(step: str) -> str:
    return "    try:\n" + indented(step, 8) + "    except Exception as error:\n        print(type(error).__name__, error)\n"


def module_program(seed: int) -> str:
    """A loop that calls modules, and in some rounds does something odd with them."""
    rng = random.Random(seed)
    model = rng.choice(MODELS)
    form = rng.choice(MODULE_FORMS).format(m=model)
    at = rng.randint(0, 3)
    text = f"opt = torch.optim.{rng.choice(['SGD', 'Adam'])}({model}.parameters(), lr=0.1)\n"
    text += f"for i in range({rng.randint(5, 8)}):\n    print('round', i)\n    param = list({model}.parameters())[-{at} % 2]\n" + guarded(
        form + "\nshow('y', y)"
    )
    for _ in range(rng.randint(1, 4)):
        odd = rng.choice(MODULE_STEPS).format(m=model).replace("; ", "\n")
        if rng.random() < 0.2:
            odd = rng.choice(MODULE_BLOCKS).replace("{m}", model).replace("{0}", form.replace("\n", "\n    "))
        when = rng.choice(["True", "True", "i == 3", "i > 2", "i % 2"])
        text += guarded(f"if {when}:\n" + indented(odd, 4).rstrip("\n"))
    text += guarded(
        f"for n, q in {model}.named_parameters():\n    show(n, q)\n    show('grad', q.grad)\nshow('gx', x.grad)\nshow('gs', s.grad)"
    )
    return SETUP + MODULE_SETUP + text + guarded("tree(y.grad_fn, 0)")


LOSSES = [
    "t = {0}\ny = (t * t).mean()",
    "t = {0}\ny = t.sum()",
    "y = ({0}).mean()",
    "y = ({0} + {1}).sum()",
    "t = x * w + s\nu = t - b\ny = (u ** 2).mean()",
    "t = w @ x\nu = t - s\ny = (u * u).sum()",
    "y = loss_fn(plain(b), T)",
    "p = net.first(b * x)\ny = (p * p).mean()",
    "t = x + s\ny = t.sum()",  # nothing is kept for backward
    "t = torch.tanh(w)\ny = t.sum() * x.mean() + s",
    "t = x.grad * x\ny = (t + w).sum()",
    "y = {0}",
]
UPDATES = [
    "with torch.no_grad():\n    x -= 0.1 * x.grad",
    "with torch.no_grad():\n    x -= 0.1 * x.grad\n    w -= 0.1 * w.grad\nx.grad.zero_()\nw.grad.zero_()",
    "with torch.no_grad():\n    x -= 0.1 * x.grad\n    s *= 0.5\n    w -= 0.01 * w.grad\n    x.grad = None\n    w.grad = None",
    "with torch.no_grad():\n    x += x * x.grad\n    x /= 1.5 + x.grad * x.grad\n    x.grad.zero_()\n    w -= w.grad * x",
    "with torch.no_grad():\n    s -= k * s.grad\ns.grad = None",
    "with torch.no_grad():\n    w -= torch.exp(w.grad) * 0.1\n    c -= x.grad",
    "with torch.no_grad():\n    x -= x.grad @ x.grad\n    w.grad.zero_()\n    x.grad.zero_()",
    "x.grad.zero_()\nw.grad.zero_()\ns.grad.zero_()",
    "x.grad = None\nw.grad = None",
    "x -= 0.1 * x.grad",  # an error: x is a leaf
    "with torch.no_grad():\n    x -= 0.1 * w.grad",  # an error: the shapes differ
    "with torch.no_grad():\n    x = x - 0.1 * x.grad\nx.requires_grad_()",
    "with torch.no_grad():\n    k -= 0.5",
    "opt.step()",
    "opt.step()",
]
BETWEEN = [
    "x.register_hook(loud)",
    "h = x.register_hook(doubling)",
    "x.register_post_accumulate_grad_hook(lambda p: print('after', p.grad))",
    "x.grad = torch.zeros(6)[::2]",
    "x.grad = torch.ones(3)",
    "x.grad = torch.ones(1).expand(3)",
    "x.grad = c",
    "c = x.grad",
    "c = x.detach()",
    "v = x.view(3)",
    "v = x.detach()[1:]; v.mul_(2)",
    "x = x * 1.0",
    "x = torch.tensor([[1.0], [2.0]], requires_grad=True)",
    "x = torch.tensor([1.5], requires_grad=True); w = torch.tensor([[0.5], [2.0]], requires_grad=True)",
    "x.requires_grad_(False)",
    "x.requires_grad_(True)",
    "w.requires_grad_(i % 2 == 0)",
    "b.requires_grad_()",
    "old = y",
    "old.backward()",
    "y.backward()",
    "tree(y.grad_fn, 0)",
    "tree(t.grad_fn, 0)",
    "(t * 2).sum().backward()",
    "t.retain_grad(); t.sum().backward()",
    "k = k + 1",
    "k = 'a'",
    "x.grad.requires_grad_()",
    "w.grad = w.detach()",
    "s.grad = torch.tensor(float('nan'))",
    "w = w.detach().double().requires_grad_()",
    "w = w.detach().t().contiguous().t().requires_grad_()",
    "torch.set_grad_enabled(i % 2 == 0)",
    "torch.set_grad_enabled(True)",
    "torch.autograd.set_detect_anomaly(i % 2 == 0)",
    "x = torch.nn.Parameter(x.detach())",
    "(x * x).sum().backward(create_graph=True)",
    "opt = torch.optim.Adam([x, w, s], lr=0.05)",
    "opt = MyOptimizer([x, w], lr=0.1)",
    "opt.zero_grad = lambda: print('zero_grad')",
    "opt.param_groups[0]['params'] = 5",
]
OWN = """
class MyOptimizer(torch.optim.SGD):
    def zero_grad(self, set_to_none=True):
        print("own", y)
        super().zero_grad(set_to_none)

opt = torch.optim.SGD([x, w, s, *plain.parameters()], lr=0.1)
"""
MIDDLE = [
    "\nif i % 3 == 1:\n    print('between', y)",
    "\nif i > 2:\n    h = y.register_hook(loud)\n    print(h is None)",
    "\nif i == 3 or k > 2:\n    x.grad = None",
    "\nif i % 2:\n    y = y * 2",
    "\nif y > 1:\n    print('above')",
    "\nif i == 4:\n    y.backward(retain_graph=True)",
]

END = "torch.set_grad_enabled(True)\ntorch.autograd.set_detect_anomaly(False)\n"


def training_program(seed: int) -> str:
    """A loop that computes, walks back and updates in place, and in some rounds does something odd in between."""
    rng = random.Random(seed)
    loss = rng.choice(LOSSES).format(expression(rng, rng.randint(1, 2)), expression(rng, 1))
    loss += rng.choice(["", "", "", *MIDDLE])
    loss += rng.choice(["\ny.backward()", "\ny.backward()", "\nopt.zero_grad()\ny.backward()", "\nplain.zero_grad()\ny.backward()"])
    updates = [rng.choice(UPDATES) for _ in range(rng.randint(1, 2))]
    state = "show('y', y)\nshow('x', x)\nshow('w', w)\nshow('s', s)\nshow('gx', x.grad)\nshow('gw', w.grad)\nshow('gs', s.grad)"
    start = ""
    if rng.random() < 0.3:
        start = "def compute(x, w, s, b, k, c, i):\n" + indented(loss, 4) + "    return y\n"
        loss = "y = compute(x, w, s, b, k, c, i)"
    text = f"for i in range({rng.randint(5, 8)}):\n    print('round', i)\n" + guarded(loss)
    for _ in range(rng.randint(0, 3)):
        when = rng.choice(["True", "i == 2", "i == 3", "i > 2", "i % 2"])
        odd = guarded(f"if {when}:\n" + indented(rng.choice(BETWEEN).replace("; ", "\n"), 4).rstrip("\n"))
        text = rng.choice([text + odd, text.replace("    try:", odd + "    try:", 1)])
    return SETUP + MODULE_SETUP + OWN + start + text + "".join(map(guarded, updates)) + guarded(state) + guarded("tree(y.grad_fn, 0)") + END


#: parts of the body of a loop that is repeated as a whole, besides those that compute, walk back and update
PARTS = [
    "opt.zero_grad()",
    "opt.step()",
    "plain.zero_grad()",
    "if i % 3 == 2:\n    print('part', y, x.grad)",
    "if i > 4 and k > 0:\n    break",
    "if i == 2:\n    continue",
    "if i == 3:\n    raise ValueError(str(y.item()))",
    "if i == 3:\n    kept_y = y\n    print(t)",
    "if i == 3:\n    {odd}",
    "if i == 3:\n    {odd}",
    "if i % 2:\n    {odd}",
    "if y > 0:\n    print('above')",  # a test that reads what the body assigns
    "k += 1",
    "print(y)",
    "kept.append(y.item())",
    "kept.append(y.item())",
    "kept.append(t.item())",
]
LOOPS = [
    "for i in range({n}):\n{body}",
    "for i in range({n}):\n{body}",
    "for i, c in zip(range({n}), [c, c * 2, c, c + 1, c, c, c, c]):\n{body}",
    "for i in [0, 1, 2, 3, 4, 5][:{n}]:\n{body}",
    "for i, c in [(0, c), (1, c), (2, c), (3, c), (4, c * 2), (5, c), (6, c.double()), (7, c)][:{n}]:\n{body}",
    "for i, c in [(0, c), (1, c), (2, c), (3, c), (4, c.detach().clone().requires_grad_()), (5, c)][:{n}]:\n{body}",
    "def numbers():\n    for j in range({n}):\n        if j == 4:\n            "
    "print('inside', y)\n            h = x.register_hook(loud)\n        yield j\n"
    "for i in numbers():\n{body}",
    "for j in range(2):\n    for i in range({n}):\n{inner}\n    show('y', y)",
    "for i in range({n}):\n{body}\nelse:\n    show('y', y)",
]
WHOLE_LOSSES = [
    *LOSSES[:8],
    "t = x * w + c\ny = (t * t).mean()",
    "y = ((b - c) ** 2 * x).sum()",
    "t = x * k\ny = (t * i + s).sum()",
    "y = (y * 0.5 + x * x).sum()",
]


def loop_program(seed: int) -> str:
    """A loop without `try` inside, which is run in a function or not, once or twice, and what is left behind it."""
    rng = random.Random(seed)
    loss = rng.choice(WHOLE_LOSSES).format(expression(rng, 1), expression(rng, 1)) + rng.choice(["", "", "", *MIDDLE, "\nopt.zero_grad()"])
    parts = [loss + "\ny.backward()", *[rng.choice(UPDATES) for _ in range(rng.randint(0, 2))]]
    for _ in range(rng.randint(0, 2)):
        odd = rng.choice(BETWEEN).replace("; ", "\n")
        parts.insert(rng.randint(0, len(parts)), rng.choice(PARTS).replace("{odd}", odd.replace("\n", "\n    ")))
    body = "\n".join(parts)
    form = rng.choice(LOOPS)
    text = form.format(n=rng.randint(4, 9), body=indented(body, 4).rstrip("\n"), inner=indented(body, 8).rstrip("\n"))
    state = "show('y', y)\nshow('x', x)\nshow('w', w)\nshow('s', s)\nshow('gx', x.grad)"
    state += "\nshow('gw', w.grad)\nshow('gs', s.grad)\ntree(y.grad_fn, 0)\nprint(kept)"
    state += "\nprint(y.grad_fn._sequence_nr() - (x * 1).grad_fn._sequence_nr())"
    if rng.random() < 0.3:
        text = "def train(x, w, s, b, k, c, y):\n" + indented(text + "\n" + state, 4).rstrip("\n") + "\n    return y\n"
        text += unindented("y = train(x, w, s, b, k, c, y)") * 2
    else:
        text = unindented(text) + rng.choice(["", unindented(text)])
    return SETUP + MODULE_SETUP + OWN + "kept = []\ny = s * 1\n" + text + "".join(map(unindented, state.split("\n"))) + END


NUMBERS = ["2", "0.5", "-3", "7", "1.5", "-0.25", "1", "0", "0.0", "-0.0", "1e30", "1e300", "-1e-30", "16777217", "1e999"]
NUMBERS += [str(2**63), str(2**70)]
NAMES = ["x = x.detach().double().requires_grad_()", "x = torch.cat([x.detach(), x.detach()])[:3].requires_grad_()", "s = x", "k = k + 1"]


def line_program(seed: int) -> str:
    """Lines with the same few expressions, whose numbers are others in each line, and something odd in between."""
    rng = random.Random(seed)
    forms = [expression(rng, rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
    forms = [re.sub(r"(?<![\w.\[])-?\d+(\.\d+)?(?=\.[a-z])", r"(\g<0>)", form) for form in forms]
    forms = [re.sub(r"(?<![\w.\[(])-?\d+(\.\d+)?(?![\w\].])", "#", form) for form in forms]
    forms.append(rng.choice(["# - x / #", "(x * # + #).sum() * w", "total + (# * x - #).mean()", "x * (k * #) + #", "x * # ** 2 + # / s"]))
    text = "total = s * 2\nkept = []\n"
    for i in range(rng.randint(40, 70)):
        line = re.sub("#", lambda _: rng.choice(NUMBERS[: rng.choice([6, 6, len(NUMBERS)])]), rng.choice(forms))
        kind = rng.random()
        line = f"y = {line}" if kind < 0.6 else f"y = total = {line}" if kind < 0.8 else f"print(({line}).tolist())"
        text += unindented(f"i = {i}\n{line}\nkept.append(y)\nshow('y', y)")
        if rng.random() < 0.15:
            odd = rng.choice(NAMES) if rng.random() < 0.2 else rng.choice(STEPS) if rng.random() < 0.7 else rng.choice(BLOCKS).format(line)
            text += unindented(odd.replace("; ", "\n"))
    text += "".join(map(unindented, ["tree(y.grad_fn, 0)", "total.sum().backward()", "show('gx', x.grad)", "show('gs', s.grad)"]))
    return SETUP + text


def unindented(step: str) -> str:
    return re.sub("(?m)^    ", "", guarded(step))


def places(tensor: object) -> list[str]:
    """The operations that a tensor came of, and their places in the program."""
    found: list[str] = []
    stack = [getattr(tensor, "node", None)]
    while stack and len(found) < 100:
        node = stack.pop()
        if node is not None and hasattr(node, "edges"):
            stack += [to for to, _ in node.edges]
            found.append(f"{node.type_name} {getattr(node.origin, 'span', None)}")
    return found


def output(text: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a program prints and warns, the error that it ends with, and where the operations of the last `kept` tensors stand."""
    monkeypatch.setattr(compile_context, "plans", mode)
    written: list[str] = []
    interpreter = Interpreter(
        write=written.append,
        warn=lambda category, message, span: written.append(f"{category} {message} {span and (span.start, span.end)}\n"),
    )
    try:
        interpreter.run(parser.parse_file(Source("<program>", text)))
    except GradcliError as error:
        written.append(f"{error} {error.span and (error.span.start, error.span.end)} {error.labels}")
    kept: Any = interpreter.variables.get("kept", [])
    return [*"".join(written).splitlines(), *[place for tensor in kept[-8:] for place in places(tensor)]]


@pytest.mark.parametrize("make", [program, block_program, module_program, training_program, loop_program, line_program])
@pytest.mark.parametrize("group", range(8))
def test_random_programs(group: int, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(group * 5, group * 5 + 5):
        text = make(seed)
        ordinary = output(text, "off", monkeypatch)
        for mode in ("second", "first"):
            assert output(text, mode, monkeypatch) == ordinary, f"seed {seed}, plans {mode}:\n{text.removeprefix(SETUP)}"


def run(text: str, monkeypatch: pytest.MonkeyPatch, mode: str = "second") -> Interpreter:
    monkeypatch.setattr(compile_context, "plans", mode)
    interpreter = Interpreter(write=lambda _: None, warn=lambda *_: None)
    interpreter.run(parser.parse_file(Source("<program>", SETUP + text)))
    return interpreter


LOOP = "for i in range(4):\n    y = {}\n"


@pytest.mark.parametrize(
    ("expression", "folded"),
    [
        ("((x + 2) * (x + 2) * 2).mean()", True),
        ("torch.tanh(w @ x + s)", True),
        ("F.mse_loss(x * w, b)", True),
        ("x * 2", False),  # one operation
        ("x * 2 + i", False),  # a number that changes
        ("x * w.sum().item() + s", False),  # a number that depends on a tensor
        ("torch.add(x, w, alpha=s.detach()) * 2", False),
        ("x * x.max() + s", False),  # an operation that is not in the table
        ("w.t() * 2 + s", False),  # a view
        ("(x.half() * 2 + 1).sum()", False),
    ],
)
def test_what_has_a_plan(expression: str, folded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    node = run(LOOP.format(expression), monkeypatch).get("y").node
    assert node.folded is folded
    assert not run(LOOP.format(expression), monkeypatch, "off").get("y").node.folded


@pytest.mark.parametrize(
    ("block", "together"),
    [
        ("t = x * w + s; u = t - b; y = (u ** 2).mean()", True),
        ("t = x * w; t = t + s; y = t.exp()", True),  # one name twice
        ("t = x * w; u = t.detach(); y = (u * x + s)", False),  # an operation that is not in the table
        ("t = x * w; u = x + s; y = (u * u - x)", False),  # a result that none of the others uses
        ("t = x * w; u = t.grad; y = (t * x + s)", False),  # a gradient that the plan has not made
    ],
)
def test_which_assignments_have_one_plan(block: str, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for i in range(4):\n" + indented(block.replace("; ", "\n"), 4)
    interpreter = run(text, monkeypatch)
    first, last = interpreter.get("t").node, interpreter.get("y").node
    assert (type(first) is PartNode) is together
    assert first.type_name in ("MulBackward0", "AddBackward0")
    nodes = members(last, last.stands_for)
    assert (first in nodes) is together
    assert type(first) is not PartNode


def runs_of_plans(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often plans of backward passes and of updates are carried out in a program."""
    counts = [0, 0]

    def counting(kind: type, at: int) -> None:
        ordinary = kind.run

        def run_counted(*args: object) -> object:
            made = ordinary(*args)
            counts[at] += made is not None and made is not False
            return made

        monkeypatch.setattr(kind, "run", run_counted)

    for kind, at in ((BackwardPlan, 0), (BackwardRepetition, 0), (UpdatePlan, 1), (UpdateRepetition, 1)):
        counting(kind, at)
    run(MODULE_SETUP + OWN + text, monkeypatch)
    return counts[0], counts[1]


@pytest.mark.parametrize(
    ("body", "backward", "updates"),
    [
        ("y = ((x - c) ** 2).mean()\ny.backward()", True, False),
        ("t = x * w\nu = t - b\ny = (u ** 2).mean()\ny.backward()\nx.grad = None", True, False),
        ("y = loss_fn(plain(b), T)\nopt.zero_grad()\ny.backward()\nopt.step()", True, False),
        ("((x - c) ** 2).mean().backward()", True, False),
        ("((x - c) ** 2).mean().backward(retain_graph=True)", False, False),
        ("((x - c) ** 2).backward()", False, False),
        ("y = ((x - c) ** 2).mean()\nMyOptimizer([x], lr=0.1).zero_grad()\ny.backward()", False, False),
        ("y = ((x - c) ** 2).mean()\nh = x.register_hook(loud)\ny.backward()", False, False),
        ("y = ((x - c) ** 2).mean()\ny.backward(retain_graph=True)", False, False),
        ("y = ((x - c) ** 2).mean()\nif i == 1:\n    print(y)\ny.backward()", True, False),
        ("y = ((x - c) ** 2).mean()\nif y > 100:\n    print(y)\ny.backward()", False, False),
        ("y = ((x - c) ** 2)\ny.backward()", False, False),  # no scalar
        ("y = ((x - c) ** 2).mean()\ny.backward()\nwith torch.no_grad():\n    x -= 0.1 * x.grad\nx.grad.zero_()", True, True),
        ("y = ((x - c) ** 2).mean()\ny.backward()\nwith torch.no_grad():\n    x -= 0.1 * x.grad\n    x.grad = None", True, True),
        ("y = ((x - c) ** 2).mean()\ny.backward()\nwith torch.enable_grad():\n    x.data -= 0.1 * x.grad", True, False),
        ("y = (x * x + s).sum()\ny.backward()\nx.grad.zero_()\ns.grad.zero_()", True, True),
    ],
)
def test_which_loops_walk_back_and_update_by_plans(body: str, backward: bool, updates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for i in range(6):\n    try:\n" + indented(body, 8) + "    except RuntimeError:\n        pass\n"
    found = runs_of_plans(text, monkeypatch)
    assert (found[0] >= 3, found[1] >= 3) == (backward, updates)


RESHAPED = """
import torch
x = torch.ones(4, requires_grad=True)
kept_node = x.cos()
x.data = torch.ones(2)
for i in range(6):
    try:
        y = (x.sin() * 2 + x).sum() * 3
        LAST.backward()
        print(x.grad)
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.parametrize("last", ["y", "(y)", "z = y\n        z"])
def test_a_leaf_that_got_another_shape(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = RESHAPED.replace("LAST", last)
    ordinary = output(text, "off", monkeypatch)
    assert len(ordinary) == 6 and all("got [2] but expected shape compatible with [4]" in line for line in ordinary)
    for mode in ("second", "first"):
        assert output(text, mode, monkeypatch) == ordinary


ODD = {
    "a leaf of another shape, while a graph that has been freed is alive": """
for i in range(5):
    y = ((x - c) ** 2).mean()
    y.backward()
x.data = torch.ones(2)
(x * 2).sum().backward()
""",
    "a leaf of another dtype, while a graph is alive": """
alive = x.cos()
x.data, c = x.data.double(), c.double()
for i in range(5):
    y = ((x - c) ** 2 / 3).mean()
    y.backward()
    show("x", x.grad)
""",
    "a hook of an AccumulateGrad, which a graph that has been freed keeps": """
for i in range(6):
    y = ((x - c) ** 2).mean()
    y.backward()
    if i == 3:
        x.expand_as(x).grad_fn.next_functions[0][0].register_prehook(loud)
""",
    "gradients that are read before they are taken away": """
x, w = [torch.ones(20000, requires_grad=True) for _ in range(2)]
x.grad, w.grad = torch.ones(20000), torch.ones(20000)
opt = torch.optim.SGD([x], lr=0.1)
for i in range(6):
    t = x.grad * x
    y = (t * w).mean()
    opt.zero_grad()
    y.backward()
    if i == 4:
        w.grad = torch.ones(40000)[::2]
    show("x", x.grad[:2])
""",
    "two leaves with one gradient": """
x, w = torch.tensor([0.3], requires_grad=True), torch.tensor([1e7], requires_grad=True)
for i in range(5):
    x.grad = w.grad = torch.tensor([-1e7])
    y = ((w + x) * x).sum()
    y.backward(retain_graph=True)
    show("x", x.grad)
""",
    "a result that is detached in place": """
for i in range(5):
    t = x * w
    y = (t * t + t).sum()
    t.detach_()
    tree(y.grad_fn, 0)
    show("t", t)
""",
    "a result of another shape": """
for i in range(5):
    t = x * w
    y = (t * t + t).sum()
    t.data = torch.ones(2)
    for j in range(3):
        try:
            q = t * 2 + t.sin()
            q.sum().backward()
        except RuntimeError as error:
            print(error)
""",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_programs(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = output(SETUP + text, "off", monkeypatch)
    for mode in ("second", "first"):
        assert output(SETUP + text, mode, monkeypatch) == ordinary


def test_a_hook_on_a_leaf_leaves_backward_to_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for i in range(8):\n    if i == 4:\n        h = x.register_hook(doubling)\n    y = ((x - c) ** 2).mean()\n    y.backward()\n"
    assert runs_of_plans(text, monkeypatch)[0] == 2


@pytest.mark.parametrize(
    ("change", "expression", "folded"),
    [
        ("", "loss_fn(plain(b), T)", True),
        ("", "plain(b)", True),
        ("", "inner(b) * 2", True),
        ("", "net.first(b) * 2", True),
        ("", "net(b) * 2", False),
        ("", "dropping(b)", False),  # random numbers
        ("", "loss_fn(loud_net(b), T)", False),  # a forward of the program
        ("plain[1] = nn.Dropout(0.0)", "plain(b)", False),
        ("h = plain[0].register_forward_hook(print)", "plain(b)", False),
        ("plain[1].inplace = True", "plain(b)", False),
        ("plain.eval()", "plain(b)", True),
        ("plain[0].weight.requires_grad_(False)", "plain(b)", True),
        ("plain[2].weight.requires_grad_(False)", "plain(b)", True),  # backward needs a view without node
        ("nn.utils.parametrizations.weight_norm(plain[0])", "plain(b)", False),
    ],
)
def test_which_calls_of_modules_have_a_plan(change: str, expression: str, folded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    node = run(MODULE_SETUP + change + "\n" + LOOP.format(expression), monkeypatch).get("y").node
    assert node.folded is folded


@pytest.mark.parametrize(
    ("change", "plans"),
    [
        ("pass", 1),
        ("plain.train(i % 2 == 0)", 1),
        ("plain[0].weight = nn.Parameter(plain[0].weight.detach() * 2)", 1),  # another tensor of the same kind
        ("plain = copy.deepcopy(plain)", 1),
        ("plain[1] = nn.Tanh() if i < 5 else nn.ReLU()", 2),
        ("plain[0].weight.requires_grad_(i < 5)", 2),
    ],
)
def test_one_plan_for_modules_of_one_kind(change: str, plans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = making.make
    monkeypatch.setattr(making, "make", lambda *args: made.append(make(*args)) or made[-1])
    run(MODULE_SETUP + f"for i in range(10):\n    {change}\n    y = loss_fn(plain(b), T)\n", monkeypatch)
    assert sum(plan is not None for plan in made) == plans


def test_what_is_called_and_is_no_module_leaves_plans_to_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "found = []\ndef same(t):\n    return t\nfor i in range(6):\n    found.append(((x + 2) * (x + 2) * 2).mean())\n"
    text += "    z = same(x)\n    t = z * w + s\n    y = (t * t).mean()\n"
    interpreter = run(text, monkeypatch)
    assert interpreter.get("found")[-1].node.folded
    assert interpreter.get("y").node.folded
    assert type(interpreter.get("t").node) is PartNode


def test_calls_in_plans_count_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "current", limits.default().changed(steps=1000))
    text = MODULE_SETUP + "for i in range(20):\n    y = loss_fn(inner(b), T) + loss_fn(inner(w), T)\n"
    steps = {mode: run(text, monkeypatch, mode)._steps for mode in ("off", "second", "first")}
    assert steps["second"] == steps["first"] == steps["off"] > 60


def test_nodes_of_one_plan_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = run("for i in range(4):\n    t = x * w\n    u = t + s\n    y = u.mean()\n", monkeypatch)
    assert [interpreter.get(name).node.stands_for for name in "tuy"] == [0, 0, 3]


def test_a_folded_node_counts_as_the_nodes_that_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    node = run(LOOP.format("((x + 2) * (x + 2) * 2).mean()"), monkeypatch).get("y").node
    assert node.stands_for == 5
    assert node.type_name == "MeanBackward0"
    assert node.folded
    nodes = members(node, 5)
    assert type(node) is OpNode
    assert nodes[0] is node
    assert [one.type_name for one in nodes] == ["MeanBackward0", *["MulBackward0"] * 2, *["AddBackward0"] * 2]


def test_values_of_changing_kinds_make_few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = making.make
    monkeypatch.setattr(making, "make", lambda *args: made.append(make(*args)) or made[-1])
    run("for i in range(1, 60):\n    a = torch.ones(i, requires_grad=True)\n    y = (a * a + a).sum()\n", monkeypatch)
    assert 0 < len(made) < 20


@pytest.mark.parametrize(
    ("form", "folded"),
    [
        ("(x * {0} + {1}).mean()", True),
        ("({0} - x) / {1}.5 + s * -{0}", True),
        ("(x ** 2 * {0}).sum() - {1}", True),
        ("x ** {0} * {1} + s", False),  # the exponent decides which rule holds
        ("x * ({0} + {1}) + s", False),  # a number that is computed
        ("x * {0}", False),  # one operation
        ("torch.sin(x * {0})[0] + {1}", False),  # a view of what no name has
    ],
)
def test_which_lines_that_differ_in_numbers_have_a_plan(form: str, folded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_shaped, "shapes", compile_shaped.Shapes())
    lines = [f"y = {form.format(i, i + 2)}\n" for i in range(1, 30)]
    node = run("".join(lines), monkeypatch).get("y").node
    assert node.folded is folded
    assert [type(shape) for shape in compile_shaped.shapes.known.values()].count(Shape) == (form not in ("x ** {0} * {1} + s", "x * {0}"))
    assert len(node.origin.text) <= len(lines[-1])  # its place is that of the last line, not of the line that the plan was made of
    assert node.origin.span.source.text.count("\n", 0, node.origin.start) == SETUP.count("\n") + len(lines) - 1


def test_lines_whose_first_cannot_have_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "try:\n    y = (x[{}] * {} - 1.5).sum()\n    kept.append(y)\nexcept IndexError as error:\n    print(error)\n"
    text = SETUP + "kept = []\n" + "".join(line.format(0.5 if i < 12 else 0, i) for i in range(60))
    assert output(text, "second", monkeypatch) == output(text, "off", monkeypatch)


def test_few_shapes_are_kept_and_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_shaped, "shapes", compile_shaped.Shapes())
    run("".join(f"a{i} = (x * 2 + 1).sum()\nb{i} = (x * a{i} + 1).sum()\n" for i in range(600)), monkeypatch)
    shapes = compile_shaped.shapes
    assert len(shapes.known) <= 512
    assert shapes.misses < 3  # one of the two has a plan
    run("".join(f"c{i} = x\ny = (x * c{i} + 1).sum()\n" for i in range(2000)), monkeypatch)
    assert len(shapes.known) <= 512
    assert shapes.misses > 2000


def test_one_evaluation_loads_no_plans() -> None:
    text = "import sys; from gradcli.__main__ import main; sys.argv[1:] = ['eval', 'mean((x+2)*(x+2)*2)', 'x=1,2,3']\n"
    text += "try: main()\nexcept SystemExit: pass\nprint([name for name in sys.modules if 'plan' in name and name.startswith('gradcli')])"
    environment = {name: value for name, value in os.environ.items() if name != "GRADCLI_PLANS"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"
