"""Profile-guided latency estimation, asked for where nothing can come of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

ASKED = "JAX_ENABLE_PGLE"
PROFILE = "xla_gpu_pgle_profile_file_or_directory_path"
_YES = ("1", "true", "yes", "on", "y", "t")


def find(subject: Subject) -> Iterator[Finding]:
    """What is asked for by JAX's variable, and by XLA's flag."""
    given = subject.request.environment
    environment = os.environ if given is None else given
    if environment.get(ASKED, "").strip().lower() in _YES:
        on_cpu = environment.get("JAX_PLATFORMS", "").split(",")[0] == "cpu"
        why = (
            "there are no collectives to hide on a CPU"
            if on_cpu
            else "the trainer compiles its steps ahead of time, and JAX collects no "
            "profile of such"
        )
        yield subject.outside(
            "EN003",
            ASKED,
            f"{ASKED}={environment[ASKED]}: {why}",
            fix=f"unset {ASKED}; a profile taken before is given to XLA by --{PROFILE}",
        )
    for flag in environment.get("XLA_FLAGS", "").split():
        name, _, path = flag.lstrip("-").partition("=")
        if name == PROFILE and path and not os.path.exists(path):
            yield subject.outside(
                "EN003",
                "XLA_FLAGS",
                f"--{PROFILE}={path}: there is no such file, so costs are guessed as "
                "without it",
                fix="name the profile that is there, or take the flag out of XLA_FLAGS",
            )
