"""Random edits of a config, as a person or a fiddler makes them."""

from __future__ import annotations

from typing import Any

import fiddle as fdl
from hypothesis import strategies as st

from fdlkit.graph import fiddle_internals, walk
from fdlkit.graph.copying import copy
from fdlkit.graph.references import Reference
from tests.graph.configs import Box, Dynamic, Norm, Rate

# Leaves that are rare in `tests.graph.configs`: setting one changes something.
FRESH = st.sampled_from(["new", "newer", 1001, 1002, -0.125, Norm.RMS, len])


def things(config: Any, kinds: Any) -> list[Any]:
    """Everything of some kinds in a config, each once."""
    found, todo = [], [config]
    seen: dict[int, Any] = {}  # kept alive, or another thing might have its id
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, kinds) and not isinstance(value, Reference):
            found.append(value)
        todo += [child for _, child in reversed(walk.children(value))]
    return found


def nodes(config: Any) -> list[Any]:
    return [
        n for n in things(config, fdl.Buildable) if type(n) in (fdl.Config, fdl.Partial)
    ]


@st.composite
def edited(draw: st.DrawFn, config: Any, most: int = 4) -> tuple[Any, list[str]]:
    """A copy of a config with some edits made to it, and which."""
    new = copy(config)
    made = []
    for _ in range(draw(st.integers(1, most))):
        name = draw(st.sampled_from(sorted(EDITS)))
        if EDITS[name](draw, new):
            made.append(name)
    return new, made


def boxes(config: Any) -> list[Any]:
    return [n for n in nodes(config) if fdl.get_callable(n) in (Box, Dynamic)]


def _set(draw: Any, config: Any) -> bool:
    if not boxes(config):
        return False
    node = draw(st.sampled_from(boxes(config)))
    node.a = draw(FRESH)
    return True


def _unset(draw: Any, config: Any) -> bool:
    if not boxes(config):
        return False
    node = draw(st.sampled_from(boxes(config)))
    given = sorted(k for k in fiddle_internals.raw_arguments(node))
    if not given:
        return False
    delattr(node, draw(st.sampled_from(given)))
    return True


def _insert(draw: Any, config: Any) -> bool:
    where = draw(st.sampled_from(things(config, list)))
    element = draw(FRESH)
    if draw(st.booleans()):
        element = fdl.Config(Box, a=element, b=draw(FRESH))
    where.insert(draw(st.integers(0, len(where))), element)
    return True


def _remove(draw: Any, config: Any) -> bool:
    lists = [x for x in things(config, list) if x and x is not config.rest]
    if not lists:
        return False
    where = draw(st.sampled_from(lists))
    del where[draw(st.integers(0, len(where) - 1))]
    return True


def _move(draw: Any, config: Any) -> bool:
    lists = [x for x in things(config, list) if len(x) > 1 and x is not config.rest]
    if not lists:
        return False
    where = draw(st.sampled_from(lists))
    element = where.pop(draw(st.integers(0, len(where) - 1)))
    where.insert(draw(st.integers(0, len(where))), element)
    return True


def _entry(draw: Any, config: Any) -> bool:
    dicts = things(config, dict)
    if not dicts:
        return False
    where = draw(st.sampled_from(dicts))
    where["added"] = draw(FRESH)
    return True


def _no_entry(draw: Any, config: Any) -> bool:
    dicts = [x for x in things(config, dict) if x]
    if not dicts:
        return False
    where = draw(st.sampled_from(dicts))
    del where[draw(st.sampled_from(list(where)))]
    return True


def _tag(draw: Any, config: Any) -> bool:
    if not boxes(config):
        return False
    node = draw(st.sampled_from(boxes(config)))
    if Rate in fdl.get_tags(node, "a"):
        fdl.remove_tag(node, "a", Rate)
    else:
        fdl.add_tag(node, "a", Rate)
    return True


def _wrap(draw: Any, config: Any) -> bool:
    lists = [x for x in things(config, list) if x and x is not config.rest]
    if not lists:
        return False
    where = draw(st.sampled_from(lists))
    at = draw(st.integers(0, len(where) - 1))
    where[at] = fdl.Config(Box, a=where[at], b="wrapped")
    return True


def _share(draw: Any, config: Any) -> bool:
    lists = [x for x in things(config, list) if x is not config.rest]
    if not lists:
        return False
    where = draw(st.sampled_from(lists))
    other = draw(st.sampled_from(nodes(config)))
    if any(x is where for x in things(other, list)):
        return False  # it would contain itself
    where.append(other)
    return True


def _unshare(draw: Any, config: Any) -> bool:
    lists = [x for x in things(config, list) if x and x is not config.rest]
    if not lists:
        return False
    where = draw(st.sampled_from(lists))
    at = draw(st.integers(0, len(where) - 1))
    where[at] = copy(where[at])
    return True


def _call(draw: Any, config: Any) -> bool:
    if not boxes(config):
        return False
    node = draw(st.sampled_from(boxes(config)))
    other = Dynamic if fdl.get_callable(node) is Box else Box
    fdl.update_callable(node, other, drop_invalid_args=True)
    return True


EDITS: dict[str, Any] = {
    "call": _call,
    "entry": _entry,
    "insert": _insert,
    "move": _move,
    "no_entry": _no_entry,
    "remove": _remove,
    "set": _set,
    "share": _share,
    "tag": _tag,
    "unset": _unset,
    "unshare": _unshare,
    "wrap": _wrap,
}
