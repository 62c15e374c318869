"""`torch.save` and `torch.load`: into buffers, and into the files of a folder that whoever runs the program has chosen."""

from __future__ import annotations

from gradcli.core.calling.mappings import Mapping
from gradcli.core.calling.routines import Routine
from gradcli.core.vocabulary.torch_types import Device
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.saving.archives import MAGIC, archive, value_in
from gradcli.lang.saving.buffers import BytesIO
from gradcli.lang.saving.paths import Path
from gradcli.lang.saving.pickle_reader import check_place, refused
from gradcli.lang.values.execution import files
from gradcli.lang.values.type_names import type_name

_NOT_SEEKABLE = (
    "'{}' object has no attribute 'seek'. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
    "like io.BytesIO and try to load from it instead."
)
_NO_MMAP = (
    "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), please torch.save your checkpoint "
    "with this option in order to use mmap."
)


def _save(
    obj: Value, f: Value, pickle_module: Value = None, pickle_protocol: Value = 2, _use_new_zipfile_serialization: Value = True
) -> None:
    """Write plain values and tensors in PyTorch's format: into a buffer, or a file of the folder of `--files`."""
    if pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise ProgramError("ValueError", "gradcli writes the zip format of torch.save, with pickles of protocol 2")
    f = str(f) if type(f) is Path else f
    if type(f) is BytesIO:
        f.put(archive(obj))
    elif type(f) is str:
        place = files("torch.save")
        if not f:
            raise ProgramError("RuntimeError", "[enforce fail at inline_container.cc:720] . invalid file name: ")
        folder = f.rpartition("/")[0]
        if folder and not place.kind(folder) == "folder":
            raise ProgramError("RuntimeError", f"Parent directory {folder} does not exist.")
        place.write(f, archive(obj, f.rpartition("/")[2].rpartition(".")[0] or "archive"))
    else:
        text = "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        raise ProgramError("AttributeError", text)


def _load(
    f: Value, map_location: Value = None, pickle_module: Value = None, *, weights_only: Value = None, mmap: Value = None, **options: Value
) -> Value:
    """What torch.save wrote: plain values and tensors, whatever `weights_only` says, on the cpu."""
    places = map_location.values() if isinstance(map_location, dict | Mapping) else (map_location,)
    for place in places:
        if type(place) in (str, Device):
            check_place(str(place))
    f = str(f) if type(f) is Path else f
    if type(f) is BytesIO:
        content = f.rest()
        f.position = len(f.content)
    elif type(f) is str:
        content = files("torch.load").read(f)
    else:
        raise ProgramError("AttributeError", _NOT_SEEKABLE.format(type_name(f)), names=(type_name(f),))
    if not content.startswith(MAGIC):
        if mmap:
            raise ProgramError("RuntimeError", _NO_MMAP)
        if not content:
            raise ProgramError("EOFError", "")
        raise refused("this is no file of torch.save; gradcli reads its zip format")
    return value_in(content, anywhere=map_location is not None)


SAVE = Routine(_save, "save")
LOAD = Routine(_load, "load")
