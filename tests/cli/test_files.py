"""`gradcli run --files DIR`: what scripts save and load."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

START = "import os\nfrom pathlib import Path\n"


@pytest.fixture
def run(cli, tmp_path: Path, monkeypatch):
    """Runs a script with the folder `kept`; what it left behind."""
    monkeypatch.chdir(tmp_path)

    def call(text: str, *words: str):
        Path("a.py").write_text(START + text)
        return cli("run", "a.py", *(words or ("--files", "kept")))

    return call


def test_saving_and_loading(run) -> None:
    text = "torch.save({'w': torch.ones(2)}, 'w.pt')\nPath('in/side').mkdir(parents=True)\ntorch.save([1], Path('in') / 'side' / 'v.pt')\n"
    assert run(text).code == 0
    assert sorted(str(p.relative_to("kept")) for p in Path("kept").rglob("*.pt")) == ["in/side/v.pt", "w.pt"]
    answer = run("print(torch.load('./w.pt'), torch.load(Path('in/side/v.pt')), os.path.getsize('w.pt') > 500, os.path.isdir('in'))\n")
    assert (answer.code, answer.out) == (0, "{'w': tensor([1., 1.])} [1] True True\n")


def test_a_run_deletes_its_own_files_only(run) -> None:
    run("torch.save(1, 'old.pt')\n")
    answer = run("torch.save(1, 'new.pt')\nos.remove('new.pt')\nprint(os.path.exists('new.pt'))\nos.remove('old.pt')\n")
    assert answer.out == "False\n" and "PermissionError" in answer.err and Path("kept/old.pt").exists()


@pytest.mark.parametrize("name", ["/etc/hostname", "../a.py", "in/../../a.py", "~/../x", "a\\\\b", "a\\nb", "out/x", "linked.pt", "pipe"])
@pytest.mark.parametrize("call", ["torch.load({})", "torch.save(1, {})", "os.remove({})", "os.makedirs({})", "print(os.path.getsize({}))"])
def test_nothing_outside_is_reached(run, name: str, call: str, tmp_path: Path) -> None:
    Path("kept/in").mkdir(parents=True)
    Path("x").write_text("x")
    os.symlink(tmp_path, "kept/out")
    os.symlink(tmp_path / "x", "kept/linked.pt")
    os.mkfifo("kept/pipe")
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    answer = run(call.format(f"'{name}'") + "\n")
    assert answer.code == 1 and answer.out == "" and "Error" in answer.err
    assert sorted(str(p) for p in tmp_path.rglob("*") if p.name != "a.py") == before
    assert Path("x").read_text() == "x"


def test_without_the_option_there_are_no_files(run) -> None:
    for text in ("torch.save(1, 'a.pt')", "torch.load('a.py')", "os.makedirs('d')", "Path('d').mkdir()", "os.remove('a.py')"):
        answer = run(text + "\n", "--seed", "0")
        assert answer.code == 1 and "PermissionError" in answer.err and "--files DIR" in answer.err
    assert run("print(os.path.exists('a.py'), Path('a.py').is_file())\n", "--seed", "0").out == "False False\n"
    assert sorted(os.listdir()) == ["a.py"]


def test_text_from_strangers_has_no_files(run) -> None:
    answer = run("torch.save(1, 'a.pt')\n", "--untrusted", "--files", "kept")
    assert answer.code == 2 and "contradict" in answer.err
    text = "import io\nb = io.BytesIO()\ntorch.save(torch.ones(2), b)\nb.seek(0)\nprint(torch.load(b))\n"
    assert run(text, "--untrusted").out == "tensor([1., 1.])\n"
    assert not Path("kept").exists()


def test_an_old_file_stays_whole_where_saving_fails(run) -> None:
    run("torch.save([1, 2], 'a.pt')\n")
    before = Path("kept/a.pt").read_bytes()
    assert run("torch.save([1, print], 'a.pt')\n").code == 1
    assert Path("kept/a.pt").read_bytes() == before and os.listdir("kept") == ["a.pt"]
