"""`fdlkit sample` and `fdlkit.sample`: a run writes, or says why it does not."""

from __future__ import annotations

import io
import json
import os
import pathlib
import shutil
import sys
from typing import Any

import fiddle as fdl
import optax
import pytest

import fdlkit
from fdlkit.cli.main import main
from fdlkit.data.corpus import TextFiles
from fdlkit.errors import UserError
from fdlkit.run import launch
from fdlkit.sample.opening import open_run
from fdlkit.targets.loading import load
from fdlkit.train.checkpoints import Checkpoints
from fdlkit.train.decode import GenerateText
from fdlkit.train.ema import Ema
from fdlkit.train.goals import KeepBest
from fdlkit.train.stop import Stop
from tests.train import toys

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """A cache of this module's own, in which one test finds what another compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def config(text: pathlib.Path) -> fdl.Config:
    """`experiments/lm.py:tiny` on one short text, for three steps."""
    cfg = load(f"{ROOT / 'experiments' / 'lm.py'}:tiny")
    cfg.train_data.source.corpus = fdl.Config(TextFiles, glob=str(text), split="train")
    cfg.eval_data = None
    cfg.num_train_steps = 3
    cfg.checkpoints.every = 2
    cfg.writers = []
    return cfg


def trained(cfg: fdl.Config, workdir: pathlib.Path) -> pathlib.Path:
    """The folder of a run of a config, to its end."""
    code = launch.train(
        cfg,
        target="lm.py:tiny",
        argv=(),
        directory=str(workdir),
        stop=Stop(),
        check="off",
        stream=io.StringIO(),
    )
    assert code == 0
    return workdir


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory) -> pathlib.Path:
    """A run with checkpoints of steps 2 and 3."""
    folder = tmp_path_factory.mktemp("runs")
    text = folder / "text.txt"
    text.write_text("def f(x):\n    return x\n" * 400)
    workdir = folder / "demo"
    trained(config(text), workdir)
    text.unlink()  # nothing of the data is needed any more
    return workdir


def written(capsys: Any, *argv: str) -> str:
    assert main(["sample", *argv]) == 0
    return capsys.readouterr().out


def test_a_run_goes_on_from_a_prompt_and_says_the_same_again(run_dir, capsys):
    argv = [str(run_dir), "--prompt=def ", "--max_tokens=40", "--seed=3"]
    text = written(capsys, *argv)
    assert text.startswith("def ")
    assert text.endswith("\n")
    assert len(text.encode()) >= 40
    assert written(capsys, *argv) == text
    assert written(capsys, *argv[:3], "--seed=4") != text


def test_json_and_python_tell_the_same_texts_whole(run_dir, capsys):
    argv = [str(run_dir), "--prompt=def ", "--prompt=x", "--num_samples=2"]
    said = json.loads(
        written(capsys, *argv, "--max_tokens=5", "--top_k=40", "--format=json")
    )
    assert said["schema"] == "fdlkit.sample/1"
    assert (said["step"], said["top_k"], said["top_p"]) == (3, 40, None)
    assert said["cached"] is True
    rows = fdlkit.sample(
        str(run_dir), ["def ", "x"], num_samples=2, max_tokens=5, top_k=40
    )
    assert said["samples"] == [
        {
            "prompt": row.prompt,
            "text": row.text,
            "tokens": row.tokens,
            "finish": row.finish,
        }
        for row in rows
    ]
    assert [row.prompt for row in rows] == ["def ", "def ", "x", "x"]
    [alone] = fdlkit.sample(str(run_dir), "x", max_tokens=5, top_k=40)
    assert alone.tokens == rows[2].tokens


def test_several_texts_are_written_one_below_the_other(run_dir, capsys):
    argv = [str(run_dir), "--prompt=a", "--prompt=b", "--max_tokens=3"]
    lines = written(capsys, *argv, "--temperature=0").splitlines()
    assert lines[0] == "--- 1 of 2"
    assert lines[1].startswith("a")
    second = lines.index("--- 2 of 2")
    assert lines[second + 1].startswith("b")


def test_a_checkpoint_is_chosen_by_its_step(run_dir):
    named = {"max_tokens": 3, "temperature": 0.0}
    last, third, second = (
        fdlkit.sample(str(run_dir), "def ", step=step, **named)[0].tokens
        for step in ("last", 3, 2)
    )
    assert last == third
    two, three = (
        open_run(load(str(run_dir)), str(run_dir), step=step) for step in (2, 3)
    )
    assert two.step == 2
    assert (
        two.variables["params"]["embed"]["embedding"]
        != three.variables["params"]["embed"]["embedding"]
    ).any()
    assert len(second) == 3


def test_the_parameters_are_those_that_the_run_saved(run_dir):
    trainer = fdlkit.build(load(str(run_dir)))
    setup = trainer.setup
    with Checkpoints(run_dir / "checkpoints", trainer.checkpoints) as checkpoints:
        state, _ = checkpoints.restore(3, like=setup.state, shardings=setup.shardings)
    model = open_run(load(str(run_dir)), str(run_dir))
    equal = optax.tree.sub(model.variables["params"], state.params)
    assert float(optax.tree.norm(equal)) == 0.0


def test_a_prompt_may_come_from_stdin(run_dir, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"def \xc3\xa9\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    argv = [str(run_dir), "--prompt=-", "--max_tokens=2", "--format=json"]
    [told] = json.loads(written(capsys, *argv))["samples"]
    assert told["prompt"] == "def é\n"


class Terminal(io.StringIO):
    """Says that it is one, and keeps what was there at each flush."""

    def __init__(self):
        super().__init__()
        self.seen: list[str] = []

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.seen.append(self.getvalue())


def test_a_terminal_gets_text_as_it_comes_and_nothing_that_acts_on_it(
    run_dir, monkeypatch
):
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    argv = ["sample", str(run_dir), "--prompt=\x1b[31m", "--max_tokens=30"]
    assert main([*argv, "--temperature=9"]) == 0
    text = stream.getvalue()
    assert text.startswith("\\x1b[31m")
    assert all(c in "\n\t" or c.isprintable() for c in text)
    lengths = [len(seen) for seen in stream.seen]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 10


def test_a_pipe_gets_text_as_it_is(run_dir, capsys):
    argv = [str(run_dir), "--prompt=\x1b[31m", "--max_tokens=1"]
    assert written(capsys, *argv).startswith("\x1b[31m")


def spoilt(run_dir: pathlib.Path, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Runs that cannot be sampled from, beside one that can."""
    runs = {}
    for name in ("good", "unsaved", "damaged"):
        runs[name] = folder / name
        shutil.copytree(run_dir, runs[name])
    shutil.rmtree(runs["unsaved"] / "checkpoints")
    for path in (runs["damaged"] / "checkpoints" / "3" / "state").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "empty").mkdir()
    return runs


