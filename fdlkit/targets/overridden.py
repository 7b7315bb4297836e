"""A target with overrides: the config that a person means, and what to tell them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fdlkit.overrides.apply import Override, apply
from fdlkit.targets.devices import Watch
from fdlkit.targets.lazy import import_lazy_names
from fdlkit.targets.loading import LoadedTarget, load_target


def load_overridden(
    target: str, overrides: Sequence[Override], *, allow: Sequence[str] = ()
) -> tuple[LoadedTarget, tuple[str, ...]]:
    """The target with the overrides applied to its config, all of them or none.

    Args:
      target: Any form of the table in `docs/cli.md`.
      overrides: The changes, applied from left to right.
      allow: Modules that a JSON target may name beside the known ones.

    Returns:
      The target, and what is to be said about it: notes, each of one or more lines.

    Raises:
      UserError: There is no such config, or an override cannot be applied.
    """
    with Watch() as watch:
        loaded = load_target(target, allow=allow)
        unchecked = import_lazy_names(loaded.cfg) if overrides else ()
        cfg, notes = apply(loaded.cfg, overrides, loaded.module)
    asked = watch.note()
    said = (*unchecked, *notes, *([asked] if asked is not None else []))
    return dataclasses.replace(loaded, cfg=cfg, before=loaded.cfg), said
