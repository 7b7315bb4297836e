"""A config as a drawing, before anyone has drawn it: boxes, rows, edges, groups.

Every renderer (`dot`, `mermaid`, `html`) draws the same `Scene`. A box is a node, or a
container that is shared; any other container is unfolded into rows of the box that
holds it. What is shared is one box with several edges to it.

Two configs can be one scene: the new one, with what is gone of the old one in its
place, and marks on what is different. Then nothing is told by a colour alone either:
each mark has a sign.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from fdlkit.graph import paths

RowKind = Literal["value", "node", "container", "reference", "default", "unset"]
EdgeKind = Literal["holds", "reference"]


# What was done to a row, a box or an edge.
Mark = Literal[
    "",
    "added",
    "removed",
    "changed",
    "moved",
    "shared",
    "unshared",
    "tagged",
    "edited",
]

# What stands before what has the mark; as in the text of a difference.
SIGNS: dict[Mark, str] = {
    "": "",
    "added": "+",
    "removed": "-",
    "changed": "~",
    "moved": ">",
    "shared": "&",
    "unshared": "&",
    "tagged": "#",
    "edited": "",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One line of a box: an argument, or an element of a container in it.

    Attributes:
      key: `hidden`, `[0]`, `['loss']`.
      suffix: How a path goes on from the box's own: `.metrics['loss']`.
      level: 0 for an argument, one more for what is in a container.
      kind: What it is.
      node: The node of the graph that stands here: the box's, the container's, the
        reference's. None for a leaf and for what is not set.
      text: The value, the reference, or the name of the node that it leads to.
      result: What a reference comes to; `?` if it is broken.
      annotation: The parameter's type; empty if there is none.
      tags: Short names of the tags.
      set_by: The flag that set the value (`--fdl_set`); empty if none did.
      origin: Where the value was written; empty if that is not known.
      box: The box that it leads to, by its place in `Scene.boxes`.
      mark: The number of the shared box that it leads to, 0 if it is not shared.
      is_cut: Whether the node that is here is not drawn.
      folded: How many boxes are hidden behind this row, those counted that are
        reached by it first.
      change: What was done to it, where two configs are drawn as one.
      was: What stood here before, of what is `changed`.
      notes: What else is to be said of that: `now 0.1 by default`.
    """

    key: str
    suffix: str
    level: int
    kind: RowKind
    node: int | None = None
    text: str = ""
    result: str = ""
    annotation: str = ""
    tags: tuple[str, ...] = ()
    set_by: str = ""
    origin: str = ""
    box: int | None = None
    mark: int = 0
    is_cut: bool = False
    folded: int = 0
    change: Mark = ""
    was: str = ""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """A node, or a container that is shared.

    Attributes:
      node: Its number in the graph.
      title: What it calls, for short: `Transformer`, `partial adamw`, `list`.
      name: The same in full: `fdlkit.nn.transformer.Transformer`.
      group: Its group's place in `Scene.groups`; None for a container.
      mark: Its number among what is shared, 0 if it is not shared.
      places: In how many places it stands.
      level: How many boxes are above it on the shortest way.
      holder: Box and row that lead to it first; None for the root.
      rows: Its lines.
      change: What was done to it, where two configs are drawn as one: `edited` if it
        is another row or more, `changed` if it calls something else.
      was: What is to be said of that: `was optax.adam`.
    """

    node: int
    title: str
    name: str
    group: int | None
    mark: int
    places: int
    level: int
    holder: tuple[int, int] | None
    rows: tuple[Row, ...]
    change: Mark = ""
    was: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """A line from a row.

    Attributes:
      kind: `holds`: to the box that stands there. `reference`: to the row that decides
        the value.
      box: The box that it starts from.
      row: The row of that box.
      to_box: The box that it leads to.
      to_row: For a reference the row of that box, None for the box itself.
      change: What was done to it, where two configs are drawn as one.
    """

    kind: EdgeKind
    box: int
    row: int
    to_box: int
    to_row: int | None = None
    change: Mark = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Boxes whose callables come from one package.

    Attributes:
      name: `fdlkit.nn`, `optax`.
      boxes: The boxes, in order.
    """

    name: str
    boxes: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """A whole drawing.

    Attributes:
      boxes: In the order of a reader; the root first.
      edges: All edges, by the row that they start from.
      groups: In the order in which they are met.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]

    def path(self, box: int) -> str:
        """The first path to a box."""
        suffixes = []
        while (holder := self.boxes[box].holder) is not None:
            box, row = holder
            suffixes.append(self.boxes[box].rows[row].suffix)
        return "".join(reversed(suffixes)).removeprefix(".") or paths.ROOT
