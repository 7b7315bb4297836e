"""The training state in a checkpoint: the fields that hold something, by name.

What a run does not keep is not in its checkpoints, so that they are alike whatever
else a state may keep. A run goes on from one with more, or with less, than it keeps.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jax
import jax.numpy as jnp
from etils import epath

from fdlkit.train.nonfinite import SKIPPED
from fdlkit.train.state import TrainState

# Fields that a run may do without, and what is said where a checkpoint has none.
OPTIONAL = {
    "ema": "the average begins as the parameters are then",
    "loss_scale": "the loss scale begins as in a new run",
    "skipped": "skipped steps are counted from here",
}

# The file in a checkpoint's state that names its arrays.
METADATA_FILE = "_METADATA"


def as_saved(state: TrainState) -> dict[str, Any]:
    """The fields of a state (or of shapes, or layouts) that are not None, by name."""
    fields = {name: getattr(state, name) for name in state.__dataclass_fields__}
    return {name: value for name, value in fields.items() if value is not None}


def saved_fields(folder: epath.Path) -> frozenset[str]:
    """The fields of a state that was saved.

    Args:
      folder: The folder `state` of a checkpoint.
    """
    metadata = json.loads((folder / METADATA_FILE).read_text())
    return frozenset(
        str(array["key_metadata"][0]["key"])
        for array in metadata["tree_metadata"].values()
    )


def as_there(state: TrainState, fields: frozenset[str], *, scalar: Any) -> TrainState:
    """What is to be read in place of a state: it has what the checkpoint has.

    Args:
      state: Abstract arrays with their shardings.
      fields: What the checkpoint has.
      scalar: The sharding of what is no parameter.
    """

    def small(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=scalar)

    usual = {
        "ema": state.params,
        "loss_scale": small((2,), jnp.float32),
        "skipped": small((len(SKIPPED),), jnp.int32),
    }
    changes = {
        name: usual[name] if name in fields else None
        for name in OPTIONAL
        if (name in fields) != (getattr(state, name) is not None)
    }
    return dataclasses.replace(state, **changes)


def told_of_fields(fields: frozenset[str], like: TrainState) -> dict[str, str]:
    """What is to be said of a checkpoint that has other fields than a run keeps.

    Args:
      fields: What the checkpoint has.
      like: What the run keeps, abstract or not.

    Returns:
      A line by the field's name; nothing for a checkpoint that is as the run's own.
    """
    lines = {}
    for name, begins in OPTIONAL.items():
        keeps = getattr(like, name) is not None
        if keeps and name not in fields:
            lines[name] = f"the checkpoint has no {name}: {begins}"
        elif name in fields and not keeps:
            lines[name] = f"the checkpoint's {name} is left out: this run keeps none"
    return lines
