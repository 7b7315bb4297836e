"""What references stand for.

A reference is resolved by its position: the node or container that holds it. One
reference object may stand in two places and mean two things.
"""

from __future__ import annotations

from typing import Any, NoReturn

from fdlkit.graph import messages, paths, reprs, tasks
from fdlkit.graph.faults import BrokenReferenceError, Faults, Found, find_argument
from fdlkit.graph.model import UNKNOWN, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.references import OPERATORS, Target
from fdlkit.graph.snapshot import snapshot

# What a task computes, and for which reference and holder: `where` the reference
# leads, at which `end` if it leads to other references, its `value`; or, with any
# holder, what a `node` is.
Where = tuple[str, int, int]


class Resolver:
    """Resolves the references of one graph.

    `node` says what a node's value is: here a link to it, in `build` the built object.
    """

    def __init__(self, graph: Graph, places: Places | None = None):
        self.graph = graph
        self.places = places or Places(graph)
        self.faults = Faults(graph, self.places)
        self.results: dict[Where, Any] = {}

    def value(self, reference: int, holder: int) -> Any:
        """The value of a reference in a position.

        Args:
          reference: The reference's node.
          holder: The node or container that holds it.

        Returns:
          A plain value; a `Link` if it stands for a node; `UNKNOWN` if it computes
          with what only a build can know.

        Raises:
          BrokenReferenceError: It has none.
        """
        return self.run(("value", reference, holder))

    def destinations(self, reference: int, holder: int) -> tuple[Found, ...]:
        """Where a plain reference leads; several places if its holder is shared."""
        return self.run(("where", reference, holder))

    def sources(self, reference: int, holder: int) -> tuple[Found, ...]:
        """The positions that decide a reference's value: the ends of all its paths."""
        found: dict[Found, None] = {}
        todo, seen = [(reference, holder)], set()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            number, around = at
            node = self.graph.nodes[number]
            if _is_plain(node):
                for end in self.destinations(number, around):
                    inner = self.graph.node(end.value)
                    if inner is not None and inner.kind == "reference":
                        assert isinstance(end.value, Link) and end.holder is not None
                        todo.append((end.value.node, end.holder))
                    else:
                        found[end] = None
                continue
            for name in ("right", "left"):
                side = _value_of(node, name)
                if isinstance(side, Link):
                    todo.append((side.node, around))
        return tuple(found)

    def node(self, number: int) -> tasks.Task[Where]:
        """What a node that is no reference is worth to the references to it."""
        yield from ()  # a task that needs no other
        return Link(number)

    def run(self, wanted: Where) -> Any:
        """The result of a task, from memory if it has been computed."""
        return tasks.run(
            wanted, self._start, results=self.results, on_cycle=self._on_cycle
        )

    def _on_cycle(self, chain: list[Where]) -> NoReturn:
        raise self.faults.circle(chain)

    def _start(self, key: Where) -> tasks.Task[Where]:
        what, number, holder = key
        if what == "node":
            return self.node(number)
        if what == "where":
            return self._where(number, holder)
        if what == "end":
            return self._end(number, holder)
        if _is_plain(self.graph.nodes[number]):
            return self._plain_value(number, holder)
        return self._computed_value(number, holder)

    def _end_value(self, end: Found) -> tasks.Task[Where]:
        if isinstance(end.value, Leaf):
            return end.value.live
        if self.graph.nodes[end.value.node].kind == "reference":
            assert end.holder is not None
            return (yield ("value", end.value.node, end.holder))
        return (yield ("node", end.value.node, 0))

    def _plain_value(self, number: int, holder: int) -> tasks.Task[Where]:
        ends = yield ("where", number, holder)
        value = yield from self._end_value(ends[0])
        for other in ends[1:]:
            another = yield from self._end_value(other)
            if not _same(value, another):
                raise self.faults.ambiguous(
                    number, holder, (ends[0], value), (other, another)
                )
        return value

    def _computed_value(self, number: int, holder: int) -> tasks.Task[Where]:
        node = self.graph.nodes[number]
        sides = []
        for name in ("left", "right"):
            side = _value_of(node, name)
            if isinstance(side, Link):
                sides.append((yield ("value", side.node, holder)))
            else:
                sides.append(side.live)
        if any(isinstance(side, Link) or side is UNKNOWN for side in sides):
            return UNKNOWN
        symbol = _value_of(node, "operator")
        assert isinstance(symbol, Leaf)
        try:
            return OPERATORS[str(symbol.value)](*sides)
        except Exception as error:
            at = self.faults.position(number, holder)
            raise BrokenReferenceError(
                f"cannot compute {at}",
                f"  {messages.brief(error)}",
                f"  {' and '.join(map(reprs.text, sides))}",
            ) from error

    def _where(self, number: int, holder: int) -> tasks.Task[Where]:
        target = Target.parse(_path_text(self.graph.nodes[number]))
        found: dict[Found, None] = {}
        for start in self._starts(target, number, holder):
            at: list[Found] = [start]
            for done, key in enumerate(target.path):
                ahead: dict[Found, None] = {}
                for here in at:
                    # A reference on the way is followed before going on from it.
                    for end in (yield from self._followed(here)):
                        step = self._step(end.value, key)
                        if step is None:
                            way = target.path[: done + 1]
                            raise self.faults.missing(number, holder, end, way)
                        ahead[step] = None
                at = list(ahead)
            found.update(dict.fromkeys(at))
        return tuple(found)

    def _end(self, number: int, holder: int) -> tasks.Task[Where]:
        found: dict[Found, None] = {}
        for at in (yield ("where", number, holder)):
            found.update(dict.fromkeys((yield from self._followed(at))))
        return tuple(found)

    def _followed(self, at: Found) -> tasks.Task[Where]:
        """Where a reference to a reference ends; any other value is its own end."""
        node = self.graph.node(at.value)
        if node is None or not _is_plain(node):
            return (at,)
        assert isinstance(at.value, Link) and at.holder is not None
        return (yield ("end", at.value.node, at.holder))

    def _starts(self, target: Target, number: int, holder: int) -> list[Found]:
        if target.start == "root":
            return [Found(self.graph.root, None, None)]
        if target.start == "nearest":
            name = str(target.path[0])
            around = self.places.nearest(holder, name)
            if not around:
                raise self.faults.nothing_around(number, holder, name)
            if not self.graph.defaults_known and not self._is_next_to(holder, around):
                raise BrokenReferenceError(
                    f"{self.faults.position(number, holder)} cannot be told: a nearer "
                    "node may have that parameter unset"
                )
        else:
            around = self.places.own(holder)
            for _ in range(target.up):
                around = frozenset().union(*map(self.places.enclosing, around))
            if not around:
                raise BrokenReferenceError(
                    f"reference climbs out of the config: "
                    f"{self.faults.position(number, holder)}",
                    "one dot is the node that holds the reference, "
                    "each further dot the node around it",
                )
        return [
            Found(Link(start), None, None) for start in sorted(around, reverse=True)
        ]

    def _is_next_to(self, holder: int, around: frozenset[int]) -> bool:
        above = map(self.places.enclosing, self.places.own(holder))
        return around <= frozenset().union(*above)

    def _step(self, value: Value, key: PathKey) -> Found | None:
        node = self.graph.node(value)
        if node is None:
            return None
        assert isinstance(value, Link)
        argument = find_argument(node, key)
        if argument is None:
            return None
        reached = argument.default if argument.value is None else argument.value
        return None if reached is None else Found(reached, value.node, argument.key)


