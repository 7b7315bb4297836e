"use strict";

/* The list of changes: a line for each node that has any, and one for each of them.

   Only lines in sight are in the document. `goTo(box, row)` is called for the change
   that is chosen. Returns a function that goes to the next or the last change. */
function listChanges(sections, goTo) {
  const ROW = 20;
  const find = (id) => document.getElementById(id);
  const list = find("changes"), linesAt = find("changelines");
  const lines = [], entries = [];
  for (const section of sections) {
    lines.push({ section });
    for (const entry of section.entries) {
      entries.push(lines.length);
      lines.push({ entry, number: entries.length - 1 });
    }
  }
  let chosen = -1, drawnFrom = -1, drawnTo = -1;

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function lineElement(number) {
    const { section, entry, number: which } = lines[number];
    const made = element("div", "told");
    made.style.top = `${number * ROW}px`;
    if (section) {
      made.classList.add("section");
      made.append(element("span", "text", section.path));
      if (section.called) made.append(element("span", "text quiet", `  ${section.called}`));
      made.dataset.box = section.box;
      return made;
    }
    made.id = `change${which}`;
    made.dataset.change = which;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", which === chosen);
    made.classList.toggle("chosen", which === chosen);
    made.append(element("span", `sign ${entry.style}`, entry.sign));
    for (const [style, text] of entry.parts) made.append(element("span", `text ${style}`, text));
    if (entry.notes) made.append(element("span", "text quiet", `  (${entry.notes.join("; ")})`));
    return made;
  }

  function draw() {
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - 10);
    const to = Math.min(lines.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 10);
    if (from === drawnFrom && to === drawnTo) return;
    drawnFrom = from; drawnTo = to;
    const made = document.createDocumentFragment();
    for (let number = from; number < to; number++) made.append(lineElement(number));
    linesAt.replaceChildren(made);
    if (chosen >= 0) list.setAttribute("aria-activedescendant", `change${chosen}`);
  }

  function choose(which) {
    chosen = which;
    const top = entries[which] * ROW;
    if (top < list.scrollTop + ROW) list.scrollTop = Math.max(0, top - ROW);
    else if (top > list.scrollTop + list.clientHeight - 2 * ROW) list.scrollTop = top - list.clientHeight + 2 * ROW;
    drawnFrom = -1;
    draw();
    const { entry } = lines[entries[which]];
    goTo(entry.box, entry.row);
  }

  function step(by) {
    if (!entries.length) return;
    const next = chosen < 0 ? (by > 0 ? 0 : entries.length - 1) : chosen + by;
    choose((next + entries.length) % entries.length);
  }

  const count = entries.length;
  find("changed").textContent = count ? `${count.toLocaleString("en")} change${count === 1 ? "" : "s"}` : "No differences";
  linesAt.style.height = `${lines.length * ROW}px`;
  list.addEventListener("scroll", draw, { passive: true });
  list.addEventListener("click", (event) => {
    const line = event.target.closest(".told");
    if (!line) return;
    if (line.dataset.change) choose(Number(line.dataset.change));
    else if (line.dataset.box) goTo(Number(line.dataset.box), null);
  });
  find("before").addEventListener("click", () => step(-1));
  find("after").addEventListener("click", () => step(1));
  window.addEventListener("resize", () => { drawnFrom = -1; draw(); });
  const keys = document.querySelector("#help dl");
  keys.append(element("dt", "", "[ ]"), element("dd", "", "the change before, the next one"));
  keys.append(element("dt", "", "+ - ~ > & #"), element("dd", "", "added, removed, changed, moved, shared or no longer, tagged or no longer"));
  draw();
  return step;
}

/* What the changes do, as a table: [name, old, new, difference]. */
function tellEffects(effects) {
  const table = document.getElementById("effects");
  table.hidden = !effects;
  for (const row of effects || []) {
    const made = table.insertRow();
    row.forEach((text, i) => {
      const cell = made.insertCell();
      cell.textContent = i === 2 ? `→ ${text}` : text;
    });
  }
}
