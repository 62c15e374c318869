"""Files that torch.load must not trust: pickles that call functions, damaged zips, sizes that lie."""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradcli import limits
from gradcli.errors import GradcliError, InternalFault, LimitError, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.saving.archives import archive, value_in

GOOD = (Path(__file__).parent.parent / "lang" / "saving" / "checkpoint.pt").read_bytes()
STORAGE = b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu%stQ"


def file_of(pickled: bytes, storage: bytes = b"\0" * 16, **options: Any) -> bytes:
    """A file with a pickle and one storage."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", **options) as opened:
        opened.writestr("a/data.pkl", pickled)
        opened.writestr("a/data/0", storage)
    return made.getvalue()


def tensor(size: bytes, stride: bytes, offset: bytes = b"K\x00", count: bytes = b"K\x04", grad: bytes = b"\x89") -> bytes:
    """The pickle of a float tensor of four elements."""
    args = STORAGE % count + offset + size + stride + grad + b"ccollections\nOrderedDict\n)Rt"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + args + b"R."


class Call:
    """An object whose pickle calls a function."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.made = function, args

    def __reduce__(self) -> Any:
        return self.made


def _huge(n: int) -> bytes:
    content = n.to_bytes(9, "little", signed=True)
    return b"\x8a\x09" + content


REFUSED = {
    "os.system": pickle.dumps(Call(exec, "open('gradcli_canary_pickle', 'w')"), 2),
    "a global that is no function": b"\x80\x02cos\nsystem\n.",
    "builtins": b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.",
    "a storage type as a value": b"\x80\x02]ctorch\nFloatStorage\na.",
    "a rebuilding function as a value": b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\ns.",
    "a storage as a value": b"\x80\x02" + STORAGE[1:] % b"K\x04" + b".",
    "the mark as a value": b"\x80\x02]((e.",
    "a memo that is not there": b"\x80\x02h\x05.",
    "an empty stack": b"\x80\x02.",
    "no end": b"\x80\x02]",
    "nothing": b"",
    "more than one value": b"\x80\x02NN.",
    "protocol 4": pickle.dumps([1, 2], 4),
    "protocol 0": pickle.dumps([1, 2], 0),
    "instances": b"\x80\x02(i__main__\nA\n.",
    "new objects": b"\x80\x02ccollections\nOrderedDict\n)\x81.",
    "a state of a dict": b"\x80\x02}}X\x01\x00\x00\x00aNsb.",
    "a state of a tensor": tensor(b"K\x04\x85", b"K\x01\x85")[:-1] + b"}X\x05\x00\x00\x00arrayNsb.",
    "a state of an ordered dict": b"\x80\x02ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00tableNsb.",
    "items of a tensor": tensor(b"K\x04\x85", b"K\x01\x85")[:-1] + b"NNs.",
    "a list as a key": b"\x80\x02}]Ns.",
    "an odd number of items": b"\x80\x02}(Nu.",
    "arguments that do not fit": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
    "a size of texts": b"\x80\x02ctorch\nSize\nX\x01\x00\x00\x00a\x85\x85R.",
    "a device with a path": b"\x80\x02ctorch\ndevice\nX\x03\x00\x00\x00../\x85R.",
    "beyond the storage": tensor(b"K\x05\x85", b"K\x01\x85"),
    "beyond the storage by an offset": tensor(b"K\x04\x85", b"K\x01\x85", b"K\x01"),
    "beyond the storage by a stride": tensor(b"K\x02\x85", b"K\x04\x85"),
    "a negative offset": tensor(b"K\x01\x85", b"K\x01\x85", b"J\xff\xff\xff\xff"),
    "a negative stride": tensor(b"K\x02\x85", b"J\xff\xff\xff\xff\x85", b"K\x03"),
    "a negative size": tensor(b"J\xff\xff\xff\xff\x85", b"K\x01\x85"),
    "a size that is a float": tensor(b"G\x3f\xf0\x00\x00\x00\x00\x00\x00\x85", b"K\x01\x85"),
    "a boolean size": tensor(b"\x88\x85", b"K\x01\x85"),
    "more strides than sizes": tensor(b"K\x02\x85", b"K\x01K\x01\x86"),
    "a storage that is larger than its bytes": tensor(b"K\x08\x85", b"K\x01\x85", count=b"K\x08"),
    "a storage that is smaller than its bytes": tensor(b"K\x02\x85", b"K\x01\x85", count=b"K\x02"),
    "requires_grad that is no bool": tensor(b"K\x04\x85", b"K\x01\x85", grad=b"K\x01"),
    "no elements, but sizes that overflow": tensor(b"K\x00" + _huge(1 << 62) + _huge(1 << 61) + b"\x87", b"K\x01K\x01K\x01\x87"),
    "a text that is no utf-8": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "a text that is longer than the file": b"\x80\x02X\xff\xff\xff\x7fa.",
    "a long that is longer than the file": b"\x80\x02\x8b\xff\xff\xff\x7fa.",
}


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    """The limits of `--untrusted`; an interpreter gives the core the language's own hashing."""
    Interpreter(write=lambda _: None, warn=lambda *_: None)
    before, baseline = limits.current, limits.memory.baseline
    limits.use(limits.strict())
    limits.memory.begin()
    with limits.Evaluation():
        yield
    limits.use(before)
    limits.memory.baseline = baseline


