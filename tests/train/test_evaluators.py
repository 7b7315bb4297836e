"""Evaluators in a run: what they see, when, and what that decides."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import jax
import numpy as np
import optax
import pytest
from etils import epath

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import RunFailedError, UserError
from fdlkit.run.evaluating import as_json
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.coverage import Epoch, First, Rolling
from fdlkit.train.ema import Ema
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.goals import KeepBest, StopEarly
from fdlkit.train.histograms import Histogram
from fdlkit.train.loop import Plan
from fdlkit.train.losses import SquaredError
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.writers import JsonLines
from tests.train.test_loop import (
    StopWhen,
    assert_same_bits,
    final_state,
    lines_of,
)
from tests.train.toys import Mlp, examples, make_trainer


def held_out(n: int = 21, *, seed: int = 1, **changes) -> Pipeline:
    fields = {"shuffle": False, "num_epochs": 1, "remainder": "pad"}
    source = InMemory(examples(n, seed=seed))
    return Pipeline(source=source, batch_size=8, **fields | changes)


EVALUATORS = {
    "quick": Evaluator(every=4, coverage=First(1), last=False),
    "rolling": Evaluator(every=5, at=(3,), coverage=Rolling(2)),
    "other": Evaluator(
        data=held_out(13, seed=2),
        metrics={"mine": MeanLoss()},
        at=(6, 17),
        last=False,
    ),
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("several")
    trainer = make_trainer(evaluators=EVALUATORS, num_train_steps=22)
    listener = StopWhen()
    assert trainer.train(workdir, progress=listener).finished
    return trainer, workdir, listener


def evaluations(workdir: Path, name: str) -> dict[int, dict]:
    """What an evaluator logged, by step."""
    return {
        line["step"]: {k.removeprefix(f"{name}/"): v for k, v in line.items()}
        for line in lines_of(workdir)
        if any(key.startswith(f"{name}/") for key in line)
    }


def test_each_evaluator_keeps_its_own_schedule_and_its_own_rows(undisturbed):
    _, workdir, _ = undisturbed
    steps = {
        name: list(evaluations(workdir, name))
        for name in ("eval", "quick", "rolling", "other")
    }
    assert steps == {
        "eval": [10, 20, 22],
        "quick": [4, 8, 12, 16, 20],
        "rolling": [3, 5, 10, 15, 20, 22],
        "other": [6, 17],
    }
    assert {one["rows"] for one in evaluations(workdir, "eval").values()} == {21}
    assert {one["rows"] for one in evaluations(workdir, "quick").values()} == {8}
    # Batches of 8, 8 and 5 rows, two at a time, round and round.
    rolled = [one["rows"] for one in evaluations(workdir, "rolling").values()]
    assert rolled == [16, 13, 13, 16, 13, 13]
    other = evaluations(workdir, "other")[17]
    assert set(other) == {"step", "mine", "rows"}
    assert other["rows"] == 13


def test_all_evaluators_see_the_state_of_their_step(undisturbed):
    trainer, workdir, _ = undisturbed
    params = final_state(trainer, workdir).params
    squares = (
        np.asarray(Mlp().apply({"params": params}, examples(21, seed=1)["x"]))
        - examples(21, seed=1)["labels"]
    ) ** 2
    at_the_end = {n: evaluations(workdir, n)[22] for n in ("eval", "rolling")}
    assert at_the_end["eval"]["loss"] == pytest.approx(float(squares.mean()), rel=1e-5)
    # The sixth evaluation of two batches out of three: the second and the third.
    last = squares[8:].mean()
    assert at_the_end["rolling"]["loss"] == pytest.approx(float(last), rel=1e-5)


@pytest.mark.parametrize(
    "moment",
    ["at 7", "evaluating step 5 (rolling)", "evaluating step 10", "evaluating step 22"],
)
def test_evaluators_go_on_where_they_were(moment, undisturbed, tmp_path):
    trainer, workdir, _ = undisturbed
    listener = StopWhen(moment)
    assert not trainer.train(tmp_path, stop=listener.stop, progress=listener).finished
    assert trainer.train(tmp_path).finished
    assert_same_bits(final_state(trainer, tmp_path), final_state(trainer, workdir))
    assert lines_of(tmp_path) == lines_of(workdir)


def test_nothing_is_asked_of_evaluators_between_their_steps(tmp_path, monkeypatch):
    asked = []
    original = Plan.next_event

    def counted(self, step):
        asked.append(step)
        return original(self, step)

    monkeypatch.setattr(Plan, "next_event", counted)
    evaluators = {"rare": Evaluator(every=15, coverage=First(1))}
    make_trainer(evaluators=evaluators, eval_every=None).train(tmp_path)
    assert asked == [0, 12, 15, 24, 30]


def test_a_model_of_its_own_runs_on_the_trained_parameters(tmp_path):
    # Of one more layer of dropout: without a key that is the same function.
    evaluators = {"same": Evaluator(model=Mlp(dropout=0.7), last=True)}
    make_trainer(evaluators=evaluators, num_train_steps=4).train(tmp_path)
    own, whole = (evaluations(tmp_path, name)[4] for name in ("same", "eval"))
    assert own == whole


def test_an_inherited_loss_can_be_another(tmp_path):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class DoubledError(SquaredError):
        def values(self, **read):
            return 2 * super().values(**read)

    evaluators = {"twice": Evaluator(loss=DoubledError())}
    make_trainer(evaluators=evaluators, num_train_steps=4).train(tmp_path)
    once, twice = (evaluations(tmp_path, n)[4]["loss"] for n in ("eval", "twice"))
    assert twice == pytest.approx(2 * once, rel=1e-6)


def test_rows_that_are_not_seen_are_told_once(tmp_path):
    evaluators = {
        "dropped": Evaluator(data=held_out(remainder="drop"), every=2),
        "short": Evaluator(coverage=First(5), every=2),
    }
    listener = StopWhen()
    make_trainer(
        evaluators=evaluators, eval_data=held_out(), eval_every=None, num_train_steps=6
    ).train(tmp_path, progress=listener)
    notes = [line for line in listener.lines if "rows were evaluated" in line]
    assert notes == [
        "dropped: 16 of 21 rows were evaluated: the data leaves out what does not "
        "fill a batch (remainder='drop')",
        "short: 21 of 40 rows were evaluated: the data has fewer batches than "
        "First(batches=5) asks for",
    ]
    assert evaluations(tmp_path, "dropped")[2]["rows"] == 16


def test_data_without_end_is_evaluated_in_parts(tmp_path):
    data = held_out(num_epochs=None, remainder="drop")
    with pytest.raises(UserError, match="repeats for ever"):
        make_trainer(eval_data=data).train(tmp_path / "whole")
    evaluators = {"eval": Evaluator(every=1, coverage=Rolling(2))}
    trainer = make_trainer(
        eval_data=data, eval_every=None, evaluators=evaluators, num_train_steps=3
    )
    trainer.train(tmp_path / "parts")
    rows = [one["rows"] for one in evaluations(tmp_path / "parts", "eval").values()]
    assert rows == [16, 16, 16]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"eval_data": None, "evaluators": {"a": Evaluator()}},
            (
                "the evaluator 'a' has no data, and eval_data is None too",
                "give it evaluators['a'].data, or the trainer eval_data",
            ),
        ),
        (
            {"evaluators": {"train": Evaluator()}},
            (
                "no evaluator can be called 'train'",
                "its numbers are logged as NAME/metric: a text without /, and none of "
                "train, losses, schedules, which name others",
                "call it something else",
            ),
        ),
        (
            {"evaluators": {"eval": Evaluator()}},
            (
                "eval_every=10, and evaluators['eval'] says when it is due",
                "leave eval_every out: evaluators['eval'].every is what counts",
            ),
        ),
        (
            {"evaluators": {"a": Evaluator(metrics={})}},
            (
                "'a' is an evaluator, and evaluators['a'].metrics is empty",
                "evaluators['a'].metrics={'loss': Config(MeanLoss)}",
            ),
        ),
        (
            {"evaluators": {3: Evaluator()}},
            (
                "no evaluator can be called 3",
                "its numbers are logged as NAME/metric: a text without /, and none of "
                "train, losses, schedules, which name others",
                "call it something else",
            ),
        ),
        (
            {"evaluators": {"a": 3}},
            (
                "evaluators['a'] is a int, which is no evaluator",
                "give it a Config(Evaluator), or leave it out",
            ),
        ),
        (
            {"evaluators": {"a": Evaluator(coverage="all")}},
            (
                "evaluators['a'].coverage='all' says no batches",
                "give it Epoch(), First(n) or Rolling(n) of fdlkit.train.coverage",
            ),
        ),
        (
            {"metrics": {"rows": MeanLoss()}},
            (
                "metrics['rows'] is called as what is logged of how many rows were "
                "seen",
                "call it something else",
            ),
        ),
        (
            {"keep_best": KeepBest(metric="eval/los")},
            (
                "keep_best.metric='eval/los' is logged by no evaluator",
                "did you mean 'eval/loss'?",
                "logged: eval/loss, eval/rows",
                "name a metric as it is logged: EVALUATOR/metric",
            ),
        ),
        (
            {"stop_early": StopEarly(patience=1), "eval_data": None},
            (
                "stop_early.metric='eval/loss' is logged by no evaluator",
                "logged: nothing",
                "name a metric as it is logged: EVALUATOR/metric",
            ),
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_anything_runs(
    changes, lines, tmp_path
):
    with pytest.raises(UserError) as refused:
        make_trainer(**changes).train(tmp_path / "run")
    assert refused.value.lines == lines
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Evaluator(every=0), "every=0: it counts steps"),
        (lambda: Evaluator(at=(5, 0)), "0 is none"),
        (lambda: Evaluator(last=False), "it never happens"),
        (lambda: Evaluator(params="emma"), "did you mean 'ema'"),
        (lambda: First(0), r"First\(0\): it counts batches"),
        (lambda: First(1.5), r"First\(1.5\): it counts batches"),
        (lambda: StopEarly(reaches=math.nan), "reaches=nan"),
        (lambda: StopEarly(patience=1, min_delta=math.nan), "min_delta=nan: a value"),
        (lambda: Rolling(-1), r"Rolling\(-1\): it counts batches"),
        (lambda: KeepBest(mode="mean"), "neither 'min' nor 'max'"),
        (StopEarly, "would never stop early"),
        (lambda: StopEarly(patience=0), "patience=0: it counts evaluations"),
        (lambda: StopEarly(patience=1, min_delta=-1.0), "min_delta=-1.0: a value"),
    ],
)
def test_settings_that_mean_nothing_are_refused_when_they_are_made(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# A learning rate that is good until step 12, and ruins the model after it.
RUINOUS = optax.join_schedules([lambda _: 0.05, lambda _: 1.5], [12])


def unstable(**changes):
    """Evaluated every four steps: best at 12."""
    given = {"optimizer": optax.sgd(RUINOUS), "learning_rate": None, "eval_every": 4}
    given |= {"checkpoints": CheckpointPolicy(every=10, keep=1), "log_every": 100}
    return make_trainer(**given | {"num_train_steps": 24} | changes)


def saved(workdir: Path) -> list[int]:
    return sorted(int(p.name) for p in (workdir / "checkpoints").iterdir())


def best_step(workdir: Path) -> int:
    losses = {s: v["loss"] for s, v in evaluations(workdir, "eval").items()}
    return min(losses, key=losses.get)


def test_the_best_checkpoint_stays_and_is_named(tmp_path):
    trainer = unstable(keep_best=KeepBest())
    trainer.train(tmp_path)
    best = best_step(tmp_path)
    assert 0 < best < 20
    assert saved(tmp_path) == [best, 24]
    assert json.loads((tmp_path / "best.json").read_text()) == {
        "step": best,
        "metric": "eval/loss",
        "mode": "min",
        "value": evaluations(tmp_path, "eval")[best]["loss"],
    }
    found = trainer.evaluate(tmp_path, "best")
    assert found.step == best
    assert found.values["eval/loss"] == evaluations(tmp_path, "eval")[best]["loss"]


class BestWatched(StopWhen):
    """Looks at each line which checkpoint is said to be the best, and which there are.

    Attributes:
      told: What `best.json` said as each evaluation began, by its step.
      gone: What it named where there was no such checkpoint.
    """

    def __init__(self, workdir: Path):
        super().__init__()
        self.workdir = workdir
        self.told: dict[int, int] = {}
        self.gone: list[int] = []

    def say(self, text: str) -> None:
        super().say(text)
        path = self.workdir / "best.json"
        if not path.exists():
            return
        step = json.loads(path.read_text())["step"]
        if not (self.workdir / "checkpoints" / str(step)).exists():
            self.gone.append(step)
        if text.startswith("evaluating step"):
            self.told[int(text.split()[2])] = step


def test_while_each_is_better_than_the_last_the_best_that_is_told_is_there(tmp_path):
    # Saved at no other moment than as the best, and one checkpoint is to stay.
    trainer = make_trainer(
        eval_every=2,
        num_train_steps=20,
        keep_best=KeepBest(),
        checkpoints=CheckpointPolicy(every=100, keep=1),
    )
    watched = BestWatched(tmp_path)
    trainer.train(tmp_path, progress=watched)
    losses = [line["eval/loss"] for line in lines_of(tmp_path) if "eval/loss" in line]
    assert losses == sorted(losses, reverse=True)
    assert not watched.gone
    # The last one may still be on its way to disk; the one before it is there.
    assert all(watched.told[step] >= step - 4 for step in range(6, 21, 2))
    assert saved(tmp_path) == [20]
    assert json.loads((tmp_path / "best.json").read_text())["step"] == 20


def test_more_is_better_where_the_mode_says_so(tmp_path):
    unstable(keep_best=KeepBest(mode="max")).train(tmp_path)
    losses = {s: v["loss"] for s, v in evaluations(tmp_path, "eval").items()}
    assert json.loads((tmp_path / "best.json").read_text())["step"] == max(
        losses, key=losses.get
    )


@pytest.mark.parametrize("moment", ["evaluating step 8", "saving step 12", "at 16"])
def test_the_best_is_the_same_for_a_run_that_was_stopped(moment, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    trainer = unstable(keep_best=KeepBest(), stop_early=StopEarly(patience=2))
    trainer.train(whole)
    listener = StopWhen(moment)
    trainer.train(parts, stop=listener.stop, progress=listener)
    assert trainer.train(parts).finished
    assert lines_of(parts) == lines_of(whole)
    assert (parts / "best.json").read_text() == (whole / "best.json").read_text()
    assert_same_bits(final_state(trainer, parts), final_state(trainer, whole))
    assert best_step(parts) in saved(parts)


def test_a_run_without_progress_stops_and_says_so_when_started_again(tmp_path):
    trainer = unstable(stop_early=StopEarly(patience=2))
    listener = StopWhen()
    result = trainer.train(tmp_path, progress=listener)
    best = best_step(tmp_path)
    assert (result.step, result.finished) == (best + 8, True)
    why = "eval/loss is no better for 2 evaluations (best "
    assert any(
        line.startswith(f"stopping early at step {best + 8}: {why}")
        for line in listener.lines
    )
    before = (tmp_path / "metrics.jsonl").read_bytes()
    again = StopWhen()
    assert trainer.train(tmp_path, progress=again).finished
    (said,) = again.lines
    assert said.startswith(f"finished already: {tmp_path} stopped early at step ")
    assert (tmp_path / "metrics.jsonl").read_bytes() == before
    # Without it, the run goes on to what it would have been.
    unstable().train(tmp_path)
    unstable().train(tmp_path / "whole")
    assert lines_of(tmp_path) == lines_of(tmp_path / "whole")


def test_a_run_ends_where_a_metric_is_good_enough(tmp_path):
    make_trainer(eval_every=1).train(tmp_path / "whole")
    losses = {s: v["loss"] for s, v in evaluations(tmp_path / "whole", "eval").items()}
    goal = sorted(losses.values())[len(losses) // 2]
    first = min(step for step, loss in losses.items() if loss <= goal)
    at_the_end = Evaluator(coverage=First(1))
    result = make_trainer(
        eval_every=1,
        stop_early=StopEarly(reaches=goal),
        evaluators={"at_the_end": at_the_end},
    ).train(tmp_path / "run")
    assert (result.step, result.finished) == (first, True)
    assert list(evaluations(tmp_path / "run", "at_the_end")) == [first]
    assert saved(tmp_path / "run")[-1] == first


def test_a_metric_of_several_numbers_is_gone_by_by_its_part(tmp_path):
    class Parts(MeanLoss):
        def result(self, state):
            return {"half": super().result(state) / 2}

    changes = {"metrics": {"loss": Parts()}, "num_train_steps": 2, "eval_every": 1}
    goal = StopEarly(metric="eval/loss/half", reaches=1e9)
    result = make_trainer(stop_early=goal, **changes).train(tmp_path / "run")
    assert result.step == 1
    wrong = StopEarly(metric="eval/loss/haf", reaches=1e9)
    with pytest.raises(UserError) as refused:
        make_trainer(stop_early=wrong, **changes).train(tmp_path / "wrong")
    assert refused.value.lines == (
        "stop_early.metric='eval/loss/haf' is logged by no evaluator",
        "did you mean 'eval/loss/half'?",
        "name a number that is logged: eval/loss/half, eval/rows",
    )
    assert not (tmp_path / "wrong").exists()


def test_names_that_follow_from_what_was_counted_are_known_at_the_first_evaluation(
    tmp_path,
):
    class Unsure(MeanLoss):
        def result(self, state):
            shares = state["loss"]
            return {"half": math.log(super().result(state)) * len(shares)}

    wrong = StopEarly(metric="eval/loss/haf", reaches=1e9)
    changes = {"metrics": {"loss": Unsure()}, "num_train_steps": 2, "eval_every": 1}
    with pytest.raises(RunFailedError, match="no such number was logged"):
        make_trainer(stop_early=wrong, **changes).train(tmp_path)


@pytest.mark.parametrize("name", ['pr\u00e9cision "1"', "back\\slash"])
def test_a_run_goes_on_from_its_best_whatever_that_is_called(name, tmp_path):
    goal = KeepBest(metric=f"eval/{name}")
    trainer = unstable(metrics={name: MeanLoss()}, keep_best=goal, num_train_steps=16)
    trainer.train(tmp_path)
    best = json.loads((tmp_path / "best.json").read_text())
    assert best["step"] == 12
    dataclasses.replace(trainer, num_train_steps=24).train(tmp_path)
    assert json.loads((tmp_path / "best.json").read_text()) == best
    assert saved(tmp_path) == [12, 24]


def test_no_histogram_is_the_best(tmp_path):
    changes = {"metrics": {"h": Histogram()}, "eval_every": 1}
    goals = [{"keep_best": KeepBest(metric="eval/h")}, {}]
    trainers = [make_trainer(num_train_steps=2, **changes, **g) for g in goals]
    with pytest.raises(UserError, match="metric='eval/h' is a histogram"):
        trainers[0].train(tmp_path / "goal")
    assert not (tmp_path / "goal").exists()
    # One that was logged before the goal was set is none to go by either.
    trainers[1].train(tmp_path / "run")
    log = JsonLines()
    assert log.history(epath.Path(tmp_path / "run"), 2, "eval/h") == []
    found = trainers[1].evaluate(tmp_path / "run")
    assert json.loads(as_json(found))["eval/h"]["count"] == 97 * 3  # once a batch


def test_a_checkpoint_is_evaluated_as_its_run_did_and_nothing_is_changed(undisturbed):
    trainer, workdir, _ = undisturbed

    def contents():
        return {
            str(p): (p.stat().st_mtime_ns, p.read_bytes())
            for p in sorted(workdir.rglob("*"))
            if p.is_file()
        }

    before = contents()
    found = trainer.evaluate(workdir)
    assert contents() == before
    assert found.step == 22
    logged = {f"eval/{k}": v for k, v in evaluations(workdir, "eval")[22].items()}
    logged |= {
        f"rolling/{k}": v for k, v in evaluations(workdir, "rolling")[22].items()
    }
    for name in ("eval/loss", "eval/rows", "rolling/loss", "rolling/rows"):
        assert found.values[name] == logged[name], name
    assert found.values["quick/rows"] == 8


def test_a_checkpoint_that_is_not_there_is_told_from_those_that_are(undisturbed):
    trainer, workdir, _ = undisturbed
    with pytest.raises(UserError) as refused:
        trainer.evaluate(workdir, 11)
    steps = ", ".join(map(str, saved(workdir)))
    assert refused.value.lines == (
        f"{workdir} has no checkpoint of step 11",
        f"checkpoints: {steps}",
    )
    with pytest.raises(UserError, match="does not say which"):
        trainer.evaluate(workdir, "best")
    with pytest.raises(UserError, match="there is no checkpoint in"):
        trainer.evaluate(workdir / "elsewhere")


def test_evaluators_of_one_program_compile_once_each(tmp_path):
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **kwargs: (
            compiled.append(kwargs.get("fun_name"))
            if event.endswith("backend_compile_duration")
            else None
        )
    )
    evaluators = {"a": Evaluator(every=2), "b": Evaluator(every=3, coverage=First(1))}
    make_trainer(evaluators=evaluators, num_train_steps=7).train(tmp_path)
    names = [name for name in compiled if name]
    assert sum("eval_step" in name for name in names) == 1, names


def test_coverage_defaults_to_all_of_the_data():
    assert Evaluator().coverage == Epoch()


def test_averages_are_evaluated_unless_the_trained_parameters_are_asked_for(tmp_path):
    evaluators = {name: Evaluator(params=name) for name in ("ema", "live")}
    trainer = make_trainer(
        ema=Ema(decay=0.9), evaluators=evaluators, num_train_steps=5, eval_every=None
    )
    trainer.train(tmp_path)
    at_the_end = {n: evaluations(tmp_path, n)[5]["loss"] for n in ("eval", *evaluators)}
    assert at_the_end["eval"] == at_the_end["ema"] != at_the_end["live"]
    state = final_state(trainer, tmp_path)
    data = examples(21, seed=1)
    for name, params in (("ema", state.ema), ("live", state.params)):
        squares = (Mlp().apply({"params": params}, data["x"]) - data["labels"]) ** 2
        assert at_the_end[name] == pytest.approx(float(squares.mean()), rel=1e-5)
    found = trainer.evaluate(tmp_path)
    assert found.values["live/loss"] == at_the_end["live"]
    with pytest.raises(UserError, match="and the trainer keeps none"):
        make_trainer(evaluators=evaluators).train(tmp_path / "none")
