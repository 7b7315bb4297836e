"""The order of an ordered dict counts."""

from __future__ import annotations

import collections

from tests.diff.house import base


def old():
    cfg = base()
    cfg.extra = collections.OrderedDict(a=1, b=2)
    return cfg


def new():
    cfg = base()
    cfg.extra = collections.OrderedDict(b=2, a=1, c=3)
    return cfg
