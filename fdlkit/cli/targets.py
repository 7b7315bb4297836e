"""From a verb's target and overrides to a config; what it says goes to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

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
    with only_the_answer(), _staying_here():
        loaded, notes = overridden.load_overridden(
            target, parsed.overrides, allow=parsed.values["allow"]
        )
    for note in notes:
        print("\n".join(printable.lines(f"note: {note}")), file=sys.stderr)
    offered = collecting.collect(loaded.before)
    store.keep(loaded.file, loaded.function, loaded.source, offered)
    return loaded


@contextlib.contextmanager
def _staying_here() -> Iterator[None]:
    """A user's file may change the folder, and `--out=FILE` is meant from this one."""
    here = os.getcwd()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it may have taken the folder away
            os.chdir(here)
