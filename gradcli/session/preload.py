"""Imports and first uses ahead of time: modules, and what numpy imports, opens and allocates when it is first used."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.kernels import blocks
from gradcli.core.vocabulary import library
from gradcli.limits import Limits
from gradcli.session.session import Session
from gradcli.source import Source

_PACKAGES = ("gradcli.core", "gradcli.lang", "gradcli.analysis", "gradcli.session")

#: uses everything that is loaded on first use
_PROGRAM = """\
x = torch.tensor([[1., 2.], [3., 4.5]], requires_grad=True)
y = (x @ x).sum() + torch.linalg.inv(x).sum() + torch.randn(2).sum() + torch.linalg.svd(x)[1].sum()
y.backward()
text = f'{x} {x.grad:} {y.item():.3f} {"%5.2f" % 1.5} {{}}'.format(1)
w = torch.optim.SGD([x], lr=0.1)
w.step()
kept = [torch.sort(torch.rand(3)), torch.randperm(4), torch.einsum('ij->ji', x), str(x.double()), repr(w)]
a = np.random.rand(4, 4) + np.random.default_rng(0).random()
kept += [np.linalg.inv(a), np.linalg.svd(a), np.linalg.eigh(a), np.polyfit([0., 1., 2.], [1., 2., 4.], 1), np.roots([1., 2.]), np.unique(a)]
kept += [np.histogram(a, bins='auto'), np.percentile(a, 50), np.median(a), np.einsum('ij->ji', a), np.sort(a), np.pad(a, 1), np.cov(a)]
kept += [repr(a), str(a.astype(np.float32)), np.array([1.]) / 0, np.finfo(np.float16).eps, np.interp(1, [0, 2], [0, 2])]
kept += [torch.from_numpy(a).numpy().mean(axis=0), np.random.multivariate_normal([0.], [[1.]]), np.convolve([1., 2.], [1.]), np.kron(a, a)]
import datetime, io
b = io.BytesIO()
torch.save(x, b)
b.seek(0)
torch.load(b)
kept.append(datetime.datetime.strptime('2020', '%Y'))
try:
    torch.sinn(x)
except AttributeError as e:
    kept.append(str(e))
"""


def _nothing(*values: object) -> None:
    return None


def preload() -> None:
    """Load every module, operation and class, and run a program. Its bounds are taken back."""
    for package in _PACKAGES:
        for found in walk_packages(import_module(package).__path__, f"{package}."):
            import_module(found.name)

    catalog.all_functions()
    for name in library.PLACES:
        library.find(name)
    session = Session(bounds=Limits(), write=_nothing, warn=_nothing, read_stdin=bytes)
    session.run(Source("<preload>", _PROGRAM))
    blocks.defer(np.ones(blocks.threshold))
    np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)
    np.ones((64, 64)) @ np.ones((64, 64))
