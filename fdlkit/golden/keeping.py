"""Comparing what a config comes to with what is kept, and keeping it anew."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fdlkit import printable, tracebacks, whole_file
from fdlkit.errors import UserError
from fdlkit.golden.drift import drift
from fdlkit.golden.places import Place
from fdlkit.golden.texts import FORMAT, Texts

# Of more changes the first are told.
_MOST = 40

_STALE = "is of an experiment, and this is none now"

State = Literal["same", "missing", "stale", "different"]


@dataclasses.dataclass(frozen=True)
class Kept:
    """One golden file, and what it should hold.

    Attributes:
      path: The file.
      old: What it holds; None if there is none.
      new: What it should hold; None if there should be none.
    """

    path: Path
    old: str | None
    new: str | None

    @property
    def state(self) -> State:
        """`stale`: it is there and should not be."""
        if self.old == self.new:
            return "same"
        if self.old is None:
            return "missing"
        return "stale" if self.new is None else "different"

    def lines(self, *, is_written: bool = False) -> list[str]:
        """What is different, a line a change; nothing if it is as it should be.

        Args:
          is_written: Whether that has been accepted since.
        """
        shown = tracebacks.shown_path(self.path)
        if self.state == "same":
            return []
        if self.state == "missing":
            return [f"{shown} is new" if is_written else f"there is no {shown}"]
        if self.state == "stale":
            what = "was of an experiment, and is gone" if is_written else _STALE
            return [f"{shown} {what}"]
        return [shown, *(f"  {line}" for line in self._changes())]

    def _changes(self) -> list[str]:
        assert self.old is not None and self.new is not None
        if not self.old.startswith(f"# {FORMAT}:"):
            return ["is in the form of another version of fdlkit, or in none"]
        found = drift(self.old, self.new)
        lines = [str(change) for change in found[:_MOST]]
        if len(found) > _MOST:
            lines.append(f"… {len(found) - _MOST:,} more")
        return lines or ["differs in blanks, order or headings alone"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of comparing one config.

    Attributes:
      name: The target, or what else the config is called.
      files: Its golden files, those that are as they should be too.
    """

    name: str
    files: tuple[Kept, ...]

    @property
    def is_same(self) -> bool:
        """Whether all is as it is kept."""
        return all(file.state == "same" for file in self.files)

    def lines(self, *, is_written: bool = False) -> list[str]:
        """The lines of all its files."""
        told = (file.lines(is_written=is_written) for file in self.files)
        return [printable.clean(line) for lines in told for line in lines]


def compare(name: str, texts: Texts, place: Place) -> Outcome:
    """What is kept at a place, beside what should be.

    Raises:
      UserError: A file that is there cannot be read.
    """
    pairs = ((place.config, texts.config), (place.parameters, texts.parameters))
    kept = (Kept(path, _read(path), new) for path, new in pairs)
    return Outcome(name, tuple(kept))


def update(outcomes: Iterable[Outcome]) -> None:
    """Writes what should be there; each file whole or not at all.

    Raises:
      UserError: A file cannot be written. It is what it was.
    """
    for outcome in outcomes:
        for file in outcome.files:
            if file.state == "same":
                continue
            try:
                if file.new is None:
                    file.path.unlink()
                else:
                    file.path.parent.mkdir(parents=True, exist_ok=True)
                    whole_file.replace(file.path, _encoded(file.new))
            except OSError as error:
                shown = tracebacks.shown_path(file.path)
                what = f"cannot write {shown}: {error.strerror}"
                raise UserError(what) from error


def _read(path: Path) -> str | None:
    if not os.path.lexists(path):
        return None
    try:
        # A checkout may have turned line ends into those of its system.
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        shown = tracebacks.shown_path(path)
        raise UserError(f"cannot read {shown}: {reason}") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
