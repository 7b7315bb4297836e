"""What verbs that show something agree on: colour, width, and where it goes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TextIO

from fdlkit.cli.flags import VerbFlags


def define_color(flags: VerbFlags) -> None:
    """Defines `--color`."""
    flags.choice(
        "color",
        "auto",
        "whether to colour; auto: on a terminal",
        choices=("auto", "always", "never"),
    )


def use_color(asked: str, stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to colour: as asked, else as the environment says, else on a terminal.

    An empty `NO_COLOR` or `FORCE_COLOR` says nothing.
    """
    if asked != "auto":
        return asked == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def line_width(stream: TextIO, environment: Mapping[str, str]) -> int | None:
    """How wide a line may be: COLUMNS, else the terminal's width, else unlimited."""
    if not stream.isatty() and not environment.get("COLUMNS"):
        return None
    return shutil.get_terminal_size().columns
