"""Profile-guided latency estimation, as far as it can be seen without a GPU.

A CPU has no latencies to tell of, so the run is told that it may go on, and JAX's
converter, where a profile becomes what XLA reads, gives one that was written here.
The sessions, the windows, the compiler's options and the cache are JAX's own.
"""

from __future__ import annotations

import struct

import jax
import pytest

from fdlkit.errors import RunFailedError, UserError
from fdlkit.train import pgle, profiled_step
from fdlkit.train.pgle import AutomaticPgle, ManualPgle
from tests.train.test_loop import StopWhen, lines_of
from tests.train.toys import make_trainer

SCHEDULER = "xla_gpu_enable_latency_hiding_scheduler"
GRAPHS = "xla_gpu_enable_command_buffer"
PLAIN = (None, {})
UNMEASURED = (None, {SCHEDULER: True, GRAPHS: ""})


def profile_of(**microseconds: float) -> bytes:
    """A `ProfiledInstructionsProto`: what each instruction took."""
    profile = b""
    for name, time in microseconds.items():
        cost = b"\x0a" + bytes([len(name)]) + name.encode()
        cost += b"\x11" + struct.pack("<d", time)
        profile += b"\x0a" + bytes([len(cost)]) + cost
    return profile


PROFILE = profile_of(fusion=3.5, all_gather=120.0)


@pytest.fixture
def somewhere_else(monkeypatch):
    """Devices that a profile is said to be of use for."""
    monkeypatch.setattr(pgle, "why_no_pgle", lambda platform: None)


@pytest.fixture
def converted(monkeypatch):
    """JAX's converters give this profile; how often they were asked."""
    from jax._src import profiler

    asked: list[object] = []

    class Converter:
        def __getattr__(self, name: str):
            return getattr(real, name)

        def get_fdo_profile(self, space: object) -> bytes:
            asked.append(space)
            return PROFILE

    def convert(folder: str) -> bytes:
        asked.append(folder)
        return PROFILE

    real = profiler._profiler
    monkeypatch.setattr(profiler, "_profiler", Converter())
    monkeypatch.setattr(profiled_step, "get_profiled_instructions_proto", convert)
    return asked


@pytest.fixture
def steps_compiled(monkeypatch):
    """The profile and the options with which each training step was compiled."""
    from jax._src.interpreters import pxla

    made: list[tuple[bytes | None, dict[str, object]]] = []
    real = pxla.create_compile_options

    def create(computation, *args):
        if "train_step" in str(computation.operation.attributes["sym_name"]):
            given = dict(args[-1])
            made.append((given.pop("fdo_profile", None), given))
        return real(computation, *args)

    monkeypatch.setattr(pxla, "create_compile_options", create)
    return made


def run(folder, *, until: str = "", **changes) -> list[str]:
    """What a run of 12 steps says, which stops when it says `until`."""
    said = StopWhen(until)
    trainer = make_trainer(**{"num_train_steps": 12, **changes})
    trainer.train(folder, stop=said.stop, progress=said)
    return said.lines


@pytest.fixture
def plain(tmp_path, steps_compiled):
    run(tmp_path / "plain")
    assert steps_compiled.pop() == PLAIN
    return lines_of(tmp_path / "plain")


@pytest.mark.parametrize("asked", [AutomaticPgle(), ManualPgle()])
def test_on_a_cpu_it_is_refused_with_the_reason_and_nothing_is_written(asked, tmp_path):
    with pytest.raises(UserError) as raised:
        run(tmp_path / "run", pgle=asked)
    assert raised.value.lines == (
        "pgle is of no use here: on a CPU no exchanges are hidden, and profiles tell "
        "of no instruction",
        "  pgle=None leaves it out",
    )
    assert not (tmp_path / "run").exists()


def test_of_accelerators_gpus_alone_are_profiled():
    assert pgle.why_no_pgle("gpu") is None
    assert "of GPUs alone, of no TPU" in (pgle.why_no_pgle("tpu") or "")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: AutomaticPgle(profiling_runs=0), "profiling_runs=0: a profile is of"),
        (lambda: AutomaticPgle(percentile=101), "percentile=101: it is from 1 to 100"),
        (lambda: ManualPgle(after=-1), "after=-1: it counts steps"),
        (lambda: ManualPgle(steps=0), "steps=0: a profile is of one step at least"),
    ],
)
def test_numbers_that_cannot_be_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_a_profile_that_is_not_there_is_refused(somewhere_else, tmp_path):
    empty = tmp_path / "empty.pb"
    empty.touch()
    for path, why in ((tmp_path / "none.pb", "No such file"), (empty, "it is empty")):
        with pytest.raises(UserError, match=why):
            run(tmp_path / "run", pgle=ManualPgle(profile=str(path)))
    assert not (tmp_path / "run").exists()


