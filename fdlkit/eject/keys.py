"""Key paths: where a loss, a metric or the model finds its input."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated, Any

from fdlkit.errors import UserError

Key = Annotated[str, "key path"]


def parse_key(key: str) -> tuple[str | int, ...]:
    """`preds.aux[0]` as `("preds", "aux", 0)`."""
    parts = re.findall(r"([A-Za-z_]\w*)|\[(-?\d+)\]|\[(['\"])(.*?)\3\]", key)
    return tuple(
        int(index) if index else name or quoted for name, index, _, quoted in parts
    )


def get_key(context: Mapping[str, Any], key: str, *, wanted_by: str = "key") -> Any:
    """The value at a key path: `batch.tokens`, `preds.aux[0]`, `preds['a b']`.

    Raises:
      UserError: It leads nowhere; `wanted_by` says who asked.
    """
    value: Any = context
    try:
        for part in parse_key(key):
            if isinstance(value, Mapping) or isinstance(part, int):
                value = value[part]
            else:
                value = getattr(value, part)
    except (AttributeError, LookupError) as error:
        raise UserError(f"{wanted_by}={key!r} leads nowhere: {error!r}") from error
    return value


def key_fields(cls: type) -> tuple[str, ...]:
    """The names of a dataclass's fields that are annotated `Key` or `Key | None`."""
    return tuple(
        field.name
        for field in dataclasses.fields(cls)
        if field.type in (Key, Key | None, "Key", "Key | None")
    )


def resolve_keys(part: Any, context: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What each `Key` field of a part leads to; one that is None is left out."""
    return {
        name: get_key(context, getattr(part, name), wanted_by=f"{where}.{name}")
        for name in key_fields(type(part))
        if getattr(part, name) is not None
    }


def keys_of(part: Any, where: str) -> dict[str, str]:
    """All key paths of a part and of those that it holds, by where they stand."""
    found: dict[str, str] = {}
    if isinstance(part, Mapping):
        for name, held in part.items():
            found |= keys_of(held, f"{where}[{name!r}]")
    elif isinstance(part, list | tuple):
        for index, held in enumerate(part):
            found |= keys_of(held, f"{where}[{index}]")
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        keys = key_fields(type(part))
        for field in dataclasses.fields(part):
            held = getattr(part, field.name)
            if field.name not in keys:
                found |= keys_of(held, f"{where}.{field.name}")
            elif held is not None:
                found[f"{where}.{field.name}"] = held
    return found
