"""Texts that are not on this machine."""

from __future__ import annotations

import fiddle as fdl

import fdlkit
from fdlkit.data.corpus import TextFiles


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    for data in (cfg.train_data, cfg.eval_data):
        data.source.corpus = fdl.Config(TextFiles, "nowhere/**/*.txt")
    cfg.eval_data.source.corpus.split = "eval"
    return cfg
