"""The training step of a run that asks for `pgle`: profiled, and compiled again."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from etils import epath
from jax.experimental import multihost_utils
from jax.experimental.profiler import get_profiled_instructions_proto

from fdlkit.errors import RunFailedError
from fdlkit.train.pgle import AutomaticPgle, ManualPgle, Pgle, profile_in
from fdlkit.train.setup import Setup, using

# They go with the step's executable, so that no variable of the environment has to hold
# them, and no other program of the run gets them.
SCHEDULED = {"xla_gpu_enable_latency_hiding_scheduler": True}
# The profiler tells of no instruction inside a command buffer (a CUDA graph).
PROFILABLE = SCHEDULED | {"xla_gpu_enable_command_buffer": ""}

Step = Callable[..., Any]


@contextlib.contextmanager
def guided(
    pgle: Pgle,
    setup: Setup,
    lowered: Any,
    votes: jax.ShapeDtypeStruct | None,
    *,
    workdir: epath.Path,
    say: Callable[[str], None],
    leave_out: Callable[[float], None],
) -> Iterator[Step]:
    """The training step, which makes itself be compiled again once it was measured.

    Args:
      pgle: How.
      setup: Of the run.
      lowered: Its training step.
      votes: The shape of the step's third argument; None: it has none.
      workdir: Of the run.
      say: Tells people.
      leave_out: Is told the seconds that no step took.
    """
    if isinstance(pgle, AutomaticPgle):
        yield _Automatic(pgle, setup, votes, say=say, leave_out=leave_out)
        return
    step = _Captured(pgle, lowered, workdir=workdir, say=say, leave_out=leave_out)
    with contextlib.closing(step):
        yield step


class _Automatic:
    """The jitted step: of executables compiled ahead JAX makes no profile."""

    def __init__(
        self,
        pgle: AutomaticPgle,
        setup: Setup,
        votes: jax.ShapeDtypeStruct | None,
        *,
        say: Callable[[str], None],
        leave_out: Callable[[float], None],
    ):
        self._pgle = pgle
        self._setup = setup
        self._leave_out = leave_out
        self._step = setup.jitted_train_step(votes, SCHEDULED)
        self._calls = 0
        say(
            f"the first {pgle.profiling_runs} steps are profiled and the step is "
            "compiled again, unless the compilation cache has that"
        )

    def __call__(self, *args: Any) -> Any:
        began = time.perf_counter()
        with using(self._setup.mesh, self._setup.rules), jax_pgle(self._pgle):
            made = self._step(*args)
        if self._calls == self._pgle.profiling_runs:  # what was compiled anew
            self._leave_out(time.perf_counter() - began)
        self._calls += 1
        return made


class _Captured:
    """The compiled step, which profiles some of its calls."""

    def __init__(
        self,
        pgle: ManualPgle,
        lowered: Any,
        *,
        workdir: epath.Path,
        say: Callable[[str], None],
        leave_out: Callable[[float], None],
    ):
        self._pgle = pgle
        self._lowered = lowered
        self._say = say
        self._leave_out = leave_out
        self._calls = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        program = hashlib.sha256(lowered.as_text().encode()).hexdigest()[:12]
        self._file = workdir / "pgle" / f"{program}.pb"
        profile = shared(self._known)
        self._done = bool(profile)
        self._step = compiled_with(lowered, profile)

    def _known(self) -> bytes:
        """The profile that there is; empty if there is none yet."""
        if self._pgle.profile is not None:
            return profile_in(self._pgle.profile)
        return self._file.read_bytes() if self._file.exists() else b""

    def __call__(self, *args: Any) -> Any:
        if self._done:
            return self._step(*args)
        if self._calls == self._pgle.after:
            jax.block_until_ready(args)
            self._begin()
        made = self._step(*args)
        self._calls += 1
        if self._calls == self._pgle.after + self._pgle.steps:
            jax.block_until_ready(made)
            began = time.perf_counter()
            self._use(shared(self._captured))
            self._leave_out(time.perf_counter() - began)
        return made

    def _begin(self) -> None:
        options = jax.profiler.ProfileOptions()
        options.enable_hlo_proto = True  # instructions are named by the program in it
        options.python_tracer_level = 0
        folder = tempfile.TemporaryDirectory(prefix="fdlkit-pgle-")
        try:
            jax.profiler.start_trace(folder.name, profiler_options=options)
        except RuntimeError as error:
            folder.cleanup()
            raise RunFailedError(
                f"no profile can be captured for pgle: {error}",
                "another profiler may be at work: end it, or leave pgle out",
            ) from error
        self._folder = folder

    def _captured(self) -> bytes:
        """The profile of the steps since `_begin`."""
        assert self._folder is not None
        jax.profiler.stop_trace()
        (run,) = (pathlib.Path(self._folder.name) / "plugins" / "profile").iterdir()
        profile = get_profiled_instructions_proto(str(run))
        self._folder.cleanup()
        self._folder = None
        return profile

    def _use(self, profile: bytes) -> None:
        """Keeps a profile and compiles the step with it."""
        self.close()
        self._done = True
        steps = self._pgle.steps
        if not profile:
            self._say(
                f"the profile of {steps} steps tells of no instruction, so the step is "
                "compiled without; another profiler may have held the devices"
            )
            self._step = self._lowered.compile()
            return
        self._say(
            f"compiling the training step again, by the profile of {steps} steps; "
            f"kept as {self._file}"
        )
        if jax.process_index() == 0:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside = self._file.parent / f".{self._file.name}.new"
            beside.write_bytes(profile)
            beside.replace(self._file)
        self._step = compiled_with(self._lowered, profile)

    def close(self) -> None:
        """Ends a profile that nobody will read."""
        if self._folder is not None:
            jax.profiler.stop_trace()
            self._folder.cleanup()
            self._folder = None


def compiled_with(lowered: Any, profile: bytes) -> Any:
    """A lowered step compiled with a profile, or, if that is empty, to be profiled.

    The compilation cache has an entry for each profile. JAX's own PGLE, which would
    take one profile for the other, is off meanwhile.
    """
    options = SCHEDULED | {"fdo_profile": profile} if profile else PROFILABLE
    with jax_pgle(None):
        return lowered.compile(compiler_options=options)


@contextlib.contextmanager
def jax_pgle(pgle: AutomaticPgle | None) -> Iterator[None]:
    """Has JAX profile what is called, or not, and leaves its settings as they were."""
    wanted: dict[str, Any] = {"jax_enable_pgle": pgle is not None}
    if pgle is not None:
        wanted["jax_pgle_profiling_runs"] = pgle.profiling_runs
        wanted["jax_pgle_aggregation_percentile"] = pgle.percentile
    before = {name: getattr(jax.config, name) for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def shared(make: Callable[[], bytes]) -> bytes:
    """What the first process makes, in all of them: they compile the same program."""
    if jax.process_count() == 1:
        return make()
    made = make() if jax.process_index() == 0 else b""
    size = multihost_utils.broadcast_one_to_all(np.int64(len(made)))
    room = np.zeros(int(size), np.uint8)
    room[: len(made)] = np.frombuffer(made, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(room)).tobytes()
