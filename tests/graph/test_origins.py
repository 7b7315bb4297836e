"""Who wrote a value stays known in copies, and what was written stays what it was."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import pickle
import sys
from typing import Any

import fiddle as fdl
import pytest
from fiddle import selectors

from fdlkit.graph import origins, pasts
from fdlkit.graph.copying import copy as copied
from fdlkit.graph.model import Cause, Origin
from fdlkit.graph.restore import restore
from fdlkit.graph.snapshot import snapshot


@dataclasses.dataclass
class Box:
    a: Any = None
    b: Any = None


def here() -> int:
    """The line that calls it."""
    return sys._getframe(1).f_lineno


def entries(node: fdl.Buildable, key: str) -> list[Any]:
    return [entry.new_value for entry in node.__argument_history__[key]]


def test_the_line_that_set_a_value_is_its_origin_in_every_copy():
    config, line = fdl.Config(Box, a=1), here()
    for one in (config, copied(config), copy.deepcopy(config), copy.copy(config)):
        assert origins.Reader().origin(one, "a") == Origin(__file__, line)
        assert origins.Reader().made(one) == Origin(__file__, line)
        assert origins.Reader().origin(one, "b") is None


def test_an_override_is_kept_with_its_number_and_text_also_in_copies():
    config = fdl.Config(Box)
    with origins.written_by("--fdl_set", 2, "a=1"):
        config.a = 1
    wanted = Origin("--fdl_set", 0, Cause("--fdl_set", 2, "a=1"))
    kept = pickle.loads(pickle.dumps(config))
    for one in (config, copied(config), copy.deepcopy(config), kept):
        assert origins.Reader().origin(one, "a") == wanted
    assert origins.show(wanted) == "from --fdl_set"
    assert origins.short(wanted) == "--fdl_set #2"
    assert origins.full(wanted) == "--fdl_set #2: a=1"


def test_lines_are_the_users_where_fiddle_would_name_its_own():
    config = fdl.Config(Box, a=fdl.Config(Box))
    selectors.select(config.a, Box).set(b=1)
    # A line of Fiddle's says nothing.
    assert origins.Reader().origin(config.a, "b") is None
    cause = Cause("--fdl_fiddler", 1, "f")
    with origins.written_by_lines(cause):
        line = here() + 1
        selectors.select(config.a, Box).set(b=2)
    assert origins.Reader().origin(config.a, "b") == Origin(__file__, line, cause)


def test_the_way_of_recording_is_put_back():
    with pytest.raises(ZeroDivisionError), origins.written_by("x"):
        _ = 1 / 0
    config, line = fdl.Config(Box, a=1), here()
    assert origins.Reader().origin(config, "a") == Origin(__file__, line)


def test_a_copys_history_tells_of_the_copy():
    inner = fdl.Config(Box)
    config = fdl.Config(Box, a=inner, b=[inner, (inner,)])
    old = config.b
    config.b = {"k": inner}
    other = copied(config)
    assert entries(other, "a")[0] is other.a is not inner
    past, now = entries(other, "b")
    assert now["k"] is other.a and now is not other.b
    # What is no longer a part of the config is not copied.
    assert past is old
    assert entries(config, "a")[0] is inner


def test_what_was_written_stays_so_when_it_is_changed_in_place():
    config = fdl.Config(Box, a=[[1], 2])
    pasts.settle(config, "a")
    origins.record(config, "a", [0, 0], 7)
    config.a[0][0] = 7
    past, part = entries(config, "a")
    assert past == [[1], 2]
    assert part == origins.ElementWrite((0, 0), 7)
    assert repr(part) == "[0][0] = 7"


def test_containers_are_copied_down_to_nodes_at_any_depth():
    node = fdl.Config(Box)
    nested: list[Any] = [node, {1}]
    for _ in range(3000):
        nested = [nested]
    again = pasts.copy_containers(nested)
    for _ in range(3000):
        assert again is not nested
        again, nested = again[0], nested[0]
    assert again[0] is node and again[1] == {1} and again[1] is not nested[1]


def test_what_is_restored_from_a_file_was_written_by_it():
    graph = snapshot(fdl.Config(Box, a=[fdl.Partial(Box, b=1)]))
    config = restore(graph, source="kept.json")
    assert origins.Reader().origin(config, "a") == Origin("kept.json", 0)
    assert origins.Reader().made(config.a[0]) == Origin("kept.json", 0)
    assert origins.Reader().origin(restore(graph), "a") is None


def test_files_are_seen_from_here_and_libraries_from_their_top(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    library = str(pathlib.PurePath("/opt/x/site-packages/optax/alias.py"))
    assert origins.show(Origin(str(tmp_path / "a" / "b.py"), 3)) == "a/b.py:3"
    assert origins.show(Origin("/elsewhere/b.py", 3)) == "/elsewhere/b.py:3"
    assert origins.show(Origin(library, 3)) == "optax/alias.py:3"
    assert origins.full(Origin(str(tmp_path / "c.json"), 0)) == (
        "c.json, which keeps no history"
    )
