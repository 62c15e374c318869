"""The one facade: source in, plain results out."""

from __future__ import annotations

SCALAR_ONLY = "grad can be implicitly created only for scalar outputs"


class Session:
    def __init__(self, **_: object) -> None:
        raise NotImplementedError
