"""What an experiment says is meant: findings that then count for nothing.

It is kept in the experiment's argument `allowed`, a mapping like any other, from
`CODE path` to the reason. So it shows in the tree, in a diff, in JSON and in generated
code, a fiddler or an override can change it, and it needs nothing of Fiddle: tags are
classes, which could name a code but hold no reason, and a node has no other place for
either. A path that leads nowhere after its node was moved or wrapped is told, as is an
allowance that allows nothing any more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import fiddle as fdl

from fdlkit import suggest
from fdlkit.check import codes
from fdlkit.check.findings import Finding
from fdlkit.errors import UserError
from fdlkit.graph import paths, signatures
from fdlkit.graph.faults import find_argument
from fdlkit.graph.model import Leaf, Link
from fdlkit.graph.paths import Path, PathKey
from fdlkit.graph.places import Places
from fdlkit.graph.snapshot import take

if TYPE_CHECKING:
    from fdlkit.check.subject import Subject

ARGUMENT = "allowed"


def allow(
    cfg: fdl.Buildable, code: str, *, reason: str, at: str | fdl.Buildable = ""
) -> None:
    """Says in an experiment that a finding is meant.

    Args:
      cfg: The experiment, or another config whose callable takes `allowed`.
      code: The finding's code: `AX003`.
      reason: Why it is meant, in a person's words.
      at: Where: a node of the config, or its path. It holds for that node and for all
        that is below it; unless given, everywhere.

    Raises:
      UserError: There is no such code, no reason, or no such place; or the config has
        no place to keep it in.
    """
    known = codes.find(code).code
    if not reason.strip():
        raise UserError(f"allow {known}: it needs a reason, which is shown to people")
    called = fdl.get_callable(cfg)
    if ARGUMENT not in signatures.parameters(called):
        name = getattr(called, "__qualname__", repr(called))
        raise UserError(
            f"{name} takes no argument {ARGUMENT!r}, in which it would be kept",
            "call allow on the experiment, and say where by at=: a node or its path",
        )
    where = _path_of(cfg, at)
    key = known if not where else f"{known} {paths.format(where)}"
    kept = fdl.ordered_arguments(cfg).get(ARGUMENT) or {}
    # A new mapping each time: the one that is there may be shared with another config.
    setattr(cfg, ARGUMENT, {**kept, key: reason})


def _path_of(cfg: fdl.Buildable, at: str | fdl.Buildable) -> Path:
    if not isinstance(at, fdl.Buildable):
        return paths.parse(at)
    taken = take(cfg)
    for number, original in enumerate(taken.originals):
        if original is at:
            return Places(taken.graph).path(number)
    name = getattr(fdl.get_callable(at), "__qualname__", "it")
    raise UserError(
        f"allow: the node given as at= ({name}) is not in the config",
        "put it there first, or give its path",
    )


@dataclasses.dataclass(frozen=True)
class Allowance:
    """One entry of `allowed`.

    Attributes:
      key: The entry's key.
      code: The code that it begins with.
      path: Where it holds; None if that is no path.
      reason: Why.
    """

    key: str
    code: str
    path: Path | None
    reason: str


def allowances(subject: Subject) -> tuple[Allowance, ...]:
    """What a config allows, in the order in which it says so."""
    root = subject.root
    held = None if root is None else root.argument(ARGUMENT)
    mapping = None if held is None else subject.graph.node(held.value)
    if mapping is None or "dict" not in mapping.kind:
        return ()
    found = []
    for entry in mapping.arguments:
        key = paths.to_dict_key(entry.key)
        reason = entry.value.live if isinstance(entry.value, Leaf) else None
        if not isinstance(key, str) or not isinstance(reason, str):
            continue  # told as a value of another type
        code, _, where = key.partition(" ")
        try:
            path: Path | None = paths.parse(where.strip())
        except UserError:
            path = None
        found.append(Allowance(key, code, path, reason))
    return tuple(found)


def apply(
    subject: Subject, findings: Sequence[Finding], levels: Collection[str]
) -> list[Finding]:
    """The findings, with those marked that are allowed; and what is wrong with that.

    Args:
      subject: What was checked.
      findings: What was found.
      levels: The letters of the levels that ran: of others nothing is known.
    """
    entries = allowances(subject)
    if not entries:
        return list(findings)
    used: set[str] = set()
    marked = []
    covers = {entry.key: _Cover(subject, entry) for entry in entries}
    for finding in findings:
        for entry in entries:
            if finding.code == entry.code and covers[entry.key].holds(finding.path):
                used.add(entry.key)
                finding = dataclasses.replace(finding, allowed=entry.reason)
                break
        marked.append(finding)
    for entry in entries:
        marked += _faults(subject, entry, is_used=entry.key in used, levels=levels)
    return marked


class _Cover:
    """The places of a config that an allowance is for."""

    def __init__(self, subject: Subject, entry: Allowance):
        self._subject = subject
        self._spot = None if entry.path is None else spot(subject, entry.path)
        self._nodes: set[int] = set()
        if self._spot is not None and self._spot[2] is not None:
            self._nodes = _below(subject, self._spot[2])

    def holds(self, path: str) -> bool:
        """Whether a finding at this path is covered; by whatever way it is reached."""
        if self._spot is None:
            return False
        if self._spot[0] is None:  # the root: everything
            return True
        found = spot(self._subject, paths.parse(path))
        if found is None:
            return False
        holder, key, node = found
        if node is not None and node in self._nodes:
            return True
        if holder is not None and holder in self._nodes:
            return True
        return (holder, key) == self._spot[:2]


# A place: the node that holds it, its key there, and the node that stands there.
Spot = tuple[int | None, PathKey | None, int | None]


def spot(subject: Subject, path: Path) -> Spot | None:
    """The place that a path leads to; None if it leads nowhere."""
    graph = subject.graph
    value = graph.root
    holder: int | None = None
    key: PathKey | None = None
    for step in path:
        node = graph.node(value)
        argument = None if node is None else find_argument(node, step)
        if argument is None:
            return None
        assert isinstance(value, Link)
        holder, key = value.node, argument.key
        reached = argument.default if argument.value is None else argument.value
        if reached is None:
            return (holder, key, None) if step == path[-1] else None
        value = reached
    return holder, key, value.node if isinstance(value, Link) else None


def _below(subject: Subject, number: int) -> set[int]:
    found: set[int] = set()
    todo = [number]
    while todo:
        at = todo.pop()
        if at in found:
            continue
        found.add(at)
        for argument in subject.graph.nodes[at].arguments:
            for value in (argument.value, argument.default):
                if isinstance(value, Link):
                    todo.append(value.node)
    return found


def _faults(
    subject: Subject, entry: Allowance, *, is_used: bool, levels: Collection[str]
) -> Iterator[Finding]:
    at = (ARGUMENT, paths.Key(entry.key))
    if entry.code not in codes.CODES:
        hint = suggest.hint(entry.code.upper(), codes.CODES)
        yield subject.finding(
            "CF030",
            at,
            f"there is no finding {entry.code!r}, which {ARGUMENT} allows",
            meant=hint,
            fix=f"del cfg.{ARGUMENT}[{entry.key!r}], or write the code that is meant",
        )
    elif entry.path is None or spot(subject, entry.path) is None:
        yield subject.finding(
            "CF031",
            at,
            f"{entry.code} is allowed at a place that is not in the config: "
            f"{entry.key.partition(' ')[2]}",
            fix=f"del cfg.{ARGUMENT}[{entry.key!r}], or write the path that it has now",
        )
    elif not is_used and entry.code[:2] in levels:
        yield subject.finding(
            "CF031",
            at,
            f"{entry.code} is allowed here, and nothing there needs it: {entry.reason}",
            fix=f"del cfg.{ARGUMENT}[{entry.key!r}]",
        )
