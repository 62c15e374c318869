"""The page of `gradcli report`: what it has, that it is one file, and that no text breaks out of it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from gradcli.cli.app import run

VOID = {"wbr", "meta", "br", "img", "input", "link", "hr"}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \"'&"


class Page(HTMLParser):
    """The elements of a page, with a check that they are nested well."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] = self.texts.get(self._open[-1], "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def made(path: Path, *words: str, code: int = 0) -> str:
    target = path / "out.html"
    assert run(["report", *words, "-o", str(target)]) == code
    return target.read_text(encoding="utf-8")


def script(path: Path, text: str) -> str:
    (path / "lesson.py").write_text(text, encoding="utf-8")
    return made(path, str(path / "lesson.py"))


TRAINING = """\
import torch
w = torch.tensor([1., 2.], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(5):
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.3f}")
"""


def test_an_expression(tmp_path: Path) -> None:
    text = made(tmp_path, "mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]")
    page = Page(text)
    assert page.texts["title"].startswith("mean((x+2)*(x+2)*2)")
    rows = [row for row in page.all("tr") if "data-node" in row]
    assert [row["data-node"] for row in rows] == ["5", "4", "3", "2", "1", "x"]
    assert [row["data-title"] for row in rows][:2] == ["#5 MeanBackward0", "#4 MulBackward0"]
    assert {node["data-node"] for node in page.all("g") if "data-node" in node} == {"5", "4", "3", "2", "1", "x"}
    for part in ("grad(#3) * #1", "[[3., 4.],\n [5., 6.]]", "all 0.25", "after one step of gradient descent"):
        assert part in text
    assert [one["class"] for one in page.all("svg")] == ["key", "key", "key", "graph", "plot"]
    assert "</svg>a leaf</li>" in text and "</svg>the result</li>" in text and "elsewhere" not in text


def test_spans_cover_the_text(tmp_path: Path) -> None:
    page = Page(made(tmp_path, "mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]"))
    pieces = [one for one in page.all("span") if "data-from" in one]
    assert pieces[0]["data-from"] == "0" and pieces[-1]["data-to"] == str(len("mean((x+2)*(x+2)*2)"))
    assert all(a["data-to"] == b["data-from"] for a, b in pairwise(pieces))
    assert [one["data-from"] for one in pieces if one.get("data-leaf") == "x"] == ["6", "12"]


def test_a_script(tmp_path: Path) -> None:
    text = script(tmp_path, TRAINING)
    page = Page(text)
    assert "The graph is that of <code>loss</code>." in text
    assert '<pre tabindex="0">0 5.000\n1 3.200\n' in text
    assert "loss, each time that it is assigned" in text
    assert sum(one.get("class") == "row" for one in page.all("span")) == len(TRAINING.splitlines())


def test_what_backward_was_called_on_last(tmp_path: Path) -> None:
    """The page shows the tensor that backward() was called on, also without a name, and with the vector of the call."""
    text = script(tmp_path, "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\ny = x * 3\nx.exp().sum().backward()\n")
    assert "The graph is that of <code>x.exp().sum()</code>." in text
    assert ">start<" in text
    text = script(tmp_path, "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\n(x * x).backward(torch.tensor([1., 10.]))\n")
    assert "The graph is that of <code>x * x</code>." in text
    assert "start, the weights v" in text
    assert "[ 2., 40.]" in text


def test_a_name_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "lesson.py").write_text("import torch\nx = torch.tensor(2., requires_grad=True)\ny = x * 3\nz = y.exp()\n")
    assert "The graph is that of <code>y</code>." in made(tmp_path, str(tmp_path / "lesson.py"), "--of", "y")
    assert "The graph is that of <code>z</code>." in made(tmp_path, str(tmp_path / "lesson.py"))


@pytest.mark.parametrize("words", [["where(x>1, log(x), 2*x).sum()", "x=0,2"], ["(x*0).sum()", "x=1,2"], ["log(x).sum()", "x=0,0"]])
def test_gradients_that_are_nothing_to_descend_along(tmp_path: Path, words: list[str]) -> None:
    assert "after one step of gradient descent" not in made(tmp_path, *words)


