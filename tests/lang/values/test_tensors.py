"""Tensors in the language: truth, iteration, conversions, text, attributes, operators. Expected texts are PyTorch 2.13's."""

import pytest

from gradcli.errors import InternalFault
from tests.lang.running import Session, failure, output

SETUP = """import torch
x = torch.tensor([1.5], requires_grad=True)
v = torch.tensor([1., 2.])
s = torch.tensor(1.5)
i = torch.tensor(3)
"""


@pytest.fixture(scope="module", name="session")
def _session():
    made = Session()
    made.run(SETUP)
    return made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[1, 2, 3][torch.tensor(True)]", "2"),
        ("[10, 20, 30, 40][i]", "40"),
        ("[1, 2, 3, 4][torch.tensor(1):]", "[2, 3, 4]"),
        ("range(i)", "range(0, 3)"),
        ("[0] * i", "[0, 0, 0]"),
        ("'ab' * torch.tensor(2)", "'abab'"),
        ("i * (1, 2)", "(1, 2, 1, 2, 1, 2)"),
        ("int(torch.tensor(2.7)), float(i), bool(s), int(torch.tensor([2]))", "(2, 3.0, True, 2)"),
        ("f'{s:.3f} {i:d} {s} {v}'", "'1.500 3 1.5 tensor([1., 2.])'"),
        ("'{} {:>6.2f}'.format(i, s)", "'3   1.50'"),
        ("'%s|%d|%.2f' % (s, i, s)", "'tensor(1.5000)|3|1.50'"),
        ("str(s), repr(i), format(i, '05')", "('tensor(1.5000)', 'tensor(3)', '00003')"),
        ("len(v), list(v), tuple(v)", "(2, [tensor(1.), tensor(2.)], (tensor(1.), tensor(2.)))"),
        ("max(v), min(v), sum(v), sorted(v, reverse=True)", "(tensor(2.), tensor(1.), tensor(3.), [tensor(2.), tensor(1.)])"),
        ("any(v), all(v > 0), sum([v, 1])", "(True, True, tensor([2., 3.]))"),
        ("list(reversed(i.reshape(1))), reversed(v)", "([tensor(3)], tensor([2., 1.]))"),
        ("abs(-v), pow(v, 2), pow(2, i)", "(tensor([1., 2.]), tensor([1., 4.]), tensor(8))"),
        ("2. in v, torch.tensor(5.) in v", "(True, False)"),
        ("x in [x], [x].index(x), {x: 1}[x], [x, 1] == [x, 1]", "(True, 0, 1, True)"),
        ("[i, s] == [i, s], [torch.tensor(1)] == [torch.tensor(1)]", "(True, True)"),
        ("v == None, v != 'a', v is v, (s < 2) is True", "(False, True, True, False)"),
        ("0 < s < 2, 1 if s else 2, not s, s and 7, s or 7", "(tensor(True), 1, False, 7, tensor(1.5000))"),
        ("v.shape, v.shape == (2,), v.shape[0], v.shape[:]", "(torch.Size([2]), True, 2, torch.Size([2]))"),
        ("v.shape + (1,), (1,) + v.shape, v.shape * 2", "(torch.Size([2, 1]), torch.Size([1, 2]), torch.Size([2, 2]))"),
        ("math.sqrt(i + 1), math.floor(s)", "(2.0, 1)"),
        ("torch.sum.__name__, v.sum.__name__, torch.Tensor.__name__", "('sum', 'sum', 'Tensor')"),
        ("type(v), type(v) is torch.Tensor, type(v).__name__", "(<class 'torch.Tensor'>, True, 'Tensor')"),
        ("type(v.shape), type(v.dtype)", "(<class 'torch.Size'>, <class 'torch.dtype'>)"),
        ("isinstance(v, torch.Tensor), isinstance(v, torch.FloatTensor), isinstance(v.shape, tuple)", "(True, True, True)"),
        ("[a.item() for a in v], [(k, a.item()) for k, a in enumerate(v)]", "([1.0, 2.0], [(0, 1.0), (1, 2.0)])"),
        ("hasattr(v, 'grad'), hasattr(v, 'foo'), getattr(v, 'foo', 1), getattr(v, 'sum')()", "(True, False, 1, tensor(3.))"),
        ("torch.Tensor.add(v, 1), list(map(torch.sqrt, [s * 0 + 4]))", "(tensor([2., 3.]), [tensor(2.)])"),
        ("v.detach().numpy(), torch.tensor([[1, 2]]).numpy().tolist()", "(array([1., 2.], dtype=float32), [[1, 2]])"),
        ("torch.max(v, 0)", "torch.return_types.max(\nvalues=tensor(2.),\nindices=tensor(1))"),
        ("torch.max(v, 0).values, type(torch.max(v, 0)).__name__", "(tensor(2.), 'max')"),
        ("v.device, v.layout, str(v.device)", "(device(type='cpu'), torch.strided, 'cpu')"),
        ("torch.float32 == torch.float, torch.device('cpu') == v.device, v.device == 'cpu'", "(True, True, False)"),
    ],
)
def test_values(session, text, shown):
    assert session.interpreter.text(session.evaluate(text)) == shown


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("len(s)", "TypeError", "len() of a 0-d tensor"),
        ("[a for a in s]", "TypeError", "iteration over a 0-d tensor"),
        ("f'{v:.2f}'", "TypeError", "unsupported format string passed to Tensor.__format__"),
        ("format(v.dtype, '>9')", "TypeError", "unsupported format string passed to torch.dtype.__format__"),
        ("round(s)", "TypeError", "type Tensor doesn't define __round__ method"),
        ("divmod(i, 2)", "TypeError", "unsupported operand type(s) for divmod(): 'Tensor' and 'int'"),
        ("pow(i, 2, 3)", "TypeError", "unsupported operand type(s) for ** or pow(): 'Tensor', 'int', 'int'"),
        ("'a' + v", "TypeError", 'can only concatenate str (not "Tensor") to str'),
        ("[1] + v", "TypeError", 'can only concatenate list (not "Tensor") to list'),
        ("v + [1]", "TypeError", "unsupported operand type(s) for +: 'Tensor' and 'list'"),
        ("None + v", "TypeError", "unsupported operand type(s) for +: 'NoneType' and 'Tensor'"),
        ("1 @ v", "TypeError", "unsupported operand type(s) for @: 'int' and 'Tensor'"),
        ("v < 'a'", "TypeError", "'<' not supported between instances of 'Tensor' and 'str'"),
        ("v * 'a'", "TypeError", "only integer tensors of a single element can be converted to an index"),
        ("bool(v)", "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous"),
        ("v in [v + 0]", "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous"),
        ("'a' in v", "RuntimeError", "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class 'str'>."),
        ("float(v)", "ValueError", "only one element tensors can be converted to Python scalars"),
        ("range(s)", "TypeError", "only integer tensors of a single element can be converted to an index"),
        ("x.numpy()", "RuntimeError", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
        ("v.foo", "AttributeError", "'Tensor' object has no attribute 'foo'"),
        ("torch.Tensor.foo", "AttributeError", "type object 'Tensor' has no attribute 'foo'"),
        ("v.sum.foo", "AttributeError", "'builtin_function_or_method' object has no attribute 'foo'"),
        ("v.dtype.foo", "AttributeError", "'torch.dtype' object has no attribute 'foo'"),
        ("v()", "TypeError", "'Tensor' object is not callable"),
        ("{**v}", "TypeError", "'Tensor' object is not a mapping"),
    ],
)
def test_errors(text, kind, message):
    error = failure(SETUP + f"{text}\n")
    assert (error.kind, error.message) == (kind, message)


