"use strict";

/* Places boxes in columns, from left to right, and routes the edges between them.

   An edge crosses a column only in a lane of its own: all edges that end at the same
   place share one, so that what is shared looks like a bus. Nothing here touches the
   page, and nothing recurses: a config may be a thousand levels deep.

   boxes: [{w, h}], in the order of a reader.
   holds: [{from, y, to, mark}]: from a row (its middle is at y) to a box; edges of
   different marks do not share a line.
   references: [{from, y, to, toY, mark}]: from a row to the row that decides its value.

   Returns {at: [{x, y}], routes: [{kind, mark, to, toY, from: [[box, y]…], d, tip, area}],
   width, height}, `area` being [left, top, right, bottom]. An edge that would need too many lanes has an empty `d`. */
function layOut(boxes, holds, references) {
  const GUTTER = 56, HEAD = 17;
  const layer = layersOf(boxes.length, holds);
  const vertices = boxes.map((box, i) => ({
    box: i, h: box.h, layer: layer[i], key: i, into: [], out: [], y: 0, place: 0,
  }));
  const bundles = bundlesOf(holds, references, HEAD);
  let lanesLeft = 4 * boxes.length + 400;

  for (const bundle of bundles) {
    const target = vertices[bundle.to];
    const members = bundle.from.map(([box, y]) => ({ vertex: vertices[box], y }));
    const before = members.filter((m) => m.vertex.layer < target.layer);
    const after = members.filter((m) => m.vertex.layer > target.layer);
    bundle.beside = members.filter((m) => m.vertex.layer === target.layer);
    bundle.links = [];
    const first = before.reduce((f, m) => Math.min(f, m.vertex.layer + 1), target.layer);
    const last = after.reduce((l, m) => Math.max(l, m.vertex.layer - 1), target.layer);
    bundle.isDrawn = last - first <= lanesLeft;
    if (!bundle.isDrawn) continue;
    lanesLeft -= last - first;
    const lanes = new Map([[target.layer, target]]);
    for (let at = first; at <= last; at++) {
      if (at === target.layer) continue;
      const near = (at < target.layer ? before : after)[0].vertex;
      const lane = {
        box: -1, h: 0, layer: at, key: near.key + 0.5, into: [], out: [], y: 0, place: 0,
      };
      lanes.set(at, lane);
      vertices.push(lane);
    }
    const weight = bundle.kind === "holds" ? 1 : 0.1;
    const link = (left, leftY, right, rightY) => {
      const both = left.box < 0 && right.box < 0 ? 6 * weight : weight;
      const made = { left, leftY, right, rightY, weight: both };
      left.out.push(made);
      right.into.push(made);
      bundle.links.push(made);
    };
    const laneY = (vertex) => (vertex.box < 0 ? 0 : bundle.toY);
    for (const m of before) {
      const next = lanes.get(m.vertex.layer + 1);
      link(m.vertex, m.y, next, laneY(next));
    }
    for (const m of after) {
      const next = lanes.get(m.vertex.layer - 1);
      link(next, laneY(next), m.vertex, m.y);
    }
    for (let at = first; at < last; at++) {
      const left = lanes.get(at), right = lanes.get(at + 1);
      link(left, laneY(left), right, laneY(right));
    }
  }

  const columns = [];
  for (const vertex of vertices) (columns[vertex.layer] ||= []).push(vertex);
  for (const column of columns) column.sort((a, b) => a.key - b.key);
  order(columns);
  settle(columns);

  const widths = columns.map((column) =>
    column.reduce((most, v) => Math.max(most, v.box < 0 ? 0 : boxes[v.box].w), 0));
  const lefts = [];
  let x = 0;
  columns.forEach((column, i) => {
    lefts.push(x);
    const crowd = column.filter((v) => v.out.length).length;
    x += widths[i] + GUTTER + Math.min(60, 2 * crowd);
  });
  const top = vertices.reduce((least, v) => Math.min(least, v.y), Infinity);
  for (const vertex of vertices) vertex.y -= top;

  const at = boxes.map((_, i) => ({ x: lefts[layer[i]], y: vertices[i].y }));
  const routes = bundles.map((bundle, i) => ({
    kind: bundle.kind,
    mark: bundle.mark,
    to: bundle.to,
    toY: bundle.toY,
    from: bundle.from,
    ...(bundle.isDrawn
      ? pathOf(bundle, i, vertices[bundle.to], boxes, lefts, widths)
      : { d: "", tip: "", area: [0, 0, 0, 0] }),
  }));
  return {
    at,
    routes,
    width: at.reduce((most, p, i) => Math.max(most, p.x + boxes[i].w), 0),
    height: vertices.reduce((most, v) => Math.max(most, v.y + v.h), 0),
  };
}

