"""Paths into a config: `model.layers.block.mlp.width`, `losses[0].weight`, `d['k']`.

A path is a tuple of keys, outermost first. A `str` is the name of an argument, an
`int` an index into a list, a tuple or positional arguments (or an `int` key of a
dict), a `Key` any other key of a dict. The empty path is the root.
"""

from __future__ import annotations

import ast
import dataclasses
import re

from fdlkit.errors import UserError
from fdlkit.graph import reprs

ROOT = "<root>"

# A key that is a tuple of more levels is not written out.
_MAX_LEVELS = 50

# Of a long path in a message, the characters that are shown of each end.
_END = 70


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """A key of a dict that is no `int`: `d['k']`, `d[None]`.

    Attributes:
      value: The key itself.
    """

    value: object


PathKey = str | int | Key
Path = tuple[PathKey, ...]


class PathError(UserError):
    """A text that is no path.

    Attributes:
      text: The whole text.
      position: Where in the text reading stopped, counted from 0.
    """

    def __init__(self, text: str, position: int):
        super().__init__(
            f"'{text}' is not a path",
            f"  {text}",
            f"  {' ' * position}^ not understood from here",
            "a path looks like a.b, a[0], a.0 or d['k']",
        )
        self.text = text
        self.position = position


_NAME = re.compile(r"[^\W\d]\w*")
_INDEX = re.compile(r"-?\d+")
# A bracket's content: a quoted string (which may hold brackets), or anything else.
_BRACKET = re.compile(
    r"""\[\s*((?:[bB]?'(?:[^'\\]|\\.)*'|[bB]?"(?:[^"\\]|\\.)*"|[^\[\]'"])+?)\s*\]"""
)


def parse(text: str) -> Path:
    """Reads a path; `a.0` is `a[0]`; the root is `<root>` or the empty text.

    Raises:
      PathError: The text is no path.
    """
    if text in ("", ROOT):
        return ()
    keys: list[PathKey] = []
    position = 0
    while position < len(text):
        if text[position] == "[":
            match = _BRACKET.match(text, position)
            if match is None:
                raise PathError(text, position)
            keys.append(_bracketed(text, match))
            position = match.end()
            continue
        if keys:
            if text[position] != ".":
                raise PathError(text, position)
            position += 1
        if match := _NAME.match(text, position):
            keys.append(match[0])
        elif match := _INDEX.match(text, position):
            keys.append(int(match[0]))
        else:
            raise PathError(text, position)
        position = match.end()
    return tuple(keys)


def _bracketed(text: str, match: re.Match[str]) -> PathKey:
    try:
        value = ast.literal_eval(match[1])
    except (ValueError, SyntaxError):
        # An unquoted word: shells eat the quotes of d['k'].
        if _NAME.fullmatch(match[1]) is None:
            raise PathError(text, match.start(1)) from None
        return Key(match[1])
    return of_dict_key(value)


def of_dict_key(key: object) -> PathKey:
    """The path key that stands for a key of a dict."""
    return key if type(key) is int else Key(key)


def to_dict_key(key: PathKey) -> object:
    """The key of a dict that a path key stands for."""
    return key.value if isinstance(key, Key) else key


def format(path: Path) -> str:  # noqa: A001 - read as `paths.format`
    """Writes a path so that `parse` reads it back; the root is `<root>`."""
    return ROOT if not path else relative(path).removeprefix(".")


def brief(path: Path) -> str:
    """The same for a message: of a path that no one would read, both ends."""
    text = format(path)
    if len(text) <= 2 * _END + 30:
        return text
    return f"{text[:_END]}… ({len(path):,} levels) …{text[-_END:]}"


def relative(path: Path) -> str:
    """Writes a path as it continues another one: `.mlp.width`, `[0].weight`."""
    return "".join(f".{key}" if isinstance(key, str) else bracket(key) for key in path)


def bracket(key: int | Key) -> str:
    """Writes one key that stands in brackets: `[0]`, `['k']`."""
    if not isinstance(key, Key):
        return f"[{reprs.plain(key)}]"
    if _is_deep(key.value):  # no one would read it, and some Pythons cannot write it
        return "[(…)]"
    return f"[{reprs.plain(key.value)}]"


def _is_deep(value: object) -> bool:
    """Whether it is a tuple of more levels than a person would write."""
    level: list[object] = [value]
    for _ in range(_MAX_LEVELS):
        if not level:
            return False
        below = (e for part in level if isinstance(part, tuple) for e in part)
        level = list({id(e): e for e in below}.values())  # each once: of a diamond
    return any(isinstance(part, tuple) for part in level)