def test_augmented_assignment_is_in_place():
    program = """
import torch
a = torch.zeros(3)
b = a
a += 1
a[1] += 10
a[2:] *= 5
print(b, b._version)
w = torch.ones(2, requires_grad=True)
(w * 3).sum().backward()
w.grad += 1
w.data *= 100
print(w, w.grad)
w.grad = None
del w.grad
n = 1
n += torch.tensor(1)
print(w.grad, n)
"""
    expected = "tensor([ 1., 11.,  5.]) 5\ntensor([100., 100.], requires_grad=True) tensor([4., 4.])\nNone tensor(2)\n"
    assert output(program) == expected


def test_grad_modes_as_decorators():
    program = """
import torch
w = torch.ones(1, requires_grad=True)
@torch.no_grad()
def a(t): return t * 2
@torch.no_grad
def b(t): return t * 2
@torch.set_grad_enabled(False)
def c(t): return t * 2
with torch.no_grad():
    @torch.enable_grad()
    def d(t): return t * 2
    print(d(w).requires_grad)
print(a(w).requires_grad, b(w).requires_grad, c(w).requires_grad, (w * 2).requires_grad, a.__name__)
try:
    with torch.no_grad():
        1 / 0
except ZeroDivisionError:
    print(torch.is_grad_enabled())
"""
    assert output(program) == "True\nFalse False False True a\nTrue\n"


