"""`PATH=VALUE` and its like: one edit of a config."""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Callable
from typing import Any

import fiddle as fdl

from fdlkit.errors import UserError
from fdlkit.graph import model, paths, references, reprs, resolve, snapshot
from fdlkit.overrides import hints, pieces, places, swaps, syntax, values
from fdlkit.overrides.problems import BadTextError, listing, quote
from fdlkit.overrides.symbols import Scope

_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.add,
    "*=": operator.mul,
}


def apply(cfg: fdl.Buildable, text: str, scope: Scope) -> list[str]:
    """Makes the edit in place; returns what is to be said about it.

    Raises:
      BadTextError: It cannot be made. The config may be half changed then, and is to
        be thrown away.
    """
    edit = pieces.parse(text)
    found = places.find(cfg, edit.steps)
    notes: list[str] = []
    for place in found:
        notes += _edit(cfg, place, edit, scope)
    notes = places.few(notes)
    if any(step.key is None for step in edit.steps):
        did = "unset" if edit.operator == "~" else "set"
        notes.append(f"{text} {did} {places.touched(found)}")
    return notes


def write(place: places.Place, text: str, start: int, scope: Scope) -> list[str]:
    """Sets a place to what `text` means there; `start` is the text's own column."""
    value = _read(place, text, start, scope)
    before = place.get()
    if isinstance(value, values.Symbol):
        span = (start, start + len(text))
        return _swap(place, before, value.callable, span)
    place.set(value)
    return _cut(place, before)


def _edit(
    cfg: fdl.Buildable, place: places.Place, edit: pieces.Assignment, scope: Scope
) -> list[str]:
    if edit.operator == "~":
        before = place.get()
        try:
            place.unset()
        except ValueError as error:
            keys = listing(map(repr, place.holder))
            more = (f"keys: {keys}",) if isinstance(place.holder, dict) else ()
            raise BadTextError(str(error), edit.path_span, more=more) from error
        return _cut(place, before)
    if edit.operator == "=":
        return write(place, edit.value, edit.value_start, scope)
    return _compute(cfg, place, edit, scope)


def _read(place: places.Place, text: str, start: int, scope: Scope) -> Any:
    name = place.key if isinstance(place.key, str) else ""
    current = place.get_or_default()
    if current is places.MISSING or isinstance(current, references.Reference):
        current = None
    try:
        return values.read(text, values.Wanted(place.annotation, scope, name, current))
    except BadTextError as problem:
        told = problem.shifted(start)
        raise told.at(place.label) from problem.__cause__


def _compute(
    cfg: fdl.Buildable, place: places.Place, edit: pieces.Assignment, scope: Scope
) -> list[str]:
    span = edit.value_start, edit.value_start + len(edit.value)
    held = before = place.get_or_default()
    if before is places.MISSING:
        what = f"{place.label} is not set, so '{edit.operator}' has nothing to change"
        raise BadTextError(what, edit.path_span, hint="set it with '='")
    if isinstance(held, references.Reference):
        before = _value_now(cfg, place, held, edit)
    if not _can_compute(edit.operator, before):
        shown = reprs.text(before)[:40]
        what = f"{place.label}: {quote(edit.operator)} does not work on {shown}"
        raise BadTextError(what, edit.path_span, hint="set it with '='")
    value = _read(place, edit.value, edit.value_start, scope)
    if type(before) in (list, dict, set) and place.get() is before:
        place.extend(value)  # wherever else it is shared too, as its elements would be
        return []
    result: Any
    try:
        if isinstance(before, dict):
            result = {**before, **value}
        elif isinstance(before, set | frozenset):
            result = before | value
        elif isinstance(before, list | tuple):
            result = type(before)(itertools.chain(before, value))
        else:
            result = _COMPUTE[edit.operator](before, value)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise BadTextError(f"{place.label}: {error}", span) from error
    if syntax.is_too_large(result):
        raise BadTextError(f"{place.label}: the result is too large", span)
    if not hints.fits(result, place.annotation):
        wanted = hints.describe(place.annotation)
        what = f"{place.label}: the result, {reprs.text(result)[:40]}, is not {wanted}"
        raise BadTextError(what, span)
    place.set(result)
    return _cut(place, held)


def _can_compute(operator: str, value: Any) -> bool:
    """Whether `+=` or `*=` means something for what stands there now."""
    if isinstance(value, bool | enum.Enum):  # which are numbers and strings to Python
        return False
    if isinstance(value, int | float | complex):
        return True
    return operator == "+=" and isinstance(
        value, str | list | tuple | dict | set | frozenset
    )


def _value_now(
    cfg: fdl.Buildable,
    place: places.Place,
    held: references.Reference,
    edit: pieces.Assignment,
) -> Any:
    """What a follower stands for at this moment."""
    taken = snapshot.take(cfg)
    holders = [n for n, value in enumerate(taken.originals) if value is place.holder]
    value: Any = None
    if holders:
        argument = taken.graph.nodes[holders[0]].argument(place.path[-1])
        assert argument is not None and isinstance(argument.value, model.Link)
        try:
            value = resolve.Resolver(taken.graph).value(argument.value.node, holders[0])
        except UserError as error:
            first, *rest = error.lines
            raise BadTextError(first, edit.path_span, more=tuple(rest)) from error
    if not isinstance(value, int | float | complex | str | list | tuple):
        what = f"{place.label} follows {references.show(held)}"
        hint = f"{edit.operator} needs a number: set it with '='"
        raise BadTextError(what, edit.path_span, hint=hint)
    return value


def _cut(place: places.Place, before: Any) -> list[str]:
    """Says so if the place was a follower and is none now."""
    if not isinstance(before, references.Reference):
        return []
    where = paths.brief(place.path)
    return [f"{where} no longer follows {references.show(before)}"]


def _swap(
    place: places.Place, before: Any, function: Any, span: tuple[int, int]
) -> list[str]:
    """Makes the node call something else, or makes a node where there is none.

    The node stays the same one, so wherever else it is shared it changes too.
    """
    if not isinstance(before, fdl.Buildable) or isinstance(
        before, references.Reference
    ):
        try:
            place.set(fdl.Config(function))
        except (TypeError, ValueError) as error:
            raise BadTextError(f"cannot make a Config: {error}", span) from error
        return _cut(place, before)
    where = paths.brief(place.path)
    try:
        dropped = swaps.swap(before, function)
    except (TypeError, ValueError) as error:
        raise BadTextError(f"cannot configure {function!r:.60}", span) from error
    if not dropped:
        return []
    gone = [paths.relative((key,)).removeprefix(".") for key in dropped]
    return [f"{where} is now {_name(function)}, which has no {', '.join(gone)}"]


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