REFUSED = [
    "sample good",
    "sample goood --prompt=x",
    "sample empty --prompt=x",
    "sample unsaved --prompt=x",
    "sample good --prompt=x --step=4",
    "sample good --prompt=",
    f"sample good --prompt={'x' * 33}",
    "sample good --prompt=\udcff",
    "sample good --prompt=-",
    "sample good --prompt=x --top_p=1.5",
    "sample good --prompt=x --top_k=0",
    "sample good --prompt=x --temperature=-1",
    "sample damaged --prompt=x",
    "sample good --prompt=x --fdl_set=inputs={'tokens':'batch.labels'}",
    "sample good --prompt=x --fdl_set=model.hiden=3",
    "sample good --prompt=x --fdl_set=model.layers.block.mlp.width=64",
]


def test_what_is_refused_is_as_in_the_golden_file(
    run_dir, tmp_path, golden, capsys, monkeypatch
):
    spoilt(run_dir, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    said = []
    for line in REFUSED:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\xff")))
        code = main(line.split(" "))
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), line
        shown = line.encode("utf-8", "backslashreplace").decode()
        said.append(f"$ fdlkit {shown}\n{err}[exit {code}]\n")
    text = "\n".join(said).replace(str(tmp_path), "<folder>")
    assert "Traceback" not in text
    golden("sample/refused", text)


