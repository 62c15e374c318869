"""Arrays in npy and npz files. The sizes that a file declares are checked before anything is made of them."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from gradcli import limits
from gradcli.data.bounded import read_bounded, too_large
from gradcli.errors import DataError, GradcliError

if TYPE_CHECKING:
    import zipfile

Array = np.ndarray[Any, np.dtype[Any]]

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
#: characters of a header; numpy's own default
_MAX_HEADER = 10_000
#: the largest extent of an array
_MOST = 2**63 - 1


class NpyHeader(NamedTuple):
    """What stands before the data of an npy file, and where the data begins."""

    shape: tuple[int, ...]
    in_columns: bool
    dtype: np.dtype[Any]
    begin: int


def npy_header(file: BinaryIO, name: str, size: int) -> NpyHeader:
    """The header of an npy file of `size` bytes, checked against that. Raises DataError."""
    file.seek(0)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(file)
        read_header = readers.get(version)
        shape, in_columns, dtype = ((), False, np.dtype("O")) if read_header is None else read_header(file, max_header_size=_MAX_HEADER)
    except Exception:
        # numpy hands the header to ast and tokenize, each with errors of its own
        raise DataError(f"{name}: the header is not that of an npy file") from None
    if read_header is None:
        raise DataError(f"{name}: version {version[0]}.{version[1]} of the npy format is not supported")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DataError(f"{name}: an array of {dtype} is not supported; numbers or booleans are needed")
    if any(type(extent) is not int or not 0 <= extent <= _MOST for extent in shape):
        raise DataError(f"{name}: the header declares an impossible shape")
    return NpyHeader(shape, in_columns, dtype, file.tell())


def _check_size(header: NpyHeader, name: str, size: int) -> None:
    declared = math.prod(header.shape) * header.dtype.itemsize
    if declared > size - header.begin:
        raise DataError(f"{name}: the header declares {declared:,} bytes of data, the file has {size - header.begin:,}")


def load_npy(file: BinaryIO, name: str, size: int) -> Array:
    """The npy array in `file` of `size` bytes. The size that its header declares is checked before the array is made."""
    header = npy_header(file, name, size)
    limits.check_elements(math.prod(header.shape), header.dtype.itemsize)
    _check_size(header, name, size)
    file.seek(0)
    try:
        array: Array = np.load(file, allow_pickle=False, max_header_size=_MAX_HEADER)
    except (ValueError, EOFError, OSError, OverflowError):
        raise DataError(f"{name}: the data is damaged") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def npy_rows(file: BinaryIO, name: str, size: int) -> NpyHeader:
    """The header of an array that has rows. Raises DataError."""
    header = npy_header(file, name, size)
    if not header.shape or not math.prod(header.shape):
        raise DataError(f"{name}: an array of shape {header.shape} has no rows")
    _check_size(header, name, size)
    return header


def load_npy_rows(file: BinaryIO, name: str, size: int, start: int, stop: int) -> Array:
    """The rows `start` to `stop` of an npy array, copied from a memory map. Raises DataError, LimitError."""
    header = npy_rows(file, name, size)
    limits.check_elements(math.prod(header.shape[1:]) * (stop - start), header.dtype.itemsize)
    order: Any = "F" if header.in_columns else "C"
    try:
        whole = np.memmap(file, header.dtype, "r", header.begin, header.shape, order)
    except (ValueError, OSError, OverflowError):
        raise DataError(f"{name}: the data is damaged") from None
    return np.array(whole[start:stop], header.dtype.newbyteorder("="), order="C")


def load_npz(file: BinaryIO, name: str, part: str | None) -> Array:
    """The array `part` of an npz archive, or its only one. Raises DataError, LimitError."""
    # 7 ms
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            info = _member(archive, name, part)
            limit = limits.current.bytes
            if info.file_size > limit:
                too_large(f"{name}:{info.filename}", limit, "bytes")
            with archive.open(info) as stream:
                content = read_bounded(stream, name, min(limit, info.file_size), "bytes")  # type: ignore[arg-type]
    except (GradcliError, MemoryError):
        raise
    except Exception:
        # zipfile, zlib and lzma have errors of a dozen types
        raise DataError(f"{name}: the archive is damaged or of an unsupported kind") from None
    label = f"{name}:{info.filename.removesuffix('.npy')}"
    if not content.startswith(NPY_MAGIC):
        raise DataError(f"{label} is not an npy array")
    return load_npy(io.BytesIO(content), label, len(content))


def _member(archive: zipfile.ZipFile, name: str, part: str | None) -> zipfile.ZipInfo:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if part is None and len(members) == 1:
        return next(iter(members.values()))
    listing = ", ".join(list(members)[:20]) or "none"
    if part is None:
        raise DataError(f"{name} has {len(members)} arrays, say which: @{name}:NAME with one of {listing}")
    info = members.get(part.removesuffix(".npy"))
    if info is None:
        raise DataError(f"{name} has no array {part!r}; it has {listing}")
    return info
