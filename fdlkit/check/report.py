"""A whole check: its levels in order, what is allowed, how it is sorted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fdlkit.check import allowing, levels
from fdlkit.check.findings import SEVERITIES, Finding
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.check.topology import Topology, parse
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.check.aot.compiling import Compiled


@dataclasses.dataclass(frozen=True)
class LevelRun:
    """What became of a level.

    Attributes:
      level: Its name.
      skipped: Why it was not run; None if it was.
    """

    level: str
    skipped: str | None = None


@dataclasses.dataclass(frozen=True)
class Report:
    """What a check has found.

    Attributes:
      findings: The gravest first, in the order of the levels and then of the config;
        what the config allows comes last.
      levels: What became of each level that was asked for.
      mesh: The mesh that it was checked on, sizes by axis; None if there was none.
      is_smallest: Whether it could be on more devices: an axis is -1, and nobody said
        how many there are.
      across: The axes that go across slices, and over how many each does.
      compiled: What the compiler says of the step; None if it was not asked.
    """

    findings: tuple[Finding, ...]
    levels: tuple[LevelRun, ...]
    mesh: Mapping[str, int] | None
    is_smallest: bool = False
    across: Mapping[str, int] = dataclasses.field(default_factory=dict)
    compiled: Compiled | None = None

    @property
    def has_errors(self) -> bool:
        """Whether a run would be refused."""
        return any(finding.is_error for finding in self.findings)


def check(
    cfg: Any,
    *,
    mesh: Mapping[str, int] | None = None,
    devices: int | None = None,
    topology: str | None = None,
    compile: bool | None = None,  # noqa: A002 - as the flag is called
    restore: str | None = None,
    levels: Iterable[str] | None = None,
) -> list[Finding]:
    """What would go wrong in a run, told on no device.

    Args:
      cfg: A config of a `Trainer`; of any other config the levels that make sense are
        checked.
      mesh: Sizes of mesh axes in place of the experiment's own mesh:
        `{"data": 64, "fsdp": 16}`, and across slices `"dcn.data": 2`.
      devices: How many devices there will be; None: those of the topology, else as
        few as the mesh allows.
      topology: The machine that there will be: `v4:4x4x4`, `h100:32`, `v4-128`.
      compile: Whether to compile the step for the topology; None: where it is a slice
        of TPUs by its name.
      restore: A folder of checkpoints that the run is to go on from.
      levels: Names of the levels to check; None: all.

    Returns:
      The findings, the gravest first. An empty list: nothing was found.

    Raises:
      UserError: There is no such level, axis or machine, or the config contains
        itself.
    """
    machine = None if topology is None else parse(topology)
    request = Request(
        mesh=mesh,
        devices=devices,
        topology=machine,
        compile=compiles(machine, compile),
        restore=restore,
    )
    return list(examine(Subject(cfg, request), levels).findings)


def compiles(machine: Topology | None, asked: bool | None) -> bool:
    """Whether the step is to be compiled for a machine.

    Args:
      machine: The machine; None: none was named.
      asked: What a person said of it; None: nothing.

    Raises:
      UserError: It was asked for, and there is no machine.
    """
    if machine is None:
        if asked:
            raise UserError(
                "there is nothing to compile for",
                "  name the machine: --topology=v4-128",
            )
        return False
    return machine.is_named if asked is None else asked


def _compiled(subject: Subject) -> Compiled | None:
    from fdlkit.check.aot.compiling import Compiled

    return subject.compiled if isinstance(subject.compiled, Compiled) else None


def examine(subject: Subject, names: Iterable[str] | None = None) -> Report:
    """Runs levels over a subject.

    Raises:
      UserError: There is no such level, or the config contains itself.
    """
    found: list[Finding] = []
    runs: list[LevelRun] = []
    letters: set[str] = set()  # of the levels that ran
    wanted = levels.named(names)
    subject.levels = frozenset(level.name for level in wanted)
    for level in wanted:
        if level.of_compiling and not subject.request.compile:
            continue
        if level.of_experiments and not subject.is_experiment:
            runs.append(LevelRun(level.name, subject.why_no_experiment))
            continue
        found += level.find(subject)
        runs.append(LevelRun(level.name))
        letters.add(level.letters)
    found = allowing.apply(subject, found, letters)
    # Sorting keeps the order of what is equally grave.
    found.sort(key=lambda f: (f.allowed is not None, SEVERITIES.index(f.severity)))
    mesh = subject.mesh if subject.is_experiment else None
    return Report(
        tuple(found),
        tuple(runs),
        None if mesh is None else dict(mesh.shape),
        is_smallest=mesh is not None and subject.is_smallest,
        across={} if mesh is None else subject.across,
        compiled=_compiled(subject) if "CO" in letters else None,
    )
