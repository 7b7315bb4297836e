"""Values in words, on one line."""

from __future__ import annotations

from fdlkit.graph import paths, texts
from fdlkit.graph.equality import full_text
from fdlkit.graph.model import Graph, Leaf, Link, Node, Opaque, Value

# Arguments and elements that are written of a node; what is below them is not.
_MOST = 6

# A longer text tells a person nothing more.
_LONGEST = 1000


def words(graph: Graph, value: Value, *, full: bool = False) -> str:
    """`0.1`, `[1, 2]`, `ref(^hidden) * 4`, `Mlp(width=64, norm=Norm(...))`.

    Args:
      graph: The graph.
      value: A value of it.
      full: Whether what a value calls or is gets its full name.
    """
    text = _full(graph, value) if full else _short(graph, value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def called(node: Node) -> str:
    """The full name of what a node calls, or the type of a container."""
    if node.kind == "tagged_value" or node.callable is None:
        return node.type.name if node.type is not None else _kind(node)
    short = node.callable.short
    if node.kind == "default_dict":
        return f"defaultdict of {short}"
    how = texts.called(node).removesuffix(short) if node.is_buildable else ""
    return f"{how}{node.callable.name}"


def _kind(node: Node) -> str:
    names = {
        "ordered_dict": "OrderedDict",
        "default_dict": "defaultdict",
        "tagged_value": "TaggedValue",
    }
    return names.get(node.kind, node.kind)


def _short(graph: Graph, value: Value) -> str:
    if isinstance(value, Leaf) and isinstance(value.value, Opaque):
        # A function without a name to import shows its address, and that changes.
        name = getattr(value.value.live, "__qualname__", None)
        if isinstance(name, str):
            return name.replace(".<locals>", "")
    text = texts.inline(graph, value)
    if text is not None:
        return text
    assert isinstance(value, Link)
    node = graph.nodes[value.node]
    given = [a for a in node.arguments if a.value is not None]
    parts = []
    for argument in given[:_MOST]:
        assert argument.value is not None
        part = texts.brief(graph, argument.value)
        if node.is_buildable and isinstance(argument.key, int):
            parts.append(part)
        elif node.is_buildable or node.kind in ("namedtuple", "custom"):
            parts.append(f"{argument.key}={part}")
        elif "dict" in node.kind:
            parts.append(f"{paths.to_dict_key(argument.key)!r}: {part}")
        else:
            parts.append(part)
    if len(given) > _MOST:
        parts.append("…")
    inside = ", ".join(parts)
    if node.is_buildable:
        return f"{texts.called(node)}({inside})"
    if node.kind in ("namedtuple", "custom"):
        symbol = node.callable or node.type
        return f"{symbol.short if symbol else node.kind}({inside})"
    if "dict" in node.kind:
        return f"{{{inside}}}"
    return f"({inside})" if node.kind == "tuple" else f"[{inside}]"


def _full(graph: Graph, value: Value) -> str:
    """The same with full names, for two values that look alike otherwise."""
    if isinstance(value, Leaf):
        is_opaque = isinstance(value.value, Opaque)
        return _short(graph, value) if is_opaque else full_text(graph, value)
    node = graph.nodes[value.node]
    short = _short(graph, value)
    if not node.is_buildable or node.kind == "reference":
        return f"{called(node)} {short}"
    return short.replace(texts.called(node), called(node), 1)
