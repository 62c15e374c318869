"""`abc`: abstract base classes."""

from __future__ import annotations

from gradcli.lang.classes.creation import AbstractMethod, make_class
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.value_classes import Builtin

#: `class A(ABC)` and `class A(metaclass=ABCMeta)` mean the same here: every class may have abstract methods
ABC = make_class("ABC", "ABC", (), {}, {}, {})

MEMBERS: dict[str, Value] = {"ABC": ABC, "ABCMeta": ABC, "abstractmethod": Builtin("abstractmethod", AbstractMethod)}
