"""What was built is made at each call now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.optimizer = fdl.cast(fdl.Partial, cfg.optimizer)
    return cfg
