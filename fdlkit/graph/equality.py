"""Whether two configs are the same, and where they are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from fdlkit.graph import leaf_texts, paths, texts
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Graph,
    Leaf,
    Link,
    Node,
    Opaque,
    Symbol,
    Value,
)
from fdlkit.graph.paths import PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.snapshot import snapshot

# What these make when a dataclass calls them as a field's `default_factory`.
_EMPTY = {"list": "list", "dict": "dict", "set": "set", "tuple": "tuple"}


class Difference(NamedTuple):
    """One thing that two configs do not agree on.

    Attributes:
      path: Where, as text; `path#tags` for tags.
      old: What the first one has there; None if it has nothing.
      new: What the second one has there; None if it has nothing.
    """

    path: str
    old: str | None
    new: str | None


def equal(a: Any, b: Any) -> bool:
    """Whether two configs (or graphs) are the same config.

    They are if they call the same with the same arguments and tags, and share what
    the other shares. An argument that is set to its default equals one that is not
    set. The order of a dict's keys does not count.
    """
    return next(_Comparison(_graph(a), _graph(b), tags=True).run(), None) is None


def differences(a: Any, b: Any) -> list[Difference]:
    """What is different in `b`, in the order of a reader of `a`; tags do not count."""
    return list(_Comparison(_graph(a), _graph(b), tags=False).run())


def flat(graph: Graph) -> dict[str, str]:
    """Every value that is set, by its path: greppable, and stable between processes.

    A node's own line says what it calls; the second and later lines of something
    shared say `*` and the first path to it.
    """
    places = Places(graph)
    lines: dict[str, str] = {}
    seen: set[int] = set()
    todo: list[tuple[str, Value]] = [("", graph.root)]
    while todo:
        way, value = todo.pop()  # the way as it continues the root's path: `.a[0]`
        at = way.removeprefix(".") or paths.ROOT
        text = texts.inline(graph, value)
        node = graph.node(value)
        if node is None:
            lines[at] = _leaf(value) or texts.brief(graph, value)
            continue
        if text is not None and (node.is_value or not node.arguments):
            lines[at] = text
            continue
        assert isinstance(value, Link)
        if value.node in seen:
            lines[at] = f"*{paths.format(places.path(value.node))}"
            continue
        seen.add(value.node)
        if node.callable is not None:
            lines[at] = _public(graph, value)
        todo += [
            (way + paths.relative((argument.key,)), argument.value)
            for argument in reversed(node.arguments)
            if argument.value is not None
        ]
    return lines


# A path as a chain of keys from the last to the first: cheap to go on from.
_Way = tuple["_Way | None", PathKey]

# A node in its context: the position whose default it is part of, or None.
_Token = tuple[tuple[int, PathKey] | None, int]


class _Comparison:
    def __init__(self, a: Graph, b: Graph, *, tags: bool):
        self._graphs = a, b
        self._tags = tags
        # Which node of one stands for which of the other, both ways.
        self._pairs: tuple[dict[_Token, _Token], dict[_Token, _Token]] = {}, {}
        self._compared: set[tuple[int, int]] = set()
        self._indexes: dict[int, Places] = {}  # by the id of the graph

    def _places(self, graph: Graph) -> Places:
        known = self._indexes.get(id(graph))
        if known is None:
            known = self._indexes[id(graph)] = Places(graph)
        return known

    def run(self) -> Iterator[Difference]:
        a, b = self._graphs
        todo: list[tuple[_Way | None, _Side, _Side] | Difference] = [
            (None, _Side(a, a.root, None), _Side(b, b.root, None))
        ]
        while todo:
            pair = todo.pop()
            if isinstance(pair, Difference):
                yield pair
                continue
            way, one, two = pair
            said = self._say(way, one, two)
            if said is not None:
                yield said
            x, y = one.node, two.node
            if x is None or y is None or not self._go_on(x, y, one, two, said):
                continue
            todo += reversed(list(self._below(way, one, two)))

    def _say(self, way: _Way | None, one: _Side, two: _Side) -> Difference | None:
        """What is different between two values, apart from what is below them."""
        x, y = one.node, two.node
        if x is None or y is None:
            if x is y and same_leaf(one.leaf, two.leaf):
                return None
            return Difference(_path(way), one.text, two.text)
        if not _same_head(x, y):
            return Difference(_path(way), one.text, two.text)
        if x.is_value and y.is_value:
            return None
        there = self._pairs[0].get(one.token), self._pairs[1].get(two.token)
        if there in ((None, None), (two.token, one.token)):
            return None
        return self._shared_otherwise(way, one, two, there)

    def _go_on(
        self, x: Node, y: Node, one: _Side, two: _Side, said: Difference | None
    ) -> bool:
        """Whether to look below; remembers that it has been done."""
        if x.is_value and y.is_value:
            pair = one.number, two.number
            is_new = pair not in self._compared
            self._compared.add(pair)
            return is_new and said is None
        if one.token in self._pairs[0] or two.token in self._pairs[1]:
            return False
        self._pairs[0][one.token] = two.token
        self._pairs[1][two.token] = one.token
        # After a change of callable, what was carried over is worth a look.
        return said is None or (
            x.is_buildable and y.is_buildable and "reference" not in (x.kind, y.kind)
        )

    def _below(
        self, way: _Way | None, one: _Side, two: _Side
    ) -> Iterator[tuple[_Way | None, _Side, _Side] | Difference]:
        assert one.node is not None and two.node is not None
        alike = _same_head(one.node, two.node)
        for key, p, q in _matched(one.node, two.node):
            step = (way, key)
            if self._tags and (p.tags if p else ()) != (q.tags if q else ()):
                yield Difference(f"{_path(step)}#tags", _tag_text(p), _tag_text(q))
            if (p is None or p.value is None) and (q is None or q.value is None):
                continue  # both at their defaults
            left = one.below(key, p, (two.graph, q) if q and alike else None)
            right = two.below(key, q, (one.graph, p) if p and alike else None)
            if left is not None and right is not None:
                yield step, left, right
            elif not _is_made(left or right, p, q):
                old = None if left is None else left.text
                yield Difference(_path(step), old, right.text if right else None)

    def _shared_otherwise(
        self,
        way: _Way | None,
        one: _Side,
        two: _Side,
        there: tuple[_Token | None, _Token | None],
    ) -> Difference:
        def text(side: _Side, is_known: bool) -> str:
            if not is_known or side.context is not None:
                return side.text
            return f"*{paths.format(self._places(side.graph).path(side.number))}"

        return Difference(
            _path(way), text(one, there[0] is not None), text(two, there[1] is not None)
        )


class _Side:
    """A value of one of the two graphs, and what it is part of."""

    def __init__(self, graph: Graph, value: Value, context: tuple[int, PathKey] | None):
        self.graph = graph
        self.value = value
        self.context = context
        self.node = graph.node(value)

    @property
    def number(self) -> int:
        assert isinstance(self.value, Link)
        return self.value.node

    @property
    def token(self) -> _Token:
        return self.context, self.number

    @property
    def leaf(self) -> Leaf:
        assert isinstance(self.value, Leaf)
        return self.value

    @property
    def text(self) -> str:
        return full_text(self.graph, self.value)

    def below(
        self, key: PathKey, argument: Argument | None, known: _Known | None
    ) -> _Side | None:
        """An argument's value, or its default.

        Args:
          key: The argument's key.
          argument: The argument on this side.
          known: The same argument of the other graph, which tells the default where
            this graph was read from text and knows none.
        """
        if argument is not None and argument.value is not None:
            return _Side(self.graph, argument.value, self.context)
        graph, default = self.graph, argument.default if argument else None
        if argument is None and known is not None and not graph.defaults_known:
            graph, default = known[0], known[1].default
        context = self.context or (self.number, key)
        return None if default is None else _Side(graph, default, context)


# A graph and an argument in it.
_Known = tuple[Graph, Argument]


def _graph(config: Any) -> Graph:
    return config if isinstance(config, Graph) else snapshot(config, history=False)


def _path(way: _Way | None) -> str:
    keys = []
    while way is not None:
        way, key = way
        keys.append(key)
    return paths.format(tuple(reversed(keys)))


def _matched(
    x: Node, y: Node
) -> Iterator[tuple[PathKey, Argument | None, Argument | None]]:
    there = {_key(argument.key): argument for argument in y.arguments}
    for argument in x.arguments:
        yield argument.key, argument, there.pop(_key(argument.key), None)
    for left in there.values():
        yield left.key, None, left


def _key(key: PathKey) -> tuple[str, object]:
    if isinstance(key, paths.Key):
        return f"key {type(key.value).__name__}", key.value
    return type(key).__name__, key


def _same_head(x: Node, y: Node) -> bool:
    """Whether two nodes are of one kind and call the same."""
    if x.kind != y.kind or not _same_shape(x, y):
        return False
    if x.metadata and y.metadata and not same_leaf(x.metadata, y.metadata):
        return False
    return same_symbol(x.callable, y.callable) and same_symbol(x.type, y.type)


def _same_shape(x: Node, y: Node) -> bool:
    if x.kind == "ordered_dict":
        return [_key(a.key) for a in x.arguments] == [_key(a.key) for a in y.arguments]
    return True


def same_symbol(x: Symbol | None, y: Symbol | None) -> bool:
    """Whether two names stand for one thing; what only lives here goes by identity."""
    if x != y:
        return False
    if x is None or y is None or x.importable:
        return True
    return x.live is y.live or UNKNOWN in (x.live, y.live)


def same_leaf(x: Leaf, y: Leaf) -> bool:
    """Whether two leaves are equal; values that have no form here by their own `==`."""
    if isinstance(x.value, Opaque) and isinstance(y.value, Opaque):
        return _same_opaque(x.value.live, y.value.live)
    if isinstance(x.value, Symbol) and isinstance(y.value, Symbol):
        return same_symbol(x.value, y.value)
    return x == y


def _same_opaque(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    numpy = sys.modules.get("numpy")
    try:
        if _is_key(x) and _is_key(y):
            x, y = (sys.modules["jax"].random.key_data(key) for key in (x, y))
        if numpy is not None and hasattr(x, "__array__") and hasattr(x, "dtype"):
            return x.dtype == y.dtype and bool(numpy.array_equal(x, y))
        return bool(x == y)
    except Exception:  # noqa: BLE001 - a type that cannot be compared has no equals
        return False


def _is_key(value: Any) -> bool:
    """Whether it is a key of JAX's random numbers, which is no array of numbers."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array):
        return False
    return jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _is_made(side: _Side | None, p: Argument | None, q: Argument | None) -> bool:
    """Whether what is set here is what the other side's factory would make."""
    unset = q if p is not None and p.value is not None else p
    node = None if side is None else side.node
    return node is not None and unset is not None and is_made_by(unset.factory, node)


