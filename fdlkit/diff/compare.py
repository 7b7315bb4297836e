"""From two configs to the changes that make one the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fdlkit.diff import wording
from fdlkit.diff.classes import Classes, Side, exact_key
from fdlkit.diff.matching import Matching, elements, named
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
from fdlkit.diff.report import Report, Token
from fdlkit.diff.saying import Words
from fdlkit.diff.sequences import in_order
from fdlkit.graph import garbage
from fdlkit.graph.equality import is_made_by, same_leaf
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.snapshot import snapshot

# A path as a chain of keys from the last to the first: cheap to go on from.
_Way = tuple["_Way | None", PathKey]


@dataclasses.dataclass(frozen=True)
class Compared:
    """Two graphs, and what is the same in them and what is not.

    Attributes:
      old: The old graph.
      new: The new one.
      diff: The changes.
      old_of: For each new node the old one that it is, or that it is a copy of.
      new_of: For each old node the new one that it is.
    """

    old: Graph
    new: Graph
    diff: Diff
    old_of: Mapping[int, int]
    new_of: Mapping[int, int]


def diff(a: Any, b: Any) -> Diff:
    """What changes make the config `a` the config `b`.

    Nodes are told by their place, then by what they hold, so that something that was
    inserted, moved or copied is one change and not one for each value in it. An
    argument that is set to its default and one that is not set are the same, and the
    order of a dict's keys does not count: as for `equal`. Neither config is changed,
    and nothing in them is built.

    Args:
      a: The old config, or its graph.
      b: The new config, or its graph.

    Returns:
      The changes; none exactly if the two are equal. `apply` makes `b` of `a` by them.
    """
    with garbage.waiting():
        return _comparison(_graph(a), _graph(b)).run()


def compare(old: Graph, new: Graph) -> Compared:
    """The same of graphs, with the nodes of each that the nodes of the other are."""
    with garbage.waiting():
        comparison = _comparison(old, new)
        changes = comparison.run()
        return Compared(old, new, changes, *comparison.counterparts())


def _graph(config: Any) -> Graph:
    return config if isinstance(config, Graph) else snapshot(config, history=False)


def _comparison(old: Graph, new: Graph) -> _Comparison:
    classes = Classes()
    # A graph that was read from text learns defaults from the other one.
    if old.defaults_known:
        x = Side(old, classes)
        y = Side(new, classes, x)
    else:
        y = Side(new, classes)
        x = Side(old, classes, y)
    return _Comparison(x, y, Matching(x, y, classes))


@dataclasses.dataclass(frozen=True)
class _At:
    """A new node, the way to it, and the nearest node that it is or is part of."""

    number: int
    way: _Way | None
    length: int
    owner: int
    called: str
    rank: int


class _Comparison:
    """One walk over the new graph, a reader's, each node beside the one it was."""

    def __init__(self, old: Side, new: Side, matching: Matching):
        self._old, self._new, self._matching = old, new, matching
        self._words = Words(old, new, matching)
        # What each new node that was reached is; None: it is brand-new.
        self._tokens: dict[int, Token | None] = {}
        # For each copy: what it takes over as it is, and what it has of its own.
        self._keeps: list[dict[int, None]] = [{}]
        self._owned: set[Token] = set()
        self._report = Report(old, new)

    def run(self) -> Diff:
        self._root(self._old.graph.root, self._new.graph.root)
        todo: list[_At] = []
        seen: set[int] = set()
        number = self._new.node(self._new.graph.root)
        if number is not None and number not in self._matching.settled:
            todo.append(self._at(number, None, 0, None))
        while todo:
            at = todo.pop()
            if at.number in seen:
                continue
            seen.add(at.number)
            if at.owner == at.length:
                at = dataclasses.replace(at, rank=len(seen))
            token = self._tokens[at.number]
            if token is not None:
                self._compare(at, token)
            below = []
            for argument in self._new.graph.nodes[at.number].arguments:
                child = self._new.node(argument.value)
                if child is None:
                    continue
                self._tokens.setdefault(child, self._primary(child))
                if child not in seen and child not in self._matching.settled:
                    way = at.way, argument.key
                    below.append(self._at(child, way, at.length + 1, at))
            todo += reversed(below)
        return self._report.diff(self._tokens, self._keeps, self._kept)

    def _at(self, number: int, way: _Way | None, length: int, above: _At | None) -> _At:
        node = self._new.graph.nodes[number]
        if above is None or node.is_buildable:
            return _At(number, way, length, length, wording.called(node), 0)
        return _At(number, way, length, above.owner, above.called, above.rank)

    def _primary(self, number: int) -> Token | None:
        old = self._matching.old_of.get(number)
        return None if old is None else (0, old)

    def _root(self, was: Value, now: Value) -> None:
        x, y = self._old.node(was), self._new.node(now)
        if y is not None:
            self._tokens[y] = self._primary(y)
        if x is None and y is None:
            is_same = self._is_same(was, now)
        else:
            is_same = x is not None and y is not None and self._tokens[y] == (0, x)
        if is_same:
            return
        old, new = self._words.apart(
            was,
            self._words.old(was, None),
            now,
            self._words.new(now, None, None, self._tokens),
        )
        self._say(
            None,
            Set(
                path=(),
                node=0,
                called="",
                holder=None,
                key=None,
                old=old,
                new=new,
                value=self._report.value(now),
            ),
        )

    def counterparts(self) -> tuple[dict[int, int], dict[int, int]]:
        """For each new node the old one that it is or copies; the same the other way.

        Of copies only the new node knows.
        """
        old_of = {y: token[1] for y, token in self._tokens.items() if token is not None}
        new_of = {x: y for y, x in old_of.items() if self._tokens[y] == (0, x)}
        # What is settled is the same all through, and was not looked into.
        todo = [(x, y) for x, y in new_of.items() if y in self._matching.settled]
        while todo:
            x, y = todo.pop()
            was = {exact_key(a.key): a for a in self._old.graph.nodes[x].arguments}
            for argument in self._new.graph.nodes[y].arguments:
                there = was.get(exact_key(argument.key))
                before = None if there is None else self._old.node(there.value)
                below = self._new.node(argument.value)
                if before is None or below is None or below in old_of:
                    continue
                old_of[below], new_of[before] = before, below
                todo.append((before, below))
        return old_of, new_of

    # What is different at one node.

    def _compare(self, at: _At, token: Token) -> None:
        x = self._old.graph.nodes[token[1]]
        y = self._new.graph.nodes[at.number]
        dropped: set[Any] = set()
        if self._old.heads[token[1]] != self._new.heads[at.number]:
            dropped = self._say_called(at, token, x, y)
        is_row = self._matching.positional(token[1], at.number)
        if is_row:
            self._elements(at, token, elements(x), elements(y))
        there = {exact_key(a.key): a for a in named(y, is_row)}
        for p in named(x, is_row):
            q = there.pop(exact_key(p.key), None)
            if q is not None or exact_key(p.key) not in dropped:
                self._argument(at, token, p.key, p, q)
        for q in there.values():
            self._argument(at, token, q.key, None, q)
        if y.kind == "ordered_dict":
            self._order(at, token, x, y)

    def _say_called(self, at: _At, token: Token, x: Node, y: Node) -> set[Any]:
        """Says what is called now; returns which arguments went with the old one."""
        keys = {exact_key(a.key) for a in y.arguments}
        named_ones = [
            a
            for a in x.arguments
            if x.is_buildable and not isinstance(a.key, int) and a.value is not None
        ]
        dropped = tuple(
            (a.key, wording.words(self._old.graph, a.value))
            for a in named_ones
            if exact_key(a.key) not in keys and a.value is not None
        )
        carried = (a.key for a in named_ones if exact_key(a.key) in keys)
        head = dataclasses.replace(y, arguments=(), is_value=False)
        self._say(
            at,
            Called(
                **self._base(at, token, None),
                old=wording.called(x),
                new=wording.called(y),
                carried=tuple(carried),
                dropped=dropped,
                head=self._report.value(head),
            ),
        )
        return {exact_key(key) for key, _ in dropped}

    def _order(self, at: _At, token: Token, x: Node, y: Node) -> None:
        """An ordered dict keeps its old keys in order, with new ones at its end."""
        now = [exact_key(a.key) for a in y.arguments]
        was = [exact_key(a.key) for a in x.arguments]
        before, after = set(was), set(now)
        kept = [key for key in was if key in after]
        if kept + [key for key in now if key not in before] != now:
            keys = tuple(a.key for a in y.arguments)
            self._say(at, Reordered(**self._base(at, token, None), keys=keys))

    def _elements(
        self, at: _At, token: Token, was: list[Argument], now: list[Argument]
    ) -> None:
        aligned = self._matching.align(token[1], at.number)
        used = [i for i in aligned if i is not None]
        steady = in_order(used)
        for gone in sorted(set(range(len(was))) - set(used)):
            old = self._words.old(was[gone].value, token[1])
            removed = Removed(**self._base(at, token, gone), old=old)
            self._report.gone(removed, at.rank, token)
        for j, i in enumerate(aligned):
            value = now[j].value
            assert value is not None
            if i is None:
                new = self._words.new(value, at.number, j, self._tokens)
                self._say_put(
                    at, value, Inserted(**self._base(at, token, j), new=new, value=-1)
                )
                self._tags(at, token, j, None, now[j])
                continue
            if i not in steady:
                old_path = self._old.places.path(token[1])
                self._say(
                    at,
                    Moved(
                        **self._base(at, token, j),
                        from_holder=Old(old_path, token[0]),
                        from_key=i,
                        from_path=(*old_path, i),
                        element=True,
                        new=self._words.new(value, at.number, j, self._tokens),
                    ),
                )
            self._value(at, token, j, was[i].value, value, None)
            if was[i].tags or now[j].tags:
                self._tags(at, token, j, was[i], now[j])

    def _argument(
        self,
        at: _At,
        token: Token,
        key: PathKey,
        p: Argument | None,
        q: Argument | None,
    ) -> None:
        x = self._old.graph.nodes[token[1]]
        y = self._new.graph.nodes[at.number]
        was, now = (None if a is None else a.value for a in (p, q))
        if now is None:
            if was is not None and not self._is_default_of_new(y, key, q, was):
                unset = Unset(
                    **self._base(at, token, key),
                    old=self._words.old(was, token[1]),
                    default=self._words.default(self._new, y, key, q),
                )
                self._report.gone(unset, at.rank, token)
        elif was is not None or not self._is_default(y, q):
            default = None
            if was is None:
                default = self._words.default(self._old, x, key, p)
            self._value(at, token, key, was, now, default)
        self._tags(at, token, key, p, q)

    def _is_default(self, y: Node, q: Argument | None) -> bool:
        """Whether what is set in the new node is the default, and its alone."""
        if q is None or not y.is_buildable or not self._new.is_default(y, q):
            return False
        number = self._new.node(q.value)
        return number is None or self._new.alone[number]

    def _is_default_of_new(
        self, y: Node, key: PathKey, q: Argument | None, was: Value
    ) -> bool:
        """Whether an old value is what holds in the new node if nothing is set."""
        known = self._new.default(y, key, q)
        if known is None:
            return False
        side, argument = known
        number = self._old.node(was)
        if argument.default is not None:
            is_same = side.of_default(argument.default) == self._old.of(was)
            return is_same and (number is None or self._old.alone[number])
        node = self._old.graph.node(was)
        return node is not None and is_made_by(argument.factory, node)

    def _value(
        self,
        at: _At,
        token: Token,
        key: PathKey,
        was: Value | None,
        now: Value,
        default: Said | None,
    ) -> None:
        """Two values in one place; says nothing if the new one is to be expected."""
        c, y = self._old.node(was), self._new.node(now)
        if y is not None and self._is_expected(at, token, key, c, y):
            return
        if was is not None and c is None and y is None and self._is_same(was, now):
            return
        new = self._words.new(now, at.number, key, self._tokens)
        if was is None:
            old = default
        else:
            old, new = self._words.apart(was, self._words.old(was, token[1]), now, new)
        self._say_put(
            at, now, Set(**self._base(at, token, key), old=old, new=new, value=-1)
        )

    def _is_expected(
        self, at: _At, token: Token, key: PathKey, c: int | None, y: int
    ) -> bool:
        """Whether a new node is the one that the old one leads to, or a copy of that.

        Decides what the new node is when it is reached first. A copy that does not
        belong to the copy that holds it is said.
        """
        group = token[0]
        if y not in self._tokens:
            self._tokens[y] = self._primary(y)
            if (
                self._tokens[y] is None
                and c in self._matching.new_of
                and y in self._matching.copies
                and self._old.heads[c] == self._new.heads[y]
            ):
                self._be_copy(at, token, key, c, y)
                return True
        found = self._tokens[y]
        if found is None or c is None:
            return False
        if found == (group, c):
            return True
        if found == (0, c) and (group, c) not in self._owned:
            self._keeps[group][c] = None
            return True
        return False

    def _be_copy(self, at: _At, token: Token, key: PathKey, c: int, y: int) -> None:
        group = token[0]
        if not group or c in self._keeps[group] or (group, c) in self._owned:
            group = len(self._keeps)
            self._keeps.append({})
            there = self._matching.new_of.get(c)
            self._say(
                at,
                Copied(
                    **self._base(at, token, key),
                    of=self._old.places.path(c),
                    copy=group,
                    keeps=(),
                    elsewhere=None if there is None else self._new.places.path(there),
                    was_shared=len(self._old.places.holders[c]) > 1,
                ),
            )
        self._tokens[y] = group, c
        self._owned.add((group, c))

    def _tags(
        self,
        at: _At,
        token: Token,
        key: PathKey,
        p: Argument | None,
        q: Argument | None,
    ) -> None:
        was, now = (() if a is None else a.tags for a in (p, q))
        if was == now:
            return
        base = self._base(at, token, key)
        for tag in was:
            if tag not in now:
                self._say(at, Untagged(**base, tag=tag))
        for tag in now:
            if tag not in was:
                self._say(at, Tagged(**base, tag=tag))

    def _say(self, at: _At | None, change: Change) -> None:
        self._report.say(change, -1 if at is None else at.rank)

    def _say_put(self, at: _At, now: Value, change: Set | Inserted) -> None:
        change = dataclasses.replace(change, value=self._report.value(now))
        self._report.put(change, at.rank, self._new.node(now))

    def _base(self, at: _At, token: Token, key: PathKey | None) -> dict[str, Any]:
        path = _path(at.way)
        return {
            "path": path if key is None else (*path, key),
            "node": at.owner,
            "called": at.called,
            "holder": Old(self._old.places.path(token[1]), token[0]),
            "key": key,
        }

    # The end.

    def _is_same(self, was: Value, now: Value) -> bool:
        """Whether two values are equal that sharing says nothing about."""
        if self._old.of(was) == self._new.of(now):
            return True
        todo = [(was, now)]
        while todo:
            one, two = todo.pop()
            x, y = self._old.graph.node(one), self._new.graph.node(two)
            if x is None or y is None:
                is_leaf = isinstance(one, Leaf) and isinstance(two, Leaf)
                if not (is_leaf and same_leaf(one, two)):  # type: ignore[arg-type]
                    return False
                continue
            assert isinstance(one, Link) and isinstance(two, Link)
            if self._old.of_node[one.node] == self._new.of_node[two.node]:
                continue
            heads = self._old.heads[one.node], self._new.heads[two.node]
            if heads[0] != heads[1] or len(x.arguments) != len(y.arguments):
                return False
            for p, q in zip(x.arguments, y.arguments, strict=True):
                if p.key != q.key or p.value is None or q.value is None:
                    return False
                todo.append((p.value, q.value))
        return True

    def _kept(self, number: int) -> Old | None:
        token = self._tokens.get(number, self._primary(number))
        if token is None:
            return None
        return Old(self._old.places.path(token[1]), token[0])


def _path(way: _Way | None) -> Path:
    keys = []
    while way is not None:
        way, key = way
        keys.append(key)
    return tuple(reversed(keys))
