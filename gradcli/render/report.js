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
  const first = document.querySelector("#steps tbody tr[data-node]");
  if (first) show(first.dataset.node, "row");
})();
