"""A trainer whose dead key paths are taken for what was likely meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fdlkit.keys import DeadKeyError, key_fields

if TYPE_CHECKING:
    from fdlkit.train.trainer import Trainer


def with_keys(trainer: Trainer, dead: Mapping[str, DeadKeyError]) -> Trainer | None:
    """The trainer with the key paths that were likely meant; None if none is guessed.

    Args:
      trainer: The experiment.
      dead: Key paths of losses and metrics that lead nowhere, by their config paths.
    """
    meant = {error.key: error.meant for error in dead.values() if error.meant}
    changes: dict[str, Any] = {}
    for field in ("loss", "metrics", "train_metrics"):
        held = getattr(trainer, field)
        if any(path.startswith(field) for path in dead):
            mended = _mended(held, meant)
            if mended is not held:
                changes[field] = mended
    return dataclasses.replace(trainer, **changes) if changes else None


def _mended(part: Any, meant: Mapping[str, str]) -> Any:
    """A part with other key paths; itself where nothing changes."""
    if isinstance(part, Mapping):
        values = {name: _mended(held, meant) for name, held in part.items()}
        changed = any(values[name] is not held for name, held in part.items())
        return values if changed else part
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    changes = {}
    keys = key_fields(type(part))
    for field in dataclasses.fields(part):
        held = getattr(part, field.name, None)
        is_key = field.name in keys
        other = meant.get(str(held), held) if is_key else _mended(held, meant)
        if other is not held:
            changes[field.name] = other
    return dataclasses.replace(part, **changes) if changes else part
