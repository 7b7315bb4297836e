"""The objects of Fiddle's JSON one by one: what each is and holds, and its metadata."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, Literal

from fdlkit.graph import paths
from fdlkit.graph.model import Kind, Leaf, LeafValue, Member, Symbol, Value
from fdlkit.graph.paths import PathKey
from fdlkit.serialize import fiddle_names, leaves
from fdlkit.serialize.faults import FormatError, a, pair, short

# Fiddle's own types, by their last name; they have moved among its modules.
_BUILDABLES: dict[str, Kind] = {
    "Config": "config",
    "Partial": "partial",
    "ArgFactory": "arg_factory",
    "TaggedValueCls": "tagged_value",
}

_SEQUENCES: dict[str, Kind] = {
    "builtins:list": "list",
    "builtins:tuple": "tuple",
    "builtins:set": "set",
    "builtins:frozenset": "frozenset",
}

# Of what stands beside the arguments of an object: names, tags, keys. Keys are hashed,
# at a cost that counts a part as often as it is referred to.
_MAX_LEVELS = 40
_MAX_PARTS = 1_000_000

_ATTRIBUTE = re.compile(r"Attr\(name='(\w+)'\)")


@dataclasses.dataclass(frozen=True)
class Parsed:
    """An object of the text with what is below it still to be read.

    Attributes:
      what: The kind of its node, or of a leaf: `bytes`, `slice`.
      keys: The keys of what it holds.
      below: What it holds, as data.
      called: The callable, class or factory of the node.
      own: The class of the node itself.
      tags: By the key of an argument.
    """

    what: Kind | Literal["bytes", "slice"]
    keys: tuple[Any, ...]
    below: tuple[Any, ...]
    called: Symbol | None = None
    own: Symbol | None = None
    tags: tuple[tuple[Any, tuple[Symbol, ...]], ...] = ()


class Objects:
    """Reads objects, without what is below them."""

    def __init__(self, objects: dict[str, Any], plain: Callable[[Any], Any]):
        self._objects = objects
        self._plain = plain
        self._left = 0  # parts of metadata that may still be read
        # What metadata that is referred to has been read as, and in how many parts.
        self._read: dict[str, tuple[Any, int]] = {}

    def named(self, name: str) -> Any:
        """The data of an object.

        Raises:
          FormatError: There is none.
        """
        if name not in self._objects:
            raise FormatError(f"there is no object {short(name)}")
        return self._objects[name]

    def parse(self, data: Any) -> Parsed:
        """An object's head.

        Raises:
          FormatError: It is damaged, or has no form here.
        """
        self._left = _MAX_PARTS
        data = a(dict, data, "an object")
        kind = data.get("type")
        if not isinstance(kind, dict):
            raise FormatError(f"there is {short(kind)} where an object's type belongs")
        of = self._symbol(kind)
        items = a(list, data.get("items"), "an object")
        names = [a(str, pair(item, "an object")[0], "an object") for item in items]
        below = tuple(item[1] for item in items)
        name = f"{of.module}:{of.qualname}"
        if name in _SEQUENCES:
            return Parsed(_SEQUENCES[name], tuple(range(len(below))), below)
        if name in ("builtins:bytes", "builtins:slice"):
            what: Literal["bytes", "slice"] = (
                "bytes" if of.qualname == "bytes" else "slice"
            )
            return Parsed(what, tuple(range(len(below))), below)
        beside = self._beside(data.get("metadata"))
        if name == "builtins:dict":
            return Parsed("dict", _dict_keys(beside, len(below)), below)
        if name == "collections:defaultdict":
            factory, keys = beside if _is_pair(beside) else (None, None)
            if not isinstance(factory, Symbol | None):
                raise FormatError("it has a default factory without a name")
            return Parsed("default_dict", _dict_keys(keys, len(below)), below, factory)
        if isinstance(beside, _Metadata):
            return self._buildable(of, beside, below)
        if beside == of:
            matches = [_ATTRIBUTE.fullmatch(name) for name in names]
            fields = tuple(match[1] for match in matches if match is not None)
            if len(fields) == len(below) == len(set(fields)):
                return Parsed("namedtuple", fields, below, of)
        raise FormatError(f"it holds a {of.name}, which has no form here")

    def _buildable(
        self, of: Symbol, beside: _Metadata, below: tuple[Any, ...]
    ) -> Parsed:
        if len(beside.names) != len(below) or len(set(beside.names)) != len(below):
            raise FormatError("it has other arguments than names of them")
        kind: Kind = "buildable"
        if of.module == "fiddle" or of.module.startswith(("fiddle._src.", "fiddle.")):
            kind = _BUILDABLES.get(of.qualname, "buildable")
        if of.name == "fdlkit.graph.references.Reference":
            kind = "reference"
        own = of if kind == "buildable" else None
        return Parsed(kind, beside.names, below, beside.called, own, beside.tags)

    def _beside(self, data: Any, level: int = 0) -> Any:
        """What Fiddle keeps beside what an object holds: keys, names, tags, a class."""
        self._spend(1)
        if level > _MAX_LEVELS:
            raise FormatError("it has metadata of too many levels")
        if not isinstance(data, dict):
            return self.leaf(data)
        if data.get("type") == "ref":
            return self._referred(a(str, data.get("key"), "a reference"), level + 1)
        if not isinstance(data.get("type"), dict):
            return self.leaf(data)
        of = self._symbol(data["type"])
        items = [
            pair(item, "its metadata")[1]
            for item in a(list, data.get("items"), "its metadata")
        ]
        parts = tuple(self._beside(item, level + 1) for item in items)
        if of.name == "builtins.tuple":
            return parts
        if of.name == "builtins.frozenset":
            return _Set(parts)
        if of.name == "builtins.bytes":
            return of_bytes([Leaf(part) for part in parts])
        if of.name == "builtins.dict":
            keys = self._beside(data.get("metadata"), level + 1)
            if type(keys) is tuple and len(keys) == len(parts):
                return _Pairs(tuple(zip(keys, parts, strict=True)))
        if of.qualname == "BuildableTraverserMetadata" and len(parts) >= 3:
            return _metadata(*parts[:3])
        raise FormatError(f"it has a {of.name} in its metadata")

    def _referred(self, key: str, level: int) -> Any:
        """The same for an object, which is read once."""
        if key in self._read:
            found, size = self._read[key]
            self._spend(size)
            return found
        before = self._left
        found = self._beside(self.named(key), level)
        self._read[key] = found, before - self._left
        return found

    def _spend(self, parts: int) -> None:
        self._left -= parts
        if self._left < 0:
            raise FormatError("it has metadata of too many parts")

    def leaf(self, data: Any) -> LeafValue:
        """A value that is no object.

        Raises:
          FormatError: It is none that Fiddle writes.
        """
        if isinstance(data, dict) and data.get("type") == "leaf":
            data = data.get("value")
        if isinstance(data, dict) and data.get("type") == "pyref":
            return _member(self._symbol(data))
        return leaves.read(self._plain(data), "it")

    def _symbol(self, data: dict[str, Any]) -> Symbol:
        if data.get("type") != "pyref":
            raise FormatError(f"there is {short(data)} where a name belongs")
        module = a(str, data.get("module"), "a name")
        qualname = a(str, data.get("name"), "a name")
        found = leaves.symbol(f"{module}:{qualname}", "it")
        return fiddle_names.public(found.module, found.qualname)


@dataclasses.dataclass(frozen=True)
class _Set:
    """A set among the metadata.

    Attributes:
      elements: Its elements.
    """

    elements: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class _Pairs:
    """A dict among the metadata.

    Attributes:
      entries: Its keys and values.
    """

    entries: tuple[tuple[Any, Any], ...]


@dataclasses.dataclass(frozen=True)
class _Metadata:
    """What Fiddle keeps beside the arguments of a Buildable.

    Attributes:
      called: The callable.
      names: The names or positions of the arguments.
      tags: The tags, by the name of an argument.
    """

    called: Symbol
    names: tuple[Any, ...]
    tags: tuple[tuple[Any, tuple[Symbol, ...]], ...]


def _metadata(called: Any, names: Any, tags: Any) -> _Metadata:
    is_whole = (
        isinstance(called, Symbol)
        and type(names) is tuple
        and all(type(name) in (str, int) for name in names)
        and isinstance(tags, _Pairs)
    )
    if not is_whole:
        raise FormatError("it has no callable, or no names of its arguments")
    found = []
    for key, held in tags.entries:
        if type(key) not in (str, int) or not isinstance(held, _Set):
            raise FormatError("it has tags that are none")
        if not all(isinstance(tag, Symbol) for tag in held.elements):
            raise FormatError("it has tags that are none")
        found.append((key, tuple(sorted(held.elements, key=lambda tag: tag.name))))
    return _Metadata(called, names, tuple(found))


def _is_pair(data: Any) -> bool:
    return type(data) is tuple and len(data) == 2


def _dict_keys(keys: Any, count: int) -> tuple[PathKey, ...]:
    if type(keys) is not tuple or len(keys) != count:
        raise FormatError("it has other values than keys")
    marks = {
        ("number" if isinstance(key, int | float) else type(key), key) for key in keys
    }
    if len(marks) != count:
        raise FormatError("it has a key twice")
    return tuple(paths.of_dict_key(key) for key in keys)


def of_bytes(values: list[Value] | list[Leaf]) -> bytes:
    """Fiddle writes bytes as text, in an encoding that has two ways for some."""
    held = values[0].value if len(values) == 1 and isinstance(values[0], Leaf) else None
    if not isinstance(held, str):
        raise FormatError("it has bytes that are no text")
    if any(ord(letter) > 0xFF for letter in held):
        raise FormatError(
            "it has bytes of which Fiddle has not kept whether they were "
            r"'\u1f40' or '\u1F40'"
        )
    return held.encode("latin-1")


def _member(symbol: Symbol) -> Symbol | Member:
    """Members of enums stand as names do; by custom they are in capitals."""
    owner, _, last = symbol.qualname.rpartition(".")
    if owner and last.isupper():
        return Member(fiddle_names.public(symbol.module, owner), last)
    return symbol
