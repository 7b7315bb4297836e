"""Rules with a mesh axis that is not there, one twice, and a rule that is none."""

from __future__ import annotations

import fdlkit


def broken():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.rules = (
        ("batch", ("data", "data")),
        ("embed", "fspd"),
        ("vocab", "mdl"),
        "time",
        *((name, None) for name in ("layers", "heads", "kv_heads", "mlp", "head_dim")),
    )
    return cfg
