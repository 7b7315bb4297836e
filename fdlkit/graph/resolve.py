"""What references stand for.

A reference is resolved by its position: the node or container that holds it. One
reference object may stand in two places and mean two things.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NoReturn

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.graph import paths, tasks
from fdlkit.graph.model import UNKNOWN, Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.references import OPERATORS, Target, spell
from fdlkit.graph.snapshot import snapshot

_MAX_NAMES = 12


class BrokenReferenceError(UserError):
    """A reference that leads nowhere, in a circle, or to several values."""


@dataclasses.dataclass(frozen=True)
class Found:
    """What one reference leads to.

    Attributes:
      value: A leaf or a link to a node, which may be another reference.
      holder: The node or container that holds the value; None for the root.
      key: The value's key in it.
    """

    value: Value
    holder: int | None
    key: PathKey | None


# What a task computes, and for which reference and holder: `where` the reference
# leads, at which `end` if it leads to other references, its `value`; or, with any
# holder, what a `node` is.
Where = tuple[str, int, int]


class Resolver:
    """Resolves the references of one graph.

    `node` says what a node's value is: here a link to it, in `build` the built object.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.places = Places(graph)
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
        return self._run(("value", reference, holder))

    def destinations(self, reference: int, holder: int) -> tuple[Found, ...]:
        """Where a plain reference leads; several places if its holder is shared."""
        return self._run(("where", reference, holder))

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
        return Link(number)
        yield

    def _run(self, wanted: Where) -> Any:
        return tasks.run(
            wanted, self._start, results=self.results, on_cycle=self._on_cycle
        )

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
                raise self._ambiguous(
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
            at = self._spell_position(number, holder)
            raise BrokenReferenceError(
                f"cannot compute {at}",
                f"  {type(error).__name__}: {error}",
                f"  {' and '.join(repr(side) for side in sides)}",
            ) from error

    def _where(self, number: int, holder: int) -> tasks.Task[Where]:
        target = Target.parse(_path_text(self.graph.nodes[number]))
        found: dict[Found, None] = {}
        for start in self._starts(target, number, holder):
            at: list[Found] = [start]
            for done, key in enumerate(target.path):
                ahead: list[Found] = []
                for here in at:
                    # A reference on the way is followed before going on from it.
                    for end in (yield from self._followed(here)):
                        step = self._step(end.value, key)
                        if step is None:
                            way = target.path[: done + 1]
                            raise self._missing(number, holder, end, way)
                        ahead.append(step)
                at = ahead
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
                raise self._nothing_around(number, holder, name)
            if not self.graph.defaults_known and not self._is_next_to(holder, around):
                raise BrokenReferenceError(
                    f"{self._spell_position(number, holder)} cannot be told: a nearer "
                    "node may have that parameter unset"
                )
        else:
            around = self.places.own(holder)
            for _ in range(target.up):
                around = frozenset().union(*map(self.places.enclosing, around))
            if not around:
                raise BrokenReferenceError(
                    f"reference climbs out of the config: "
                    f"{self._spell_position(number, holder)}",
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

    def _spell_position(self, number: int, holder: int) -> str:
        """`model.block.width = ref(^hidden) * 4`, where the reference stands."""
        node = self.graph.nodes[holder]
        for argument in node.arguments:
            if isinstance(argument.value, Link) and self._is_part(
                number, argument.value.node
            ):
                path = paths.format((*self.places.path(holder), argument.key))
                return f"{path} = {spell(self.graph, argument.value.node)}"
        return spell(self.graph, number)

    def _is_part(self, number: int, whole: int) -> bool:
        todo, seen = [whole], set()
        while todo:
            at = todo.pop()
            if at == number:
                return True
            node = self.graph.nodes[at]
            if at in seen or node.kind != "reference":
                continue
            seen.add(at)
            todo += [a.value.node for a in node.arguments if isinstance(a.value, Link)]
        return False

    def _on_cycle(self, chain: list[Where]) -> NoReturn:
        lines: dict[str, None] = {}
        for what, number, holder in chain:
            if what != "node":
                lines[f"  {self._spell_position(number, holder)}"] = None
        nodes = [number for what, number, _ in chain if what == "node"]
        if nodes:
            held = self.places.describe(nodes[0])
            lines[f"  {held} needs all that is in it"] = None
        raise BrokenReferenceError("references form a circle", *lines)

    def _missing(
        self, number: int, holder: int, at: Found, way: Path
    ) -> BrokenReferenceError:
        last = way[-1]
        position = self._spell_position(number, holder)
        node = self.graph.node(at.value)
        if node is None:
            assert isinstance(at.value, Leaf)
            where = paths.format(self._path_of(at))
            return BrokenReferenceError(
                f"reference leads nowhere: {position}",
                f"  {where} is {at.value.live!r}, which has nothing in it",
            )
        assert isinstance(at.value, Link)
        where = self.places.describe(at.value.node)
        argument = find_argument(node, last)
        if argument is not None:
            how = "is made by a default factory" if argument.factory else "is not set"
            return BrokenReferenceError(
                f"reference to a value that {how}: {position}",
                f"  set '{paths.relative((argument.key,)).lstrip('.')}' at {where}",
            )
        names = [_name(a.key) for a in node.arguments]
        wanted = _name(last)
        lines = [f"  no {_kind_of_key(node)} {wanted} at {where}"]
        if hint := suggest.hint(wanted, names):
            lines.append(f"  {hint}")
        lines += _listed(node, names)
        return BrokenReferenceError(f"reference leads nowhere: {position}", *lines)

    def _path_of(self, found: Found) -> Path:
        if found.holder is None or found.key is None:
            return ()
        return (*self.places.path(found.holder), found.key)

    def _nothing_around(
        self, number: int, holder: int, name: str
    ) -> BrokenReferenceError:
        around: list[int] = []
        todo = list(self.places.own(holder))
        seen = set(todo)
        while todo:
            for above in self.places.enclosing(todo.pop()) - seen:
                seen.add(above)
                around.append(above)
                todo.append(above)
        names = [
            str(argument.key)
            for above in around
            for argument in self.graph.nodes[above].arguments
        ]
        lines = [f"  no node around it has a parameter '{name}'"]
        if hint := suggest.hint(name, names):
            lines.append(f"  {hint}")
        shown = [f"  around it: {self.places.describe(above)}" for above in around[:4]]
        if len(around) > 4:
            shown.append(f"  ... and {len(around) - 4} further out")
        at = self._spell_position(number, holder)
        return BrokenReferenceError(f"reference leads nowhere: {at}", *lines, *shown)

    def _ambiguous(
        self, number: int, holder: int, one: tuple[Found, Any], two: tuple[Found, Any]
    ) -> BrokenReferenceError:
        return BrokenReferenceError(
            "a shared node's reference means two things: "
            f"{self._spell_position(number, holder)}",
            *(
                f"  {paths.format(self._path_of(found))} is {_shown(value)}"
                for found, value in (one, two)
            ),
            "  give each place its own copy, or write an absolute reference",
        )


def positions(graph: Graph) -> Iterator[tuple[int, Argument]]:
    """Every position of a reference: its holder's node and the argument there."""
    for number, node in enumerate(graph.nodes):
        if node.kind == "reference":
            continue
        for argument in node.arguments:
            inner = graph.node(argument.value)
            if inner is not None and inner.kind == "reference":
                yield number, argument


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
            assert isinstance(value, Link) and holder is not None
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


def find_argument(node: Node, key: PathKey) -> Argument | None:
    """The argument that a path's key means, allowing `[-1]` and `d.k` for `d['k']`."""
    if node.kind == "reference":
        return None
    exact = node.argument(key)
    if exact is not None:
        return exact
    if type(key) is int and not node.is_buildable and "dict" not in node.kind:
        if -len(node.arguments) <= key < len(node.arguments):
            return node.arguments[key]
    elif isinstance(key, str) and "dict" in node.kind:
        return node.argument(paths.Key(key))
    elif isinstance(key, paths.Key) and isinstance(key.value, str):
        return None if "dict" in node.kind else node.argument(key.value)
    return None


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
    except Exception:  # arrays and the like do not say yes or no
        return False


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, Link) else f"node {value.node}"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _name(key: PathKey) -> str:
    return key if isinstance(key, str) else paths.bracket(key)


def _kind_of_key(node: Node) -> str:
    if node.is_buildable:
        return "parameter"
    return "key" if "dict" in node.kind else "element"


def _listed(node: Node, names: list[str]) -> list[str]:
    if not names:
        return []
    if not node.is_buildable and "dict" not in node.kind and node.kind != "namedtuple":
        return [f"  elements: [0] to [{len(names) - 1}]"]
    more = ", …" if len(names) > _MAX_NAMES else ""
    what = "parameters" if node.is_buildable else "keys"
    return [f"  {what}: {', '.join(names[:_MAX_NAMES])}{more}"]
