"""JSON text as a graph: checked in every part, nothing imported or looked up."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, cast, get_args

from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.model import (
    BUILDABLE_KINDS,
    Argument,
    Graph,
    Kind,
    Leaf,
    Link,
    Node,
    Symbol,
    Value,
)
from fdlkit.graph.paths import PathKey
from fdlkit.serialize import fiddle_json, growing, leaves, whereabouts
from fdlkit.serialize.faults import FormatError, a, pair, short
from fdlkit.serialize.writing import SCHEMA

_KINDS = frozenset(get_args(Kind)) - {"custom"}


@dataclasses.dataclass(frozen=True)
class _Constant:
    """What Python writes for a float that strict JSON has no form for.

    Attributes:
      name: `NaN`, `Infinity`, `-Infinity`.
    """

    name: str

    def __repr__(self) -> str:
        return self.name


def read(text: str) -> Graph:
    """The graph that `dumps` wrote, names left as names.

    What Fiddle wrote (`fiddle.experimental.serialization.dump_json`) is read too.

    Raises:
      UserError: The text is no JSON, of another schema, or damaged.
    """
    try:
        data = json.loads(
            text, parse_constant=_Constant, object_pairs_hook=_without_doubles
        )
        if fiddle_json.is_such(data):
            return fiddle_json.graph(data, _plain)
        return _Reader(data).graph()
    except RecursionError:
        raise UserError("this JSON is nested too deeply to be a config") from None
    except json.JSONDecodeError as error:
        raise UserError(
            "this is not JSON",
            f"  line {error.lineno}, column {error.colno}: {error.msg}",
        ) from None
    except FormatError as error:
        raise UserError("this JSON is not a config", f"  {error.line()}") from None
    except ValueError:
        what = "a number in it has more digits than Python reads"
        raise UserError("this JSON is not a config", f"  {what}") from None


def _plain(data: Any) -> Any:
    """A constant as Fiddle's JSON has it, `Infinity`; anything else as it is."""
    return float(data.name) if isinstance(data, _Constant) else data


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, value in pairs:
        if name in data:
            raise FormatError(f"an object names {short(name)} twice")
        data[name] = value
    return data


