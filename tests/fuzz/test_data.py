"""Damaged data files: an array, or an error of gradcli; never an error of the libraries that read them."""

from __future__ import annotations

import io
import random
import time
import warnings
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from gradcli.data import arrays, tables
from gradcli.data.form import Form
from gradcli.errors import DataError, GradcliError


def npy(text: str, data: bytes = b"") -> bytes:
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, w=np.arange(6.0).reshape(2, 3), b=np.ones(2, dtype="f4"))
    return file.getvalue()


def whole_npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(12.0).reshape(3, 4))
    return file.getvalue()


def read(content: bytes) -> None:
    """Read as npy and as npz."""
    for reader in (
        lambda: arrays.load_npy(io.BytesIO(content), "f", len(content)),
        lambda: arrays.load_npz(io.BytesIO(content), "f", "w"),
        lambda: arrays.load_npz(io.BytesIO(content), "f", None),
    ):
        with suppress(GradcliError):
            reader()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_arrays(seed: int) -> None:
    rng = random.Random(seed)
    wholes = [npz(), whole_npy()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(1500):
            content = bytearray(rng.choice(wholes))
            for _ in range(rng.choice((1, 1, 2, 5, 20))):
                kind, at = rng.randrange(4), rng.randrange(len(content))
                if kind == 0:
                    content[at] = rng.randrange(256)
                elif kind == 1:
                    content[at : at + rng.randrange(1, 9)] = bytes([rng.choice((0, 1, 127, 255))]) * rng.randrange(9)
                elif kind == 2:
                    del content[at : at + rng.randrange(1, 30)]
                else:
                    content[at] ^= 1 << rng.randrange(8)
                if not content:
                    break
            read(bytes(content))


SHAPES = [
    "(0, 99999999999999999999)",
    "(9223372036854775807, 0)",
    "(0, 9223372036854775808)",
    "(-1,)",
    "(True,)",
    "(1e3,)",
    "('a',)",
    "0",
    "[0]",
]
SHAPES += [f"({'0,' * 70})", f"({'1,' * 70})", "(0, " + "9" * 5000 + ")", "(" * 90 + ")" * 90, "None", "(4611686018427387904, 4, 0)"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda one: one[:20])
@pytest.mark.parametrize("order", ["True", "False"])
@pytest.mark.parametrize("dtype", ["'<f8'", "'|b1'", "'<f16'", "'|O'", "[('a', '<f8')]", "'<U3'", "'|V0'", "'<M8[s]'", "5"])
def test_headers_that_declare_odd_things(shape: str, order: str, dtype: str) -> None:
    read(npy(f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}", b"\0" * 64))


def test_members_with_odd_names() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("a" * 60_000, "../w.npy", "w\n.npy"):
            archive.writestr(name, b"no array")
    read(file.getvalue())


CELLS = ["1" * 120_000, " " * 120_000, "1" * 60_000 + "." + "1" * 60_000, "1" * 60_000 + " " * 60_000, "1e" + "1" * 120_000, "." * 120_000]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell[:1] + cell[-1:])
@pytest.mark.parametrize("where", ["{}x\n1\n", "a,b\n1,{}x\n", "{}x;2\n3;4\n", "a b\n{} x\n", "a\n{}_\n"])
def test_long_cells_take_linear_time(cell: str, where: str) -> None:
    before = time.process_time()
    with suppress(DataError):
        tables.load(where.format(cell), "f", None, Form())
    assert time.process_time() - before < 5  # it took more than a minute