def test_grad_fn_addresses_are_per_session():
    program = "import torch\nx = torch.ones(1, requires_grad=True)\ny = x * 2\nz = y + 1\nprint(z.grad_fn, y.grad_fn, z.grad_fn)\n"
    shown = "<AddBackward0 object at 0x1> <MulBackward0 object at 0x2> <AddBackward0 object at 0x1>\n"
    assert output(program) == shown
    assert output(program) == shown


def test_at_the_prompt_bare_sum_is_torchs_for_tensors():
    session = Session(one_off=True)
    session.input("m = torch.ones(2, 2)")
    for text, shown in (
        ("sum(m), max(m), all(m > 0)", "(tensor(4.), tensor(1.), tensor(True))"),
        ("sum([1, 2]), max(1, 2), abs(-1), round(2.5)", "(3, 2, 1, 2)"),
        ("sum(m, 0), pow(m, 2)[0], int, float(3)", "(tensor([2., 2.]), tensor([1., 1.]), <class 'int'>, 3.0)"),
    ):
        assert session.interpreter.text(session.input(text)) == shown


def test_a_warning_is_given_once_for_each_line():
    session = Session()
    session.run("import torch\nx = torch.ones(1, requires_grad=True)\ny = x * 2\nfor i in range(3): y.grad\ny.grad\n")
    assert len(session.warnings) == 2
    assert session.warnings[0][0] == "UserWarning"


def test_both_operands_of_a_shape_error_are_labelled():
    error = failure("import torch\na = torch.ones(2)\nb = torch.ones(3)\nprint(a * 2 + b * a)\n")
    assert error.span is not None
    assert error.span.text == "b * a"
    assert [(label.span.text, label.text) for label in error.labels] == [("b", "shape (3,)"), ("a", "shape (2,)")]


def test_callbacks_of_core_are_functions_of_the_script():
    program = """
import torch
x = torch.tensor([1., 2.], requires_grad=True)
seen = []
def hook(g):
    seen.append(g.tolist())
    return g * 10
h = x.register_hook(hook)
(x * x).sum().backward()
print(x.grad, seen)
h.remove()
print(torch.autograd.functional.jacobian(lambda t: t ** 2, x.detach()))
"""
    assert output(program) == "tensor([20., 40.]) [[2.0, 4.0]]\ntensor([[2., 0.],\n        [0., 4.]])\n"


def test_an_error_in_a_callback_carries_its_chain():
    error = failure("import torch\nx = torch.ones(1, requires_grad=True)\nx.register_hook(lambda g: 1 / 0)\n(x * 2).backward()\n")
    assert error.kind == "ZeroDivisionError"
    assert error.span is not None
    assert error.span.text == "1 / 0"


def test_an_error_in_backward_points_at_the_forward_text_too():
    error = failure("import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).exp()\ny.add_(1)\ny.sum().backward()\n")
    assert error.span is not None
    assert error.span.text == "y.sum().backward()"
    assert [(label.span.text, label.text) for label in error.labels] == [("(x * 2).exp()", "the backward of this failed")]


def test_what_is_no_value_is_noticed():
    session = Session()
    session.interpreter.set("x", object())
    with pytest.raises(InternalFault, match="a host object of type object became a value"):
        session.run("1")
