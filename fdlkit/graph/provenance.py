"""Why a value is what it is: who wrote it, what it follows, where else it is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

import fiddle as fdl

from fdlkit import printable
from fdlkit.graph import chains, fiddle_internals, names, paths, signatures, texts
from fdlkit.graph import writers as writing
from fdlkit.graph.chains import Hop
from fdlkit.graph.definitions import Definitions
from fdlkit.graph.faults import BrokenReferenceError, find_argument
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Leaf,
    Link,
    Node,
    Origin,
    Value,
)
from fdlkit.graph.mutated_defaults import written_as
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.resolve import Resolver
from fdlkit.graph.snapshot import take
from fdlkit.graph.writers import Write

Status = Literal["set", "default", "factory", "missing", "unset"]

# Of what is reached by more paths (a diamond of thirty levels has a billion) the
# first are listed, and counting stops where no one reads on.
_MAX_PATHS = 12
MAX_COUNT = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Maker:
    """What a node calls when it is built.

    Attributes:
      kind: `config`, `partial`, `arg_factory`, `tagged_value` or `buildable`.
      callable: The public name of the function or class.
      defined: Where that is written, if it can be told.
      made: Where the node was made, if it is known.
    """

    kind: str
    callable: str
    defined: Origin | None
    made: Origin | None


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Why the value at a path is what it is.

    Attributes:
      asked: The path as it was asked for.
      path: The value's own path: without references on the way, indices counted from 0.
      status: `set`; or, where nothing is set: `default` and `factory` for what the
        callable uses by itself, `missing` if it cannot do without, `unset` if it is
        not known what it does.
      annotation: The parameter's type as a reader writes it, `""` if there is none.
      value: What is there now, on one line; `""` if nothing is.
      result: What reaches the built object, references resolved, on one line; None if
        only a build can tell.
      tags: Short names of the tags.
      taker: The node whose callable takes the value; None for the root.
      taker_path: Where that node is.
      node: What the value calls, if it is a node.
      paths: Every path to the value, that of `path` first; the first dozen of many.
      path_count: How many there are; counting stops at a million.
      writes: Who wrote it, oldest first. A default that the callable has comes before.
      hops: The places that a reference leads through.
      followed: The references on the way of the path that was asked for.
      unset_above: The defaults that the value is a part of, where nodes above it are
        not set themselves.
      problem: Why a reference has no value, a line each.
    """

    asked: str
    path: str
    status: Status
    annotation: str
    value: str
    result: str | None
    tags: tuple[str, ...]
    taker: Maker | None
    taker_path: str
    node: Maker | None
    paths: tuple[str, ...]
    path_count: int
    writes: tuple[Write, ...]
    hops: tuple[Hop, ...] = ()
    followed: tuple[str, ...] = ()
    unset_above: tuple[Write, ...] = ()
    problem: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Reached:
    """What a path leads to in a graph: each node on the way, the last argument."""

    nodes: tuple[int, ...]
    argument: Argument | None
    value: Value | None


