"""From a verb's target and overrides to a config; what it says goes to stderr."""

from __future__ import annotations

import dataclasses
import sys

from fdlkit.cli.flags import Parsed
from fdlkit.completion import collecting, store
from fdlkit.overrides.apply import apply
from fdlkit.targets.loading import LoadedTarget, load_target


def load_overridden(target: str, parsed: Parsed) -> LoadedTarget:
    """The target with the command line's overrides applied to its config.

    What the target lets a person name is kept for the completions of the next line.
    """
    loaded = load_target(target, allow=parsed.values["allow"])
    cfg, notes = apply(loaded.cfg, parsed.overrides, loaded.module)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    offered = collecting.collect(loaded.cfg)
    store.keep(loaded.file, loaded.function, loaded.source, offered)
    return dataclasses.replace(loaded, cfg=cfg)
