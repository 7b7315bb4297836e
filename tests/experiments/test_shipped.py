"""The shipped experiments do what their files say; their tiny twins train."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import fdlkit
from fdlkit.cli import main as cli
from fdlkit.testing import check_golden

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
NAMES = ("transformer", "digits", "regression", "bpe_lm")


def load(name: str):
    return fdlkit.load(
        f"{EXPERIMENTS / name.partition(':')[0]}.py:{name.partition(':')[2]}"
    )


def size(trainer) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(trainer.shapes().state.params))


def last_values(workdir: Path) -> dict[str, float]:
    """Each number's last value."""
    values: dict[str, float] = {}
    for line in (workdir / "metrics.jsonl").read_text().splitlines():
        values |= json.loads(line)
    return values


@pytest.mark.parametrize(
    ("target", "parameters"),
    [("transformer:base", 2_417_536), ("transformer:base(head_dim=32)", 1_626_496)],
)
def test_the_decoder_of_haikus_example_has_exactly_its_parameters(target, parameters):
    assert size(fdlkit.build(load(target))) == parameters


def test_the_decoder_has_the_settings_of_haikus_example():
    cfg = load("transformer:base")
    assert (cfg.seed, cfg.model.positions.length) == (428, 64)
    assert cfg.optimizer[0].max_norm == 1.0
    adam = cfg.optimizer[1]
    assert (adam.learning_rate, adam.b1, adam.b2) == (3e-4, 0.9, 0.99)
    assert cfg.model.layers.block.dropout == 0.1
    assert cfg.model.output is not cfg.model.embed
    trainer = fdlkit.build(cfg)
    params = fdlkit.build(load("transformer:tiny")).init_state().params
    deviation = np.std(np.asarray(params["embed"]["embedding"]))
    # A normal of 0.02 that is cut at twice that has this deviation.
    assert deviation == pytest.approx(0.02 * 0.8796, rel=0.05)
    attention = params["layers"]["block"]["attention"]
    fan_in = attention["out"]["kernel"].shape[1] * attention["out"]["kernel"].shape[2]
    expected = np.sqrt(2 / 2 / fan_in)
    assert np.std(attention["out"]["kernel"]) == pytest.approx(expected, rel=0.15)
    assert trainer.model.layers.block.attention.rotary is None


def test_no_gradient_comes_from_predicting_padding():
    trainer = fdlkit.build(load("transformer:tiny"))
    batches = trainer.train_data.batches()
    batch = next(b for b in batches if b["mask"].min() == 0)
    losses = []
    for fill in (0, 7):
        padded = {**batch, "labels": np.where(batch["mask"] > 0, batch["labels"], fill)}
        _, report = trainer.step(trainer.init_state(), padded)
        losses.append((float(report["loss"]), float(report["grad_norm"])))
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", NAMES)
def test_check_has_no_finding(name):
    for function in ("base", "tiny"):
        assert fdlkit.check(load(f"{name}:{function}")) == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_as_kept(name):
    check_golden(f"{EXPERIMENTS / name}.py:base")


@pytest.mark.parametrize(
    "name",
    [
        # What takes longest to compile or to learn its tokens.
        pytest.param(name, marks=pytest.mark.slow)
        if name in ("transformer", "bpe_lm")
        else name
        for name in NAMES
    ],
)
def test_the_tiny_twin_trains_and_the_loss_falls(name, tmp_path):
    trainer = fdlkit.build(load(f"{name}:tiny"))
    trainer.train(tmp_path)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines if '"loss"' in line]
    assert losses[-1] < losses[0]
    assert np.isfinite(last_values(tmp_path)["eval/loss"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_becomes_a_program_that_trains_to_the_same_bits(name, tmp_path, monkeypatch):
    monkeypatch.chdir(EXPERIMENTS.parent)
    out = tmp_path / "script.py"
    # The command proves it; a proof that fails leaves no file.
    assert cli.main(["codegen", f"experiments/{name}.py:tiny", f"--out={out}"]) == 0
    assert "import fdlkit" not in out.read_text()


def test_the_regression_is_below_one_hundredth_in_300_steps(tmp_path):
    trainer = fdlkit.build(load("regression:base"))
    assert trainer.num_train_steps == 300
    trainer.train(tmp_path)
    values = last_values(tmp_path)
    assert values["loss"] < 0.01
    assert values["eval/loss"] < 0.01
    assert values["eval/within_tolerance"] > 0.9
    assert values["train/layer_norm"] > 0


def test_the_regressions_schedule_follows_the_number_of_steps():
    cfg = load("regression:base")
    peaks = {}
    for steps in (300, 1000):
        cfg.num_train_steps = steps
        rate = fdlkit.build(cfg).learning_rate
        peaks[steps] = max(range(steps), key=lambda step: float(rate(step)))
    assert peaks == {300: 30, 1000: 100}


def test_the_digits_are_recognised(tmp_path):
    fdlkit.build(load("digits:base")).train(tmp_path)
    assert last_values(tmp_path)["eval/accuracy"] >= 0.97


def test_the_byte_pairs_are_learned_from_what_is_trained_on_alone():
    cfg = load("bpe_lm:base")
    tokenizer = cfg.train_data.source.tokenizer
    assert tokenizer.corpus.split == "train"
    assert cfg.eval_data.source.tokenizer is tokenizer
    assert cfg.eval_data.source.corpus.split == "eval"
