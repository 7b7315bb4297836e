"""A default that was changed by way of a config."""

from __future__ import annotations

import fiddle as fdl


def widths(sizes=[8, 16]):  # noqa: B006 - the very mistake
    return list(sizes)


def broken():
    cfg = fdl.Config(widths)
    if 32 not in cfg.sizes:
        cfg.sizes.append(32)
    return cfg