class Explainer:
    """Explains values of one config, which must not change meanwhile."""

    def __init__(self, cfg: fdl.Buildable):
        self.cfg = cfg
        taken = take(cfg)
        self._graph = taken.graph
        self._originals = taken.originals
        self._resolver = Resolver(taken.graph)
        self._definitions = Definitions()

    def destination(self, path: Path) -> Path:
        """Where the reference at a path leads, other references followed.

        That may be an argument that is not set.

        Raises:
          BrokenReferenceError: Nowhere.
          KeyError: It leads to a plain value or into a default, or is computed.
        """
        for _ in range(len(self._graph.nodes)):
            reached = self._reach(path)
            if reached.value is None:
                return path  # not set: what is below it is in its default
            if not isinstance(reached.value, Link):
                break
            node = self._graph.nodes[reached.value.node]
            if node.kind != "reference":
                return path
            if node.argument("path") is None:
                break
            link, holder = reached.value.node, reached.nodes[-1]
            # All lead to the same value, or the next line raises.
            self._resolver.value(link, holder)
            end = self._resolver.destinations(link, holder)[0]
            if chains.is_inside_default(self._resolver, end):
                break
            path = chains.path_of(self._resolver, end)
        raise KeyError(paths.format(path))

    def defaults(self, path: Path) -> Iterator[Write]:
        """The default of the argument at a path, if it has one."""
        reached = self._reach(path)
        argument = reached.argument
        if argument is None or not self._graph.nodes[reached.nodes[-1]].is_buildable:
            return
        name = self._parameter_name(reached.nodes[-1], argument.key)
        called = self._called(reached.nodes[-1])
        where = paths.format(path)
        if argument.default is not None:
            origin = self._definitions.of_default(called, name)
            text = texts.default(self._graph, argument.default)
            text += written_as(self._graph.nodes[reached.nodes[-1]], argument)
            yield Write("default", where, text, origin)
        elif argument.factory is not None:
            origin = self._definitions.of_default(called, name)
            yield Write("factory", where, f"{argument.factory.short}()", origin)

    def at(
        self,
        path: Path,
        asked: str,
        *,
        followed: tuple[str, ...] = (),
        unset_above: tuple[Write, ...] = (),
    ) -> Explanation:
        """The explanation of what is at a path that exists, set or not.

        Args:
          path: The path, no reference on its way.
          asked: The path as it was asked for.
          followed: The references that it was reached through.
          unset_above: The defaults that it was reached through.
        """
        reached = self._reach(path)
        argument, value = reached.argument, reached.value
        taker = self._taker(reached.nodes)
        status, text, result = self._now(argument, value)
        hops: tuple[Hop, ...] = ()
        problem: tuple[str, ...] = ()
        if isinstance(value, Link):
            try:
                hops = self._hops(value, reached)
                result = self._built(value, reached)
            except BrokenReferenceError as error:
                problem = error.lines
        found, count = self._paths(reached, path)
        return Explanation(
            asked=asked,
            path=paths.format(path),
            status=status,
            annotation=argument.annotation if argument else "",
            value=text,
            result=result,
            tags=tuple(tag.short for tag in argument.tags) if argument else (),
            taker=None if taker is None else self._maker(reached.nodes[taker]),
            taker_path=paths.format(path[: taker or 0]),
            node=self._made_node(value),
            paths=found,
            path_count=count,
            writes=(
                *self.defaults(path),
                *writing.writes(self.cfg, path),
            ),
            hops=hops,
            followed=followed,
            unset_above=unset_above,
            problem=problem,
        )

    def _reach(self, path: Path) -> _Reached:
        numbers: list[int] = []
        argument: Argument | None = None
        value: Value | None = self._graph.root
        for key in path:
            assert isinstance(value, Link)  # whoever asks has found the path
            numbers.append(value.node)
            node = self._graph.nodes[value.node]
            argument = find_argument(node, self._graph_key(key)) or Argument(key, None)
            value = argument.value
        return _Reached(tuple(numbers), argument, value)

    def _graph_key(self, key: PathKey) -> PathKey:
        """An enum member that is a key of a dict stands in a graph by its name."""
        if isinstance(key, paths.Key) and not isinstance(key.value, str | tuple):
            return paths.Key(names.Names().leaf(key.value))
        return key

    def _now(
        self, argument: Argument | None, value: Value | None
    ) -> tuple[Status, str, str | None]:
        """Status, value and result, where no reference is involved."""
        if value is not None:
            text = texts.brief(self._graph, value)
            return "set", text, text if isinstance(value, Leaf) else None
        assert argument is not None
        if argument.default is not None:
            text = texts.default(self._graph, argument.default)
            return "default", text, text
        if argument.factory is not None:
            return "factory", f"{argument.factory.short}()", None
        return ("missing" if argument.required else "unset"), "", None

    def _resolved(self, number: int, holder: int) -> str | None:
        value = self._resolver.value(number, holder)
        if value is UNKNOWN:
            return None
        if isinstance(value, Link):
            return texts.brief(self._graph, value)
        return printable.clean(" ".join(repr(value).split()))

    def _hops(self, value: Link, reached: _Reached) -> tuple[Hop, ...]:
        if self._graph.nodes[value.node].kind != "reference":
            return ()
        holder = reached.nodes[-1]
        return chains.hops(self._resolver, value.node, holder, self._writer)

    def _built(self, value: Link, reached: _Reached) -> str | None:
        """What a reference, a tagged value or a container is built to."""
        node = self._graph.nodes[value.node]
        if node.kind == "reference":
            return self._resolved(value.node, reached.nodes[-1])
        if node.kind == "tagged_value":
            held = node.argument("value")
            inner = None if held is None else held.value
            return texts.leaf(inner) if isinstance(inner, Leaf) else None
        return texts.inline(self._graph, value, self._inside)

    def _writer(self, path: Path) -> Origin | None:
        """Who wrote the value at a path last."""
        last = writing.writes(self.cfg, path)[-1:]
        return last[0].origin if last else None

    def _inside(self, number: int, holder: int) -> str:
        return self._resolved(number, holder) or "?"

    def _taker(self, nodes: tuple[int, ...]) -> int | None:
        """Which of the nodes on a way is the last one that calls something."""
        for at in range(len(nodes) - 1, -1, -1):
            if self._graph.nodes[nodes[at]].is_buildable:
                return at
        return None

    def _made_node(self, value: Value | None) -> Maker | None:
        node = self._graph.node(value)
        if node is None or not node.is_buildable or node.kind == "reference":
            return None
        assert isinstance(value, Link)
        return self._maker(value.node)

    def _maker(self, number: int) -> Maker:
        node = self._graph.nodes[number]
        called = self._called(number)
        name = node.callable.name if node.callable else ""
        if fiddle_internals.is_tagged_value_fn(called):
            return Maker(node.kind, "TaggedValue", None, node.origin)
        defined = self._definitions.of_callable(called)
        return Maker(node.kind, name, defined, node.origin)

    def _called(self, number: int) -> Any:
        return fdl.get_callable(self._originals[number])

    def _parameter_name(self, number: int, key: PathKey) -> str:
        if isinstance(key, int):  # positional only
            known = list(signatures.all_parameters(self._called(number)))
            return known[key] if key < len(known) else ""
        return str(key)

    def _paths(self, reached: _Reached, path: Path) -> tuple[tuple[str, ...], int]:
        """The paths of the value, that which was followed first, and their number."""
        numbers = list(reached.nodes)
        if isinstance(reached.value, Link):
            numbers.append(reached.value.node)
        # Of an immutable value equal ones are one node, which says nothing.
        own = [at for at, n in enumerate(numbers) if not self._is_value(n)]
        if not own:
            return (paths.format(path),), 1
        at = own[-1]
        tail = paths.relative(path[at:])
        found = {paths.format(path): None}
        for keys in self._ways_to(numbers[at]):
            if len(found) >= _MAX_PATHS:
                break
            whole = f"{'' if not keys else paths.format(keys)}{tail}"
            found[whole.removeprefix(".") or paths.ROOT] = None
        return tuple(found), max(self._count(numbers[at]), len(found))

    def _is_value(self, number: int) -> bool:
        node: Node = self._graph.nodes[number]
        return node.is_value or node.kind == "reference"

    def _ways_to(self, number: int) -> Iterator[Path]:
        """Every path to a node, found one after the other."""
        holders = self._resolver.places.holders
        root = self._graph.root
        # The keys below are a chain of pairs, which its many ends share.
        todo: list[tuple[int, Any]] = [(number, None)]
        while todo:
            at, below = todo.pop()
            if Link(at) == root:
                keys = []
                while below is not None:
                    key, below = below
                    keys.append(key)
                yield tuple(keys)
            todo += [(holder, (key, below)) for holder, key in reversed(holders[at])]

    def _count(self, number: int) -> int:
        """How many paths lead to a node."""
        holders = self._resolver.places.holders
        above, todo = {number}, [number]
        while todo:
            for holder, _ in holders[todo.pop()]:
                if holder not in above:
                    above.add(holder)
                    todo.append(holder)
        counts: dict[int, int] = {}
        for at in sorted(above, reverse=True):  # holders come after what they hold
            ways = sum(counts[holder] for holder, _ in holders[at])
            counts[at] = min(ways or 1, MAX_COUNT)
        return counts[number]
