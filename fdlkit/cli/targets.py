"""From a verb's target and overrides to a config; what it says goes to stderr."""

from __future__ import annotations

import sys

from fdlkit import printable
from fdlkit.cli.flags import Parsed
from fdlkit.cli.streams import only_the_answer
from fdlkit.completion import collecting, store
from fdlkit.targets import overridden
from fdlkit.targets.loading import LoadedTarget


def load_overridden(target: str, parsed: Parsed) -> LoadedTarget:
    """The target with the command line's overrides applied to its config.

    What the target lets a person name is kept for the completions of the next line.
    """
    with only_the_answer():
        loaded, notes = overridden.load_overridden(
            target, parsed.overrides, allow=parsed.values["allow"]
        )
    for note in notes:
        print("\n".join(printable.lines(f"note: {note}")), file=sys.stderr)
    _keep_offers(loaded, parsed.changes)
    return loaded


def _keep_offers(loaded: LoadedTarget, changes: store.Changes) -> None:
    """The next line may begin with the same overrides, or with none."""
    at = loaded.file, loaded.function, loaded.source
    store.keep(*at, collecting.collect(loaded.before))
    if changes:
        offered = collecting.collect(loaded.cfg)
        if store.recall(*at, changes) != offered:  # most overrides change no name
            store.keep(*at, offered, changes)
