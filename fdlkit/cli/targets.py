"""From a verb's target and overrides to a config; what it says goes to stderr."""

from __future__ import annotations

import dataclasses
import sys

from fdlkit import printable
from fdlkit.cli.flags import Parsed
from fdlkit.cli.streams import only_the_answer
from fdlkit.overrides.apply import apply
from fdlkit.targets.loading import LoadedTarget, load_target


def load_overridden(target: str, parsed: Parsed) -> LoadedTarget:
    """The target with the command line's overrides applied to its config."""
    with only_the_answer():
        loaded = load_target(target, allow=parsed.values["allow"])
        cfg, notes = apply(loaded.cfg, parsed.overrides, loaded.module)
    for note in notes:
        print(printable.clean(f"note: {note}"), file=sys.stderr)
    return dataclasses.replace(loaded, cfg=cfg)
