"""Building a config: constructors called from the leaves up, references put in."""

from __future__ import annotations

import functools
from typing import Any

import fiddle as fdl

from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import (
    factories,
    fiddle_internals,
    messages,
    origins,
    paths,
    tasks,
    walk,
)
from fdlkit.graph.hidden_configs import left_by_factory
from fdlkit.graph.missing import refuse_missing
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Graph,
    Leaf,
    Link,
    Node,
    Origin,
    Symbol,
)
from fdlkit.graph.places import Places
from fdlkit.graph.references import spell
from fdlkit.graph.resolve import Resolver, Where
from fdlkit.graph.snapshot import Taken, take
from fdlkit.graph.traps import refuse_traps

_MAX_ARGUMENTS = 8


class BuildError(UserError):
    """A constructor raised; the exception itself is the `__cause__`.

    Attributes:
      path: The path of the node that it was called for, as text.
    """

    def __init__(self, path: str, what: str, *lines: str):
        super().__init__(what, *lines)
        self.path = path


def build(config: Any) -> Any:
    """Builds a config as `fdl.build` does, with references, at any depth.

    A node that is used twice is built once. An `ArgFactory` in a `Partial` makes a new
    object at each call of the built partial.

    Args:
      config: A Buildable, or containers with Buildables in them.

    Returns:
      What the root's callable returned, or containers like the given ones.

    Raises:
      UserError: Required arguments are not set (all are listed), a reference leads
        nowhere or in a circle, or there is one of the traps of `refuse_traps`. Nothing
        has been built then.
      BuildError: A constructor raised whatever it may raise, or called `sys.exit`.
        Ctrl-C passes through.
    """
    taken = take(config)
    graph = taken.graph
    builder = _Builder(taken)
    refuse_traps(graph, builder.places)
    if isinstance(graph.root, Leaf):
        return config
    refuse_missing(graph, builder.places)
    order = builder.rehearse(graph.root.node)
    with fiddle_internals.in_build():
        return builder.build(order)


def refuse_unbuildable(graph: Graph, places: Places) -> None:
    """Finds all that would keep a config from being built, and calls nothing.

    Raises:
      UserError: As `build`, before it builds.
    """
    refuse_traps(graph, places)
    refuse_missing(graph, places)
    has_references = any(graph.nodes[n].kind == "reference" for n in places.order)
    if has_references and isinstance(graph.root, Link):
        _Rehearsal(graph, places).order(graph.root.node)


class _Rehearsal(Resolver):
    """Resolves every reference and calls nothing, so that faults come first."""

    def node(self, number: int) -> tasks.Task[Where]:
        for argument in self.graph.nodes[number].arguments:
            if isinstance(argument.value, Link):
                inner = argument.value.node
                if self.graph.nodes[inner].kind == "reference":
                    yield ("value", inner, number)
                else:
                    yield ("node", inner, 0)
        return Link(number)

    def order(self, root: int) -> list[int]:
        """The nodes, each after all that it needs; containers too."""
        if self.graph.nodes[root].kind == "reference":
            raise self.faults.at_root(root)
        self.run(("node", root, 0))
        return [number for what, number, _ in self.results if what == "node"]

    def known(self) -> dict[Where, Any]:
        """What is as good for a build: all but what built objects stand for."""
        return {
            key: result
            for key, result in self.results.items()
            if not isinstance(result, Link) and result is not UNKNOWN
        }


