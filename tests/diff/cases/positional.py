"""An element more among positional arguments."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import base, chain, clip


def old():
    cfg = base()
    cfg.optimizer = fdl.Config(chain, cfg.optimizer)
    return cfg


def new():
    cfg = base()
    cfg.optimizer = fdl.Config(chain, fdl.Config(clip, 1.0), cfg.optimizer)
    return cfg
