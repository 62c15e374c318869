"""How generated modules write tables of names: a key, such as a module, with its names in one string."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping


def lines_of(table: Mapping[str, list[str]]) -> Iterator[str]:
    """The entries of a dict from keys to names separated by spaces, as lines of at most 140 characters."""
    room = 130
    for key, names in table.items():
        text = " ".join(names)
        if len(one := f'    "{key}": "{text}",') <= 140:
            yield one
            continue
        *most, last = textwrap.wrap(text, room - 1, break_on_hyphens=False) if len(text) > room else [text]
        yield f'    "{key}": ('
        yield from (f'        "{line} "' for line in most)
        yield f'        "{last}"'
        yield "    ),"


def by_holder(holders: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that each holder has, both sorted, from a table that gives each name's holder."""
    found: dict[str, list[str]] = {holder: [] for holder in sorted(set(holders.values()))}
    for name in sorted(holders):
        found[holders[name]].append(name)
    return found
