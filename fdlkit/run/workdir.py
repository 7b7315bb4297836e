"""Whether a workdir may be gone on with by a config, and making room for another."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence

from etils import epath

from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.equality import Difference, differences
from fdlkit.graph.model import Graph, Link
from fdlkit.graph.resolve import Resolver
from fdlkit.overrides.problems import cut
from fdlkit.serialize.reading import read

# What the house writes into a workdir; `--fresh` removes these and nothing else.
LOCK = ".lock"
CONTENTS = (
    *("checkpoints", "record", "metrics.jsonl", "samples.jsonl", "tensorboard"),
    *("wandb", "wandb_id.txt", "mlflow_id.txt"),
    *("best.json", "evaluations", "pgle"),
)
# What may differ between two starts of one run: where it runs, what it reports and
# when, what `check` is told; all of it leaves the numbers alone.
MAY_DIFFER = (
    *("mesh", "log_every", "eval_every", "checkpoints", "writers", "allowed"),
    *("evaluators", "keep_best", "stop_early", "pgle"),
)
STEPS = "num_train_steps"
# What may differ besides where a checkpoint is only evaluated: all but what the state
# that it holds is made by.
EVALUATION_MAY_DIFFER = (
    *("eval_data", "metrics", "loss", "inputs"),
    *(STEPS, "learning_rate", "seed"),
)


def changes_since(workdir: epath.Path, config: Graph) -> list[Difference] | None:
    """What differs from the config that the workdir was made with.

    Returns:
      None for a workdir without a run.

    Raises:
      UserError: Its record cannot be read.
    """
    path = workdir / "record" / "config.json"
    try:
        if not path.exists():
            return None
        text = path.read_text()
        before = read(text)
    except (OSError, UnicodeDecodeError, UserError) as error:
        raise UserError(
            f"the workdir's record cannot be read: {path}",
            *str(error).splitlines()[:3],
            "use another --workdir, or --fresh to throw that run away",
        ) from error
    return differences(before, config)


def refuse_another_run(
    workdir: epath.Path, changes: Sequence[Difference], *, trains: bool = True
) -> None:
    """Refuses to go on in a workdir with a config that is another experiment's.

    Args:
      workdir: The workdir.
      changes: What differs from the config that it was made with.
      trains: Whether it is gone on with; else a checkpoint of it is evaluated.

    Raises:
      UserError: Listing what differs and what to do.
    """
    others = [change for change in changes if not may_change(change)]
    if not trains:
        others = [c for c in others if _field(c) not in EVALUATION_MAY_DIFFER]
    if not others:
        return
    shown = [
        f"  {c.path}: {c.old or 'nothing'} there, {c.new or 'nothing'} now"
        for c in others[:8]
    ]
    if len(others) > 8:
        shown.append(f"  and {len(others) - 8} more")
    raise UserError(
        f"{workdir} holds a run of another config",
        *shown,
        "use another --workdir, or --fresh to throw that run away"
        if trains
        else f"the config that it was trained with is the target {workdir} itself",
    )


def may_change(change: Difference) -> bool:
    """Whether a run may be gone on with although this differs."""
    if _field(change) in MAY_DIFFER:
        return True
    old, new = change.old or "", change.new or ""
    return (
        change.path == STEPS and old.isdigit() and new.isdigit() and int(new) > int(old)
    )


def _field(change: Difference) -> str:
    """The trainer's argument that a change is at or below."""
    return change.path.split(".")[0].split("[")[0]


def notes(changes: Sequence[Difference], config: Graph) -> list[str]:
    """What a person should know of the changes that are allowed, a line each."""
    said = []
    for change in changes:
        said.append(f"{change.path}: {change.old} before, {change.new} now")
        followers = followers_of(config, STEPS) if change.path == STEPS else []
        if followers:
            said.append(
                f"what follows {STEPS} changes its curve from step {change.old}: "
                f"{', '.join(followers)}"
            )
    return said


def followers_of(config: Graph, name: str) -> list[str]:
    """Where a value stands that follows an argument of the root, as texts."""
    resolver = Resolver(config)
    root = config.root.node if isinstance(config.root, Link) else None
    found = []
    for holder in resolver.places.order:
        node = config.nodes[holder]
        for argument in node.arguments if node.kind != "reference" else ():
            inner = config.node(argument.value)
            if inner is None or inner.kind != "reference":
                continue
            assert isinstance(argument.value, Link)
            sources = resolver.sources(argument.value.node, holder)
            if any(s.holder == root and s.key == name for s in sources):
                where = (*resolver.places.path(holder), argument.key)
                found.append(paths.format(where))
    return found


def as_path(directory: str) -> epath.Path:
    """A workdir's path, on a disk or in an object store.

    Raises:
      UserError: What such a path needs is not installed.
    """
    try:
        path = epath.Path(directory)
        path.exists()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(path)  # which says, unlike `exists`, if the name is too long
    except (ImportError, KeyError, ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"--workdir={cut(directory)} cannot be used: {reason}",
            "a folder on this machine, or gs:// with the package gcsfs",
        ) from error
    return path


@contextlib.contextmanager
def held(workdir: epath.Path) -> Iterator[None]:
    """Makes the workdir, and keeps other runs of this machine out of it meanwhile.

    The lock goes with the process, however it ends. Object stores have none.

    Raises:
      UserError: It cannot be written, or a run is going on in it.
    """
    if "://" in os.fspath(workdir):
        yield
        return
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        file = open(workdir / LOCK, "w")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UserError(
            f"the workdir {workdir} cannot be written: {error.strerror or error}",
            "--workdir names a folder that you may create or write to",
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"a run is going on in {workdir}",
                "wait for its end, or use another --workdir",
            ) from None
        yield


def clear(workdir: epath.Path) -> None:
    """Removes what an earlier run wrote, and nothing that others put there.

    Raises:
      UserError: It cannot be removed.
    """
    found = [workdir / name for name in CONTENTS if (workdir / name).exists()]
    for path in found:
        if "://" not in os.fspath(path) and os.path.islink(path):
            raise UserError(f"{path} is a link, which --fresh does not follow")
    try:
        for path in found:
            if path.is_dir():
                path.rmtree()
            else:
                path.unlink()
    except OSError as error:
        raise UserError(f"{workdir} cannot be cleared: {error}") from error
