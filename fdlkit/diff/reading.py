"""JSON text as a diff: checked in every part, nothing imported or looked up."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from fdlkit.diff.model import KINDS, Change, Diff, Old, Said
from fdlkit.diff.writing import SCHEMA
from fdlkit.errors import UserError
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Symbol, Value
from fdlkit.graph.paths import Key, Path, PathKey
from fdlkit.serialize import reading

_KINDS = {kind.kind: kind for kind in KINDS}


class _FormatError(Exception):
    """Something in the text is not as `write` writes it."""


def read(text: str) -> Diff:
    """The diff that `fdlkit.diff.writing.write` wrote, names left as names.

    Raises:
      UserError: The text is no JSON, of another schema, or damaged.
    """
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise _FormatError(f"its schema is not '{SCHEMA}'")
        return _Reader(data).diff()
    except json.JSONDecodeError as error:
        raise UserError(
            "this is not JSON",
            f"  line {error.lineno}, column {error.colno}: {error.msg}",
        ) from None
    except RecursionError:
        raise UserError("this JSON is nested too deeply to be a diff") from None
    except (_FormatError, KeyError, TypeError, IndexError, ValueError) as error:
        # The last ones: a part is missing, or of another type than it must be.
        raise UserError("this JSON is not a diff", f"  {error}") from None


class _Reader:
    def __init__(self, data: dict[str, Any]):
        self._data = data
        self._graph = reading.read(json.dumps(data["values"]))
        root = self._graph.node(self._graph.root)
        if root is None or root.kind != "list":
            raise _FormatError("its values are no list")
        self._elements = [a.value for a in root.arguments if a.value is not None]

    def diff(self) -> Diff:
        kept = tuple(self._old(old) for old in _a(list, self._data["kept"]))
        for element in self._elements[: len(kept)]:
            node = self._graph.node(element)
            if node is None or node.kind != "list" or node.arguments:
                raise _FormatError("what stands for a kept node is no empty list")
        changes = tuple(self._change(c) for c in _a(list, self._data["changes"]))
        used = [getattr(c, n, -1) for c in changes for n in ("value", "head")]
        return Diff(changes, self._values(max([len(kept) - 1, *used]) + 1), kept)

    def _values(self, count: int) -> Graph:
        """The first elements as a graph; the rest were keys."""
        elements = tuple(Argument(n, v) for n, v in enumerate(self._elements[:count]))
        nodes = (*self._graph.nodes, Node("list", elements))
        return Graph(nodes, Link(len(nodes) - 1), defaults_known=False)

    def _change(self, data: Any) -> Change:
        data = _a(dict, data)
        kind = _KINDS.get(data.get("change"))
        if kind is None:
            raise _FormatError(f"there is no change '{data.get('change')}'")
        given: dict[str, Any] = {}
        for field in dataclasses.fields(kind):
            name = field.name
            if name == "path":
                given[name] = self._path(data["keys"])
            elif name == "keys":
                given[name] = self._path(data["order"])
            else:
                given[name] = self._part(name, data[name])
        return kind(**given)

    def _part(self, name: str, data: Any) -> Any:
        match name:
            case "holder" if data is None:
                return None
            case "holder" | "from_holder":
                return self._old(data)
            case "key" if data is None:
                return None
            case "key" | "from_key":
                return self._key(data)
            case "old" | "new" if isinstance(data, str):  # of a callable
                return data
            case "old" | "new" | "default":
                return None if data is None else self._said(data)
            case "of" | "from_path" | "carried":
                return self._path(data)
            case "elsewhere":
                return None if data is None else self._path(data)
            case "keeps":
                return tuple(self._path(path) for path in _a(list, data))
            case "dropped":
                return tuple((self._key(k), _a(str, t)) for k, t in _a(list, data))
            case "tag":
                module, _, qualname = _a(str, data).partition(":")
                return Symbol(module, qualname)
            case "value" | "head":
                if not 0 <= _a(int, data) < len(self._elements):
                    raise _FormatError(f"there is no value {data}")
                return data
            case "node" | "copy":
                return _a(int, data)
            case "element" | "was_shared":
                return _a(bool, data)
        return _a(str, data)

    def _said(self, data: Any) -> Said:
        given = dict(_a(dict, data))
        for name in ("moved_from", "moved_to", "shared_with"):
            if name in given:
                given[name] = self._path(given[name])
        pairs = given.get("holds", [])
        given["holds"] = tuple((self._path(n), self._path(t)) for n, t in pairs)
        return Said(**given)

    def _old(self, data: Any) -> Old:
        data = _a(dict, data)
        return Old(self._path(data["keys"]), _a(int, data["copy"]))

    def _path(self, data: Any) -> Path:
        return tuple(self._key(key) for key in _a(list, data))

    def _key(self, data: Any) -> PathKey:
        match data:
            case str() | int() if type(data) is not bool:
                return data
            case {"key": str(text)}:
                return Key(text)
            case {"value": int(index)}:
                return Key(_held(self._graph, self._elements[index]))
        raise _FormatError(f"{data!r} is no key")


def _held(graph: Graph, value: Value) -> Any:
    """What a key holds: a leaf, or a tuple of such."""
    if isinstance(value, Leaf):
        return value.value
    assert isinstance(value, Link)
    parts = graph.nodes[value.node].arguments
    return tuple(_held(graph, part.value) for part in parts if part.value is not None)


def _a(kind: type, data: Any) -> Any:
    if type(data) is not kind:
        raise _FormatError(f"{data!r} stands where a {kind.__name__} belongs")
    return data
