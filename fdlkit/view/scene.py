"""A config as a drawing, before anyone has drawn it: boxes, rows, edges, groups.

Every renderer (`dot`, `mermaid`, `html`) draws the same `Scene`. A box is a node, or a
container that is shared; any other container is unfolded into rows of the box that
holds it. What is shared is one box with several edges to it.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from typing import Literal

from fdlkit import printable
from fdlkit.graph import origins, paths, texts
from fdlkit.graph.faults import BrokenReferenceError, Found
from fdlkit.graph.model import UNKNOWN, Argument, Graph, Link, Node, Origin, Value
from fdlkit.graph.mutated_defaults import written_as
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.references import spell
from fdlkit.graph.resolve import Resolver
from fdlkit.view.plain import Texts, set_by, shown

RowKind = Literal["value", "node", "container", "reference", "default", "unset"]
EdgeKind = Literal["holds", "reference"]

# A container that is nested deeper in containers than this is a box of its own.
_MAX_UNFOLDED = 3

# Boxes are grouped by this many parts of their module's name: `fdlkit.nn`, `optax`.
_GROUP_PARTS = 2


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
      is_cut: Whether the depth limit hides the node that is here.
      folded: How many boxes the depth limit hides behind this row, those counted that
        are reached by it first.
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
    """

    kind: EdgeKind
    box: int
    row: int
    to_box: int
    to_row: int | None = None


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


def scene(
    graph: Graph, *, depth: int | None = None, defaults: bool = False, limit: int = 40
) -> Scene:
    """The drawing of a graph.

    Args:
      graph: The graph.
      depth: How many levels of boxes below the root to draw; None for all.
      defaults: Whether to list arguments that are not set. Missing and tagged ones, and
        those that a reference follows, always are.
      limit: The longest value; what is longer is cut.
    """
    return _Painter(graph, depth, defaults, limit).scene()


# A position in the graph: a node and a key in it.
_Position = tuple[int | None, PathKey | None]


