"""`pathlib.Path`: names of files, taken apart and put together; of a folder that programs save in, what there is."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from pathlib import PurePosixPath

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.values.execution import execution, files
from gradcli.lang.values.special_methods import NOT_IMPLEMENTED


class Path(Scripted):
    """A name of a file or folder. `host` is never seen by programs."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "PosixPath"

    def __init__(self, *args: Value) -> None:
        self.host = PurePosixPath(*map(path_text, args))
        limits.check_string(len(str(self.host)))

    def __repr__(self) -> str:
        return f"PosixPath({str(self.host)!r})"

    def __str__(self) -> str:
        return str(self.host)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.host == other.host

    def __hash__(self) -> int:
        return hash(self.host)

    def special(self, name: str) -> Callable[..., Value] | None:
        """`path / name`, `name / path`, and the text."""
        if name == "__str__":
            return lambda: str(self.host)
        if name == "__format__":
            return self._format
        if name in ("__truediv__", "__rtruediv__"):
            forward = name == "__truediv__"

            def run(other: Value) -> Value:
                if type(other) not in (str, Path):
                    return NOT_IMPLEMENTED
                return Path(self, other) if forward else Path(other, self)

            return run
        return None

    def _format(self, spec: str) -> str:
        if spec:
            raise ProgramError("TypeError", "unsupported format string passed to PosixPath.__format__")
        return str(self.host)

    def joinpath(self, *others: Value) -> Path:
        """The path with further parts."""
        return Path(self, *others)

    def with_suffix(self, suffix: Value, /) -> Path:
        """The path with another ending."""
        return Path(str(hosted(self.host.with_suffix, suffix)))

    def with_name(self, name: Value, /) -> Path:
        """The path with another last part."""
        return Path(str(hosted(self.host.with_name, name)))

    def exists(self) -> bool:
        """Whether there is such a file or folder where programs save."""
        return kind_of(self) != ""

    def is_file(self) -> bool:
        """Whether there is such a file."""
        return kind_of(self) == "file"

    def is_dir(self) -> bool:
        """Whether there is such a folder."""
        return kind_of(self) == "folder"

    def mkdir(self, mode: Value = 0o777, parents: Value = False, exist_ok: Value = False) -> None:
        """Make a folder, with `parents` those above it too. FileExistsError unless `exist_ok` allows that it is there."""
        make_folder("Path.mkdir", self, bool(parents), bool(exist_ok))

    def unlink(self, missing_ok: Value = False) -> None:
        """Delete a file that this run has saved."""
        if not missing_ok or kind_of(self):
            files("Path.unlink").remove(str(self.host))

    SCRIPT_ATTRIBUTES = {
        **{name: attrgetter(f"host.{name}") for name in ("name", "stem", "suffix", "parts")},
        "parent": lambda path: Path(str(path.host.parent)),
    }
    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (joinpath, with_suffix, with_name, exists, is_file, is_dir, mkdir, unlink)
    }


def path_text(value: Value) -> str:
    """The text of a path or of a name. TypeError for other values."""
    if type(value) is Path:
        return str(value.host)
    if type(value) is not str:
        raise type_error("expected str, bytes or os.PathLike object, not {}", value)
    return value


def kind_of(path: Value) -> str:
    """What a path stands for where programs save: "file", "folder", or "" for nothing, as where they may not save."""
    place = execution.outside.files
    try:
        return "" if place is None else place.kind(path_text(path))
    except ProgramError:
        return ""  # the path lies outside of the folder


def make_folder(purpose: str, path: Value, parents: bool, exist_ok: bool) -> None:
    """Make a folder where programs save. FileExistsError unless `exist_ok` allows that it is there, PermissionError."""
    place = files(purpose)
    if not exist_ok or kind_of(path) != "folder":
        place.make_folder(path_text(path), parents)


MEMBERS: dict[str, Value] = {name: script_type(Path, "pathlib") for name in ("Path",)}
