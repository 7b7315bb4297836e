"""From JSON text to a config, calling nothing and resolving only what is allowed."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Collection, Iterator
from typing import Any

import fiddle as fdl
from fiddle import tag_type

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.graph import leaf_texts, paths, values
from fdlkit.graph.model import Graph, Leaf, Node
from fdlkit.graph.places import Places
from fdlkit.graph.restore import restore
from fdlkit.serialize.looking_up import Lookup
from fdlkit.serialize.parameters import unknown_parameters
from fdlkit.serialize.reading import read


def loads(text: str, allow: Collection[str] = (), *, source: str = "") -> Any:
    """The config that `dumps` wrote.

    Args:
      text: What `dumps` returned, or `fiddle.experimental.serialization.dump_json`.
      allow: Modules whose functions and classes may be used besides those that
        fdlkit lists: `["experiments.lm"]`. Exact names; neither a module's submodules
        nor what it imports from elsewhere are allowed with it.
      source: The file that the text is from. JSON keeps no history; with this, each
        value is known to have come from that file.

    Returns:
      A new config. Nothing in it has been called.

    Raises:
      UserError: The text is damaged, or uses a name that is not allowed, is not there
        or has lost a parameter. All such names are listed, with the first places.
    """
    graph = read(text)
    lookup = Lookup(allow)
    problems = list(_problems(graph, lookup))
    if problems:
        lines = _told(problems)
        if lookup.has_stale:
            lines.append(
                "where the code has changed since, change the names in the JSON: "
                "fdlkit show reads it as it is"
            )
        if lookup.refused:
            flags = ", ".join(f"--allow={name}" for name in sorted(lookup.refused))
            lines.append(f"allow a module of your own with --allow=PKG.MOD: {flags}")
        raise UserError("this JSON cannot be loaded", *lines)
    return restore(graph, lookup.resolve, source=source)


# Of what is wrong in many places, how many are listed.
_PLACES = 5


def _told(problems: list[tuple[str, str]]) -> list[str]:
    lines = []
    counts: collections.Counter[str] = collections.Counter()
    for path, problem in problems:
        counts[problem] += 1
        if counts[problem] <= _PLACES:
            lines.append(f"  {path}: {problem}")
    for problem, count in counts.items():
        if count > _PLACES:
            lines.append(f"  in {count - _PLACES:,} more places: {problem}")
    return lines


def _problems(graph: Graph, lookup: Lookup) -> Iterator[tuple[str, str]]:
    places = Places(graph)
    if isinstance(graph.root, Leaf):
        for problem in lookup.problems(graph.root.value):
            yield paths.ROOT, problem
    for number in places.order:
        # Paths are spelled for problems only: there may be many, and long ones.
        for key, problem in _problems_of(graph.nodes[number], lookup):
            path = places.path(number)
            yield paths.brief(path if key is None else (*path, key)), problem


def _problems_of(
    node: Node, lookup: Lookup
) -> Iterator[tuple[paths.PathKey | None, str]]:
    """What is wrong with a node (key None) and with what it holds directly."""
    wrong = [*lookup.problems(node.type), *lookup.problems(node.callable)]
    if not wrong:
        wrong = list(_misfits(node, lookup))
    if not wrong and node.callable is not None and node.is_buildable:
        called = lookup.resolve(node.callable)
        keys = [argument.key for argument in node.arguments]
        wrong = list(unknown_parameters(node.callable.name, called, keys))
        lookup.has_stale = lookup.has_stale or bool(wrong)
    for problem in wrong:
        yield None, problem
    for argument in node.arguments:
        held = argument.value.value if isinstance(argument.value, Leaf) else None
        key: Any = argument.key.value if isinstance(argument.key, paths.Key) else None
        for one in (held, key, *argument.tags):
            for problem in lookup.problems(one):
                yield argument.key, problem
        in_set = held if node.kind in ("set", "frozenset") else None
        for one in (key, in_set):
            if not any(lookup.problems(one)) and not _is_hashable(lookup.resolve(one)):
                yield argument.key, f"{leaf_texts.text(one)} cannot be hashed"
        for tag in argument.tags:
            known = not any(lookup.problems(tag))
            if known and not isinstance(lookup.resolve(tag), tag_type.TagType):
                yield argument.key, f"{tag.name} is no tag"


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _misfits(node: Node, lookup: Lookup) -> Iterator[str]:
    """Classes that are not what the node's kind needs: `restore` makes objects of them.

    A class that is none of these is never called, here or there.
    """
    if node.kind == "buildable" and node.type is not None:
        found = lookup.resolve(node.type)
        if not (inspect.isclass(found) and issubclass(found, fdl.Buildable)):
            yield f"{node.type.name} is no kind of Buildable"
    elif node.kind == "namedtuple" and node.callable is not None:
        found = lookup.resolve(node.callable)
        if not values.is_tuple_class(found):
            yield f"{node.callable.name} is no NamedTuple"
            return
        given, fields = [argument.key for argument in node.arguments], found._fields
        for key in given:
            if key not in fields:
                lookup.has_stale = True
                hint = suggest.hint(str(key), fields)
                hint = hint or f"it has {', '.join(fields)}"
                yield f"{node.callable.name} has no field '{key}', {hint}"
        missing = [field for field in fields if field not in given]
        if missing:
            lookup.has_stale = True
            yield f"{node.callable.name} needs {', '.join(missing)}"
        elif given != list(fields) and set(given) == set(fields):
            yield f"{node.callable.name} has its fields in another order"
