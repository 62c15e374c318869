"""Drawn graphs: trees, DOT, Mermaid, SVG, LaTeX. Nothing overlaps, everything is escaped, large graphs stay usable."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from gradcli.errors import GradcliError
from gradcli.render import latex
from gradcli.render.look import Look
from gradcli.render.pictures import dot, graph_svg, layout, mermaid, tree
from gradcli.results.explanations import Explanation, Link, Made, StepResult
from tests import casebook
from tests.analysis.looking import explain, script, session
from tests.counting import calls

#: every kind of text that could break out of a format
NASTY = "x<y>&\"'#`|\\\x1b[31m\u202e]]>--><script>{}$_^~%\n*/ // \u65e5\u672c"


def step(name: str, *inputs: str, expression: str = "f(x)", leaf: bool = False) -> StepResult:
    made = Made(name, (2,), None, None, "start", "")
    links = tuple(Link(one, 0, "input") for one in inputs)
    return StepResult(name, "SinBackward0", expression, "", "", leaf, (made,), links)


def chain(count: int) -> Explanation:
    """A chain that uses one variable at every step, and now and then a step from far above."""
    steps = [step("x", leaf=True)]
    for k in range(1, count):
        inputs = ["x" if k == 1 else f"#{k - 1}", "x"] + ([f"#{k - 7}"] if k % 9 == 8 else [])
        steps.append(step(f"#{k}", *inputs))
    leaf, *others = steps
    return Explanation("f", (*reversed(others), leaf), (), count)


Rectangle = tuple[float, float, float, float]


def rectangles(picture: str) -> list[Rectangle]:
    root = ElementTree.fromstring(picture)
    found = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("class") == "box"]
    return [(float(e.get("x", 0)), float(e.get("y", 0)), float(e.get("width", 0)), float(e.get("height", 0))) for e in found]


def check_picture(picture: str) -> None:
    """Boxes are apart from each other, within the picture, and wide enough for their texts."""
    root = ElementTree.fromstring(picture)
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    boxes = rectangles(picture)
    for x, y, w, h in boxes:
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
    by_row: dict[int, list[Rectangle]] = {}
    for box in boxes:
        for row in range(int(box[1] // 200), int((box[1] + box[3]) // 200) + 1):
            by_row.setdefault(row, []).append(box)
    for row_boxes in by_row.values():
        for a, b in itertools.combinations(row_boxes, 2):
            assert a is b or a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1], (a, b)
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        box = group.find("{http://www.w3.org/2000/svg}rect")
        assert box is not None
        for text in group.findall("{http://www.w3.org/2000/svg}text"):
            end = float(text.get("x", 0)) + float(text.get("textLength", 0))
            assert end <= float(box.get("x", 0)) + float(box.get("width", 0))


def test_the_tree_of_the_readme() -> None:
    told = session({"x": "[[1,2],[3,4]]"}).graph(source("mean((x+2)*(x+2)*2)"), gradients=True)
    assert tree.graph_tree(told, values=True, grads=True) == (
        "MeanBackward0  #5: mean(#4)                = 43.  grad 1.\n"
        "└── MulBackward0  #4: #3*2  (2, 2)         = [[18., 32.], [50., 72.]]  grad all 0.25\n"
        "    └── MulBackward0  #3: #1*#2  (2, 2)    = [[ 9., 16.], [25., 36.]]  grad all 0.5\n"
        "        ├── AddBackward0  #1: x+2  (2, 2)  = [[3., 4.], [5., 6.]]  grad [[1.5000, 2.0000], [2.5000, 3.0000]]\n"
        "        │   └── AccumulateGrad  x  (2, 2)  = [[1., 2.], [3., 4.]]  grad [[3., 4.], [5., 6.]]\n"
        "        └── AddBackward0  #2: x+2  (2, 2)  = [[3., 4.], [5., 6.]]  grad [[1.5000, 2.0000], [2.5000, 3.0000]]\n"
        "            └── AccumulateGrad  x, drawn above\n"
    )


def source(text: str):  # type: ignore[no-untyped-def]
    from gradcli.source import Source

    return Source("<expression>", text)


def test_a_shared_step_is_drawn_once() -> None:
    told = script("import torch\nx = torch.ones(2, requires_grad=True)\nh = x.exp()\ny = (h * h + h).sum()\n", "y")
    drawn = tree.graph_tree(told)
    assert drawn.count("h = x.exp()") == 1
    assert drawn.count("#1, drawn above") == 2


def test_a_deep_tree_stays_narrow() -> None:
    drawn = tree.graph_tree(chain(500))
    assert max(map(len, drawn.splitlines())) < 160
    assert "goes on below" in drawn
    for k in range(1, 500):
        assert drawn.count(f"#{k}: ") == 1


def test_dot() -> None:
    told = explain("sin(x)*x", {"x": "1"})
    drawn = dot.graph_dot(told)
    assert drawn.startswith("digraph gradcli {\n")
    assert '"#2" [label="#2  MulBackward0\\n#1*x\\nscalar"' in drawn.replace("#2 MulB", "#2  MulB")
    assert drawn.count('"x" -> ') == 2


def test_mermaid() -> None:
    drawn = mermaid.graph_mermaid(explain("sin(x)*x", {"x": "1"}))
    assert drawn.startswith("flowchart TD\n")
    assert "  n1 --> n0\n" in drawn
    assert "#35;1*x" in drawn


@pytest.mark.parametrize("values", [False, True])
def test_the_svg_of_a_network(values: bool) -> None:
    text = """
