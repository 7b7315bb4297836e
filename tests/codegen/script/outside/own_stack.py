"""A module that holds others."""

from __future__ import annotations

import flax.linen as nn


class Stack(nn.Module):
    """Layers, one after the other."""

    width: int
    layers: list
    norm: object = None
    extra: object = None

    @nn.compact
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x[:, 0]
