"""What arrays a checkpoint holds, read from its metadata; no array is read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from etils import epath

from fdlkit.errors import UserError
from fdlkit.train.checkpoints import ITEMS, last_saved_step
from fdlkit.train.saved_state import ARRAYS

_METADATA = "_METADATA"


@dataclasses.dataclass(frozen=True)
class SavedArray:
    """An array of a checkpoint.

    Attributes:
      dtype: `float32`; empty if it is not known.
      shape: Its dims.
    """

    dtype: str
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Saved:
    """What a checkpoint holds.

    Attributes:
      folder: Its folder.
      arrays: Its arrays by path: `params/layers/block/mlp/up/kernel`.
    """

    folder: str
    arrays: Mapping[str, SavedArray]


def saved(directory: str) -> Saved:
    """The newest checkpoint in a run's folder, or in a folder of checkpoints.

    Args:
      directory: A workdir, its `checkpoints`, or one checkpoint.

    Raises:
      UserError: There is none, or it does not say what it holds.
    """
    folder = _newest(epath.Path(directory), directory)
    state = folder / ITEMS[0]
    try:
        text = (state / _METADATA).read_text()
        metadata = json.loads(text)
        custom = metadata.get("custom_metadata") or {}
        noted = custom.get(ARRAYS)
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(
            f"the checkpoint {folder} does not say what it holds",
            f"{type(error).__name__}: {error}",
            f"wanted: {ITEMS[0]}/{_METADATA}, as Orbax writes it",
        ) from error
    if noted is not None:
        arrays = {
            path: SavedArray(str(dtype), tuple(shape))
            for path, (dtype, *shape) in noted.items()
        }
    else:
        arrays = _by_orbax(state)
    return Saved(str(folder), arrays)


def _newest(root: epath.Path, given: str) -> epath.Path:
    for folder in (root / "checkpoints", root):
        step = last_saved_step(folder) if folder.is_dir() else None
        if step is not None:
            return folder / str(step)
    if (root / ITEMS[0] / _METADATA).exists():
        return root
    raise UserError(
        f"there is no checkpoint in {given}",
        "name the folder of a run, its checkpoints, or one of them",
    )


def _by_orbax(state: epath.Path) -> dict[str, SavedArray]:
    """By Orbax's own reader, which opens each array for its shape and reads none."""
    import orbax.checkpoint as ocp

    try:
        with ocp.StandardCheckpointer() as reader:
            tree = reader.metadata(state).item_metadata.tree
    except Exception as error:
        raise UserError(
            f"the checkpoint {state.parent} does not say what it holds",
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
        ) from error
    found: dict[str, SavedArray] = {}
    pending: list[tuple[str, Any]] = [("", tree)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            below = [(str(key), item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            below = [(str(i), item) for i, item in enumerate(value)]
        else:
            shape = getattr(value, "shape", None)
            if shape is not None:
                dtype = getattr(value, "dtype", "")
                found[path] = SavedArray(str(dtype), tuple(shape))
            continue
        pending += [(f"{path}/{key}".lstrip("/"), item) for key, item in below]
    return found
