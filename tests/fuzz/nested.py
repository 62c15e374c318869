"""Values nested deep or shared often, by every kind of container, and what is done with them; `python -m tests.fuzz.nested COUNT [SEED]`.

Whatever holds what, a program ends within its bounds, well or with an error of the program's: the process lives, nothing is a fault
of ours, no object of the host shows, and the limit on time is kept.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator

from gradcli import limits
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz.methods import HOST
from tests.fuzz.running import counted, fault_of, in_children, main
from tests.fuzz.uses import USES

PRELUDE = """
import torch, copy, functools, itertools, collections, dataclasses, operator, pprint, contextlib
import torch.nn as nn
import torch.nn.functional as F
import numpy as np
x = torch.ones(2, requires_grad=True)
y = (x * 2).sum()
def f(*a, **k): return a
class C:
    def __init__(self, v=None): self.v = v
    def m(self): return self.v
class E:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return isinstance(o, E) and self.v == o.v
    def __hash__(self): return hash(self.v)
class R:
    def __init__(self, v): self.v = v
    def __repr__(self): return 'R(' + repr(self.v) + ')'
class M(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.v = v
@dataclasses.dataclass
class D:
    v: object
@dataclasses.dataclass(frozen=True, order=True)
class DF:
    v: object
P = collections.namedtuple('P', 'v w')
class DS:
    def __init__(self, v): self.v = v
    def __len__(self): return 2
    def __getitem__(self, i): return self.v
opt = torch.optim.SGD([x], lr=0.1, momentum=0.9)
net = nn.Linear(2, 2)
"""

#: statements that put the value `v` into a new one
AROUND = (
    "v = (v,)",
    "v = [v]",
    "v = {1: v}",
    "v = {v: 1}",
    "v = {(v,)}",
    "v = slice(v)",
    "v = slice(None, v)",
    "v = slice(0, 1, v)",
    "v = {'k': v}.keys()",
    "v = {'k': v}.values()",
    "v = {'k': v}.items()",
    "v = C(v)",
    "v = E(v)",
    "v = R(v)",
    "v = D(v)",
    "v = DF(v)",
    "v = P(v, 1)",
    "v = C(v).m",
    "v = functools.partial(f, v)",
    "v = functools.partial(v) if callable(v) else functools.partial(f, v)",
    "v = functools.partial(f, k=v)",
    "v = (lambda v: lambda: v)(v)",
    "v = lambda v=v: v",
    "v = lambda *, v=v: v",
    "v = (i for i in [v])",
    "v = iter([v])",
    "v = map(f, [v])",
    "v = zip([v])",
    "v = enumerate([v])",
    "v = itertools.chain([v])",
    "v = itertools.repeat(v)",
    "v = itertools.cycle([v])",
    "v = ValueError(v)",
    "v = KeyError(v, v)",
    "try:\n        raise ValueError('o') from (v if isinstance(v, Exception) else None)\n    except ValueError as o:\n        v = o",
    "v = collections.OrderedDict(k=v)",
    "v = collections.OrderedDict([((v,), 1)])",
    "v = collections.defaultdict(list, k=v)",
    "v = collections.Counter({'a': v})",
    "v = collections.deque([v])",
    "v = [v].append",
    "v = [v].copy",
    "v = {1: v}.get",
    "v = M(v)",
    "v = nn.Sequential(v if isinstance(v, nn.Module) else net)",
    "v = nn.ModuleList([v if isinstance(v, nn.Module) else net])",
    "v = nn.ModuleDict({'a': v if isinstance(v, nn.Module) else net})",
    "v = nn.Sequential(*[v if isinstance(v, nn.Module) else net] * 2)",
    "v = nn.ParameterDict({'a': v})",
    "v = (v, v)",
    "v = [v, v]",
    "v = {1: v, 2: v}",
    "v = (v, [v], {1: v})",
    "v = (1, v, v)",
    "v = slice(v, v)",
    "v = C((v, v))",
    "v = E((v, v))",
    "v = R((v, v))",
    "v = D([v, v])",
    "v = P(v, v)",
    "v = functools.partial(f, v, v)",
    "v = collections.OrderedDict(a=v, b=v)",
    "v = collections.deque([v, v])",
    "v = property(v)",
    "v = staticmethod(v)",
    "v = functools.lru_cache(lambda v=v: v)",
    "v = functools.cache(v) if callable(v) and hasattr(v, '__name__') else functools.cache(lambda v=v: v)",
    "v = functools.wraps(f)(v if callable(v) else lambda v=v: v)",
    "v = torch.no_grad()(v if callable(v) else f)",
    "v = torch.func.grad(v if callable(v) else f)",
    "v = torch.func.vmap(v if callable(v) else f)",
    "v = torch.utils.data.Subset(v if hasattr(v, '__getitem__') else DS(v), [0])",
    "v = torch.utils.data.ConcatDataset([v, v] if hasattr(v, '__getitem__') else [DS(v)])",
    "v = torch.utils.data.DataLoader(v if hasattr(v, '__getitem__') else DS(v))",
    "v = DS(v)",
    "l = [v]; l.append(l); v = l",
    "d = {1: v}; d[2] = d; v = d",
    "o = C(v); o.o = o; v = o",
    "t = x * 1; t.grad_fn.metadata['v'] = v; v = t",
    "t = x * 1; t.register_hook(lambda g, v=v: g); v = t",
    "t = torch.zeros(2); t.v = v; v = t",
    "v = x.clone() + (v if type(v) is torch.Tensor else 1)",
    "t = torch.ones(2); t.grad = v if type(v) is torch.Tensor else None; v = t",
    "v = v.view(-1) if type(v) is torch.Tensor else x.view(-1)",
    "class v(v if isinstance(v, type) else object): pass",
    "class v(C): a = v",
    "v = tuple[v] if isinstance(v, type) else tuple[int]",
    "v = int | v if isinstance(v, type) else int | None",
    "v = contextlib.nullcontext(v)",
    "v = operator.itemgetter(v)",
    "v = reversed([v])",
    "v = (np.ones(2), v)",
    "v = torch.optim.lr_scheduler.LambdaLR(opt, lambda e, v=v: 1.)",
    "v = torch.optim.lr_scheduler.ChainedScheduler([v if 'LR' in str(type(v)) else torch.optim.lr_scheduler.StepLR(opt, 1)])",
    "v = torch.distributions.Independent(v if isinstance(v, torch.distributions.Distribution) else torch.distributions.Normal(x, x), 0)",
    "v = torch.optim.SGD([{'params': [x], 'v': v}], lr=0.1)",
    "def v(v=v): return v",
    "def g(a):\n        def h(): return a\n        return h\n    v = g(v)",
)

#: what is done with the value
DONE = (
    "v == w",
    "v != w",
    "v < w",
    "hash(v)",
    "repr(v)",
    "str(v)",
    "print(v)",
    "f'{v}'",
    "f'{v!r:>10}'",
    "'{}'.format(v)",
    "'%s' % (v,)",
    "'{0[0]}'.format([v])",
    "format(v)",
    "ascii(v)",
    "v in [w]",
    "w in v",
    "v in {1: 2}",
    "[v].index(w)",
    "(w,).count(v)",
    "[v].remove(w)",
    "{v: 1}",
    "{v}",
    "{1} | {v}",
    "set([v, w])",
    "d = {}; d[v] = 1; d[w]",
    "d = {}; d.setdefault(v, 1); d.get(w); d.pop(w)",
    "dict([(v, 1)]), dict.fromkeys([v])",
    "{1: v}.keys() & [v]",
    "{1: v}.keys() | v",
    "{1: v}.keys() ^ [v, w]",
    "{1: v}.keys() - [w]",
    "{1: v}.items() & {1: w}.items()",
    "{1: v}.items() == {1: w}.items()",
    "(1, v) in {1: w}.items()",
    "v in {1: w}.values()",
    "list({1: v}.items()) == list({1: w}.items())",
    "{1: 2}.keys().isdisjoint([v])",
    "sorted([v, w])",
    "sorted([v, w], key=repr)",
    "min(v, w), max([v, w])",
    "sum([v], w)",
    "sum(v)",
    "bool(v), not v",
    "len(v)",
    "list(v)",
    "tuple(v)",
    "dict(v)",
    "v + w",
    "v * 2",
    "[*v, *w]",
    "{**v}",
    "a, *b = v",
    "copy.copy(v) == w",
    "copy.deepcopy(v)",
    "copy.deepcopy([v, v, w])",
    "pprint.pprint(v)",
    "pprint.pformat(v, width=10)",
    "dataclasses.asdict(v)",
    "dataclasses.asdict(D(v))",
    "dataclasses.astuple(D(v)), dataclasses.replace(D(v), v=w)",
    "D(v) == D(w)",
    "DF(v) < DF(w)",
    "hash(DF(v))",
    "isinstance(1, v)",
    "isinstance(1, (v,))",
    "issubclass(int, v)",
    "callable(v)",
    "v()",
    "v(1)",
    "v.v",
    "type(v).__name__",
    "dir(v)",
    "vars(v)",
    "id(v), v is w",
    "getattr(v, 'v', None)",
    "raise v",
    "raise ValueError(v)",
    "raise KeyError(v)",
    "assert not v, v",
    "str(ValueError(v)), repr(KeyError(v))",
    "{}[v]",
    "[][v]",
    "[1, 2][v]",
    "x[v]",
    "x[v,]",
    "x[v] = 1",
    "torch.tensor(v)",
    "torch.tensor([v, w])",
    "torch.as_tensor(v)",
    "torch.ones(v)",
    "torch.Size(v)",
    "torch.stack(v)",
    "torch.cat([v, w])",
    "torch.sum(x, v)",
    "x.sum(v)",
    "x.reshape(v)",
    "x.permute(v)",
    "x + v",
    "v + x",
    "x == v",
    "x @ v",
    "F.relu(v)",
    "F.pad(x, v)",
    "torch.equal(x, v)",
    "torch.autograd.grad(y, v, retain_graph=True)",
    "torch.autograd.backward(v)",
    "x.register_hook(v)",
    "x.grad = v",
    "x.data = v",
    "torch.func.grad(f)(v)",
    "torch.func.vmap(f)(v)",
    "torch.func.vmap(f, in_dims=v)(x)",
    "torch.func.jacrev(f, argnums=v)(x)",
    "torch.func.functional_call(net, v, x)",
    "torch.func.jvp(f, (v,), (w,))",
    "torch.autograd.functional.jacobian(f, v)",
    "torch.autograd.gradcheck(f, v)",
    "torch.einsum(v, x)",
    "torch.einsum('i', [v])",
    "torch.set_default_dtype(v)",
    "torch.set_printoptions(v)",
    "torch.save(v, 'f')",
    "np.array(v)",
    "np.array([v, w])",
    "np.ones(2) + v",
    "np.ones(2) == v",
    "np.ones(2)[v]",
    "np.sum(v)",
    "y.grad_fn.metadata[v] = 1; y.grad_fn.metadata[w]",
    "y.grad_fn.metadata['v'] = v; print(y.grad_fn.metadata)",
    "v in y.grad_fn.metadata",
    "opt.state[v] = 1; print(opt.state)",
    "opt.state[x] = v; print(opt.state)",
    "opt.param_groups[0]['v'] = v; print(opt)",
    "opt.param_groups[0]['v'] = v; opt.step()",
    "opt.param_groups[0]['lr'] = v; opt.step()",
    "opt.param_groups[0][v] = 1; print(opt.state_dict())",
    "opt.add_param_group({'params': v})",
    "opt.add_param_group({'params': [torch.ones(1)], 'v': v}); print(opt)",
    "opt.load_state_dict(v)",
    "opt.load_state_dict({'state': v, 'param_groups': w})",
    "opt.load_state_dict({'state': {0: v}, 'param_groups': opt.state_dict()['param_groups']}); print(opt.state)",
    "opt.load_state_dict({'state': {v: 1}, 'param_groups': opt.state_dict()['param_groups']})",
    "s = opt.state_dict(); s['param_groups'][0]['lr'] = v; opt.load_state_dict(s)",
    "torch.optim.SGD(v, lr=0.1)",
    "torch.optim.SGD([x], lr=v)",
    "torch.optim.SGD([{'params': v}], lr=0.1)",
    "torch.optim.SGD([{'params': [x], v: 1}], lr=0.1)",
    "torch.optim.Adam([x], betas=v)",
    "net.load_state_dict(v)",
    "net.load_state_dict({v: 1})",
    "net.load_state_dict({'weight': v, 'bias': w})",
    "net.v = v; print(net)",
    "net.register_buffer('v', v)",
    "net.register_parameter('v', v)",
    "net.register_forward_hook(v)",
    "net.add_module('v', v)",
    "net.apply(v)",
    "net.to(v)",
    "nn.ModuleDict({v: net})",
    "nn.ModuleDict(v)",
    "nn.ModuleList(v)",
    "nn.Sequential(v)",
    "nn.Sequential(net, v); print(nn.Sequential(net))",
    "nn.ParameterDict({v: x})",
    "nn.ParameterList(v)",
    "nn.Linear(v, 2)",
    "nn.Conv2d(1, 1, v)",
    "nn.Module.forward(v)",
    "v.state_dict()",
    "list(v.parameters())",
    "list(v.named_modules())",
    "list(v.named_parameters())",
    "v.train(), v.eval()",
    "v.apply(f)",
    "v.to(torch.float64)",
    "v.zero_grad()",
    "v(x)",
    "v.load_state_dict(w.state_dict())",
    "v.__repr__()",
    "v.step()",
    "v.backward()",
    "v.sum().backward()",
    "v.grad_fn.next_functions",
    "print(v.grad_fn)",
    "torch.utils.data.DataLoader(v)",
    "next(iter(torch.utils.data.DataLoader([v, w])))",
    "next(iter(torch.utils.data.DataLoader([{'a': v}, {'a': w}], batch_size=2)))",
    "torch.utils.data.default_collate([v, w])",
    "torch.utils.data.default_collate(v)",
    "torch.utils.data.random_split(v, w)",
    "torch.utils.data.Subset([1], v)[0]",
    "v[0]",
    "v[0][0]",
    "v[-1] = v; print(v)",
    "v.append(v); repr(v)",
    "v.extend(w)",
    "v.update(w)",
    "v['v'] = v; print(v)",
    "collections.Counter(v)",
    "collections.Counter([v])",
    "collections.deque(v) == collections.deque(w)",
    "v in collections.deque([w])",
    "collections.OrderedDict(v)",
    "collections.ChainMap(v)",
    "collections.defaultdict(list)[v].append(1)",
    "functools.lru_cache(f)(v)",
    "functools.reduce(v, [1, 2])",
    "functools.reduce(operator.add, [v, w])",
    "operator.eq(v, w), operator.contains([v], w)",
    "itertools.chain(v)",
    "list(itertools.product(v, repeat=20))",
    "list(itertools.groupby([v, w]))",
    "list(itertools.accumulate([v, w]))",
    "next(v)",
    "max(v, key=len)",
    "print(*[v, w], sep=v)",
    "print(v, end=w)",
    "int(v)",
    "float(v)",
    "range(v)",
    "slice(v) == slice(w)",
    "[1][slice(v)]",
    "enumerate(v, w)",
    "zip(v, w)",
    "map(v, [1])",
    "filter(v, [1])",
    "any([v]), all([v])",
    "v if v else w",
    "match = v",
    "del v",
    "del v, w",
    "v = None; w = None",
    "v = w = None; u = [1]",
    "u = [v, w]; u.clear()",
    "def g():\n    z = v\n    raise ValueError('z')\ng()",
    "try:\n    raise ValueError(v)\nexcept ValueError as e:\n    print(e, e.args)",
    "with v: pass",
    "for a in v: print(a)",
    "lambda: v",
    "g = (i for i in v); next(g)",
    "torch.nn.init.normal_(v)",
    "torch.manual_seed(v)",
    "torch.nn.utils.clip_grad_norm_(v, 1.)",
    "torch.nn.utils.parameters_to_vector(v)",
    "math.sin(v)",
    "v.__eq__(w)",
    "v.__hash__()",
    "exit(v)",
    "warnings.warn(v)",
    "'a'.join(v)",
    "'a'.replace('a', v)",
    "'a' in v",
    "v @ w",
    "-v",
    "abs(v)",
    "divmod(v, w)",
    "pow(v, w)",
    "round(v, w)",
    "v | w",
    "v & w",
    "setattr(v, 'w', w)",
    "v.w = w",
    "v.v == w.v",
    "hasattr(v, v)",
    "match(v)",
    "type(v) == type(w)",
    "torch.Tensor(v)",
    "torch.zeros(2, dtype=v)",
    "torch.zeros(2, device=v)",
    "x.to(v)",
    "x.where(v, w)",
    "x.tolist() == v",
    "torch.broadcast_shapes(v, w)",
    "torch.meshgrid(v)",
    "torch.block_diag(v)",
    "torch.split(x, v)",
    "torch.where(v)",
    "torch.is_tensor(v)",
    "torch.linalg.multi_dot(v)",
    "torch.nn.utils.rnn.pad_sequence(v)",
    *USES,
)
#: how deep: about the bounds on nesting, on calls, and of the host; the deep ones are rare because they take long
_DEPTHS = (3, 10, 30, 60, 60, 100, 150, 199, 201, 249, 300, 450, 1050)
_DEEP = (2000, 5000, 5000, 20_000, 20_000, 50_000, 100_000)
_DEEP_SHARE = 0.015
_START = ("0", "()", "[]", "'a'", "x", "{}", "net", "None", "1.5", "(1, 2)", "f", "slice(1)", "ValueError('a')")
TIME = 2.0
#: seconds of the processor beyond the limit on time that a program may take; the machine may be busy
SLACK = 1.0
#: how many steps a program may take, and beyond how many turns of a loop it may take more
_STEPS, _LONG, _MORE_STEPS = 1.5e4, 1100, 4e5
_TURNS = re.compile(r"for i in range\(([0-9]+)\)")


def program(chance: random.Random, deep: bool = True) -> str:
    """Two values made alike by loops, or one, and what is done with them."""
    is_deep = deep and chance.random() < _DEEP_SHARE
    around = chance.sample(AROUND, 1 if is_deep else chance.choice((1, 1, 1, 1, 2, 3)))
    depth = chance.choice(_DEEP if is_deep else _DEPTHS)
    start = chance.choice(_START)
    lines = [f"v = {start}", f"for i in range({depth}):", *(f"    {one}" for one in around)]
    again = [f"w, v = v, {start}", *lines[1:], "v, w = w, v"] if chance.random() < 0.5 else ["w = v"]
    return "\n".join([*lines, *again, *chance.sample(DONE, chance.choice((1, 1, 2)))]) + "\n"


def systematic(depth: int) -> Iterator[str]:
    """Every way to hold a value, nested so deep, and freed, compared, hashed or printed."""
    for around in AROUND:
        made = f"for i in range({depth}):\n    {around}\n"
        for last in ("v = None", "v == w", "hash(v)", "repr(v)"):
            yield f"v = 0\n{made}w, v = v, 0\n{made if '==' in last else 'v = w'}\n{last}\n"


def check(text: str) -> str:
    """What is wrong with how a program ends; empty where nothing is."""
    printed: list[str] = []
    turns = max(map(int, _TURNS.findall(text)), default=_MORE_STEPS)
    bounds = limits.strict().changed(time=TIME, steps=_STEPS if turns <= _LONG else _MORE_STEPS)
    session = Session(bounds=bounds, write=printed.append, warn=lambda *_: None, read_stdin=bytes)
    session.run(Source("<prelude>", PRELUDE), reuse=True)
    began = time.process_time()
    said, message = fault_of(lambda: session.run(Source("<nested>", text)))
    took = time.process_time() - began
    if not said and (found := HOST.search(shown := "".join(printed) + message)):
        said = f"host text: {shown[max(0, found.start() - 60) : found.end() + 60]!r}"
    if not said and took > TIME + SLACK:
        said = f"took {took:.1f} s"
    return said


def faults(count: int, seed: int) -> Iterator[str]:
    """The programs, of `count`, that ended wrong, each with what is wrong."""
    chance = random.Random(seed)
    limits.memory.begin()
    yield from in_children((program(chance) for _ in counted(count)), check, 8 * TIME)


if __name__ == "__main__":
    sys.exit(main(faults))