class _Painter:
    def __init__(self, graph: Graph, depth: int | None, defaults: bool, limit: int):
        self._graph = graph
        self._defaults = defaults
        self._limit = limit
        self._texts = Texts(graph, limit)
        self._resolver = Resolver(graph)
        self._places: Places = self._resolver.places
        self._first = self._find_first()
        self._marks = self._number_shared()
        self._is_plain = self._find_plain()
        self._boxed = self._find_boxed()
        levels = self._find_levels()
        visible = [
            n for n in self._places.order
            if n in levels and (depth is None or levels[n] <= depth)
        ]  # fmt: skip
        self._levels = levels
        self._indices = {number: index for index, number in enumerate(visible)}
        self._sources = self._find_sources()
        self._wanted = {
            (end.holder, end.key) for ends in self._sources.values() for end in ends
        }
        self._folded = self._count_folded()
        # Where each row is, by the position in the graph and by the node in it.
        self._at: dict[_Position, tuple[int, int]] = {}
        self._shown_at: dict[int, tuple[int, int]] = {}
        self._origins: dict[Origin, str] = {}  # texts of files, line left out

    def scene(self) -> Scene:
        rows = [self._rows(n, index) for n, index in self._indices.items()]
        holders = _find_holders(rows)
        groups: dict[str, list[int]] = {}
        boxes = []
        for number, index in self._indices.items():
            name = self._group_name(self._graph.nodes[number])
            if name:
                groups.setdefault(name, []).append(index)
            group = list(groups).index(name) if name else None
            boxes.append(self._box(number, rows[index], holders[index], group))
        if not boxes:  # the whole config is a leaf
            text = shown(texts.brief(self._graph, self._graph.root), self._limit)
            boxes.append(Box(-1, text, "", None, 0, 1, 0, None, ()))
        return Scene(
            tuple(boxes),
            tuple(self._edges(boxes)),
            tuple(Group(name, tuple(members)) for name, members in groups.items()),
        )

    # What is drawn as what.

    def _find_first(self) -> dict[int, _Position]:
        """Where a reader who goes down into everything meets each node first."""
        first: dict[int, _Position] = {}
        if not isinstance(self._graph.root, Link):
            return first
        todo: list[tuple[int | None, PathKey | None, int]]
        todo = [(None, None, self._graph.root.node)]
        while todo:
            holder, key, number = todo.pop()
            if number in first:
                continue
            first[number] = holder, key
            for argument in reversed(self._graph.nodes[number].arguments):
                if isinstance(argument.value, Link):
                    todo.append((number, argument.key, argument.value.node))
        return first

    def _is_shared(self, number: int) -> bool:
        node = self._graph.nodes[number]
        return len(self._places.holders[number]) > 1 and not node.is_value

    def _number_shared(self) -> dict[int, int]:
        shared = filter(self._is_shared, self._places.order)
        return {number: mark for mark, number in enumerate(shared, start=1)}

    def _find_plain(self) -> list[bool]:
        """The containers that are written as one value."""
        plain: list[bool] = []
        for number, node in enumerate(self._graph.nodes):  # what is below comes first
            is_plain = not node.is_buildable and node.kind != "custom"
            is_plain = is_plain and not self._is_shared(number)
            for argument in node.arguments if is_plain else ():
                value = argument.value
                is_plain = is_plain and (
                    not isinstance(value, Link) or plain[value.node]
                )
            plain.append(is_plain)
        return plain

    def _find_boxed(self) -> set[int]:
        """The nodes that get a box; the rest are rows or parts of a row."""
        boxed = set()
        nesting: dict[int, int] = {}  # of containers in containers of one box
        for number in self._places.order:
            node = self._graph.nodes[number]
            holders = self._places.holders[number]
            if node.kind == "reference" and holders:
                continue
            if node.is_buildable or not holders or self._is_shared(number):
                boxed.add(number)
            elif not self._is_plain[number]:
                depth = nesting.get(holders[0][0], 0) + 1
                if depth > _MAX_UNFOLDED:
                    boxed.add(number)
                else:
                    nesting[number] = depth
        return boxed

    def _find_levels(self) -> dict[int, int]:
        """How many boxes are above each box on the shortest way to it."""
        if not isinstance(self._graph.root, Link):
            return {}
        levels = {self._graph.root.node: 0}
        todo = collections.deque([self._graph.root.node])
        while todo:
            number = todo.popleft()
            inside = [number]  # the box, and the containers that are unfolded in it
            while inside:
                for argument in self._graph.nodes[inside.pop()].arguments:
                    if not isinstance(argument.value, Link):
                        continue
                    below = argument.value.node
                    if below not in self._boxed:
                        if self._is_unfolded(below):
                            inside.append(below)
                    elif below not in levels:
                        levels[below] = levels[number] + 1
                        todo.append(below)
        return levels

    def _is_unfolded(self, number: int) -> bool:
        node = self._graph.nodes[number]
        return (
            number not in self._boxed
            and node.kind != "reference"
            and not self._is_plain[number]
        )

    def _count_folded(self) -> dict[_Position, int]:
        """For each row behind which something is hidden, how many boxes are."""
        counts: dict[_Position, int] = {}
        entries: dict[int, _Position] = {}  # of what is hidden, the row in front of it
        for number in self._places.order:  # a holder comes before what it holds first
            around, key = self._first[number]
            if around is None:
                continue
            if around in entries:
                entries[number] = entries[around]
            elif number in self._boxed and number not in self._indices:
                entries[number] = around, key
            # What is visible after all has its rows elsewhere.
            if number in self._indices:
                entries.pop(number, None)
            elif number in self._boxed:
                counts[entries[number]] = counts.get(entries[number], 0) + 1
        return counts

    # References.

    def _find_sources(self) -> dict[tuple[int, int], tuple[Found, ...]]:
        """For every reference and what holds it, the positions that decide it."""
        sources = {}
        for holder in self._places.order:
            if self._graph.nodes[holder].kind == "reference":
                continue
            for argument in self._graph.nodes[holder].arguments:
                node = self._graph.node(argument.value)
                if node is None or node.kind != "reference":
                    continue
                assert isinstance(argument.value, Link)
                at = argument.value.node, holder
                try:
                    sources[at] = self._resolver.sources(*at)
                except BrokenReferenceError:
                    sources[at] = ()
        return sources

    def _result(self, number: int, holder: int) -> str:
        try:
            value = self._resolver.value(number, holder)
        except BrokenReferenceError:
            return "?" if self._graph.defaults_known else ""
        if value is UNKNOWN:
            return ""
        if isinstance(value, Link):
            return shown(self._title(self._graph.nodes[value.node]), self._limit)
        if isinstance(value, str | bytes):
            value = value[: self._limit + 1]
        return shown(texts.of_live(value), self._limit)

    # Boxes and rows.

    def _box(
        self,
        number: int,
        rows: list[Row],
        holder: tuple[int, int] | None,
        group: int | None,
    ) -> Box:
        node = self._graph.nodes[number]
        named = node.callable if node.is_buildable else node.type
        if node.kind == "namedtuple":
            named = node.callable
        return Box(
            node=number,
            title=shown(self._title(node), self._limit),
            name=shown(named.name, 4 * self._limit) if named is not None else "",
            group=group,
            mark=self._marks.get(number, 0),
            places=max(len(self._places.holders[number]), 1),
            level=self._levels[number],
            holder=holder,
            rows=tuple(rows),
        )

    def _rows(self, number: int, index: int) -> list[Row]:
        rows: list[Row] = []
        own = self._graph.nodes[number].arguments
        todo: list[tuple[int, Path, Argument]] = [
            (number, (), a) for a in reversed(own)
        ]
        while todo:
            holder, above, argument = todo.pop()
            if not self._is_listed(holder, argument):
                continue
            path: Path = (*above, argument.key)
            row = self._row(holder, path, argument)
            self._at[holder, argument.key] = index, len(rows)
            if row.node is not None and row.kind != "node":
                self._shown_at.setdefault(row.node, (index, len(rows)))
            rows.append(row)
            if row.kind == "container" and row.node is not None:
                below = self._graph.nodes[row.node].arguments
                todo += [(row.node, path, element) for element in reversed(below)]
        return rows

    def _is_listed(self, holder: int, argument: Argument) -> bool:
        return (
            self._defaults
            or argument.value is not None
            or argument.required
            or bool(argument.tags)
            or (holder, argument.key) in self._wanted
        )

    def _row(self, holder: int, path: Path, argument: Argument) -> Row:
        key = argument.key
        row = Row(
            key=shown(key if isinstance(key, str) else paths.bracket(key), self._limit),
            suffix=_suffix(path),
            level=len(path) - 1,
            kind="value",
            annotation=shown(argument.annotation, self._limit),
            tags=tuple(shown(tag.short, self._limit) for tag in argument.tags),
            set_by=set_by(self._graph, argument),
            origin=self._origin(argument),
        )
        value = argument.value
        if value is None:
            return self._unset(row, self._graph.nodes[holder], argument)
        if not isinstance(value, Link):
            return dataclasses.replace(row, text=self._texts.value(value))
        number = value.node
        node = self._graph.nodes[number]
        row = dataclasses.replace(row, node=number)
        if node.kind == "reference":
            return dataclasses.replace(
                row,
                kind="reference",
                text=shown(spell(self._graph, number), self._limit),
                result=self._result(number, holder),
            )
        if number in self._boxed:
            return dataclasses.replace(
                row,
                kind="node",
                text=shown(self._title(node), self._limit),
                box=self._indices.get(number),
                mark=self._marks.get(number, 0),
                is_cut=number not in self._indices,
                folded=self._folded.get((holder, argument.key), 0),
            )
        if self._is_plain[number]:
            return dataclasses.replace(row, text=self._texts.value(value))
        return dataclasses.replace(
            row, kind="container", text=shown(self._title(node), self._limit)
        )

    def _origin(self, argument: Argument) -> str:
        if argument.origin is None:
            return ""
        at = dataclasses.replace(argument.origin, line=int(argument.origin.line > 0))
        if at not in self._origins:
            text = origins.show(at).removesuffix(":1")
            # The folders of the machine that it is on are no part of a drawing.
            text = os.path.basename(text) if os.path.isabs(text) else text
            self._origins[at] = shown(text, 4 * self._limit)
        place, line = self._origins[at], argument.origin.line
        return f"{place}:{line}" if line else place

    def _unset(self, row: Row, holder: Node, argument: Argument) -> Row:
        if argument.default is not None:
            text = self._default(argument.default) + written_as(holder, argument)
        elif argument.factory is not None:
            text = shown(f"{argument.factory.short}()", self._limit)
        else:
            return dataclasses.replace(row, kind="unset")
        return dataclasses.replace(row, kind="default", text=text)

    def _default(self, value: Value) -> str:
        if isinstance(value, Link):
            node = self._graph.nodes[value.node]
            if node.is_buildable or not self._is_plain[value.node]:
                return shown(f"{self._title(node)}(...)", self._limit)
        return self._texts.value(value)

    def _title(self, node: Node) -> str:
        if node.kind == "reference":
            return "reference"
        if node.is_buildable:
            return texts.called(node)
        if node.kind == "namedtuple" and node.callable is not None:
            return node.callable.short
        return node.type.short if node.type is not None else node.kind

    def _group_name(self, node: Node) -> str:
        named = node.callable if node.is_buildable else node.type
        if named is None:
            return ""
        parts = named.module.split(".")[:_GROUP_PARTS]
        return shown(".".join(parts), self._limit)

    # Edges.

    def _edges(self, boxes: list[Box]) -> list[Edge]:
        edges: dict[Edge, None] = {}
        for index, box in enumerate(boxes):
            holders = [box.node]  # of the rows at each level
            for number, row in enumerate(box.rows):
                del holders[row.level + 1 :]
                if row.box is not None:
                    edges[Edge("holds", index, number, row.box)] = None
                elif row.kind == "reference" and row.node is not None:
                    for end in self._sources[row.node, holders[-1]]:
                        to = self._where(end)
                        if to is not None:
                            edges[Edge("reference", index, number, *to)] = None
                elif row.kind == "container" and row.node is not None:
                    holders.append(row.node)
        return list(edges)

    def _where(self, end: Found) -> tuple[int, int | None] | None:
        """Box and row of a position; None if it is not drawn."""
        if end.holder is None:
            return 0, None
        at = self._at.get((end.holder, end.key))
        return at or self._shown_at.get(end.holder)


def _find_holders(rows: list[list[Row]]) -> list[tuple[int, int] | None]:
    """For each box the row at which a reader of the drawing meets it first."""
    holders: list[tuple[int, int] | None] = [None] * len(rows)
    seen: set[int] = set()
    todo: list[tuple[int, tuple[int, int] | None]] = [(0, None)] if rows else []
    while todo:
        box, holder = todo.pop()
        if box in seen:
            continue
        seen.add(box)
        holders[box] = holder
        for number in range(len(rows[box]) - 1, -1, -1):
            below = rows[box][number].box
            if below is not None:
                todo.append((below, (box, number)))
    return holders


def _suffix(path: Path) -> str:
    return printable.clean(paths.relative(path))
