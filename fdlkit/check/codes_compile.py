"""The findings of the compile level."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="CO001",
        name="step that the compiler finds too large",
        severity="error",
        why=(
            "The compiler of the chip lays out all that a step has in memory at a "
            "time, and refuses a step of which a chip cannot hold that. This is no "
            "estimate: on the slice the run would end in the same words, after the "
            "slice was waited for."
        ),
    ),
    Code(
        code="CO002",
        name="mesh that does not lie on the slice",
        severity="error",
        why=(
            "The chips of a slice are linked to their neighbours along two or three "
            "sides. The axes of a mesh are made of these sides, or of parts of them; "
            "where they cannot be, there is no such mesh on this slice."
        ),
    ),
    Code(
        code="CO003",
        name="step that the compiler refuses",
        severity="error",
        why=(
            "The compiler of the chip does not take the step for another reason than "
            "its size; it would not on the slice either."
        ),
    ),
    Code(
        code="CO004",
        name="mesh axis that shares a side of the torus",
        severity="info",
        why=(
            "Where a mesh axis is made of a part of a side of the slice, its devices "
            "have no ring of links to themselves: what they exchange takes longer. It "
            "may be meant; a size that is a product of whole sides is faster."
        ),
    ),
)
