"""torch.save and torch.load against a file that PyTorch 2.13 wrote: `checkpoint.pt`, made by the script `checkpoint.py.txt`.

`checkpoint.txt` is what PyTorch 2.13 printed of it.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.lang.saving.archives import archive, value_in
from gradcli.lang.values.execution import Outside
from gradcli.session import Session
from gradcli.source import Source

HERE = Path(__file__).parent
FOUND = (HERE / "checkpoint.pt").read_bytes()
SHOWING = """\
found = torch.load('checkpoint.pt')
print(found)
found['views'][0][1, 0] = 100
print(found['views'], found['parameter'])
print([(v.stride(), v.storage_offset(), v.untyped_storage().nbytes()) for v in found['views']])
"""


class Kept:
    """Files in memory."""

    def __init__(self, **files: bytes) -> None:
        self.files = dict(files)

    def read(self, name: str) -> bytes:
        return self.files[name]

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def size(self, name: str) -> int:
        return len(self.files[name])

    def kind(self, name: str) -> str:
        return "file" if name in self.files else ""

    def make_folder(self, name: str, parents: bool) -> None:
        raise NotImplementedError

    def remove(self, name: str) -> None:
        del self.files[name]


def run(text: str, files: Kept) -> str:
    printed: list[str] = []
    session = Session(bounds=limits.default(), write=printed.append, warn=lambda *_: None, read_stdin=bytes, outside=Outside(files=files))
    session.run(Source("<test>", text))
    return "".join(printed)


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith(("serialization_id", "data.pkl"))}


def test_a_file_of_pytorch_is_read() -> None:
    assert run(SHOWING, Kept(**{"checkpoint.pt": FOUND})) == (HERE / "checkpoint.txt").read_text(encoding="utf-8")


def test_the_same_script_writes_the_same_file() -> None:
    files = Kept()
    run((HERE / "checkpoint.py.txt").read_text(encoding="utf-8"), files)
    assert members(files.files["checkpoint.pt"]) == members(FOUND)
    assert run(SHOWING, files) == (HERE / "checkpoint.txt").read_text(encoding="utf-8")


def test_what_was_read_is_written_again() -> None:
    assert members(archive(value_in(FOUND), "checkpoint")) == members(FOUND)


def test_the_pickle_of_a_state_dict_is_that_of_pytorch() -> None:
    files = Kept()
    run("torch.save({'x': torch.arange(3.)[1:], 'e': torch.empty(0, 3), 'n': 2**80}, 'a.pt')", files)
    pickled = (
        b"\x80\x02}q\x00(X\x01\x00\x00\x00xq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03ctorch\n"
        b"FloatStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x03tq\x07QK\x01K\x02\x85q\x08K\x01\x85q\t\x89ccollections\n"
        b"OrderedDict\nq\n)Rq\x0btq\x0cRq\rX\x01\x00\x00\x00eq\x0eh\x02((h\x03h\x04X\x01\x00\x00\x001q\x0fh\x06K\x00tq\x10QK\x00K\x00K\x03"
        b"\x86q\x11K\x03K\x01\x86q\x12\x89h\n)Rq\x13tq\x14Rq\x15X\x01\x00\x00\x00nq\x16\x8a\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01u."
    )
    with zipfile.ZipFile(io.BytesIO(files.files["a.pt"])) as opened:
        assert opened.read("a/data.pkl") == pickled


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("torch.save(nn.Linear(1, 1), 'a')", "TypeError", "save model.state_dict()"),
        ("torch.save(print, 'a')", "TypeError", "no 'builtin_function_or_method' object"),
        ("torch.save([lambda: 1], 'a')", "TypeError", "no 'function' object"),
        ("torch.save(np.float64(1.), 'a')", "TypeError", "plain values and tensors"),
        ("v = 1\nfor _ in range(1000): v = [v]\ntorch.save(v, 'a')", "RecursionError", "maximum recursion depth"),
        ("torch.save(1, 'b/a')", "RuntimeError", "Parent directory b does not exist."),
        ("torch.save(1, 'a', pickle_protocol=4)", "ValueError", "protocol 2"),
    ],
)
def test_what_is_not_saved(text: str, kind: str, message: str) -> None:
    files = Kept()
    with pytest.raises(ProgramError) as caught:
        run(text, files)
    assert caught.value.kind.endswith(kind) and message in caught.value.message
    assert not files.files


def test_values_that_hold_themselves() -> None:
    text = "v = [1]\nt = (v,)\nv.append(t)\nv.append(v)\ntorch.save(v, 'a')\nw = torch.load('a')\n"
    assert run(text + "print(w[2] is w, w[1][0] is w, len(w), w[0])", Kept()) == "True True 3 1\n"


def test_the_undo_of_the_prompt_takes_writing_back() -> None:
    from gradcli.lang.prompt.checkpoint import Checkpoint
    from gradcli.lang.saving.buffers import Bytes, BytesIO

    buffer = BytesIO()
    before = Checkpoint({"b": buffer})
    buffer.write(Bytes(b"abc"))
    before.restore()
    assert (buffer.content, buffer.position) == (b"", 0)
