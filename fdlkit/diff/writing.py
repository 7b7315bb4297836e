"""A diff as JSON text, with all that `apply` needs."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from fdlkit.diff.model import Change, Diff, Old, Said
from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node, Symbol, Value
from fdlkit.graph.paths import Key, Path, PathKey
from fdlkit.graph.table import Table
from fdlkit.serialize.leaves import symbol_text
from fdlkit.serialize.writing import dumps

SCHEMA = "fdlkit.diff/1"


def write(diff: Diff, **more: Any) -> str:
    """The changes as strict JSON; `fdlkit.diff.reading.read` reads it back.

    A path is given twice: `path` for people, `keys` as it is. A key that JSON has no
    form for is `{"value": n}`, the nth of `values`, which is a config of its own: a
    list of what stands for the nodes that are `kept`, and then of what changes put in.

    Args:
      diff: The changes.
      more: Further parts of the JSON, by name.

    Raises:
      UserError: A new value cannot be kept in JSON, see `dumps`; all are listed.
    """
    writer = _Writer(diff)
    changes = [writer.change(change) for change in diff]
    kept = [writer.form(old) for old in diff.kept]
    data = {
        "schema": SCHEMA,
        "same": not diff,
        **more,
        "changes": changes,
        "kept": kept,
        "values": json.loads(_values(diff, writer.graph())),
    }
    lines = ",\n".join(
        f"{json.dumps(name)}: {_part(part)}" for name, part in data.items()
    )
    return f"{{{lines}}}\n"


def _part(part: Any) -> str:
    """A list with a line an element, anything else on one line."""
    if not isinstance(part, list) or not part:
        return json.dumps(part, allow_nan=False)
    return "[\n" + ",\n".join(json.dumps(p, allow_nan=False) for p in part) + "\n]"


class _Writer:
    """Turns changes into JSON data; keys that need a form go among the values."""

    def __init__(self, diff: Diff):
        root = diff.values.root
        assert isinstance(root, Link)
        self._table = Table()
        self._table.nodes[:] = diff.values.nodes[: root.node]
        whole = diff.values.nodes[root.node].arguments
        self._elements: list[Value] = [a.value for a in whole if a.value is not None]

    def change(self, change: Change) -> dict[str, Any]:
        """One change."""
        data: dict[str, Any] = {"change": change.kind}
        for field in dataclasses.fields(change):
            value = getattr(change, field.name)
            if field.name == "path":
                data["path"] = paths.format(value)
                data["keys"] = self.form(value)
            elif field.name == "key":
                data["key"] = None if value is None else self._key(value)
            elif field.name == "from_key":
                data["from_key"] = self._key(value)
            elif field.name in ("carried", "keys"):
                data[field.name if field.name != "keys" else "order"] = self.form(value)
            elif field.name == "dropped":
                data["dropped"] = [[self._key(key), text] for key, text in value]
            else:
                data[field.name] = self.form(value)
        return data

    def form(self, value: Any) -> Any:
        """A part of a change: a path, words, a place, a tag, or plain data."""
        if isinstance(value, Said):
            return self._said(value)
        if isinstance(value, Old):
            return {"keys": self.form(value.path), "copy": value.copy}
        if isinstance(value, Symbol):
            return symbol_text(value)
        if isinstance(value, tuple):
            return [self._key_or_form(part) for part in value]
        return value

    def graph(self) -> Graph:
        """The values, with the keys that were put among them."""
        elements = tuple(Argument(n, v) for n, v in enumerate(self._elements))
        root = self._table.add(Node("list", elements))
        return Graph(tuple(self._table.nodes), Link(root), defaults_known=False)

    def _said(self, said: Said) -> dict[str, Any]:
        data: dict[str, Any] = {"text": said.text}
        for field in dataclasses.fields(said)[1:]:
            value = getattr(said, field.name)
            if value != field.default:
                data[field.name] = self.form(value)
        return data

    def _key_or_form(self, part: Any) -> Any:
        return self._key(part) if isinstance(part, str | int | Key) else self.form(part)

    def _key(self, key: PathKey) -> Any:
        if not isinstance(key, Key):
            return key
        if isinstance(key.value, str):
            return {"key": key.value}
        self._elements.append(self._value(key.value))
        return {"value": len(self._elements) - 1}

    def _value(self, value: Any) -> Value:
        """A key of a dict: a leaf, or a tuple of keys."""
        if type(value) is not tuple:
            return Leaf(value)
        parts = tuple(Argument(n, self._value(part)) for n, part in enumerate(value))
        return Link(self._table.add(Node("tuple", parts)))


def _values(diff: Diff, graph: Graph) -> str:
    """The values' own JSON; what cannot be kept is told by where the change is."""
    try:
        return dumps(graph)
    except UserError as error:
        at = {index: change.path for change in diff for index in _indices(change)}
        lines = [_told(line, at) for line in error.lines[1:]]
        raise UserError(
            error.lines[0].replace("this config", "these changes"), *lines
        ) from error


def _indices(change: Change) -> list[int]:
    found = (getattr(change, name, None) for name in ("value", "head"))
    return [index for index in found if index is not None]


def _told(line: str, at: dict[int, Path]) -> str:
    match = re.match(r"  \[(\d+)\]", line)
    if match is None or int(match[1]) not in at:
        return line
    rest = line[match.end() :]
    return f"  {paths.format(at[int(match[1])])}{rest}"
