"""Values of a graph on one line, as a person would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fdlkit.graph import leaf_texts, names, paths
from fdlkit.graph.model import Graph, Leaf, Link, Node, Opaque
from fdlkit.graph.model import Value as GraphValue
from fdlkit.graph.references import spell

# Containers nested deeper than this are not written on one line; nor, if there are
# containers in them, such as take more characters. What is shared may be there often.
_LEVELS = 4
_NESTED = 2000

_BRACKETS = {
    "list": ("[", "]", "[]"),
    "tuple": ("(", ")", "()"),
    "set": ("{", "}", "set()"),
    "frozenset": ("frozenset({", "})", "frozenset()"),
    "dict": ("{", "}", "{}"),
    "ordered_dict": ("OrderedDict({", "})", "OrderedDict()"),
}


def leaf(value: Leaf) -> str:
    """`0.1`, `'text'`, `relu`, `Norm.RMS`, `dtype(float32)`, `Path('a')`."""
    return leaf_texts.text(value.value)


def of_live(value: Any) -> str:
    """What a leaf that holds the value shows: what a reference to it comes to."""
    return leaf_texts.text(names.Names().leaf(value))


# What to write for a reference: its node, and the node or container that holds it.
Follow = Callable[[int, int], str]


def inline(graph: Graph, value: GraphValue, follow: Follow | None = None) -> str | None:
    """A leaf, a reference, or containers of them; None if there is a node in it.

    Args:
      graph: The graph that the value is in.
      value: The value. If `follow` is given it is no reference itself.
      follow: Writes a reference inside a container; unless given, as it was spelt.
    """
    return _inline(graph, value, _LEVELS, follow)


def brief(graph: Graph, value: GraphValue) -> str:
    """The same, with `Transformer(...)` or `[3 elements]` for all else."""
    text = inline(graph, value)
    if text is not None:
        return text
    node = graph.node(value)
    assert node is not None
    if node.is_buildable and node.callable is not None:
        return f"{called(node)}(...)"
    opening, closing, _ = _BRACKETS.get(node.kind, ("<", ">", ""))
    return f"{opening}{len(node.arguments)} elements{closing}"


def default(graph: Graph, value: GraphValue) -> str:
    """A default: a function by its name, since its address changes from run to run."""
    if isinstance(value, Leaf) and isinstance(value.value, Opaque):
        name = getattr(value.value.live, "__qualname__", None)
        if isinstance(name, str):
            return name.replace(".<locals>", "")
    return brief(graph, value)


def called(node: Node) -> str:
    """`Transformer`, `partial Transformer`: what a Buildable calls, and how."""
    assert node.callable is not None
    if node.kind == "tagged_value":
        return "TaggedValue"
    how = {"partial": "partial ", "arg_factory": "factory "}.get(node.kind, "")
    if node.kind == "buildable" and node.type is not None:
        how = f"{node.type.short} "
    return f"{how}{node.callable.short}"


def _inline(
    graph: Graph,
    value: GraphValue,
    levels: int,
    follow: Follow | None,
    holder: int = 0,
) -> str | None:
    if isinstance(value, Leaf):
        return leaf(value)
    node = graph.nodes[value.node]
    if node.kind == "reference":
        return follow(value.node, holder) if follow else spell(graph, value.node)
    if node.is_buildable or node.kind == "custom" or levels == 0:
        return None
    length, is_nested = 0, False
    parts = []
    for argument in node.arguments:
        assert argument.value is not None
        text = _inline(graph, argument.value, levels - 1, follow, value.node)
        if text is None:
            return None
        if "dict" in node.kind:
            assert not isinstance(argument.key, str)
            text = f"{paths.bracket(argument.key)[1:-1]}: {text}"
        elif node.kind == "namedtuple":
            text = f"{argument.key}={text}"
        parts.append(text)
        is_nested = is_nested or isinstance(argument.value, Link)
        length += len(text)
        if is_nested and length > _NESTED:
            return None
    inside = ", ".join(parts)
    if node.kind == "namedtuple":
        assert node.callable is not None
        return f"{node.callable.short}({inside})"
    if node.kind == "default_dict":
        factory = node.callable.short if node.callable else "None"
        return f"defaultdict({factory}, {{{inside}}})"
    opening, closing, empty = _BRACKETS[node.kind]
    if node.kind == "tuple" and len(parts) == 1:
        inside += ","
    return f"{opening}{inside}{closing}" if parts else empty


def link_of(value: GraphValue | None) -> int | None:
    """The number of the node that a value links to."""
    return value.node if isinstance(value, Link) else None
