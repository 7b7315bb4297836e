"""`fdlkit train --eval_only`: what it prints, keeps, leaves alone and refuses."""

from __future__ import annotations

import json
import shutil

import pytest

from fdlkit.cli.main import main
from fdlkit.train.stop import Stop

TARGET = "tests/run/several.py:base"
STEPS = "--fdl_set=num_train_steps=8"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("trained") / "run"
    assert main(["train", TARGET, f"--workdir={workdir}", STEPS]) == 0
    return workdir


@pytest.fixture
def workdir(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def contents(workdir):
    return {
        str(path.relative_to(workdir)): path.read_bytes()
        for path in workdir.rglob("*")
        if path.is_file() and path.parent.name != "evaluations"
    }


def evaluate(workdir, *flags, target=TARGET):
    return main(["train", target, f"--workdir={workdir}", STEPS, *flags])


def logged_at(workdir, step):
    found = {}
    for line in (workdir / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["step"] == step:
            found |= {k: v for k, v in entry.items() if "/" in k}
    return found


def test_the_last_checkpoint_is_evaluated_as_the_run_did(workdir, capsys):
    before = contents(workdir)
    assert evaluate(workdir, "--eval_only") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found == {"step": 8} | logged_at(workdir, 8)
    assert "evaluating step 8 (eval)" in err
    assert contents(workdir) == before
    assert (workdir / "evaluations" / "8.json").read_text() == out


def test_the_best_or_any_checkpoint_can_be_meant(workdir, capsys):
    best = json.loads((workdir / "best.json").read_text())
    assert evaluate(workdir, "--eval_only=best") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["step"] == best["step"]
    assert found[best["metric"]] == best["value"]
    assert evaluate(workdir, f"--eval-only={best['step']}") == 0
    assert json.loads(capsys.readouterr().out) == found


def test_what_is_evaluated_may_be_another_than_the_runs(workdir, capsys):
    changes = ("--fdl_set=eval_data.batch_size=6", "--fdl_set=~evaluators")
    changes += ("--fdl_set=~keep_best",)
    assert evaluate(workdir, "--eval_only", *changes) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"step", "eval/loss", "eval/accuracy", "eval/rows"}
    assert found["eval/accuracy"] == logged_at(workdir, 8)["eval/accuracy"]


def test_a_dry_run_evaluates_nothing(workdir, capsys):
    assert evaluate(workdir, "--eval_only", "--dry_run") == 0
    assert capsys.readouterr().out == ""
    assert not (workdir / "evaluations").exists()


def test_what_was_stopped_wrote_nothing(workdir, monkeypatch, capsys):
    from fdlkit.run import evaluating

    stop = Stop()
    stop.request(15)
    import fdlkit

    cfg = fdlkit.load(TARGET)
    code, line = evaluating.evaluate(
        cfg, target=TARGET, directory=str(workdir), which="last", stop=stop
    )
    assert (code, line) == (75, "")
    assert not (workdir / "evaluations").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--eval_only=3"], ["has no checkpoint of step 3", "checkpoints: "]),
        (["--eval_only=bset"], ["it is a step, or one of last, best", "'best'"]),
        (["--eval_only", "--fresh"], ["--fresh would throw away the run"]),
        (
            ["--eval_only", "--fdl_set=optimizer.learning_rate=1.0"],
            ["holds a run of another config", "optimizer.learning_rate: 0.05 there"],
        ),
        (
            [
                "--eval_only",
                "--fdl_set=eval_data=None",
                "--fdl_set=~evaluators",
                "--fdl_set=~keep_best",
                "--fdl_set=~stop_early",
                "--check=off",
            ],
            ["there is nothing to evaluate on"],
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(flags, said, workdir, capsys):
    before = contents(workdir)
    assert evaluate(workdir, *flags) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(text in err for text in said), err
    assert contents(workdir) == before


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert evaluate(tmp_path / "none", "--eval_only") == 2
    assert "there is no checkpoint in" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
