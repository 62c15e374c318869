"""What a script can reach: the tables as a reviewed text, and every object at the end of a chain of allowed names."""

from __future__ import annotations

import io
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor.dtypes import DType
from gradcli.core.vocabulary import library
from gradcli.errors import GradcliError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.names import attributes, bare_names, importable_modules
from gradcli.lang.syntax.parser import parse_file
from gradcli.lang.values import value_classes
from gradcli.source import Source
from tests.safety import tables


def test_the_tables_are_the_reviewed_ones() -> None:
    assert tables.text() == tables.TARGET.read_text(encoding="utf-8"), "review the change, then: python -m tests.safety.tables"


def test_underscore_names_are_few() -> None:
    """Scripts reach these names with a leading underscore; other such names are only called by the language itself."""
    reached = set()
    for line in tables.text().replace("\n    ", " ").splitlines()[2:]:
        _, _, rest = line.partition(": ")
        verb, *held = rest.split()
        reached |= {name for name in held if name.startswith("_") and not (verb == "call" and name.startswith("__"))}
    of_modules = {"_get_name", "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_non_persistent_buffers_set"}
    of_modules |= {"_backward_hooks", "_backward_pre_hooks", "_is_full_backward_hook"}
    of_modules |= {"_all_weights", "_flat_weights", "_flat_weights_names"}
    of_torch = {"_LRScheduler", "_calculate_fan_in_and_fan_out", "_adafactor", "_muon"}
    of_torch |= {"_BatchNorm", "_ConvNd", "_ConvTransposeNd", "_DropoutNd", "_InstanceNorm", "_Loss", "_NormBase", "_WeightedLoss"}
    of_values = {"__name__", "_version", "_base", "_is_view", "_raw_saved_*", "_saved_*", "_tensor_name", "_metadata"}
    of_errors = {"__cause__", "__context__", "__suppress_context__"}
    of_distributions = {"_batch_shape", "_event_shape", "_validate_args", "_extended_shape", "_validate_sample"}
    assert reached == of_values | of_modules | of_torch | of_errors | of_distributions


#: objects whose attributes and calls lead to more
SETUP = """
x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
y = (x * 2).relu()
z = torch.max(x, dim=0)
loss = (x @ x).sum()
loss.backward(retain_graph=True)
def f(a, b=1, *c, d=2, **e): return a
g = lambda a=print: a
opt = torch.optim.Adam([x])
loss.backward()
opt.step()
plan = torch.optim.lr_scheduler.StepLR(opt, 1)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
kept = [net(x), opt.state_dict(), opt.param_groups, net.state_dict(), list(net.parameters()), plan.state_dict()]
mode = torch.no_grad()
gen = torch.Generator()
handle = x.register_hook(lambda grad: grad)
it = iter([1])
lazy = (i for i in [1])
pairs = zip([1], [2])
info = torch.finfo(torch.float32)
try:
    torch.ones(2) + torch.ones(3)
except Exception as e:
    error = e
try:
    raise ValueError(print, x)
except Exception as e:
    other = e
array = x.detach().numpy()
dual = torch.func.grad(lambda a: (a * a).sum())
s = {1, 2}
d = {"a": 1}
view = d.items()
"""

FORBIDDEN = (
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
    types.MappingProxyType,
    type,
    io.IOBase,
    np.ndarray,
    np.generic,
    np.dtype,
    np.ufunc,
    BaseException,
)


def _inside(value: Any) -> list[tuple[str, Any]]:
    """The items of a plain container, each with the index that reaches it."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [(f"[{at}]", item) for at, item in enumerate(value)]
    return []


@pytest.mark.slow
def test_every_reachable_object_is_a_value() -> None:
    session = Interpreter(write=_nothing, warn=_nothing)
    session.run(parse_file(Source("<setup>", SETUP)))
    waiting: list[tuple[str, Any]] = list({**bare_names.PYTHON, **importable_modules.PREBOUND, **session.variables}.items())
    waiting += [(f"torch.{name}", library.find(name)) for name in library.PLACES]
    waiting += [(name, importable_modules.module(name)) for name in importable_modules.LIBRARIES]
    seen: dict[int, Any] = {}
    while waiting:
        path, value = waiting.pop()
        if id(value) in seen or path.count(".") > 4:
            continue
        seen[id(value)] = value
        assert value_classes.is_value(value), f"{path} is a {type(value).__module__}.{type(value).__name__}"
        if not isinstance(value, GradcliError):
            assert not isinstance(value, FORBIDDEN), path
        waiting += [(f"{path}{index}", item) for index, item in _inside(value)]
        if isinstance(value, (int, float, str, type(None), DType)) or type(value) is value_classes.BoundMethod:
            continue
        for name in attributes.names_of(value):
            try:
                found = attributes.find_attribute(value, name)
            except GradcliError:
                continue
            if found is not value_classes.MISSING:
                waiting.append((f"{path}.{name}", found))
    assert len(seen) > 1000


def _subclasses(kind: type) -> Iterator[type]:
    for one in type.__subclasses__(kind):
        yield one
        yield from _subclasses(one)


def test_no_value_has_the_text_of_an_object_of_python() -> None:
    """A message that core makes by an f-string shows values as programs see them, and never a class or an address of Python's."""
    for name in library.PLACES:
        library.find(name)
    for name in importable_modules.LIBRARIES:
        importable_modules.module(name)
    known = {kind for kind in _subclasses(object) if str(kind.__module__).startswith("gradcli.")}
    values = [one for one in known if hasattr(one, "SCRIPT_NAME") or hasattr(one, "SCRIPT_ATTRIBUTES") or one in value_classes._CLASSES]
    assert len(values) > 400
    assert [kind for kind in values if kind.__repr__ is object.__repr__] == []


def _nothing(*values: object) -> None:
    return None
