"""Required arguments that are not set, all of them, before anything is built."""

from __future__ import annotations

import dataclasses
import inspect

import fiddle as fdl

from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.model import Argument, Graph, Node
from fdlkit.graph.places import Places


@dataclasses.dataclass(frozen=True)
class Missing:
    """A required argument that is not set.

    Attributes:
      path: The argument's path; of a tagged value that nothing has filled, its own.
      node: The node that lacks it.
      argument: The argument.
    """

    path: paths.Path
    node: Node
    argument: Argument

    @property
    def what(self) -> str:
        """Its type and tags, and what wants it."""
        tags = "".join(f" #{tag.short}" for tag in self.argument.tags)
        if self.node.kind == "tagged_value":
            return f"{tags} (a tagged value that nothing has filled)"
        annotation = self.argument.annotation
        kind = f": {annotation}" if annotation else ""
        called = self.node.callable
        return f"{kind}{tags} ({called.name if called else self.node.kind})"


def find_missing(graph: Graph, places: Places) -> tuple[Missing, ...]:
    """Every required argument that is not set, in the order of a reader.

    A partial may be told the rest when it is called.
    """
    found = []
    for number in places.order:
        node = graph.nodes[number]
        if node.kind not in ("config", "tagged_value", "buildable"):
            continue
        if _is_partial(node):
            continue
        for argument in node.arguments:
            if argument.required and argument.value is None:
                path = places.path(number)
                if node.kind != "tagged_value":
                    path = (*path, argument.key)
                found.append(Missing(path, node, argument))
    return tuple(found)


def refuse_missing(graph: Graph, places: Places) -> None:
    """Refuses a config with required arguments that are not set.

    Raises:
      UserError: All of them are listed.
    """
    missing = find_missing(graph, places)
    if not missing:
        return
    count = len(missing)
    raise UserError(
        f"{count} required argument{'s are' if count > 1 else ' is'} not set",
        *(f"  {paths.brief(one.path)}{one.what}" for one in missing),
        "set them in the config, or with --fdl_set=PATH=VALUE",
    )


def _is_partial(node: Node) -> bool:
    """Whether it is of a kind that someone has derived from `fdl.Partial`."""
    kind = node.type.live if node.type is not None else None
    return inspect.isclass(kind) and issubclass(kind, fdl.Partial)
