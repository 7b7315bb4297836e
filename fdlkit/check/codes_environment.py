"""Kinds of findings of the machine and its settings: level `environment`."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="EN001",
        name="a flag that XLA or libtpu does not know",
        severity="error",
        why="XLA reads its flags when the first program is compiled, and ends the "
        "whole process at one that it does not know: no exception, no "
        "traceback, only a line in a log of C++. On a cluster that looks like a "
        "crash of the machine.",
    ),
    Code(
        code="EN002",
        name="a flag in the wrong variable",
        severity="error",
        why="Flags of the TPU's own compiler belong into LIBTPU_INIT_ARGS, flags of "
        "XLA into XLA_FLAGS. In the other variable they end the process or do "
        "nothing.",
    ),
    Code(
        code="EN003",
        name="profile-guided latency estimation where it cannot work",
        severity="warning",
        why="XLA can schedule a GPU's program by a profile of it. JAX makes such "
        "profiles of GPUs alone, and by itself only of functions that it compiles as "
        "they are called. Elsewhere the flag is accepted and nothing comes of it.",
    ),
    Code(
        code="EN004",
        name="a folder that cannot be written",
        severity="error",
        why="The workdir is written to when the first checkpoint is due, after "
        "minutes of compiling and training that are then lost.",
    ),
    Code(
        code="EN005",
        name="a compilation cache that cannot be written",
        severity="warning",
        why="JAX warns once and compiles everything anew at each start, which is "
        "most of what a restart waits for.",
    ),
    Code(
        code="EN006",
        name="a disk that is too small for one checkpoint",
        severity="error",
        why="A run that cannot save its state loses all of its work when it stops. "
        "What a checkpoint takes is known from the shapes of the state alone.",
    ),
    Code(
        code="EN007",
        name="flags that nothing here can try",
        severity="info",
        why="Whether libtpu knows its flags is known to libtpu alone, which is not "
        "installed on this machine. Where the run will be, the same check tries them.",
    ),
    Code(
        code="EN008",
        name="a profile of the training step that the run refuses",
        severity="error",
        why="The trainer's pgle has a GPU's program scheduled by a profile of it. On "
        "other devices there is no such profile, and a run that would go on without "
        "would not be what its config says.",
    ),
)
