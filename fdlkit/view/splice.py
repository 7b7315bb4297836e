"""Putting rows and boxes of an old drawing into a new one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from fdlkit.view.boxes import Box, Edge, Group, Mark, Row, Scene
from fdlkit.view.scene import Painting, Place

# What an edge is whose row is marked.
_EDGES: dict[Mark, Mark] = {
    "added": "added",
    "changed": "added",
    "shared": "added",
    "unshared": "added",
    "moved": "moved",
    "removed": "removed",
}

# Of two marks on one row the stronger one stays.
_WEAK: frozenset[Mark] = frozenset({"", "tagged", "edited"})


class Splice:
    """One drawing of two; marks and old rows are collected, then all is joined.

    Places are given as they are in the two drawings. `place` and `ghost` tell where
    something has come to be, once all is joined.

    Attributes:
      gone: The old boxes that have no counterpart, by their number in the joined
        drawing.
    """

    def __init__(self, old: Painting, new: Painting, new_of: Mapping[int, int]):
        self._old, self._new = old, new
        self._new_of = new_of
        self._marks = max(box.mark for box in new.scene.boxes)
        first = len(new.scene.boxes)
        self.gone: dict[int, int] = {}  # by the old box
        for number, box in enumerate(old.scene.boxes):
            if box.node >= 0 and box.node not in new_of:
                self.gone[number] = first + len(self.gone)
        self._marked: dict[Place, Row] = {}
        self._boxes: dict[int, Box] = {}
        self._left_out: set[Place] = set()
        self._ghosts: list[list[Row]] = []
        self._before: dict[Place, list[int]] = {}
        self._places: dict[Place, Place] = {}
        self._ghost_places: list[Place] = []

    # Collecting.

    def row(self, place: Place) -> Row:
        """A row of the new drawing, with its marks."""
        box, row = place
        return self._marked.get(place) or self._new.scene.boxes[box].rows[row]

    def mark(
        self,
        place: Place,
        change: Mark,
        *,
        was: str = "",
        text: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Marks a row of the new drawing."""
        row = self.row(place)
        self._marked[place] = dataclasses.replace(
            row,
            change=change if row.change in _WEAK else row.change,
            was=was or row.was,
            text=row.text if text is None else text,
            notes=(*row.notes, *notes),
        )

    def mark_box(self, box: int, change: Mark, was: str = "") -> None:
        """Marks a box of the new drawing."""
        there = self._boxes.get(box) or self._new.scene.boxes[box]
        self._boxes[box] = dataclasses.replace(
            there,
            change=change if there.change in _WEAK else there.change,
            was=was or there.was,
        )

    def put(self, old: Place, before: Place, level: int, notes: tuple[str, ...]) -> int:
        """Puts a row of the old drawing, with those below it, before a new one.

        Args:
          old: Where the row is in the old drawing.
          before: The row of the new drawing; one beyond the last is the end.
          level: Its level there.
          notes: What is to be said of it.

        Returns:
          The number of what was put in, for `ghost`.
        """
        rows = self._old.scene.boxes[old[0]].rows
        head = rows[old[1]]
        ghost = [
            dataclasses.replace(
                self._translated(row),
                level=row.level - head.level + level,
                change="removed",
                notes=notes if row is head else (),
            )
            for row in rows[old[1] : end_of(rows, old[1])]
        ]
        return self.put_rows(ghost, before)

    def put_rows(self, rows: list[Row], before: Place) -> int:
        """Puts rows before one of the new drawing."""
        self._ghosts.append(rows)
        self._before.setdefault(before, []).append(len(self._ghosts) - 1)
        return len(self._ghosts) - 1

    def leave_out(self, place: Place) -> None:
        """Leaves out a row of the new drawing, for which an old one stands."""
        self._left_out.add(place)

    def is_more(self, old: Place) -> bool:
        """Whether an old row leads to more than its own text tells.

        To a box that is gone, or to rows in it.
        """
        row = self._old.scene.boxes[old[0]].rows[old[1]]
        return row.box in self.gone or row.kind == "container"

    # Joining.

    def place(self, place: Place) -> Place:
        """Where a row of the new drawing is now."""
        return self._places[place]

    def ghost(self, number: int) -> Place:
        """Where the first of the old rows is that were put in."""
        return self._ghost_places[number]

    def joined(self) -> Scene:
        """The drawing."""
        rows = [self._rows(n) for n in range(len(self._new.scene.boxes))]
        rows += [self._gone_rows(n) for n in self.gone]
        holders = self._holders(rows)
        groups = {g.name: list(g.boxes) for g in self._new.scene.groups}
        boxes: list[Box] = []
        for number, box in enumerate(self._new.scene.boxes):
            is_edited = any(row.change for row in rows[number])
            there = self._boxes.get(number, box)
            boxes.append(
                dataclasses.replace(
                    there,
                    rows=tuple(rows[number]),
                    holder=box.holder and self._places[box.holder],
                    change=there.change or ("edited" if is_edited else ""),
                )
            )
        for old, number in self.gone.items():
            box = self._old.scene.boxes[old]
            holder = holders.get(number)
            group = None
            if box.group is not None:
                name = self._old.scene.groups[box.group].name
                groups.setdefault(name, []).append(number)
                group = list(groups).index(name)
            boxes.append(
                dataclasses.replace(
                    box,
                    group=group,
                    mark=self._gone_mark(old),
                    level=0 if holder is None else boxes[holder[0]].level + 1,
                    holder=holder,
                    rows=tuple(rows[number]),
                    change="removed",
                )
            )
        edges = [*self._kept_edges(boxes), *self._gone_edges(boxes)]
        members = tuple(Group(name, tuple(n)) for name, n in groups.items())
        return Scene(tuple(boxes), tuple(edges), members)

    def _rows(self, box: int) -> list[Row]:
        """The rows of a new box, with the old ones that were put in."""
        rows: list[Row] = []
        count = len(self._new.scene.boxes[box].rows)
        for number in range(count + 1):
            for ghost in self._before.get((box, number), ()):
                self._ghost_places += [(0, 0)] * (ghost + 1 - len(self._ghost_places))
                self._ghost_places[ghost] = box, len(rows)
                rows += self._ghosts[ghost]
            if number < count:
                self._places[box, number] = box, len(rows)
                if (box, number) not in self._left_out:
                    rows.append(self.row((box, number)))
        return rows

    def _gone_rows(self, old: int) -> list[Row]:
        return [self._translated(row) for row in self._old.scene.boxes[old].rows]

    def _translated(self, row: Row) -> Row:
        """An old row, with the boxes and marks that there are now."""
        if row.box is None:
            return row
        box, mark = self._box(row.box), 0
        if row.box in self.gone:
            mark = self._gone_mark(row.box)
        elif box is not None:
            mark = self._new.scene.boxes[box].mark
        return dataclasses.replace(row, box=box, mark=mark, is_cut=box is None)

    def _box(self, old: int) -> int | None:
        """The number that an old box has now; None if it is not drawn."""
        if old in self.gone:
            return self.gone[old]
        new = self._new_of.get(self._old.scene.boxes[old].node)
        return None if new is None else self._new.boxes.get(new)

    def _gone_mark(self, old: int) -> int:
        """What is shared is numbered on behind what is shared in the new config."""
        mark = self._old.scene.boxes[old].mark
        return mark and self._marks + mark

    def _holders(self, rows: list[list[Row]]) -> dict[int, Place]:
        """Where each box that is gone is met first."""
        first = len(self._new.scene.boxes)
        holders: dict[int, Place] = {}
        for start in range(first):
            todo = [(start, -1)]
            while todo:
                box, row = todo.pop()
                below = rows[box][row].box if row >= 0 else start
                if below is None or (row >= 0 and (below < first or below in holders)):
                    continue
                if row >= 0:
                    holders[below] = box, row
                todo += [(below, n) for n in reversed(range(len(rows[below])))]
        return holders

    def _kept_edges(self, boxes: list[Box]) -> list[Edge]:
        edges = []
        for edge in self._new.scene.edges:
            if (edge.box, edge.row) in self._left_out:
                continue
            _, row = self._places[edge.box, edge.row]
            to_row = edge.to_row
            if to_row is not None:
                if (edge.to_box, to_row) in self._left_out:
                    to_row = None
                else:
                    _, to_row = self._places[edge.to_box, to_row]
            change = _EDGES.get(boxes[edge.box].rows[row].change, "")
            if boxes[edge.box].change == "added":
                change = "added"
            edges.append(
                dataclasses.replace(edge, row=row, to_row=to_row, change=change)
            )
        return edges

    def _gone_edges(self, boxes: list[Box]) -> list[Edge]:
        """The edges from old rows that were put in and from boxes that are gone."""
        edges = [
            Edge("holds", number, n, row.box, change="removed")
            for number, box in enumerate(boxes)
            for n, row in enumerate(box.rows)
            if row.box is not None and "removed" in (row.change, box.change)
        ]
        at = {place: position for position, place in self._old.rows.items()}
        for edge in self._old.scene.edges:
            if edge.kind != "reference" or edge.box not in self.gone:
                continue
            to_box, to_row = self._box(edge.to_box), edge.to_row
            if edge.to_box not in self.gone and to_row is not None:
                holder, key = at.get((edge.to_box, to_row), (None, None))
                new = None if holder is None else self._new_of.get(holder)
                there = self._new.rows.get((new, key))
                if there is None or there in self._left_out:
                    continue
                to_box, to_row = self._places[there]
            if to_box is not None:
                number = self.gone[edge.box]
                edges.append(
                    Edge("reference", number, edge.row, to_box, to_row, "removed")
                )
        return edges


def end_of(rows: tuple[Row, ...] | list[Row], start: int) -> int:
    """The first row behind one and all that is in it."""
    end = start + 1
    while end < len(rows) and rows[end].level > rows[start].level:
        end += 1
    return end
