"""A config as JSON text."""

from __future__ import annotations

import json
from typing import Any

from fdlkit.graph import paths
from fdlkit.graph.model import Graph, Leaf, Node, Value
from fdlkit.graph.places import Places
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize import leaves, refusals
from fdlkit.serialize.leaves import symbol_text

SCHEMA = "fdlkit.config/1"


def dumps(config: Any) -> str:
    """A config (or its graph) as strict JSON, a line a node.

    The same config gives the same text in every process. Sharing, references and tags
    are kept; history and defaults are not.

    Raises:
      UserError: Something in it has no lasting name or form: a lambda, a local class,
        a built object, a large array. All such places are listed, each with what to
        write in its place.
    """
    graph = config if isinstance(config, Graph) else snapshot(config)
    places = Places(graph)
    refusals.refuse(graph, places)
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
        return leaves.write(value.value)
    node = graph.nodes[value.node]
    if value.node in numbers:
        return {"node": numbers[value.node]}
    return {
        "tuple": [_value(graph, a.value, numbers) for a in node.arguments if a.value]
    }


def _key(key: Any) -> Any:
    return (
        {"tuple": [_key(part) for part in key]}
        if type(key) is tuple
        else leaves.write(key)
    )
