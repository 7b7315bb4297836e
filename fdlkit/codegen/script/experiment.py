"""The experiment as plain constructor calls: tied nodes one variable, references names.

A value that others refer to is a variable, and they are expressions of it, so that who
edits the number moves what followed it in the config. What `main` may set from the
command line is a parameter.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Sequence

from fdlkit.codegen.program import Imported, Local, Own, Use
from fdlkit.codegen.refusals import Refusals, UnwritableError
from fdlkit.graph import paths
from fdlkit.graph.faults import Found
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Value
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.resolve import Resolver

# Arguments of the trainer that the script's command line can set.
PARAMETERS = ("num_train_steps", "seed")

# A call that stands deeper than this inside others gets a name.
_MAX_DEPTH = 12

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2}
_ATOM = 3


@dataclasses.dataclass(frozen=True)
class Variable:
    """A value with a name: a node, or an argument that others refer to.

    Attributes:
      node: The node, or the node that has the argument.
      key: The argument; None for the node itself.
    """

    node: int
    key: PathKey | None = None


Part = str | Variable | Imported | Local | Own | Use
Text = tuple[Part, ...]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment before its names are chosen.

    Attributes:
      parameters: What the function takes, with the default of each; None for one that
        is a variable too: it is computed unless it is given.
      variables: What has a name in it, each after those that it uses.
      root: What it returns.
      wishes: Names for each variable, the best first.
    """

    parameters: tuple[tuple[str, Text | None], ...]
    variables: tuple[tuple[Variable, Text], ...]
    root: Text
    wishes: dict[Variable, list[str]]

    def imported(self) -> Iterator[Imported]:
        """What it calls and names, in order."""
        texts = [t for _, t in (*self.parameters, *self.variables) if t is not None]
        for text in (*texts, self.root):
            yield from (part for part in text if isinstance(part, Imported))


