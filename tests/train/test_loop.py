"""The loop: what is logged, saved and repeated, to the last bit."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jax
import numpy as np
import optax
import pytest

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import RunFailedError, UserError
from fdlkit.train.checkpoints import CheckpointPolicy, Checkpoints
from fdlkit.train.stop import Stop
from tests.train.toys import Mlp, examples, make_trainer

TIMES = ("steps_per_sec", "examples_per_sec", "tflops_per_sec")


class StopWhen:
    """Requests a stop when a line that begins so is said; keeps all lines."""

    def __init__(self, begins: str = ""):
        self.stop = Stop()
        self.lines: list[str] = []
        self._begins = begins

    def say(self, text: str) -> None:
        self.lines.append(text)
        if self._begins and text.startswith(self._begins):
            self.stop.request(15)

    def update(self, step: int, values) -> None:
        self.say(f"at {step}")


def lines_of(workdir: Path) -> list[dict]:
    text = (workdir / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in line.items() if k not in TIMES} for line in lines]


def final_state(trainer, workdir: Path):
    with Checkpoints(workdir / "checkpoints", CheckpointPolicy()) as checkpoints:
        setup = trainer.setup
        return checkpoints.restore(
            checkpoints.last_step, like=setup.state, shardings=setup.shardings
        )[0]


def assert_same_bits(a, b) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("undisturbed")
    trainer = make_trainer()
    result = trainer.train(workdir)
    return trainer, workdir, result


def test_n_steps_are_n_updates_and_logged_numbers_are_means_of_the_window(undisturbed):
    trainer, workdir, result = undisturbed
    assert (result.step, result.finished) == (30, True)
    state = trainer.init_state()
    losses, norms, rates, logged = [], [], [], []
    batches = trainer.train_data.batches()
    for step in range(1, 31):
        state, report = trainer.step(state, next(batches))
        losses.append(float(report["loss"]))
        norms.append(float(report["grad_norm"]))
        rates.append(float(report["learning_rate"]))
        if step % 7 == 0 or step == 30:
            begin = (step - 1) // 7 * 7
            logged.append(
                {
                    "step": step,
                    "loss": np.mean(losses[begin:]),
                    "grad_norm": np.mean(norms[begin:]),
                    "learning_rate": rates[-1],
                    "param_norm": float(report["param_norm"]),
                }
            )
    assert int(state.step) == 30
    written = [line for line in lines_of(workdir) if "loss" in line]
    assert [line["step"] for line in written] == [7, 14, 21, 28, 30]
    for line, expected in zip(written, logged, strict=True):
        assert line == pytest.approx(expected, rel=1e-6)
    # The compiled step of a run and of a notebook are different programs.
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7),
        final_state(trainer, workdir).params,
        state.params,
    )


def test_evaluation_counts_every_row_once_and_padding_never(undisturbed):
    trainer, workdir, _ = undisturbed
    evaluations = [line for line in lines_of(workdir) if "eval/loss" in line]
    assert [line["step"] for line in evaluations] == [10, 20, 30]
    params = final_state(trainer, workdir).params
    held_out = examples(21, seed=1)
    predictions = Mlp().apply({"params": params}, held_out["x"])
    expected = np.mean((np.asarray(predictions) - held_out["labels"]) ** 2)
    assert evaluations[-1]["eval/loss"] == pytest.approx(float(expected), rel=1e-5)


def test_the_policys_checkpoints_and_the_final_state_are_kept(undisturbed):
    _, workdir, _ = undisturbed
    steps = sorted(int(p.name) for p in (workdir / "checkpoints").iterdir())
    assert steps == [24, 30]


def test_a_finished_run_says_so_and_changes_nothing(undisturbed):
    trainer, workdir, _ = undisturbed
    before = (workdir / "metrics.jsonl").read_bytes()
    listener = StopWhen()
    result = trainer.train(workdir, progress=listener)
    assert result.finished
    assert [line.split(":")[0] for line in listener.lines] == ["finished already"]
    assert (workdir / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "moment",
    [
        "at 7",
        "evaluating step 10",
        "at 10",
        "saving step 12",
        "at 28",
        "evaluating step 30",
    ],
)
def test_stopped_and_started_again_gives_the_same_bits(moment, undisturbed, tmp_path):
    trainer, workdir, _ = undisturbed
    listener = StopWhen(moment)
    first = trainer.train(tmp_path, stop=listener.stop, progress=listener)
    assert (first.saved, first.finished) == (True, False)
    resumed = StopWhen()
    assert trainer.train(tmp_path, progress=resumed).finished
    assert_same_bits(final_state(trainer, tmp_path), final_state(trainer, workdir))
    assert lines_of(tmp_path) == lines_of(workdir)


def test_a_workdir_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_trainer(num_train_steps=2).train("runs/first")
    assert (tmp_path / "runs" / "first" / "checkpoints" / "2").is_dir()


def test_a_stop_before_there_is_any_state_saves_nothing(tmp_path):
    stop = Stop()
    stop.request(15)
    result = make_trainer().train(tmp_path, stop=stop)
    assert (result.step, result.finished, result.saved) == (0, False, False)
    assert list(tmp_path.iterdir()) == []


def test_more_steps_go_on_from_the_last(undisturbed, tmp_path):
    short = make_trainer(num_train_steps=14)
    short.train(tmp_path)
    trainer, workdir, _ = undisturbed
    assert trainer.train(tmp_path).finished
    # The optimizer's schedule is fixed in this trainer, so the bits agree.
    assert_same_bits(
        final_state(trainer, tmp_path).params, final_state(trainer, workdir).params
    )
    kept = [line for line in lines_of(tmp_path) if "loss" in line]
    assert kept == [line for line in lines_of(workdir) if "loss" in line]


def test_cadence_may_change_between_starts(undisturbed, tmp_path):
    trainer, workdir, _ = undisturbed
    listener = StopWhen("at 7")
    trainer.train(tmp_path, stop=listener.stop, progress=listener)
    other = make_trainer(log_every=5, checkpoints=CheckpointPolicy(every=4))
    other.train(tmp_path)
    assert_same_bits(
        final_state(trainer, tmp_path).params, final_state(trainer, workdir).params
    )


def test_lines_of_a_killed_run_are_cut_back_and_written_once(undisturbed, tmp_path):
    trainer, workdir, _ = undisturbed
    listener = StopWhen("at 14")
    trainer.train(tmp_path, stop=listener.stop, progress=listener)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 21, "loss": 0.5}\n{"step": 28, "lo')
    trainer.train(tmp_path)
    assert lines_of(tmp_path) == lines_of(workdir)


def test_the_step_is_compiled_once(tmp_path):
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **kwargs: (
            compiled.append(kwargs.get("fun_name"))
            if event.endswith("backend_compile_duration")
            else None
        )
    )
    make_trainer().train(tmp_path)
    names = [name for name in compiled if name]
    assert sum("train_step" in name for name in names) == 1, names
    assert sum("eval_step" in name for name in names) == 1, names


def test_a_loss_that_is_not_finite_ends_the_run_and_names_the_step(tmp_path):
    data = examples()
    data["labels"][40] = math.nan
    pipeline = Pipeline(source=InMemory(data), batch_size=8, shuffle=False)
    trainer = make_trainer(
        train_data=pipeline, checkpoints=CheckpointPolicy(every=4), eval_data=None
    )
    with pytest.raises(RunFailedError) as caught:
        trainer.train(tmp_path)
    # Rows 40 to 47 are the sixth batch.
    assert "not finite at step 6 " in caught.value.lines[0]
    assert caught.value.lines[1] == "last good checkpoint: step 4"
    assert [int(p.name) for p in (tmp_path / "checkpoints").iterdir()] == [4]


def test_data_that_would_end_too_early_is_refused_before_anything_is_written(tmp_path):
    pipeline = Pipeline(source=InMemory(examples()), batch_size=8, num_epochs=2)
    with pytest.raises(UserError, match="ends after 16 batches; num_train_steps=30"):
        make_trainer(train_data=pipeline).train(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_batch_that_is_all_padding_has_loss_zero():
    data = examples() | {"mask": np.zeros(64, np.float32)}
    pipeline = Pipeline(source=InMemory(data), batch_size=8)
    trainer = make_trainer(train_data=pipeline, model=Mlp(dropout=0.0))
    _, report = trainer.step(trainer.init_state(), next(pipeline.batches()))
    assert float(report["loss"]) == 0.0
    assert float(report["grad_norm"]) == 0.0


def test_batch_statistics_are_part_of_the_state(tmp_path):
    import flax.linen as nn

    class Normalised(nn.Module):
        @nn.compact
        def __call__(self, x):
            training = self.has_rng("dropout")
            x = nn.BatchNorm(use_running_average=not training)(nn.Dense(8)(x))
            return nn.Dense(1)(x)

    trainer = make_trainer(model=Normalised(), optimizer=optax.sgd(1e-2))
    trainer.train(tmp_path)
    state = final_state(trainer, tmp_path)
    mean = state.model_state["batch_stats"]["BatchNorm_0"]["mean"]
    assert float(np.abs(mean).max()) > 0


def test_an_unwritable_workdir_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        make_trainer().train(tmp_path / "file" / "run")


def test_rates_count_no_step_twice_after_an_evaluation_or_a_save(undisturbed):
    _, workdir, _ = undisturbed
    text = (workdir / "metrics.jsonl").read_text()
    rates = [json.loads(line).get("steps_per_sec") for line in text.splitlines()]
    # Five microseconds a step is less than any dispatch takes.
    assert all(0 < rate < 2e5 for rate in rates if rate is not None), rates


def test_without_a_schedule_no_learning_rate_is_logged(tmp_path):
    trainer = make_trainer(learning_rate=None, num_train_steps=7)
    trainer.train(tmp_path)
    assert "learning_rate" not in lines_of(tmp_path)[0]
    _, report = trainer.step(trainer.init_state(), next(trainer.train_data.batches()))
    assert set(report) == {"loss", "grad_norm", "param_norm"}


def test_a_constant_learning_rate_is_logged_as_it_is(tmp_path):
    trainer = make_trainer(
        optimizer=optax.sgd(0.125), learning_rate=0.125, num_train_steps=7
    )
    trainer.train(tmp_path)
    assert lines_of(tmp_path)[0]["learning_rate"] == 0.125
    _, report = trainer.step(trainer.init_state(), next(trainer.train_data.batches()))
    assert float(report["learning_rate"]) == 0.125


@pytest.mark.parametrize("name", ["99", "0099", "12.orbax-checkpoint-tmp", "notes"])
def test_folders_that_are_no_checkpoints_are_not_taken_for_one(name, tmp_path):
    trainer = make_trainer(num_train_steps=7)
    trainer.train(tmp_path)
    (tmp_path / "checkpoints" / name).mkdir()
    listener = StopWhen()
    assert make_trainer(num_train_steps=14).train(tmp_path, progress=listener).finished
    assert listener.lines[0].startswith("resumed from step 7 ")


def test_a_damaged_checkpoint_is_named_with_the_whole_one_before_it(tmp_path):
    make_trainer(checkpoints=CheckpointPolicy(every=7), num_train_steps=14).train(
        tmp_path
    )
    for path in (tmp_path / "checkpoints" / "14" / "state").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:10])
    with pytest.raises(RunFailedError) as caught:
        make_trainer().train(tmp_path)
    what, *_, whole, remedy = caught.value.lines
    assert what.startswith("the checkpoint of step 14 in ")
    assert whole == "the newest whole checkpoint: step 7"
    assert remedy.endswith("checkpoints/14")


def test_rubbish_in_the_log_of_a_stopped_run_is_cut_away(undisturbed, tmp_path):
    trainer, workdir, _ = undisturbed
    listener = StopWhen("at 14")
    trainer.train(tmp_path, stop=listener.stop, progress=listener)
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(bytes(range(256)) + b"\n" + b"[" * 90_000 + b"\n")
    trainer.train(tmp_path)
    assert lines_of(tmp_path) == lines_of(workdir)


def test_a_batch_by_hand_that_does_not_fit_is_refused_in_words():
    trainer = make_trainer()
    with pytest.raises(UserError, match="not like those of train_data"):
        trainer.step(trainer.init_state(), {})
