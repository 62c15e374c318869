"""What requests may say, what answers say, and that no request reaches another."""

from __future__ import annotations

import json

import msgspec
import pytest

from gradcli.batch import messages
from gradcli.cli.app import run

pytestmark = pytest.mark.slow


@pytest.mark.quick
def test_everything_at_once(ask):
    wanted = ["value", "grad", "grad_fn", "jacobian", "hessian"]
    (answer,) = ask({"id": 7, "expr": "(x**2).sum()", "vars": {"x": [1, 2]}, "want": wanted})
    assert answer == {
        "id": 7,
        "line": 1,
        "ok": True,
        "value": 5.0,
        "shape": [],
        "dtype": "float32",
        "grad_fn": "SumBackward0",
        "grad": {"x": [2.0, 4.0]},
        "jacobian": {"x": [2.0, 4.0]},
        "hessian": {"x": {"x": [[2.0, 0.0], [0.0, 2.0]]}},
    }


def test_random_numbers_are_drawn_once(ask):
    (answer,) = ask({"expr": "(x*randn(3)).sum()", "vars": {"x": 1}, "want": ["value", "grad", "jacobian"], "seed": 3})
    assert answer["value"] == pytest.approx(answer["grad"]["x"]) and answer["jacobian"]["x"] == answer["grad"]["x"]


def test_values(ask):
    answers = ask(
        {"expr": "x", "vars": {"x": True}, "want": ["value"]},
        {"expr": "x", "vars": {"x": [[1, 2], [3, 4.5]]}, "want": ["value"]},
        {"expr": "x", "vars": {"x": "ones(2)*3"}, "want": ["value"]},
        {"expr": "x", "vars": {"x": ["nan", "-inf", 1]}, "want": ["value"]},
        {"expr": "x*2", "vars": {"x": [1, 2]}, "vector": [1, 0.5]},
        {"expr": "x*2", "vars": {"x": [1, 2]}, "vector": "ones(2)"},
        {"expr": "x*y", "vars": {"x": 2, "y": 3}, "wrt": ["y"], "dtype": "float64"},
        {"expr": "'a' + 'b'"},
        {"script": "print(1)\nprint('é')"},
        {"script": "y = 3", "expr": "x*y", "vars": {"x": 2}},
        {"expr": "1", "want": []},
    )
    assert all(answer["ok"] for answer in answers)
    assert answers[0]["value"] == 1.0 and answers[1]["value"] == [[1.0, 2.0], [3.0, 4.5]] and answers[2]["value"] == [3.0, 3.0]
    assert answers[3]["value"] == ["nan", "-inf", 1.0]
    assert answers[4]["grad"] == {"x": [2.0, 1.0]} and answers[5]["grad"] == {"x": [2.0, 2.0]}
    assert answers[6]["grad"] == {"y": 2.0} and answers[6]["dtype"] == "float64"
    assert (answers[7]["value"], answers[7]["type"]) == ("ab", "str")
    assert answers[8] == {"id": None, "line": 9, "ok": True, "output": "1\né\n"}
    assert answers[9]["value"] == 6.0 and answers[9]["grad"] == {"x": 3.0} and answers[9]["output"] == ""
    assert answers[10] == {"id": None, "line": 11, "ok": True}


