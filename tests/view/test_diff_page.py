"""The page of a difference: a list of changes that lead to their places."""

from __future__ import annotations

import re

import fiddle as fdl
import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.diff.compare import compare
from fdlkit.graph.copying import copy
from fdlkit.graph.snapshot import snapshot
from fdlkit.view.page import diff_page
from fdlkit.view.union import union
from tests.diff.edits import edited
from tests.diff.test_cases import pair
from tests.graph.configs import configs
from tests.view import browser as driver
from tests.view.browser import needs_browser
from tests.view.scenes import ESCAPE, TURN, embedded, hostile

EFFECTS = [("parameters", "10", "20", "+100.0%")]


def paged(old, new, title="a title", effects=()):
    compared = compare(snapshot(old), snapshot(new))
    return diff_page(union(compared, whole=True, defaults=True), title, effects)


def test_the_page_has_all_changes_and_points_nowhere():
    text = paged(*pair("swap_adam_for_sgd"), effects=EFFECTS)
    told = embedded(text)
    assert [s["path"] for s in told["sections"]] == ["optimizer"]
    assert [e["sign"] for s in told["sections"] for e in s["entries"]] == ["~", "+"]
    assert told["effects"] == [list(EFFECTS[0])]
    assert set(re.findall(r"\w+://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href|import|url)\s*[=(]", text)
    assert "default-src 'none'" in text


@hypothesis.given(st.data())
def test_any_two_configs_are_a_page(data):
    old = data.draw(configs())
    new, _ = data.draw(edited(old))
    compared = compare(snapshot(old), snapshot(new))
    entries = [e for s in embedded(paged(old, new))["sections"] for e in s["entries"]]
    assert len(entries) == len(compared.diff)


def test_nothing_in_a_value_ends_its_element():
    new = hostile()
    new.values = {"</script>": ESCAPE}
    new.inner = f"</script>{TURN}"
    text = paged(hostile(), new, f"</title>{TURN}")
    assert text.count("<script") == 2 and text.count("</script") == 2
    assert text.count("<title>") == text.count("</title>") == 1
    assert ESCAPE not in text and TURN not in text and "\0" not in text
    assert len(text) < 250_000


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with driver.browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def opened(tab, tmp_path):
    """Opens the page of two configs; the browser must have had no complaint."""

    def open_page(old, new, effects=()):
        path = tmp_path / "page.html"
        path.write_text(paged(old, new, effects=effects), encoding="utf-8")
        tab.open(path)
        tab.frame()
        return tab

    yield open_page
    assert not tab.complaints
    assert [url.partition(":")[0] for url in tab.requested] == ["file"]


def chosen(tab):
    return tab.text("#path")


def texts(tab, selector):
    return tab.run(
        f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)"
    )


@needs_browser
def test_a_change_leads_to_its_place_in_tree_and_graph(opened):
    tab = opened(*pair("leaf_values"))
    assert tab.text("#changed") == "4 changes"
    tab.press("]")
    assert chosen(tab) == "steps"
    tab.press("]")
    assert chosen(tab) == "extra['betas']"
    tab.press("[")
    assert chosen(tab) == "steps"
    tab.click("#change3")
    assert chosen(tab) == "model.blocks[1].mlp.width"
    assert "256 → 300" in tab.text(".row.chosen")
    assert tab.text(".told.chosen").startswith("~width: 256 → 300")
    assert tab.count("#boxes .cell.chosen.marked.changed") == 1
    tab.click("#after")
    assert chosen(tab) == "steps"  # round and round
    tab.click("#before")
    assert chosen(tab) == "model.blocks[1].mlp.width"
    tab.click(".told.section")
    assert chosen(tab) == "<root>"


@needs_browser
def test_each_mark_has_a_sign(opened):
    tab = opened(*pair("unwrap"))
    assert "-model: Any = Average" in "".join(texts(tab, ".row.marked.removed"))
    assert tab.count("#boxes .box.removed") == 1
    assert tab.text("#boxes .box.removed .title") == "- Average"
    dashes = tab.run(
        "getComputedStyle(document.querySelector('.box.removed > .outline'))"
        ".strokeDasharray"
    )
    assert dashes != "none"
    assert tab.count(".edge.removed") == 2 and tab.count(".edge.added") == 1
    tab = opened(*pair("move_between_nodes"))
    assert tab.count(".edge.moved") == 1
    tab = opened(*pair("share_made"))
    assert any(row.startswith("&") for row in texts(tab, ".row.marked.shared"))


@needs_browser
def test_what_was_is_found_by_the_search(opened):
    tab = opened(*pair("leaf_values"))
    tab.press("/")
    tab.type("256")
    tab.press("Enter")
    hits = [chosen(tab)]
    tab.press("Enter")
    hits.append(chosen(tab))
    assert "model.blocks[1].mlp.width" in hits or "256" in tab.text(".row.chosen")


@needs_browser
def test_effects_and_no_differences_are_told(opened):
    tab = opened(*pair("swap_adam_for_sgd"), effects=EFFECTS)
    assert texts(tab, "#effects td") == ["parameters", "10", "→ 20", "+100.0%"]
    old, _ = pair("tags")
    tab = opened(old, copy(old))
    assert tab.text("#changed") == "No differences"
    tab.press("]")
    assert tab.count(".marked") == 0


@needs_browser
def test_two_thousand_changed_nodes_are_in_the_document_only_where_they_are_seen(
    opened,
):
    def config(step):
        blocks = [
            fdl.Config(dict, width=n, inner=fdl.Config(dict, rate=n * step))
            for n in range(2_000)
        ]
        return fdl.Config(dict, blocks=blocks)

    tab = opened(config(1.5), config(2.5))
    assert tab.text("#changed") == "1,999 changes"
    assert tab.count(".told") < 100 and tab.count(".row") < 120
    tab.click("#before")  # the last one
    assert chosen(tab) == "blocks[1999].inner.rate"
    assert tab.count(".told.chosen") == tab.count(".row.chosen") == 1
    tab.press("e")
    tab.press("[")
    assert chosen(tab) == "blocks[1998].inner.rate"
    assert tab.count(".row") < 120
