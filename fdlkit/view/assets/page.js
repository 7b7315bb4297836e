"use strict";

/* The page: a tree and a graph of one scene, which is in the page as JSON.

   Texts get in by `textContent` alone. A box is open or closed in both at once. Only
   what is in sight is in the document, so that thousands of nodes cost what dozens do. */
(() => {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const boxes = scene.boxes;
  const find = (id) => document.getElementById(id);
  const tree = find("tree"), rowsAt = find("rows"), graph = find("graph");
  const ROW = 22, INDENT = 16, MAX_INDENT = 640, LINE = 19, TOP = 6;
  const SVG = "http://www.w3.org/2000/svg";
  const state = {
    open: new Set(), shut: new Set(), defaults: true, references: true,
    chosen: 0, hits: [], hitSet: new Set(), hit: -1, query: "",
    x: 20, y: 20, scale: 1, isMoved: false,
  };

  // Items: every row of every box, at the first place of the box; a line of the tree.

  const items = [];
  const itemAt = new Map();          // "box:row" to the number of an item
  const places = boxes.map(() => []); // the items that lead to a box
  const marked = new Map();          // the number of what is shared to its items
  const followers = new Map();       // "box:row" to the items that follow it
  const sources = new Map();         // "box:row" to ["box:row"] that decide it

  function addItem(box, row, depth, parent) {
    const of = row < 0 ? null : boxes[box].rows[row];
    const leads = row < 0 ? 0 : of.box;
    let isFirst = row < 0;
    if (of && leads !== undefined) {
      const [holder, holderRow] = boxes[leads].holder;
      isFirst = holder === box && holderRow === row;
    }
    const number = items.length;
    items.push({
      number, box, row, of, depth, parent, end: 0,
      leads: leads === undefined ? -1 : leads, isFirst, path: null, text: null,
    });
    itemAt.set(`${box}:${row}`, number);
    if (of && of.mark) {
      if (!marked.has(of.mark)) marked.set(of.mark, []);
      marked.get(of.mark).push(number);
    }
    if (leads !== undefined) places[leads].push(number);
    return number;
  }

  function collectItems() {
    const stack = [{ box: 0, next: 0, above: [addItem(0, -1, 0, -1)] }];
    while (stack.length) {
      const at = stack[stack.length - 1];
      const rows = boxes[at.box].rows;
      if (at.next >= rows.length) { stack.pop(); continue; }
      const row = at.next++;
      const level = rows[row].level || 0;
      at.above.length = level + 1;
      const parent = at.above[level];
      const number = addItem(at.box, row, items[parent].depth + 1, parent);
      at.above.push(number);
      const item = items[number];
      if (item.isFirst) stack.push({ box: item.leads, next: 0, above: [number] });
    }
    const open = [];
    for (let i = 0; i <= items.length; i++) {
      while (open.length && (i === items.length || items[open[open.length - 1]].depth >= items[i].depth)) {
        items[open.pop()].end = i;
      }
      open.push(i);
    }
    for (const [box, row, toBox, toRow] of scene.references) {
      const from = `${box}:${row}`;
      const to = toRow === null ? keyOf(items[places[toBox][0]]) : `${toBox}:${toRow}`;
      if (!sources.has(from)) sources.set(from, []);
      sources.get(from).push(to);
      if (!followers.has(to)) followers.set(to, []);
      followers.get(to).push(itemAt.get(from));
    }
  }

  const keyOf = (item) => `${item.box}:${item.row}`;

  function pathOf(item) {
    const chain = [];
    for (let at = item; at.path === null; at = items[at.parent]) {
      chain.push(at);
      if (at.row < 0) { at.path = ""; chain.pop(); break; }
    }
    for (const at of chain.reverse()) {
      // A row's suffix goes on from its box: containers in between are in it already.
      let above = items[at.parent];
      while (above.box === at.box && above.row >= 0) above = items[above.parent];
      at.path = above.path + at.of.suffix;
    }
    return item.path;
  }
  const shownPath = (item) => pathOf(item).replace(/^\./, "") || "<root>";

  const hasBelow = (item) => item.end > item.number + 1;
  function isOpen(item) {
    return item.isFirst ? state.open.has(item.leads) : !state.shut.has(item.number);
  }
  function setOpen(item, open) {
    if (item.isFirst) state.open[open ? "add" : "delete"](item.leads);
    else state.shut[open ? "delete" : "add"](item.number);
  }
  const isQuiet = (item) => item.of !== null && (item.of.kind === "default" || item.of.kind === "unset");
  const isHidden = (item) => !state.defaults && item.of !== null && item.of.kind === "default" && !item.of.change;

  // Marks of what is different, where two configs are on one page.

  const SIGNS = { added: "+", removed: "-", changed: "~", moved: ">", shared: "&", unshared: "&", tagged: "#" };
  const changeOf = (item) => (item.of && item.of.change) || (item.row < 0 && boxes[0].change) || "";

  // The tree: lines of one height, of which only those in sight exist.

  let lines = [], lineOf = new Map(), drawnFrom = -1, drawnTo = -1;

  function updateLines() {
    lines = [];
    for (let i = 0; i < items.length;) {
      const item = items[i];
      if (isHidden(item)) { i = item.end; continue; }
      lines.push(i);
      i = isOpen(item) ? i + 1 : item.end;
    }
    lineOf = new Map(lines.map((number, line) => [number, line]));
    rowsAt.style.height = `${lines.length * ROW}px`;
    drawnFrom = -1;
    drawLines();
  }

  function drawLines() {
    const from = Math.max(0, Math.floor(tree.scrollTop / ROW) - 12);
    const to = Math.min(lines.length, Math.ceil((tree.scrollTop + tree.clientHeight) / ROW) + 12);
    if (from === drawnFrom && to === drawnTo) return;
    drawnFrom = from; drawnTo = to;
    const made = document.createDocumentFragment();
    for (let line = from; line < to; line++) made.append(lineElement(line));
    rowsAt.replaceChildren(made);
    tree.setAttribute("aria-activedescendant", `item${state.chosen}`);
  }
  function redrawLines() { drawnFrom = -1; drawLines(); }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* A text with what was searched for marked in it. */
  function piece(className, text) {
    const made = element("span", `text ${className}`);
    const at = state.query ? text.toLowerCase().indexOf(state.query) : -1;
    if (at < 0) { made.textContent = text; return made; }
    const end = at + state.query.length;
    made.append(text.slice(0, at), element("mark", "", text.slice(at, end)), text.slice(end));
    return made;
  }

  function lineElement(line) {
    const item = items[lines[line]], of = item.of;
    const made = element("div", "row");
    made.id = `item${item.number}`;
    made.dataset.item = item.number;
    made.style.top = `${line * ROW}px`;
    made.style.paddingLeft = `${8 + Math.min(item.depth * INDENT, MAX_INDENT)}px`;
    made.setAttribute("role", "treeitem");
    made.setAttribute("aria-level", item.depth + 1);
    made.setAttribute("aria-selected", item.number === state.chosen);
    made.classList.toggle("chosen", item.number === state.chosen);
    made.classList.toggle("hit", state.hitSet.has(item.number));
    made.classList.toggle("quiet", isQuiet(item));
    const twist = element("span", "twist", "");
    if (hasBelow(item)) {
      twist.textContent = isOpen(item) ? "▼" : "▶";
      twist.classList.add("toggle");
      made.setAttribute("aria-expanded", isOpen(item));
    }
    made.append(twist);
    const change = changeOf(item), isGone = item.row >= 0 && boxes[item.box].change === "removed";
    if (SIGNS[change]) {
      made.classList.add("marked", change);
      made.append(element("span", "sign", SIGNS[change]));
    } else if (isGone) made.classList.add("removed");
    if (!of) {
      made.append(piece("node", boxes[0].title));
      if (boxes[0].was) made.append(piece("quiet", `  (${boxes[0].was})`));
      return made;
    }
    made.append(piece("key", of.key));
    if (of.annotation && of.annotation !== of.text) made.append(piece("type", `: ${of.annotation}`));
    if (of.kind !== "unset") made.append(element("span", "quiet", " = "));
    if (of.mark) {
      const mark = element("button", "mark", `${marked.get(of.mark)[0] === item.number ? "&" : "*"}${of.mark}`);
      mark.title = "To the next place of this node (n)";
      mark.tabIndex = -1;
      made.append(mark);
    }
    const kind = { node: "node", reference: "reference", container: "quiet" }[of.kind] || "value";
    if (of.was) made.append(piece("was", of.was), element("span", "quiet", " → "));
    if (of.text) made.append(piece(kind, of.text));
    const led = item.leads >= 0 ? boxes[item.leads] : null;
    if (led && !change && SIGNS[led.change]) made.append(piece("quiet", `  ${SIGNS[led.change]} ${led.was || led.change}`));
    if (of.is_cut) made.append(element("span", "quiet", of.folded ? ` …${of.folded} node${of.folded > 1 ? "s" : ""}` : " …"));
    if (of.result) made.append(piece("value", ` = ${of.result}`));
    if (isQuiet(item)) made.append(element("span", "quiet", of.kind === "default" ? "  (default)" : "  (not set)"));
    if (of.set_by) made.append(piece("flag", `  (${of.set_by})`));
    for (const tag of of.tags || []) made.append(piece("tag", ` #${tag}`));
    if (of.notes) made.append(piece("quiet", `  (${of.notes.join("; ")})`));
    if (hasBelow(item) && !isOpen(item)) made.append(element("span", "quiet", " …"));
    return made;
  }

  // The graph.

  const measure = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  function widthOf(text, font) {
    const key = font + text;
    if (!widths.has(key)) {
      measure.font = `${font} system-ui, "Segoe UI", Helvetica, Arial, sans-serif`;
      widths.set(key, measure.measureText(text).width);
    }
    return widths.get(key);
  }
  const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

  const sizes = new Array(boxes.length);
  const followed = new Set();

  function cellsOf(number) {
    const cells = [];
    boxes[number].rows.forEach((row, i) => {
      if (row.kind === "default" && !row.tags && !row.change && !followed.has(`${number}:${i}`)) return;
      const pieces = [];
      if (row.was) pieces.push(["was", cut(row.was, 30)], ["quiet", " → "]);
      if (row.mark) pieces.push(["quiet", `&${row.mark} `]);
      if (row.text) {
        const kind = { reference: "reference", value: "" }[row.kind];
        pieces.push([kind === undefined ? "quiet" : kind, cut(row.text, 30)]);
      }
      if (row.is_cut) pieces.push(["quiet", row.folded ? ` …${row.folded}` : " …"]);
      if (row.result) pieces.push(["", ` = ${cut(row.result, 18)}`]);
      if (row.kind === "unset") pieces.push(["quiet", "not set"]);
      if (row.kind === "default") pieces.push(["quiet", "  default"]);
      if (row.set_by) pieces.push(["flag", `  ${row.set_by}`]);
      for (const tag of row.tags || []) pieces.push(["tag", `  #${tag}`]);
      if (row.notes) pieces.push(["quiet", `  (${cut(row.notes.join("; "), 40)})`]);
      const sign = SIGNS[row.change] ? `${SIGNS[row.change]} ` : "";
      cells.push({ row: i, key: sign + cut(row.key, 30), shift: 12 * (row.level || 0), pieces });
    });
    return cells;
  }

  const titleOf = (box) => (SIGNS[box.change] ? `${SIGNS[box.change]} ` : "") + cut(box.title, 40);

  /* What a box looks like: its header, and its rows if it is open. */
  function sizeOf(number) {
    const isBoxOpen = state.open.has(number);
    const known = sizes[number];
    if (known && known.isOpen === isBoxOpen) return known;
    const box = boxes[number];
    const group = box.group === undefined ? "" : scene.groups[box.group];
    const small = [group, box.mark ? `${box.places} places` : "", box.was || ""].filter(Boolean).join(" · ");
    const cells = isBoxOpen ? cellsOf(number) : [];
    let keys = 0, values = 0;
    for (const cell of cells) {
      keys = Math.max(keys, cell.shift + widthOf(cell.key, "12px"));
      values = Math.max(values, cell.pieces.reduce((sum, [kind, text]) =>
        sum + widthOf(text, kind === "flag" ? "600 12px" : "12px"), 0));
    }
    const title = widthOf(titleOf(box), "600 13px") + (box.mark ? 30 : 0) + 26;
    const w = Math.ceil(Math.max(title, widthOf(small, "10.5px"), cells.length ? keys + 14 + values : 0) + 22);
    const head = small ? 36 : 26;
    const h = head + (cells.length ? cells.length * LINE + 2 * TOP : 0);
    const y = new Map(cells.map((cell, i) => [cell.row, head + TOP + LINE * (i + 0.5)]));
    sizes[number] = { isOpen: isBoxOpen, w, h, head, small, cells, keys, y };
    return sizes[number];
  }

  const EDGES = { added: "added", changed: "added", shared: "added", unshared: "added", moved: "moved", removed: "removed" };
  function edgeMark(box, row) {
    const own = boxes[box].change;
    return own === "added" || own === "removed" ? own : EDGES[boxes[box].rows[row].change] || "";
  }

  let shown = [], indexOf = new Map(), placed = { at: [], routes: [], width: 0, height: 0 };
  const drawn = new Map();

  function updateGraph() {
    const visible = new Array(boxes.length).fill(false);
    visible[0] = true;
    const todo = [0];
    while (todo.length) {
      const number = todo.pop();
      if (!state.open.has(number)) continue;
      for (const row of boxes[number].rows) {
        if (row.box !== undefined && !visible[row.box]) {
          visible[row.box] = true;
          todo.push(row.box);
        }
      }
    }
    shown = [];
    visible.forEach((is, number) => { if (is) shown.push(number); });
    indexOf = new Map(shown.map((number, i) => [number, i]));
    const holds = [], links = [];
    for (const number of shown) {
      const size = sizeOf(number);
      for (const cell of size.cells) {
        const to = boxes[number].rows[cell.row].box;
        if (to !== undefined) holds.push({ from: indexOf.get(number), y: size.y.get(cell.row), to: indexOf.get(to), mark: edgeMark(number, cell.row) });
      }
    }
    for (const [box, row, toBox, toRow, mark] of scene.references) {
      if (!indexOf.has(box) || !indexOf.has(toBox)) continue;
      const y = sizeOf(box).y.get(row);
      const toY = toRow === null ? 17 : sizeOf(toBox).y.get(toRow);
      if (y === undefined || toY === undefined) continue;
      links.push({ from: indexOf.get(box), y, to: indexOf.get(toBox), toY, mark });
    }
    placed = layOut(shown.map(sizeOf), holds, links);
    makeEdges();
    drawn.forEach((made) => made.remove());
    drawn.clear();
    drawBoxes();
    const nodes = boxes.length, lost = placed.routes.filter((route) => !route.d).length;
    find("counts").textContent = `${nodes.toLocaleString("en")} node${nodes === 1 ? "" : "s"}` +
      (lost ? ` · ${lost} long line${lost === 1 ? "" : "s"} not drawn` : "");
  }

  function svg(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function makeEdges() {
    find("edges").replaceChildren();
    placed.routes.sort((a, b) => (a.kind === b.kind ? 0 : a.kind === "holds" ? 1 : -1));
    for (const route of placed.routes) {
      if (!route.d) continue;
      const g = svg("g", { class: `edge ${route.kind}` });
      if (route.kind === "holds" && boxes[shown[route.to]].mark) g.classList.add("shared");
      if (route.mark) g.classList.add(route.mark);
      g.append(svg("path", { class: "line", d: route.d }), svg("path", { class: "tip", d: route.tip }));
      route.element = g;
    }
    markEdges();
  }

  function markEdges() {
    const item = items[state.chosen];
    const box = item.leads >= 0 ? item.leads : item.box;
    const y = item.leads < 0 && indexOf.has(item.box) ? sizeOf(item.box).y.get(item.row) : undefined;
    for (const route of placed.routes) {
      if (!route.element) continue;
      const to = shown[route.to];
      const isOn = route.kind === "holds"
        ? to === box && item.leads >= 0
        : y !== undefined && ((to === box && route.toY === y) ||
          route.from.some(([from, fromY]) => shown[from] === box && fromY === y));
      route.element.classList.toggle("on", isOn);
    }
  }

  /* What is in sight is in the document; from afar boxes have a title and no rows. */
  function drawBoxes() {
    find("world").setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.scale})`);
    const isFar = state.scale < 0.42;
    const left = -state.x / state.scale - 100, top = -state.y / state.scale - 100;
    const right = left + graph.clientWidth / state.scale + 200;
    const bottom = top + graph.clientHeight / state.scale + 200;
    const layer = find("boxes"), fresh = new Map();
    shown.forEach((number, i) => {
      const { x, y } = placed.at[i], size = sizeOf(number);
      const isIn = x < right && x + size.w > left && y < bottom && y + size.h > top;
      const old = drawn.get(number);
      if (old && (!isIn || old.isFar !== isFar)) { old.remove(); drawn.delete(number); }
      if (isIn && !drawn.has(number)) {
        const made = boxElement(number, x, y, size, isFar);
        made.isFar = isFar;
        drawn.set(number, made);
        fresh.set(number, made);
        layer.append(made);
      }
    });
    markBoxes(fresh);
    const lines = find("edges");
    for (const { element: edge, area } of placed.routes) {
      if (!edge) continue;
      const isIn = area[0] < right && area[2] > left && area[1] < bottom && area[3] > top;
      if (isIn !== (edge.parentNode !== null)) isIn ? lines.append(edge) : edge.remove();
    }
  }

  function boxElement(number, x, y, size, isFar) {
    const box = boxes[number];
    const tint = box.group === undefined ? "none" : box.group % scene.tints;
    const g = svg("g", { class: `box t${tint}`, transform: `translate(${x} ${y})` });
    g.dataset.box = number;
    if (box.mark) g.classList.add("shared");
    if (SIGNS[box.change]) g.classList.add("marked", box.change);
    const first = items[places[number][0]];
    const round = (h, up) => `M0 ${h}V6Q0 0 6 0H${size.w - 6}Q${size.w} 0 ${size.w} 6V${up}`;
    g.append(svg("rect", { class: "frame", width: size.w, height: size.h, rx: 6 }));
    const outline = svg("rect", { class: "outline", width: size.w, height: size.h, rx: 6, "pointer-events": "none" });
    const isBare = size.h === size.head;
    g.append(isBare
      ? svg("rect", { class: "head", width: size.w, height: size.h, rx: 6 })
      : svg("path", { class: "head", d: `${round(size.head, size.head)}Z` }));
    g.append(svg("title", {}, `${box.name || box.title}\n${shownPath(first)}`));
    const title = svg("text", { class: "title", x: 11, y: 17 }, titleOf(box));
    if (isFar) {
      title.setAttribute("y", 22);
      title.classList.add("far");
      g.append(title, outline);
      return g;
    }
    g.append(title);
    if (box.mark) g.append(svg("text", { class: "quiet", x: 17 + widthOf(titleOf(box), "600 13px"), y: 17 }, `&${box.mark}`));
    if (size.small) g.append(svg("text", { class: "small", x: 11, y: 30 }, size.small));
    if (box.rows.length) {
      const twist = svg("g", { class: "toggle", role: "button", "aria-label": size.isOpen ? "Close" : "Open" });
      twist.dataset.toggle = number;
      twist.append(svg("rect", { class: "cell", x: size.w - 24, y: 3, width: 20, height: 20, rx: 4 }));
      twist.append(svg("text", { class: "small", x: size.w - 18, y: 17 }, size.isOpen ? "▼" : "▶"));
      g.append(twist);
    }
    size.cells.forEach((cell, i) => {
      const at = size.head + TOP + LINE * i;
      const item = itemAt.get(`${number}:${cell.row}`);
      const back = svg("rect", { class: "cell", x: 2, y: at, width: size.w - 4, height: LINE, rx: 3 });
      back.dataset.item = item;
      const mark = boxes[number].rows[cell.row].change;
      if (SIGNS[mark]) back.classList.add("marked", mark);
      const isQuietKey = ["default", "unset"].includes(boxes[number].rows[cell.row].kind);
      const text = svg("text", { x: 11 + cell.shift, y: at + 13.5, "pointer-events": "none", class: isQuietKey ? "quiet" : "" }, cell.key);
      const value = svg("text", { x: 11 + size.keys + 14, y: at + 13.5, "pointer-events": "none" });
      for (const [kind, content] of cell.pieces) value.append(svg("tspan", kind ? { class: kind } : {}, content));
      g.append(back, text, value);
    });
    g.append(outline);
    return g;
  }

  /* What is chosen and what is found, told to the boxes that are drawn already. */
  function markBoxes(some = drawn) {
    const chosen = items[state.chosen];
    some.forEach((made, number) => {
      made.classList.toggle("chosen", chosen.leads === number);
      made.classList.toggle("hit", places[number].some((place) => state.hitSet.has(place)));
      for (const cell of made.querySelectorAll("[data-item]")) {
        const item = Number(cell.dataset.item);
        cell.classList.toggle("chosen", item === state.chosen);
        cell.classList.toggle("hit", state.hitSet.has(item));
      }
    });
  }

  let frame = 0;
  function soon() {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; drawBoxes(); });
  }

  function zoom(factor, x = graph.clientWidth / 2, y = graph.clientHeight / 2) {
    const scale = Math.min(3, Math.max(0.02, state.scale * factor));
    state.x = x - ((x - state.x) * scale) / state.scale;
    state.y = y - ((y - state.y) * scale) / state.scale;
    state.scale = scale;
    state.isMoved = true;
    soon();
  }

  function fit() {
    const w = graph.clientWidth, h = graph.clientHeight - 36;  // above legend and buttons
    const scale = Math.min(1, (w - 40) / (placed.width || 1), (h - 40) / (placed.height || 1));
    state.scale = Math.max(0.02, scale);
    state.x = Math.max(20, (w - placed.width * state.scale) / 2);
    state.y = Math.max(20, (h - placed.height * state.scale) / 2);
    state.isMoved = false;
    soon();
  }

  /* Moves the graph as little as it takes to have the chosen row or box in sight. */
  function reveal() {
    const item = items[state.chosen];
    const number = item.leads >= 0 ? item.leads : item.box;
    const i = indexOf.get(number);
    if (i === undefined) return;
    if (state.scale < 0.42) { state.scale = 0.8; }
    const size = sizeOf(number), s = state.scale;
    const y = item.leads >= 0 ? 17 : size.y.get(item.row) ?? 17;
    const from = [placed.at[i].x * s + state.x, (placed.at[i].y + y) * s + state.y];
    const room = [graph.clientWidth, graph.clientHeight];
    const wide = Math.min(size.w * s, room[0] - 60);
    const was = [state.x, state.y];
    if (from[0] < 30 || from[0] + wide > room[0] - 20) state.x += (room[0] - wide) / 2 - from[0];
    if (from[1] < 30 || from[1] > room[1] - 60) state.y += room[1] / 2 - from[1];
    state.isMoved ||= state.x !== was[0] || state.y !== was[1];
  }

  // Choosing, opening, searching, copying.

  function openTo(item) {
    let isChanged = false;
    for (let at = items[item.parent]; at; at = items[at.parent]) {
      if (!isOpen(at)) { setOpen(at, true); isChanged = true; }
    }
    if (isHidden(item)) { state.defaults = true; pressed("defaults"); isChanged = true; }
    return isChanged;
  }

  function choose(number, { keepGraph = false } = {}) {
    const item = items[number];
    state.chosen = number;
    if (openTo(item)) { updateLines(); updateGraph(); }
    const top = lineOf.get(number) * ROW;
    if (top < tree.scrollTop + ROW) tree.scrollTop = Math.max(0, top - ROW);
    else if (top > tree.scrollTop + tree.clientHeight - 3 * ROW) tree.scrollTop = top - tree.clientHeight + 3 * ROW;
    redrawLines();
    markBoxes();
    if (!keepGraph) { reveal(); drawBoxes(); }
    markEdges();
    showDetail();
  }

  function toggle(item, open = !isOpen(item)) {
    if (!hasBelow(item) && !(item.isFirst && boxes[item.leads].rows.length)) return;
    const anchor = indexOf.get(item.leads >= 0 ? item.leads : item.box);
    const before = anchor === undefined ? null : { ...placed.at[anchor] };
    setOpen(item, open);
    updateLines();
    if (!lineOf.has(state.chosen)) state.chosen = item.number;
    updateGraph();
    const after = placed.at[indexOf.get(item.leads >= 0 ? item.leads : item.box)];
    if (before && after) {  // what was clicked stays where it was
      state.x += (before.x - after.x) * state.scale;
      state.y += (before.y - after.y) * state.scale;
    }
    redrawLines();
    markBoxes();
    drawBoxes();
    showDetail();
  }

  function setAll(open) {
    state.shut.clear();
    state.open.clear();
    if (open) boxes.forEach((_, number) => state.open.add(number));
    else {
      state.open.add(0);
      state.chosen = 0;
    }
    updateLines();
    updateGraph();
    choose(state.chosen, { keepGraph: true });
    fit();
  }

  function search(query) {
    state.query = query.toLowerCase();
    state.hits = [];
    if (state.query) {
      for (const item of items) if (!isHidden(item) && matches(item)) state.hits.push(item.number);
    }
    state.hitSet = new Set(state.hits);
    state.hit = -1;
    tell();
    redrawLines();
    markBoxes();
  }

  function matches(item) {
    if (item.text === null) {
      const of = item.of, box = item.leads >= 0 && item.isFirst ? boxes[item.leads] : null;
      item.text = [
        of && of.key, of && of.text, of && of.result, of && of.set_by,
        of && of.was, of && of.notes && of.notes.join("; "),
        box && (box.name || box.title), ...((of && of.tags) || []).map((tag) => `#${tag}`),
      ].filter(Boolean).join("\n").toLowerCase();
    }
    if (item.text.includes(state.query)) return true;
    // In a path it must reach the row's own name: `layers` is not all that is in it.
    const path = shownPath(item).toLowerCase();
    const at = path.lastIndexOf(state.query);
    const own = item.parent < 0 ? 0 : path.length - (pathOf(item).length - pathOf(items[item.parent]).length);
    return at >= 0 && at + state.query.length > own;
  }

  function nextHit(step) {
    if (!state.hits.length) return;
    if (state.hit < 0) {
      const after = state.hits.findIndex((hit) => hit >= state.chosen);
      state.hit = step > 0 ? Math.max(after, 0) : (after <= 0 ? state.hits.length : after) - 1;
    } else {
      state.hit = (state.hit + step + state.hits.length) % state.hits.length;
    }
    choose(state.hits[state.hit]);
    tell();
  }

  function tell() {
    const count = state.hits.length;
    find("found").textContent = !state.query ? "" : state.hit < 0 ? `${count}` : `${state.hit + 1}/${count}`;
  }

  function nextPlace() {
    const item = items[state.chosen];
    if (!item.of || !item.of.mark) return say("this is in one place only");
    const all = marked.get(item.of.mark);
    choose(all[(all.indexOf(item.number) + 1) % all.length]);
  }

  function toSource() {
    const to = sources.get(keyOf(items[state.chosen]));
    if (!to) return say("this is no reference");
    choose(itemAt.get(to[0]));
  }

  let silence = 0;
  function say(text) {
    const said = find("said");
    said.textContent = text;
    said.classList.add("now");
    clearTimeout(silence);
    silence = setTimeout(() => said.classList.remove("now"), 1600);
  }

  async function copyPath() {
    const path = shownPath(items[state.chosen]);
    try {
      await navigator.clipboard.writeText(path);
    } catch {  // no permission, or no clipboard for a page from a file
      const area = element("textarea", "", path);
      const had = document.activeElement;
      document.body.append(area);
      area.select();
      const isCopied = document.execCommand("copy");
      area.remove();
      had?.focus();
      if (!isCopied) return say("the browser does not let this page copy");
    }
    say(`copied ${path}`);
  }

  function showDetail() {
    const item = items[state.chosen], of = item.of, made = document.createDocumentFragment();
    const line = (what, ...parts) => {
      const div = element("div");
      if (what) div.append(element("span", "what", `${what} `));
      div.append(...parts);
      made.append(div);
    };
    const path = element("code", "text", shownPath(item));
    path.id = "path";
    const copy = element("button", "", "Copy path");
    copy.id = "copy";
    copy.title = "c";
    line("", path, copy);
    const box = item.leads >= 0 ? boxes[item.leads] : null;
    if (box && box.name) line("calls", element("code", "text", box.name));
    if (of) {
      if (of.kind !== "node" && of.text) line("", element("code", "text", of.text + (of.result ? ` = ${of.result}` : "")));
      if (of.was) line("was", element("code", "text", of.was));
      if (of.notes) line("", element("span", "text", of.notes.join("; ")));
      if (of.annotation) line("type", element("code", "text", of.annotation));
      if (of.set_by) line("set by", element("code", "text flag", of.set_by));
      else if (of.origin) line("written at", element("code", "text", of.origin));
      else if (of.kind === "default") line("", element("span", "quiet", "the default"));
    }
    const buttons = (numbers) => numbers.slice(0, 60).map((number) => {
      const button = element("button", "place text", shownPath(items[number]));
      button.dataset.to = number;
      return button;
    });
    const others = of && of.mark ? marked.get(of.mark) : [];
    if (others.length > 1) line(`shared by ${others.length} places:`, ...buttons(others));
    const to = sources.get(keyOf(item));
    if (to) line("follows", ...buttons(to.map((key) => itemAt.get(key))));
    const by = followers.get(keyOf(item));
    if (by) line(`followed by ${by.length}:`, ...buttons(by));
    find("detail").replaceChildren(made);
  }

  // What the reader does.

  function pressed(name) { find(name).setAttribute("aria-pressed", state[name]); }
  function flip(name) {
    state[name] = !state[name];
    pressed(name);
    if (name === "references") graph.classList.toggle("noreferences", !state.references);
    else {
      if (isHidden(items[state.chosen])) state.chosen = items[state.chosen].parent;
      updateLines();
      if (state.query) search(state.query);
      choose(state.chosen, { keepGraph: true });
    }
  }
  function flipTheme() {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  }

  const arrows = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    PageDown: () => step(20),
    PageUp: () => step(-20),
    Home: () => choose(lines[0]),
    End: () => choose(lines[lines.length - 1]),
    ArrowRight: () => {
      const item = items[state.chosen];
      if (hasBelow(item) && !isOpen(item)) { toggle(item, true); choose(item.number); }
      else if (hasBelow(item)) step(1);
    },
    ArrowLeft: () => {
      const item = items[state.chosen];
      if (hasBelow(item) && isOpen(item)) { toggle(item, false); choose(item.number); }
      else if (item.parent >= 0) choose(item.parent);
    },
    Enter: () => toggle(items[state.chosen]),
    " ": () => toggle(items[state.chosen]),
  };
  function step(by) {
    const line = lineOf.get(state.chosen) + by;
    choose(lines[Math.min(Math.max(line, 0), lines.length - 1)]);
  }

  const keys = {
    "/": () => find("search").select(),
    c: copyPath, n: nextPlace, s: toSource, e: () => setAll(true), E: () => setAll(false),
    d: () => flip("defaults"), r: () => flip("references"), t: flipTheme, f: fit,
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "−": () => zoom(0.8),
    "]": () => stepChange(1), "[": () => stepChange(-1),
    "?": () => { find("help").open = !find("help").open; },
    Escape: () => { find("help").open = false; },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === find("search")) {
      if (event.key === "Enter") { nextHit(event.shiftKey ? -1 : 1); event.preventDefault(); }
      if (event.key === "Escape") { find("search").value = ""; search(""); tree.focus(); }
      return;
    }
    const isButton = event.target.closest("button, summary");
    if (isButton && (event.key === "Enter" || event.key === " ")) return;
    if (event.target === find("split") && event.key.startsWith("Arrow")) {
      widen(leftShare + { ArrowLeft: -4, ArrowRight: 4 }[event.key]);
      return event.preventDefault();
    }
    const act = arrows[event.key] || keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    if (arrows[event.key]) tree.focus({ preventScroll: true });
  });

  tree.addEventListener("scroll", drawLines, { passive: true });
  tree.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row) return;
    const item = items[Number(row.dataset.item)];
    if (event.target.closest(".mark")) { state.chosen = item.number; return nextPlace(); }
    if (event.target.closest(".toggle")) { state.chosen = item.number; toggle(item); }
    choose(item.number);
  });
  tree.addEventListener("dblclick", (event) => {
    const row = event.target.closest(".row");
    if (row && !event.target.closest(".toggle, .mark")) toggle(items[Number(row.dataset.item)]);
  });
  find("detail").addEventListener("click", (event) => {
    if (event.target.id === "copy") copyPath();
    const place = event.target.closest(".place");
    if (place) choose(Number(place.dataset.to));
  });
  find("search").addEventListener("input", (event) => search(event.target.value.trim()));
  find("expand").addEventListener("click", () => setAll(true));
  find("collapse").addEventListener("click", () => setAll(false));
  find("defaults").addEventListener("click", () => flip("defaults"));
  find("references").addEventListener("click", () => flip("references"));
  find("theme").addEventListener("click", flipTheme);
  find("closer").addEventListener("click", () => zoom(1.25));
  find("farther").addEventListener("click", () => zoom(0.8));
  find("fit").addEventListener("click", fit);

  let held = null;
  graph.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = { x: event.clientX, y: event.clientY, moved: false };
  });
  graph.addEventListener("pointermove", (event) => {
    if (!held) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    if (!held.moved) { held.moved = true; graph.setPointerCapture(event.pointerId); graph.classList.add("held"); }
    state.x += dx; state.y += dy; state.isMoved = true;
    held.x = event.clientX; held.y = event.clientY;
    soon();
  });
  graph.addEventListener("pointerup", (event) => {
    const wasMoved = held?.moved;
    held = null;
    graph.classList.remove("held");
    if (wasMoved) return;
    const twist = event.target.closest("[data-toggle]");
    if (twist) return toggle(items[places[Number(twist.dataset.toggle)][0]]);
    const cell = event.target.closest("[data-item]");
    if (cell) return choose(Number(cell.dataset.item), { keepGraph: true });
    const box = event.target.closest(".box");
    if (box) choose(places[Number(box.dataset.box)][0], { keepGraph: true });
  });
  graph.addEventListener("pointercancel", () => { held = null; });
  graph.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = graph.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      return zoom(Math.exp(-event.deltaY / 240), event.clientX - box.left, event.clientY - box.top);
    }
    const unit = event.deltaMode === 1 ? 16 : 1;
    state.x -= (event.shiftKey ? event.deltaY : event.deltaX) * unit;
    state.y -= (event.shiftKey ? 0 : event.deltaY) * unit;
    state.isMoved = true;
    soon();
  }, { passive: false });

  let leftShare = 36;
  function widen(share) {
    leftShare = Math.min(85, Math.max(15, share));
    find("left").style.width = `${leftShare}%`;
    find("split").setAttribute("aria-valuenow", Math.round(leftShare));
    drawLines();
    soon();
  }
  find("split").addEventListener("pointerdown", (event) => {
    find("split").setPointerCapture(event.pointerId);
    const move = (at) => widen((100 * at.clientX) / document.body.clientWidth);
    find("split").addEventListener("pointermove", move);
    find("split").addEventListener("lostpointercapture", () => find("split").removeEventListener("pointermove", move), { once: true });
  });
  window.addEventListener("resize", () => {
    redrawLines();
    if (state.isMoved) soon();
    else fit();
  });
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { document.documentElement.dataset.theme = isDark.matches ? "dark" : "light"; };
  isDark.addEventListener("change", follow);

  // The beginning: opened from the root outwards, as far as a screen can hold; of two
  // configs, what leads to the first changes.

  let stepChange = () => {};
  function goTo(box, row) {
    const number = row === null ? places[box][0] : itemAt.get(`${box}:${row}`);
    if (number !== undefined) choose(number);
  }

  function openChanged() {
    const MOST = 150;
    let count = 0;
    state.open.add(0);
    for (let number = 0; number < boxes.length && count < MOST; number++) {
      if (!boxes[number].change) continue;
      count++;
      for (let at = number; !state.open.has(at); at = boxes[at].holder[0]) {
        state.open.add(at);
        if (!boxes[at].holder) break;
      }
    }
  }

  function openFirst() {
    const MOST = 60;
    let level = [0], count = 1;
    const seen = new Set([0]);
    while (level.length) {
      const next = [];
      for (const number of level) {
        for (const row of boxes[number].rows) {
          if (row.box !== undefined && !seen.has(row.box)) { seen.add(row.box); next.push(row.box); }
        }
      }
      if (count > 1 && count + next.length > MOST) return;
      for (const number of level) state.open.add(number);
      count += next.length;
      level = next;
    }
  }

  for (const [, , toBox, toRow] of scene.references) followed.add(`${toBox}:${toRow}`);
  follow();
  collectItems();
  if (scene.sections) {
    state.defaults = false;
    pressed("defaults");
    openChanged();
  } else openFirst();
  scene.groups.slice(0, 12).forEach((name, number) => {
    const entry = element("span"), swatch = svg("svg", { viewBox: "0 0 12 12", class: `t${number % scene.tints}` });
    swatch.append(svg("rect", { class: "swatch", x: 0.5, y: 0.5, width: 11, height: 11, rx: 3 }));
    entry.append(swatch, element("span", "text", name));
    find("legend").append(entry);
  });
  find("legend").hidden = !scene.groups.length;
  if (scene.sections) {
    stepChange = listChanges(scene.sections, goTo);
    tellEffects(scene.effects);
  }
  updateLines();
  updateGraph();
  choose(0, { keepGraph: true });
  fit();
  const toHash = () => {
    const path = decodeURIComponent(location.hash.slice(1));
    const item = path ? items.find((each) => shownPath(each) === path) : undefined;
    if (item) choose(item.number);
  };
  window.addEventListener("hashchange", toHash);
  toHash();
})();
