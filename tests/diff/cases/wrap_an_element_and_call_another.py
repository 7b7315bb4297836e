"""One of equal elements is inside another node now, which is like one that changed."""

from __future__ import annotations

import fiddle as fdl

from tests.diff.house import Average, Experiment, Norm, base


def old():
    cfg = base()
    norms = [fdl.Config(Norm, epsilon=0.5) for _ in range(3)]
    last = fdl.Config(Average, model=fdl.Config(Norm, epsilon=0.5))
    cfg.model = fdl.Config(Average, model=[*norms, last])
    cfg.extra = [last]
    return cfg


def new():
    cfg = old()
    elements = cfg.model.model
    elements[0] = fdl.Config(Average, model=elements[0], decay=0.9)
    fdl.update_callable(elements[3], Experiment)
    return cfg