import torch
x = torch.ones(4, 3)
w = [torch.full((3, 3), 0.1 * i, requires_grad=True) for i in range(6)]
h = x
outs = []
for i in range(6):
    h = torch.tanh(h @ w[i])
    outs.append(h.mean())
loss = (torch.stack(outs) ** 2).sum() + w[0].norm()
"""
    told = script(text, "loss")
    assert 25 <= len(told.steps) <= 45
    picture = graph_svg.graph_svg(told, values=values, grads=values)
    check_picture(picture)
    assert "w[3]" in picture
    assert len(rectangles(picture)) >= len(told.steps)


def test_recorded_scripts_as_pictures() -> None:
    """Whatever the recorded programs compute last, nothing lies on top of anything."""
    from gradcli.core.tensor.tensor import Tensor
    from gradcli.source import Source

    drawn = 0
    for case in (case for book in casebook.books() if book.parent.name == "backward" for case in casebook.read(book).cases):
        one = session()
        try:
            one.run(Source(case.place, case.script))
        except GradcliError:  # the program ends with one
            continue
        names = [n for n, v in one._interpreter.variables.items() if type(v) is Tensor and v.node is not None]
        for name in names[-1:]:
            told = session().graph(Source(case.place, case.script), of=name)
            check_picture(graph_svg.graph_svg(told, values=True))
            drawn += 1
    assert drawn > 20


@pytest.mark.slow
def test_two_thousand_steps_take_no_more_each_than_two_hundred() -> None:
    few, told = chain(200), chain(2000)
    assert calls(lambda: graph_svg.graph_svg(told)).total() < 10.5 * calls(lambda: graph_svg.graph_svg(few)).total() < 1_300_000
    picture = graph_svg.graph_svg(told)
    check_picture(picture)
    _, _, width, height = map(float, re.findall(r'viewBox="([^"]*)"', picture)[0].split())
    assert width < 12_000 and height < 6_000


def test_every_format_escapes() -> None:
    nasty = Explanation(NASTY, (step("#1", "x", expression=NASTY), step("x", leaf=True)), (NASTY,), 2)
    picture = graph_svg.graph_svg(nasty)
    root = ElementTree.fromstring(picture)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "path", "g", "text", "a"}
    for text in (picture, tree.graph_tree(nasty), dot.graph_dot(nasty), mermaid.graph_mermaid(nasty)):
        assert "\x1b" not in text and "\u202e" not in text
    for line in dot.graph_dot(nasty).splitlines():
        assert line.strip().startswith("//") or re.sub(r"\\.", "", line).count('"') % 2 == 0
        assert line.strip().startswith(("//", '"', "label", "node", "edge", "digraph", "}"))
    labels = [line for line in mermaid.graph_mermaid(nasty).splitlines() if line.startswith("  n")]
    assert all(line.count('"') in (0, 2) and "<script" not in line for line in labels)


def test_colours_have_contrast() -> None:
    """Text on every box, light and dark, at least 4.5 to 1 (WCAG AA)."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = graph_svg._STYLE.split("@media")
    for style in (light, dark):
        texts = [re.search(pattern, style) for pattern in (r"text \{[^}]*fill: (#\w+)", r"\.grad \{ fill: (#\w+)")]
        boxes = re.findall(r"\.box \{[^}]*?fill: (#\w+)", style)
        assert len(boxes) == 4
        for text in texts:
            assert text is not None
            for box in boxes:
                bright, dull = sorted((luminance(text[1]), luminance(box)), reverse=True)
                assert (bright + 0.05) / (dull + 0.05) >= 4.5, (text[1], box)


