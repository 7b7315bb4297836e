"""A diff as text for a person who reviews it: grouped by node, a change a line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from fdlkit.diff.model import (
    Called,
    Change,
    Copied,
    Diff,
    Inserted,
    Moved,
    Removed,
    Reordered,
    Said,
    Set,
    Tagged,
    Unset,
    Untagged,
)
from fdlkit.graph import paths
from fdlkit.graph.paths import Path, PathKey

SAME = "no differences\n"

# Values are cut at this length where no width is asked for.
_VALUE = 72

# A piece of a line: a style, and a text.
_Piece = tuple[str, str]

_STYLES = {
    "add": "32",
    "remove": "31",
    "change": "33",
    "node": "1",
    "quiet": "2",
    "tag": "35",
}

# What a line begins with, and how that looks.
_MARKS = {
    "set": ("~", "change"),
    "added": ("+", "add"),
    "unset": ("-", "remove"),
    "inserted": ("+", "add"),
    "removed": ("-", "remove"),
    "moved": (">", "change"),
    "copied": ("&", "change"),
    "shared": ("&", "change"),
    "called": ("~", "change"),
    "reordered": (">", "change"),
    "tagged": ("#", "tag"),
    "untagged": ("#", "tag"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One change in words.

    Attributes:
      sign: What the line begins with: `~`, `+`.
      style: How that looks.
      parts: The line's pieces: a style, and a text.
      notes: What is added in brackets.
    """

    sign: str
    style: str
    parts: tuple[_Piece, ...]
    notes: tuple[str, ...] = ()


def render(diff: Diff, *, color: bool = False, width: int | None = None) -> str:
    """The changes as text, those of one node together.

    Args:
      diff: The changes.
      color: Whether to use terminal colours. They change nothing else.
      width: The longest line; values are cut to fit. Without it values are cut where
        they would tell a reader no more, and lines are as long as they get.
    """
    if not diff:
        return SAME
    lines = []
    for node, called, changes in groups(diff):
        head = [("node", paths.format(node))]
        if called:
            head.append(("quiet", f" ({called})"))
        for pieces in (head, *(_pieces(change, width) for change in changes)):
            fitted = pieces if width is None else _fitted(pieces, width)
            lines.append(_line(fitted, color))
    return "\n".join(lines) + "\n"


def groups(diff: Diff) -> Iterator[tuple[Path, str, list[Change]]]:
    """Changes by the node around them, in the order in which nodes come first."""
    groups: dict[Path, list[Change]] = {}
    for change in diff:
        groups.setdefault(change.path[: change.node], []).append(change)
    for node, changes in groups.items():
        yield node, changes[0].called, changes


def _pieces(change: Change, width: int | None) -> list[_Piece]:
    told = line(change, _VALUE if width is None else max(width, 20))
    pieces = [("quiet", "  "), (told.style, f"{told.sign} "), *told.parts]
    if told.notes:
        pieces.append(("quiet", f"  ({'; '.join(told.notes)})"))
    return pieces


def line(change: Change, most: int) -> Line:
    """A change in words, no value in it longer than `most` characters."""
    sign, style = _MARKS[what(change)]
    where = _where(change.path[change.node :])
    at = f"{where}: " if where else ""
    parts: list[_Piece] = [("", at)]
    notes: list[str] = []
    match change:
        case Called():
            parts = [(style, f"{at}{change.old} → {change.new}")]
            if change.carried:
                notes.append(f"kept {', '.join(map(_key, change.carried))}")
            if change.dropped:
                gone = (f"{_key(key)}={_cut(t, 24)}" for key, t in change.dropped)
                notes.append(f"dropped {', '.join(gone)}")
        case Set() | Inserted() if change.new.shared_with is not None:
            parts.append((style, f"shared with {_at(change.new.shared_with)}"))
            before = change.old if isinstance(change, Set) else None
            if before is not None:
                notes.append(f"was {said(before, most)}")
                if before.moved_to not in (None, change.path):
                    notes[0] = f"{notes[0]}, now at {_at(before.moved_to or ())}"
        case Set(old=None) | Inserted():
            parts.append((style, said(change.new, most)))
            notes += _new_notes(change.new)
        case Set():
            assert change.old is not None
            if change.old.is_default:
                parts.append((style, said(change.new, most)))
                notes.append(f"was {said(change.old, most)} by default")
            else:
                old, new = pair(change.old, change.new, most)
                parts += [("remove", old), ("", " → "), ("add", new)]
                if change.reference:
                    notes.append(change.reference)
                if change.old.moved_to is not None and not _is_nearby(change):
                    notes.append(f"the old one is at {_at(change.old.moved_to)}")
            notes += _new_notes(change.new)
        case Unset():
            parts.append((style, said(change.old, most)))
            notes += _old_notes(change.old)
            if change.default is not None:
                notes.append(f"now {said(change.default, most)} by default")
        case Removed():
            parts.append((style, said(change.old, most)))
            notes += _old_notes(change.old)
        case Moved():
            parts += [(style, _source(change)), ("", f"  {said(change.new, most)}")]
        case Copied():
            parts.append((style, _copied(change)))
            kept = ", ".join(_at(path) for path in change.keeps)
            notes += [f"still shares what was at {kept}"] if kept else []
        case Reordered():
            order = ", ".join(repr(paths.to_dict_key(key)) for key in change.keys)
            parts.append((style, f"order now {_cut(order, most)}"))
        case Tagged() | Untagged():
            how = "tagged" if isinstance(change, Tagged) else "no longer tagged"
            parts.append((style, f"{how} {change.tag.short}"))
    return Line(sign, style, tuple(parts), tuple(notes))


