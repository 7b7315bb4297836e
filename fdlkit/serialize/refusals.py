"""What of a config cannot be kept in JSON: every place, and what to write there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fdlkit.errors import UserError
from fdlkit.graph import built, module_names, names, paths, reprs, values
from fdlkit.graph.model import (
    UNKNOWN,
    Argument,
    Array,
    DType,
    Graph,
    Leaf,
    Made,
    Member,
    Node,
    Opaque,
    Symbol,
)
from fdlkit.graph.places import Places
from fdlkit.serialize.remedies import remedy

# Keys stand in the text where they are used, and JSON is read by recursion.
_MAX_KEY_LEVELS = 50

_LONGEST = 60  # of a value in a message

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, DType, Array})


def refuse(graph: Graph, places: Places) -> None:
    """Looks for everything that JSON has no form for.

    Raises:
      UserError: There is something. Every place is listed, each with what to write.
    """
    objects = {one.path: one.lines() for one in built.find_built(graph, places)}
    found: dict[paths.Path, tuple[str, ...]] = {}
    for number in places.order:
        # Paths are spelled for problems only: there may be many, and long ones.
        for key, loss in _losses(graph.nodes[number]):
            path = places.path(number)
            if path in objects:  # a part of it
                found[path] = objects[path]
                continue
            path = path if key is None else (*path, key)
            found[path] = objects.get(path) or _told(paths.format(path), loss)
    if isinstance(graph.root, Leaf) and (why := _why_not(graph.root.value)):
        found[()] = objects.get(()) or _told(paths.ROOT, why)
    if found:
        count = f"{len(found)} values" if len(found) > 1 else "a value"
        raise UserError(
            f"{count} of this config cannot be kept in JSON",
            *(line for lines in found.values() for line in lines),
        )


# An int of 4,300 digits has this many bits at least.
_MAX_BITS = 14_280

# What cannot be kept, in words, and what to write in its place.
_Loss = tuple[str, str]


def _told(path: str, loss: _Loss) -> tuple[str, str]:
    what, instead = loss
    return f"  {path}: {what}", f"    {instead}"


def _losses(node: Node) -> Iterator[tuple[paths.PathKey | None, _Loss]]:
    """What of a node (key None) and of what it holds directly cannot be kept."""
    if node.kind == "custom":
        of = node.type.name if node.type else "an unknown type"
        instead = "write a list, a tuple, a dict or a NamedTuple"
        yield None, (f"a container of type {of}", instead)
    elif node.kind not in ("reference", "tagged_value"):
        for symbol in (node.type, node.callable):
            if why := _why_not(symbol):
                yield None, why
    for argument in node.arguments:
        for held in _named_by(argument):
            if loss := _why_not(held):
                yield argument.key, loss


def _named_by(argument: Argument) -> Iterator[Any]:
    """What an argument, its key and its tags hold that may have no lasting name."""
    value = argument.value
    if type(value) is Leaf:
        held = value.value
        if type(held) not in _PLAIN or (type(held) is int and _is_long(held)):
            yield held  # few are such
    if isinstance(argument.key, paths.Key):
        yield _held_key(argument.key)
    elif type(argument.key) is int and _is_long(argument.key):
        yield argument.key
    yield from argument.tags


def _held_key(key: paths.Key) -> Any:
    if not isinstance(key.value, tuple):
        return key.value
    todo: list[tuple[Any, int]] = [(part, 1) for part in key.value]
    while todo:
        part, level = todo.pop()
        if level > _MAX_KEY_LEVELS:
            return Opaque("tuple", "a key nested too deeply for JSON", live=key.value)
        if type(part) is tuple:
            todo += [(inner, level + 1) for inner in part]
        elif type(part) is int and _is_long(part):
            return part
        elif part is not None and type(part) not in (bool, int, float, str, bytes):
            return Opaque(type(part).__qualname__, repr(part), live=part)
    return None


def _why_not(held: Any) -> _Loss | None:
    if isinstance(held, Member):
        held = held.enum
    if isinstance(held, Symbol):
        return _why_not_symbol(held)
    if isinstance(held, Opaque):
        way, culprit = _culprit(held.live)
        what = _described(held)
        if way:
            what += f", which holds {_short(reprs.text(culprit))} at {way}"
        return what, remedy(culprit)
    if type(held) is int and _is_long(held):
        return reprs.plain(
            held
        ), "keep it as text, and make the int of it in a function"
    if isinstance(held, Made):
        if any(type(part) is int and _is_long(part) for part in _parts(held)):
            of = f"a {held.type.short} of an int of more digits than Python writes out"
            return of, "make it in a function, and configure that: fdl.Config(make_it)"
        # What names it holds, and whether they last.
        for part in values.symbols(held):
            if loss := _why_not(part):
                return loss
    return None


def _is_long(number: int) -> bool:
    """Whether it has more digits than Python, or another reader of JSON, takes."""
    return number.bit_length() > _MAX_BITS


def _parts(made: Made) -> Iterator[Any]:
    todo: list[Any] = [made]
    while todo:
        held = todo.pop()
        yield held
        if isinstance(held, Made):
            todo += [value for _, value in held.arguments]


def _why_not_symbol(symbol: Symbol) -> _Loss | None:
    if symbol.module == "__main__":
        what = f"{symbol.qualname}, which only the running program has (__main__)"
        return what, module_names.why_main_has_no_name()
    if symbol.importable:
        return None
    live = None if symbol.live is UNKNOWN else symbol.live
    what = _unnamed(symbol.qualname) or f"{symbol.name}, which no import leads to"
    return what, remedy(live)


def _culprit(value: Any) -> tuple[str, Any]:
    """Where in a value is what has no form, and what it is."""
    try:
        values.take(value, names.Names().simple)
    except values.LostError as lost:
        return lost.way, lost.value
    return "", value


def _described(held: Opaque) -> str:
    qualname = getattr(held.live, "__qualname__", "")
    return _unnamed(str(qualname)) or f"{_short(held.text)} (a {held.type})"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _unnamed(qualname: str) -> str | None:
    if qualname.endswith("<lambda>"):
        return "a lambda"
    if "<locals>" in qualname:
        outer, _, inner = qualname.rpartition(".<locals>.")
        return f"{inner}, which is defined inside {outer.rpartition('.')[2]}"
    return None
