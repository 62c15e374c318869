"""Calls of every method of every kind of value, of bare names and of classes, with wrong counts, kinds, keywords and extreme numbers.

`python -m tests.fuzz.methods COUNT [SEED]`. A call ends well or with an error of the program's, never with a fault of ours, and no text
that it prints or raises shows an object of the host.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from functools import partial

from gradcli import limits
from gradcli.errors import GradcliError
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz.calls import PRELUDE
from tests.fuzz.running import fault_of, main
from tests.safety.tables import TARGET

MORE = """
import torch.nn.functional as F
import numpy as np
from torch.utils.data import DataLoader, TensorDataset, random_split, Subset, ConcatDataset
class C:
    a = 1
    def m(self, *a): return a
class M(nn.Module):
    def forward(self, x): return x
class D:
    def __len__(self): return 3
    def __getitem__(self, i): return i
def gen():
    return (k for k in [1, 2])
c, mod, data = C(), M(), D()
s = x * 2 + 1
handle = x.register_hook(f)
sched = torch.optim.lr_scheduler.StepLR(opt, 1)
adam = torch.optim.Adam(net.parameters())
loader = DataLoader(ds, 2)
seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
mdict, mlist = nn.ModuleDict({'a': net}), nn.ModuleList([net])
pdict, plist = nn.ParameterDict({'a': m}), nn.ParameterList([m])
try:
    1/0
except Exception as caught:
    error = caught
