"""The training state in a checkpoint: the fields that hold something, by name.

What a run does not keep is not in its checkpoints, so that they are alike whatever
else a state may keep. A run goes on from one with more, or with less, than it keeps.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
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

# What is said where a checkpoint's sums are those of other losses.
OTHER_WINDOW = (
    "the checkpoint's sums are of other losses: the means of the next log point begin "
    "here"
)

# The file in a checkpoint's state that names its arrays.
METADATA_FILE = "_METADATA"

# What a checkpoint's metadata calls the types and shapes of its arrays. Orbax's own
# metadata holds the shapes in which arrays were written, which are those of parts.
ARRAYS = "fdlkit.arrays"


def as_saved(state: TrainState) -> dict[str, Any]:
    """The fields of a state (or of shapes, or layouts) that are not None, by name."""
    fields = {name: getattr(state, name) for name in state.__dataclass_fields__}
    return {name: value for name, value in fields.items() if value is not None}


def saved_fields(folder: epath.Path) -> frozenset[str]:
    """The fields of a state that was saved.

    Args:
      folder: The folder `state` of a checkpoint.
    """
    return frozenset(
        str(array["key_metadata"][0]["key"])
        for array in _metadata(folder)["tree_metadata"].values()
    )


def saved_window(folder: epath.Path) -> int | None:
    """How many sums the window of a state has that was saved; None: it is not said.

    Args:
      folder: The folder `state` of a checkpoint.
    """
    arrays = _saved_arrays(folder)
    return int(arrays["window"][1]) if "window" in arrays else None


def other_arrays(folder: epath.Path, wanted: Mapping[str, Any]) -> list[str]:
    """The arrays that a saved state has not, or of another shape, a line each.

    Args:
      folder: The folder `state` of a checkpoint; one that does not say what it has is
        taken to have everything.
      wanted: The shapes that are to be read, by the arrays' paths.
    """
    saved = _saved_arrays(folder)
    found = []
    for path, array in wanted.items() if saved else ():
        _, *shape = saved.get(path, [None])
        if path not in saved or tuple(shape) != tuple(array.shape):
            there = f"{shape}" if path in saved else "none"
            found.append(f"{path}: {there} there, {list(array.shape)} here")
    return found


def _saved_arrays(folder: epath.Path) -> dict[str, list[Any]]:
    return (_metadata(folder).get("custom_metadata") or {}).get(ARRAYS) or {}


def _metadata(folder: epath.Path) -> dict[str, Any]:
    return json.loads((folder / METADATA_FILE).read_text())


def as_there(
    state: TrainState, fields: frozenset[str], window: int | None, *, scalar: Any
) -> TrainState:
    """What is to be read in place of a state: it has what the checkpoint has.

    Args:
      state: Abstract arrays with their shardings.
      fields: What the checkpoint has.
      window: How many sums its window has; None: as many as the state's.
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
    if window is not None:
        changes["window"] = small((window,), jnp.float32)
    return dataclasses.replace(state, **changes)


def told_of_fields(
    fields: frozenset[str], window: int | None, like: TrainState
) -> dict[str, str]:
    """What is to be said of a checkpoint that has other fields than a run keeps.

    Args:
      fields: What the checkpoint has.
      window: How many sums its window has; None: it is not known.
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
    if window not in (None, like.window.shape[0]):
        lines["window"] = OTHER_WINDOW
    return lines
