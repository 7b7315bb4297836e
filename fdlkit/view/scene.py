"""Painting a graph: which nodes are boxes, what their rows say, where edges lead."""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Collection, Mapping

from fdlkit import printable
from fdlkit.graph import origins, paths, texts
from fdlkit.graph.faults import BrokenReferenceError, Found
from fdlkit.graph.model import UNKNOWN, Argument, Graph, Link, Node, Origin, Value
from fdlkit.graph.mutated_defaults import written_as
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.references import spell
from fdlkit.graph.resolve import Resolver
from fdlkit.view.boxes import Box, Edge, Group, Row, Scene
from fdlkit.view.plain import Texts, set_by, shown

# A container that is nested deeper in containers than this is a box of its own.
_MAX_UNFOLDED = 3

# Boxes are grouped by this many parts of their module's name: `fdlkit.nn`, `optax`.
_GROUP_PARTS = 2


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
    return _Painter(graph, Wanted(depth, defaults), limit).scene()


# A position in the graph: a node and a key in it.
Position = tuple[int | None, PathKey | None]

# A place in a scene: a box and a row of it.
Place = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """How much of a graph is painted.

    Attributes:
      depth: How many levels of boxes below the root; None for all.
      defaults: Whether to list arguments that are not set.
      unfolded: Containers that get a row for each element, whatever is in them.
      only: The nodes that may be boxes; None for all.
    """

    depth: int | None = None
    defaults: bool = False
    unfolded: Collection[int] = ()
    only: Collection[int] | None = None


@dataclasses.dataclass(frozen=True)
class Painting:
    """A scene, and where in it the parts of the graph are.

    Attributes:
      scene: The scene.
      rows: Where each argument and each element is that has a row.
      shown: Where each container is that is a row.
      boxes: Where each node is that is a box.
    """

    scene: Scene
    rows: Mapping[Position, Place]
    shown: Mapping[int, Place]
    boxes: Mapping[int, int]


def paint(graph: Graph, wanted: Wanted, limit: int) -> Painting:
    """The drawing of a graph or of a part of it, with an index."""
    painter = _Painter(graph, wanted, limit)
    whole = painter.scene()
    return Painting(whole, painter.rows_at, painter.shown_at, painter.boxes_at)


class _Painter:
    def __init__(self, graph: Graph, wanted: Wanted, limit: int):
        self._graph = graph
        self._wanted = wanted
        self._limit = limit
        self._texts = Texts(graph, limit)
        self._resolver = Resolver(graph)
        self._places: Places = self._resolver.places
        self._first = self._find_first()
        self._marks = self._number_shared()
        self._is_plain = self._find_plain()
        self._boxed = self._find_boxed()
        levels = self._find_levels()
        depth, only = wanted.depth, wanted.only
        visible = [
            n for n in self._places.order
            if n in levels
            and (depth is None or levels[n] <= depth)
            and (only is None or n in only)
        ]  # fmt: skip
        self._levels = levels
        self.boxes_at = {number: index for index, number in enumerate(visible)}
        self._sources = self._find_sources()
        self._followed = {
            (end.holder, end.key) for ends in self._sources.values() for end in ends
        }
        self._folded = self._count_folded()
        # Where each row is, by the position in the graph and by the node in it.
        self.rows_at: dict[Position, tuple[int, int]] = {}
        self.shown_at: dict[int, tuple[int, int]] = {}
        self._origins: dict[Origin, str] = {}  # texts of files, line left out

    def scene(self) -> Scene:
        rows = [self._rows(n, index) for n, index in self.boxes_at.items()]
        holders = find_holders(rows)
        groups: dict[str, list[int]] = {}
        boxes = []
        for number, index in self.boxes_at.items():
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

    def _find_first(self) -> dict[int, Position]:
        """Where a reader who goes down into everything meets each node first."""
        first: dict[int, Position] = {}
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
            is_plain = is_plain and number not in self._wanted.unfolded
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

    def _count_folded(self) -> dict[Position, int]:
        """For each row behind which something is hidden, how many boxes are."""
        counts: dict[Position, int] = {}
        entries: dict[int, Position] = {}  # of what is hidden, the row in front of it
        for number in self._places.order:  # a holder comes before what it holds first
            around, key = self._first[number]
            if around is None:
                continue
            if around in entries:
                entries[number] = entries[around]
            elif number in self._boxed and number not in self.boxes_at:
                entries[number] = around, key
            # What is visible after all has its rows elsewhere.
            if number in self.boxes_at:
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
            self.rows_at[holder, argument.key] = index, len(rows)
            if row.node is not None and row.kind != "node":
                self.shown_at.setdefault(row.node, (index, len(rows)))
            rows.append(row)
            if row.kind == "container" and row.node is not None:
                below = self._graph.nodes[row.node].arguments
                todo += [(row.node, path, element) for element in reversed(below)]
        return rows

    def _is_listed(self, holder: int, argument: Argument) -> bool:
        return (
            self._wanted.defaults
            or argument.value is not None
            or argument.required
            or bool(argument.tags)
            or (holder, argument.key) in self._followed
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
                box=self.boxes_at.get(number),
                mark=self._marks.get(number, 0),
                is_cut=number not in self.boxes_at,
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
        at = self.rows_at.get((end.holder, end.key))
        return at or self.shown_at.get(end.holder)


def find_holders(rows: list[list[Row]]) -> list[tuple[int, int] | None]:
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