def resolved_value(config: Any, path: Path) -> Any:
    """What the value at a path comes to, defaults counted and references followed.

    Args:
      config: A config or its graph.
      path: Where.

    Returns:
      The value; a `Link` if it is a node or a container; `UNKNOWN` if only a build can
      tell, or if nothing is set there and no plain default is known.

    Raises:
      BrokenReferenceError: A reference on the way has no value.
      KeyError: There is no such path.
    """
    graph = config if isinstance(config, Graph) else snapshot(config)
    resolver = Resolver(graph)
    value, holder = graph.root, None
    for key in (*path, None):
        node = graph.node(value)
        if node is not None and node.kind == "reference":
            assert isinstance(value, Link)
            if holder is None:
                raise resolver.faults.at_root(value.node)
            found = resolver.value(value.node, holder)
            if key is None or not isinstance(found, Link):
                value = found
                break
            value, node = found, graph.node(found)
        if key is None:
            break
        argument = None if node is None else find_argument(node, key)
        if argument is None:
            raise KeyError(paths.format(path))
        assert isinstance(value, Link)
        holder = value.node
        reached = argument.default if argument.value is None else argument.value
        if reached is None:
            return UNKNOWN
        value = reached
    return value.live if isinstance(value, Leaf) else value


def _is_plain(node: Node) -> bool:
    return node.kind == "reference" and node.argument("path") is not None


def _value_of(node: Node, name: str) -> Value:
    argument = node.argument(name)
    assert argument is not None and argument.value is not None
    return argument.value


def _path_text(node: Node) -> str:
    value = _value_of(node, "path")
    assert isinstance(value, Leaf)
    return str(value.value)


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    try:
        return bool(one == two)
    except Exception:  # noqa: BLE001 - arrays and the like do not say yes or no
        return False
