"""An argument that a class does not take, behind **kwargs."""

from __future__ import annotations

import fiddle as fdl
from flax import nnx


def broken():
    return fdl.Config(nnx.Linear, in_features=2, out_featuers=3)
