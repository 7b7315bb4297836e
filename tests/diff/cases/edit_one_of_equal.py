"""One of three equal blocks, which another node shares, has another value now."""

from __future__ import annotations

from tests.diff.house import base, block


def old():
    cfg = base()
    cfg.model.blocks = [block(128), *(block(256) for _ in range(3)), block(512)]
    cfg.extra = {"first": cfg.model.blocks[1]}
    return cfg


def new():
    cfg = old()
    cfg.model.blocks[0].heads = 8
    cfg.model.blocks[1].heads = 2
    cfg.model.blocks[4].heads = 8
    return cfg