class Writer:
    """Writes one graph.

    Args:
      graph: The config.
      leaf: Writes a leaf; raises `UnwritableError`.
      key: Writes a key of a dict, likewise.
      is_left_out: Whether an argument of a callable is not to be passed.
    """

    def __init__(
        self,
        graph: Graph,
        leaf: Callable[[Leaf], Sequence[Part]],
        key: Callable[[PathKey], Sequence[Part]],
        is_left_out: Callable[[Node, Argument], bool] = lambda *_: False,
    ):
        self._graph = graph
        self._leaf = leaf
        self._key = key
        self._is_left_out = is_left_out
        self._places = Places(graph)
        self._resolver = Resolver(graph, self._places)
        self._refusals = Refusals(self._places)
        self._uses: dict[int, int] = {}
        self._referred: dict[tuple[int, PathKey], None] = {}
        self._texts: dict[int, Text] = {}
        self._heights: dict[int, int] = {}
        self._variables: dict[Variable, Text] = {}
        self._wishes: dict[Variable, list[str]] = {}

    def write(self) -> Experiment:
        """The experiment.

        Raises:
          UserError: Something in it cannot be written; all such places are listed.
        """
        root = self._graph.root
        assert isinstance(root, Link)
        order = self._kept_nodes(root.node)
        self._find_referred(order)
        for number in order:
            if self._graph.nodes[number].kind == "reference":
                continue
            self._texts[number] = self._node(number)
            if number != root.node and self._needs_name(number):
                variable = Variable(number)
                self._variables[variable] = self._texts[number]
                self._wishes[variable] = self._names_for(number)
        self._refusals.raise_if_any("script")
        parameters: list[tuple[str, Text | None]] = []
        for name in PARAMETERS:
            variable = Variable(root.node, name)
            self._wishes[variable] = [name]
            argument = self._graph.nodes[root.node].argument(name)
            if argument is not None and self._is_reference(argument.value):
                assert isinstance(argument.value, Link)
                text, _ = self._reference(argument.value.node, root.node)
                self._variables[variable] = text
                parameters.append((name, None))
            elif variable in self._variables:
                parameters.append((name, self._variables.pop(variable)))
        return Experiment(
            tuple(parameters),
            tuple(self._in_order()),
            self._texts[root.node],
            self._wishes,
        )

    def _kept_nodes(self, root: int) -> list[int]:
        """The nodes that are written, each after all that is below it."""
        seen: set[int] = set()
        todo = [root]
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            node = self._graph.nodes[number]
            for argument in node.arguments:
                value = argument.value
                if isinstance(value, Link) and not self._is_left_out(node, argument):
                    self._uses[value.node] = self._uses.get(value.node, 0) + 1
                    todo.append(value.node)
        return sorted(seen)

    def _find_referred(self, order: Sequence[int]) -> None:
        root = self._graph.root
        assert isinstance(root, Link)
        for name in PARAMETERS:
            argument = self._graph.nodes[root.node].argument(name)
            reached = argument and (argument.value or argument.default)
            if isinstance(reached, Leaf) and type(reached.live) is int:
                self._refer(root.node, name)
            elif self._is_reference(reached or None):
                self._referred[root.node, name] = None
        for number in order:
            node = self._graph.nodes[number]
            if node.kind == "reference":
                continue
            for argument in node.arguments:
                value = argument.value
                if isinstance(value, Link) and self._is_reference(value):
                    for end in self._resolver.sources(value.node, number):
                        if isinstance(end.value, Leaf) and end.holder is not None:
                            assert end.key is not None
                            self._refer(end.holder, end.key)
                        elif isinstance(end.value, Link):
                            self._uses[end.value.node] = 2

    def _refer(self, holder: int, key: PathKey) -> None:
        if (holder, key) in self._referred:
            return
        self._referred[holder, key] = None
        argument = self._graph.nodes[holder].argument(key)
        assert argument is not None
        reached = argument.value or argument.default
        assert isinstance(reached, Leaf)
        variable = Variable(holder, key)
        self._variables[variable] = self._try_leaf(reached, holder, key)
        self._wishes[variable] = self._names_for(holder, key)

    def _try_leaf(self, leaf: Leaf, node: int, key: PathKey) -> Text:
        try:
            return tuple(self._leaf(leaf))
        except UnwritableError as error:
            self._refusals.add(node, key, error)
            return ("None",)

    def _is_reference(self, value: Value | None) -> bool:
        return (
            isinstance(value, Link)
            and self._graph.nodes[value.node].kind == "reference"
        )

    def _needs_name(self, number: int) -> bool:
        node = self._graph.nodes[number]
        if self._heights[number] > _MAX_DEPTH:
            self._heights[number] = 0
            return True
        return self._uses.get(number, 0) > 1 and not node.is_value

    def _value(self, number: int, argument: Argument) -> Text:
        """The text of an argument's value."""
        key = argument.key
        if (number, key) in self._referred:
            return (Variable(number, key),)
        value = argument.value
        if isinstance(value, Leaf):
            return self._try_leaf(value, number, key)
        assert isinstance(value, Link)
        if self._is_reference(value):
            return self._reference(value.node, number)[0]
        variable = Variable(value.node)
        if variable in self._variables:
            return (variable,)
        return self._texts[value.node]

    def _reference(self, reference: int, holder: int) -> tuple[Text, int]:
        """What a reference stands for, and how tightly the text binds."""
        node = self._graph.nodes[reference]
        if node.argument("path") is not None:
            return self._end(self._resolver.destinations(reference, holder)[0])
        symbol = _leaf_of(node, "operator")
        binding = _BINDING[symbol]
        sides: list[Part] = []
        for name in ("left", "right"):
            argument = node.argument(name)
            assert argument is not None
            if self._is_reference(argument.value):
                assert isinstance(argument.value, Link)
                text, inner = self._reference(argument.value.node, holder)
            else:
                text, inner = self._value(reference, argument), _ATOM
                if text and isinstance(text[0], str) and text[0].startswith("-"):
                    inner = 0
            loose = inner < binding or (name == "right" and inner == binding)
            sides += ["(", *text, ")"] if loose else text
            sides += [f" {symbol} "] if name == "left" else []
        return tuple(sides), binding

    def _end(self, end: Found) -> tuple[Text, int]:
        if (end.holder, end.key) in self._referred:
            assert end.holder is not None and end.key is not None
            return (Variable(end.holder, end.key),), _ATOM
        if isinstance(end.value, Link):
            if self._is_reference(end.value):
                assert end.holder is not None
                return self._reference(end.value.node, end.holder)
            variable = Variable(end.value.node)
            self._wishes.setdefault(variable, self._names_for(end.value.node))
            return (variable,), _ATOM
        assert end.holder is not None and end.key is not None
        return (Variable(end.holder, end.key),), _ATOM

    def _node(self, number: int) -> Text:
        node = self._graph.nodes[number]
        heights = [
            self._heights.get(a.value.node, 0)
            for a in node.arguments
            if isinstance(a.value, Link)
        ]
        self._heights[number] = 1 + max(heights, default=0)
        arguments = [
            a
            for a in node.arguments
            if (a.value is not None or (number, a.key) in self._referred)
            and not self._is_left_out(node, a)
        ]
        try:
            return self._text(number, node, arguments)
        except UnwritableError as error:
            self._refusals.add(number, None, error)
            return ("None",)

    def _text(self, number: int, node: Node, arguments: list[Argument]) -> Text:
        if node.kind == "config":
            assert node.callable is not None
            return self._call((*self._symbol(node), "("), number, node, arguments)
        if node.kind == "partial":
            opening = (_PARTIAL, "(", *self._symbol(node), ", " if arguments else "")
            return self._call(opening, number, node, arguments)
        if node.kind == "tagged_value":
            return self._value(number, arguments[0])
        if node.kind in ("list", "tuple", "set", "frozenset"):
            return self._sequence(node.kind, number, arguments)
        if node.kind == "namedtuple":
            return self._call((*self._symbol(node), "("), number, node, arguments)
        if node.kind in ("dict", "ordered_dict", "default_dict"):
            return self._mapping(node, number, arguments)
        if node.kind == "arg_factory":
            raise UnwritableError(
                "an ArgFactory, which makes its value anew at each call",
                "let a function of your own make it, and configure that",
            )
        raise UnwritableError(
            f"a node of the kind {node.kind}", "build it by a function of your own"
        )

    def _symbol(self, node: Node) -> Text:
        assert node.callable is not None
        return tuple(self._leaf(Leaf(node.callable)))

    def _call(
        self, opening: Text, number: int, node: Node, arguments: list[Argument]
    ) -> Text:
        positional = _positional(node, arguments)
        items: list[Text] = []
        unnamed: list[Text] = []
        for argument in arguments:
            value = self._value(number, argument)
            key = argument.key
            if key in positional:
                items.append(value)
            elif isinstance(key, str) and _is_name(key):
                items.append((f"{key}=", *value))
            else:
                unnamed.append((f"{str(key)!r}: ", *value))
        if unnamed:
            items.append(("**{", *_joined(unnamed), "}"))
        return (*opening, *_joined(items), ")")

    def _sequence(self, kind: str, number: int, arguments: list[Argument]) -> Text:
        opening, closing = {
            "list": ("[", "]"),
            "tuple": ("(", ")"),
            "set": ("{", "}"),
            "frozenset": ("frozenset({", "})"),
        }[kind]
        if not arguments:
            return (
                {"set": "set()", "frozenset": "frozenset()"}.get(kind)
                or opening + closing,
            )
        parts: list[Part] = [opening]
        for position, argument in enumerate(arguments):
            parts += [", "] if position else []
            parts += self._value(number, argument)
        parts += [","] if kind == "tuple" and len(arguments) == 1 else []
        return (*parts, closing)

    def _mapping(self, node: Node, number: int, arguments: list[Argument]) -> Text:
        parts: list[Part] = ["{"]
        for position, argument in enumerate(arguments):
            parts += [", "] if position else []
            parts += [*self._key(argument.key), ": ", *self._value(number, argument)]
        inside = (*parts, "}")
        if node.kind == "ordered_dict":
            return (Imported("collections", "OrderedDict"), "(", *inside, ")")
        if node.kind == "default_dict":
            name = Imported("collections", "defaultdict")
            make: Text = self._symbol(node) if node.callable else ("None",)
            return (name, "(", *make, ", ", *inside, ")")
        return inside

    def _in_order(self) -> Iterator[tuple[Variable, Text]]:
        """The variables, each after those that it uses; as late as a reader likes."""
        done: set[Variable] = set()
        todo: list[tuple[Variable, bool]] = [
            (v, False) for v in reversed(self._variables)
        ]
        while todo:
            variable, is_below_done = todo.pop()
            if variable in done:
                continue
            if is_below_done:
                done.add(variable)
                yield variable, self._variables[variable]
                continue
            todo.append((variable, True))
            todo += [
                (part, False)
                for part in self._variables[variable]
                if isinstance(part, Variable)
                and part not in done
                and part in self._variables
            ]

    def _names_for(self, number: int, key: PathKey | None = None) -> list[str]:
        """Names for a variable: its role, then with its holder's, and so on."""
        path: Path = self._places.path(number)
        called = self._graph.nodes[number].callable
        if key is not None:
            path = (*path, key)
            called = None
        words = [str(part) for part in path if isinstance(part, str)]
        names = []
        if path and isinstance(path[-1], int | paths.Key) and called is not None:
            names.append(_snake(called.short))
        for count in range(1, len(words) + 1):
            names.append("_".join(_snake(word) for word in words[-count:]))
        if called is not None:
            names.append(_snake(called.short))
        return [name for name in names if _is_name(name)] or ["value"]


