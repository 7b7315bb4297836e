"""Whether a workdir may be gone on with by a config, and making room for another."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.equality import Difference, differences
from fdlkit.graph.model import Graph, Link
from fdlkit.graph.resolve import Resolver
from fdlkit.serialize.reading import read

# What the house writes into a workdir; `--fresh` removes these and nothing else.
CONTENTS = ("checkpoints", "record", "metrics.jsonl", "tensorboard")
# What may differ between two starts of one run: where it runs, what it reports and
# when; all of it leaves the numbers alone.
MAY_DIFFER = ("mesh", "log_every", "eval_every", "checkpoints", "writers")
STEPS = "num_train_steps"


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
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    return differences(read(text), config)


def refuse_another_run(workdir: epath.Path, changes: Sequence[Difference]) -> None:
    """Refuses to go on in a workdir with a config that is another experiment's.

    Raises:
      UserError: Listing what differs and what to do.
    """
    others = [change for change in changes if not may_change(change)]
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
        "use another --workdir, or --fresh to throw that run away",
    )


def may_change(change: Difference) -> bool:
    """Whether a run may be gone on with although this differs."""
    first = change.path.split(".")[0].split("[")[0]
    if first in MAY_DIFFER:
        return True
    old, new = change.old or "", change.new or ""
    return (
        change.path == STEPS and old.isdigit() and new.isdigit() and int(new) > int(old)
    )


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
