"""Ints of more digits than Python writes out, wherever a config is told."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.diff import text as diff_text
from fdlkit.diff.compare import diff
from fdlkit.graph import paths, reprs, texts
from fdlkit.graph.equality import equal
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.view import dot, flat, mermaid, page, scene, tree

LONG = 10**5000


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        (LONG, "5,001"),
        (LONG - 1, "5,000"),
        (-LONG, "5,001"),
        (1 << 20_000, "6,021"),
        (10**100_000 - 1, "100,000"),
    ],
    ids=range(5),
)
def test_they_are_told_by_the_number_of_digits(number, digits):
    assert reprs.plain(number) == reprs.text(number) == f"int of {digits} digits"


def config(number=LONG):
    return fdl.Config(
        dict, x=number, twice=ref("x") * 2, inside=[(number,)], keys={number: 1},
        tuples={(number, 1): 1}, plus=ref("one") + number, one=1,
    )  # fmt: skip


def test_every_view_tells_them():
    graph = snapshot(config())
    said = "int of 5,001 digits"
    assert said in tree.render(tree.tree(graph))
    assert f"twice = ref(x) * 2 = {said}" in tree.render(tree.tree(graph))
    drawn = scene.scene(graph)
    for text in (dot.dot(drawn), mermaid.mermaid(drawn), page.page(drawn, "x")):
        assert said in text
    assert any(line.text.startswith(f"{said}, sha256") for line in flat.lines(graph))


def test_a_diff_tells_them():
    changes = diff(snapshot(config(1)), snapshot(config()))
    assert "~ x: 1 → int of 5,001 digits" in diff_text.render(changes)


def test_one_digit_that_changed_is_seen():
    one, two = flat.lines(snapshot(config())), flat.lines(snapshot(config(LONG + 1)))
    assert one != two
    assert not equal(config(), config(LONG + 1))


def test_references_and_paths_tell_them():
    assert repr(ref("x") + LONG) == "ref(x) + int of 5,001 digits"
    assert paths.format((LONG,)) == "[int of 5,001 digits]"
    assert paths.format((paths.Key((LONG,)),)) == "[(…)]"
    assert texts.brief(*_of([LONG])) == "[int of 5,001 digits]"


def _of(value):
    graph = snapshot(value)
    return graph, graph.root
