"""Arrays from files and from standard input."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gradcli import limits
from gradcli.data import Form, ReadStdin, read_source, stdin_reader
from gradcli.data import load as load_with_names
from gradcli.errors import DataError, LimitError
from tests.counting import calls

NOTHING = stdin_reader(None)


def load(reference: str, read: ReadStdin) -> np.ndarray:
    """The array alone."""
    return load_with_names(reference, read).array


@pytest.fixture(autouse=True)
def ordinary_limits():
    limits.use(limits.default())
    yield
    limits.use(limits.default())


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return f"@{path}"


def failure(reference: str) -> str:
    with pytest.raises(DataError) as caught:
        load(reference, NOTHING)
    return caught.value.message.replace(os.path.dirname(reference.lstrip("@")) + "/", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1,2\r\n3,4", [[1, 2], [3, 4]]),
        ("\ufeff1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("x,y\n1,2\n", [[1, 2]]),
        ("x,2\n1,2\n", [[1, 2]]),
        ('"1","2e-3"\n', [[1, 0.002]]),
        ('"a, b",c\n-1,+.5\n', [[-1, 0.5]]),
        ("1\n2\n\n3\n\n", [[1], [2], [3]]),
        ("nan,inf\n-inf,Infinity\n", [[np.nan, np.inf], [-np.inf, np.inf]]),
        (" 1 ,\t2\n", [[1, 2]]),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: list[list[float]]) -> None:
    array = load(write(tmp_path / "d.csv", text), NOTHING)
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "d.csv is empty"),
        ("\n\n", "d.csv is empty"),
        ("x,y\n", "d.csv has a header and no rows of numbers"),
        ("x,y\n1,2\n3\n", "d.csv: row 3 has 1 cell, the first row has 2"),
        ("x,y\n1,2\n3,4,5\n", "d.csv: row 3 has 3 cells, the first row has 2"),
        ("x,y\n1,2\n3,abc\n", "d.csv: row 3, column 1 (y) is no number: 'abc'"),
        ("1,2\n3,abc\n", "d.csv: row 2, column 1 is no number: 'abc'"),
        ("1,2\n3,\n", "d.csv: row 2, column 1 is empty"),
        ("1,2\n3,1_000\n", "d.csv: row 2, column 1 is no number: '1_000'"),
        ("1,2\n3,0x10\n", "d.csv: row 2, column 1 is no number: '0x10'"),
        ("1,2\n3,٣\n", "d.csv: row 2, column 1 is no number: '٣'"),
        ('1,2\n3,"4\n', "d.csv: row 2: unexpected end of data"),
        (b"1,2\n3,\xff\n", "d.csv: line 2 is not UTF-8 text (byte 0xff)"),
    ],
)
def test_malformed_csv_names_the_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert failure(write(tmp_path / "d.csv", text)) == message


@pytest.mark.parametrize(
    ("text", "expected", "columns", "left_out"),
    [
        ("x,name,y\n1,a,2\n3,b,4\n", [[1, 2], [3, 4]], ("x", "y"), ("name",)),
        ("5.1,3.5,Iris\n4.9,3,Iris\n", [[5.1, 3.5], [4.9, 3]], (), ("column 2",)),
        ("x;y\n1;2\n3;4\n", [[1, 2], [3, 4]], ("x", "y"), ()),
        ("x\ty\n1\t2\n", [[1, 2]], ("x", "y"), ()),
        ("1|2\n3|4\n", [[1, 2], [3, 4]], (), ()),
        ("1   2\n 3 4 \n", [[1, 2], [3, 4]], (), ()),
        ('"a;b",c\n1,2\n', [[1, 2]], ("a;b", "c"), ()),
        ("name\na\nb,c\n", None, (), ()),
    ],
)
def test_tables_of_every_kind(tmp_path: Path, text: str, expected: object, columns: tuple[str, ...], left_out: tuple[str, ...]) -> None:
    reference = write(tmp_path / "d.csv", text)
    if expected is None:
        assert failure(reference) == "d.csv: row 3 has 2 cells, the first row has 1"
        return
    found = load_with_names(reference, NOTHING)
    np.testing.assert_array_equal(found.array, expected)
    assert (tuple(found.columns), tuple(found.left_out), found.is_table) == (columns, left_out, True)


def test_a_text_column_elsewhere_stops_nothing(tmp_path: Path) -> None:
    reference = write(tmp_path / "d.csv", "x,name,y,mixed\n1,a,2,1\n3,b,4,no\n")
    np.testing.assert_array_equal(load(f"{reference}:y", NOTHING), [2, 4])
    found = load_with_names(f"{reference}:y,x", NOTHING)
    np.testing.assert_array_equal(found.array, [[2, 1], [4, 3]])
    assert tuple(found.columns) == ("y", "x")
    assert failure(f"{reference}:name") == "d.csv: row 2, column 1 (name) is no number: 'a'"
    assert failure(reference) == "d.csv: row 3, column 3 (mixed) is no number: 'no'"


def test_missing_numbers(tmp_path: Path) -> None:
    reference = write(tmp_path / "d.csv", "x,y\n1,2\n3,\nNA,6\n7,8\n")
    assert failure(reference) == "d.csv: row 3, column 1 (y) is empty"
    np.testing.assert_array_equal(load_with_names(reference, NOTHING, Form("nan")).array, [[1, 2], [3, np.nan], [np.nan, 6], [7, 8]])
    np.testing.assert_array_equal(load_with_names(reference, NOTHING, Form("drop")).array, [[1, 2], [7, 8]])
    # columns that are asked for one by one stay together
    np.testing.assert_array_equal(load_with_names(f"{reference}:x", NOTHING, Form("drop")).array, [1, 7])
    reference = write(tmp_path / "e.csv", "x,y\n1,\n")
    with pytest.raises(DataError, match="has no row without a missing number"):
        load_with_names(reference, NOTHING, Form("drop"))


def test_a_separator_that_is_told(tmp_path: Path) -> None:
    np.testing.assert_array_equal(
        load_with_names(write(tmp_path / "d", "1:2\n3:4\n"), NOTHING, Form(separator=":")).array, [[1, 2], [3, 4]]
    )


def test_underscored_header_is_a_header(tmp_path: Path) -> None:
    np.testing.assert_array_equal(load(write(tmp_path / "d.csv", "col_a,b\n1,2\n"), NOTHING), [[1, 2]])


@pytest.mark.parametrize(("part", "expected"), [("height", [1, 3]), ("weight", [2, 4]), ("1", [2, 4]), ("0", [1, 3])])
def test_columns(tmp_path: Path, part: str, expected: list[float]) -> None:
    reference = write(tmp_path / "d.csv", "height,weight\n1,2\n3,4\n")
    np.testing.assert_array_equal(load(f"{reference}:{part}", NOTHING), expected)


def test_a_header_that_is_an_index_wins(tmp_path: Path) -> None:
    np.testing.assert_array_equal(load(write(tmp_path / "d.csv", "1,x\n5,6\n") + ":1", NOTHING), [5])


def test_unknown_columns(tmp_path: Path) -> None:
    reference = write(tmp_path / "d.csv", "height,weight\n1,2\n")
    with pytest.raises(DataError) as caught:
        load(f"{reference}:heigth", NOTHING)
    assert caught.value.message.endswith("d.csv has no column 'heigth'; it has height, weight")
    assert caught.value.hints == ["did you mean height, weight?"]
    assert failure(f"{reference}:2").startswith("d.csv has no column '2'")
    assert failure(write(tmp_path / "n.csv", "1,2\n") + ":x") == "n.csv has no header and 2 columns, counted from 0; 'x' is none of them"
    assert failure(write(tmp_path / "t.csv", "a,a\n1,2\n") + ":a") == "t.csv has 2 columns called 'a'"


def test_a_file_whose_name_has_a_colon(tmp_path: Path) -> None:
    np.testing.assert_array_equal(load(write(tmp_path / "a:b", "1\n"), NOTHING), [[1]])


@pytest.mark.slow
def test_a_million_cells_take_a_few_calls_for_each_line(tmp_path: Path) -> None:
    reference = write(tmp_path / "d.csv", "\n".join(",".join(f"{i}.{j:04d}" for j in range(10)) for i in range(100_000)))
    assert load(reference, NOTHING).shape == (100_000, 10)
    assert calls(lambda: load(reference, NOTHING)).total() < 5 * 100_000


# --- standard input ------------------------------------------------------------------------------


def test_stdin_serves_several_names() -> None:
    read = stdin_reader(io.BytesIO(b"x,y\n1,2\n3,4\n"))
    np.testing.assert_array_equal(load("@-:x", read), [1, 3])
    np.testing.assert_array_equal(load("@-:y", read), [2, 4])
    np.testing.assert_array_equal(load("@-", read), [[1, 2], [3, 4]])


def test_stdin_can_be_npy() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    np.testing.assert_array_equal(load("@-", stdin_reader(io.BytesIO(buffer.getvalue()))), [0, 1, 2])


def test_closed_stdin() -> None:
    assert failure("@-") == "standard input is closed"


def test_endless_stdin_meets_the_limit() -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"1\n" * (size // 2)

    limits.use(limits.default().changed(bytes=10_000_000))
    with pytest.raises(LimitError) as caught:
        load("@-", stdin_reader(Endless()))
    assert caught.value.limit == "bytes"


# --- what may be opened --------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    assert failure(f"@{tmp_path}/none.csv") == "cannot read none.csv: No such file or directory"


def test_directories_devices_and_fifos_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert failure(f"@{tmp_path}/fifo") == "cannot read fifo: it is not a regular file"
    (tmp_path / "dir").mkdir()
    assert failure(f"@{tmp_path}/dir") == "cannot read dir: it is not a regular file"
    assert failure("@/dev/zero") == "cannot read zero: it is not a regular file"


def test_nul_in_a_name() -> None:
    with pytest.raises(DataError):
        load("@a\0b", NOTHING)


# --- npy and npz ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i2", "<i4", "<i8", "f2", "<f4", "<f8", ">f4", ">i8"])
def test_npy(tmp_path: Path, dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    np.save(tmp_path / "w.npy", array)
    loaded = load(f"@{tmp_path}/w.npy", NOTHING)
    np.testing.assert_array_equal(loaded, array)
    assert loaded.dtype == array.dtype.newbyteorder("=") and loaded.dtype.isnative


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_order(tmp_path: Path, order: str) -> None:
    array = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "w.npy", np.asarray(array, order=order))
    np.testing.assert_array_equal(load(f"@{tmp_path}/w.npy", NOTHING), array)


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    padded = header.encode() + b"\n"
    size = struct.pack("<H", len(padded)) if version == b"\x01\x00" else struct.pack("<I", len(padded))
    return b"\x93NUMPY" + version + size + padded + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,)}", b"12345678"), "declares 8,000,000,000 bytes of data, "),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"12345678"), "impossible shape"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}", b"12345678"), "impossible shape"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"12345678"), "object is not supported"),
        (npy("{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", b"1" * 12), "is not supported"),
        (npy("{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", b"1" * 16), "complex128 is not supported"),
        (npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", b"1" * 8), "is not supported"),
        (npy("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}", b"1" * 8), "is not supported"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)" + " " * 11_000 + "}", b"1" * 8), "not that of an npy file"),
        (npy("__import__('os').system('true')"), "not that of an npy file"),
        (npy("(" * 5000), "not that of an npy file"),
        (b"\x93NUMPY", "not that of an npy file"),
        (b"\x93NUMPY\x09\x00", "version 9.0 of the npy format is not supported"),
    ],
)
def test_hostile_npy(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in failure(write(tmp_path / "w.npy", content))


def test_npy_elements_limit_at_n_and_beyond(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.zeros(11))
    limits.use(limits.default().changed(elements=11))
    assert load(f"@{tmp_path}/w.npy", NOTHING).shape == (11,)
    limits.use(limits.default().changed(elements=10))
    with pytest.raises(LimitError):
        load(f"@{tmp_path}/w.npy", NOTHING)


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", a=np.arange(3), b=np.ones(2))
    np.savez_compressed(tmp_path / "one.npz", only=np.eye(2))
    np.testing.assert_array_equal(load(f"@{tmp_path}/f.npz:a", NOTHING), [0, 1, 2])
    np.testing.assert_array_equal(load(f"@{tmp_path}/f.npz:b", NOTHING), [1, 1])
    np.testing.assert_array_equal(load(f"@{tmp_path}/one.npz", NOTHING), np.eye(2))
    assert failure(f"@{tmp_path}/f.npz") == "f.npz has 2 arrays, say which: @f.npz:NAME with one of a, b"
    assert failure(f"@{tmp_path}/f.npz:c") == "f.npz has no array 'c'; it has a, b"


def test_zip_bomb_and_damage(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\0" * 50_000_000)
    limits.use(limits.default().changed(bytes=10_000_000))
    with pytest.raises(LimitError):
        load(f"@{tmp_path}/bomb.npz", NOTHING)
    assert "damaged" in failure(write(tmp_path / "bad.npz", b"PK\x03\x04 and nothing more"))
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("a.npy", b"hello")
    assert failure(f"@{tmp_path}/text.npz:a") == "text.npz:a is not an npy array"


# --- program text --------------------------------------------------------------------------------


def test_source_files(tmp_path: Path) -> None:
    path = tmp_path / "e.txt"
    path.write_bytes(b"\xef\xbb\xbfx + 1\r\n")
    assert read_source(str(path), NOTHING) == "x + 1\r\n"
    assert read_source("-", stdin_reader(io.BytesIO(b"x"))) == "x"
    path.write_bytes(b"x\n\xe9\n")
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        read_source(str(path), NOTHING)
    limits.use(limits.default().changed(source=3))
    path.write_bytes(b"123")
    assert read_source(str(path), NOTHING) == "123"
    path.write_bytes(b"1234")
    with pytest.raises(LimitError):
        read_source(str(path), NOTHING)


# --- JSON ---


@pytest.mark.parametrize(
    ("text", "expected", "columns"),
    [
        ("[1, 2.5, true]", [1, 2.5, 1], ()),
        (" [[1, 2], [3, 4]]", [[1, 2], [3, 4]], ()),
        ('["nan", "-inf", NaN]', [np.nan, -np.inf, np.nan], ()),
        ('{"x": [1, 2], "y": [3, 4]}', [[1, 3], [2, 4]], ("x", "y")),
        ('{"a, b": [0.1]}', [[0.1]], ("a, b",)),
        ('{"x": [1, 2], "name": ["ann", "bob"]}', [[1], [2]], ("x",)),
        ('[{"x": 1, "y": 2}, {"x": 3, "y": 4}]', [[1, 2], [3, 4]], ("x", "y")),
        ('{"gradcli": 1, "ok": true, "value": [[1, 2]]}', [[1, 2]], ()),
    ],
)
def test_json(tmp_path: Path, text: str, expected: list[float], columns: tuple[str, ...]) -> None:
    found = load_with_names(write(tmp_path / "d.json", text), NOTHING)
    assert found.array.dtype == np.float64
    assert found.columns == columns
    np.testing.assert_array_equal(found.array, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1,", "d.json: line 1, column 4: no JSON: Expecting value"),
        ("[[1, 2], [3]]", "d.json: the lists have different lengths"),
        ('[1, "a"]', 'd.json: numbers are needed, and this is none: "a"'),
        ("[" * 100_000, "d.json: the lists are nested too deeply"),
        ('{"x": 1}', "d.json: 'x' is no list of numbers"),
        ('{"x": [1], "y": [1, 2]}', "d.json: the columns have different lengths: x 1, y 2"),
        ('{"1": [1]}', "d.json: a column cannot be called '1'"),
        ('[{"x": 1}, {"y": 1}]', "d.json: record 2 has other names than the first one"),
        ("{}", "d.json is empty"),
        ('{"x": [null]}', "d.json: row 2, column 0 (x) is empty"),
    ],
)
def test_json_that_makes_no_sense(tmp_path: Path, text: str, message: str) -> None:
    assert failure(write(tmp_path / "d.json", text)) == message


def test_a_column_of_json(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", '{"x": [1, 2], "y": [3, 4]}')
    np.testing.assert_array_equal(load(f"{path}:y", NOTHING), [3, 4])
    assert failure(f"{write(tmp_path / 'e.json', '[1, 2]')}:y") == "e.json has no columns with names, such as 'y'"


def test_json_is_bounded_before_it_is_read(tmp_path: Path) -> None:
    limits.use(limits.with_options(["elements=10"]))
    with pytest.raises(LimitError):
        load(write(tmp_path / "d.json", f"[{'1,' * 10}1]"), NOTHING)
