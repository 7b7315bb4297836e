"""Members of enums by name, combinations of flags among them."""

from __future__ import annotations

import enum

from fdlkit import suggest


class MemberError(ValueError):
    """An enum has no such member."""


def name(member: enum.Enum) -> str | None:
    """`RMS`; `A|B` for a combination of flags, `A|8` or `0` where bits have no name.

    None if nothing can be said by which `find` finds it. It is the same on every
    Python, whose own `name` of a combination is not.
    """
    kind = type(member)
    if member.name is not None and member.name in kind.__members__:
        return member.name
    value = member.value
    if not isinstance(member, enum.Flag) or not isinstance(value, int) or value < 0:
        return None
    parts = []
    for single in kind:
        if single.value and single.value & value == single.value:
            parts.append(str(single.name))
            value &= ~single.value
    if value or not parts:
        parts.append(str(value))
    return "|".join(parts)


def find(kind: type[enum.Enum], written: str) -> enum.Enum:
    """The member that `name` wrote so.

    Raises:
      MemberError: The enum has no such member any more.
    """
    if written in kind.__members__:
        return kind[written]
    parts = written.split("|")
    is_flag = issubclass(kind, enum.Flag)
    total = 0
    for part in parts:
        if is_flag and part.isascii() and part.isdecimal():
            total |= int(part)
        elif is_flag and part in kind.__members__:
            total |= kind[part].value
        else:
            hint = suggest.hint(part, kind.__members__)
            raise MemberError(f"no member '{part}'" + (f", {hint}" if hint else ""))
    try:
        return kind(total)
    except ValueError:  # of bits that it no longer has
        raise MemberError(f"no member '{written}'") from None
