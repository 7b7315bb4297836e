"""Checkpoints of a run: the state, where the data stands, and the record."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
from etils import epath

from fdlkit.errors import RunFailedError, UserError
from fdlkit.sharding.layout import tree_path
from fdlkit.train.saved_state import (
    ARRAYS,
    OPTIONAL,
    as_saved,
    as_there,
    other_arrays,
    saved_fields,
    saved_window,
)
from fdlkit.train.state import TrainState

# The parts of a checkpoint, each a folder in it.
ITEMS = ("state", "data", "record")

# How many arrays a message names that are not as a checkpoint has them.
MOST_ARRAYS = 4

# Which checkpoint evaluated best, in the workdir.
BEST_FILE = "best.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckpointPolicy:
    """When checkpoints are saved and how many stay.

    Attributes:
      every: Steps between checkpoints; the final state is always saved.
      keep: How many of the newest stay; None keeps all.
    """

    every: int = 1000
    keep: int | None = 3

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise ValueError(
                f"keep={self.keep}: a run goes on from its newest checkpoint, so at "
                "least 1; None keeps all"
            )


def arrays_of(state: TrainState) -> dict[str, list[Any]]:
    """The type and shape of each array by its path: `["float32", 4, 128]`."""
    return {
        tree_path(path): [str(array.dtype), *array.shape]
        for path, array in jax.tree_util.tree_leaves_with_path(state)
    }


def last_saved_step(folder: epath.Path) -> int | None:
    """The step of the newest whole checkpoint in a folder, or None."""
    return max(saved_steps(folder), default=None)


def saved_steps(folder: epath.Path) -> list[int]:
    """The steps of the whole checkpoints in a folder, in no order.

    Orbax writes a checkpoint under another name and renames it when it is whole; a
    folder that somebody else made lacks the parts of one.
    """
    if not folder.exists():
        return []
    return [
        int(path.name)
        for path in folder.iterdir()
        if path.name.isdecimal()
        and path.name == str(int(path.name))
        and all((path / item).exists() for item in ITEMS)
    ]


def read_variables(
    folder: epath.Path, step: int, *, like: Mapping[str, Any], shardings: Any
) -> Mapping[str, Any]:
    """Some parts of a saved state, and no others: `params`, `model_state`.

    Nothing in the folder is made, moved or removed: a run may be going on in it.

    Args:
      folder: Of a run's checkpoints.
      step: One of the saved steps.
      like: Abstract arrays of the parts, by their names in `TrainState`.
      shardings: A sharding for each; the run that saved may have had others.

    Raises:
      UserError: It is damaged, or of another model.
    """
    # As above: what it loads takes seconds.
    import orbax.checkpoint as ocp

    wanted = jax.tree.map(
        lambda a, s: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s),
        dict(like),
        dict(shardings),
    )
    path = folder / str(step) / ITEMS[0]
    try:
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as reader:
            return reader.restore(
                path if path.is_absolute() else path.absolute(),
                args=ocp.args.PyTreeRestore(
                    item=wanted,
                    restore_args=ocp.checkpoint_utils.construct_restore_args(wanted),
                    partial_restore=True,
                ),
            )
    except Exception as error:  # of many types, from threads and C++
        others = sorted(set(saved_steps(folder)) - {step})
        raise UserError(
            f"the checkpoint of step {step} in {folder} could not be read",
            f"{type(error).__name__}: {brief(error)}",
            "it is damaged, or of another model than the one that is here now",
            f"other checkpoints: {', '.join(map(str, others)) or 'none'}",
        ) from error


def brief(error: Exception) -> str:
    """What an exception says, on one line that is not too long."""
    text = " ".join(str(error).split())
    # File systems put the reason last, after a long path.
    return text if len(text) <= 200 else f"{text[:50]} … {text[-140:]}"


class Kept:
    """Which checkpoints Orbax is to preserve: the newest, and the best one.

    The one that was the best before stays too, until the best one is whole and
    `best.json` names it.

    Attributes:
      best: The step of the best one, or None.
      before: The step of the one before it, while that may be the one that is told.
    """

    def __init__(self, newest: int | None):
        self.best: int | None = None
        self.before: int | None = None
        self._newest = newest

    def should_preserve(
        self, checkpoints: Sequence[Any], *, context: Any
    ) -> list[bool]:
        """Of each checkpoint, the oldest first; as Orbax's policies say it."""
        del context
        first = 0 if self._newest is None else len(checkpoints) - self._newest
        return [
            number >= first or checkpoint.step in (self.best, self.before)
            for number, checkpoint in enumerate(checkpoints)
        ]


