"""The tree of a config: a row a value, sharing marked, defaults told from settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Literal

from fdlkit import printable
from fdlkit.graph import built, origins, paths, texts
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Graph,
    Leaf,
    Link,
    Node,
    Value,
)
from fdlkit.graph.mutated_defaults import written_as
from fdlkit.graph.places import Places
from fdlkit.graph.resolve import Resolver
from fdlkit.view.plain import set_by

Kind = Literal["node", "leaf", "default", "unset", "reference", "repeat", "built"]


# Longer types (unions of whatever an array may be) are cut at this length.
_MAX_TYPE = 40

# Values that reach further do not push the column of the origins away.
_MAX_COLUMN = 72


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the tree.

    Attributes:
      path: Where it is; as text, `<root>` for the first row.
      guides: The lines that lead to it: `│  ├─ `.
      key: The argument's name, `[0]` or `['k']`; empty for the root.
      annotation: The parameter's type, where it says more than the value; cut if long.
      mark: `&1` where something shared comes first, `*1` where it comes again; also
        of an immutable value that is there twice, if it takes more than a row.
      value: A value, the short name of what a node calls, a reference.
      result: What a reference comes to.
      tags: Short names of the tags.
      kind: What kind of row it is.
      is_cut: Whether the depth limit hides what is below.
      origin: Who wrote the value, as seen from the current folder; of a node in a
        container, who made it. Empty if it is not known, or nothing is set.
      set_by: The flag that set the value (`--fdl_set`); empty if none did.
      is_hit: Whether it is one of those that were looked for.
    """

    path: str
    guides: str
    key: str
    annotation: str
    mark: str
    value: str
    result: str
    tags: tuple[str, ...]
    kind: Kind
    is_cut: bool
    origin: str = ""
    set_by: str = ""
    is_hit: bool = False


def tree(graph: Graph, *, depth: int | None = None, defaults: bool = True) -> list[Row]:
    """The rows of a graph's tree, first to last.

    Args:
      graph: The graph.
      depth: How many levels below the root to show; None for all.
      defaults: Whether to show arguments that are not set (but for missing and tagged
        ones, which always show).
    """
    return _Tree(graph, depth, defaults).rows()


def render(
    rows: Iterable[Row],
    *,
    color: bool = False,
    width: int | None = None,
    where: bool = False,
) -> str:
    """The rows as text, a line each.

    Args:
      rows: What `tree` returned.
      color: Whether to use terminal colours. They change nothing else.
      width: The longest line; types are left out and values cut to fit. None for
        whole lines.
      where: Whether to say at the end of a line who wrote the value.
    """
    rows = list(rows)
    if where:  # which says it all
        rows = [dataclasses.replace(row, set_by="") for row in rows]
    lines = []
    told = [_origin(row, width) if where else "" for row in rows]
    column = _origin_column(rows, told, width)
    for row, origin in zip(rows, told, strict=True):
        pieces = _pieces(row)
        if width is not None:
            pieces = _fitted(pieces, width - (len(origin) + 2 if origin else 0))
        if origin:
            gap = max(column - _length(pieces), 2)
            pieces.append(("dim", f"{' ' * gap}{origin}"))
        styled = (
            f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color and style else text
            for style, text in pieces
        )
        lines.append("".join(styled))
    return "\n".join(lines) + "\n" if lines else ""


def line(row: Row) -> str:
    """A row as it is shown, without the lines that lead to it."""
    bare = dataclasses.replace(row, guides="", is_hit=False)
    return "".join(text for _, text in _pieces(bare))


@dataclasses.dataclass(frozen=True)
class _Item:
    """A value that is about to become a row.

    Attributes:
      argument: The argument that holds it, None for the root.
      holder: The node that holds it, None for the root.
      path: Where it is, as it continues the root's path: `.a[0]`.
      level: How deep.
      guides: The lines down to its row.
      below: The lines down to the rows below it, without their own branch.
    """

    argument: Argument | None
    holder: int | None
    path: str
    level: int
    guides: str
    below: str


