"""A prompt that the model cannot take is told before the run."""

from __future__ import annotations

import pathlib

import fiddle as fdl

import fdlkit
from fdlkit.targets.loading import load
from fdlkit.train.decode import GenerateText

ROOT = pathlib.Path(__file__).parents[2]


def test_prompts_that_do_not_fit_are_found_and_others_are_not():
    cfg = load(f"{ROOT / 'experiments' / 'lm.py'}:tiny")
    cfg.evaluators = {
        "fits": fdl.Config(GenerateText, prompts=["def "], every=20),
        "long": fdl.Config(GenerateText, prompts=["x" * 33], every=20),
    }
    found = fdlkit.check(cfg, levels=["config", "shapes"])
    [finding] = [f for f in found if "prompt" in f.text]
    assert finding.path == "evaluators['long']"
    assert finding.is_error
    assert "the prompt has 33 tokens" in finding.text
    assert not [f for f in found if f.is_error and f is not finding]
