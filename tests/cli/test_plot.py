"""`gradcli plot`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from gradcli.limits import Limits
from gradcli.results.plots import Curves, HeatMap
from gradcli.session import Session
from gradcli.source import Source


def plot(text: str, order: int = 0, points: tuple[int, ...] = (401,), **names: str) -> Curves | HeatMap:
    session = Session(bounds=Limits(), write=print, warn=print, read_stdin=bytes)
    for name, value in names.items():
        if not session.bind_range(name, value):
            session.bind(name, value, exact=False)
    return session.plot(Source("<expression>", text), order=order, points=points)


def gaps(found: Curves, curve: int = 0) -> list[float]:
    """Where the curve is not joined, though both points have a value."""
    defined = found.curves[curve].defined
    return [
        round(float(found.points[i] + found.points[i + 1]) / 2, 1)
        for i in np.flatnonzero(~found.curves[curve].joined)
        if defined[i] and defined[i + 1]
    ]


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "function", "first", "at_once"),
    [
        ("sin(x)", np.sin, np.cos, True),
        ("x**3 - x", lambda x: x**3 - x, lambda x: 3 * x**2 - 1, True),
        ("sum(x) * 2", lambda x: 2 * x, lambda x: 2 + 0 * x, False),
        ("x / x.norm()", np.sign, lambda x: 0 * x, False),
        ("cumsum(stack([x, x]), 0)[1]", lambda x: 2 * x, lambda x: 2 + 0 * x, True),
        ("x if x > 0 else -x", np.abs, np.sign, False),
        ("softmax(stack([x, 2 * x]), 0)[0]", lambda x: 1 / (1 + np.exp(x)), lambda x: -np.exp(x) / (1 + np.exp(x)) ** 2, True),
        ("cumsum(x.reshape(-1), 0).sum()", lambda x: x, lambda x: 1 + 0 * x, False),
        ("x.numel() * x", lambda x: x, lambda x: 1 + 0 * x, False),
        ("x - x.mean()", lambda x: 0 * x, lambda x: 0 * x, False),
        ("x.flip(0) if x.dim() else x", lambda x: x, lambda x: 1 + 0 * x, False),
    ],
)
def test_values_and_derivatives_are_those_of_single_points(text, function, first, at_once) -> None:
    found = plot(text, 1, (60,), x="-3..3")
    assert isinstance(found, Curves) and found.at_once == at_once
    x = found.points.astype(np.float64)
    np.testing.assert_allclose(found.curves[0].values, function(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.curves[1].values, first(x), rtol=1e-4, atol=1e-5)


def test_second_derivative() -> None:
    found = plot("x**3", 2, (50,), x="-2..2")
    assert isinstance(found, Curves)
    assert [curve.label for curve in found.curves] == ["f", "df/dx", "d²f/dx²"]
    np.testing.assert_allclose(found.curves[2].values, 6 * found.points, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("1/(x - 0.3)", [0.3]),
        ("tan(x)", [-1.6, 1.6]),
        ("floor(x)", [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]),
        ("torch.sign(x - 0.1)", [0.1]),
        ("where(x > 0.5, x, -x)", [0.5]),
        ("x if x < 1.2 else x + 1", [1.2]),
        ("abs(x)", []),
        ("tanh(100 * x)", []),
        ("torch.sign(x) * abs(x)**(1/3)", []),
        ("exp(x * x)", []),
        ("relu(x)", []),
    ],
)
def test_jumps_and_poles_are_not_joined(text: str, where: list[float]) -> None:
    found = plot(text, 1, (397,), x="-3..3")
    assert isinstance(found, Curves)
    assert gaps(found) == where


def test_a_pole_does_not_flatten_the_rest() -> None:
    found = plot("1/x", 0, (401,), x="-3..3")
    assert isinstance(found, Curves)
    assert -6 < found.low < -2 and 2 < found.high < 6
    assert found.notes == (f"shown from {found.low:.4g} to {found.high:.4g}: there is a pole",)
    tall = plot("exp(x * x)", 0, (401,), x="-3..3")
    assert isinstance(tall, Curves) and tall.high > 8000 and not tall.notes


def test_points_without_value() -> None:
    found = plot("log(x)", 1, (401,), x="-3..3")
    assert isinstance(found, Curves)
    values, slopes = found.curves
    assert not values.defined[:200].any() and values.defined[201:].all()
    # torch's derivative is there, but it is not drawn where the function is not
    assert np.isfinite(slopes.values[:200]).all() and not slopes.defined[:200].any()
    raising = plot("math.sqrt(x)", 0, (51,), x="-1..1")
    assert isinstance(raising, Curves) and raising.notes == ("25 points have no value: math domain error",)


@pytest.mark.parametrize("text", ["3", "x * 0 + 5", "ones(()) * 2", "x.detach()", "-7"])
def test_constants_and_what_has_no_gradient(text: str) -> None:
    found = plot(text, 1, (50,), x="-3..3")
    assert isinstance(found, Curves) and found.low < found.high
    if "* 0" not in text:
        assert found.notes == ("no gradient: none leads from the value back to x",) and len(found.curves) == 1


def test_parameters_give_several_curves() -> None:
    found = plot("a * x**2", 1, (21,), x="-3..3", a="1,2,3")
    assert isinstance(found, Curves)
    assert [curve.label for curve in found.curves] == ["f[0]", "f[1]", "f[2]", "df[0]/dx", "df[1]/dx", "df[2]/dx"]
    np.testing.assert_allclose(found.curves[5].values, 6 * found.points, rtol=1e-5)


def test_two_variables() -> None:
    found = plot("x**2 * y", 1, (7, 5), x="-3..3", y="0..4")
    assert isinstance(found, HeatMap) and found.at_once and found.values.shape == (5, 7)
    x, y = np.meshgrid(found.xs, found.ys)
    np.testing.assert_allclose(found.values, x**2 * y, rtol=1e-5)
    np.testing.assert_allclose(found.gradients[0], 2 * x * y, rtol=1e-5)
    np.testing.assert_allclose(found.gradients[1], x**2, rtol=1e-5)
    scalar = plot("sum(stack([x, y])**2)", 1, (7, 5), x="-3..3", y="0..4")
    assert isinstance(scalar, HeatMap) and not scalar.at_once
    np.testing.assert_allclose(scalar.values, x**2 + y**2, rtol=1e-5)


# --- the command ----------------------------------------------------------------------------------


def test_in_the_terminal(cli) -> None:
    answer = cli("plot", "x*sin(x)", "x=-6..6", "--grad")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].strip() == "x*sin(x)" and max(map(len, lines)) == 80 and len(lines) == 24
    assert "\x1b" not in answer.out
    assert lines[-1].split() == ["⠤⠤⠤⠤⠤⠤", "f", "⠤⠤⠤⠄", "df/dx"]
    assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == ["4", "2", "0", "-2", "-4"]
    assert lines[-2].split() == ["-6", "-4", "-2", "0", "2", "4", "6"]


def test_a_line_is_a_line(cli) -> None:
    lines = cli("plot", "x", "x=0..1").out.splitlines()[1:21]
    columns = [min(i for i, char in enumerate(line) if "\u2801" <= char <= "\u28ff") for line in lines]
    assert columns == sorted(columns, reverse=True)


def test_colour_and_two_variables(cli) -> None:
    assert "\x1b[31m" in cli("plot", "x", "x=0..1", "--grad", "--color", "always").out
    answer = cli("plot", "x**2 - y**2", "x=-2..2", "y=-2..2")
    assert answer.code == 0 and "arrows: where the gradient points, uphill" in answer.out
    middle = answer.out.splitlines()[11]
    assert "←" in middle and "→" in middle and middle.index("←") < middle.index("→")
    assert "\x1b[48;5;" in cli("plot", "x*y", "x=0..1", "y=0..1", "--color", "always").out


def test_without_unicode() -> None:
    command = [sys.executable, "-m", "gradcli", "plot", "x*sin(x)", "x=-6..6", "--second"]
    done = subprocess.run(command, capture_output=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""}, check=True)
    text = done.stdout.decode("ascii")
    assert "*** f" in text and "ooo df/dx" in text and "+++ d2f/dx2" in text and "\\u" not in text


def test_csv(cli) -> None:
    rows = list(csv.reader(io.StringIO(cli("plot", "relu(x)", "x=-1..1:5", "--second", "--format", "csv").out)))
    assert rows[0] == ["x", "f", "df/dx", "d2f/dx2"]
    assert [row[:3] for row in rows[1:]] == [
        ["-1.0", "0.0", "0.0"],
        ["-0.5", "0.0", "0.0"],
        ["0.0", "0.0", "0.0"],
        ["0.5", "0.5", "1.0"],
        ["1.0", "1.0", "1.0"],
    ]
    assert len(cli("plot", "x", "x=0..1", "--format", "csv").out.splitlines()) == 102
    assert cli("plot", "x*y", "x=0..1:2", "y=1..2:2", "--format", "csv").out.splitlines() == [
        "x,y,f,df/dx,df/dy",
        "0.0,1.0,0.0,1.0,0.0",
        "1.0,1.0,1.0,1.0,1.0",
        "0.0,2.0,0.0,2.0,0.0",
        "1.0,2.0,2.0,2.0,1.0",
    ]


def test_json(cli) -> None:
    content = json.loads(cli("plot", "log(x)", "x=-1..1:3", "--grad", "--json").out)
    assert content["points"] == [[-1.0, 0.0, 1.0]] and content["variables"] == ["x"]
    assert [curve["values"] for curve in content["curves"]] == [["nan", "-inf", 0.0], [-1.0, "inf", 1.0]]
    both = json.loads(cli("plot", "x*y", "x=0..1:2", "y=0..1:2", "--json").out)
    assert both["values"] == [[0.0, 0.0], [0.0, 1.0]] and set(both["gradients"]) == {"x", "y"}


@pytest.mark.parametrize("words", [["tan(x)", "x=-4..4", "--grad"], ["x*y", "x=0..1", "y=0..1"], ["3", "x=0..1"], ["log(x)*0/0", "x=0..1"]])
def test_svg(cli, tmp_path, words: list[str]) -> None:
    target = tmp_path / "f.svg"
    assert cli("plot", *words, "-o", str(target)).code == 0
    text = target.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg") and "prefers-color-scheme: dark" in text and "nan" not in text.replace(">f is nan everywhere<", "")
    assert (">f is nan everywhere<" in text) == (words[0] == "log(x)*0/0")
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None and title.text == words[0]


def test_hostile_text_in_svg(cli, tmp_path) -> None:
    target = tmp_path / "f.svg"
    assert cli("plot", "x + len('</title><script>&\"')", "x=0..1", "-o", str(target)).code == 0
    assert "<script" not in target.read_text()
    ElementTree.fromstring(target.read_text())


def test_png(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = cli("plot", "x", "x=0..1", "-o", str(tmp_path / "f.png"))
    assert answer.code == 2
    assert answer.err == (
        "UsageError: PNG pictures are drawn by matplotlib, which is not installed\n"
        "  pip install 'gradcli[plot]'\n  -o FILE.svg needs nothing more\n"
    )


@pytest.mark.parametrize("words", [["tan(x)", "x=-4..4", "--grad"], ["x*y", "x=0..1", "y=0..1"], ["x + len('$_$')", "x=0..1"]])
def test_png_with_matplotlib(cli, tmp_path, words: list[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    target = tmp_path / "f.png"
    assert cli("plot", *words, "-o", str(target)).code == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_graphs_with_matplotlib(cli, tmp_path, suffix: str, magic: bytes) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the extra `plot`, is not installed")
    target = tmp_path / f"g.{suffix}"
    assert cli("graph", "sum(max(x * x, dim=0).values + len('$_$'))", "x=[[1,2],[3,4]]", "--values", "-o", str(target)).code == 0
    assert target.read_bytes().startswith(magic)


def test_graphs_as_pictures_without_matplotlib(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = cli("graph", "x*2", "x=1", "-o", str(tmp_path / "g.pdf"))
    assert answer.code == 2 and answer.err.startswith("UsageError: PDF pictures are drawn by matplotlib")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["x", "x=3"], 2, "there is no range to plot over"),
        (["x", "x=1..1"], 2, "the range of x is a single point"),
        (["x", "x=-1e308..1e308"], 2, "the range from -1e+308 to 1e+308 is wider than float32 can tell"),
        (["x", "x=0..inf"], 2, "the range of x must go from one finite number to another"),
        (["x", "x=0..1:1"], 2, "a range needs two points at least"),
        (["x+y+z", "x=0..1", "y=0..1", "z=0..1"], 2, "plot takes one range or two, not 3"),
        (["x*y", "x=0..1", "y=0..1", "--second"], 2, "--second is for one variable"),
        (["x", "x=0..1", "--format", "repr"], 2, "--format takes table, csv, json, svg, png or pdf"),
        (["zeros(20) * x", "x=0..1"], 1, "a plot needs one number for each point, and this has shape (20,)"),
        (["x + 'a'", "x=0..1"], 1, "TypeError"),
        (["sinn(x)", "x=0..1"], 1, "did you mean sin"),
        (["math.log(-abs(x) - 1)", "x=0..1"], 1, "math domain error"),
        (["x +", "x=0..1"], 3, "SyntaxError"),
        (["x", "x=0..1:1000000", "--limit", "elements=1000"], 5, "LimitError"),
    ],
)
def test_mistakes(cli, words: list[str], code: int, text: str) -> None:
    answer = cli("plot", *words)
    assert (answer.code, answer.out) == (code, "")
    assert text in answer.err and "Traceback" not in answer.err


def test_expressions_as_ends_and_computed_names(cli) -> None:
    answer = cli("plot", "y + 1", "x=-math.pi..math.pi:3", "y:=sin(x/2)", "--grad", "--format", "csv")
    assert answer.code == 0
    assert [[round(float(cell), 4) + 0 for cell in row.split(",")] for row in answer.out.splitlines()[1:]] == [
        [-3.1416, 0, 0],
        [0, 1, 0.5],
        [3.1416, 2, 0],
    ]


@pytest.mark.slow
def test_untrusted() -> None:
    command = [sys.executable, "-m", "gradcli", "plot", "x*x", "x=-1..1", "--untrusted", "--grad"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "df/dx" in done.stdout


def test_a_help_needs_no_plotille() -> None:
    code = "import sys\nfrom gradcli.cli.app import run\nrun(['plot', '--help'])\nassert not {'plotille', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("sqrt(x-5)", "f is nan everywhere"),
        ("sqrt(x)+0*x", "f is nan at x = -2 to -0.04"),
        ("(x-1)/(x-1)", "f is nan at x = 1"),
        ("sqrt(abs(abs(x)-1)-0.5)", "f is nan at 50 of 101 points"),
        ("x", ""),
    ],
)
def test_nan_is_told(cli, expression: str, note: str) -> None:
    notes = json.loads(cli("plot", expression, "x=-2..2:101", "--grad", "--json").out)["notes"]
    assert [one for one in notes if "nan" in one] == ([note] if note else [])


def test_nan_on_a_map_is_told(cli) -> None:
    assert '"2 of 4 values are nan"' in cli("plot", "sqrt(x)+0*y", "x=-1..1:2", "y=0..1:2", "--json").out
    assert '"every value is nan"' in cli("plot", "sqrt(x-3)+0*y", "x=-1..1:2", "y=0..1:2", "--json").out