class _Tree:
    def __init__(self, graph: Graph, depth: int | None, defaults: bool):
        self._graph = graph
        self._depth = depth
        self._defaults = defaults
        self._places = Places(graph)
        self._resolver = Resolver(graph)
        self._marks: dict[int, int] = {}

    def rows(self) -> list[Row]:
        rows = []
        todo = [_Item(None, None, "", 0, "", "")]
        while todo:
            item = todo.pop()
            row, expanded = self._row(item)
            rows.append(row)
            if expanded is not None:
                todo += reversed(self._below(item, expanded))
        return rows

    def _below(self, item: _Item, number: int) -> list[_Item]:
        shown = [a for a in self._graph.nodes[number].arguments if self._is_shown(a)]
        items = []
        for argument in shown:
            is_last = argument is shown[-1]
            items.append(
                _Item(
                    argument,
                    number,
                    item.path + paths.relative((argument.key,)),
                    item.level + 1,
                    item.below + ("└─ " if is_last else "├─ "),
                    item.below + ("   " if is_last else "│  "),
                )
            )
        return items

    def _is_shown(self, argument: Argument) -> bool:
        is_given = argument.value is not None or bool(argument.tags)
        return self._defaults or is_given or argument.required

    def _row(self, item: _Item) -> tuple[Row, int | None]:
        """A row, and the node whose arguments come below it."""
        argument = item.argument
        value = self._graph.root if argument is None else argument.value
        mark = text = result = ""
        expanded: int | None = None
        is_cut = False
        kind: Kind
        if value is None:
            assert argument is not None
            assert item.holder is not None
            kind, text = self._unset(self._graph.nodes[item.holder], argument)
        elif isinstance(value, Leaf):
            kind, text = "leaf", texts.leaf(value)
            if built.what(self._graph, value) is not None:
                kind = "built"
        else:
            node = self._graph.nodes[value.node]
            mark, is_first = self._mark(value.node, node)
            kind, text = "node", self._name(node)
            if node.kind == "reference":
                kind, text = "reference", texts.brief(self._graph, value)
                result = self._result(value.node, item.holder)
            elif not is_first:
                kind = "repeat"
            elif built.what(self._graph, value) is not None:
                kind = "built"
            elif (line := self._one_line(value)) is not None:
                kind, text = "leaf", line
            else:
                is_cut = self._depth is not None and item.level >= self._depth
                is_cut = is_cut and any(map(self._is_shown, node.arguments))
                expanded = None if is_cut else value.node
        row = Row(
            path=item.path.removeprefix(".") or paths.ROOT,
            guides=item.guides,
            key="" if argument is None else _key(argument),
            annotation=_annotation(argument, text),
            mark=mark,
            value=text,
            result=result,
            tags=tuple(tag.short for tag in argument.tags) if argument else (),
            kind=kind,
            is_cut=is_cut,
            origin=self._origin(argument, value),
            set_by=set_by(self._graph, argument),
        )
        return row, expanded

    def _origin(self, argument: Argument | None, value: Value | None) -> str:
        origin = None if argument is None else argument.origin
        if (node := self._graph.node(value)) is not None:
            is_swapped = node.swapped is not None and node.swapped.cause is not None
            origin = node.swapped if is_swapped else origin or node.origin
        return "" if value is None or origin is None else origins.short(origin)

    def _unset(self, holder: Node, argument: Argument) -> tuple[Kind, str]:
        if argument.default is not None:
            text = texts.default(self._graph, argument.default)
            return "default", text + written_as(holder, argument)
        if argument.factory is not None:
            return "default", f"{argument.factory.short}()"
        return "unset", ""

    def _mark(self, number: int, node: Node) -> tuple[str, bool]:
        if len(self._places.holders[number]) < 2 or node.kind == "reference":
            return "", True
        # That a value is shared means nothing, but its rows are shown once.
        if node.is_value and self._one_line(Link(number)) is not None:
            return "", True
        if number in self._marks:
            return f"*{self._marks[number]}", False
        self._marks[number] = len(self._marks) + 1
        return f"&{self._marks[number]}", True

    def _one_line(self, value: Link) -> str | None:
        """A container of leaves, if none else holds a part of it, on one line."""
        line = texts.inline(self._graph, value)
        if line is None:
            return None
        todo = [value.node]
        while todo:
            for argument in self._graph.nodes[todo.pop()].arguments:
                node = self._graph.node(argument.value)
                if node is None:
                    continue
                assert isinstance(argument.value, Link)
                number = argument.value.node
                is_shared = len(self._places.holders[number]) > 1 and not node.is_value
                # A reference gets a row of its own, for what it comes to.
                if is_shared or node.kind == "reference":
                    return None
                todo.append(number)
        return line

    def _name(self, node: Node) -> str:
        if node.is_buildable:
            return texts.called(node)
        if node.kind == "namedtuple" and node.callable is not None:
            return node.callable.short
        return node.type.short if node.type is not None else node.kind

    def _result(self, number: int, holder: int | None) -> str:
        if holder is None:  # of a root there is nothing to refer to
            return "?"
        try:
            value = self._resolver.value(number, holder)
        except BrokenReferenceError:
            return "?" if self._graph.defaults_known else ""
        if value is UNKNOWN:
            return ""
        if isinstance(value, Link):
            node = self._graph.nodes[value.node]
            mark = self._marks.get(value.node)
            return self._name(node) + (f" *{mark}" if mark else "")
        return texts.of_live(value)