BAD = {
    b"": ("DataError", 1),
    b"not json": ("DataError", 1),
    b"[1]": ("DataError", 1),
    b'{"expr": "1"': ("DataError", 1),
    b"\xff\xfe": ("DataError", 1),
    b'{"expr": NaN}': ("DataError", 1),
    b"[" * 100_000: ("DataError", 1),
    b'{"expr": "1", "vars": {"x": ' + b"9" * 5000 + b"}}": ("DataError", 1),
    b"{}": ("UsageError", 2),
    b'{"expr": 1}': ("UsageError", 2),
    b'{"expr": "1", "more": 2}': ("UsageError", 2),
    b'{"expr": "x", "vars": [1]}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"x": null}}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"x": {"y": 1}}}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"x": [1, "2"]}}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"__class__ ": 1}}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"for": 1}}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"x": 1}, "wrt": ["y"]}': ("UsageError", 2),
    b'{"expr": "x", "vars": {"x": 1}, "want": ["all"]}': ("UsageError", 2),
    b'{"expr": "1", "seed": "a"}': ("UsageError", 2),
    b'{"expr": "1", "dtype": "int8"}': ("UsageError", 2),
    b'{"expr": "1", "limits": {"nope": 1}}': ("UsageError", 2),
    b'{"expr": "1", "limits": {"time": 1000}}': ("UsageError", 2),
    b'{"expr": "1", "limits": {"time": "none"}}': ("UsageError", 2),
    b'{"expr": "1 +"}': ("SyntaxError", 3),
    b'{"expr": "x*2", "vars": {"x": [1, 2]}}': ("RuntimeError", 1),
    b'{"expr": "nope"}': ("NameError", 1),
    b'{"expr": "x", "vars": {"x": "@/etc/hostname"}}': ("SyntaxError", 3),
    b'{"expr": "x", "vars": {"x": "[[1], [1, 2]]"}}': ("ValueError", 1),
    b'{"expr": "ones(10**9)"}': ("LimitError", 5),
    b'{"script": "while True: pass", "limits": {"steps": "1k"}}': ("LimitError", 5),
}


def test_a_bad_line_is_answered_and_the_rest_go_on(ask):
    good = {"expr": "1+1"}
    requests: list[object] = []
    for line in BAD:
        requests += [line, good]
    answers = ask(*requests)
    for (line, (kind, code)), bad, after in zip(BAD.items(), answers[::2], answers[1::2], strict=True):
        assert not bad["ok"] and set(bad["error"]) - {"hints"} == {"kind", "message", "span", "exit"}, line[:80]
        assert (bad["error"]["kind"], bad["error"]["exit"]) == (kind, code), (line[:80], bad)
        assert after["value"] == 2


def test_an_error_names_the_path_of_a_wrong_type(ask):
    answers = ask(
        {"id": 1, "expr": 3}, {"expr": "1", "want": ["value", "all"]}, {"expr": "1", "limits": {"time": True}}, {"expr": "1", "more": 2}
    )
    assert [answer["error"]["message"] for answer in answers] == [
        "Expected str | null, got int - at $.expr",
        "Invalid enum value 'all' - at $.want[1]",
        "Expected int | float | str, got bool - at $.limits[...]",
        "Object contains unknown field more",
    ]
    assert answers[0]["id"] == 1 and "--schema" in answers[0]["error"]["hints"][0]


def test_what_only_pythons_json_reads(ask):
    """Half of a surrogate pair, a number beyond the largest float, and a key that comes twice, the first time with a wrong type."""
    answers = ask(
        b'{"id": "\\ud800", "expr": "1"}',
        b'{"id": 1e400, "expr": "x", "vars": {"x": -1e400}}',
        b'{"expr": 1, "expr": "2"}',
        b'{"id": "\xff", "expr": "1"}',
    )
    assert answers[0] == {"id": "\ud800", "line": 1, "ok": True, "value": 1, "type": "int"}
    assert (answers[1]["id"], answers[1]["value"], answers[2]["value"]) == ("inf", "-inf", 2)
    assert (answers[3]["id"], answers[3]["error"]["kind"]) == (None, "DataError")


def test_answers_are_what_the_schema_says(ask):
    wanted = ["value", "grad", "grad_fn", "jacobian", "hessian"]
    answers = ask(
        {"expr": "(x**2).sum()", "vars": {"x": [1, 2]}, "want": wanted, "script": "print(1)"},
        {"expr": "1"},
        {"expr": "1 +"},
        {"expr": "nope"},
        "bad",
    )
    for answer in answers:
        kind = messages.Answer if answer["ok"] else messages.Failure
        assert msgspec.to_builtins(msgspec.convert(answer, kind)) == answer


