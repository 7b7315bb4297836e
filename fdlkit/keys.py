"""Key paths: where a loss, a metric or the model finds its input.

A step's context is plain nested data (`batch`, `preds`, `losses`, `params`, `step`); a
key path such as `batch.tokens`, `preds.aux[0]` or `preds['a b']` names a place in it. A
field of a part that is annotated `Key` says by a key path what the part reads:

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Hinge(Loss):
        scores: Key = "preds"
        signs: Key = "batch.signs"
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fdlkit import key_guesses, suggest
from fdlkit.errors import UserError

Key = Annotated[str, "key path"]


class DeadKeyError(UserError):
    """A key path that leads nowhere, or that is none.

    Attributes:
      wanted_by: Who asks: `loss.labels`.
      key: The key path.
      meant: The key path that was likely meant; None if there is no guess.
      there: The names at the level that failed.
    """

    def __init__(
        self,
        wanted_by: str,
        key: str,
        what: str,
        *lines: str,
        meant: str | None = None,
        there: Sequence[str] = (),
    ):
        super().__init__(what, *lines)
        self.wanted_by = wanted_by
        self.key = key
        self.meant = meant
        self.there = tuple(there)


_PART = re.compile(r"\.?([A-Za-z_]\w*)|\[(-?\d{1,18})\]|\[(['\"])(.*?)\3\]")
# Who can read the roots of a step's context that are not there from the beginning.
_THERE_FOR: Mapping[str | int, str] = {
    "params": "losses and metrics",
    "preds": "losses and metrics",
    "interms": "losses and metrics",
    "losses": "metrics",
    "metrics": "other metrics",
    "grads": "train_metrics",
    "updates": "train_metrics",
}
# An annotation of a class inside a function may name what no module holds.
_KEY_AS_TEXT = re.compile(r"(\w+\.)*(Key( \| None)?|Optional\[(\w+\.)*Key\])")


def parse_key(key: str) -> tuple[str | int, ...]:
    """`preds.aux[0]` as `("preds", "aux", 0)`.

    Raises:
      UserError: The text is not a key path.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(key) or not key:
        match = _PART.match(key, position)
        if match is None or (position == 0 and key.startswith(".")):
            raise UserError(
                f"{key!r} is not a key path",
                "a key path looks like batch.tokens, preds.aux[0] or preds['a b']",
            )
        name, index, _, quoted = match.groups()
        parts.append(int(index) if index is not None else name or quoted or "")
        position = match.end()
    return tuple(parts)


def is_key(text: Any) -> bool:
    """Whether something is a key path, wherever it leads."""
    try:
        return isinstance(text, str) and bool(parse_key(text))
    except UserError:
        return False


def get_key(context: Mapping[str, Any], key: str, *, wanted_by: str = "key") -> Any:
    """The value at a key path.

    Args:
      context: Nested mappings, sequences, named tuples and dataclasses.
      key: Where to look. An index may be negative.
      wanted_by: Who asks, for the message: `loss.labels`.

    Raises:
      DeadKeyError: It leads nowhere: what was likely meant, and what is there at the
        level that failed.
    """
    parts = _parsed(context, key, wanted_by)
    value: Any = context
    for number, part in enumerate(parts):
        below = key_guesses.names_below(value)
        found, value_below = _step_into(value, below, part)
        if not found:
            raise _dead(context, key, parts[:number], part, value, wanted_by)
        value = value_below
    return value


@functools.cache
def key_fields(cls: type) -> tuple[str, ...]:
    """The names of a dataclass's fields that are annotated `Key` or `Key | None`.

    Raises:
      UserError: The class annotates a `Key` and is not made a dataclass itself.
    """
    fields = {field.name for field in dataclasses.fields(cls)}
    found: dict[str, None] = {}
    for owner in reversed(cls.__mro__):
        for name, annotation in vars(owner).get("__annotations__", {}).items():
            if not _is_key(annotation, owner):
                found.pop(name, None)
            elif name in fields:
                found[name] = None
            else:
                raise UserError(
                    f"{owner.__name__}.{name} is a Key, but no field of a dataclass",
                    f"decorate {owner.__name__} with "
                    "@dataclasses.dataclass(frozen=True, kw_only=True)",
                )
    return tuple(found)


