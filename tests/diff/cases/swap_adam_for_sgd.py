"""Another optimizer, which has one argument in common with the old one."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import base, sgd


def old():
    return base()


def new():
    cfg = base()
    cfg.optimizer = fdl.Config(sgd, learning_rate=1e-3, momentum=0.9)
    return cfg
