"""The colours of drawings, light and dark.

Nothing is told by a colour alone: groups are written out, references are dashed, what
is shared has a heavy frame and a number. Tints are light and dark by turns, so that in
greyscale a group can still be told from the next one.
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


# Titles have a contrast of 7 to 1 or more on every fill, small text of 4.5 to 1.
LIGHT = (
    Tint("#dfecfc", "#5b83b8"),
    Tint("#f5d0a0", "#9a6a2f"),
    Tint("#d9f3df", "#4b8f5d"),
    Tint("#cdbdf0", "#7159a6"),
    Tint("#fde6ec", "#b06079"),
    Tint("#a9d8dc", "#357c84"),
    Tint("#f8f2c8", "#8f7f2c"),
)
DARK = (
    Tint("#1a2f4a", "#6f9fd8"),
    Tint("#66451c", "#d09a5a"),
    Tint("#16361f", "#67b07b"),
    Tint("#4f3c7d", "#a991dc"),
    Tint("#44202c", "#d17f99"),
    Tint("#205157", "#66bac2"),
    Tint("#38320e", "#b8a542"),
)
NO_GROUP = Tint("#eceff2", "#7d8590")
NO_GROUP_DARK = Tint("#262c34", "#7d8590")

# What was done to something: of text and lines, and behind a row.
ADDED = Tint("#e3f6e6", "#1a6b33")
REMOVED = Tint("#fde8e6", "#a32018")
CHANGED = Tint("#fff1c9", "#7d4e00")
MOVED = Tint("#e2eefc", "#0b5cad")

TEXT = "#1f2328"
QUIET = "#59636e"
SMALL = "#3f4852"  # in the header of a box
EDGE = "#59636e"
REFERENCE = "#6f42c1"
OVERRIDE = "#9a3412"
TAG = "#7d4e00"


def change(mark: str) -> Tint:
    """The colours of what was done to a row, a box or an edge."""
    return {"added": ADDED, "removed": REMOVED, "changed": CHANGED}.get(mark, MOVED)


def tint(group: int | None) -> Tint:
    """The colours of a group; from the eighth group on they come again."""
    return NO_GROUP if group is None else LIGHT[group % len(LIGHT)]
