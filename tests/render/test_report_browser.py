"""The page of `gradcli report` in a real browser: headless Chromium, driven by chromedriver over plain HTTP.

Skipped where there is no Chromium. With GRADCLI_INSTALL_BROWSER=1, as root on Debian, the packages are installed first.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli.app import run
from tests import casebook

pytestmark = pytest.mark.slow

#: name of a page -> what `report` is asked for; the word of a script is the name of a recorded case
PAGES = {
    "expression": ["mean((x+2)*(x+2)*2)", "x=[[1,2],[3,4]]"],
    "curve": ["a*x*sin(x)+y", "x=2", "a=1", "y:=a*3"],
    "several outputs": ["prod(stack(x.unbind(0)))", "x=3,1,2"],
    "fit": ["optim/fits/polynomial_fit"],
    "module": ["nn/training/mlp_module"],
    "classes": ["optim/fits/softmax_regression"],
}

ARROW_DOWN, END, TAB = "\ue015", "\ue010", "\ue004"

#: in the page: texts whose contrast with what is behind them is too small, by WCAG 2.2
CONTRAST = """
const parts = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const lum = (c) => { const [r, g, b] = parts(c).map((p) => { p /= 255; return p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; const p = parts(c);
  if (p.length === 3 || p[3] > 0) return c; } return getComputedStyle(document.documentElement).backgroundColor; };
const low = [];
const hold = (text, ink, ground) => { const [a, b] = [lum(ink), lum(ground)].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) low.push([text.trim().slice(0, 30), ink, ground]); };
let count = 0;
for (const e of document.body.querySelectorAll("*")) {
  if (e.closest("svg") || e.tagName === "SCRIPT") continue;
  const own = [...e.childNodes].filter((n) => n.nodeType === 3 && n.data.trim()).map((n) => n.data).join(" ");
  if (own) { count += 1; hold(own, getComputedStyle(e).color, behind(e)); }
}
for (const e of document.querySelectorAll("svg.graph g text")) {
  count += 1;
  hold(e.textContent, getComputedStyle(e).fill, getComputedStyle(e.parentElement.querySelector("rect")).fill);
}
for (const e of document.querySelectorAll("svg.plot text")) {
  count += 1;
  hold(e.textContent, getComputedStyle(e).fill, getComputedStyle(e.closest("svg").querySelector(".paper")).fill);
}
return [count, low];
"""

#: in the page: nodes of the graph that touch each other, and texts that leave their boxes
OVERLAPS = """
const boxes = [...document.querySelectorAll("svg.graph .box")].map((e) => [e, e.getBoundingClientRect()]);
const bad = [];
boxes.forEach(([e, a], i) => {
  for (const [, b] of boxes.slice(i + 1))
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) bad.push("boxes");
  for (const text of e.parentElement.querySelectorAll("text")) {
    const t = text.getBoundingClientRect();
    if (t.left < a.left - 1 || t.right > a.right + 1 || t.top < a.top - 2 || t.bottom > a.bottom + 2) bad.push(text.textContent);
  }
});
return [boxes.length, bad];
"""


class Browser:
    """A session of chromedriver."""

    def __init__(self, driver: str, browser: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._base = f"http://127.0.0.1:{port}"
        self._session = ""
        self._await()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000", "--disable-dev-shm-usage"]
        options = {"goog:chromeOptions": {"args": arguments, "binary": browser}, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = f"/session/{self._call('POST', '/session', {'capabilities': {'alwaysMatch': options}})['sessionId']}"

    def _await(self) -> None:
        for _ in range(100):
            try:
                self._call("GET", "/status")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        self._process.kill()
        pytest.skip("chromedriver does not answer")

    def _call(self, method: str, path: str, content: Any = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self._base + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def post(self, path: str, content: Any) -> Any:
        return self._call("POST", self._session + path, content)

    def open(self, path: Path) -> None:
        self.post("/url", {"url": path.as_uri()})

    def js(self, code: str, *arguments: Any) -> Any:
        return self.post("/execute/sync", {"script": code, "args": list(arguments)})

    def dark(self, wanted: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
        self.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": [feature]}})

    def hover(self, selector: str) -> None:
        self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center', inline: 'center'})", selector)
        element = self.post("/element", {"using": "css selector", "value": selector})
        moves = [{"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": place} for place in ("viewport", element)]
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}]})

    def press(self, *keys: str) -> None:
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def messages(self) -> list[str]:
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"})]

    def close(self) -> None:
        try:
            if self._session:
                self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if os.environ.get("GRADCLI_INSTALL_BROWSER") == "1" and shutil.which("chromedriver") is None:
        for words in (["update"], ["install", "-y", "chromium", "chromium-driver"]):
            subprocess.run(["apt-get", "-q", *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver, or GRADCLI_INSTALL_BROWSER=1")
    try:
        started = Browser(driver, chromium)
    except urllib.error.HTTPError as error:
        pytest.skip(f"Chromium does not start: {error}")
    yield started
    started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, made once."""
    directory = tmp_path_factory.mktemp("pages")
    for i, words in enumerate(PAGES.values()):
        if len(words) == 1:
            file = directory / f"{i}.py"
            file.write_text(casebook.find(words[0]).script, encoding="utf-8")
            words = [str(file)]
        assert run(["report", *words, "-q", "-o", str(directory / f"{i}.html")]) == 0
    return {name: directory / f"{i}.html" for i, name in enumerate(PAGES)}


