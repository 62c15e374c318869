"""`gradcli batch` on a Dask cluster: the same answers as one machine, whatever dies meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.batch import kills
from tests.batch.conftest import COMMAND, ENVIRON
from tests.cluster.conftest import Run, needs_dask

pytestmark = [pytest.mark.slow, needs_dask]


def test_a_local_cluster(mixed: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "a.jsonl"
    assert run("batch", mixed, "-o", out, "--scheduler", "local", "--jobs", "2") == (0, "")
    assert out.read_bytes() == mixed.with_name("quiet.jsonl").read_bytes()
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_workers_the_scheduler_and_the_client_die(mixed: Path, tmp_path: Path) -> None:
    out, size = tmp_path / "a.jsonl", mixed.with_name("quiet.jsonl").stat().st_size
    told = kills.disturbed_on_cluster(mixed, out, 2, size, random.Random(3), tmp_path)
    assert (told["worker"], told["scheduler"], told["client"]) == (2, 1, 1)
    assert out.read_bytes() == mixed.with_name("quiet.jsonl").read_bytes()


def test_files_patterns_and_urls(cluster: kills.Cluster, mixed: Path, tmp_path: Path, run: Run) -> None:
    lines = mixed.read_text().splitlines(keepends=True)
    for name, part in (("r-1.jsonl", lines[:600]), ("r-2.jsonl", lines[600:650]), ("r-3.jsonl", [])):
        (tmp_path / name).write_text("".join(part))
    file = ("--scheduler-file", cluster.file)
    assert run("batch", f"file://{tmp_path}/r-*.jsonl", "-o", f"{tmp_path}/url/", *file) == (0, "")
    assert run("batch", f"{tmp_path}/r-[12].jsonl", tmp_path / "r-3.jsonl", "-o", f"{tmp_path}/word/", *file) == (0, "")
    assert run("batch", f"{tmp_path}/r-*.jsonl", "-o", f"{tmp_path}/one/") == (0, "")
    for folder in ("url", "word"):
        assert sorted(os.listdir(tmp_path / folder)) == ["r-1.jsonl", "r-2.jsonl", "r-3.jsonl"]
        for name in os.listdir(tmp_path / folder):
            assert (tmp_path / folder / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    (tmp_path / "word" / "r-2.jsonl").unlink()
    assert run("batch", f"{tmp_path}/r-*.jsonl", "-o", tmp_path / "word", *file, "--resume") == (0, "")
    assert (tmp_path / "word" / "r-2.jsonl").read_bytes() == (tmp_path / "one" / "r-2.jsonl").read_bytes()
    code, said = run("batch", f"file://{tmp_path}/none-*.jsonl", "-o", tmp_path / "word", *file)
    assert code == 1 and said.startswith("DataError: no file is called file://")


def test_options_reach_the_workers(cluster: kills.Cluster, tmp_path: Path, run: Run) -> None:
    source = tmp_path / "q.jsonl"
    asked = [
        '{"expr": "rand(2)"}',
        '{"expr": "ones(10)"}',
        '{"script": "for i in range(60): pass"}',
        '{"expr": "x", "vars": {"x": 1}}',
        "9" * 300,
    ]
    source.write_text("\n".join(asked))
    options = ["--dtype", "float64", "--seed", "5", "--limit", "steps=50", "--limit", "elements=9", "--limit", "bytes=12800"]
    for more in ([], ["--trusted"]):
        for name, where in (("one", []), ("many", ["--scheduler-file", cluster.file])):
            assert run("batch", source, "-o", tmp_path / name, *options, *more, *where) == (0, "")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert len(asked) == 5


def test_ctrl_c_leaves_whole_answers_and_no_process(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    words = [*COMMAND, str(mixed), "-o", str(out), "--scheduler", "local"]
    process = subprocess.Popen(words, env=ENVIRON, start_new_session=True, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not kills.written(out) and time.monotonic() < end:
        time.sleep(0.02)
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr
    assert (process.wait(30), process.stderr.read()) == (130, b"")
    whole = mixed.with_name("quiet.jsonl").read_bytes()
    assert whole.startswith(out.read_bytes()) and out.read_bytes().endswith(b"\n")
    end = time.monotonic() + 10
    while time.monotonic() < end and any(map(alive, family)):
        time.sleep(0.05)
    assert len(family) > 2 and not any(map(alive, family))


def test_only_this_machine_reaches_a_local_cluster(mixed: Path, tmp_path: Path) -> None:
    words = [*COMMAND, str(mixed), "-o", str(tmp_path / "a.jsonl"), "--scheduler", "local"]
    process = subprocess.Popen(words, env=ENVIRON)
    end = time.monotonic() + 60
    while not kills.written(tmp_path / "a.jsonl") and time.monotonic() < end:
        time.sleep(0.02)
    family = [process.pid, *descendants(process.pid)]
    found = [address for one in family for address in listening(one)]
    process.kill()
    process.wait()
    assert found and {address.rpartition(":")[0] for address in found} == {"0100007F"}


def descendants(process: int) -> list[int]:
    found = kills.children(process)
    return found + [below for one in found for below in descendants(one)]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def listening(process: int) -> list[str]:
    """The local addresses of the sockets on which a process listens, in the system's hexadecimal form."""
    sockets = set()
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):  # a process that answers lives for a moment only
        for path in Path(f"/proc/{process}/fd").iterdir():
            sockets.add(os.readlink(path).removeprefix("socket:[").removesuffix("]"))
        for table in ("tcp", "tcp6"):
            for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
                cells = row.split()
                if cells[3] == "0A" and cells[9] in sockets:
                    found.append(cells[1])
    return found


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_certificates(mixed: Path, tmp_path: Path, run: Run) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    tls = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key), "--protocol", "tls"]
    made = kills.Cluster(tmp_path, 1, tls)
    try:
        address = json.loads(made.file.read_text())["address"]
        assert address.startswith("tls://127.0.0.1:")
        ours = ["--tls-ca", certificate, "--tls-cert", certificate, "--tls-key", key]
        assert run("batch", mixed, "-o", tmp_path / "a.jsonl", "--scheduler", address, *ours) == (0, "")
        assert (tmp_path / "a.jsonl").read_bytes() == mixed.with_name("quiet.jsonl").read_bytes()
        code, said = run("batch", mixed, "-o", tmp_path / "b.jsonl", "--scheduler", address)
        assert code in (1, 2) and "scheduler" in said
    finally:
        made.close()
