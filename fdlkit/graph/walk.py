"""What lies directly below a value of a config, and putting it together again.

Fiddle's own rules: Buildables, lists, tuples, NamedTuples and dicts have children,
and so has every type registered with `fiddle.daglish`. An `OrderedDict` has too,
where Fiddle would leave a config inside it unbuilt.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import fiddle as fdl
from fiddle import daglish

from fdlkit.graph import fiddle_internals, paths
from fdlkit.graph.paths import PathKey

# Values of these types have no children; asked first because most values are such.
ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None)})


def is_leaf(value: object) -> bool:
    """Whether nothing lies below the value."""
    return is_leaf_type(type(value))


def is_leaf_type(kind: type) -> bool:
    """Whether nothing lies below values of this very type."""
    if kind in ATOMS:
        return True
    if issubclass(kind, fdl.Buildable) or kind is collections.OrderedDict:
        return False
    return daglish.find_node_traverser(kind) is None


def children(value: Any) -> list[tuple[PathKey, Any]]:
    """Key and value of everything directly below; arguments in signature order."""
    kind = type(value)
    if kind in ATOMS:
        return []
    if isinstance(value, fdl.Buildable):
        return list(fiddle_internals.ordered_arguments(value).items())
    if kind is list or kind is tuple:
        return list(enumerate(value))
    if kind in (dict, collections.OrderedDict, collections.defaultdict):
        return [(paths.of_dict_key(key), child) for key, child in value.items()]
    traverser = daglish.find_node_traverser(kind)
    if traverser is None:
        return []
    keys = [_of_element(element) for element in traverser.path_elements(value)]
    return list(zip(keys, traverser.flatten(value)[0], strict=True))


def with_children(value: Any, values: Sequence[Any]) -> Any:
    """A new value like `value` with other children, given in the order of `children`.

    A node keeps its callable, tags and history.
    """
    kind = type(value)
    if isinstance(value, fdl.Buildable):
        names = fiddle_internals.ordered_arguments(value)
        return fiddle_internals.copy_node(value, dict(zip(names, values, strict=True)))
    if kind is list or kind is tuple:
        return kind(values)
    if kind is collections.OrderedDict:
        return kind(zip(value, values, strict=True))
    return assemble(kind, values, metadata(value))


def metadata(value: Any) -> Any:
    """What is needed, besides the children, to make a container anew."""
    return _traverser(type(value)).flatten(value)[1]


def assemble(kind: type, values: Sequence[Any], metadata: Any) -> Any:
    """A container of a type that `fiddle.daglish` knows."""
    return _traverser(kind).unflatten(values, metadata)


def _traverser(kind: type) -> daglish.NodeTraverser:
    traverser = daglish.find_node_traverser(kind)
    if traverser is None:
        raise TypeError(f"{kind.__qualname__} has no children")
    return traverser


def _of_element(element: daglish.PathElement) -> PathKey:
    if isinstance(element, daglish.Attr):
        return element.name
    if isinstance(element, daglish.Index):
        return element.index
    if isinstance(element, daglish.Key):
        return paths.of_dict_key(element.key)
    return paths.Key(element)
