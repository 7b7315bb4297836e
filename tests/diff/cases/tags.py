"""Tags come and go."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Rate, Width, base


def old():
    cfg = base()
    fdl.add_tag(cfg.optimizer, "b1", Rate)
    return cfg


def new():
    cfg = base()
    fdl.add_tag(cfg.model, "hidden", Width)
    fdl.add_tag(cfg.optimizer, "learning_rate", Rate)
    return cfg
