"""Steps whose loss or gradient is not finite: left out, and counted."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from fdlkit.errors import UserError

# What `TrainState.skipped` counts, [len(SKIPPED)] int32.
SKIPPED = ("in_window", "in_a_row", "in_all")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SkipNonfinite:
    """A step whose loss or gradient is not finite makes no update.

    Parameters, the optimizer's state, the model's other variables and averages stay
    what they were. The step counts as one of the run's, and what is logged is a mean
    without it.

    Unlike `optax.apply_if_finite` it looks at the loss too, and does not at last
    apply what is not finite: it ends the run.

    Attributes:
      most_in_a_row: More of them one after another end the run.
    """

    most_in_a_row: int = 10

    def __post_init__(self) -> None:
        if self.most_in_a_row < 1:
            raise UserError(
                f"most_in_a_row={self.most_in_a_row} of a SkipNonfinite: it counts "
                "steps, so at least 1",
                "skip_nonfinite=None ends the run at the first one",
            )


def no_skips() -> jax.Array:
    """The counts before step 1."""
    return jnp.zeros(len(SKIPPED), jnp.int32)


def count_skips(
    skipped: jax.Array, finite: jax.Array, *, new_window: jax.Array
) -> jax.Array:
    """The counts after a step.

    Args:
      skipped: The counts before it.
      finite: Whether the step was, [] bool.
      new_window: Whether it is the first one after a log point, [] bool.
    """
    in_window, in_a_row, in_all = skipped
    skips = (~finite).astype(jnp.int32)
    return jnp.stack(
        [
            jnp.where(new_window, 0, in_window) + skips,
            jnp.where(finite, 0, in_a_row + 1),
            in_all + skips,
        ]
    )


def if_finite(finite: jax.Array, new: Any, old: Any) -> Any:
    """The new tree after a finite step, and the old one, to the bit, after another."""
    return jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
