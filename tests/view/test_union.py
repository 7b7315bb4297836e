"""Two configs as one drawing: all of both is in it, and every change has its place."""

from __future__ import annotations

import fiddle as fdl
import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.diff.compare import compare
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import dot, mermaid
from fdlkit.view.scene import scene
from fdlkit.view.union import union
from tests.diff.edits import edited
from tests.diff.test_cases import pair
from tests.graph.configs import configs
from tests.view.scenes import tall, wide
from tests.view.united import described

CASES = [
    "another_root", "insert_and_edit", "leaf_values", "move_between_nodes_and_edit",
    "ordered_keys", "positional", "reference_cut", "remove_from_list", "reorder",
    "share_made", "swap_adam_for_sgd", "tags", "tie_embedding", "untie_embedding",
    "unwrap", "wrap_and_edit",
]  # fmt: skip


def united(old, new, **how):
    return union(compare(snapshot(old), snapshot(new)), **how)


@pytest.mark.parametrize("name", CASES)
def test_a_pair_is_drawn_as_in_the_golden_file(name, golden):
    golden(f"view/union/{name}", described(united(*pair(name))))


def check(old, new, drawn, compared):
    """What holds for the drawing of any two configs."""
    boxes, edges = drawn.scene.boxes, drawn.scene.edges
    # Every box of the old config is there as itself, or as one that is gone.
    gone = [box for box in boxes if box.change == "removed"]
    kept = {box.node for box in boxes if box.change != "removed"}
    for box in scene(compared.old).boxes:
        if box.node in compared.new_of:
            is_drawn = compared.new_of[box.node] in kept
            assert is_drawn or not compared.old.nodes[box.node].is_buildable
        else:
            assert box.node < 0 or box.node in {g.node for g in gone}
    for box in scene(compared.new).boxes:
        assert box.node in kept
    # Each stands somewhere, and a reader can get to it.
    for number, box in enumerate(boxes):
        if number:
            assert box.holder is not None
            holder, row = box.holder
            assert boxes[holder].rows[row].box == number
        at, seen = number, set()
        while at:
            assert at not in seen
            seen.add(at)
            at = boxes[at].holder[0]
    ends = {(e.box, e.row, e.to_box) for e in edges if e.kind == "holds"}
    rows = {
        (number, n, row.box)
        for number, box in enumerate(boxes)
        for n, row in enumerate(box.rows)
        if row.box is not None
    }
    assert ends == rows
    # Every change is told once, and where it is said to be something is marked.
    entries = [entry for section in drawn.sections for entry in section.entries]
    assert len(entries) == len(compared.diff)
    for entry in entries:
        box = boxes[entry.box]
        assert box.change
        assert entry.row is None or box.rows[entry.row].change or box.change
    assert bool(entries) == any(box.change for box in boxes)


@hypothesis.given(st.data())
def test_all_of_both_is_there_and_every_change_has_its_place(data):
    old = data.draw(configs())
    new, _ = data.draw(edited(old))
    compared = compare(snapshot(old), snapshot(new))
    check(old, new, union(compared, whole=True, defaults=True), compared)


@hypothesis.given(configs(), configs())
def test_two_configs_of_nothing_in_common_are_drawn_too(old, new):
    compared = compare(snapshot(old), snapshot(new))
    check(old, new, union(compared, whole=True), compared)


@hypothesis.given(st.data())
def test_the_drawing_of_the_changes_alone_has_them_all(data):
    old = data.draw(configs())
    new, _ = data.draw(edited(old))
    compared = compare(snapshot(old), snapshot(new))
    whole, part = union(compared, whole=True), union(compared)
    assert len(part.scene.boxes) <= len(whole.scene.boxes)
    told = [
        [s.path for s in drawn.sections for _ in s.entries] for drawn in (whole, part)
    ]
    assert told[0] == told[1]
    marked = [
        [(box.title, box.change) for box in drawn.scene.boxes if box.change]
        for drawn in (whole, part)
    ]
    assert marked[0] == marked[1]
    dot.dot(part.scene)
    mermaid.mermaid(part.scene)


def test_a_config_beside_itself_has_no_mark_and_all_its_boxes():
    old, _ = pair("tags")
    drawn = united(old, old, whole=True)
    assert drawn.sections == ()
    plain = scene(snapshot(old))
    assert drawn.scene == plain
    assert len(united(old, old).scene.boxes) == 1  # of changes there is nothing


def test_a_thousand_levels_and_ten_thousand_nodes_are_drawn():
    one, two = tall(1000), tall(1000)
    last = two
    while isinstance(last.width, fdl.Config):
        last = last.width
    last.width = 2
    drawn = united(one, two)
    assert len(drawn.scene.boxes) == 1001 and len(drawn.sections) == 1
    assert drawn.scene.boxes[-1].rows[0].was == "1"
    one, two = wide(10_000), wide(10_000)
    drawn = united(one, two)
    assert drawn.sections == ()


def test_a_list_of_other_nodes_is_told_row_by_row():
    old = fdl.Config(dict, parts=[fdl.Config(dict, n=n) for n in range(2_000)])
    new = fdl.Config(
        dict, parts=[fdl.Config(dict, n=n) for n in range(2_000) if n % 10]
    )
    drawn = united(old, new)
    (root, *gone) = drawn.scene.boxes
    assert len(gone) == 200 and {box.change for box in gone} == {"removed"}
    signs = [row.change for row in root.rows[1:]]
    assert signs == (["removed", *[""] * 9] * 200)


def test_every_language_marks_without_colours():
    drawn = united(*pair("swap_adam_for_sgd")).scene
    for text in (dot.dot(drawn), mermaid.mermaid(drawn)):
        assert "was tests.diff.house.adam" in text
    text = mermaid.mermaid(drawn)
    assert "- b2 = 0.98" in text and "+ momentum = 0.9" in text
    gone = united(*pair("unwrap")).scene
    assert 'STYLE="dashed"' in dot.dot(gone) and "style=dotted" in dot.dot(gone)
    assert "stroke-dasharray" in mermaid.mermaid(gone)