def test_the_schema_of_requests_and_answers(capsys, tmp_path):
    assert run(["batch", "--schema"]) == 0
    out, _ = capsys.readouterr()
    parts = json.loads(out)["$defs"]
    assert parts.keys() == {"Request", "Answer", "Failure", "Error", "Place"}
    assert parts["Request"]["properties"].keys() == set(messages.Request.__struct_fields__) and not parts["Request"]["additionalProperties"]
    assert run(["batch", "--schema", "-o", str(tmp_path / "schema.json")]) == 0
    assert (tmp_path / "schema.json").read_text() == out
    assert run(["batch", "--schema", "x"]) == 2


def test_no_request_reaches_another(ask):
    probe = {
        "script": "print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_inference_mode_enabled(), torch.initial_seed())\n"
        "print(torch.tensor([1.23456789]), torch.rand(1))\n"
        "print([n for n in ['x', 'leak'] if n == 'nothing'])\n"
    }
    spoil = [
        {"script": "leak = 1\nx = 2\nsum = 3\ntorch.manual_seed(9)"},
        {"script": "torch.set_default_dtype(torch.float64)\ntorch.set_printoptions(precision=2)\ntorch.set_grad_enabled(False)"},
        {"script": "with torch.inference_mode():\n    raise ValueError('in the midst')"},
        {"script": "torch.autograd.set_detect_anomaly(True)\nwith torch.no_grad():\n    1/0"},
        {"script": "def f(a, kept=[]):\n    kept.append(a)\n    return len(kept)\nprint(f(1))"},
        {"expr": "x", "vars": {"x": 3}, "seed": 5, "dtype": "float64", "limits": {"elements": 2, "steps": 1}},
    ]
    requests: list[object] = [probe]
    for one in spoil:
        requests += [one, probe, {"expr": "leak"}, {"expr": "x"}, {"expr": "sum([1, 2])"}]
    answers = ask(*requests)
    probes = [answers[0]["output"]] + [answers[at]["output"] for at in range(2, len(answers), 5)]
    assert len(set(probes)) == 1 and "True torch.float32 False" in probes[0]
    for at in range(3, len(answers), 5):
        assert answers[at]["error"]["kind"] == answers[at + 1]["error"]["kind"] == "NameError"
        assert answers[at + 2]["value"] == 3
    again = ask(spoil[4], spoil[4])
    assert [answer["output"] for answer in again] == ["1\n", "1\n"]


def test_a_request_that_a_bound_kills(ask):
    stuck = {"id": "s", "script": "while True:\n    pass", "limits": {"time": 0.2}}
    hungry = {"id": "h", "expr": "len([torch.ones(10**6) + 1 for i in range(1000)])"}
    endless = {"id": "e", "expr": "[" + ", ".join(["ones(9000000)"] * 30) + "]"}
    good = {"expr": "1+1"}
    for jobs in ("1", "2"):
        answers = ask(good, stuck, good, hungry, good, endless, good, options=("--jobs", jobs))
        assert [answer["ok"] for answer in answers] == [True, False, True, False, True, False, True]
        assert [answers[at]["id"] for at in (1, 3, 5)] == ["s", "h", "e"]
        assert "0.2 s" in answers[1]["error"]["message"]
        assert all(answers[at]["error"]["exit"] == 5 for at in (1, 3, 5))


def test_more_processes_same_answers(ask):
    requests = [{"id": i, "expr": f"(x*{i}).sum()", "vars": {"x": [i, 1]}} if i % 7 else "bad" for i in range(300)]
    assert ask(*requests) == ask(*requests, options=("--jobs", "3"))


def test_trusted_has_the_ordinary_bounds(ask):
    long = {"script": "for i in range(1000001): pass\nprint(i)"}
    assert ask(long)[0]["error"]["message"].startswith("the program took more than 1,000,000 steps")
    assert ask(long, options=("--trusted",))[0]["output"] == "1000000\n"


@pytest.mark.parametrize(
    "options", [("--jobs", "0"), ("-f", "x"), ("--format", "csv"), ("--trusted", "--untrusted"), ("--limit", "time=none"), ("more",)]
)
def test_wrong_usage(options, capsys, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("")
    assert run(["batch", str(path), *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("UsageError: ")
