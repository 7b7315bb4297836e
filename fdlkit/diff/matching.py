"""Which node of a new graph is which of the old one, and which argument which.

First by place: nodes of one callable in the same place are the same node. Then what
moved without a change, wherever it is now; then what moved and is much alike; then
what stands in the same place and calls something else. Every step looks at a node a
bounded number of times.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

from fdlkit.diff.classes import Classes, Side, exact_key
from fdlkit.diff.sequences import align
from fdlkit.diff.sketches import Sketches
from fdlkit.graph.model import Argument, Leaf, Link, Node, Value

# What is smaller is not looked for elsewhere: two empty lists need not be one that
# moved. Sizes count a node and all values below it.
_MOVES = 3
_MOVES_AWAY = 6

# How much of a node must be the same for it to have moved and changed.
_ALIKE = 0.5
_CANDIDATES = 12

# How much an element of a list is like another one that it is an argument of now.
_WRAPPED = 0.9

# Nodes around a node among which another one is looked for.
_DEEP = 32

# Lists of no more elements are told element by element, whatever is in them.
_FEW = 2

_SEQUENCES = frozenset({"list", "tuple", "set"})
_DICTS = frozenset({"dict", "ordered_dict", "default_dict"})


class Matching:
    """The result, as indices.

    Attributes:
      old_of: For each new node the old one that it is.
      new_of: The same the other way.
      copies: For each new node that is none of the old ones: the old node in whose
        place it stands, and which is another new node.
      settled: New nodes that are the same as their old ones with all that is below
        them, so that nothing below them is in any index.
    """

    def __init__(self, old: Side, new: Side, classes: Classes):
        self.old, self.new = old, new
        self.old_of: dict[int, int] = {}
        self.new_of: dict[int, int] = {}
        self.copies: dict[int, int] = {}
        self.settled: set[int] = set()
        self._aligned: dict[tuple[int, int], list[int | None]] = {}
        self._classes = classes
        self._sketches = Sketches(classes)
        self._todo: deque[tuple[int, int]] = deque()
        self._later: list[tuple[int, int]] = []
        self._renamed: deque[tuple[int, int]] = deque()
        self._taken: deque[tuple[int, int]] = deque()
        self._run()

    def positional(self, x: int, y: int) -> bool:
        """Whether both nodes' positional arguments count up from 0."""
        return all(
            keys == list(range(len(keys)))
            for keys in (
                [a.key for a in elements(node)]
                for node in (self.old.graph.nodes[x], self.new.graph.nodes[y])
            )
        )

    def align(self, x: int, y: int) -> list[int | None]:
        """For each element of the new node the index of the old one's, or None."""
        known = self._aligned.get((x, y))
        if known is not None:
            return known
        olds = [a.value for a in elements(self.old.graph.nodes[x])]
        news = [a.value for a in elements(self.new.graph.nodes[y])]

        def likeness(i: int, j: int) -> float:
            return self._likeness(olds[i], news[j], self._sketches.likeness)

        def at_least(i: int, j: int) -> float:
            return self._likeness(olds[i], news[j], self._sketches.in_place)

        found = align(
            [-1 if value is None else self.old.of(value) for value in olds],
            [-1 if value is None else self.new.of(value) for value in news],
            likeness,
            at_least,
        )
        self._aligned[x, y] = found
        return found

    def _likeness(
        self,
        one: Value | None,
        two: Value | None,
        of_classes: Callable[[int, int], float],
    ) -> float:
        if one is None or two is None:
            return 0.0
        x, y = self.old.node(one), self.new.node(two)
        if x is None or y is None:
            if not (isinstance(one, Leaf) and isinstance(two, Leaf)):
                return 0.02
            return 0.1 if type(one.value) is type(two.value) else 0.02
        classes = self.old.of_node[x], self.new.of_node[y]
        if self._holds(*classes) or self._holds(*reversed(classes)):
            return _WRAPPED
        if self.old.heads[x] != self.new.heads[y]:
            nodes = self.old.graph.nodes[x], self.new.graph.nodes[y]
            return 0.05 + 0.85 * (_can_become(*nodes) and self._carried(*classes))
        return 0.3 + 0.7 * of_classes(*classes)

    def _run(self) -> None:
        x, y = self.old.node(self.old.graph.root), self.new.node(self.new.graph.root)
        if x is not None and y is not None:
            self._candidate(x, y)
        self._by_place()
        self._unchanged_elsewhere()
        self._called_anew()
        self._alike_elsewhere()
        while True:
            while self._later:
                later, self._later = self._later, []
                for x, y in later:
                    self._replaced(x, y)
                    self._by_place()
            if not self._unchanged_elsewhere():
                break

    def _by_place(self) -> None:
        """Goes on below what is matched, then below what only stands in its place."""
        while self._todo or self._renamed or self._taken:
            while self._todo:
                self._descend(*self._todo.popleft())
            if self._renamed:
                x, y = self._renamed.popleft()
                if x not in self.new_of and y not in self.old_of:
                    self._pair(x, y)
                continue
            if self._taken:
                x, y = self._taken.popleft()
                if y in self.old_of or y in self.copies:
                    continue
                # What a shared node was put into is no copy of it.
                if not _is_inside(self.new, self.new_of[x], y):
                    self.copies[y] = x
                    self._unsettle(x)
                    self._descend(x, y)

    def _pair(self, x: int, y: int) -> None:
        self.old_of[y], self.new_of[x] = x, y
        self.copies.pop(y, None)
        is_same = self.old.of_node[x] == self.new.of_node[y]
        if is_same and self.old.alone[x] and self.new.alone[y]:
            self.settled.add(y)
        else:
            self._todo.append((x, y))

    def _unsettle(self, x: int) -> None:
        """Matches what is below an old node, before a copy of it is looked at."""
        y = self.new_of[x]
        if y in self.settled:
            self.settled.discard(y)
            self._descend(x, y)

    def _candidate(self, x: int, y: int) -> None:
        """Two nodes in one place."""
        if y in self.old_of:
            return
        if self.old.of_node[x] == self.new.of_node[y] and x not in self.new_of:
            self._pair(x, y)
        elif self.old.heads[x] != self.new.heads[y] or not self._stay(x, y):
            self._later.append((x, y))
        elif self._is_rewritten(x, y):
            return
        elif x in self.new_of:
            self._taken.append((x, y))
        else:
            self._pair(x, y)

    def _stay(self, x: int, y: int) -> bool:
        """Whether two nodes of one callable are one, and not one that took a place.

        They are not if each of them is, unchanged, in another place of the other side,
        or one is inside the other.
        """
        one, two = self.old.of_node[x], self.new.of_node[y]
        if one == two:
            return True
        if self._wraps(two, one) or self._wraps(one, two):
            return False
        moved, came = self._is_only_one(one), self._is_only_one(two)
        if moved and came:
            return False
        if moved and _is_inside(self.new, self.new.first[one], y):
            return False
        if came and _is_inside(self.old, self.old.first[two], x):
            return False
        return not (moved or came) or self._sketches.likeness(one, two) >= _ALIKE

    def _wraps(self, outer: int, inner: int) -> bool:
        """Whether a value holds another one of its class, and nothing that that has."""
        now, was = self._classes.entries[outer], self._classes.entries[inner]
        if was is None or now is None or was[0] != now[0]:
            return False
        return self._holds(outer, inner) and not {*was[1]} & {*now[1]}

    def _holds(self, outer: int, inner: int) -> bool:
        """Whether a node has an argument of a class; elements of lists do not count."""
        entries = self._classes.entries[outer]
        if entries is None or not isinstance(entries[1], frozenset):
            return False
        return any(number == inner for _, number, *_ in entries[1])

    def _carried(self, one: int, two: int) -> float:
        """Which share of the arguments of two nodes are the same in both."""
        was, now = (
            {*found[1]} if (found := self._classes.entries[number]) else set()
            for number in (one, two)
        )
        return len(was & now) / max(len(was | now), 1)

    def _is_only_one(self, number: int) -> bool:
        """Whether each side has one node of a class, large enough to be told again."""
        counts = self.old.counts.get(number), self.new.counts.get(number)
        return counts == (1, 1) and self._classes.sizes[number] >= _MOVES_AWAY

    def _is_rewritten(self, x: int, y: int) -> bool:
        """Whether two lists of plain values have nothing in common: told as a whole."""
        one, two = self.old.graph.nodes[x], self.new.graph.nodes[y]
        if one.kind not in _SEQUENCES:
            return False
        if min(len(one.arguments), len(two.arguments)) <= _FEW:
            return False
        nodes = [self.old.node(a.value) for a in one.arguments]
        nodes += [self.new.node(a.value) for a in two.arguments]
        if any(number is not None for number in nodes):
            return False
        classes = {self.old.of(a.value) for a in one.arguments if a.value is not None}
        return not any(
            self.new.of(a.value) in classes
            for a in two.arguments
            if a.value is not None
        )

    def _descend(self, x: int, y: int) -> None:
        for p, q in self._places(x, y):
            below = self.old.node(p.value), self.new.node(q.value)
            if below[0] is not None and below[1] is not None:
                self._candidate(below[0], below[1])

    def _places(self, x: int, y: int) -> Iterator[tuple[Argument, Argument]]:
        """The arguments of two nodes that stand in one place."""
        one, two = self.old.graph.nodes[x], self.new.graph.nodes[y]
        is_positional = self.positional(x, y)
        if is_positional:
            olds, news = elements(one), elements(two)
            for j, i in enumerate(self.align(x, y) if olds and news else ()):
                if i is not None:
                    yield olds[i], news[j]
        left = {exact_key(a.key): a for a in named(one, is_positional)}
        added = []
        for argument in named(two, is_positional):
            there = left.pop(exact_key(argument.key), None)
            if there is None or there.value is None:
                added.append(argument)
            if there is not None:
                yield there, argument
        self._rename(list(left.values()), added)

    def _rename(self, gone: list[Argument], added: list[Argument]) -> None:
        """Remembers nodes that have the same place under another name."""
        by_class = {}
        for argument in gone:
            number = self.old.node(argument.value)
            if number is not None:
                by_class[self.old.of_node[number]] = number
        for argument in added if by_class else ():
            number = self.new.node(argument.value)
            if number is not None:
                there = by_class.pop(self.new.of_node[number], None)
                if there is not None:
                    self._renamed.append((there, number))

    def _unchanged_elsewhere(self) -> bool:
        """Finds nodes that moved and are still what they were, the largest first."""
        found = False
        wanted = self._left(self.new, self.old_of, self.settled)
        free: dict[int, list[int]] = {}
        if wanted:
            settled = {self.old_of[y] for y in self.settled}
            for x in reversed(self._left(self.old, self.new_of, settled)):
                free.setdefault(self.old.of_node[x], []).append(x)
        for y in wanted if free else ():
            if y in self.copies or y in self.old_of:
                continue
            there = free.get(self.new.of_node[y], [])
            while there and y not in self.old_of:
                x = there.pop()
                if x not in self.new_of:
                    self._pair(x, y)
                    self._by_place()
                    found = True
        return found

    def _left(
        self, side: Side, matched: dict[int, int], settled: set[int]
    ) -> list[int]:
        """Nodes of a side that no step has found, and that are large enough to move.

        In the order of a reader, who passes over what is settled.
        """
        nodes, holders = side.graph.nodes, side.places.holders
        seen: set[int] = set()
        found = []
        todo = side.places.order[:1]
        while todo:
            number = todo.pop()
            if number in seen or number in settled:
                continue
            if holders[number] and holders[number][0][0] not in seen:
                continue  # its own place is in something settled
            seen.add(number)
            size = self._classes.sizes[side.of_node[number]]
            if number not in matched and size >= _MOVES:
                found.append(number)
            todo += [
                argument.value.node
                for argument in reversed(nodes[number].arguments)
                if type(argument.value) is Link
            ]
        return found

    def _called_anew(self) -> None:
        """Matches nodes that stand in one place and call different things.

        Those that have most arguments in common, or stand in several places together.
        """
        for (x, y), count in Counter(self._later).items():
            if x in self.new_of or y in self.old_of:
                continue
            nodes = self.old.graph.nodes[x], self.new.graph.nodes[y]
            classes = self.old.of_node[x], self.new.of_node[y]
            is_one = count > 1 or self._carried(*classes) >= _ALIKE
            if is_one and _can_become(*nodes):
                self._pair(x, y)
                self._by_place()

    def _alike_elsewhere(self) -> None:
        """Finds nodes that moved and changed a little."""
        wanted = self._left(self.new, self.old_of, self.settled)
        free: dict[tuple[int, int], list[int]] = {}
        if wanted:
            settled = {self.old_of[y] for y in self.settled}
            for x in self._left(self.old, self.new_of, settled):
                for part in self._sketches.sketch(self.old.of_node[x]):
                    free.setdefault((self.old.heads[x], part), []).append(x)
        for y in wanted if free else ():
            if y in self.copies or y in self.old_of:
                continue
            number, head = self.new.of_node[y], self.new.heads[y]
            candidates: dict[int, None] = {}
            for part in self._sketches.sketch(number):
                there = free.get((head, part), ())
                if len(there) <= _CANDIDATES:  # what many have tells none of them
                    candidates.update(dict.fromkeys(there))
                if len(candidates) > _CANDIDATES:
                    break
            found = [
                (self._sketches.likeness(self.old.of_node[x], number), -x)
                for x in candidates
                if x not in self.new_of
            ]
            if found and max(found)[0] >= _ALIKE:
                self._pair(-max(found)[1], y)
                self._by_place()

    def _replaced(self, x: int, y: int) -> None:
        """Two nodes in one place that call different things, or were thought moved."""
        if y in self.old_of:
            return
        same_head = self.old.heads[x] == self.new.heads[y]
        if x in self.new_of:
            if same_head and self._stay(x, y):
                self._taken.append((x, y))
        elif same_head or self._have_in_common(x, y):
            self._pair(x, y)

    def _have_in_common(self, x: int, y: int) -> bool:
        """Whether something can be carried over from one node to the other."""
        one, two = self.old.graph.nodes[x], self.new.graph.nodes[y]
        if not _can_become(one, two):
            return False
        if one.callable == two.callable and one.is_buildable:
            return True
        if one.kind in _SEQUENCES:
            classes = {self.old.of(a.value) for a in one.arguments if a.value}
            return any(
                self.new.of(a.value) in classes for a in two.arguments if a.value
            )
        keys = {exact_key(a.key) for a in one.arguments if a.value is not None}
        return any(
            exact_key(a.key) in keys for a in two.arguments if a.value is not None
        )


