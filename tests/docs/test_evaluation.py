"""docs/evaluation.md does what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fdlkit
from fdlkit.cli.main import main
from fdlkit.train.checkpoints import BEST_FILE

TEXT = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
BLOCKS = re.findall(r"```python\n(import .*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The page's experiment with a small model, run for a few steps."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "mine.py").write_text(BLOCKS[0])
    target, workdir = f"{folder / 'mine.py'}:watched", folder / "run"
    short = ["num_train_steps=20", "log_every=20", "eval_data.batch_size=1024"]
    small = ["model.hidden=32", "model.layers.n=1"]
    overrides = [f"--fdl_set={one}" for one in short + small]
    assert main(["train", target, f"--workdir={workdir}", *overrides]) == 0
    return workdir


def test_the_experiment_on_the_page_is_sound(run):
    cfg = fdlkit.load(str(run))
    assert [f for f in fdlkit.check(cfg) if f.code[:2] != "EN"] == []


def test_the_experiment_on_the_page_logs_what_the_page_says(run):
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    names = {name.partition("/")[0] for line in lines for name in line if "/" in name}
    assert {"eval", "quick", "seen"} <= names
    best = json.loads((run / BEST_FILE).read_text())
    shown = re.search(r"```json\n(.*?)\n```", TEXT)
    assert best.keys() == json.loads(shown[1]).keys()


def test_a_checkpoint_is_evaluated_as_on_the_page(run, capsys):
    typed = re.findall(r"^fdlkit train (.*) --eval_only(\S*)", TEXT, re.MULTILINE)
    assert [which for _, which in typed] == ["", "=best", "=1200"]
    said = []
    for which in ("", "=best", "=20"):
        command = ["train", str(run), f"--workdir={run}", f"--eval_only{which}"]
        assert main(command) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1] == said[2]
    assert said[0]["step"] == 20
    kept = json.loads((run / "evaluations" / "20.json").read_text())
    assert kept == said[0]