class _Builder(Resolver):
    """Builds the nodes of a graph, each once and after all that it needs."""

    def __init__(self, taken: Taken):
        super().__init__(taken.graph)
        self._originals = taken.originals
        self._built: dict[int, Any] = {}
        # ArgFactories and containers of them; a reference may turn out to be one.
        self._factories: set[int] = set()
        for number, node in enumerate(taken.graph.nodes):
            is_one = node.kind in ("arg_factory", "reference", "buildable")
            if is_one or (not node.is_buildable and self._may_hold_factory(node)):
                self._factories.add(number)

    def rehearse(self, root: int) -> list[int]:
        """The order to build in. References have been resolved, nothing is built.

        Raises:
          BrokenReferenceError: One cannot be resolved.
        """
        if all(node.kind != "reference" for node in self.graph.nodes):
            return sorted(self.places.order)  # each is after what is below it
        rehearsal = _Rehearsal(self.graph, self.places)
        order = rehearsal.order(root)
        self.results |= rehearsal.known()
        return order

    def build(self, order: list[int]) -> Any:
        """Builds the nodes in that order; returns the last one."""
        for number in order:
            self._built[number] = self._make(number)
        return self._built[order[-1]]

    def node(self, number: int) -> tasks.Task[Where]:
        yield from ()  # a task that needs no other: the order has seen to that
        return self._built[number]

    def _make(self, number: int) -> Any:
        node = self.graph.nodes[number]
        original = self._originals[number]
        if node.kind in ("set", "frozenset"):
            return original  # its elements are hashable, so that none is a config
        values: dict[Any, Any] = {}
        for argument in node.arguments:
            if isinstance(argument.value, Leaf):
                values[argument.key] = argument.value.live
            elif argument.value is not None:
                inner = argument.value.node
                if self.graph.nodes[inner].kind == "reference":
                    values[argument.key] = self.value(inner, number)
                else:
                    values[argument.key] = self._built[inner]
        if not node.is_buildable:
            return walk.with_children(original, list(values.values()))
        args, kwargs = fiddle_internals.args_kwargs(original, values)
        if node.kind in ("partial", "arg_factory"):
            return self._bound(node, original, args, kwargs)
        try:
            built = fiddle_internals.call(original, args, kwargs)
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise self._failed(number, values, error) from error
        if (name := left_by_factory(node, built)) is not None:
            path = paths.format(self.places.path(number))
            raise BuildError(
                path,
                f"the default of {self.places.describe(number)} is a config: {name}",
                "  a build does not look into what a default_factory makes",
                f"  set {name} in the config, with --fdl_set too",
            )
        return built

    def _bound(
        self, node: Node, original: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """A `Partial` or an `ArgFactory`, which call nothing yet."""
        called = fdl.get_callable(original)
        if self._may_hold_factory(node):
            called = factories.partial(called, *args, **kwargs)
        elif args or kwargs or node.kind == "partial":
            called = functools.partial(called, *args, **kwargs)
        if node.kind == "arg_factory":
            return fiddle_internals.BuiltArgFactory(called)
        return called

    def _may_hold_factory(self, node: Node) -> bool:
        return any(
            isinstance(argument.value, Link) and argument.value.node in self._factories
            for argument in node.arguments
        )

    def _failed(
        self, number: int, values: dict[Any, Any], error: BaseException
    ) -> BuildError:
        node = self.graph.nodes[number]
        said = messages.lines(error)
        given = [a for a in node.arguments if a.value is not None]
        shown = [
            self._argument(number, argument, values[argument.key])
            for argument in given[:_MAX_ARGUMENTS]
        ]
        if len(given) > _MAX_ARGUMENTS:
            shown.append(f"and {len(given) - _MAX_ARGUMENTS} more")
        return BuildError(
            paths.format(self.places.path(number)),
            f"cannot build {self.places.describe(number)}",
            *(f"  {line}" for line in said),
            f"  arguments: {', '.join(shown) or 'none'}",
        )

    def _argument(self, number: int, argument: Argument, value: Any) -> str:
        """`features=250 (ref ^hidden, from --fdl_set)`."""
        inner = self.graph.node(argument.value)
        origin = argument.origin
        notes = []
        if inner is not None and inner.kind == "reference":
            assert isinstance(argument.value, Link)
            said = spell(self.graph, argument.value.node)
            if inner.argument("path") is not None:  # ref(^hidden)
                said = f"ref {said.removeprefix('ref(').removesuffix(')')}"
            notes.append(said)
            origin = self._decided_at(argument.value.node, number)
        if origin is not None:
            notes.append(origins.show(origin))
        elif notes:  # what it follows is not set
            notes.append("default")
        text = self._text(argument, inner, value)
        key = argument.key if isinstance(argument.key, str) else f"[{argument.key}]"
        return f"{key}={text}" + (f" ({', '.join(notes)})" if notes else "")

    def _decided_at(self, reference: int, holder: int) -> Origin | None:
        for end in self.sources(reference, holder):
            if end.holder is not None and end.key is not None:
                source = self.graph.nodes[end.holder].argument(end.key)
                if source is not None and source.origin is not None:
                    return source.origin
        return None

    def _text(self, argument: Argument, inner: Node | None, value: Any) -> str:
        if inner is not None and inner.kind != "reference" and inner.is_buildable:
            assert inner.callable is not None
            return f"{inner.callable.short}(...)"
        if isinstance(argument.value, Leaf):
            held = argument.value.value
            if isinstance(held, Symbol):
                return held.short
        return messages.short_repr(value)