dd = {'a': 1, 2: [3]}
fin = torch.finfo(torch.float32)
"""


def _words(text: str) -> list[str]:
    return text.split()


#: values of every kind by their texts
RECEIVERS = _words(
    """
    5 True 1.5 'abc {} %s' [3,1,2] (1,2) {1,2} dd range(5) slice(1,2) None f c c.m C mod M data gen() iter([1]) enumerate([1])
    zip([1]) map(f,[1]) reversed([1]) dd.keys() dd.values() dd.items() x y i b e h m n x.detach().numpy() y.numpy() y.numpy().shape
    i.numpy()[0] x.shape x.dtype x.device x.layout s.grad_fn s.grad_fn.next_functions s.grad_fn.metadata torch.max(y,0) net net.weight
    seq mdict mlist pdict plist opt opt.param_groups opt.state adam adam.state_dict() sched handle g ds loader iter(loader)
    loader.sampler error fin torch.no_grad() torch.enable_grad() torch.set_grad_enabled(False) torch.autograd.set_detect_anomaly(True)
    torch nn F np math torch.nn.functional.relu torch.ones x.sum print len torch.Size([2]) torch.Generator net.state_dict()
    net.named_parameters() torch.linalg torch.autograd.graph torch.Tensor.sum nn.Linear torch.optim.SGD int str list dict type(x)
    ValueError Subset(ds,[0])
    """
)
BARE = _words(
    """
    int float str list tuple dict set bool len abs min max sum sorted range enumerate zip map filter isinstance type repr print pow
    round hash id iter next any all divmod bin hex oct ord chr slice getattr setattr hasattr callable issubclass super reversed format
    vars dir DataLoader TensorDataset random_split Subset ConcatDataset nn.Linear nn.Conv2d nn.Sequential nn.ModuleDict nn.ModuleList
    nn.Module M nn.Parameter nn.ParameterDict nn.ParameterList nn.Dropout nn.Embedding nn.LSTM nn.LayerNorm torch.optim.SGD
    torch.optim.Adam C D f c mod torch.optim.lr_scheduler.StepLR torch.optim.lr_scheduler.LambdaLR torch.set_grad_enabled
    torch.no_grad() torch.enable_grad() torch.Size torch.func.vmap torch.func.grad torch.func.jacrev torch.autograd.grad
    torch.autograd.backward torch.utils.data.RandomSampler torch.utils.data.BatchSampler torch.utils.data.default_collate np.array
    np.zeros np.arange ValueError KeyError math.gcd math.comb torch.autograd.functional.jacobian
    torch.autograd.graph.saved_tensors_hooks torch.autograd.gradcheck nn.init.normal_ torch.manual_seed
    """
)
VALUES = _words(
    """
    x y i b e n m z net opt f c C M mod data g ds loader error gen() iter([1]) dd.keys() print len torch.ones x.sum nn F torch 0 1 -1
    2 3 0.5 -1.5 2**31 2**40 2**62 2**63 10**20 10**400 -10**30 1e308 math.nan math.inf True False None ... 'mean' '' 'a' 'ij,jk'
    'abc'*50 (0,1) () (2,) [1,2] [x,x] (x,) [] [[]] {} {'a':1} {1:2} {1,2} torch.float32 torch.int64 'cpu' slice(1) range(3)
    lambda*a:a[0] lambda:0 s.grad_fn handle sched torch.Size([3]) (2**40,2**40,0) int ValueError NotImplemented [{'params':[m],1:2}]
    [{'params':f}] x.shape x.dtype torch.no_grad() x.detach().numpy()
    """
)
NAMES = _words(
    """
    dim keepdim dtype out self key default reverse sep end size axis input collate_fn sampler batch_sampler batch_size shuffle
    generator lr params momentum p hook prepend always_call state_dict strict step value args kwargs retain_graph create_graph inputs
    gradient maxsplit signed byteorder copy order names bias device requires_grad prefix recurse memo fn mode a b n name start
    """
)
AFTERWARDS = (
    "print(r)",
    "print(repr(r), str(r), f'{r}')",
    "r(x)",
    "list(r)",
    "r[0]",
    "r == r, r != 1",
    "raise ValueError(r)",
    "[*r], {r}",
    "r + r",
    "len(r)",
)
#: what only the host's own texts have
HOST = re.compile(
    r"0x(?:7[ef]|5[56])[0-9a-f]{10}\b|gradcli\.|BoundMethod|UserFunction|IteratorValue|KeysView|Namespace|<frozen|mappingproxy"
)
_TOGETHER = 200


class Methods:
    """Calls by chance, and what was wrong with them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.printed: list[str] = []
        self.session = self._session()
        names = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", TARGET.read_text())))
        self.methods: list[tuple[str, str]] = []
        for receiver in RECEIVERS:
            self.printed.clear()
            try:
                self.session.run(Source("<names>", f"v = {receiver}\nfor one in {names!r}:\n    if hasattr(v, one): print(one)"))
            except GradcliError:
                continue
            self.methods += [(receiver, name) for name in "".join(self.printed).split()]

    def _session(self) -> Session:
        bounds = limits.strict().changed(time=20.0, bytes=128 * 2**20, elements=10**6)
        session = Session(bounds=bounds, write=self.printed.append, warn=lambda *_: None, read_stdin=bytes)
        session.run(Source("<prelude>", PRELUDE + MORE))
        return session

    def drawn(self) -> str:
        """A call, and a statement that uses its result."""
        chance = self.chance
        if chance.random() < 0.25:
            called = chance.choice(BARE)
        else:
            receiver = chance.choice(RECEIVERS)  # each kind as often, however many methods it has
            own = [name for one, name in self.methods if one == receiver]
            called = f"({receiver}).{chance.choice(own)}" if own else receiver
        args = [chance.choice(VALUES) for _ in range(chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 4)))]
        for name in chance.sample(NAMES, chance.choice((0, 0, 0, 1, 1, 2))):
            args.append(f"{name}={chance.choice(VALUES)}")
        return f"r = {called}({', '.join(args)})\n{chance.choice(AFTERWARDS)}\n"

    def faults(self, count: int) -> Iterator[str]:
        """The calls, of `count`, that ended with a fault of ours or showed a host object, each with the text."""
        for number in range(count):
            if number % _TOGETHER == 0:
                self.session = self._session()
            text = self.drawn()
            self.printed.clear()
            wrong, said = fault_of(partial(self.session.run, Source("<call>", text)))
            if wrong:
                yield f"{wrong}\n{text}"
                self.session = self._session()
                continue
            shown = "".join(self.printed) + said
            if found := HOST.search(shown):
                yield f"host text: {shown[max(0, found.start() - 60) : found.end() + 60]!r}\n{text}"


def faults(count: int, seed: int) -> Iterator[str]:
    """The calls, of `count`, that ended wrong."""
    yield from Methods(seed).faults(count)


if __name__ == "__main__":
    sys.exit(main(faults))
