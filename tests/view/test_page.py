"""The page of a config: one file, nothing to fetch, and usable in a browser."""

from __future__ import annotations

import html
import json
import re

import fiddle as fdl
import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.graph.model import Graph
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.view.page import page
from fdlkit.view.scene import scene
from tests.graph.configs import configs
from tests.view import browser as driver
from tests.view.browser import needs_browser
from tests.view.scenes import (
    ESCAPE,
    TURN,
    embedded,
    hostile,
    large,
    small,
)


def paged(config, title="a title", depth=None):
    graph = config if isinstance(config, Graph) else snapshot(config)
    return page(scene(graph, depth=depth, defaults=True, limit=400), title)


def test_a_page_holds_its_scene_and_points_nowhere():
    text = paged(small())
    drawn = scene(snapshot(small()), defaults=True, limit=400)
    boxes = embedded(text)["boxes"]
    assert [box["title"] for box in boxes] == [box.title for box in drawn.boxes]
    assert boxes[1]["rows"][0]["set_by"] == "--fdl_set"
    # The one address is the name of SVG, which nothing fetches.
    assert set(re.findall(r"\w+://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href|import|url)\s*[=(]", text)
    assert "default-src 'none'" in text


@hypothesis.given(configs())
def test_any_config_is_a_page(config):
    drawn = scene(snapshot(config), defaults=True)
    told = embedded(page(drawn, "x"))
    assert len(told["boxes"]) == len(drawn.boxes)
    assert [tuple(edge) for edge in told["references"]] == [
        (e.box, e.row, e.to_box, e.to_row) for e in drawn.edges if e.kind == "reference"
    ]


@pytest.mark.parametrize("title", ["</title><script>", f"{ESCAPE}{TURN}", "x" * 10**6])
def test_nothing_in_a_value_or_a_title_ends_its_element(title):
    text = paged(hostile(), title)
    assert text.count("<script") == 2 and text.count("</script") == 2
    assert text.count("<title>") == text.count("</title>") == 1
    assert ESCAPE not in text and TURN not in text and "\0" not in text
    assert len(text) < 200_000
    text.encode()
    assert html.unescape(re.search("<title>(.*)</title>", text)[1]).isprintable()


def test_a_page_costs_what_its_nodes_cost():
    assert len(paged(large("wide"))) < 600 * 10_000
    assert len(paged(large("tall"))) < 1_000_000
    assert len(embedded(paged(large("diamonds")))["boxes"]) == 31


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with driver.browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def opened(tab, tmp_path):
    """Opens the page of a config; the browser must have had no complaint about it."""

    def open_page(config, depth=None):
        path = tmp_path / "page.html"
        path.write_text(paged(config, depth=depth), encoding="utf-8")
        tab.open(path)
        tab.frame()
        return tab

    yield open_page
    assert not tab.complaints
    assert [url.partition(":")[0] for url in tab.requested] == ["file"]


def chosen(tab):
    return tab.text("#path")


def rows(tab):
    """The lines of the tree that are in the document."""
    return tab.run("[...document.querySelectorAll('.row')].map(row => row.textContent)")


@needs_browser
def test_tree_and_graph_are_there(opened):
    tab = opened(small())
    assert tab.text("#title") == "a title"
    assert tab.text("#counts") == "7 nodes"
    assert any("hidden: int = 128  (--fdl_set)" in row for row in rows(tab))
    assert tab.count("#boxes .box") == 7
    assert tab.count("#boxes .box.shared") == 2
    assert tab.count(".edge.reference") == 2


@needs_browser
def test_what_the_depth_hides_is_counted(opened):
    tab = opened(small(), depth=1)
    assert tab.count("#boxes .box") == 6
    assert any(row.endswith("&1Mlp …1 node") for row in rows(tab))
    assert any(row.endswith("*1Mlp …") for row in rows(tab))
    tab.press("/")
    tab.type("model.embed")
    tab.press("Enter")
    tab.press("Escape")
    tab.press("n")
    assert chosen(tab) == "model.block"


@needs_browser
def test_an_address_can_end_in_a_path(opened, tmp_path):
    tab = opened(small())
    tab.run("location.hash = \"#parts['pair'][0]\"")
    tab.wait("document.querySelector('#path').textContent.endsWith('[0]')")
    assert chosen(tab) == "parts['pair'][0]"


@needs_browser
def test_a_search_goes_from_hit_to_hit(opened):
    tab = opened(small())
    tab.press("/")
    tab.type("HIDDEN")
    assert tab.text("#found") == "2"
    tab.press("Enter")
    assert (tab.text("#found"), chosen(tab)) == ("1/2", "model.hidden")
    tab.press("Enter")
    assert (tab.text("#found"), chosen(tab)) == ("2/2", "model.embed.width")
    tab.press("Enter")
    assert chosen(tab) == "model.hidden"
    assert (
        "".join(
            tab.run("[...document.querySelectorAll('mark')].map(m => m.textContent)")
        ).lower()
        == "hiddenhidden"
    )
    assert tab.count("#boxes .cell.hit") == 2
    tab.press("Escape")
    assert tab.text("#found") == "" and tab.count("mark") == 0


@needs_browser
def test_a_search_reaches_the_rows_own_name_in_a_path(opened):
    tab = opened(small())
    tab.press("/")
    tab.type("model.e")
    tab.press("Enter")
    assert (tab.text("#found"), chosen(tab)) == ("1/1", "model.embed")


@needs_browser
def test_what_is_closed_is_gone_in_tree_and_graph_and_comes_back(opened):
    tab = opened(small())
    before, boxes = rows(tab), tab.count("#boxes .box")
    tab.press("ArrowDown")
    assert chosen(tab) == "model"
    tab.press("ArrowLeft")
    assert len(rows(tab)) < len(before)
    assert tab.count("#boxes .box") == boxes - 1  # what only the model holds
    assert not any("hidden" in row for row in rows(tab))
    tab.press("ArrowRight")
    assert rows(tab) == before and tab.count("#boxes .box") == boxes
    tab.click("#collapse")
    assert tab.count("#boxes .box") == 6
    tab.click("#boxes .box [data-toggle='1']")
    assert tab.count("#boxes .box") == 7
    tab.press("E")
    tab.press("e")
    assert rows(tab) == before


@needs_browser
def test_a_shared_node_is_followed_from_place_to_place(opened):
    tab = opened(small())
    tab.press("/")
    tab.type("model.embed")
    tab.press("Enter")
    tab.press("Escape")
    assert chosen(tab) == "model.embed"
    assert tab.count(".edge.on") == 1
    tab.press("n")
    assert chosen(tab) == "model.block"
    tab.press("n")
    assert chosen(tab) == "model.embed"
    tab.click("#detail .place:nth-of-type(2)")
    assert chosen(tab) == "model.block"
    tab.click("#item3 .mark")  # the badge in the tree does the same
    assert chosen(tab) in ("model.embed", "model.block")


@needs_browser
def test_a_reference_leads_to_its_source_and_back(opened):
    tab = opened(small())
    tab.press("/")
    tab.type("rate.steps")
    tab.press("Enter")
    tab.press("Escape")
    assert chosen(tab) == "rate.steps"
    assert tab.count(".edge.reference.on") == 1
    tab.press("s")
    assert chosen(tab) == "steps"
    tab.click("#detail .place")
    assert chosen(tab) == "rate.steps"


@needs_browser
def test_the_copied_path_is_what_can_be_pasted(opened):
    tab = opened(small())
    tab.press("/")
    tab.type("['pair']")
    tab.press("Enter")
    tab.press("Escape")
    tab.press("c")
    tab.wait("document.getElementById('said').textContent.startsWith('copied')")
    tab.press("/")
    tab.press("v", commands=("paste",))
    assert tab.run("document.getElementById('search').value") == "parts['pair']"
    tab.press("Escape")
    tab.click("#copy")
    tab.wait("document.getElementById('said').textContent === \"copied parts['pair']\"")


@needs_browser
def test_a_click_in_the_graph_chooses_in_the_tree(opened):
    tab = opened(small())
    for kind in ("mousePressed", "mouseReleased"):
        x, y = tab.run(
            "(() => {const b = document.querySelector('[data-box=\"5\"] .title')"
            ".getBoundingClientRect(); return [b.x + 3, b.y + 3]})()"
        )
        tab.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                 clickCount=1)  # fmt: skip
    assert chosen(tab) == "rate"
    assert tab.text(".row.chosen").endswith("partial schedule")


