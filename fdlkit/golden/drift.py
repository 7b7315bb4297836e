"""What is different between a kept text and the one of now, by paths and not by lines.

The elements of a list are aligned first, so that one which was put in is one change,
not one for every line behind it.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator
from typing import Literal

from fdlkit.graph import paths
from fdlkit.view import flat

_BRACKET = r"""\[(?:[^\[\]'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*\]"""
_LINE = re.compile(rf"(?P<path>(?:{_BRACKET}|[^\[\]=])*?) = (?P<text>.*)")
_KEY = re.compile(rf"{_BRACKET}|[^\[.]+|.")
_INDEX = re.compile(r"\[\d+\]")

_DECAY = "weight_decay: "
_ARRAY = re.compile(rf"(?P<type>\w+\[[^\[\]]*\])  (?P<decay>{_DECAY}.*)")

_SHARED = "shared with "
_DEFAULT = f"  {flat.DEFAULT}"

# Longer values are cut where they differ.
_LONGEST = 100


@dataclasses.dataclass(frozen=True)
class Change:
    """One thing that is different.

    Attributes:
      kind: Whether a value is another, is there now, or is there no longer.
      path: Where, in the new text; of what is gone, in the old one.
      old: What was there; empty if nothing was.
      new: What is there; empty if nothing is.
      below: How many lines below it are not told one by one.
    """

    kind: Literal["changed", "added", "removed"]
    path: str
    old: str
    new: str
    below: int = 0

    def __str__(self) -> str:
        more = f"  (and {self.below} lines below)" if self.below > 1 else ""
        more = "  (and a line below)" if self.below == 1 else more
        if self.kind == "added":
            return f"+ {self.path} = {_cut(self.new)}{more}"
        if self.kind == "removed":
            return f"- {self.path} = {_cut(self.old)}{more}"
        if self.new.startswith(_SHARED):
            return f"& {self.path}: {self.new}  (was {_cut(self.old)})"
        if self.old.startswith(_SHARED):
            return f"& {self.path}: no longer {self.old}: {_cut(self.new)}"
        if self.new == self.old + _DEFAULT:
            return f"~ {self.path}: {_cut(self.old)} is not set now, but the default"
        if self.old == self.new + _DEFAULT:
            return f"~ {self.path}: {_cut(self.new)} is set now, and was the default"
        old, new, end = self.old, self.new, ""
        if old.endswith(_DEFAULT) and new.endswith(_DEFAULT):
            old, new = old.removesuffix(_DEFAULT), new.removesuffix(_DEFAULT)
            end = "  (another default)"
        old, new = _pair(*_without_common_part(old, new))
        return f"~ {self.path}: {old} → {new}{end}{more}"


def drift(old: str, new: str) -> tuple[Change, ...]:
    """The changes from one text to another, in the order of a reader."""
    return tuple(_compared(_tree(old), _tree(new)))


@dataclasses.dataclass(eq=False)
class _Node:
    """A line with the lines below it.

    Attributes:
      path: Where it is.
      text: What it says; empty where there is no such line.
      below: The nodes below, by the last key of their paths.
      count: How many lines it has with all below.
      digest: Equal for equal nodes, wherever they are.
    """

    path: str
    text: str = ""
    below: dict[str, _Node] = dataclasses.field(default_factory=dict)
    count: int = 0
    digest: int = 0


def _tree(text: str) -> _Node:
    root = _Node(paths.ROOT)
    nodes = [root]
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if line.startswith("#") or match is None:
            continue
        if match["path"] == paths.ROOT:
            root.text = match["text"]
            continue
        node, way = root, ""
        for key in _KEY.findall(match["path"]):
            way += key
            if key == ".":
                continue
            below = node.below.get(key)
            if below is None:
                below = node.below[key] = _Node(way)
                nodes.append(below)
            node = below
        node.text = match["text"]
    for node in reversed(nodes):  # those below come first
        node.count = bool(node.text) + sum(n.count for n in node.below.values())
        parts = tuple((key, below.digest) for key, below in node.below.items())
        node.digest = hash((node.text, parts))
    return root


def _compared(old: _Node, new: _Node) -> Iterator[Change]:
    todo: list[tuple[_Node | None, _Node | None]] = [(old, new)]
    while todo:
        was, now = todo.pop()
        if now is None:
            assert was is not None
            yield Change("removed", was.path, was.text, "", was.count - 1)
        elif was is None:
            yield Change("added", now.path, "", now.text, now.count - 1)
        elif was.digest != now.digest:
            is_told_whole = not (was.below and now.below)
            if was.text != now.text:
                below = now.count - 1 if is_told_whole else 0
                yield Change("changed", now.path, was.text, now.text, below)
            if not is_told_whole or was.text == now.text:
                todo += reversed([*_pairs(was, now)])


def _pairs(was: _Node, now: _Node) -> Iterator[tuple[_Node | None, _Node | None]]:
    """Which of the nodes below one stands for which below the other."""
    if _has_elements(was) and _has_elements(now):
        yield from _aligned(_elements(was), _elements(now))
        skipped = _INDEX.fullmatch
    else:
        skipped = re.compile("(?!)").fullmatch
    for key in dict.fromkeys((*was.below, *now.below)):
        if not skipped(key):
            yield was.below.get(key), now.below.get(key)


def _has_elements(node: _Node) -> bool:
    """Whether numbers below it are indices, not keys of a dict."""
    is_dict = node.text.lower().startswith(("dict", "ordereddict", "defaultdict"))
    return not is_dict and any(map(_INDEX.fullmatch, node.below))


def _elements(node: _Node) -> list[_Node]:
    return [below for key, below in node.below.items() if _INDEX.fullmatch(key)]


def _aligned(
    old: list[_Node], new: list[_Node]
) -> Iterator[tuple[_Node | None, _Node | None]]:
    start = 0
    while start < min(len(old), len(new)) and old[start].digest == new[start].digest:
        start += 1
    old, new = old[start:], new[start:]
    while old and new and old[-1].digest == new[-1].digest:
        old, new = old[:-1], new[:-1]
    matcher = difflib.SequenceMatcher(
        None, [n.digest for n in old], [n.digest for n in new], autojunk=False
    )
    for how, i, i_end, j, j_end in matcher.get_opcodes():
        if how == "equal":
            continue
        for n in range(max(i_end - i, j_end - j)):
            was = old[i + n] if i + n < i_end else None
            now = new[j + n] if j + n < j_end else None
            yield was, now


def _without_common_part(old: str, new: str) -> tuple[str, str]:
    """Of an array of which only the type and shape, or only the decay is different."""
    was, now = _ARRAY.fullmatch(old), _ARRAY.fullmatch(new)
    if was is None or now is None:
        return old, new
    if was["type"] == now["type"]:
        return was["decay"], now["decay"].removeprefix(_DECAY)
    if was["decay"] == now["decay"]:
        return was["type"], now["type"]
    return old, new


def _pair(old: str, new: str) -> tuple[str, str]:
    """Two values, cut so that what is different in them shows."""
    start = 0
    if max(len(old), len(new)) > _LONGEST:
        same = (x == y for x, y in zip(old, new, strict=False))
        common = next((n for n, is_same in enumerate(same) if not is_same), 0)
        start = max(common - _LONGEST // 3, 0)
    if start:
        old, new = f"…{old[start:]}", f"…{new[start:]}"
    return _cut(old), _cut(new)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
