"""Paths read back as they are written, and say where they are wrong."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.graph import paths
from fdlkit.graph.paths import Key, PathError

NAMES = st.from_regex(r"[a-zA-Z_]\w{0,6}", fullmatch=True)
KEYS = st.one_of(st.text(max_size=6), st.none(), st.booleans(), st.binary(max_size=4))


@hypothesis.given(st.lists(st.one_of(NAMES, st.integers(), KEYS.map(Key))).map(tuple))
def test_a_path_reads_back_as_it_was_written(path):
    assert paths.parse(paths.format(path)) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("<root>", ()),
        ("model.layers.n", ("model", "layers", "n")),
        ("losses[0].weight", ("losses", 0, "weight")),
        ("losses.0.weight", ("losses", 0, "weight")),
        ("a[-1]", ("a", -1)),
        ("a.-1", ("a", -1)),
        ("[2].x", (2, "x")),
        ("d['k'][\"l\"]", ("d", Key("k"), Key("l"))),
        ("d[k]", ("d", Key("k"))),
        ("d['a.b[0]']", ("d", Key("a.b[0]"))),
        ("d[ 'k' ]", ("d", Key("k"))),
        ("d[(1, 'a')]", ("d", Key((1, "a")))),
        ("d[True]", ("d", Key(True))),
    ],
)
def test_every_spelling_is_understood(text, path):
    parsed = paths.parse(text)
    assert parsed == path and list(map(type, parsed)) == list(map(type, path))


@pytest.mark.parametrize(
    ("text", "position"),
    [("a..b", 2), ("a.", 2), (".a", 0), ("a[", 1), ("a[]", 1), ("a[0", 1), ("a b", 1),
     ("a[0]b", 4), ("a.b=3", 3), ("a['k", 1), ("a[x y]", 2),
     ("a[__import__('os')]", 2)],
)  # fmt: skip
def test_what_is_no_path_is_refused_where_it_stops_being_one(text, position):
    with pytest.raises(PathError) as refused:
        paths.parse(text)
    assert refused.value.position == position
    assert refused.value.lines[2] == f"  {' ' * position}^ not understood from here"


def test_the_root_is_named_in_messages():
    assert paths.format(()) == "<root>"
