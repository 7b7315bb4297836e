"""Whether a workdir may be gone on with by a config, and making room for another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from etils import epath

from fdlkit.errors import UserError
from fdlkit.graph.equality import differences
from fdlkit.graph.model import Graph
from fdlkit.serialize import read

# What the house writes into a workdir; `--fresh` removes these and nothing else.
CONTENTS = ("checkpoints", "record", "metrics.jsonl", "tensorboard")
# What may differ between two starts of one run: where it runs, what it reports and
# when; all of it leaves the numbers alone.
MAY_DIFFER = ("mesh", "log_every", "eval_every", "checkpoints", "writers")
STEPS = "num_train_steps"


@dataclasses.dataclass(frozen=True)
class Change:
    """One value that differs between the workdir's config and this one.

    Attributes:
      path: Where.
      old: What the workdir's run has, as text.
      new: What was asked for now, as text.
    """

    path: str
    old: str
    new: str


def changes_since(workdir: epath.Path, config: Graph) -> list[Change] | None:
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
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    return [Change(*change) for change in differences(read(text), config)]


def refuse_another_run(workdir: epath.Path, changes: Sequence[Change]) -> None:
    """Refuses to go on in a workdir with a config that is another experiment's.

    Raises:
      UserError: Listing what differs and what to do.
    """
    others = [change for change in changes if not may_change(change)]
    if not others:
        return
    shown = [f"  {c.path}: {c.old} there, {c.new} now" for c in others[:8]]
    if len(others) > 8:
        shown.append(f"  and {len(others) - 8} more")
    raise UserError(
        f"{workdir} holds a run of another config",
        *shown,
        "use another --workdir, or --fresh to throw that run away",
    )


def may_change(change: Change) -> bool:
    """Whether a run may be gone on with although this differs."""
    first = change.path.split(".")[0].split("[")[0]
    if first in MAY_DIFFER:
        return True
    return (
        change.path == STEPS
        and change.old.isdigit()
        and change.new.isdigit()
        and int(change.new) > int(change.old)
    )


def notes(
    changes: Sequence[Change], config: Graph, workdir: epath.Path
) -> list[str]:
    """What a person should know of the changes that are allowed, a line each."""
    said = []
    for change in changes:
        said.append(f"{change.path}: {change.old} before, {change.new} now")
        followers = references_to(config, STEPS) if change.path == STEPS else []
        if followers:
            said.append(
                f"{', '.join(followers)} follows {STEPS}: in {workdir} its curve "
                f"changes from step {change.old}"
            )
    return said


def clear(workdir: epath.Path) -> None:
    """Removes what an earlier run wrote, and nothing that others put there.

    Raises:
      UserError: It cannot be removed.
    """
    try:
        for name in CONTENTS:
            path = workdir / name
            if path.is_dir():
                path.rmtree()
            elif path.exists():
                path.unlink()
    except OSError as error:
        raise UserError(f"{workdir} cannot be cleared: {error}") from error