/* The column of each box: one to the right of the last box that holds it. */
function layersOf(count, holds) {
  const layer = new Array(count).fill(0), waiting = new Array(count).fill(0);
  const below = Array.from({ length: count }, () => []);
  for (const { from, to } of holds) {
    below[from].push(to);
    waiting[to]++;
  }
  const ready = [];
  for (let i = 0; i < count; i++) if (!waiting[i]) ready.push(i);
  while (ready.length) {
    const box = ready.pop();
    for (const to of below[box]) {
      layer[to] = Math.max(layer[to], layer[box] + 1);
      if (!--waiting[to]) ready.push(to);
    }
  }
  return layer;
}

/* Edges that end at the same place, together. */
function bundlesOf(holds, references, head) {
  const found = new Map();
  const add = (kind, { from, y, to, mark = "" }, toY) => {
    const key = `${kind} ${mark} ${to} ${toY}`;
    if (!found.has(key)) found.set(key, { kind, mark, to, toY, from: [] });
    found.get(key).from.push([from, y]);
  };
  for (const edge of holds) add("holds", edge, head);
  for (const edge of references) add("reference", edge, edge.toY);
  return [...found.values()];
}

/* Orders each column by where its edges come from; keeps the order with the fewest
   crossings. A tree needs one sweep and has none. */
function order(columns) {
  const number = () => columns.forEach((c) => c.forEach((v, i) => { v.place = i; }));
  const sweep = (column, links, far, farY) => {
    for (const v of column) {
      let sum = 0, weight = 0;
      for (const link of v[links]) {
        const other = link[far];
        sum += link.weight * (other.place + link[farY] / (other.h + 1));
        weight += link.weight;
      }
      v.wish = weight ? sum / weight : v.place;
    }
    column.sort((a, b) => a.wish - b.wish || a.key - b.key);
    column.forEach((v, i) => { v.place = i; });
  };
  number();
  let best = Infinity, kept = null;
  for (let round = 0; round < 6 && best > 0; round++) {
    for (let i = 1; i < columns.length; i++) sweep(columns[i], "into", "left", "leftY");
    const crossings = countCrossings(columns);
    if (crossings < best) {
      best = crossings;
      kept = columns.map((column) => column.slice());
    }
    if (best === 0) break;
    for (let i = columns.length - 2; i >= 0; i--) sweep(columns[i], "out", "right", "rightY");
  }
  if (kept) kept.forEach((column, i) => { columns[i] = column; });
  number();
}

function countCrossings(columns) {
  let crossings = 0;
  for (const column of columns) {
    const ends = [];
    for (const v of column) {
      const links = v.out.slice().sort(
        (a, b) => a.leftY - b.leftY || a.right.place - b.right.place);
      for (const link of links) ends.push(link.right.place);
    }
    crossings += inversions(ends);
  }
  return crossings;
}

/* How many pairs are out of order, by merging. */
function inversions(values) {
  let count = 0, from = values.slice(), to = new Array(values.length);
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length);
      const end = Math.min(start + 2 * width, from.length);
      let a = start, b = middle;
      for (let i = start; i < end; i++) {
        if (b >= end || (a < middle && from[a] <= from[b])) to[i] = from[a++];
        else { to[i] = from[b++]; count += middle - a; }
      }
    }
    [from, to] = [to, from];
  }
  return count;
}