class _Reader:
    """Makes a graph of the data, a node at a time."""

    def __init__(self, data: Any):
        if not isinstance(data, dict) or "schema" not in data:
            raise FormatError("it has no schema")
        if data["schema"] != SCHEMA:
            raise FormatError(
                f"its schema is {short(data['schema'])}; this version reads '{SCHEMA}'"
            )
        if set(data) != {"schema", "root", "nodes"}:
            raise FormatError("it should have a schema, a root and nodes")
        self._data = data
        self._growing = growing.Growing()
        self._links: list[Link] = []  # of the nodes as the text counts them

    def graph(self) -> Graph:
        """The whole graph."""
        for at, node in enumerate(a(list, self._data["nodes"], "nodes")):
            try:
                self._links.append(self._node(node, f"node {at}"))
            except FormatError as error:
                found, key = whereabouts.path(self._data, at), self._growing.key
                if found is not None and key is not None:
                    found = (*found, key)
                error.path = found
                raise
        root = self._value(None, self._data["root"], "the root")
        return self._growing.graph(root)

    def _node(self, data: Any, at: str) -> Link:
        self._growing.key = None
        data = a(dict, data, at)
        kind = data.get("kind")
        if not (isinstance(kind, str) and kind in _KINDS):
            raise FormatError(f"{at} is of an unknown kind: {short(kind)}")
        allowed = {"kind", "type", "callable", "tags"}
        is_named = kind in BUILDABLE_KINDS or kind == "namedtuple"
        if is_named:
            allowed |= {"positional", "arguments"}
        else:
            allowed |= {"items"} if "dict" in kind else {"elements"}
        if unknown := set(data) - allowed:
            raise FormatError(f"{at} has an unknown part: {short(sorted(unknown)[0])}")
        if is_named:
            arguments = self._arguments(data, at)
        elif "dict" in kind:
            arguments = self._items(data, at)
        else:
            elements = a(list, data.get("elements"), at)
            arguments = [
                Argument(n, self._value(n, value, at))
                for n, value in enumerate(elements)
            ]
        if kind in ("set", "frozenset"):
            self._growing.check_elements(arguments, at)
        self._growing.key = None
        own = leaves.symbol(data["type"], at) if "type" in data else None
        if (kind == "buildable") != (own is not None):
            raise FormatError(f"{at} has a type where none belongs, or lacks one")
        called = self._callable(kind, data, at)
        return self._growing.add(Node(cast(Kind, kind), tuple(arguments), called, own))

    def _callable(self, kind: str, data: dict[str, Any], at: str) -> Symbol | None:
        own = growing.own_callable(kind, data.get("arguments", {}))
        if own is not None:
            return own
        if "callable" in data:
            return leaves.symbol(data["callable"], at)
        if kind in BUILDABLE_KINDS or kind == "namedtuple":
            raise FormatError(f"{at} has no callable")
        return None

    def _arguments(self, data: dict[str, Any], at: str) -> list[Argument]:
        tags: dict[Any, tuple[Symbol, ...]] = {}
        for entry in a(list, data.get("tags", []), at):
            key, names = pair(entry, at)
            if type(key) not in (str, int):
                raise FormatError(f"{at} has tags on {short(key)}, no argument's key")
            if key in tags:
                raise FormatError(f"{at} has tags on {short(key)} twice")
            tags[key] = tuple(leaves.symbol(name, at) for name in a(list, names, at))
        given: dict[Any, Value] = {}
        for entry in a(list, data.get("positional", []), at):
            index, value = pair(entry, at)
            self._growing.key = index = a(int, index, at)
            if index < 0:
                raise FormatError(f"{at} has an argument at the position {index}")
            if index in given:
                raise FormatError(f"{at} has argument {index} twice")
            given[index] = self._value(index, value, at)
        for name, value in a(dict, data.get("arguments"), at).items():
            given[name] = self._value(name, value, at)
        found = [
            Argument(key, value, tags=tags.pop(key, ())) for key, value in given.items()
        ]
        found += [Argument(key, None, tags=left) for key, left in tags.items()]
        self._growing.key = None
        if data["kind"] == "reference":
            growing.check_reference(found, at)
        return found

    def _items(self, data: dict[str, Any], at: str) -> list[Argument]:
        found: list[Argument] = []
        seen: set[object] = set()
        for entry in a(list, data.get("items"), at):
            key, value = pair(entry, at)
            held = self._dict_key(key, at)
            # To Python `1`, `1.0` and `True` are one key.
            is_number = isinstance(held, int | float | complex)
            mark = ("number" if is_number else type(held), held)
            if mark in seen:
                raise FormatError(f"{at} has the key {short(key)} twice")
            seen.add(mark)
            place = held if type(held) is int else paths.Key(held)
            found.append(Argument(place, self._value(place, value, at)))
        return found

    def _dict_key(self, data: Any, at: str) -> Any:
        if isinstance(data, dict) and set(data) == {"tuple"}:
            parts = a(list, data["tuple"], at)
            return tuple(self._key_part(part, at) for part in parts)
        return leaves.read(data, at)

    def _key_part(self, data: Any, at: str) -> Any:
        """A part of a key that is a tuple: nothing that would have to be looked up."""
        part = self._dict_key(data, at)
        if part is None or type(part) in (bool, int, float, str, bytes, tuple):
            return part
        raise FormatError(f"{at} has {short(data)} in a key")

    def _value(self, key: PathKey | None, data: Any, at: str) -> Value:
        self._growing.key = key
        if isinstance(data, dict) and set(data) == {"node"}:
            number = a(int, data["node"], at)
            if not 0 <= number < len(self._links):
                raise FormatError(
                    f"{at} holds node {short(number)}, which is not before it"
                )
            return self._links[number]
        if isinstance(data, dict) and set(data) == {"tuple"}:
            parts = a(list, data["tuple"], at)
            inside = (
                Argument(n, Leaf(leaves.read(part, at))) for n, part in enumerate(parts)
            )
            return self._growing.add(Node("tuple", tuple(inside)))
        return Leaf(leaves.read(data, at))
