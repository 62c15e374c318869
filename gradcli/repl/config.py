"""The file of settings for the prompt: TOML, in the user's directory for configuration or in $GRADCLI_CONFIG_DIR.

Only the prompt reads it. Commands and scripts answer the same with and without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from gradcli.errors import DataError, UsageError
from gradcli.plain import Plain


class Key(Plain):
    """One setting. `accepts` describes the values that `fits` is true for."""

    name: str
    default: object
    accepts: str
    doc: str
    fits: Callable[[object], bool]


def _among(*choices: str) -> tuple[str, Callable[[object], bool]]:
    *others, last = (f'"{choice}"' for choice in choices)
    return f"{', '.join(others)} or {last}", lambda value: value in choices


def _whole(low: int, high: int) -> tuple[str, Callable[[object], bool]]:
    return f"a whole number from {low} to {high:,}", lambda value: type(value) is int and low <= value <= high


def _key(name: str, default: object, kind: tuple[str, Callable[[object], bool]], doc: str) -> Key:
    return Key(name, default, kind[0], doc, kind[1])


KEYS = {
    key.name: key
    for key in (
        _key("precision", 4, _whole(0, 99), "digits after the point"),
        _key("dtype", "float32", _among("float32", "float64"), "the default dtype"),
        _key("format", "repr", _among("repr", "table"), "how values are shown"),
        _key("color", "auto", _among("auto", "always", "never"), "colours"),
        _key("keys", "emacs", _among("emacs", "vi"), "the keys of the line editor"),
        _key("history", 10_000, _whole(0, 1_000_000), "inputs that are remembered; 0 keeps no file"),
    )
}


class Config(Plain):
    """The settings of a file: those that it has, and those that stand for the others."""

    path: Path
    found: dict[str, object]

    def __getitem__(self, name: str) -> object:
        """The value of the file, else the default."""
        return self.found.get(name, KEYS[name].default)

    def text(self) -> str:
        """All settings as such a file, with what each is for."""
        lines = [f"# {self.path}" + ("" if self.path.exists() else " (there is no such file yet)")]
        for key in KEYS.values():
            value = self[key.name]
            setting = f"{key.name} = " + (f'"{value}"' if isinstance(value, str) else str(value))
            lines.append(f"{setting:<22}# {key.doc}" + ("" if key.name in self.found else "; the default"))
        return "\n".join(lines) + "\n"


def path() -> Path:
    """Where the file is, whether it exists or not."""
    named = os.environ.get("GRADCLI_CONFIG_DIR")
    if named:
        return Path(named) / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("gradcli") / "config.toml"


def load() -> Config:
    """The settings of the file; the defaults where there is none.

    Raises UsageError that names file and line for what is no TOML, an unknown key or a wrong value, DataError for an unreadable file.
    """
    file = path()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config(file, {})
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text") from None
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = (place[1] if place else None) or text.count("\n") + 1
        raise UsageError(f"{file}:{line}: {str(error)[: place.start()] if place else error}") from None
    for name, value in found.items():
        _check(name, value, f"{file}:{_line(text, name)}")
    return Config(file, found)


def _check(name: str, value: object, place: str) -> None:
    key = KEYS.get(name)
    if key is None:
        from difflib import get_close_matches

        close = get_close_matches(name, KEYS, 1)
        hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(KEYS)}"
        raise UsageError(f"{place}: unknown key {name!r}", hints=[hint])
    if not key.fits(value):
        shown = f'"{value}"' if isinstance(value, str) else str(value)
        raise UsageError(f"{place}: {name} takes {key.accepts}, not {shown}")


def _line(text: str, name: str) -> int:
    """The number of the line that sets the key, or begins its table."""
    quoted = re.escape(name)
    match = re.search(rf"(?m)^\s*\[*\s*[\"']?{quoted}[\"']?\s*[=.\]]", text)
    return 1 if match is None else text.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip())) + 1
