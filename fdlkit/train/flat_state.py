"""A training step whose state is one flat dict, for the loop's sake."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from fdlkit.train.setup import Setup
from fdlkit.train.state import TrainState

Flat = dict[str, Any]


class FlatState:
    """How a training state becomes one flat dict, and back.

    Each call of a compiled function walks over all containers of its arguments and
    makes those of its results anew. For a few dozen small arrays in nested dicts,
    tuples and dataclasses, that takes a quarter of the host's time for a step. In one
    dict it takes a fifth of that, and each array still has its name in what XLA
    tells of memory.
    """

    def __init__(self, like: TrainState):
        """Of states of this structure; its leaves may be anything."""
        found, structure = jax.tree.flatten_with_path(like)
        self._structure: Any = structure
        digits = len(str(len(found)))
        # JAX sorts a dict by its names: the number first keeps the leaves' own order.
        self._names = [
            f"{i:0{digits}} {jax.tree_util.keystr(path, simple=True, separator='/')}"
            for i, (path, _) in enumerate(found)
        ]

    def flatten(self, state: TrainState) -> Flat:
        """The leaves by number and path."""
        leaves = self._structure.flatten_up_to(state)
        return dict(zip(self._names, leaves, strict=True))

    def unflatten(self, flat: Flat) -> TrainState:
        """The state that has these leaves."""
        return self._structure.unflatten([flat[name] for name in self._names])

    def setup_of(self, setup: Setup) -> Setup:
        """A setup whose training step is of and to flat states, for that step alone.

        Args:
          setup: Of states of this structure.
        """

        def train_step(flat: Flat, *rest: Any) -> tuple[Flat, jax.Array, Any]:
            state, report, measured = setup.train_step(self.unflatten(flat), *rest)
            return self.flatten(state), report, measured

        shapes: dict[str, Any] = {"state": self.flatten(setup.state)}
        changed: dict[str, Any] = {
            "train_step": train_step,
            "shapes": dataclasses.replace(setup.shapes, **shapes),
            "shardings": self.flatten(setup.shardings),
        }
        return dataclasses.replace(setup, **changed)