def _is_inside(side: Side, number: int, around: int) -> bool:
    """Whether a node is inside another one, not too far down."""
    seen = {number}
    todo = deque([number])
    while todo and len(seen) <= _DEEP:
        for holder, _ in side.places.holders[todo.popleft()]:
            if holder == around:
                return True
            if holder not in seen:
                seen.add(holder)
                todo.append(holder)
    return False


def elements(node: Node) -> list[Argument]:
    """What of a node has a place in a row: list elements, positional arguments."""
    if node.kind in _SEQUENCES:
        return list(node.arguments)
    if not node.is_buildable:
        return []
    return [a for a in node.arguments if type(a.key) is int and a.value is not None]


def named(node: Node, is_positional: bool) -> list[Argument]:
    """What of a node has a name or a key; positional ones too unless they are a row."""
    if node.kind in _SEQUENCES:
        return []
    if not node.is_buildable or not is_positional:
        return list(node.arguments)
    return [a for a in node.arguments if type(a.key) is not int or a.value is None]


def _can_become(one: Node, two: Node) -> bool:
    kinds = {one.kind, two.kind}
    if "tagged_value" in kinds or "custom" in kinds or "namedtuple" in kinds:
        return False
    if one.is_buildable and two.is_buildable:
        return True
    return kinds <= {"list", "tuple"} or kinds <= _DICTS
