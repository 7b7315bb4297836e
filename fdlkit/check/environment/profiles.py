"""Profile-guided latency estimation, asked for where nothing can come of it.

It can be asked for in three places: the trainer's own `pgle`, JAX's variable and XLA's
flag. What the trainer asks for, it refuses itself on the devices that it finds; here it
is told as far as it is known which those will be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.errors import UserError

ASKED = "JAX_ENABLE_PGLE"
PROFILE = "xla_gpu_pgle_profile_file_or_directory_path"
_YES = ("1", "true", "yes", "on", "y", "t")


def find(subject: Subject) -> Iterator[Finding]:
    """What is asked for by the trainer, by JAX's variable, and by XLA's flag."""
    given = subject.request.environment
    environment = os.environ if given is None else given
    platform = platform_of(subject, environment)
    pgle = None if subject.trainer is None else subject.trainer.pgle
    if pgle is not None:
        yield from _of_trainer(subject, platform)
    elif environment.get(ASKED, "").strip().lower() in _YES:
        yield _of_variable(subject, environment[ASKED], platform)
    for flag in environment.get("XLA_FLAGS", "").split():
        name, _, path = flag.lstrip("-").partition("=")
        if name == PROFILE and path:
            yield from _of_flag(subject, path, pgle is not None)


def platform_of(subject: Subject, environment: Mapping[str, str]) -> str | None:
    """What JAX will call the devices; None if that is not known."""
    machine = subject.request.topology
    if machine is not None:
        return "tpu" if machine.is_tpu or machine.kind == "v3" else "gpu"
    named = environment.get("JAX_PLATFORMS", "").split(",")[0].strip()
    return {"cuda": "gpu", "rocm": "gpu"}.get(named, named) or None


def _of_trainer(subject: Subject, platform: str | None) -> Iterator[Finding]:
    from fdlkit.train.pgle import ManualPgle, profile_in, why_no_pgle

    assert subject.trainer is not None
    pgle = subject.trainer.pgle
    why = None if platform is None else why_no_pgle(platform)
    if why is not None:
        yield subject.finding(
            "EN008",
            "pgle",
            f"{type(pgle).__name__} is refused where the run will be: {why}",
            fix="pgle=None leaves it out; --topology names the machine of the run",
        )
    elif isinstance(pgle, ManualPgle) and pgle.profile is not None:
        try:
            profile_in(pgle.profile)
        except UserError as error:
            text, *do = error.lines
            yield subject.finding(
                "EN008", "pgle.profile", text, fix=" ".join(do).strip()
            )


def _of_variable(subject: Subject, value: str, platform: str | None) -> Finding:
    from fdlkit.train.pgle import why_no_pgle

    why = None if platform is None else why_no_pgle(platform)
    ahead = (
        "the trainer compiles its step ahead of time, and JAX collects no profile of "
        "such"
    )
    instead = "" if why else "; pgle=AutomaticPgle() of the trainer does what it is for"
    return subject.outside(
        "EN003",
        ASKED,
        f"{ASKED}={value}: {why or ahead}",
        fix=f"unset {ASKED}{instead}",
    )


def _of_flag(subject: Subject, path: str, has_own: bool) -> Iterator[Finding]:
    if not os.path.exists(path):
        yield subject.outside(
            "EN003",
            "XLA_FLAGS",
            f"--{PROFILE}={path}: there is no such file, so costs are guessed as "
            "without it",
            fix="name the profile that is there, or take the flag out of XLA_FLAGS",
        )
    elif has_own:
        yield subject.outside(
            "EN003",
            "XLA_FLAGS",
            f"--{PROFILE}={path}: of the training step XLA reads the profile of the "
            "trainer's pgle in its place",
            fix=f"pgle=ManualPgle(profile={path!r}) uses it; or take the flag out",
        )