_PARTIAL = Imported("functools", "partial")


def _joined(items: Sequence[Text]) -> Iterator[Part]:
    for position, item in enumerate(items):
        if position:
            yield ", "
        yield from item


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _snake(name: str) -> str:
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return "_".join(parts).lower()


def _leaf_of(node: Node, name: str) -> str:
    argument = node.argument(name)
    assert argument is not None and isinstance(argument.value, Leaf)
    return str(argument.value.value)


def _positional(node: Node, arguments: Sequence[Argument]) -> set[PathKey]:
    """The arguments that are given by position: whatever stands before such a one."""
    try:
        assert node.callable is not None
        parameters = dict(inspect.signature(node.callable.live).parameters)
    except (TypeError, ValueError):
        parameters = {}
    only = inspect.Parameter.POSITIONAL_ONLY
    last = 0
    for count, argument in enumerate(arguments, 1):
        key = argument.key
        if isinstance(key, int) or (
            isinstance(key, str) and key in parameters and parameters[key].kind is only
        ):
            last = count
    keys = [argument.key for argument in arguments[:last]]
    named = [key for key in keys if isinstance(key, str)]
    if named != list(parameters)[: len(named)]:
        raise UnwritableError(
            "a call with a positional argument and a gap before it",
            "set the arguments before it too",
        )
    return set(keys)
