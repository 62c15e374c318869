"""Nothing of the host can be reached from a script by dots, getattr, formats, errors or functions."""

import types

import pytest

from gradcli.errors import GradcliError, InternalFault
from gradcli.lang.names import attributes, bare_names, importable_modules
from gradcli.lang.values import value_classes
from tests.lang.running import Session

SETUP = """
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
def f(a, b=1): return a + b
g = lambda: 0
err = ValueError("x")
gen = (i for i in [1])
it = iter([1])
xs = [1]
d = {"a": 1}
bound = xs.append
method = y.sum
space = torch.nn
"""

ROOTS = [
    "x",
    "y",
    "f",
    "g",
    "err",
    "gen",
    "it",
    "xs",
    "d",
    "bound",
    "method",
    "space",
    "y.grad_fn",
    "y.grad_fn.next_functions",
    "y.shape",
    "x.dtype",
    "x.device",
    "x.layout",
    "torch",
    "math",
    "np",
    "print",
    "len",
    "int",
    "type(x)",
    "type(err)",
    "ValueError",
    "d.keys()",
    "enumerate(xs)",
    "range(3)",
    "slice(1)",
    "None",
    "True",
    "1",
    "1.5",
    "'a'",
    "(1,)",
    "{1}",
    "...",
]

#: what `hasattr` tells as Python does, though no program can read it
TOLD = {"__call__", "__contains__", "__getitem__", "__iter__", "__len__"}
DUNDERS = [
    "__class__",
    "__dict__",
    "__globals__",
    "__code__",
    "__closure__",
    "__defaults__",
    "__self__",
    "__func__",
    "__module__",
    "__bases__",
    "__mro__",
    "__subclasses__",
    "__init__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__getattribute__",
    "__call__",
    "__get__",
    "__doc__",
    "__builtins__",
    "__traceback__",
    "__context__",
    "__cause__",
    "__slots__",
    "__wrapped__",
    "__iter__",
    "__next__",
    "__len__",
    "__getitem__",
    "__enter__",
    "__exit__",
    "__array__",
    "_fields",
    "_asdict",
]


ITERATORS = ("gen", "it", "enumerate(xs)")
CONTAINERS = ("xs", "d", "y.grad_fn.next_functions", "y.shape", "range(3)", "'a'", "(1,)", "{1}")


@pytest.fixture(scope="module", name="session")
def _session():
    made = Session()
    made.run(SETUP)
    return made


@pytest.mark.parametrize("root", ROOTS)
def test_dunders_are_out_of_reach(session, root):
    for name in DUNDERS:
        if root in ("f", "g") and name == "__doc__":
            continue
        if root in ("x", "y", "type(x)") and name in ("__getitem__", "__len__", "__iter__"):
            continue  # as the operators of tensors, which PyTorch's users call by their names
        if root in CONTAINERS and name in ("__getitem__", "__len__", "__iter__"):
            continue  # what a subscript, len() and iter() do, bound to the container
        if root in ITERATORS and name in ("__iter__", "__next__"):
            continue  # what iter() and next() do
        if root == "err" and name in ("__cause__", "__context__"):
            assert session.evaluate(f"{root}.{name}") is None
            continue
        for program in (f"({root}).{name}", f"getattr({root}, {name!r})", f"'{{0.{name}}}'.format({root})"):
            with pytest.raises(GradcliError) as caught:
                session.evaluate(program)
            assert not isinstance(caught.value, InternalFault), program
        assert name in TOLD or session.evaluate(f"hasattr({root}, {name!r})") is False
        with pytest.raises(GradcliError) as caught:
            session.run(f"setattr({root}, {name!r}, 1)\n")
        assert not isinstance(caught.value, InternalFault)


FORBIDDEN = (types.ModuleType, types.CodeType, types.FrameType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


def test_everything_reachable_is_a_value(session):
    """Follow every name of every value, three steps deep, from all that is bound or built in."""
    waiting = [(name, value, 0) for name, value in {**bare_names.PYTHON, **importable_modules.PREBOUND}.items()]
    waiting += [(name, session.interpreter.get(name), 0) for name in session.interpreter.names()]
    seen: set[int] = set()
    kept: list[object] = []
    count = 0
    while waiting:
        path, value, depth = waiting.pop()
        assert value_classes.is_value(value), f"{path} is a {type(value).__name__}"
        assert not isinstance(value, FORBIDDEN), path
        if id(value) in seen or depth == 3:
            continue
        seen.add(id(value))
        kept.append(value)
        count += 1
        for name in attributes.names_of(value):
            try:
                found = attributes.find_attribute(value, name)
            except GradcliError:
                continue
            if found is not value_classes.MISSING:
                waiting.append((f"{path}.{name}", found, depth + 1))
    assert count > 200


def test_no_table_holds_an_underscore_but_the_allowed():
    for kind, table in attributes.GETTERS.items():
        hidden = {name for name in table if name.startswith("_")}
        of_errors = {"__cause__", "__context__", "__suppress_context__"}
        assert hidden <= {"__name__", "_version", "_base", "_is_view", "_backward_hooks"} | of_errors, kind


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "sorted(['1'], key=eval)",
        "type('X', (), {})",
        "print('x', file=2)",
        "open('/etc/hostname')",
        "torch.load('x')",
        "torch._C",
        "f.__code__ = print",
        "x.__class__ = 5",
        "err.args = (1,)",
        "print.name",
        "f.code",
        "gen.host",
        "d.keys().mapping",
        "bound.function",
        "method.owner",
        "torch.members",
        "int.make",
        "ValueError.name",
        "x.array",
        "x.node",
        "y.grad_fn.edges",
        "y.grad_fn.op",
        "y.grad_fn.origin",
        "err.span",
        "err.message",
        "err.with_traceback(None)",
        "err.add_note('x')",
        "x.dtype.np",
        "(1).to_bytes(1)",
        "'a'.encode()",
        "xs.__iadd__([1])",
    ],
)
def test_refused(session, program):
    with pytest.raises(GradcliError) as caught:
        session.run(program + "\n")
    assert not isinstance(caught.value, InternalFault)


def test_errors_are_opaque():
    session = Session()
    session.run("try:\n    1 / 0\nexcept Exception as e:\n    kept = e\n")
    assert attributes.names_of(session.interpreter.get("kept")) == ["args"]


def test_few_names_of_methods_are_kept() -> None:
    """They come from scripts."""
    for number in range(3000):
        attributes.finder(f"name{number}")
    assert attributes.finder.cache_info().currsize < 3000
