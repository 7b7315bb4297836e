"""The findings of the restore level."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="RE001",
        name="no checkpoint to go on from",
        severity="error",
        why="A run that goes on from a checkpoint needs one that says what it holds.",
    ),
    Code(
        code="RE002",
        name="parameter of another shape in the checkpoint",
        severity="error",
        why=(
            "A checkpoint opens only in the model that wrote it. The difference is "
            "told by the names of the dims: more layers, another vocabulary, another "
            "width. It is read from metadata, so it is known before a byte of an "
            "array is fetched; Orbax itself tells it after the cluster has started, "
            "for one array."
        ),
    ),
    Code(
        code="RE003",
        name="parameter that the checkpoint does not have",
        severity="error",
        why="Nothing would be restored into it, and Orbax refuses the whole tree.",
    ),
    Code(
        code="RE004",
        name="parameter of the checkpoint that the model does not have",
        severity="error",
        why="It would be thrown away, and Orbax refuses the whole tree.",
    ),
    Code(
        code="RE005",
        name="layers that are stacked on one side and apart on the other",
        severity="error",
        why=(
            "One side keeps its layers in one array with a leading dim of layers, the "
            "other in an array each. The numbers are the same, and can be stacked, "
            "but the trees are not."
        ),
    ),
    Code(
        code="RE006",
        name="optimizer state of another optimizer",
        severity="error",
        why=(
            "The parameters fit and the optimizer's state does not: the checkpoint "
            "was written by another optimizer, or by one with other parts."
        ),
    ),
    Code(
        code="RE007",
        name="array that is restored in another type",
        severity="warning",
        why="It is converted when it is read; to a narrower type it loses digits.",
    ),
    Code(
        code="RE008",
        name="checkpoint that keeps more or less than the run",
        severity="warning",
        why=(
            "An average of the parameters, a dynamic loss scale and the count of "
            "skipped steps are in a checkpoint only if the run that wrote it kept "
            "them. A run goes on all the same: what is missing begins there, and what "
            "it has no use for is dropped from the checkpoints to come. For an "
            "average that means evaluations which jump. Sums of other losses since the "
            "last log point are dropped too: the next means are over fewer steps."
        ),
    ),
)
