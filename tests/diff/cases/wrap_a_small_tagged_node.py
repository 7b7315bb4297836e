"""A small node with a tag is inside another one of its class now."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, Norm, Rate, base


def old():
    cfg = base()
    cfg.extra = fdl.Config(Average, model=fdl.Config(Norm, epsilon=0.5))
    fdl.add_tag(cfg.extra, "model", Rate)
    return cfg


def new():
    cfg = old()
    cfg.extra = fdl.Config(Average, model=cfg.extra, decay=0.9)
    return cfg