def test_automatic_profiles_so_many_steps_and_compiles_again_with_what_they_took(
    somewhere_else, converted, steps_compiled, plain, tmp_path
):
    said = run(tmp_path / "run", pgle=AutomaticPgle(profiling_runs=2))
    assert [line for line in said if "profiled" in line] == [
        "the first 2 steps are profiled and the step is compiled again, unless the "
        "compilation cache has that"
    ]
    assert len(converted) == 2
    scheduled = {SCHEDULER: True}
    (first, options), (second, again) = steps_compiled
    assert (first, options, again) == (None, scheduled, scheduled)
    assert b"all_gather" in second
    assert lines_of(tmp_path / "run") == plain
    # Nothing else in the process is profiled.
    assert jax.config.jax_enable_pgle is False
    assert jax.config.jax_pgle_profiling_runs == 3


def test_manual_captures_a_window_keeps_it_and_goes_on_with_it(
    somewhere_else, converted, steps_compiled, plain, tmp_path
):
    asked = ManualPgle(after=3, steps=2)
    said = run(tmp_path / "run", pgle=asked, until="at 7")
    (kept,) = (tmp_path / "run" / "pgle").iterdir()
    assert kept.read_bytes() == PROFILE and kept.suffix == ".pb"
    assert (
        "compiling the training step again, by the profile of 2 steps; kept as "
        f"{kept}" in said
    )
    measured = (PROFILE, {SCHEDULER: True})
    assert steps_compiled == [UNMEASURED, measured]
    assert len(converted) == 1
    # Started again it finds the profile, and another run can be given it.
    run(tmp_path / "run", pgle=asked)
    assert lines_of(tmp_path / "run") == plain
    run(tmp_path / "other", pgle=ManualPgle(profile=str(kept)))
    assert steps_compiled[2:] == [measured, measured]
    assert len(converted) == 1
    assert not (tmp_path / "other" / "pgle").exists()
    assert lines_of(tmp_path / "other") == plain


def test_another_program_is_captured_anew(somewhere_else, converted, tmp_path):
    asked = ManualPgle(after=0, steps=1)
    run(tmp_path / "run", pgle=asked)
    run(tmp_path / "run", pgle=asked, num_train_steps=14, microbatches=2)
    assert len(list((tmp_path / "run" / "pgle").iterdir())) == 2


def test_a_profile_of_nothing_is_told_and_the_step_is_as_without(
    somewhere_else, steps_compiled, plain, tmp_path
):
    # Here JAX's own converter is asked: of a CPU it knows nothing.
    said = run(tmp_path / "run", pgle=ManualPgle(after=1, steps=1))
    assert any(line.startswith("the profile of 1 steps tells of no") for line in said)
    assert steps_compiled == [UNMEASURED, PLAIN]
    assert not (tmp_path / "run" / "pgle").exists()
    assert lines_of(tmp_path / "run") == plain


def test_a_run_that_ends_within_the_window_leaves_no_profiler_at_work(
    somewhere_else, converted, tmp_path
):
    run(tmp_path / "run", pgle=ManualPgle(after=10, steps=5))
    assert converted == []
    with jax.profiler.trace(str(tmp_path / "trace")):
        pass


def test_two_profilers_at_once_are_refused(somewhere_else, tmp_path):
    with (
        jax.profiler.trace(str(tmp_path / "trace")),
        pytest.raises(RunFailedError, match="no profile can be captured for pgle"),
    ):
        run(tmp_path / "run", pgle=ManualPgle(after=0))


def test_each_profile_has_an_entry_of_its_own_in_the_compilation_cache(tmp_path):
    from jax.experimental.compilation_cache import compilation_cache

    lowered = make_trainer().setup.lower_train_step()
    before = {
        name: getattr(jax.config, name)
        for name in (
            "jax_compilation_cache_dir",
            "jax_persistent_cache_min_compile_time_secs",
        )
    }
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        compilation_cache.reset_cache()

        def entries() -> int:
            return len(list(tmp_path.glob("jit_train_step-*-cache")))

        lowered.compile()
        assert entries() == 1
        for count, profile in ((2, b""), (3, PROFILE), (4, profile_of(fusion=9.0))):
            profiled_step.compiled_with(lowered, profile)
            assert entries() == count
            profiled_step.compiled_with(lowered, profile)
            assert entries() == count
        # JAX's own PGLE calls all profiles by one name.
        with profiled_step.jax_pgle(AutomaticPgle()):
            profiled_step.compiled_with(lowered, profile_of(fusion=1.0))
        assert entries() == 5
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
