"""Which built object a node of the config has become, and what calls it in a trace."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from fdlkit.graph import paths
from fdlkit.graph.model import Graph, Link, Node

_MISSING: Any = object()
_MARK = "_fdlkit_node"

ScopePath = tuple[str, ...]


def built_objects(graph: Graph, built: Any) -> Mapping[int, Any]:
    """The object of each node that can be found in what a config builds.

    Found by going down both together, the arguments of a node being the attributes
    of what it made; what keeps its arguments elsewhere hides all that is below it.
    """
    if built is None or not isinstance(graph.root, Link):
        return {}
    found: dict[int, Any] = {}
    todo = [(graph.root.node, built)]
    while todo:
        number, thing = todo.pop()
        node = graph.nodes[number]
        if number in found or not _fits(node, thing):
            continue
        found[number] = thing
        for key, below in _below(graph, number):
            held = _held(node, thing, key)
            if held is not _MISSING:
                todo.append((below, held))
    return {n: thing for n, thing in found.items() if graph.nodes[n].is_buildable}


def _below(graph: Graph, number: int) -> Iterator[tuple[paths.PathKey, int]]:
    for argument in graph.nodes[number].arguments:
        inner = graph.node(argument.value)
        if inner is not None and inner.kind != "reference":
            assert isinstance(argument.value, Link)
            yield argument.key, argument.value.node


def _fits(node: Node, thing: Any) -> bool:
    if node.is_buildable:
        live = None if node.callable is None else node.callable.live
        return node.kind == "config" and inspect.isclass(live) and type(thing) is live
    if "dict" in node.kind:
        return isinstance(thing, Mapping)
    return isinstance(thing, list | tuple) and len(thing) == len(node.arguments)


def _held(node: Node, thing: Any, key: paths.PathKey) -> Any:
    try:
        if node.is_buildable:
            return getattr(thing, key, _MISSING) if isinstance(key, str) else _MISSING
        return thing[paths.to_dict_key(key)]
    except Exception:  # noqa: BLE001 - a property of the user's may raise anything
        return _MISSING


@dataclasses.dataclass
class Calls:
    """Where the modules of nodes were called while a model was traced.

    Attributes:
      paths: For each node, the paths of the variables that its module then had.
    """

    paths: dict[int, set[ScopePath]] = dataclasses.field(default_factory=dict)


@contextlib.contextmanager
def watched(objects: Mapping[int, Any]) -> Iterator[Calls]:
    """Notes where Flax modules are called, whatever copies of them are made.

    Flax calls copies of the modules that it is given, and a model may copy them once
    more. Each copy is told which node it is of, for as long as this is around: a copy
    is equal to its original, but knows nothing of it.
    """
    import flax.linen as nn

    modules = {n: m for n, m in objects.items() if isinstance(m, nn.Module)}
    calls = Calls({number: set() for number in modules})
    original = nn.Module.clone

    def clone(self: Any, **kwargs: Any) -> Any:
        made = original(self, **kwargs)
        mark = vars(self).get(_MARK)
        if mark is not None:
            object.__setattr__(made, _MARK, mark)
        return made

    def note(next_function: Any, args: Any, kwargs: Any, context: Any) -> Any:
        mark = vars(context.module).get(_MARK)
        if mark is not None and context.module.scope is not None:
            calls.paths[mark].add(tuple(context.module.path))
        return next_function(*args, **kwargs)

    for number, module in modules.items():
        object.__setattr__(module, _MARK, number)
    nn.Module.clone = clone  # type: ignore[method-assign]
    try:
        with nn.intercept_methods(note):
            yield calls
    finally:
        nn.Module.clone = original  # type: ignore[method-assign]
        for module in modules.values():
            vars(module).pop(_MARK, None)
