"""A value follows otherwise."""

from __future__ import annotations

from fdlkit.graph.references import ref
from tests.diff.house import base


def old():
    return base()


def new():
    cfg = base()
    cfg.model.embed.features = ref("^hidden") // 2
    cfg.model.output.features = ref("model.hidden")
    return cfg
