// One node is looked at at a time: the graph, the table and the text show the same one. Text goes in as text, never as markup.
(() => {
  "use strict";
  const nodes = new Map();
  const add = (key, part, element) => {
    if (!nodes.has(key)) nodes.set(key, {});
    nodes.get(key)[part] = element;
  };
  for (const row of document.querySelectorAll("#steps tbody tr[data-node]")) add(row.dataset.node, "row", row);
  for (const box of document.querySelectorAll("svg.graph g[data-node]")) add(box.dataset.node, "box", box);
  const pieces = [...document.querySelectorAll("#source [data-from]")];
  const detail = document.getElementById("detail");
  const heads = [...document.querySelectorAll("#steps thead th")].map((cell) => cell.textContent);
  let now = null;
  let lit = [];

  const light = (elements, name) => {
    for (const element of elements) {
      element.classList.add(name);
      lit.push([element, name]);
    }
  };

  const tell = (row) => {
    const title = document.createElement("h3");
    title.textContent = row.dataset.title;
    const list = document.createElement("dl");
    // a node with several outputs has a row for each
    for (let one = row; one && one.dataset.title === row.dataset.title; one = one.nextElementSibling) {
      [...one.cells].forEach((cell, i) => {
        // number and grad_fn are in the title, the expression is that of all outputs
        if (i === 0 || i === 2 || (i === 1 && one !== row)) return;
        if (!cell.textContent || cell.textContent === "-") return;
        const term = document.createElement("dt");
        const text = document.createElement("dd");
        term.textContent = heads[i];
        text.textContent = cell.textContent;
        list.append(term, text);
      });
    }
    detail.replaceChildren(title, list);
  };

  const show = (key, scroll) => {
    const node = nodes.get(key);
    if (!node || key === now) return;
    now = key;
    for (const [element, name] of lit) element.classList.remove(name);
    lit = [];
    if (node.box) light([node.box], "here");
    if (!node.row) return;
    const row = node.row;
    light([row], "here");
    for (const other of (row.dataset.inputs || "").split(" ")) {
      const box = nodes.get(other);
      if (box && box.box) light([box.box], "near");
    }
    if (row.dataset.from !== undefined) {
      const from = Number(row.dataset.from), to = Number(row.dataset.to);
      light(pieces.filter((one) => one.dataset.in === row.dataset.in && Number(one.dataset.from) >= from && Number(one.dataset.to) <= to), "lit");
    } else if (row.dataset.leaf !== undefined) {
      light(pieces.filter((one) => one.dataset.leaf === row.dataset.leaf), "lit");
    }
    const marked = lit.find(([, name]) => name === "lit");
    if (marked && scroll !== "text") bring(marked[0]);
    tell(row);
    if (scroll && scroll !== "row") bring(row);
    if (scroll && scroll !== "box" && node.box) bring(node.box);
  };

  // scrolls within the boxes of the page, not the page itself
  const bring = (element) => {
    const frame = element.closest(".scroll, pre");
    if (!frame) return;
    const a = frame.getBoundingClientRect(), b = element.getBoundingClientRect();
    if (b.top < a.top + 30 || b.bottom > a.bottom) frame.scrollTop += b.top - a.top - frame.clientHeight / 2;
    if (b.left < a.left || b.left > a.right - 40) frame.scrollLeft += b.left - a.left - 60;
  };

  // each list is one stop for Tab; arrow keys, Home and End go on inside
  const rove = (elements, keyOf, part) => {
    elements.forEach((element, i) => {
      element.setAttribute("tabindex", i ? "-1" : "0");
      const choose = (scroll) => {
        const key = keyOf(element);
        if (key) show(key, scroll);
      };
      element.addEventListener("mouseenter", () => choose(false));
      element.addEventListener("click", () => choose(part));
      element.addEventListener("focus", () => choose(part));
      element.addEventListener("keydown", (event) => {
        const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        let to = step === undefined ? -1 : i + step;
        if (event.key === "Home") to = 0;
        if (event.key === "End") to = elements.length - 1;
        if (to < 0 || to >= elements.length) return;
        event.preventDefault();
        element.setAttribute("tabindex", "-1");
        elements[to].setAttribute("tabindex", "0");
        elements[to].focus();
      });
    });
  };

  rove([...document.querySelectorAll("svg.graph g[data-node]")], (one) => one.dataset.node, "box");
  rove([...document.querySelectorAll("#steps tbody tr[data-node]")], (one) => one.dataset.node, "row");
  rove(pieces.filter((one) => one.dataset.node), (one) => one.dataset.node, "text");

  // the graph opens as small as its frame; buttons, keys, the wheel with Ctrl, and dragging look closer
  const graph = document.querySelector("svg.graph");
  const frame = graph && graph.closest(".scroll");
  if (frame) {
    const { width, height } = graph.viewBox.baseVal;
    let scale = 1, fitting = true;
    const fitted = () => Math.min(1, (frame.clientWidth - 2) / width, (0.8 * innerHeight - 20) / height);
    const zoom = (to, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
      const before = scale, left = frame.scrollLeft, top = frame.scrollTop;
      scale = Math.min(4, Math.max(fitted(), to));
      fitting = scale === fitted();
      graph.style.width = `${width * scale}px`;
      graph.style.height = `${height * scale}px`;
      frame.scrollLeft = ((left + x) * scale) / before - x;
      frame.scrollTop = ((top + y) * scale) / before - y;
      frame.classList.toggle("close", !fitting);
    };
    const ways = {
      "Fit": ["the whole graph", "0", () => zoom(0)],
      "1:1": ["full size", "1", () => zoom(1)],
      "\u2212": ["smaller", "-", () => zoom(scale / 1.4)],
      "+": ["larger", "+", () => zoom(scale * 1.4)],
    };
    const tools = document.getElementById("tools");
    for (const [text, [label, key, act]] of Object.entries(ways)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.title = `${label} (${key})`;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", act);
      tools.append(button);
    }
    frame.addEventListener("keydown", (event) => {
      const way = Object.values(ways).find(([, key]) => key === event.key);
      if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      way[2]();
    });
    frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = frame.getBoundingClientRect();
      zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    let held = null;
    frame.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType === "mouse") held = [event.clientX, event.clientY, frame.scrollLeft, frame.scrollTop];
    });
    frame.addEventListener("pointermove", (event) => {
      if (!held || !(event.buttons & 1)) return;
      const dx = event.clientX - held[0], dy = event.clientY - held[1];
      if (!frame.hasPointerCapture(event.pointerId) && Math.hypot(dx, dy) < 5) return;
      frame.setPointerCapture(event.pointerId);
      frame.scrollLeft = held[2] - dx;
      frame.scrollTop = held[3] - dy;
    });
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = null; });
    addEventListener("resize", () => { if (fitting) zoom(0); });
    frame.style.minHeight = `${Math.min(height + 2, 460, 0.6 * innerHeight)}px`;
    zoom(0);
  }
  const first = document.querySelector("#steps tbody tr[data-node]");
  if (first) show(first.dataset.node, "row");
})();