@pytest.mark.parametrize("name", REFUSED)
def test_pickles_that_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError, match=r"Weights only load failed|unhashable type"):
        value_in(file_of(REFUSED[name]))
    assert not [*tmp_path.iterdir()]


def test_the_good_ones_are_read() -> None:
    assert value_in(file_of(tensor(b"K\x02K\x02\x86", b"K\x02K\x01\x86"))).shape == (2, 2)
    assert value_in(file_of(b"\x80\x02]Na.")) == [None]


@pytest.mark.parametrize(
    "pickled",
    [
        tensor(_huge(1 << 40) + b"\x85", b"K\x00\x85"),
        tensor(b"".join([b"(", *[b"J\x00\x00\x10\x00"] * 3, b"t"]), b"(K\x00K\x00K\x00t"),
        tensor(b"K\x00\x85", b"K\x01\x85", count=_huge(1 << 50)),
        b"\x80\x02\x8b" + struct.pack("<i", 4000) + b"\x7f" * 4000 + b".",
        b"\x80\x02](" + b"N" * 1_000_001 + b"e.",
    ],
    ids=["a view of one element", "three dimensions", "a storage", "an integer", "a list"],
)
def test_sizes_meet_the_limits(pickled: bytes) -> None:
    with pytest.raises(LimitError):
        value_in(file_of(pickled))


def test_deep_nesting_is_no_recursion() -> None:
    found = value_in(file_of(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."))
    with pytest.raises(ProgramError, match="recursion"):
        archive(found)
    with pytest.raises((ProgramError, LimitError)):
        value_in(file_of(b"\x80\x02}" + b")" + b"\x85" * 100_000 + b"Ns."))


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04",
        b"PK\x03\x04" + b"\0" * 1000,
        file_of(b"\x80\x02N.")[:-30],
        file_of(b"\x80\x02N.", b"\0" * 100_000, compression=zipfile.ZIP_DEFLATED),
        file_of(b"\x80\x02N.").replace(b"\x80\x02N", b"\x80\x02]"),
        file_of(b"\x80\x02N.").replace(b"a/data.pkl", b"a/data.pkm"),
    ],
    ids=["a magic", "zeros", "cut off", "compressed", "another checksum", "no pickle"],
)
def test_damaged_files(content: bytes) -> None:
    with pytest.raises(ProgramError, match="PytorchStreamReader failed"):
        value_in(content)


def test_changed_bytes_end_in_values_or_errors() -> None:
    """Files with some bytes changed, so that the checksum of the pickle still holds, too."""
    seeded = random.Random(0)
    with zipfile.ZipFile(io.BytesIO(GOOD)) as opened:
        pickled, storage = opened.read("checkpoint/data.pkl"), opened.read("checkpoint/data/0")
    ended = set()
    for turn in range(400):
        content = bytearray(GOOD if turn % 2 else pickled)
        for _ in range(seeded.randint(1, 4)):
            content[seeded.randrange(len(content))] = seeded.randrange(256)
        try:
            value_in(bytes(content) if turn % 2 else file_of(bytes(content), storage))
            ended.add("value")
        except GradcliError as error:
            assert not isinstance(error, InternalFault)
            ended.add("error")
    assert ended == {"value", "error"}
