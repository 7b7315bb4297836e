"""Evaluation reads other tokens than training."""

from __future__ import annotations

import dataclasses

import fiddle as fdl

import fdlkit
from fdlkit.data.tokenizer import ByteTokenizer


@dataclasses.dataclass(frozen=True)
class Lower(ByteTokenizer):
    """Bytes of the text in small letters."""

    @property
    def name(self):
        return "lower"


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.eval_data.source.tokenizer = fdl.Config(Lower)
    return cfg