# A piece of a line: a style, and a text.
_Piece = tuple[str, str]

_STYLES = {
    "dim": "2",
    "name": "1",
    "mark": "33",
    "reference": "36",
    "tag": "35",
    "set": "1;32",
    "hit": "1;31",
}


def _pieces(row: Row) -> list[_Piece]:
    is_quiet = row.kind in ("default", "unset")
    pieces = [("dim", row.guides)] if row.guides else []
    if row.key:
        pieces.append(("dim" if is_quiet else "", row.key))
        if row.annotation:
            pieces.append(("dim", f": {row.annotation}"))
        if row.kind != "unset":
            pieces.append(("dim" if is_quiet else "", " = "))
    if row.mark:
        pieces.append(("mark", f"{row.mark} "))
    style = {"node": "name", "reference": "reference", "leaf": "", "built": ""}.get(
        row.kind, "dim"
    )
    if row.set_by:
        style = "set"
    if row.value:
        pieces.append((style, row.value))
    if row.result:
        pieces.append(("", f" = {row.result}"))
    if row.is_cut:
        pieces.append(("dim", " …"))
    if is_quiet:
        pieces.append(
            ("dim", "  (default)" if row.kind == "default" else "  (not set)")
        )
    if row.kind == "built":
        pieces.append(("mark", "  (a built object)"))
    pieces += [("tag", f" #{tag}") for tag in row.tags]
    if row.set_by:
        pieces.append(("set", f"  ({row.set_by})"))
    if row.is_hit:
        pieces.append(("hit", "  ←"))
    return [(style, printable.clean(text)) for style, text in pieces]


def _origin(row: Row, width: int | None) -> str:
    """Who wrote the value; in a narrow line, the end of it."""
    if width is None or len(row.origin) <= width // 2:
        return row.origin
    return f"…{row.origin[1 - width // 2 :]}"


def _origin_column(rows: list[Row], told: list[str], width: int | None) -> int:
    """Where origins begin: behind all values, but for those that are far too long."""
    room = _MAX_COLUMN
    if width is not None:
        room = min(room, width - max(map(len, told), default=0) - 2)
    lengths = [
        _length(_pieces(row)) for row, who in zip(rows, told, strict=True) if who
    ]
    return max((length for length in lengths if length <= room), default=0) + 2


def _fitted(pieces: list[_Piece], width: int) -> list[_Piece]:
    """Leaves the type out of a line that is too long, then cuts its longest pieces."""
    if _length(pieces) > width:
        pieces = [piece for piece in pieces if not piece[1].startswith(": ")]
    for _ in pieces:
        excess = _length(pieces) - width
        if excess <= 0:
            break
        sizes = [printable.columns(text) for _, text in pieces]
        longest = max(range(len(pieces)), key=sizes.__getitem__)
        style, text = pieces[longest]
        cut = printable.cut_columns(text, max(sizes[longest] - excess, 2))
        pieces = [*pieces[:longest], (style, cut), *pieces[longest + 1 :]]
    return pieces


def _length(pieces: list[_Piece]) -> int:
    return sum(printable.columns(text) for _, text in pieces)


def _key(argument: Argument) -> str:
    key = argument.key
    return key if isinstance(key, str) else paths.bracket(key)


def _annotation(argument: Argument | None, value: str) -> str:
    """The type, unless the value says the same."""
    if argument is None or argument.annotation in (value, "Any"):
        return ""
    text = argument.annotation
    return text if len(text) <= _MAX_TYPE else f"{text[: _MAX_TYPE - 1]}…"
