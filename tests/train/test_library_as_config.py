"""An experiment of all losses and metrics: checked, kept as JSON, written as code."""

from __future__ import annotations

import copy
import json
import math
import sys
import types

import pytest

import fdlkit
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from fdlkit.targets.loading import load
from tests.codegen.script.conftest import OUTSIDE

TARGET = f"{OUTSIDE / 'all_metrics.py'}:base"


@pytest.fixture(scope="module")
def cfg():
    return load(TARGET)


@pytest.fixture(scope="module")
def numbers(cfg, tmp_path_factory):
    """What the last evaluation and the last log point of a run came to."""
    folder = tmp_path_factory.mktemp("run")
    build(cfg).train(folder)
    return logged(folder)


def logged(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return {name: x for line in lines for name, x in json.loads(line).items()}


def test_check_finds_nothing_wrong_with_it(cfg):
    assert [f.code for f in fdlkit.check(cfg) if f.severity != "info"] == []


def test_a_wrong_axis_of_a_metric_is_found_with_its_path(cfg):
    wrong = copy.deepcopy(cfg)
    wrong.metrics["taken_for"].num_classes = 5
    (finding,) = [f for f in fdlkit.check(wrong) if f.code == "SH005"]
    assert finding.path == "metrics['taken_for']"
    assert "axis logits[-1] is 4, not 5, which is `{self.num_classes}`" in finding.text


def test_it_is_the_same_after_json(cfg):
    text = fdlkit.dumps(cfg)
    assert equal(fdlkit.loads(text, allow=(cfg.model.__fn_or_cls__.__module__,)), cfg)


@pytest.mark.parametrize("style", ["build", "fiddle", "script"])
def test_it_is_written_as_code(cfg, style):
    text = fdlkit.codegen(cfg, style=style)
    for name in ("MaskedLanguageModel", "ConfusionMatrix", "SkipNan", "TreeNorm"):
        assert name in text
    compile(text, "written.py", "exec")
    if style == "script":
        assert "jaxtyping" not in text and "ContextVar" not in text
        module = types.ModuleType("written_script")
        sys.modules["written_script"] = module
        exec(text, vars(module))


def test_a_run_logs_each_of_them(cfg, numbers):
    shares = ("eval/accuracy", "eval/sure", "eval/top2", "eval/auc")
    assert all(0 <= numbers[name] <= 1 for name in shares)
    assert numbers["eval/accuracy"] == numbers["eval/sure"] <= numbers["eval/top2"]
    counts = [numbers[f"eval/count/{i}"] for i in range(4)]
    rows = [sum(numbers[f"eval/taken_for/{i}/{j}"] for j in range(4)) for i in range(4)]
    assert counts == rows and sum(counts) == 40
    right = sum(numbers[f"eval/taken_for/{i}/{i}"] for i in range(4))
    assert numbers["eval/accuracy"] == right / 40
    assert numbers["train/params"] > 0 and numbers["train/grads"] > 0
    assert all(map(math.isfinite, numbers.values()))


def test_all_batch_sizes_of_an_evaluation_give_the_same_counts(cfg, numbers, tmp_path):
    other = copy.deepcopy(cfg)
    other.eval_data.batch_size = 8
    build(other).train(tmp_path)
    again = logged(tmp_path)
    evaluated = [name for name in numbers if name.startswith("eval/")]
    assert evaluated
    for name in evaluated:
        assert again[name] == pytest.approx(numbers[name], rel=1e-6), name