@needs_browser
def test_light_and_dark_follow_the_system_and_the_button(opened):
    tab = opened(small())
    theme = "document.documentElement.dataset.theme"
    for scheme in ("dark", "light"):
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        tab.send("Emulation.setEmulatedMedia", features=feature)
        tab.wait(f"{theme} === '{scheme}'")
    light = tab.run("getComputedStyle(document.body).backgroundColor")
    tab.click("#theme")
    assert tab.run(theme) == "dark"
    assert tab.run("getComputedStyle(document.body).backgroundColor") != light


@needs_browser
def test_defaults_and_references_can_be_left_out(opened):
    tab = opened(small())
    assert any("(default)" in row for row in rows(tab))
    tab.press("d")
    assert not any("(default)" in row for row in rows(tab))
    tab.press("r")
    shown = "getComputedStyle(document.querySelector('.edge.reference')).display"
    assert tab.run(shown) == "none"


@needs_browser
def test_nothing_in_a_value_runs_or_shows_as_more_than_text(opened):
    tab = opened(hostile())
    assert tab.run("window.broken") is None
    assert tab.count("script") == 2
    assert any("</script><script>window.broken" in row for row in rows(tab))
    tab.press("e")
    tab.press("/")
    tab.type("</title>")
    tab.press("Enter")
    assert chosen(tab) == "a</title>"