class Checkpoints:
    """The checkpoints in one folder, saved by a thread of Orbax's.

    A context manager: leaving it waits until the last save is on disk. A save that
    fails on its thread (a full disk) is told by the next call, or on leaving.
    """

    def __init__(
        self, folder: epath.Path, policy: CheckpointPolicy, *, read_only: bool = False
    ):
        """Opens the folder, and makes it unless it is only read.

        Args:
          folder: Where they are.
          policy: How many stay.
          read_only: Whether another run may be writing there: what it has not yet
            finished is left alone then. Nothing is to be saved.
        """
        # Not before a run needs it: it takes as long to load as Flax and Optax.
        import orbax.checkpoint as ocp

        self._args = ocp.args
        self._folder = folder
        self._kept = Kept(policy.keep)
        # What is to be told of the best one, once it is whole.
        self._best: Mapping[str, Any] | None = None
        if not read_only:
            folder.mkdir(parents=True, exist_ok=True)
        # By default Orbax keeps processes in step with a collective on the devices, on
        # a thread of its own: between two processes it can then fall in another order
        # among the run's own collectives, and both wait for ever. Told which processes
        # there are, it uses JAX's coordination service instead.
        processes = set(range(jax.process_count())) if jax.process_count() > 1 else None
        self._manager = ocp.CheckpointManager(
            # Orbax takes no relative path; `absolute` would spoil one of `gs://`.
            folder if folder.is_absolute() else folder.absolute(),
            options=ocp.CheckpointManagerOptions(
                create=False,
                # The method is named, so that a carried class keeps it.
                preservation_policy=types.SimpleNamespace(
                    should_preserve=self._kept.should_preserve
                ),
                enable_async_checkpointing=True,
                cleanup_tmp_directories=not read_only,
                multiprocessing_options=ocp.options.MultiprocessingOptions(
                    active_processes=processes
                ),
            ),
            item_names=ITEMS,
        )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, exc_type: object, *rest: object) -> None:
        try:
            with self._explained("written"):
                self._manager.wait_until_finished()
                self._tell_best()
                if exc_type is None:
                    self._drop_before()
                self._manager.close()
        except RunFailedError:
            if exc_type is None:
                raise
            # Something else ended the run; that is what the user is told.

    @property
    def last_step(self) -> int | None:
        """The step of the newest whole checkpoint, or None."""
        return self._manager.latest_step()

    def save(
        self,
        state: TrainState,
        data: Mapping[str, Any],
        *,
        step: int,
        record: Mapping[str, str],
    ) -> None:
        """Starts a save; the arrays may be donated as soon as this returns.

        Args:
          state: The state after `step` updates.
          data: Where the training batches' iterator stands then.
          step: The number of updates.
          record: What the run keeps of itself, by file name.

        Raises:
          RunFailedError: This save or the one before it failed.
        """
        with self._explained("written"):
            self._manager.save(
                step,
                args=self._args.Composite(
                    state=self._args.StandardSave(
                        as_saved(state), custom_metadata={ARRAYS: arrays_of(state)}
                    ),
                    data=self._args.JsonSave(dict(data)),
                    record=self._args.JsonSave(dict(record)),
                ),
                force=True,
            )
            self._tell_best()

    def mark_best(self, step: int, told: Mapping[str, Any]) -> None:
        """Says which checkpoint is to stay however many are saved after it.

        Args:
          step: It is saved, or is about to be.
          told: What `best.json` has of it beside the step, as soon as it is whole.
        """
        with self._explained("written"):
            if step != self._kept.best:
                if self._best is not None:
                    # Its save began at an earlier evaluation, and the one that comes
                    # now would wait for it too.
                    self._manager.wait_until_finished()
                    self._tell_best()
                self._kept.before, self._kept.best = self._kept.best, step
                self._best = {"step": step, **told}
            self._tell_best()

    def _drop_before(self) -> None:
        """Removes what stayed as it was the best before, once another one is told."""
        before, self._kept.before = self._kept.before, None
        steps = self._manager.all_steps()
        if before not in steps or self._best is not None:
            return
        there = [types.SimpleNamespace(step=step) for step in sorted(steps)]
        stays = self._kept.should_preserve(there, context=None)
        if not stays[sorted(steps).index(before)]:
            self._manager.delete(before)

    def _tell_best(self) -> None:
        best = self._best
        if best is None or best["step"] not in saved_steps(self._folder):
            return
        self._best = None
        if jax.process_index() == 0:
            beside = self._folder.parent / f".{BEST_FILE}.new"
            beside.write_text(json.dumps(best) + "\n")
            beside.replace(self._folder.parent / BEST_FILE)

    def restore(
        self, step: int, *, like: TrainState, shardings: TrainState
    ) -> tuple[TrainState, Mapping[str, Any]]:
        """The state at a step, laid out as the run wants it now, and the data's.

        Of what a state need not keep (`OPTIONAL`) it has no more than `like`, and what
        the checkpoint lacks is None: see `fields`. So is a window of other losses.

        Args:
          step: One of the saved steps.
          like: Abstract arrays.
          shardings: A sharding for each; the run that saved may have had others.

        Raises:
          RunFailedError: It is damaged, or of another model.
        """
        target = jax.tree.map(
            lambda a, s: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s),
            like,
            shardings,
        )
        with self._explained("read", step):
            fields, window = self.fields(step), self.window(step)
            there = as_there(target, fields, window, scalar=shardings.step)
            self._refuse_another_model(step, there)
            restored = self._manager.restore(
                step,
                args=self._args.Composite(
                    state=self._args.StandardRestore(as_saved(there)),
                    data=self._args.JsonRestore(),
                ),
            )
        state = TrainState(**restored["state"])
        unwanted = [name for name in OPTIONAL if getattr(like, name) is None]
        if state.window.shape != like.window.shape:
            unwanted.append("window")
        return dataclasses.replace(state, **dict.fromkeys(unwanted)), restored["data"]

    def _refuse_another_model(self, step: int, state: TrainState) -> None:
        wanted = jax.tree_util.tree_leaves_with_path(state)
        arrays = {tree_path(path): array for path, array in wanted}
        other = other_arrays(self._folder / str(step) / ITEMS[0], arrays)
        if other:
            more = (
                [f"and {len(other) - MOST_ARRAYS} more"] if other[MOST_ARRAYS:] else []
            )
            raise RunFailedError(
                f"the checkpoint of step {step} in {self._folder} is of another model "
                "or optimizer",
                *other[:MOST_ARRAYS],
                *more,
                "a run goes on with the model and the optimizer that it began with: "
                "take those, or another workdir",
            )

    def fields(self, step: int) -> frozenset[str]:
        """The fields of the state that was saved at a step."""
        return saved_fields(self._folder / str(step) / ITEMS[0])

    def window(self, step: int) -> int | None:
        """How many sums the window of the state has; None: the checkpoint says not."""
        return saved_window(self._folder / str(step) / ITEMS[0])

    def record(self, step: int) -> Mapping[str, str]:
        """What the run kept of itself at a step, by file name."""
        args = self._args.Composite(record=self._args.JsonRestore())
        return self._manager.restore(step, args=args)["record"]

    @contextlib.contextmanager
    def _explained(self, done: str, step: int | None = None) -> Iterator[None]:
        """Tells what Orbax and the file system raise in the words of a run."""
        try:
            yield
        except RunFailedError:
            raise
        except Exception as error:  # of many types, from threads and C++
            what = "a checkpoint" if step is None else f"the checkpoint of step {step}"
            whole = [s for s in saved_steps(self._folder) if s != step]
            lines = [
                f"{type(error).__name__}: {brief(error)}",
                f"the newest whole checkpoint: step {max(whole)}"
                if whole
                else "no other checkpoint is whole",
            ]
            if step is not None:
                lines.append(
                    "it is damaged or of another model; the run goes on from the one "
                    f"before it without {self._folder / str(step)}"
                )
            raise RunFailedError(
                f"{what} in {self._folder} could not be {done}", *lines
            ) from error
