"""Offers that verbs leave for TAB, in the user's cache folder.

TAB must not run the user's file. So a verb that has loaded a config writes down what
can be named in it, and TAB reads that: but only while the file's text is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from fdlkit import user_cache
from fdlkit.completion import offers
from fdlkit.completion.offers import Offers

# One entry a target, and one more for each set of overrides that it was loaded with;
# what was not loaded for longest goes first.
_MOST_ENTRIES = 200
_MOST_CHANGES = 20  # as many files may have to be looked for
_MOST_BYTES = 1_000_000

_FOLDER = "completion"


# Overrides as they stand on a line: the kind and the text of each.
Changes = Sequence[tuple[str, str]]


def keep(
    file: str | os.PathLike[str],
    function: str,
    text: str,
    offered: Offers,
    changes: Changes = (),
) -> None:
    """Writes down what a target offers; where nothing can be written, nothing is.

    Args:
      file: The file that the config was loaded from.
      function: The function's name; empty for a JSON file.
      text: The file's text, for which alone the offers hold.
      offered: What can be named.
      changes: The overrides behind which it can be.
    """
    folder = user_cache.writable(_FOLDER)
    if folder is None:
        return
    data = json.dumps(
        {"text": _digest(text), "offers": offers.to_data(offered)},
        separators=(",", ":"),
    )
    entry = folder / _name(file, function, changes)
    try:
        if entry.is_file() and entry.read_text(encoding="utf-8") == data:
            os.utime(entry)
        elif len(data) <= _MOST_BYTES:
            _write(entry, data)
            _prune(folder)
    except OSError:
        return


def recall(
    file: str | os.PathLike[str], function: str, text: str, changes: Changes = ()
) -> Offers | None:
    """What was written down for a target whose file still has this text.

    Behind overrides with which no verb has loaded it, that of fewer, or of none.
    """
    for count in range(min(len(changes), _MOST_CHANGES), -1, -1):
        found = _recall(_name(file, function, changes[:count]), text)
        if found is not None:
            return found
    return None


def _recall(name: str, text: str) -> Offers | None:
    folder = user_cache.location(_FOLDER)
    if folder is None:
        return None
    try:
        entry = (folder / name).read_text(encoding="utf-8")
        data = json.loads(entry)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("text") != _digest(text):
        return None
    return offers.from_data(data.get("offers"))


def _name(file: str | os.PathLike[str], function: str, changes: Changes) -> str:
    parts = [os.path.realpath(file), function]
    parts += [part for change in changes for part in change]
    return _digest("\0".join(parts))[:32]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _write(path: Path, text: str) -> None:
    """In one move, so that a TAB in another terminal reads the old or the new."""
    import tempfile  # only here: TAB only reads, and would pay for it

    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError:
        os.unlink(beside)
        raise


def _prune(folder: Path) -> None:
    entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for entry in entries[:-_MOST_ENTRIES]:
        entry.unlink(missing_ok=True)
