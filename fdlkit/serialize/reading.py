"""JSON text as a graph: checked in every part, nothing imported or looked up."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NoReturn, TypeVar, cast, get_args

from fdlkit.errors import UserError
from fdlkit.graph import fiddle_internals, paths, references
from fdlkit.graph.model import (
    BUILDABLE_KINDS,
    Argument,
    DType,
    Graph,
    Kind,
    Leaf,
    Link,
    Member,
    Node,
    Symbol,
    Value,
)
from fdlkit.graph.table import Table
from fdlkit.serialize.writing import SCHEMA

_KINDS = frozenset(get_args(Kind)) - {"custom"}

_OPERATORS: frozenset[object] = frozenset(references.OPERATORS)

_T = TypeVar("_T")


class _FormatError(Exception):
    """Something in the text is not as `dumps` writes it."""


def read(text: str) -> Graph:
    """The graph that `dumps` wrote, names left as names.

    Raises:
      UserError: The text is no JSON, of another schema, or damaged.
    """
    try:
        data = json.loads(
            text, parse_constant=_no_constant, object_pairs_hook=_without_doubles
        )
        return _Reader(data).graph
    except RecursionError:
        raise UserError("this JSON is nested too deeply to be a config") from None
    except json.JSONDecodeError as error:
        raise UserError(
            "this is not JSON",
            f"  line {error.lineno}, column {error.colno}: {error.msg}",
        ) from None
    except _FormatError as error:
        raise UserError("this JSON is not a config", f"  {error}") from None
    except ValueError:
        what = "a number in it has more digits than Python reads"
        raise UserError("this JSON is not a config", f"  {what}") from None


def _no_constant(name: str) -> NoReturn:
    raise _FormatError(f"{name} is not strict JSON")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _FormatError("an object names one thing twice")
    return data


class _Reader:
    def __init__(self, data: Any):
        if not isinstance(data, dict) or "schema" not in data:
            raise _FormatError("it has no schema")
        if data["schema"] != SCHEMA:
            raise _FormatError(
                f"its schema is {data['schema']!r}; this version reads '{SCHEMA}'"
            )
        if set(data) != {"schema", "root", "nodes"}:
            raise _FormatError("it should have a schema, a root and nodes")
        self._table = Table()
        self._numbers: list[int] = []  # of the nodes as the text counts them
        for at, node in enumerate(_a(list, data["nodes"], "nodes")):
            self._numbers.append(self._node(node, f"node {at}"))
        root = self._value(data["root"], "the root")
        self.graph = Graph(tuple(self._table.nodes), root, defaults_known=False)

    def _node(self, data: Any, at: str) -> int:
        data = _a(dict, data, at)
        kind = data.get("kind")
        if not (isinstance(kind, str) and kind in _KINDS):
            raise _FormatError(f"{at} is of an unknown kind: {kind!r}")
        allowed = {"kind", "type", "callable", "tags"}
        is_named = kind in BUILDABLE_KINDS or kind == "namedtuple"
        if is_named:
            allowed |= {"positional", "arguments"}
        else:
            allowed |= {"items"} if "dict" in kind else {"elements"}
        if unknown := set(data) - allowed:
            raise _FormatError(f"{at} has an unknown part: {sorted(unknown)[0]!r}")
        if is_named:
            arguments = self._arguments(data, at)
        elif "dict" in kind:
            arguments = self._items(data, at)
        else:
            elements = _a(list, data.get("elements"), at)
            arguments = [
                Argument(n, self._value(value, at)) for n, value in enumerate(elements)
            ]
        if kind in ("set", "frozenset"):
            for argument in arguments:
                inner = argument.value
                if isinstance(inner, Link) and not self._is_hashable(inner.node):
                    raise _FormatError(f"{at} is a set that holds what can change")
        own = _symbol(data["type"], at) if "type" in data else None
        if (kind == "buildable") != (own is not None):
            raise _FormatError(f"{at} has a type where none belongs, or lacks one")
        return self._table.add(
            Node(
                cast(Kind, kind), tuple(arguments), self._callable(kind, data, at), own
            )
        )

    def _is_hashable(self, number: int) -> bool:
        node = self._table.nodes[number]
        return node.is_value and node.kind != "reference"

    def _callable(self, kind: str, data: dict[str, Any], at: str) -> Symbol | None:
        if kind == "reference":
            is_plain = "path" in data.get("arguments", {})
            called = references.reference if is_plain else references.arithmetic
            return Symbol(called.__module__, called.__qualname__, live=called)
        if kind == "tagged_value":
            called = fiddle_internals.TAGGED_VALUE_FN
            return Symbol(called.__module__, called.__qualname__, live=called)
        if "callable" in data:
            return _symbol(data["callable"], at)
        if kind in BUILDABLE_KINDS or kind == "namedtuple":
            raise _FormatError(f"{at} has no callable")
        return None

    def _arguments(self, data: dict[str, Any], at: str) -> list[Argument]:
        tags: dict[Any, tuple[Symbol, ...]] = {}
        for pair in _a(list, data.get("tags", []), at):
            key, names = _pair(pair, at)
            if type(key) not in (str, int):
                raise _FormatError(f"{at} has tags on {_short(key)}, no argument's key")
            tags[key] = tuple(_symbol(name, at) for name in _a(list, names, at))
        found: list[Argument] = []
        for pair in _a(list, data.get("positional", []), at):
            index, value = _pair(pair, at)
            index = _a(int, index, at)
            if index in {argument.key for argument in found}:
                raise _FormatError(f"{at} has argument {index} twice")
            found.append(
                Argument(index, self._value(value, at), tags=tags.pop(index, ()))
            )
        for name, value in _a(dict, data.get("arguments"), at).items():
            found.append(
                Argument(name, self._value(value, at), tags=tags.pop(name, ()))
            )
        found += [Argument(key, None, tags=left) for key, left in tags.items()]
        if data["kind"] == "reference":
            _check_reference(found, at)
        return found

    def _items(self, data: dict[str, Any], at: str) -> list[Argument]:
        found: list[Argument] = []
        seen: set[object] = set()
        for pair in _a(list, data.get("items"), at):
            key, value = _pair(pair, at)
            held = self._key(key, at)
            place = held if type(held) is int else paths.Key(held)
            if (type(held), held) in seen:
                raise _FormatError(f"{at} has the key {_short(key)} twice")
            seen.add((type(held), held))
            found.append(Argument(place, self._value(value, at)))
        return found

    def _key(self, data: Any, at: str) -> Any:
        if isinstance(data, dict) and set(data) == {"tuple"}:
            return tuple(self._key(part, at) for part in _a(list, data["tuple"], at))
        return _leaf(data, at)

    def _value(self, data: Any, at: str) -> Value:
        if isinstance(data, dict) and set(data) == {"node"}:
            number = _a(int, data["node"], at)
            if not 0 <= number < len(self._numbers):
                raise _FormatError(f"{at} holds node {number}, which is not before it")
            return Link(self._numbers[number])
        if isinstance(data, dict) and set(data) == {"tuple"}:
            parts = _a(list, data["tuple"], at)
            leaves = (Argument(n, Leaf(_leaf(p, at))) for n, p in enumerate(parts))
            return Link(self._table.add(Node("tuple", tuple(leaves))))
        return Leaf(_leaf(data, at))


def _a(kind: type[_T], data: Any, at: str) -> _T:
    if type(data) is not kind:
        raise _FormatError(f"{at} has {_short(data)} where a {kind.__name__} belongs")
    return data


def _pair(data: Any, at: str) -> tuple[Any, Any]:
    if type(data) is not list or len(data) != 2 or isinstance(data[0], list):
        raise _FormatError(f"{at} has {_short(data)} where a pair belongs")
    return data[0], data[1]


def _symbol(data: Any, at: str) -> Symbol:
    module, colon, qualname = _a(str, data, at).partition(":")
    parts = [*module.split("."), *qualname.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise _FormatError(f"{at} has {_short(data)}, which is no name of a callable")
    return Symbol(module, qualname)


def _leaf(data: Any, at: str) -> Any:
    if not isinstance(data, dict | list):
        return data
    match data:
        case {"symbol": name, **rest} if not rest:
            return _symbol(name, at)
        case {"enum": name, "member": str(member), **rest} if not rest:
            return Member(_symbol(name, at), member)
        case {"dtype": str(name), **rest} if not rest:
            return DType(name)
        case {"bytes": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                raise _FormatError(f"{at} has bytes that are not base64") from None
        case {"complex": [real, imag], **rest} if not rest:
            return complex(_number(real, at), _number(imag, at))
        case {"float": _, **rest} if not rest:
            return _number(data, at)
    raise _FormatError(f"{at} has {_short(data)} where a value belongs")


def _number(data: Any, at: str) -> float:
    if type(data) is float:
        return data
    if isinstance(data, dict) and data.get("float") in ("inf", "-inf", "nan"):
        return float(data["float"])
    raise _FormatError(f"{at} has {_short(data)} where a float belongs")


def _check_reference(arguments: list[Argument], at: str) -> None:
    """A reference is a path, or an operator with two sides."""
    given = {argument.key: argument.value for argument in arguments}
    written = given.get("path", given.get("operator"))
    text = written.value if isinstance(written, Leaf) else None
    if isinstance(text, str) and set(given) == {"path"}:
        try:
            references.Target.parse(text)
        except paths.PathError as error:
            raise _FormatError(f"{at}: {error.lines[0]}") from None
        return
    if set(given) != {"operator", "left", "right"} or text not in _OPERATORS:
        raise _FormatError(f"{at} is no reference")


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:59]}…"
