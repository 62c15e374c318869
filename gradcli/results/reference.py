"""What is known of a name: for the reference, the prompt and its completion."""

from __future__ import annotations

from gradcli.plain import Plain


class Description(Plain):
    """The description of a function. `formulas` are (argument, derivative, remark); `example` has pairs of input and output."""

    name: str
    signatures: tuple[str, ...]
    doc: str
    grad_fns: tuple[str, ...]
    formulas: tuple[tuple[str, str, str], ...]
    example: tuple[tuple[str, str], ...]


class Completion(Plain):
    """A completion: `text` replaces the last `length` characters; `about` describes it, "" where there are too many."""

    text: str
    length: int
    kind: str
    about: str


class Derivative(Plain):
    """The derivative by one argument of an operation: its formula, and a note on points where there is none."""

    grad_fn: str
    argument: str
    formula: str
    note: str


class Entry(Plain):
    """A function, type, routine or constant of torch's. `name` is its full one, `aliases` are others, `kind` is what it is.

    `example` has pairs of what is typed and what is printed; it is empty where nobody asked for examples.
    """

    name: str
    family: str
    kind: str
    signatures: tuple[str, ...]
    doc: str
    aliases: tuple[str, ...] = ()
    grad_fns: tuple[str, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    is_method: bool = False
    inplace: bool = False
    takes_out: bool = False
    example: tuple[tuple[str, str], ...] = ()
