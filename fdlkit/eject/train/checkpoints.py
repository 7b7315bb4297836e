"""Checkpoints of a run: the state, and where the data stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import orbax.checkpoint as ocp
from etils import epath

from fdlkit.train.checkpoints import ITEMS, CheckpointPolicy
from fdlkit.train.saved_state import as_saved
from fdlkit.train.state import TrainState


class Checkpoints:
    """The checkpoints in one folder, saved by a thread of Orbax's.

    A context manager: leaving it waits until the last save is on disk.
    """

    def __init__(self, folder: epath.Path, policy: CheckpointPolicy):
        folder.mkdir(parents=True, exist_ok=True)
        self._manager = ocp.CheckpointManager(
            folder if folder.is_absolute() else folder.absolute(),
            options=ocp.CheckpointManagerOptions(
                create=False,
                max_to_keep=policy.keep,
                cleanup_tmp_directories=True,
            ),
            item_names=ITEMS,
        )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *error: object) -> None:
        self._manager.wait_until_finished()
        self._manager.close()

    @property
    def last_step(self) -> int | None:
        """The step of the newest whole checkpoint, or None."""
        return self._manager.latest_step()

    def save(self, state: TrainState, data: Mapping[str, Any], *, step: int) -> None:
        """Starts a save; the arrays may be donated as soon as this returns."""
        self._manager.save(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardSave(as_saved(state)),
                data=ocp.args.JsonSave(dict(data)),
                record=ocp.args.JsonSave({}),
            ),
            force=True,
        )

    def restore(
        self, step: int, *, like: TrainState, shardings: TrainState
    ) -> tuple[TrainState, Mapping[str, Any]]:
        """The state at a step, laid out as the run wants it now, and the data's."""
        target = jax.tree.map(
            lambda a, s: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s),
            like,
            shardings,
        )
        restored = self._manager.restore(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardRestore(as_saved(target)),
                data=ocp.args.JsonRestore(),
            ),
        )
        return TrainState(**restored["state"]), restored["data"]
