"""Reads what runs saved, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp


def saved_arrays(workdir: Path, step: int) -> dict[str, np.ndarray]:
    """The state's arrays at a step, by path."""
    folder = (workdir / "checkpoints" / str(step) / "state").absolute()
    with ocp.StandardCheckpointer() as checkpointer:
        metadata = checkpointer.metadata(folder).item_metadata.tree
        device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        target = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=device), metadata
        )
        tree: Any = checkpointer.restore(folder, target)
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def assert_same_state(one: Path, other: Path, step: int) -> None:
    """Both runs saved the same bits."""
    a, b = saved_arrays(one, step), saved_arrays(other, step)
    assert a.keys() == b.keys()
    for path, array in a.items():
        np.testing.assert_array_equal(array, b[path], err_msg=path)
