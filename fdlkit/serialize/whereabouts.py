"""The config path of a node in JSON data that may be damaged anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fdlkit.graph import paths
from fdlkit.graph.paths import Path, PathKey


def path(data: dict[str, Any], wanted: int) -> Path | None:
    """The shortest path to a node; None if no undamaged links lead there.

    Args:
      data: A whole config, as `dumps` writes it but for what is damaged.
      wanted: The node's place in `data["nodes"]`.
    """
    nodes = data["nodes"]
    root = _number(data.get("root"))
    holders: dict[int, tuple[int, PathKey] | None] = {}
    level = [] if root is None else [root]
    holders.update(dict.fromkeys(level))
    while level and wanted not in holders:
        below = []
        for number in level:
            if not 0 <= number < len(nodes):
                continue
            for key, value in _children(nodes[number]):
                child = _number(value)
                if child is not None and child not in holders:
                    holders[child] = number, key
                    below.append(child)
        level = below
    if wanted not in holders:
        return None
    keys: list[PathKey] = []
    at = holders[wanted]
    while at is not None:
        keys.append(at[1])
        at = holders[at[0]]
    return tuple(reversed(keys))


def _number(value: Any) -> int | None:
    """The node that a value links to."""
    number = value.get("node") if isinstance(value, dict) else None
    return number if type(number) is int else None


def _children(node: Any) -> Iterator[tuple[PathKey, Any]]:
    if not isinstance(node, dict):
        return
    arguments = node.get("arguments")
    if isinstance(arguments, dict):
        yield from arguments.items()
    elements = node.get("elements")
    if isinstance(elements, list):
        yield from enumerate(elements)
    for name in ("positional", "items"):
        pairs = node.get(name)
        for one in pairs if isinstance(pairs, list) else ():
            if isinstance(one, list) and len(one) == 2:
                key = one[0]
                is_plain = key is None or isinstance(key, str | int | float)
                yield paths.of_dict_key(key if is_plain else "…"), one[1]
