"""A config as JSON text."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

from fdlkit.errors import UserError
from fdlkit.graph import built, module_names, paths
from fdlkit.graph.model import (
    DType,
    Graph,
    Leaf,
    Member,
    Node,
    Opaque,
    Symbol,
    Value,
)
from fdlkit.graph.places import Places
from fdlkit.graph.snapshot import snapshot

SCHEMA = "fdlkit.config/1"

# Keys stand in the text where they are used, and JSON is read by recursion.
_MAX_KEY_LEVELS = 50


def dumps(config: Any) -> str:
    """A config (or its graph) as strict JSON, a line a node.

    The same config gives the same text in every process. Sharing, references and tags
    are kept; history and defaults are not.

    Raises:
      UserError: Something in it has no lasting name or form: a lambda, a local class,
        a built object, an array. All such places are listed.
    """
    graph = config if isinstance(config, Graph) else snapshot(config)
    places = Places(graph)
    _refuse_what_cannot_be_kept(graph, places)
    numbers: dict[int, int] = {}
    lines = []
    for number in sorted(places.order):
        node = graph.nodes[number]
        if not is_inline(graph, node):
            numbers[number] = len(numbers)
            lines.append(_text(_node(graph, node, numbers)))
    root = _text(_value(graph, graph.root, numbers))
    body = ",\n".join(lines)
    nodes = f"[\n{body}\n]" if lines else "[]"
    return f'{{"schema": "{SCHEMA}",\n"root": {root},\n"nodes": {nodes}}}\n'


def is_inline(graph: Graph, node: Node) -> bool:
    """Whether a node is written where it is used: an immutable tuple of leaves."""
    return (
        node.kind == "tuple"
        and node.is_value
        and all(isinstance(argument.value, Leaf) for argument in node.arguments)
    )


def symbol_text(symbol: Symbol) -> str:
    """`optax:adamw`: the module to import, and the name in it."""
    return f"{symbol.module}:{symbol.qualname}"


def _text(data: Any) -> str:
    return json.dumps(data, allow_nan=False)


def _node(graph: Graph, node: Node, numbers: dict[int, int]) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": node.kind}
    values = [
        (argument.key, _value(graph, argument.value, numbers))
        for argument in node.arguments
        if argument.value is not None
    ]
    if node.type is not None:
        data["type"] = symbol_text(node.type)
    if node.callable is not None and node.kind not in ("reference", "tagged_value"):
        data["callable"] = symbol_text(node.callable)
    if node.is_buildable or node.kind == "namedtuple":
        positional = [[key, value] for key, value in values if isinstance(key, int)]
        if positional:
            data["positional"] = positional
        data["arguments"] = {k: value for k, value in values if isinstance(k, str)}
    elif "dict" in node.kind:
        data["items"] = [[_key(paths.to_dict_key(key)), value] for key, value in values]
    else:
        data["elements"] = [value for _, value in values]
    tags = [[a.key, [symbol_text(t) for t in a.tags]] for a in node.arguments if a.tags]
    if tags:
        data["tags"] = tags
    return data


def _value(graph: Graph, value: Value, numbers: dict[int, int]) -> Any:
    if isinstance(value, Leaf):
        return _plain(value.value)
    node = graph.nodes[value.node]
    if value.node in numbers:
        return {"node": numbers[value.node]}
    return {
        "tuple": [_value(graph, a.value, numbers) for a in node.arguments if a.value]
    }


def _key(key: Any) -> Any:
    return (
        {"tuple": [_key(part) for part in key]} if type(key) is tuple else _plain(key)
    )


def _plain(held: Any) -> Any:
    """A leaf as JSON; whatever JSON cannot say itself is an object with one name."""
    if isinstance(held, Symbol):
        return {"symbol": symbol_text(held)}
    if isinstance(held, Member):
        return {"enum": symbol_text(held.enum), "member": held.name}
    if isinstance(held, DType):
        return {"dtype": held.name}
    if isinstance(held, bytes):
        return {"bytes": base64.b64encode(held).decode("ascii")}
    if isinstance(held, complex):
        return {"complex": [_plain(held.real), _plain(held.imag)]}
    if isinstance(held, float) and not math.isfinite(held):
        return {"float": repr(held)}
    return held


def _refuse_what_cannot_be_kept(graph: Graph, places: Places) -> None:
    objects = {one.path: one.lines() for one in built.find_built(graph, places)}
    found: dict[paths.Path, tuple[str, ...]] = {}
    for number in places.order:
        # Paths are spelled for problems only: there may be many, and long ones.
        for key, loss in _losses(graph.nodes[number]):
            path = places.path(number)
            if path in objects:  # a part of it
                found[path] = objects[path]
                continue
            path = path if key is None else (*path, key)
            told = [f"  {paths.format(path)}: {loss}"]
            if key is not None and (instead := _instead(graph.nodes[number], key)):
                told.append(f"    write {instead}")
            found[path] = objects.get(path, tuple(told))
    if isinstance(graph.root, Leaf) and (why := _why_not(graph.root.value)):
        found[()] = objects.get((), (f"  {paths.ROOT}: {why}",))
    if found:
        count = f"{len(found)} values" if len(found) > 1 else "a value"
        raise UserError(
            f"{count} of this config cannot be kept in JSON",
            *(line for lines in found.values() for line in lines),
            "use a function or class at the top level of a module, "
            "and fdl.Config(...) in place of a built object",
        )


def _instead(node: Node, key: paths.PathKey) -> str | None:
    argument = node.argument(key)
    held = _held(argument.value) if argument is not None else None
    return built.as_config(held.live) if isinstance(held, Opaque) else None


def _losses(node: Node) -> Iterator[tuple[paths.PathKey | None, str]]:
    """What of a node (key None) and of what it holds directly cannot be kept."""
    if node.kind == "custom":
        yield None, f"a container of type {node.type.name if node.type else '?'}"
    elif node.kind not in ("reference", "tagged_value"):
        for symbol in (node.type, node.callable):
            if why := _why_not(symbol):
                yield None, why
    for argument in node.arguments:
        for held in (_held(argument.value), _held_key(argument.key), *argument.tags):
            if loss := _why_not(held):
                yield argument.key, loss


def _held(value: Value | None) -> Any:
    return value.value if isinstance(value, Leaf) else None


def _held_key(key: paths.PathKey) -> Any:
    if not isinstance(key, paths.Key) or not isinstance(key.value, tuple):
        return key.value if isinstance(key, paths.Key) else None
    todo: list[tuple[Any, int]] = [(part, 1) for part in key.value]
    while todo:
        part, level = todo.pop()
        if level > _MAX_KEY_LEVELS:
            return Opaque("tuple", "a key nested too deeply for JSON", live=key.value)
        if type(part) is tuple:
            todo += [(inner, level + 1) for inner in part]
        elif part is not None and type(part) not in (bool, int, float, str, bytes):
            return Opaque(type(part).__qualname__, repr(part), live=part)
    return None


def _why_not(held: Any) -> str | None:
    if isinstance(held, Member):
        held = held.enum
    if isinstance(held, Symbol) and held.module == "__main__":
        why = module_names.why_main_has_no_name()
        return f"{held.qualname}, which only the running program has (__main__: {why})"
    if isinstance(held, Symbol) and not held.importable:
        return _unnamed(held.qualname) or f"{held.name}, which no import leads to"
    if isinstance(held, Opaque):
        text = held.text if len(held.text) <= 60 else f"{held.text[:59]}…"
        qualname = getattr(held.live, "__qualname__", "")
        return _unnamed(str(qualname)) or f"{text} (a {held.type})"
    return None


def _unnamed(qualname: str) -> str | None:
    if qualname.endswith("<lambda>"):
        return "a lambda"
    if "<locals>" in qualname:
        outer, _, inner = qualname.rpartition(".<locals>.")
        return f"{inner}, which is defined inside {outer.rpartition('.')[2]}"
    return None