def test_the_layout_keeps_gaps() -> None:
    boxes = [layout.Box(50, 20) for _ in range(21)]
    links = [(i, 0, "") for i in range(1, 21)]
    drawing = layout.arrange(boxes, links, lambda i: (20, 20))
    row = sorted(box.x for box in drawing.boxes[1:21])
    assert all(b - a >= 50 + layout.GAP_X - 1e-6 for a, b in itertools.pairwise(row))


# --- LaTeX ---

DERIVED = [
    ("mean((x+2)*(x+2)*2)", {"x": "[[1,2],[3,4]]"}),
    ("sum(sigmoid(x@x.t())/x.exp()).sqrt()", {"x": "[[1,2],[3,4]]"}),
    ("where(x>1,x**2,abs(x)).sum()*x.max()", {"x": "1,2"}),
    ("torch.cat([x,x],1).view(-1)[2]/3 - log_softmax(x,1).sum()", {"x": "[[1,2],[3,4]]"}),
    ("x.unbind()[0].sum() + F.mse_loss(x, x*w_1)", {"x": "[[1,2],[3,4]]", "w_1": "2"}),
    ("(x*1e-7).sum() + big_name_with_underscores", {"x": "ones(3,30)", "big_name_with_underscores": "inf"}),
]


@pytest.mark.parametrize(("expression", "variables"), DERIVED, ids=[expression for expression, _ in DERIVED])
def test_a_derivation_is_well_formed(expression: str, variables: dict[str, str], tmp_path: Path) -> None:
    text = latex.derivation(explain(expression, variables, full=True))
    check_latex(text)
    if shutil.which("pdflatex") is None:
        return  # where there is a LaTeX it must compile, too
    (tmp_path / "a.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-800:]


#: commands of LaTeX, amsmath and amssymb that derivations use
_COMMANDS = {
    "documentclass",
    "parbox",
    "quad",
    "raggedright",
    "strut",
    "usepackage",
    "setcounter",
    "allowdisplaybreaks",
    "begin",
    "end",
    "section",
    "bar",
    "odot",
    "text",
    "textsf",
    "textbackslash",
    "textasciicircum",
    "textasciitilde",
    "textless",
    "textgreater",
    "textbar",
    "textasciigrave",
    "frac",
    "cdot",
    "left",
    "right",
    "operatorname",
    "mathsf",
    "mathbb",
    "sqrt",
    "in",
    "times",
    "infty",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "max",
    "min",
    "det",
    "pi",
    "neq",
    "leq",
    "geq",
    "wedge",
    "vee",
    "div",
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "theta",
    "lambda",
    "mu",
    "sigma",
}


def check_latex(text: str) -> None:
    """Balanced braces, environments and \\left/\\right, known commands, no bare special characters in texts."""
    assert text.isascii()
    depth = 0
    for match in re.finditer(r"\\([A-Za-z]+|.|\n)|([{}])", text):
        if match[2]:
            depth += 1 if match[2] == "{" else -1
            assert depth >= 0
        elif match[1].isalpha():
            assert match[1] in _COMMANDS, match[1]
    assert depth == 0
    assert len(re.findall(r"\\left(?![a-z])", text)) == len(re.findall(r"\\right(?![a-z])", text))
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert not re.search(r"(?<!\\)[#$%~]", text.split(r"\begin{document}")[1])


def test_any_text_is_escaped_for_latex() -> None:
    from gradcli.analysis.formula_latex import escaped

    check_latex(f"\\begin{{document}}\\text{{{escaped(NASTY)}}}\\end{{document}}")


def test_many_inputs_of_one_step_stand_in_rows() -> None:
    told = script(
        "import torch\nws = [torch.tensor(float(i), requires_grad=True) for i in range(24)]\ny = torch.stack([w * 2 for w in ws]).sum()",
        "y",
    )
    picture = graph_svg.graph_svg(told, values=True)
    check_picture(picture)
    _, _, width, height = map(float, re.findall(r'viewBox="([^"]*)"', picture)[0].split())
    assert width < 2400 and height < 1200


def test_numbers_of_outputs_stand_apart() -> None:
    told = script(
        "import torch\nx = torch.ones(5, requires_grad=True)\na, b, c, d, e = x.unbind(0)\n"
        "y = torch.stack([a, b * c, d, e, b]).sum() + a * c",
        "y",
    )
    root = ElementTree.fromstring(graph_svg.graph_svg(told))
    small = [e for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "small"]
    assert sorted(e.text or "" for e in small) == ["[0]", "[0]", "[1]", "[1]", "[2]", "[2]", "[3]", "[4]"]
    places = [(float(e.get("x", 0)), float(e.get("y", 0))) for e in small]
    for (x, y), (u, v) in itertools.combinations(places, 2):
        assert abs(y - v) > 10 or abs(x - u) > 20


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_tree_is_cut_to_the_terminal(columns: int) -> None:
    told = explain("mean((x+2)*(x+2)*2)", {"x": "[[1,2],[3,4]]"})
    lines = tree.graph_tree(told, Look(columns=columns), values=True, grads=True).splitlines()
    assert sum("Backward0" in line or "Accum" in line or "..." in line for line in lines) >= 6
    assert max(map(len, lines)) <= columns
    if columns >= 60:
        assert sum("grad" in line for line in lines) == 6


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_deep_tree_stays_within_the_terminal_and_names_every_step(columns: int) -> None:
    text = tree.graph_tree(chain(500), Look(columns=columns), values=True)
    assert max(map(len, text.split("\n"))) <= columns
    drawn = re.findall(r"SinBackward0  #(\d+):", text)
    assert sorted(map(int, drawn)) == list(range(1, 500))


def test_what_goes_on_below_is_no_leaf_and_named_once() -> None:
    text = tree.graph_tree(chain(60))
    lists = [line.partition("goes on below: ")[2].split(", ") for line in text.split("\n") if "goes on below" in line]
    assert lists and all("x" not in names and len(set(names)) == len(names) for names in lists)


@pytest.mark.parametrize("shape", ["40", "3, 40", "2, 3, 4"])
def test_numbers_of_nodes_are_whole(shape: str) -> None:
    told = explain("(x*1.2345).sum()", {"x": f"rand({shape})"})
    whole = {f"{number:.4f}" for one in told.steps for made in one.outputs if made.value for number in made.value.array.ravel()}
    for picture in (tree.graph_tree(told, Look(columns=60), values=True), dot.graph_dot(told, values=True)):
        numbers = re.findall(r"\d+\.\d+", "".join(re.findall(r"= \[[^\n\\]*", picture)))
        assert len(numbers) > 3 and set(numbers) <= whole