def what(change: Change) -> str:
    """The kind of change as it is marked: a value may be `set`, `added`, `shared`."""
    if isinstance(change, Set):
        if change.new.shared_with is not None:
            return "shared"
        return "set" if change.old and not change.old.is_default else "added"
    if isinstance(change, Inserted) and change.new.shared_with is not None:
        return "shared"
    return change.kind


def _source(change: Moved) -> str:
    """`moved from [0]`, `renamed from 'old'`."""
    if change.from_holder == change.holder:
        verb = "moved" if change.element else "renamed"
        return f"{verb} from {_where((change.from_key,))}"
    return f"moved from {_at(change.from_path)}"


def _copied(change: Copied) -> str:
    other = "" if change.elsewhere is None else _at(change.elsewhere)
    if change.was_shared:
        return f"no longer shared with {other}" if other else "no longer shared"
    return f"a copy of what is now at {other}" if other else "a copy of its own"


def _new_notes(new: Said) -> list[str]:
    notes = []
    if new.shared_with is not None:
        notes.append(f"shared with {_at(new.shared_with)}")
    if new.moved_from is not None:
        notes.append(f"moved from {_at(new.moved_from)}")
    notes += [f"holds what was at {_at(then)}" for _, then in new.holds]
    return notes


def _old_notes(old: Said) -> list[str]:
    return [] if old.moved_to is None else [f"still at {_at(old.moved_to)}"]


def _is_nearby(change: Set) -> bool:
    """Whether the old value is inside the new one, which then says so."""
    return any(now == change.old.moved_to for now, _ in change.new.holds if change.old)


def _where(path: Path) -> str:
    return paths.relative(path).removeprefix(".")


def _key(key: PathKey) -> str:
    return key if isinstance(key, str) else paths.bracket(key)


def _at(path: Path) -> str:
    return paths.format(path)


def said(value: Said, most: int) -> str:
    """A value, and what a reference comes to."""
    text = _cut(value.text, most)
    return f"{text} = {_cut(value.result, most)}" if value.result else text


def pair(old: Said, new: Said, most: int) -> tuple[str, str]:
    """Two values, cut so that what is different in them shows."""
    texts = old.text, new.text
    start = 0
    if max(map(len, texts)) > most:
        start = _common(*texts)
        start = max(start - most // 3, 0)
    if start:
        texts = f"…{old.text[start:]}", f"…{new.text[start:]}"
    shown = []
    for value, text in ((old, texts[0]), (new, texts[1])):
        result = f" = {_cut(value.result, most)}" if value.result else ""
        shown.append(_cut(text, most) + result)
    return shown[0], shown[1]


def _common(one: str, two: str) -> int:
    """How many characters two texts begin with in common."""
    for place, (x, y) in enumerate(zip(one, two, strict=False)):
        if x != y:
            return place
    return min(len(one), len(two))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _fitted(pieces: list[_Piece], width: int) -> list[_Piece]:
    """Cuts the longest pieces of a line that is too long, until it is not."""
    pieces = list(pieces)
    for _ in pieces:
        excess = sum(len(text) for _, text in pieces) - width
        if excess <= 0:
            break
        longest = max(range(len(pieces)), key=lambda n: len(pieces[n][1]))
        style, text = pieces[longest]
        kept = max(len(text) - excess - 1, 8)
        if kept + 1 >= len(text):
            break
        pieces[longest] = style, f"{text[:kept]}…"
    return pieces


def _line(pieces: list[_Piece], color: bool) -> str:
    return "".join(
        f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color and style else text
        for style, text in pieces
    ).rstrip()
