"""From a config and the changes to the new config."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable
from typing import Any

from fdlkit.diff import wording
from fdlkit.diff.classes import exact_key
from fdlkit.diff.lookup import Lookup
from fdlkit.diff.matching import elements, named
from fdlkit.diff.model import (
    Called,
    Change,
    Copied,
    Diff,
    Inserted,
    Moved,
    Old,
    Removed,
    Reordered,
    Said,
    Set,
    Tagged,
    Unset,
    Untagged,
)
from fdlkit.errors import UserError
from fdlkit.graph import paths, texts
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path
from fdlkit.graph.restore import Resolve, restore
from fdlkit.graph.snapshot import snapshot
from fdlkit.graph.table import Table

_MAX_LINES = 8

# A node that is being made: of the old config (or its nth copy), or of the diff.
_OLD, _NEW, _DEFAULT = "old", "new", "default"
_Token = tuple[str, int, int]


def apply(diff: Diff, a: Any, *, resolve: Resolve | None = None) -> Any:
    """The config that the changes make of the config `a`, which stays as it is.

    Args:
      diff: What `fdlkit.diff` returned.
      a: The config that it was made for, or another one in which everything that
        changes is as it was there. Or such a config's graph.
      resolve: Looks up the names in a diff that was read from JSON; see `restore`.

    Returns:
      A new config; of a graph, a graph.

    Raises:
      UserError: `a` is not as the changes need it. All such places are listed.
    """
    if isinstance(a, Graph):
        return _Patch(diff, a).run()
    return restore(_Patch(diff, snapshot(a, history=False)).run(), resolve)


@dataclasses.dataclass
class _Slot:
    """An argument of a node that is being made.

    Attributes:
      argument: The argument as it was, or with nothing but a key.
      value: A leaf, the node it leads to, or None.
      tags: Its tags.
    """

    argument: Argument
    value: Leaf | _Token | None
    tags: tuple[Any, ...]


class _Patch:
    def __init__(self, diff: Diff, graph: Graph):
        self._graph = graph
        self._values = diff.values
        self._problems: list[str] = []
        self._root: Leaf | _Token | None = None
        self._changes: dict[tuple[int, int], list[Change]] = {}
        self._moved_away: dict[tuple[int, int], set[Any]] = {}
        self._keeps: dict[int, frozenset[int]] = {0: frozenset()}
        self._lookup = Lookup(graph)
        self._find(diff)
        self._defaults_known = graph.defaults_known and not any(
            isinstance(change, Called) for change in diff
        )

    def run(self) -> Graph:
        table = Table()
        root = self._root
        if root is None:
            root = self._of_old(self._graph.root, 0)
        made: dict[_Token, int] = {}
        open_: dict[_Token, tuple[Node, list[_Slot]]] = {}
        todo: list[Leaf | _Token] = [root]
        while todo:
            token = todo[-1]
            if isinstance(token, Leaf) or token in made:
                todo.pop()
                continue
            if token not in open_:
                open_[token] = self._node(token)
                todo += [
                    below for below in self._below(open_[token][1]) if below not in made
                ][::-1]
                if any(below in open_ for below in self._below(open_[token][1])):
                    raise UserError("these changes would put a node into itself")
                continue
            todo.pop()
            made[token] = table.add(self._made(open_.pop(token), made))
        self._refuse()
        value = root if isinstance(root, Leaf) else Link(made[root])
        return Graph(tuple(table.nodes), value, self._defaults_known)

    def _refuse(self) -> None:
        if self._problems:
            shown = self._problems[:_MAX_LINES]
            if len(self._problems) > _MAX_LINES:
                shown.append(f"  and {len(self._problems) - _MAX_LINES} more")
            raise UserError("this config is not what the changes are for", *shown)

    # Reading the changes.

    def _find(self, diff: Diff) -> None:
        """Where everything is that the changes name."""
        root = self._values.nodes[self._values.root.node].arguments  # type: ignore[union-attr]
        self._elements = [argument.value for argument in root]
        self._kept: dict[int, _Token] = {}
        for element, old in zip(self._elements, diff.kept, strict=False):
            at = self._at(old)
            if at is not None and isinstance(element, Link):
                self._kept[element.node] = (_OLD, *at)
        for change in diff:
            if isinstance(change, Copied):
                kept = (self._at(Old(path)) for path in change.keeps)
                self._keeps[change.copy] = frozenset(n[1] for n in kept if n)
        for change in diff:
            if change.holder is None:
                assert isinstance(change, Set)
                self._root = self._of_new(self._elements[change.value])
                continue
            at = self._at(change.holder)
            if at is None:
                continue
            self._changes.setdefault(at, []).append(change)
            if isinstance(change, Moved):
                source = self._at(change.from_holder)
                if source is not None:
                    key = exact_key(change.from_key)
                    self._moved_away.setdefault(source, set()).add(key)
        self._refuse()

    def _at(self, old: Old) -> tuple[int, int] | None:
        number = self._lookup.node(old.path)
        if number is None:
            self._problem(old.path, "there is no such node")
            return None
        return old.copy, number

    def _problem(self, path: Path, what: str) -> None:
        line = f"  {paths.format(path)}: {what}"
        if line not in self._problems:
            self._problems.append(line)

    # Values, as what is being made.

    def _of_old(self, value: Value, copy: int) -> Leaf | _Token:
        """What an old value leads to from a node of the nth copy."""
        if isinstance(value, Leaf):
            return value
        if copy and value.node in self._keeps.get(copy, ()):
            return (_OLD, 0, value.node)
        node = self._graph.nodes[value.node]
        is_plain = node.is_value or node.kind == "reference"
        return (_OLD, 0 if is_plain else copy, value.node)

    def _of_new(self, value: Value | None) -> Leaf | _Token:
        if value is None or isinstance(value, Leaf):
            return value or Leaf(None)
        return self._kept.get(value.node, (_NEW, 0, value.node))

    def _below(self, slots: Iterable[_Slot]) -> list[_Token]:
        found = []
        for slot in slots:
            if isinstance(slot.value, tuple):
                found.append(slot.value)
            if isinstance(slot.argument.default, Link):
                found.append((_DEFAULT, 0, slot.argument.default.node))
        return found

    def _made(self, parts: tuple[Node, list[_Slot]], made: dict[_Token, int]) -> Node:
        node, slots = parts
        arguments = []
        for slot in slots:
            value, default = slot.value, slot.argument.default
            if isinstance(default, Link):
                default = Link(made[_DEFAULT, 0, default.node])
            arguments.append(
                dataclasses.replace(
                    slot.argument,
                    value=Link(made[value]) if isinstance(value, tuple) else value,
                    default=default,
                    tags=slot.tags,
                )
            )
        return dataclasses.replace(node, arguments=tuple(arguments), is_value=False)

    # One node.

    def _node(self, token: _Token) -> tuple[Node, list[_Slot]]:
        where, copy, number = token
        if where == _NEW:
            node = self._values.nodes[number]
            if node.is_buildable and node.kind != "reference":
                self._defaults_known = False
            return node, [
                _Slot(a, None if a.value is None else self._of_new(a.value), a.tags)
                for a in node.arguments
            ]
        node = self._graph.nodes[number]
        if where == _DEFAULT:
            return node, [
                _Slot(a, _of_default(a.value), a.tags) for a in node.arguments
            ]
        slots = [
            _Slot(a, None if a.value is None else self._of_old(a.value, copy), a.tags)
            for a in node.arguments
        ]
        changes = self._changes.get((copy, number), [])
        away = self._moved_away.get((copy, number), set())
        if changes or away:
            node, slots = self._changed(node, slots, changes, away)
        return node, slots

    def _changed(
        self, node: Node, slots: list[_Slot], changes: list[Change], away: set[Any]
    ) -> tuple[Node, list[_Slot]]:
        row, others = self._parted(node, slots, changes)
        if row is not None:
            row = self._row(row, changes, {key for key in away if type(key) is int})
        for key in away if row is None else away - set(range(len(slots))):
            others.pop(key, None)
        for change in changes:
            match change:
                case Called():
                    node = self._called(node, change, others)
                case Unset():
                    self._unset(node, change, others)
                case Moved(element=False):
                    slot = self._slot(change, row, others)
                    slot.value = self._source(change)
                case Set():
                    slot = self._slot(change, row, others)
                    self._check(change.path, change.old, slot)
                    slot.value = self._of_new(self._elements[change.value])
                case Copied():
                    at = self._at(Old(change.of, change.copy))
                    if at is not None:
                        self._slot(change, row, others).value = (_OLD, *at)
                case Tagged():
                    slot = self._slot(change, row, others)
                    tags = {*slot.tags, change.tag}
                    slot.tags = tuple(sorted(tags, key=lambda tag: tag.name))
                case Untagged():
                    slot = self._slot(change, row, others)
                    slot.tags = tuple(tag for tag in slot.tags if tag != change.tag)
        named_ones = list(others.values())
        for change in changes:
            if isinstance(change, Reordered):
                order = {exact_key(key): n for n, key in enumerate(change.keys)}
                named_ones.sort(
                    key=lambda slot: order.get(exact_key(slot.argument.key), len(order))
                )
        return node, [*(row or []), *named_ones]

    def _parted(
        self, node: Node, slots: list[_Slot], changes: list[Change]
    ) -> tuple[list[_Slot] | None, dict[Any, _Slot]]:
        """What has a place in a row (None if nothing can), and the rest by key."""
        keys = [a.key for a in elements(node)]
        is_row = (node.is_buildable or keys or not named(node, True)) and not any(
            isinstance(change, Unset) and type(change.key) is int for change in changes
        )
        if "dict" in node.kind or not is_row or keys != list(range(len(keys))):
            return None, {exact_key(slot.argument.key): slot for slot in slots}
        rest = {id(a) for a in named(node, True)}
        others = {
            exact_key(slot.argument.key): slot
            for slot in slots
            if id(slot.argument) in rest
        }
        return [slot for slot in slots if id(slot.argument) not in rest], others

    def _row(
        self, row: list[_Slot], changes: list[Change], away: set[int]
    ) -> list[_Slot]:
        """Takes elements out, then puts others in where they are to be."""
        gone, put = set(away), {}
        for change in changes:
            if isinstance(change, Removed) and isinstance(change.key, int):
                gone.add(change.key)
                if change.key < len(row):
                    self._check(change.path, change.old, row[change.key])
            elif isinstance(change, Inserted):
                value = self._of_new(self._elements[change.value])
                put[change.key] = _Slot(Argument(change.key or 0, None), value, ())
            elif isinstance(change, Moved) and change.element:
                put[change.key] = self._moved(change, row)
        if gone - set(range(len(row))):
            self._problem(changes[0].path, f"it has {len(row)} elements")
        stay = deque(slot for i, slot in enumerate(row) if i not in gone)
        found = []
        for index in range(len(stay) + len(put)):
            if index in put:
                slot = put[index]
            elif stay:
                slot = stay.popleft()
            else:
                self._problem(changes[0].path, f"it has {len(row)} elements")
                break
            argument = dataclasses.replace(slot.argument, key=index)
            found.append(_Slot(argument, slot.value, slot.tags))
        return found

    def _moved(self, change: Moved, row: list[_Slot]) -> _Slot:
        key, is_here = change.from_key, change.from_holder == change.holder
        if is_here and type(key) is int and key < len(row):
            return row[key]
        return _Slot(Argument(change.key or 0, None), self._source(change), ())

    def _source(self, change: Moved) -> Leaf | _Token:
        """The value that a change moves."""
        at = self._at(change.from_holder)
        argument = at and self._lookup.argument(Link(at[1]), change.from_key)
        if not at or not argument or argument.value is None:
            self._problem(change.from_path, "there is nothing to move")
            return Leaf(None)
        return self._of_old(argument.value, at[0])

    def _slot(
        self, change: Change, row: list[_Slot] | None, others: dict[Any, _Slot]
    ) -> _Slot:
        key = change.key
        assert key is not None
        if row is not None and type(key) is int and key < len(row):
            return row[key]
        return others.setdefault(exact_key(key), _Slot(Argument(key, None), None, ()))

    def _unset(self, node: Node, change: Unset, others: dict[Any, _Slot]) -> None:
        slot = others.get(exact_key(change.key or 0))
        if slot is None or slot.value is None:
            self._problem(change.path, "nothing is set there")
            return
        self._check(change.path, change.old, slot)
        slot.value = None
        if not node.is_buildable:
            del others[exact_key(change.key or 0)]

    def _called(self, node: Node, change: Called, others: dict[Any, _Slot]) -> Node:
        value = self._elements[change.head]
        assert isinstance(value, Link)
        head = self._values.nodes[value.node]
        dropped = {exact_key(key) for key, _ in change.dropped}
        for key, slot in list(others.items()):
            if key in dropped or (slot.value is None and not slot.tags):
                del others[key]
            else:
                # What the old callable says of an argument is not true of the new one.
                slot.argument = Argument(slot.argument.key, slot.argument.value)
        return head

    def _check(self, path: Path, old: Said | None, slot: _Slot) -> None:
        """Refuses to replace what is another value than it was."""
        value = slot.argument.value
        if old is None or old.is_default:
            is_default = old is not None and value is not None
            if value is None or (
                is_default and old and old.text in _texts(self._graph, value)
            ):
                return
            self._problem(path, f"it is {wording.words(self._graph, value)} here")
        elif value is None:
            known = slot.argument.default
            if known is None or old.text not in _texts(self._graph, known):
                self._problem(path, f"it is not set here, and was {old.text}")
        elif texts.inline(self._graph, value) is not None and old.text not in _texts(
            self._graph, value
        ):
            text = wording.words(self._graph, value)
            self._problem(path, f"it is {text} here, and was {old.text}")


def _texts(graph: Graph, value: Value) -> tuple[str, str]:
    return wording.words(graph, value), wording.words(graph, value, full=True)


def _of_default(value: Value | None) -> Leaf | _Token | None:
    return (_DEFAULT, 0, value.node) if isinstance(value, Link) else value
