"""A scene has every node once, and an edge for every link."""

from __future__ import annotations

import collections

import fiddle as fdl
import hypothesis
import pytest

from fdlkit.graph.model import Link
from fdlkit.graph.places import Places
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view.scene import scene
from fdlkit.view.tree import tree
from tests.graph.configs import Box, configs
from tests.view.scenes import large, small


def links(graph):
    """Every link between nodes that set values lead to, as (holder, key, node)."""
    order = Places(graph).order
    return [
        (number, argument.key, argument.value.node)
        for number in order
        if graph.nodes[number].kind != "reference"
        for argument in graph.nodes[number].arguments
        if isinstance(argument.value, Link)
    ]


@hypothesis.given(configs())
def test_every_node_is_drawn_once_and_every_link_to_a_box_is_an_edge(config):
    graph = snapshot(config)
    drawn = scene(graph)
    boxes = [box.node for box in drawn.boxes]
    unfolded = [
        row.node for box in drawn.boxes for row in box.rows if row.kind == "container"
    ]
    assert len({*boxes, *unfolded}) == len(boxes) + len(unfolded)
    # What is neither is a reference or a plain value, and written where it stands.
    for number in set(Places(graph).order) - {*boxes, *unfolded}:
        node = graph.nodes[number]
        assert node.kind == "reference" or not node.is_buildable
    is_box = set(boxes)
    expected = collections.Counter(
        node for _, _, node in links(graph) if node in is_box
    )
    edges = [edge for edge in drawn.edges if edge.kind == "holds"]
    assert collections.Counter(drawn.boxes[e.to_box].node for e in edges) == expected
    assert len(edges) == len({(edge.box, edge.row) for edge in edges})
    for edge in edges:
        assert drawn.boxes[edge.box].rows[edge.row].box == edge.to_box


@hypothesis.given(configs())
def test_what_is_shared_has_the_number_that_it_has_in_the_tree(config):
    graph = snapshot(config)
    drawn = scene(graph)
    marked = {row.path: row.mark[1:] for row in tree(graph) if row.mark.startswith("&")}
    boxes = {
        drawn.path(i): str(box.mark) for i, box in enumerate(drawn.boxes) if box.mark
    }
    assert boxes == marked


@hypothesis.given(configs())
def test_rows_have_the_paths_of_the_tree(config):
    graph = snapshot(config)
    drawn = scene(graph, defaults=True)
    paths = {row.path for row in tree(graph)}
    for index, box in enumerate(drawn.boxes):
        if not graph.nodes[box.node].is_buildable:
            continue  # a shared container of leaves is one row of the tree
        above = drawn.path(index).replace("<root>", "")
        for row in box.rows:
            path = f"{above}{row.suffix}".removeprefix(".")
            assert not path.isprintable() or "\\" in path or path in paths


@hypothesis.given(configs())
def test_a_depth_folds_what_it_hides_and_counts_each_node_once(config):
    graph = snapshot(config)
    whole = scene(graph)
    for depth in range(3):
        part = scene(graph, depth=depth)
        assert [box.node for box in part.boxes] == [
            box.node for box in whole.boxes if box.level <= depth
        ]
        folded = sum(row.folded for box in part.boxes for row in box.rows)
        assert folded == len(whole.boxes) - len(part.boxes)
        for box in part.boxes:
            for row in box.rows:
                assert row.is_cut == (row.kind == "node" and row.box is None)


def test_the_parts_of_a_scene():
    drawn = scene(snapshot(small()))
    assert [box.title for box in drawn.boxes] == [
        "Job", "Model", "Mlp", "Mlp", "Mlp", "partial schedule", "list",
    ]  # fmt: skip
    job, model, shared = drawn.boxes[:3]
    assert [(row.key, row.level, row.kind, row.text) for row in job.rows] == [
        ("model", 0, "node", "Model"),
        ("parts", 0, "container", "dict"),
        ("['one']", 1, "node", "Mlp"),
        ("['pair']", 1, "container", "tuple"),
        ("[0]", 2, "node", "Mlp"),
        ("[1]", 2, "value", "3"),
        ("steps", 0, "default", "100"),  # a reference follows it
        ("rate", 0, "node", "partial schedule"),
        ("extra", 0, "container", "dict"),
        ("['names']", 1, "node", "list"),
        ("['again']", 1, "node", "list"),
        ("['lost']", 1, "reference", "ref(nowhere)"),
    ]
    assert (shared.mark, shared.places) == (1, 2)
    hidden, dtype = model.rows[0], model.rows[3]
    assert (hidden.text, hidden.set_by) == ("128", "--fdl_set")
    assert (dtype.key, dtype.tags) == ("dtype", ("WeightDType",))
    assert shared.rows[0].result == "128"
    assert job.rows[-1].result == "?"
    assert drawn.path(4) == "parts['pair'][0]"
    assert [group.name for group in drawn.groups] == ["tests.view"]


def test_a_reference_is_an_edge_to_the_row_that_decides():
    drawn = scene(snapshot(small()))
    followed = [
        (drawn.boxes[e.box].rows[e.row].key, drawn.boxes[e.to_box].rows[e.to_row].key)
        for e in drawn.edges
        if e.kind == "reference"
    ]
    assert followed == [("width", "hidden"), ("steps", "steps")]


def test_a_reference_into_a_plain_value_leads_to_its_row():
    config = fdl.Config(Box, a=[1, 2], b=ref("a[1]"))
    drawn = scene(snapshot(config))
    (edge,) = drawn.edges
    assert (edge.row, edge.to_row) == (1, 0)


def test_defaults_are_listed_when_asked_for():
    keys = [row.key for row in scene(snapshot(fdl.Config(Box, a=1))).boxes[0].rows]
    assert keys == ["a"]
    rows = scene(snapshot(fdl.Config(Box, a=1)), defaults=True).boxes[0].rows
    assert [(row.key, row.kind) for row in rows] == [
        ("a", "value"), ("b", "default"), ("c", "default"),
    ]  # fmt: skip


def test_a_config_from_json_is_drawn_by_its_names():
    config = small()
    names = [box.name for box in scene(read(dumps(config))).boxes]
    assert names == [box.name for box in scene(snapshot(config)).boxes]


@pytest.mark.parametrize("root", [3, [], "text", [fdl.Config(Box)]])
def test_any_root_is_a_scene(root):
    assert scene(snapshot(root)).boxes[0].holder is None


@pytest.mark.parametrize(
    ("name", "boxes"), [("wide", 10_001), ("tall", 1001), ("diamonds", 31)]
)
def test_a_scene_costs_what_its_nodes_cost(name, boxes):
    # Ways through the diamonds are a thousand million: a walk of each would not end.
    drawn = scene(large(name), defaults=True)
    assert len(drawn.boxes) == boxes
    assert max(box.level for box in drawn.boxes) < boxes
    assert drawn.path(boxes - 1).count(".") < 1001


def test_a_thousand_references_to_one_row_are_a_thousand_edges():
    drawn = scene(large("bushy"))
    assert sum(edge.kind == "reference" for edge in drawn.edges) == 501
