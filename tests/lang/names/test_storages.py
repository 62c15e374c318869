"""Addresses and storages of tensors: counters of the session, never addresses of the host."""

from __future__ import annotations

from gradcli import limits
from gradcli.session import Session
from gradcli.source import Source

PROGRAM = "a = zeros(4)\nb = ones(3)\nprint(b.data_ptr(), a[1:].data_ptr(), a.data_ptr(), a.untyped_storage().data_ptr())\n"


def printed(text: str) -> str:
    """What a program prints in a session of its own."""
    parts: list[str] = []
    Session(write=parts.append, warn=lambda *_: None, read_stdin=bytes, bounds=limits.strict()).run(Source("<program>", text))
    return "".join(parts)


def test_addresses_are_counted_in_the_order_of_asking() -> None:
    first, inside, base, storage = map(int, printed(PROGRAM).split())
    assert (first >> 40, base >> 40) == (1, 2)
    assert inside - base == 4
    assert storage == base


def test_each_session_counts_anew() -> None:
    assert printed(PROGRAM) == printed(PROGRAM)
