"""Names: torch's without imports, Python's until a star import, imports, and the errors for missing names."""

import pytest

from gradcli.lang.names import bare_names
from tests.lang.running import Session, failure, output


def test_torch_names_need_no_import_and_can_be_hidden():
    assert output("print(float32, torch.float32, F is torch.nn.functional)\n") == "torch.float32 torch.float32 True\n"
    assert output("pi = 3\nprint(pi)\ndel pi\nprint(pi)\n") == "3\n3.141592653589793\n"


def test_python_keeps_its_names_until_star_import():
    program = "print(int, float(2), max)\nfrom torch import *\nprint(int, float, bool, type(max) is type(len))\n"
    assert output(program) == "<class 'int'> 2.0 <built-in function max>\ntorch.int32 torch.float32 torch.bool True\n"


def test_e_means_nothing_bare_in_a_script():
    assert failure("print(e)\n").message == "name 'e' is not defined"
    assert Session(one_off=True).evaluate("e") == 2.718281828459045


def test_imports_bind_what_is_there():
    program = """
import torch, math
import torch.nn as nn
import torch.nn.functional
import torch.nn.functional as F
import numpy as np
from torch import nn as n2, float64 as f64
from math import pi, sqrt as root
from torch.nn import *
print(nn is n2, F is torch.nn.functional, f64, pi == math.pi, root(4), np.pi == pi, np.sqrt(9))
print(torch, torch.nn, math)
"""
    assert output(program) == "True True torch.float64 True 2.0 True 3.0\n<module 'torch'> <module 'torch.nn'> <module 'math'>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "np.sin(1), np.floor(2.5), np.sqrt(-1.), np.abs(-3)",
            "(np.float64(0.8414709848078965), np.float64(2.0), np.float64(nan), np.int64(3))",
        ),
        ("np.sin(tensor([1., 2.])), np.hypot(3, tensor(4.))", "(tensor([0.8415, 0.9093]), tensor(5.))"),
        ("np.log(tensor(2)), np.isnan(tensor([1.]))", "(tensor(0.6931, dtype=torch.float64), tensor([0], dtype=torch.uint8))"),
        ("np.sin(tensor([1.]).numpy())", "[0.841471]"),
    ],
)
def test_functions_of_numpy_keep_the_kind_of_their_operands(text, shown):
    assert output(f"print(({text}))\n") == shown + "\n"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("np.sin('a')", "TypeError", "numpy.sin of a str is not part of gradcli"),
        ("np.sin(10**400)", "TypeError", "loop of ufunc does not support argument 0 of type int which has no callable sin method"),
        ("import socket", "ModuleNotFoundError", "No module named 'socket'"),
        ("import torch.os", "ModuleNotFoundError", "No module named 'torch.os'"),
        ("from os import system", "ImportError", "os.system is not part of gradcli"),
        ("from torch import os", "ImportError", "cannot import name 'os' from 'torch'"),
        ("from math import _x", "ImportError", "cannot import name '_x' from 'math'"),
        ("np.load", "AttributeError", "numpy.load is not part of gradcli"),
        ("torch.sparse.mm(1)", "AttributeError", "torch.sparse is not part of gradcli"),
        ("torch.nn.functional.grouped_mm", "AttributeError", "torch.nn.functional.grouped_mm is not part of gradcli"),
        ("tensor(1.).hash_tensor", "AttributeError", "Tensor.hash_tensor is not part of gradcli"),
        ("nn.Linear(1, 1).__dict__", "AttributeError", "Linear.__dict__ is not part of gradcli"),
        ("vars(nn.Linear(1, 1))", "TypeError", "vars() of a value of the type Linear is not part of gradcli's language"),
        ("nn.Linear.__mro__", "AttributeError", "Linear.__mro__ is not part of gradcli"),
        ("(lambda: 1).__code__", "AttributeError", "function.__code__ is not part of gradcli"),
        ("[].__sizeof__", "AttributeError", "list.__sizeof__ is not part of gradcli"),
        ("[].__dict__", "AttributeError", "'list' object has no attribute '__dict__'"),
        ("vars(3)", "TypeError", "vars() argument must have __dict__ attribute"),
        ("(5).__add__", "AttributeError", "int.__add__ is not part of gradcli"),
        ("(lambda: 0).__code__", "AttributeError", "function.__code__ is not part of gradcli"),
        ("ValueError().add_note", "AttributeError", "ValueError.add_note is not part of gradcli"),
        ("(lambda: (yield))", "SyntaxError", "'yield' in a lambda is not part of gradcli's language"),
        ("import torch.sparse", "ModuleNotFoundError", "torch.sparse is not part of gradcli"),
        ("from torch import sparse", "ImportError", "torch.sparse is not part of gradcli"),
        ("torch.foo", "AttributeError", "module 'torch' has no attribute 'foo'"),
        ("torch.nn.functional.foo", "AttributeError", "module 'torch.nn.functional' has no attribute 'foo'"),
        ("torch.einsum.__doc__", "AttributeError", "function.__doc__ is not part of gradcli"),
        ("torch.einsum.__module__", "AttributeError", "function.__module__ is not part of gradcli"),
        ("torch.ones(1).__sizeof__", "AttributeError", "Tensor.__sizeof__ is not part of gradcli"),
        ("torch.add.__foo__", "AttributeError", "'builtin_function_or_method' object has no attribute '__foo__'"),
        ("str.foo", "AttributeError", "type object 'str' has no attribute 'foo'"),
        ("type('A', (), {})", "TypeError", "type() with three arguments is not part of gradcli's language; write a class statement"),
        ("torch.x = 1", "AttributeError", "module 'torch' is read-only"),
        ("nn.Linear(1, 1).train = len", "AttributeError", "'Linear' object attribute 'train' is read-only"),
        (
            "class N(nn.Module):\n    def _apply(self, fn): pass",
            "NotImplementedError",
            "a module that defines _apply is not part of gradcli",
        ),
        ("def f(): pass\nf.x", "AttributeError", "'function' object has no attribute 'x'"),
        ("def f(): pass\nf.__name__ = 'g'", "AttributeError", "attribute '__name__' of 'function' objects is not writable"),
    ],
)
def test_what_is_missing_is_named(text, kind, message):
    error = failure(text + "\n")
    assert (error.kind, error.message) == (kind, message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pritn(1)", "print"),
        ("math.sqr(2)", "sqrt"),
        ("'a'.uper()", "upper"),
        ("torch.flaot32", "float32"),
        ("length = 1\nlenght", "length"),
        ("import toch", "torch"),
        ("open('x')", "open is not part of gradcli's language"),
        ("eval('1')", "eval is not part of gradcli's language"),
    ],
)
def test_hints(text, hint):
    assert hint in " ".join(failure(text + "\n").hints)


def test_a_bare_name_that_is_left_out_is_said_to_be() -> None:
    assert bare_names.hints("hash_tensor", {}) == ["torch.hash_tensor is not part of gradcli"]
