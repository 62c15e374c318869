"""`class` statements."""

from __future__ import annotations

from typing import Any

from gradcli.core.tensor.state import state
from gradcli.lang.classes.creation import make_class
from gradcli.lang.interpreter.compile_calls import arguments
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_functions import doc_of, enter, qualified_name
from gradcli.lang.interpreter.compile_names import store
from gradcli.lang.interpreter.compile_statements import block
from gradcli.lang.interpreter.scope import CLASS
from gradcli.lang.syntax.nodes import Assign, ClassDef, Declaration, Name
from gradcli.lang.values import calls
from gradcli.lang.values.value_classes import MISSING, UNBOUND


def class_def(node: ClassDef, context: Context) -> Run:
    """`class`: runs the body in a frame of its own, makes the class of what the body bound, and binds the name."""
    inner = context.inner(node)
    scope = inner.scope
    make_frame = enter(inner, context)
    body = block(node.body, inner)
    given = arguments(node.bases, node.keywords, context)
    names = [(name, scope.slots[name]) for name in scope.bound]
    cell = scope.slots[CLASS]
    qualified = qualified_name(node.name, scope)
    annotations = _annotations(node)
    doc = doc_of(node.body)
    decorators = [(context.expression(d), d) for d in node.decorators]
    put = store(node.name, context)

    def run(frame: Frame) -> None:
        wrappers = [(wrapper(frame), place) for wrapper, place in decorators]
        bases, keywords = given(frame)
        own = make_frame(frame)
        body(own)
        fields = {name: own[slot] for name, slot in names if own[slot] is not UNBOUND}
        fields.setdefault("__doc__", doc)
        state.origin = node
        made: Any = make_class(node.name, qualified, bases, fields, annotations, keywords)
        if (instead := made.trait("instead")) is not MISSING:
            made = instead(made)
        own[cell][0] = made
        for wrapper, place in reversed(wrappers):
            made = calls.call(wrapper, (made,), place)
        put(frame, made)

    return run


def _annotations(node: ClassDef) -> dict[str, str]:
    """The annotated names of the body in their order, each with the text of its annotation."""
    found: dict[str, str] = {}
    for statement in node.body:
        if isinstance(statement, Declaration) and statement.name:
            found[statement.name] = statement.annotation
        elif isinstance(statement, Assign) and statement.annotation is not None and isinstance(statement.targets[0], Name):
            found[statement.targets[0].id] = statement.annotation
    return found