@needs_browser
@pytest.mark.parametrize(
    ("name", "nodes"),
    [("bushy", 2002), ("wide", 10_001), ("tall", 1001), ("diamonds", 31)],
)
def test_thousands_of_nodes_are_worked_through(opened, name, nodes):
    tab = opened(large(name))
    assert tab.text("#counts") == f"{nodes:,} nodes"
    tab.press("e")
    # Only what is in sight is in the document, so that nothing slows down.
    assert tab.count(".row") < 100
    tab.press("End")
    last = chosen(tab)
    assert tab.count(".row.chosen") == 1
    tab.press("/")
    tab.type("width")
    tab.press("Enter")
    tab.press("Escape")
    assert chosen(tab).endswith("width") and chosen(tab) != last
    assert 0 < tab.count("#boxes .box") < 200
    tab.press("f")
    tab.press("E")
    assert tab.count(".row") < 100 and chosen(tab) == "<root>"


@needs_browser
def test_lines_that_would_need_too_many_lanes_are_counted_and_not_drawn(opened):
    chain = fdl.Config(dict, mark=120)
    for level in reversed(range(120)):  # each follows a value half way up
        source = ".".join(["next"] * (level // 2) + ["mark"])
        chain = fdl.Config(dict, mark=level, far=ref(source), next=chain)
    tab = opened(chain)
    tab.press("e")
    assert "long lines not drawn" in tab.text("#counts")
    assert tab.count(".row") > 0


LAID_OUT = """(({boxes, holds, references}) => {
  const made = layOut(boxes, holds, references);
  const overlaps = [], crossed = [];
  const within = (x, y, i) => {
    const {x: left, y: top} = made.at[i], {w, h} = boxes[i];
    return x > left + .6 && x < left + w - .6 && y > top + .6 && y < top + h - .6;
  };
  boxes.forEach((a, i) => boxes.forEach((b, j) => {
    const p = made.at[i], q = made.at[j];
    const besides = p.x >= q.x + b.w || q.x >= p.x + a.w;
    if (i < j && !besides && p.y < q.y + b.h && q.y < p.y + a.h) overlaps.push([i, j]);
  }));
  made.routes.forEach((route, n) => {
    if (!route.d) return;
    for (const part of route.d.split(/(?=M)/)) {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", part);
      const length = path.getTotalLength();
      for (let at = 0; at <= length; at += 4) {
        const p = path.getPointAtLength(at);
        boxes.forEach((_, i) => { if (within(p.x, p.y, i)) crossed.push([n, i]); });
      }
    }
  });
  return {
    overlaps, crossed, drawn: made.routes.filter((r) => r.d).length,
    ends: made.routes.reduce((sum, r) => sum + r.from.length, 0),
    height: made.height, width: made.width,
  };
})"""


@st.composite
def drawings(draw):
    """Boxes with rows, each box held by some that come before it, and references."""
    count = draw(st.integers(1, 14))
    boxes = [
        {"w": draw(st.integers(40, 300)), "h": 36 + 20 * draw(st.integers(0, 8))}
        for _ in range(count)
    ]

    def row(box):
        return draw(st.integers(20, boxes[box]["h"] - 10))

    holds, references = [], []
    for to in range(1, count):
        for _ in range(draw(st.integers(1, 3))):
            holder = draw(st.integers(0, to - 1))
            holds.append({"from": holder, "y": row(holder), "to": to})
    for _ in range(draw(st.integers(0, 6))):
        one, two = (draw(st.integers(0, count - 1)) for _ in range(2))
        references.append({"from": one, "y": row(one), "to": two, "toY": row(two)})
    return {"boxes": boxes, "holds": holds, "references": references}


@needs_browser
@hypothesis.settings(max_examples=60)
@hypothesis.given(drawings())
def test_no_box_covers_another_and_no_edge_runs_through_one(layout_tab, drawing):
    made = layout_tab.run(f"{LAID_OUT}({json.dumps(drawing)})")
    assert made["overlaps"] == [] and made["crossed"] == []
    assert made["ends"] == len(drawing["holds"]) + len(drawing["references"])


@pytest.fixture(scope="module")
def layout_tab(tab, tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "page.html"
    path.write_text(paged(small()), encoding="utf-8")
    tab.open(path)
    return tab


CROSSINGS = """(() => {
  const boxes = Array.from({length: 40}, () => ({w: 100, h: 96})), holds = [];
  for (let to = 1; to < 40; to++) {
    const from = Math.floor((to - 1) / 3);
    holds.push({from, y: 50 + 15 * ((to - 1) % 3), to});
  }
  const {at} = layOut(boxes, holds, []), columns = new Map();
  for (const {from, y, to} of holds) {
    const ends = columns.get(at[to].x) || [];
    columns.set(at[to].x, [...ends, [at[from].y + y, at[to].y]]);
  }
  let count = 0;
  columns.forEach((ends) => {
    ends.sort((a, b) => a[0] - b[0]);
    ends.forEach((end, i) => { if (i && ends[i - 1][1] > end[1]) count++; });
  });
  return count;
})()"""


@needs_browser
def test_a_tree_is_laid_out_without_a_crossing(layout_tab):
    crossings = layout_tab.run(CROSSINGS)
    assert crossings == 0