def test_a_checkpoint_whose_arrays_are_gone_is_refused(run_dir, tmp_path):
    workdir = tmp_path / "damaged"
    shutil.copytree(run_dir, workdir)
    for path in (workdir / "checkpoints" / "3" / "state").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    with pytest.raises(UserError) as caught:
        open_run(load(str(workdir)), str(workdir))
    first, cause, *_, last = caught.value.lines
    assert first.startswith("the checkpoint of step 3 in ")
    assert first.endswith(" could not be read")
    assert "Error: " in cause
    assert last == "other checkpoints: 2"


def test_the_run_of_no_language_model_is_refused(tmp_path):
    workdir = tmp_path / "regression"
    trainer = toys.make_trainer(num_train_steps=1)
    trainer.train(workdir)
    cfg = fdl.Config(toys.make_trainer, num_train_steps=1)
    with pytest.raises(UserError, match="no language model\ntrain_data: its examples"):
        open_run(cfg, str(workdir))
    with pytest.raises(UserError, match=r"is not the run of an experiment: .* dict"):
        open_run(fdl.Config(dict), str(workdir))


def test_a_run_on_other_devices_is_sampled_on_one(run_dir):
    cfg = load(str(run_dir))
    cfg.mesh.ici.data = 64
    model = open_run(cfg, str(run_dir))
    assert model.mesh.size == 1
    [note] = model.notes
    assert note.startswith("on one device: mesh.ici (data=64) does not fit")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"prompts": []}, "no prompt"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"num_samples": 0}, "num_samples=0"),
        ({"top_p": 2.0}, "top_p=2"),
    ],
)
def test_numbers_of_python_are_refused_alike(run_dir, named, why):
    with pytest.raises(UserError, match=why):
        fdlkit.sample(str(run_dir), **({"prompts": "x"} | named))


@pytest.fixture(scope="module")
def best_run(tmp_path_factory) -> pathlib.Path:
    """A run that keeps averages, writes texts, and has its best checkpoint first."""
    folder = tmp_path_factory.mktemp("best")
    text = folder / "text.txt"
    text.write_text("def f(x):\n    return x\n" * 400)
    cfg = config(text)
    cfg.ema = fdl.Config(Ema, decay=0.5)
    cfg.checkpoints.every = 1
    write = fdl.Config(GenerateText, prompts=["def ", "x"], max_tokens=4, every=1)
    cfg.evaluators = {"text": write}
    cfg.keep_best = fdl.Config(KeepBest, metric="text/ended", mode="max")
    workdir = folder / "run"
    return trained(cfg, workdir)


def test_the_best_checkpoint_is_the_one_that_the_run_noted(best_run, capsys):
    best = json.loads((best_run / "best.json").read_text())["step"]
    assert best == 1 != max(map(int, os.listdir(best_run / "checkpoints")))
    argv = [str(best_run), "--prompt=def ", "--max_tokens=3", "--format=json"]
    said = json.loads(written(capsys, *argv, "--step=best"))
    assert said["step"] == best
    assert said == json.loads(written(capsys, *argv, f"--step={best}"))


def test_where_a_run_keeps_averages_they_write(best_run):
    trainer = fdlkit.build(load(str(best_run)))
    setup = trainer.setup
    with Checkpoints(best_run / "checkpoints", trainer.checkpoints) as checkpoints:
        state, _ = checkpoints.restore(3, like=setup.state, shardings=setup.shardings)
    model = open_run(load(str(best_run)), str(best_run))
    for tree, is_it in ((state.ema, True), (state.params, False)):
        rest = optax.tree.sub(model.variables["params"], tree)
        assert (float(optax.tree.norm(rest)) == 0.0) is is_it


def test_a_checkpoint_that_is_evaluated_alone_writes_the_texts_of_the_run(
    best_run, tmp_path, capsys
):
    workdir = shutil.copytree(best_run, tmp_path / "run")
    assert main(["train", str(workdir), f"--workdir={workdir}", "--eval_only=2"]) == 0
    told = capsys.readouterr().err
    of_run = [json.loads(one) for one in (workdir / "samples.jsonl").open()]
    alone = [
        json.loads(one) for one in (workdir / "evaluations" / "2.samples.jsonl").open()
    ]
    assert alone == [one for one in of_run if one["step"] == 2]
    assert [one["prompt"] for one in alone] == ["def ", "x"]
    assert f"text: {alone[0]['prompt'] + alone[0]['text']!r}" in told