def is_made_by(factory: Symbol | None, node: Node) -> bool:
    """Whether a `default_factory` makes just this: `[]`, `{}`, `()` or `set()`."""
    if factory is None or factory.module != "builtins" or node.arguments:
        return False
    return _EMPTY.get(factory.qualname) == node.kind


def full_text(graph: Graph, value: Value) -> str:
    """A value with the full name of what it calls or is: `optax.adamw`."""
    return _leaf(value) or _public(graph, value)


def _public(graph: Graph, value: Value) -> str:
    """`optax.adamw`, `partial optax.adamw`: a node's own line."""
    node = graph.node(value)
    if node is None or node.callable is None or not node.is_buildable:
        return texts.brief(graph, value)
    if node.kind == "reference":
        return texts.brief(graph, value)
    if node.kind == "tagged_value":
        return texts.called(node)
    called = texts.called(node).removesuffix(node.callable.short)
    return f"{called}{node.callable.name}"


def _leaf(value: Value) -> str | None:
    """The full name of a function or class, where the brief text is the short one."""
    return leaf_texts.text(value.value, full=True) if isinstance(value, Leaf) else None


def _tag_text(argument: Argument | None) -> str | None:
    if argument is None or not argument.tags:
        return None
    return " ".join(f"#{tag.name}" for tag in argument.tags)
