"""The colours of drawings, light and dark.

Nothing is told by a colour alone: groups are written out, references are dashed, what
is shared has a heavy frame and a number. Tints of groups differ in lightness as well as
in hue, so that neighbours can be told apart in greyscale.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Tint:
    """The colours of one group's headers.

    Attributes:
      fill: The background of the header.
      line: The frame of the box.
    """

    fill: str
    line: str


# Text on every fill has a contrast of 7 to 1 or more.
LIGHT = (
    Tint("#dbe9fb", "#5b83b8"),
    Tint("#f7dfc3", "#a8763a"),
    Tint("#d3efd9", "#4b8f5d"),
    Tint("#e9defa", "#8066b0"),
    Tint("#fbe3ea", "#b06079"),
    Tint("#d2ecee", "#3f8a92"),
    Tint("#f3ecc0", "#8f7f2c"),
)
DARK = (
    Tint("#1d3350", "#6f9fd8"),
    Tint("#4a3114", "#c9924f"),
    Tint("#1b3d25", "#67b07b"),
    Tint("#3a2a5c", "#a58bd6"),
    Tint("#4d2230", "#d17f99"),
    Tint("#15393d", "#5cb0b8"),
    Tint("#3d370f", "#b8a542"),
)
NO_GROUP = Tint("#eceff2", "#7d8590")
NO_GROUP_DARK = Tint("#262c34", "#7d8590")

TEXT = "#1f2328"
QUIET = "#59636e"
EDGE = "#59636e"
REFERENCE = "#6f42c1"
OVERRIDE = "#9a3412"
TAG = "#7d4e00"


def tint(group: int | None) -> Tint:
    """The colours of a group; from the eighth group on they come again."""
    return NO_GROUP if group is None else LIGHT[group % len(LIGHT)]
