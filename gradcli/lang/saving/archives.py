"""PyTorch's zip files: a pickle, and the bytes of each storage, stored as they are."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from gradcli import limits
from gradcli.core.kernels import Array
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.saving.pickle_reader import Reader, refused
from gradcli.lang.saving.pickle_writer import Writer
from gradcli.lang.saving.storage_layout import decoded

#: what a zip file begins with
MAGIC = b"PK\x03\x04"
#: contents of members begin at multiples of so many bytes
_ALIGNMENT = 64
#: the bytes of a member's header before its name
_HEADER = 30

_CORRUPTED = (
    "PytorchStreamReader failed reading zip archive: {}. This is an internal miniz error. If you are seeing this error, there is a high "
    "likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, was transferred "
    "incorrectly, or the file was modified after saving."
)
#: what zipfile raises for damaged files besides its own error
_DAMAGE = (zipfile.LargeZipFile, EOFError, NotImplementedError, OSError, ValueError, IndexError, struct.error)


class _Stream(io.RawIOBase):
    """Bytes that are only ever appended, as PyTorch writes its files: sizes then follow the contents of members."""

    def __init__(self) -> None:
        self.content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        self.content += view
        return view.nbytes


def archive(value: Value, root: str = "archive") -> bytes:
    """The bytes of a file that holds a value, in members below `root`. TypeError for what is neither plain nor a tensor."""
    writer = Writer()
    pickled = writer.finish(value)
    limits.check_room(sum(map(len, writer.storages)) * 2)
    members = {"data.pkl": pickled, ".format_version": b"1", ".storage_alignment": b"%d" % _ALIGNMENT, "byteorder": b"little"}
    members |= {f"data/{key}": content for key, content in enumerate(writer.storages)}
    members |= {"version": b"3\n", ".data/serialization_id": b"%040d" % zlib.crc32(pickled)}
    stream = _Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as made:
        for name, content in members.items():
            entry = zipfile.ZipInfo(f"{root}/{name}")
            start = len(stream.content) + _HEADER + len(entry.filename.encode()) + 4
            padding = -start % _ALIGNMENT
            entry.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
            made.writestr(entry, content)
            entry.extra = b""  # the directory at the end goes without
    return bytes(_with_long_end(stream.content, len(members)))


def _with_long_end(content: bytearray, count: int) -> bytearray:
    """The file with the directory's end for large files before the ordinary one, as PyTorch always writes it."""
    size, place = struct.unpack("<LL", content[-10:-2])
    found = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 798, 45, 0, 0, count, count, size, place)
    found += struct.pack("<4sLQL", b"PK\6\7", 0, size + place, 1)
    return content[:-22] + found + content[-22:]


def value_in(content: bytes, anywhere: bool = False) -> Value:
    """The value in the bytes of such a file; with `anywhere` tensors may come from other devices. RuntimeError for a damaged file,
    UnpicklingError for values that are not read.
    """
    limits.check_room(len(content))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            members = _members(opened, len(content))
            root = opened.namelist()[0].partition("/")[0]

            def member(name: str) -> bytes:
                entry = members.get(f"{root}/{name}")
                if entry is None:
                    raise ProgramError("RuntimeError", f"PytorchStreamReader failed locating file {name}: file not found")
                return opened.read(entry)

            order = member("byteorder").decode("ascii", "replace") if f"{root}/byteorder" in members else "little"

            def load(key: str, dtype: DType, count: int) -> Array:
                limits.check_elements(count, dtype.np.itemsize)
                stored = member(f"data/{key}")
                if len(stored) != count * dtype.itemsize:
                    raise refused("a storage has another size than its tensors say")
                return decoded(stored, dtype, order)

            return Reader(load, anywhere).read(member("data.pkl"))
    except (*_DAMAGE, zipfile.BadZipFile) as error:
        missing = type(error) is zipfile.BadZipFile and "CRC" not in str(error)
        what = "failed finding central directory" if missing else "file read failed"
        raise ProgramError("RuntimeError", _CORRUPTED.format(what)) from None


def _members(opened: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name: stored, none encrypted, and all together no larger than the file."""
    found = opened.infolist()
    if not found or any(one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size for one in found):
        raise zipfile.BadZipFile("empty, or compressed")
    if sum(one.file_size for one in found) > size or any(one.flag_bits & 1 for one in found):
        raise zipfile.BadZipFile("larger than the file, or encrypted")
    return {one.filename: one for one in found}
