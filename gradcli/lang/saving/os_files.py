"""`os` with what it tells of files in the folder that programs save in: there are no others."""

from __future__ import annotations

import posixpath

from gradcli.core.calling.type_errors import type_error
from gradcli.lang.libraries import system
from gradcli.lang.python.object_protocol import Value, hosted
from gradcli.lang.saving.paths import Path, kind_of, make_folder, path_text
from gradcli.lang.values.execution import files
from gradcli.lang.values.value_classes import Builtin, Namespace


def _makedirs(name: Value, mode: Value = 0o777, exist_ok: Value = False) -> None:
    make_folder("os.makedirs", name, True, bool(exist_ok))


def _mkdir(path: Value, mode: Value = 0o777) -> None:
    make_folder("os.mkdir", path, False, False)


def _remove(path: Value) -> None:
    files("os.remove").remove(path_text(path))


def _listdir(path: Value = ".") -> list[Value]:
    return list(files("os.listdir").listed(path_text(path)))


def _getsize(filename: Value) -> int:
    return files("os.path.getsize").size(path_text(filename))


def _on_paths(name: str) -> Builtin:
    function = getattr(posixpath, name)

    def run(*paths: Value) -> Value:
        for path in paths:
            if type(path) not in (str, Path):
                raise type_error(f"{name}() argument must be str, not '{{}}'", path)
        return hosted(function, *map(path_text, paths))

    return Builtin(name, run)


PATH: dict[str, Value] = {
    **{name: _on_paths(name) for name in ("join", "basename", "dirname", "split", "splitext", "normpath")},
    "exists": Builtin("exists", lambda path: kind_of(path) != ""),
    "isfile": Builtin("isfile", lambda path: kind_of(path) == "file"),
    "isdir": Builtin("isdir", lambda path: kind_of(path) == "folder"),
    "getsize": Builtin("getsize", _getsize),
}
OS: dict[str, Value] = {
    **system.OS,
    "path": Namespace("os.path", PATH),
    "makedirs": Builtin("makedirs", _makedirs),
    "mkdir": Builtin("mkdir", _mkdir),
    "remove": Builtin("remove", _remove),
    "listdir": Builtin("listdir", _listdir),
}
