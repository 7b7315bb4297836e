"""Two configs as one drawing: the new one, with what is gone of the old one in it.

Both are painted as they are. What is different is marked in the rows and boxes of the
new one; rows and boxes of the old one that have no counterpart are put in where they
were.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping

from fdlkit.diff import text
from fdlkit.diff.classes import exact_key
from fdlkit.diff.compare import Compared
from fdlkit.diff.lookup import Lookup
from fdlkit.diff.model import (
    Called,
    Change,
    Copied,
    Inserted,
    Moved,
    Removed,
    Reordered,
    Set,
    Tagged,
    Unset,
    Untagged,
)
from fdlkit.graph import paths
from fdlkit.graph.model import Link
from fdlkit.graph.paths import PathKey
from fdlkit.graph.places import Places
from fdlkit.view.anchors import Anchors, anchors
from fdlkit.view.boxes import Mark, Row, Scene
from fdlkit.view.plain import shown
from fdlkit.view.scene import Place, Wanted, paint
from fdlkit.view.splice import Splice, end_of

# The marks of changes, as `text.what` names them.
_MARKS: Mapping[str, Mark] = {
    "set": "changed",
    "added": "added",
    "inserted": "added",
    "moved": "moved",
    "shared": "shared",
    "copied": "unshared",
    "tagged": "tagged",
    "untagged": "tagged",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One change in words, and where it is drawn.

    Attributes:
      line: The words.
      box: The box.
      row: The row of it; None if it is the box itself.
    """

    line: text.Line
    box: int
    row: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """The changes of one node.

    Attributes:
      path: The node's place in the new config.
      called: What it calls, by its full name; empty for a container.
      box: The box that it is, or is drawn in.
      entries: The changes.
    """

    path: str
    called: str
    box: int
    entries: tuple[Entry, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Union:
    """Two configs as one drawing.

    Attributes:
      scene: The drawing.
      sections: All changes, as the text of the difference has them.
    """

    scene: Scene
    sections: tuple[Section, ...]


def union(
    compared: Compared, *, whole: bool = False, defaults: bool = False, limit: int = 40
) -> Union:
    """The drawing of two configs.

    Args:
      compared: The two, compared.
      whole: Whether to draw boxes too that nothing changes in or below.
      defaults: Whether to list arguments that are not set.
      limit: The longest value; what is longer is cut.
    """
    return _Union(compared, whole, defaults, limit).run()


@dataclasses.dataclass(frozen=True, slots=True)
class _Spot:
    """A change, and the node that has changed.

    Attributes:
      change: The change.
      line: The change in words.
      old: The old node; None for another root.
      new: The same node in the new graph.
    """

    change: Change
    line: text.Line
    old: int | None
    new: int | None


# Where something is drawn: a new row or box, or one that was put in.
_Drawn = tuple[int, int | None] | int


class _Union:
    def __init__(self, compared: Compared, whole: bool, defaults: bool, limit: int):
        self._compared = compared
        self._limit = limit
        self._olds, self._news = Lookup(compared.old), Lookup(compared.new)
        self._spots = list(self._find_spots())
        olds = {spot.old for spot in self._spots if spot.old is not None}
        news = {spot.new for spot in self._spots if spot.new is not None}
        only = None if whole else self._near(news)
        old = Wanted(defaults=defaults, unfolded=olds)
        new = Wanted(defaults=defaults, unfolded=news, only=only)
        self._old = paint(compared.old, old, limit)
        self._new = paint(compared.new, new, limit)
        self._splice = Splice(self._old, self._new, compared.new_of)
        self._moves = self._find_moves()
        self._anchors: dict[tuple[int, int], Anchors] = {}

    def run(self) -> Union:
        for number, box in enumerate(self._new.scene.boxes):
            if box.node >= 0 and self._is_new(box.node):
                self._splice.mark_box(number, "added")
        drawn = {id(spot.change): self._draw(spot) for spot in self._spots}
        whole = self._splice.joined()
        return Union(whole, tuple(self._sections(drawn)))

    # What is drawn.

    def _find_spots(self) -> Iterator[_Spot]:
        for change in self._compared.diff:
            line = text.line(change, self._limit)
            if change.holder is None:
                yield _Spot(change, line, None, None)
                continue
            path = change.path if change.key is None else change.path[:-1]
            old = self._olds.node(change.holder.path)
            yield _Spot(change, line, old, self._news.node(path))

    def _find_moves(self) -> dict[int, tuple[set[Hashable], set[Hashable]]]:
        """For each new node, old keys of what it lost and new ones of what it got."""
        found: dict[int, tuple[set[Hashable], set[Hashable]]] = {}
        for spot in self._spots:
            change = spot.change
            if spot.new is None or change.key is None:
                continue
            key = exact_key(change.key)
            gone, put = found.setdefault(spot.new, (set(), set()))
            if isinstance(change, Removed):
                gone.add(key)
            elif isinstance(change, Inserted) or (
                isinstance(change, Moved) and change.element
            ):
                put.add(key)
            if isinstance(change, Moved):
                holder = self._olds.node(change.from_holder.path)
                new = None if holder is None else self._compared.new_of.get(holder)
                if change.from_holder == change.holder:
                    new = spot.new  # also in a copy
                if new is not None:
                    lost, _ = found.setdefault(new, (set(), set()))
                    lost.add(exact_key(change.from_key))
        return found

    def _near(self, changed: set[int]) -> set[int]:
        """The new nodes that changes are at, with all around them up to the root."""
        graph = self._compared.new
        places = Places(graph)
        near = {n for n in places.order if self._is_new(n)} | changed
        for spot in self._spots:
            if isinstance(spot.change, Moved):
                old = self._olds.node(spot.change.from_holder.path)
                new = None if old is None else self._compared.new_of.get(old)
                if new is not None:
                    near.add(new)
            if isinstance(spot.change, Unset | Removed):
                continue
            if spot.new is not None and spot.change.key is not None:
                argument = self._news.argument(Link(spot.new), spot.change.key)
                if argument is not None and isinstance(argument.value, Link):
                    near.add(argument.value.node)
        if isinstance(graph.root, Link):
            near.add(graph.root.node)
        todo = list(near)
        while todo:
            holders = places.holders[todo.pop()]
            if holders and holders[0][0] not in near:
                near.add(holders[0][0])
                todo.append(holders[0][0])
        return near

    def _is_new(self, number: int) -> bool:
        """Whether a new node is none of the old ones; of values no one can tell."""
        node = self._compared.new.nodes[number]
        is_plain = node.is_value or node.kind == "reference"
        return not is_plain and number not in self._compared.old_of

    # Marking.

    def _draw(self, spot: _Spot) -> _Drawn:
        change, line = spot.change, spot.line
        if spot.old is None or spot.new is None:
            return self._root(spot)
        key = change.key
        if key is None:
            return self._itself(spot, spot.old, spot.new)
        place = self._new.rows.get((spot.new, key))
        if isinstance(change, Unset | Removed):
            ghost = self._ghost(spot.old, spot.new, key, line.notes)
            if ghost is not None:
                if isinstance(change, Unset) and place is not None:
                    self._splice.leave_out(place)
                return ghost
        if place is None:  # a tag of what is not set and has no row
            box, row = self._of_node(spot.new)
            if row is None:
                self._splice.mark_box(box, "edited")
            return box, row
        mark = _MARKS[text.what(change)]
        notes = line.notes
        was = key
        if type(was) is int:
            was = self._old_key(spot.old, spot.new, was)
        there = self._old.rows.get((spot.old, was))
        if (
            isinstance(change, Set)
            and there is not None
            and self._splice.is_more(there)
        ):
            self._ghost(spot.old, spot.new, was, ())
            notes = tuple(note for note in notes if not note.startswith("was "))
        elif isinstance(change, Set) and mark == "changed":
            return self._changed(change, place, notes)
        if isinstance(change, Moved):
            self._left(change)
        if isinstance(change, Moved | Copied | Tagged | Untagged) or mark == "shared":
            # What the line says is told by no row.
            notes = ("".join(part for _, part in line.parts[1:2]), *notes)
        self._splice.mark(place, mark, notes=notes)
        if mark == "added":
            for inside in range(place[1] + 1, self._end(place)):
                self._splice.mark((place[0], inside), mark)
        return place

    def _left(self, change: Moved) -> None:
        """Where a value stood that is in another node now."""
        old = self._olds.node(change.from_holder.path)
        new = None if old is None else self._compared.new_of.get(old)
        if old is None or new is None or change.from_holder == change.holder:
            return
        if new in self._new.boxes or new in self._new.shown:
            notes = (f"now at {paths.format(change.path)}",)
            self._ghost(old, new, change.from_key, notes)

    def _changed(self, change: Set, place: Place, notes: tuple[str, ...]) -> _Drawn:
        """Another value: `old → new` in its row."""
        assert change.old is not None
        old, new = text.pair(change.old, change.new, self._limit)
        is_text = self._splice.row(place).kind == "value"
        self._splice.mark(
            place,
            "changed",
            was=shown(old, 2 * self._limit),
            text=shown(new, 2 * self._limit) if is_text else None,
            notes=notes,
        )
        return place

    def _itself(self, spot: _Spot, old: int, new: int) -> _Drawn:
        """A node that calls something else, or has its keys in another order."""
        change = spot.change
        box, row = self._of_node(new)
        if isinstance(change, Called):
            if row is None:
                was = shown(f"was {change.old}", 2 * self._limit)
                self._splice.mark_box(box, "changed", was)
            else:
                was = shown(change.old, 2 * self._limit)
                self._splice.mark((box, row), "changed", was=was)
            for key, _ in change.dropped:
                self._ghost(old, new, key, ())
        else:
            assert isinstance(change, Reordered)
            if row is None:
                self._splice.mark_box(box, "moved", spot.line.parts[-1][1])
            else:
                notes = (spot.line.parts[-1][1],)
                self._splice.mark((box, row), "moved", notes=notes)
        return box, row

    def _root(self, spot: _Spot) -> _Drawn:
        """Another root: what the old one was is a row of the new one's box."""
        change = spot.change
        assert isinstance(change, Set) and change.old is not None
        root = self._old.scene.boxes[0]
        end = len(self._new.scene.boxes[0].rows)
        box = self._splice.gone.get(0)
        if box is not None or root.node < 0:
            row = Row(
                key=paths.ROOT,
                suffix="",
                level=0,
                kind="value" if box is None else "node",
                text=root.title,
                box=box,
                change="removed",
            )
            self._splice.put_rows([row], (0, end))
        if self._new.scene.boxes[0].node < 0:
            was = shown(f"was {change.old.text}", 2 * self._limit)
            self._splice.mark_box(0, "changed", was)
        return 0, None

    # Where things are.

    def _of_node(self, new: int) -> tuple[int, int | None]:
        """The box or row of a new node."""
        if new in self._new.boxes:
            return self._new.boxes[new], None
        return self._new.shown[new]

    def _end(self, place: Place) -> int:
        return end_of(self._new.scene.boxes[place[0]].rows, place[1])

    def _ghost(
        self, old: int, new: int, key: PathKey, notes: tuple[str, ...]
    ) -> int | None:
        """Puts an old row where it would be in the new node; None if it had no row."""
        there = self._old.rows.get((old, key))
        if there is None:
            return None
        box, row = self._of_node(new)
        level = 0
        if row is not None:
            level = self._new.scene.boxes[box].rows[row].level + 1
        at = self._anchors_of(old, new).before[exact_key(key)]
        return self._splice.put(there, (box, at), level, notes)

    def _old_key(self, old: int, new: int, key: int) -> int:
        """The key that an element had before others were put in and taken out."""
        found = self._anchors_of(old, new).old_of.get(key, key)
        assert isinstance(found, int)
        return found

    def _anchors_of(self, old: int, new: int) -> Anchors:
        known = self._anchors.get((old, new))
        if known is not None:
            return known
        _, row = self._of_node(new)
        node = self._compared.new.nodes[new]
        rows: dict[Hashable, tuple[int, int]] = {}
        for argument in node.arguments:
            place = self._new.rows.get((new, argument.key))
            if place is not None:
                rows[exact_key(argument.key)] = place[1], self._end(place)
        first = 0 if row is None else row + 1
        gone, put = self._moves.get(new, ((), ()))
        was = self._compared.old.nodes[old]
        found = anchors(was, node, gone, put, rows, first)
        self._anchors[old, new] = found
        return found

    # The list of changes.

    def _sections(self, drawn: Mapping[int, _Drawn]) -> Iterator[Section]:
        lines = {id(spot.change): spot.line for spot in self._spots}
        for path, called, changes in text.groups(self._compared.diff):
            entries = tuple(
                Entry(lines[id(c)], *self._place(drawn[id(c)])) for c in changes
            )
            node = self._news.node(path)
            box = 0 if node is None else self._of_node(node)[0]
            yield Section(paths.format(path), called, box, entries)

    def _place(self, drawn: _Drawn) -> tuple[int, int | None]:
        if isinstance(drawn, int):
            return self._splice.ghost(drawn)
        box, row = drawn
        return drawn if row is None else self._splice.place((box, row))