/* Heights: each vertex as near as possible to where its edges would be straight, and
   none above another. Within a column that is an isotonic regression. */
function settle(columns) {
  const gap = (a, b) => (a.box >= 0 && b.box >= 0 ? 22 : a.box < 0 && b.box < 0 ? 8 : 14);
  const place = (column) => {
    const blocks = [];
    let shift = 0;
    column.forEach((v, i) => {
      if (i) shift += column[i - 1].h + gap(column[i - 1], v);
      v.shift = shift;
      let block = { sum: v.pull * (v.wish - shift), weight: v.pull, count: 1 };
      while (blocks.length && mean(blocks[blocks.length - 1]) >= mean(block)) {
        const above = blocks.pop();
        block = {
          sum: above.sum + block.sum,
          weight: above.weight + block.weight,
          count: above.count + block.count,
        };
      }
      blocks.push(block);
    });
    let i = 0;
    for (const block of blocks) {
      for (let n = 0; n < block.count; n++, i++) column[i].y = mean(block) + column[i].shift;
    }
  };
  const wish = (v, links, far, farY, ownY) => {
    let sum = 0;
    v.pull = 0;
    for (const link of v[links]) {
      sum += link.weight * (link[far].y + link[farY] - link[ownY]);
      v.pull += link.weight;
    }
    v.wish = v.pull ? sum / v.pull : v.y;
    v.pull ||= 0.01;
  };
  for (let round = 0; round < 8; round++) {
    for (const column of columns) {
      for (const v of column) wish(v, "into", "left", "leftY", "rightY");
      place(column);
    }
    if (round === 7) break;
    for (const column of columns.slice().reverse()) {
      for (const v of column) wish(v, "out", "right", "rightY", "leftY");
      place(column);
    }
  }
}

function mean(block) {
  return block.sum / block.weight;
}

/* The line of a bundle and the tip at its end. */
function pathOf(bundle, number, target, boxes, lefts, widths) {
  const parts = [], xs = [], ys = [], crossed = new Set();
  const round = (value) => Math.round(value * 10) / 10;
  for (const { left, leftY, right, rightY } of bundle.links) {
    const y1 = round(left.y + leftY), y2 = round(right.y + rightY);
    const out = lefts[left.layer] + widths[left.layer], into = lefts[right.layer];
    let start = lefts[left.layer] + (left.box < 0 ? 0 : boxes[left.box].w);
    if (left.box < 0) {  // edges that share a lane cross the column as one line
      if (crossed.has(left)) start = out;
      crossed.add(left);
    }
    const middle = (out + into) / 2;
    xs.push(start, into);
    ys.push(y1, y2);
    parts.push(`M${round(start)} ${y1}H${round(out)}` +
      `C${round(middle)} ${y1} ${round(middle)} ${y2} ${round(into)} ${y2}`);
  }
  const x = lefts[target.layer], y = round(target.y + bundle.toY);
  for (const member of bundle.beside) {
    const from = round(member.vertex.y + member.y);
    const bow = round(Math.min(34, 12 + 0.2 * Math.abs(from - y)) + 3 * (number % 4));
    xs.push(x - bow, x);
    ys.push(from, y);
    parts.push(`M${x} ${from}C${x - bow} ${from} ${x - bow} ${y} ${x} ${y}`);
  }
  const right = round(x + boxes[target.box].w);
  const isFromLeft = bundle.links.some((link) => link.right === target);
  const isFromRight = bundle.links.some((link) => link.left === target);
  const tips = [];
  if (isFromLeft || bundle.beside.length) tips.push(`M${x - 7} ${y - 4}L${x} ${y}L${x - 7} ${y + 4}`);
  if (isFromRight) tips.push(`M${right + 7} ${y - 4}L${right} ${y}L${right + 7} ${y + 4}`);
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const area = [least(xs) - 8, least(ys) - 8, most(xs) + 8, most(ys) + 8];
  return { d: parts.join(""), tip: tips.join(""), area };
}
