"""The user's cache folder: what is kept there may be lost, and is made again."""

from __future__ import annotations

import os
from pathlib import Path


def location(*parts: str) -> Path | None:
    """Where fdlkit keeps something: below `XDG_CACHE_HOME`, else below `~/.cache`.

    Returns:
      The folder, which need not be there; None where the user has no home either, or
      one that is no absolute path.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # The standard has relative paths ignored: they would move with the shell.
    if os.path.isabs(chosen):
        return Path(chosen).joinpath("fdlkit", *parts)
    if not os.path.isabs(os.environ.get("HOME", os.sep)):
        return None
    try:
        return Path.home().joinpath(".cache", "fdlkit", *parts)
    except RuntimeError:
        return None


def writable(*parts: str) -> Path | None:
    """The same folder, made if need be; None where it cannot be written."""
    folder = location(*parts)
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
