"""Profile-guided latency estimation (PGLE): a step scheduled by measured times.

XLA orders what a GPU does so that exchanges between devices hide behind computing. How
long each instruction takes it guesses, unless it is given a profile of that program.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from etils import epath

from fdlkit.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class AutomaticPgle:
    """JAX profiles the run's first steps and compiles the step again with that.

    This is JAX's own (`jax_enable_pgle`), for the training step alone. What comes of it
    is in JAX's compilation cache: a run that finds it there profiles nothing.

    Attributes:
      profiling_runs: Steps that are profiled, one at a time, each waited for.
      percentile: Of an instruction's times over steps and devices, which is taken.
    """

    profiling_runs: int = 3
    percentile: int = 90

    def __post_init__(self) -> None:
        if self.profiling_runs < 1:
            raise ValueError(
                f"profiling_runs={self.profiling_runs}: a profile is of one step at "
                "least"
            )
        if not 1 <= self.percentile <= 100:
            raise ValueError(f"percentile={self.percentile}: it is from 1 to 100")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManualPgle:
    """A profile that is kept as a file: captured by a run, and given to any.

    A run captures it over a few steps, keeps it in its workdir (`pgle/`, named by the
    step's program) and goes on with the step compiled anew. Started again it finds it
    there. XLA takes of a profile only what is of the program that it compiles.

    Attributes:
      after: Steps of the process before those that are captured.
      steps: How many are captured.
      profile: A file that is used from the first step on, in place of capturing;
        binary or text, as `--xla_gpu_pgle_profile_file_or_directory_path` takes it.
    """

    after: int = 10
    steps: int = 5
    profile: str | None = None

    def __post_init__(self) -> None:
        if self.after < 0:
            raise ValueError(f"after={self.after}: it counts steps, so at least 0")
        if self.steps < 1:
            raise ValueError(f"steps={self.steps}: a profile is of one step at least")


Pgle = AutomaticPgle | ManualPgle


def why_no_pgle(platform: str) -> str | None:
    """Why no profile helps on devices of a kind, in a sentence; None: it may.

    Args:
      platform: As JAX names it: `cpu`, `gpu`, `tpu`.
    """
    if platform == "gpu":
        return None
    if platform == "cpu":
        return "on a CPU no exchanges are hidden, and profiles tell of no instruction"
    return f"JAX makes such profiles of GPUs alone, of no {platform.upper()}"


def refuse_pgle(pgle: Pgle, mesh: Any) -> None:
    """Refuses a profile where nothing can come of it, before anything is compiled.

    Raises:
      UserError: The devices of the mesh are no GPUs, or there is no such profile.
    """
    why = why_no_pgle(mesh.devices.flat[0].platform)
    if why is not None:
        raise UserError(f"pgle is of no use here: {why}", "  pgle=None leaves it out")
    if isinstance(pgle, ManualPgle) and pgle.profile is not None:
        profile_in(pgle.profile)


def profile_in(path: str) -> bytes:
    """The profile in a file.

    Raises:
      UserError: It cannot be read, or is empty.
    """
    try:
        profile = epath.Path(path).read_bytes()
    except OSError as error:
        why = error.strerror or str(error)
    else:
        if profile:
            return profile
        why = "it is empty"
    raise UserError(
        f"pgle.profile={path!r} cannot be read: {why}",
        "  pgle.profile=None captures one; a run keeps it in pgle/ of its workdir",
    )
