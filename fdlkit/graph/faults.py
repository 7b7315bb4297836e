"""What is said of a reference that cannot be resolved."""

from __future__ import annotations

import dataclasses
from typing import Any

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.graph import paths, reprs
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.references import spell

_MAX_NAMES = 12
_MAX_CIRCLE = 8  # references of a circle that are told, the first and the last ones


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


class Faults:
    """Words the faults of one graph's references."""

    def __init__(self, graph: Graph, places: Places):
        self._graph = graph
        self._places = places

    def position(self, number: int, holder: int) -> str:
        """`model.block.width = ref(^hidden) * 4`, where the reference stands."""
        follower = self._follower(number, holder)
        if follower is None:
            return spell(self._graph, number)
        whole = follower.value
        assert isinstance(whole, Link)
        return f"{self._path_in(holder, follower)} = {spell(self._graph, whole.node)}"

    def _follower(self, number: int, holder: int) -> Argument | None:
        """The argument of the holder that the reference is, or is a part of."""
        for argument in self._graph.nodes[holder].arguments:
            if isinstance(argument.value, Link) and self._is_part(
                number, argument.value.node
            ):
                return argument
        return None

    def _path_in(self, holder: int, argument: Argument) -> str:
        return paths.brief((*self._places.path(holder), argument.key))

    def _is_part(self, number: int, whole: int) -> bool:
        todo, seen = [whole], set()
        while todo:
            at = todo.pop()
            if at == number:
                return True
            node = self._graph.nodes[at]
            if at in seen or node.kind != "reference":
                continue
            seen.add(at)
            todo += [a.value.node for a in node.arguments if isinstance(a.value, Link)]
        return False

    def circle(self, chain: list[tuple[str, int, int]]) -> BrokenReferenceError:
        """References that need each other, every one of them listed."""
        lines: dict[str, None] = {}
        for what, number, holder in chain:
            if what != "node":
                lines[f"  {self.position(number, holder)}"] = None
        nodes = [number for what, number, _ in chain if what == "node"]
        if nodes:
            held = self._places.describe(nodes[0])
            lines[f"  {held} needs all that is in it"] = None
        shown = list(lines)
        if len(shown) > _MAX_CIRCLE:
            shown[_MAX_CIRCLE // 2 : -_MAX_CIRCLE // 2] = [
                f"  ... and {len(shown) - _MAX_CIRCLE} more"
            ]
        return BrokenReferenceError("references form a circle", *shown)

    def at_root(self, number: int) -> BrokenReferenceError:
        """A config that is a reference, with nothing around it to refer to."""
        return BrokenReferenceError(
            f"the whole config is a reference: {spell(self._graph, number)}",
            "  there is nothing around it that it could stand for",
        )

    def missing(
        self, number: int, holder: int, at: Found, way: Path
    ) -> BrokenReferenceError:
        """A path that ends at `at`, where the last key of `way` is not there."""
        last = way[-1]
        position = self.position(number, holder)
        node = self._graph.node(at.value)
        if node is None:
            assert isinstance(at.value, Leaf)
            where = paths.brief(self._path_of(at))
            return BrokenReferenceError(
                f"reference leads nowhere: {position}",
                f"  {where} is {reprs.text(at.value.live)}, which has nothing in it",
            )
        assert isinstance(at.value, Link)
        where = self._places.describe(at.value.node)
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
        if (follower := self._follower(number, holder)) is not None:
            lines.append(f"  or set {self._path_in(holder, follower)} itself")
        return BrokenReferenceError(f"reference leads nowhere: {position}", *lines)

    def nothing_around(
        self, number: int, holder: int, name: str
    ) -> BrokenReferenceError:
        """A `^name` that no enclosing node has."""
        around: list[int] = []
        todo = list(self._places.own(holder))
        seen = set(todo)
        while todo:
            for above in self._places.enclosing(todo.pop()) - seen:
                seen.add(above)
                around.append(above)
                todo.append(above)
        names = [
            str(argument.key)
            for above in around
            for argument in self._graph.nodes[above].arguments
        ]
        lines = [f"  no node around it has a parameter '{name}'"]
        if hint := suggest.hint(name, names):
            lines.append(f"  {hint}")
        shown = [f"  around it: {self._places.describe(above)}" for above in around[:4]]
        if len(around) > 4:
            shown.append(f"  ... and {len(around) - 4} further out")
        at = self.position(number, holder)
        return BrokenReferenceError(f"reference leads nowhere: {at}", *lines, *shown)

    def ambiguous(
        self, number: int, holder: int, one: tuple[Found, Any], two: tuple[Found, Any]
    ) -> BrokenReferenceError:
        """A relative reference in a node whose several places give it two values."""
        return BrokenReferenceError(
            "a shared node's reference means two things: "
            f"{self.position(number, holder)}",
            *(
                f"  {paths.brief(self._path_of(found))} is {_shown(value)}"
                for found, value in (one, two)
            ),
            "  give each place its own copy, or write an absolute reference",
        )

    def _path_of(self, found: Found) -> Path:
        if found.holder is None or found.key is None:
            return ()
        return (*self._places.path(found.holder), found.key)


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


def _shown(value: Any) -> str:
    if isinstance(value, Link):
        return f"node {value.node}"
    text = reprs.text(value)
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