def test_without_a_graph(tmp_path: Path) -> None:
    text = made(tmp_path, "1 + 2")
    assert "there is no graph" in text and "<svg" not in text
    assert "no name of the script has a value with a graph" in script(tmp_path, "print('hello')\n")


def test_ranges_and_names_bound_to_expressions(tmp_path: Path) -> None:
    text = made(tmp_path, "y * sin(x)", "x=-6..6", "y:=x*2")
    assert text.count('class="plot"') == 1 and "<code>y</code> is" in text
    assert "graph and gradients are those at x = 2.4" in text
    # the row of `y` marks the text that `y` is bound to
    row = next(row for row in Page(text).all("tr") if row.get("data-in") == "<value of y>")
    assert (row["data-from"], row["data-to"]) == ("0", "3")
    two = made(tmp_path, "x * y", "x=2", "y=3")
    assert two.count('class="plot"') == 3


def test_one_file_without_network_and_a_policy_that_holds(tmp_path: Path) -> None:
    text = script(tmp_path, TRAINING)
    page = Page(text)
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#)", text)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|eval\(", text)
    assert not any("style" in attributes or any(name.startswith("on") for name in attributes) for _, attributes in page.elements)
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text(tmp_path: Path) -> None:
    quoted = HOSTILE.replace("'", "\\'")
    text = script(
        tmp_path,
        f"# {HOSTILE}\nimport torch\nx = torch.tensor(2., requires_grad=True)\nnames = {{'{quoted}': x}}\n"
        f"y = names['{quoted}'] * len('{quoted}')\nprint('{quoted}\\x1b[31m\\u202e\\x00')\n",
    )
    page = Page(text)
    assert len(page.all("script")) == 1 and not page.all("img")
    assert "\x1b" not in text and "\u202e" not in text and "\x00" not in text
    assert "\\x1b[31m\\u202e\\x00" in text
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text


def test_a_hostile_file_name(tmp_path: Path) -> None:
    name = tmp_path / "<img src=x onerror=alert(1)>.py"
    name.write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.sum()\n")
    assert not Page(made(tmp_path, str(name))).all("img")


@pytest.mark.slow
def test_a_graph_of_two_thousand_steps(tmp_path: Path) -> None:
    text = script(tmp_path, "import torch\nx = torch.tensor(0.5, requires_grad=True)\ny = x\nfor i in range(3000):\n    y = torch.sin(y)\n")
    assert "of 3,001 steps" in text and len(text) < 4_000_000


@pytest.mark.slow
def test_a_text_of_many_terms(tmp_path: Path) -> None:
    text = made(tmp_path, "+".join(["x"] * 1500), "x=1")
    assert len(text) < 6_000_000


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["x", "x=1"], 2, "report needs a file to write"),
        (["-o", "a.html"], 2, "an expression or a script is missing"),
        (["x", "x=1", "-o", "a.html", "--format", "csv"], 2, "report writes HTML"),
        (["x", "x=1", "-o", "a.html", "-v", "1", "-v", "2"], 2, "report takes one -v"),
        (["none.py", "-o", "a.html"], 1, "cannot read none.py"),
        (["sinn(x)", "x=1", "-o", "a.html"], 1, "did you mean sin"),
        (["x +", "x=1", "-o", "a.html"], 3, "SyntaxError"),
    ],
)
def test_mistakes(words: list[str], code: int, message: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", *words]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()


def test_a_script_that_fails_leaves_the_old_page(tmp_path: Path, capsys) -> None:
    (tmp_path / "out.html").write_text("old")
    (tmp_path / "lesson.py").write_text("x = 1 / 0\n")
    assert made(tmp_path, str(tmp_path / "lesson.py"), code=1) == "old"
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- contrast -------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(dark: bool) -> None:
    css = (Path(__file__).parents[2] / "gradcli" / "render" / "report.css").read_text()
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", css.split("@media (prefers-color-scheme: dark)")[dark]))
    for text in ("ink", "soft", "grad", "here"):
        for ground in ("paper", "panel"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["mark-ink"], colours["mark"]) >= 4.5