def lit(browser: Browser) -> str:
    return browser.js("return [...document.querySelectorAll('#source .lit')].map((e) => e.textContent).join('')")


def detail(browser: Browser) -> str:
    return browser.js("return document.getElementById('detail').innerText")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_and_overlaps(browser: Browser, pages: dict[str, Path], name: str, dark: bool) -> None:
    browser.dark(dark)
    browser.open(pages[name])
    count, low = browser.js(CONTRAST)
    assert count > 40 and low == []
    boxes, bad = browser.js(OVERLAPS)
    assert boxes > 1 and bad == []
    background = browser.js("return getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")
    # what is wide scrolls in its own frame
    assert browser.js("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.messages() == []


def test_no_network(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["fit"])
    assert browser.js("return performance.getEntriesByType('resource').length") == 0
    browser.js("const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)")
    browser.js("const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)")
    assert browser.js("return window.hacked === undefined")
    messages = " ".join(browser.messages())
    assert "Content Security Policy" in messages


def test_pointing_at_a_node(browser: Browser, pages: dict[str, Path]) -> None:
    browser.dark(False)
    browser.open(pages["expression"])
    assert lit(browser) == "mean((x+2)*(x+2)*2)"
    browser.hover("#g-n3 text")
    assert lit(browser) == "(x+2)*(x+2)"
    shown = detail(browser)
    assert shown.startswith("#3 MulBackward0\n") and "[[ 9., 16.],\n [25., 36.]]" in shown and "grad(#4) * 2" in shown
    assert browser.js("return document.querySelector('tr.here').dataset.node") == "3"
    assert browser.js("return [...document.querySelectorAll('g.near')].map((e) => e.dataset.node).sort()") == ["1", "2"]
    browser.hover("#g-nx text")
    assert lit(browser) == "xx"
    browser.hover("#steps tr[data-node='1'] td")
    assert lit(browser) == "x+2" and browser.js("return document.querySelector('g.here').id") == "g-n1"
    browser.hover("#source [data-from='0']")
    assert detail(browser).startswith("#5 MeanBackward0")


def test_the_text_of_a_bound_name(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["curve"])
    browser.hover("#g-n1 text")
    assert lit(browser) == "a*3" and "y = a*3" in detail(browser)


def test_keys(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["expression"])
    focused = "return [document.activeElement.tagName.toLowerCase(), document.activeElement.dataset.node || '']"
    seen = []
    for _ in range(6):
        browser.press(TAB)
        seen.append(tuple(browser.js(focused)))
        if seen[-1][0] == "g":
            break
    assert seen[-1] == ("g", "5")
    browser.press(ARROW_DOWN, ARROW_DOWN)
    assert browser.js(focused) == ["g", "3"] and lit(browser) == "(x+2)*(x+2)" and detail(browser).startswith("#3 ")
    outline = browser.js("return getComputedStyle(document.activeElement.querySelector('.box')).strokeWidth")
    assert outline == "4.5px"
    browser.press(END)
    assert browser.js(focused) == ["g", "x"]
    browser.press(TAB)
    assert browser.js(focused)[0] == "span"


def test_several_outputs(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["several outputs"])
    rows = browser.js("return [...document.querySelectorAll('#steps tbody tr')].map((e) => [e.dataset.node, e.cells[0].textContent])")
    assert any("[0]" in name for _, name in rows)
    node = next(key for key, name in rows if "[0]" in name)
    browser.hover(f"#g-n{node} text")
    assert detail(browser).startswith(f"#{node} ")
    assert browser.messages() == []


def test_hostile_text(browser: Browser, tmp_path: Path) -> None:
    hostile = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    text = hostile.replace("'", "\\'")
    code = f"# {hostile}\nimport torch\nx = torch.tensor(2., requires_grad=True)\nd = {{'{text}': x}}\ny = d['{text}'] * 2\n"
    (tmp_path / "lesson.py").write_text(f"{code}print('{text}\\x1b[1m')\n")
    assert run(["report", str(tmp_path / "lesson.py"), "-o", str(tmp_path / "out.html")]) == 0
    browser.open(tmp_path / "out.html")
    assert browser.js("return window.hacked === undefined && document.images.length === 0")
    assert browser.js("return document.querySelector('#output pre').textContent") == f"{hostile}\\x1b[1m\n"
    browser.hover("#g-n1 text")
    assert f"d['{text}'] * 2" in detail(browser)
    assert browser.js("return window.hacked === undefined && document.images.length === 0")
    assert browser.messages() == []


def test_two_thousand_nodes(browser: Browser, tmp_path: Path) -> None:
    loop = "for i in range(1990):\n    y = torch.sin(y)\n"
    (tmp_path / "long.py").write_text(f"import torch\nx = torch.tensor(0.5, requires_grad=True)\ny = x\n{loop}")
    assert run(["report", str(tmp_path / "long.py"), "-o", str(tmp_path / "out.html")]) == 0
    browser.open(tmp_path / "out.html")
    assert browser.js("return document.querySelectorAll('svg.graph g[data-node]').length") == 1991
    browser.js("document.querySelector('#g-n1000').focus()")
    assert detail(browser).startswith("#1000 SinBackward0") and lit(browser) == "torch.sin(y)"
    # the browser has to lay out every element
    assert browser.js("return document.querySelectorAll('*').length") < 40_000


#: in the page: the width and height of the graph, those of its frame, and how far it is scrolled down
SIZES = """
const frame = document.querySelector("svg.graph").closest(".scroll"), graph = document.querySelector("svg.graph").getBoundingClientRect();
return [graph.width, graph.height, frame.clientWidth, frame.clientHeight, frame.scrollTop];
"""


def test_a_large_graph_opens_whole_and_can_be_looked_at_closely(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["module"])
    wide, high, room, tall, _ = browser.js(SIZES)
    assert 100 < wide <= room and high <= tall
    browser.js("document.querySelector('#tools button:nth-child(2)').click()")
    full = browser.js("const size = document.querySelector('svg.graph').viewBox.baseVal; return [size.width, size.height]")
    assert full[0] > wide and browser.js(SIZES)[:2] == pytest.approx(full, abs=1)
    browser.js("for (let i = 0; i < 3; i += 1) document.querySelector('#tools button:last-child').click()")
    browser.js("document.querySelector('.looking > .scroll').scrollTop = 50")
    frame = browser.post("/element", {"using": "css selector", "value": ".looking > .scroll"})
    steps = [("pointerMove", 0), ("pointerDown", 0), ("pointerMove", -120), ("pointerUp", 0)]
    moves = [
        {"type": kind, "button": 0} | ({"duration": 0, "x": 0, "y": y, "origin": frame} if kind == "pointerMove" else {})
        for kind, y in steps
    ]
    browser.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}]})
    assert browser.js(SIZES)[4] == pytest.approx(170, abs=2)
    browser.js("document.querySelector('svg.graph g').focus()")
    browser.press("0")
    assert browser.js(SIZES)[0] == pytest.approx(wide, abs=1)
    assert browser.messages() == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_at_1200_pixels(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.post("/window/rect", {"width": 1200, "height": 1000})
    try:
        browser.open(pages[name])
        cut = "return [...document.querySelectorAll('.scroll, #source pre')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        assert browser.js(cut) == 0
        assert browser.js("return document.querySelector('.legend').innerText").startswith("a leaf")
    finally:
        browser.post("/window/rect", {"width": 1280, "height": 1000})


def test_a_narrow_window(browser: Browser, pages: dict[str, Path]) -> None:
    browser.post("/window/rect", {"width": 520, "height": 900})
    try:
        browser.open(pages["module"])
        assert browser.js("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.post("/window/rect", {"width": 1280, "height": 1000})