def resolve_keys(part: Any, context: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What each `Key` field of a part leads to, by the field's name.

    A field that is None is left out.

    Args:
      part: A dataclass.
      context: The step's.
      where: The config path of the part, for messages: `metrics['accuracy']`.

    Raises:
      DeadKeyError: A key path leads nowhere.
    """
    cls: type = type(part)
    keys = {name: getattr(part, name) for name in key_fields(cls)}
    return {
        name: get_key(context, key, wanted_by=f"{where}.{name}")
        for name, key in keys.items()
        if key is not None
    }


def keys_of(part: Any, where: str) -> dict[str, str]:
    """All key paths of a part and of the parts that it holds; nothing is looked up.

    Args:
      part: A dataclass, or lists, tuples and mappings of them.
      where: Its config path.

    Returns:
      Each key path, by the config path of its field: `{"loss.logits": "preds"}`.
    """
    found: dict[str, str] = {}
    seen: set[int] = set()
    pending: list[tuple[str, Any]] = [(where, part)]
    while pending:
        path, value = pending.pop()
        below: list[tuple[str, Any]] = []
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            if id(value) in seen:
                continue
            seen.add(id(value))
            keys = key_fields(type(value))
            for field in dataclasses.fields(value):
                held = getattr(value, field.name, None)
                if field.name not in keys:
                    below.append((f"{path}.{field.name}", held))
                elif held is not None:
                    found[f"{path}.{field.name}"] = held
        elif isinstance(value, Mapping):
            below = [(f"{path}[{key!r}]", held) for key, held in value.items()]
        elif isinstance(value, list | tuple):
            below = [(f"{path}[{index}]", held) for index, held in enumerate(value)]
        pending.extend(reversed(below))
    return found


def _is_key(annotation: Any, owner: type) -> bool:
    """Whether an annotation of a class, which may be a text, is `Key` or has it."""
    if isinstance(annotation, str):
        module = sys.modules.get(owner.__module__)
        holder = types.SimpleNamespace(__annotations__={"it": annotation})
        try:
            hints = typing.get_type_hints(
                holder, globalns=vars(module) if module else {}, include_extras=True
            )
        except Exception:  # noqa: BLE001 - whatever a text raises that is no type
            return bool(_KEY_AS_TEXT.fullmatch(annotation))
        annotation = hints["it"]
    if annotation == Key:
        return True
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return is_union and Key in typing.get_args(annotation)


def _parsed(
    context: Mapping[str, Any], key: str, wanted_by: str
) -> tuple[str | int, ...]:
    if not isinstance(key, str):
        raise DeadKeyError(
            wanted_by,
            str(key),
            f"{wanted_by}={key!r} is no key path but {type(key).__name__}",
            "a key path is a text like batch.tokens, preds.aux[0] or preds['a b']",
        )
    try:
        return parse_key(key)
    except UserError as error:
        what, *rest = error.lines
        typed = key_guesses.typed_parts(key)
        meant = key_guesses.likeliest_key(context, typed) if typed else None
        hint = suggest.did_you_mean(meant)
        raise DeadKeyError(
            wanted_by,
            key,
            f"{wanted_by}: {what}",
            *([hint] if hint else []),
            *rest,
            meant=meant,
        ) from error


def _step_into(
    value: Any, below: Mapping[str | int, Any], part: str | int
) -> tuple[bool, Any]:
    """Whether a part of a key path is there, and what it leads to."""
    if part in below:
        return True, below[part]
    # From the end; and a named tuple's items have numbers too.
    if isinstance(part, int) and isinstance(value, Sequence) and below:
        return (
            (True, value[part]) if -len(value) <= part < len(value) else (False, None)
        )
    return False, None


def _dead(
    context: Mapping[str, Any],
    key: str,
    before: Sequence[str | int],
    part: str | int,
    value: Any,
    wanted_by: str,
) -> DeadKeyError:
    """The error for a key path: `before` leads to `value`, and `part` nowhere there."""
    level = key_guesses.spelled_key(before) or "the context"
    later = None if before else _THERE_FOR.get(part)
    there = tuple(map(str, key_guesses.names_below(value)))
    # Whoever names a root of the context means that, and reads it too early.
    meant = None if later else key_guesses.likeliest_key(context, parse_key(key))
    hint = suggest.did_you_mean(meant)
    listed = ", ".join(there) or f"nothing below it{_kind_of(value)}"
    return DeadKeyError(
        wanted_by,
        key,
        f"{wanted_by}={key!r} leads nowhere: no {str(part)!r} at {level}",
        *([hint] if hint else []),
        *([] if later is None else [f"{part} is there for {later} alone"]),
        f"available at {level}: {listed}",
        meant=meant,
        there=there,
    )


def _kind_of(value: Any) -> str:
    """What a value without names below it is: `, it is float32[8, 1]`."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f", it is {value.dtype}{list(value.shape)}"
    return ""
