"""Key paths: where a loss, a metric or the model finds its input.

A step's context is plain nested data (`batch`, `preds`, `losses`, `params`,
`step`); a key path such as `batch.tokens` or `preds.aux[0]` names a place in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fdlkit.errors import UserError
from fdlkit.suggest import nearest


class DeadKeyError(UserError):
    """A key path that leads nowhere, or that is none.

    Attributes:
      wanted_by: Who asks: `loss.labels`.
      key: The key path.
      meant: The key path that was likely meant; None if there is no guess.
    """

    def __init__(
        self, wanted_by: str, key: str, meant: str | None, what: str, *lines: str
    ):
        super().__init__(what, *lines)
        self.wanted_by = wanted_by
        self.key = key
        self.meant = meant


_PART = re.compile(r"\.?([A-Za-z_]\w*)|\[(-?\d+)\]|\['([^']*)'\]")


def parse_key(key: str) -> tuple[str | int, ...]:
    """`preds.aux[0]` as `("preds", "aux", 0)`.

    Raises:
      UserError: The text is not a key path.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(key) or not key:
        match = _PART.match(key, position)
        if match is None:
            raise UserError(
                f"{key!r} is not a key path",
                "a key path looks like batch.tokens, preds.aux[0] or preds['a b']",
            )
        name, index, quoted = match.groups()
        parts.append(int(index) if index is not None else name or quoted or "")
        position = match.end()
    return tuple(parts)


def get_key(context: Mapping[str, Any], key: str, *, wanted_by: str) -> Any:
    """The value at a key path.

    Args:
      context: Nested mappings, sequences and objects with attributes.
      key: Where to look.
      wanted_by: Who asks, for the message: `loss.labels`.

    Raises:
      DeadKeyError: It leads nowhere: what was likely meant, and what is there at the
        level that failed.
    """
    value: Any = context
    gone = ""
    try:
        parts = parse_key(key)
    except UserError as error:
        first, *rest = error.lines
        raise DeadKeyError(
            wanted_by, key, None, f"{wanted_by}: {first}", *rest
        ) from error
    for number, part in enumerate(parts):
        found, there = _step_into(value, part)
        if not found:
            where = gone or "the context"
            guess = nearest(str(part), there)
            lines = [f"available at {where}: {', '.join(there) or 'nothing below it'}"]
            meant = None
            if guess:
                meant = f"{gone}.{guess[0]}" if gone else guess[0]
                lines.insert(0, f"did you mean '{meant}'?")
                meant += "".join(map(_spelled, parts[number + 1 :]))
            raise DeadKeyError(
                wanted_by,
                key,
                meant,
                f"{wanted_by}={key!r} leads nowhere: no {str(part)!r} at {where}",
                *lines,
            )
        value = there
        gone = f"{gone}{_spelled(part)}".lstrip(".")
    return value


def _spelled(part: str | int) -> str:
    """A step of a key path as it continues another: `.aux`, `[0]`."""
    return f"[{part}]" if isinstance(part, int) else f".{part}"


def _step_into(value: Any, part: str | int) -> tuple[bool, Any]:
    """(True, the value below) or (False, the names that are there)."""
    if isinstance(value, Mapping):
        return (True, value[part]) if part in value else (False, list(map(str, value)))
    if isinstance(part, int):
        if isinstance(value, Sequence) and -len(value) <= part < len(value):
            return True, value[part]
        return False, [str(i) for i in range(len(value))] if isinstance(
            value, Sequence
        ) else []
    names = getattr(value, "__dataclass_fields__", getattr(value, "_fields", ()))
    if part in names:
        return True, getattr(value, part)
    return False, list(names)
