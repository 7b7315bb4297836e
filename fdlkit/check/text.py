"""A report as a person reads it.

Each finding is told in the order of every message of this program: what is wrong,
where, what was likely meant, what is possible, what to do.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from fdlkit import printable
from fdlkit.check.aot.compiling import Compiled
from fdlkit.check.findings import Code, Finding
from fdlkit.check.report import Report
from fdlkit.check.sizes import size_of
from fdlkit.errors import UserError
from fdlkit.graph import paths

_MAX_LINE = 400


def render(report: Report, width: int | None = None) -> str:
    """All findings, and a last line that sums them up.

    Args:
      report: What was found.
      width: Where lines are broken, between words; None: nowhere.
    """
    figures = [] if report.compiled is None else [compiled(report.compiled)]
    blocks = [*map(lines, report.findings), *figures, [summary(report)]]
    told = [[part for line in b for part in _broken(line, width)] for b in blocks]
    return "\n\n".join("\n".join(block) for block in told) + "\n"


def _broken(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line,
        max(width, 24),
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def lines(finding: Finding) -> list[str]:
    """One finding, the first line at the margin."""
    first, *more = finding.text.split("\n")
    said = [f"{finding.severity} {finding.code}: {first}"]
    if finding.allowed is not None:
        said = [f"allowed {finding.code}: {first}"]
    said.append(f"  at {_where(finding)}")
    said += [f"  {line}" for line in more]
    if finding.meant:
        said.append(f"  {finding.meant}")
    if finding.nearest:
        said.append(f"  would work: {', '.join(finding.nearest)}")
    if finding.allowed is not None:
        said.append(f"  reason: {finding.allowed}")
    else:
        said.append(f"  do: {finding.fix}")
    return [printable.cut(printable.clean(line), _MAX_LINE) for line in said]


def compiled(made: Compiled) -> list[str]:
    """What the compiler says of a step."""
    said = [
        f"compiled for {made.device_kind} in {made.seconds:.0f} s; of one chip:",
        f"  memory      {size_of(made.peak)} of {size_of(made.memory)} in use at most; "
        f"state and batch {size_of(made.arguments)}, temporaries laid out in "
        f"{size_of(made.temporaries)}, program {size_of(made.code)}",
    ]
    for number, one in enumerate(made.collectives):
        head = "" if number else "exchanges"
        said.append(
            f"  {head:<11} {size_of(one.bytes):>10}  {one.kind}, {one.count:,} times"
        )
    return said


def summary(report: Report) -> str:
    """`1 error, 2 warnings (config, axes; data=8, 8 devices)`."""
    counts = {"error": 0, "warning": 0, "info": 0, "allowed": 0}
    for finding in report.findings:
        counts["allowed" if finding.allowed is not None else finding.severity] += 1
    told = list(_counted(counts)) or ["nothing found"]
    ran = ", ".join(run.level for run in report.levels if run.skipped is None)
    return f"{', '.join(told)} ({'; '.join([ran or 'no level', *_mesh(report)])})"


def _counted(counts: dict[str, int]) -> Iterator[str]:
    for word in ("error", "warning"):
        if counts[word]:
            yield f"{counts[word]} {word}{'s' * (counts[word] > 1)}"
    if counts["info"]:
        yield f"{counts['info']} for your information"
    if counts["allowed"]:
        yield f"{counts['allowed']} allowed"


def _mesh(report: Report) -> list[str]:
    if report.mesh is None:
        return []
    devices = 1
    for size in report.mesh.values():
        devices *= size
    axes = ", ".join(f"{a}={n}" for a, n in report.mesh.items() if n > 1)
    fewest = ", the fewest that its mesh can be on" if report.is_smallest else ""
    slices = math.prod(report.across.values())
    across = ", ".join(f"dcn.{a}={n}" for a, n in report.across.items())
    within = f" in {slices} slices ({across})" if slices > 1 else ""
    counted = f"{devices} device{'s' * (devices > 1)}{within}{fewest}"
    return [f"{counted}: {axes}" if axes else counted]


def skipped(report: Report) -> list[str]:
    """A line for each reason why levels were left out."""
    reasons: dict[str, list[str]] = {}
    for run in report.levels:
        if run.skipped is not None:
            reasons.setdefault(run.skipped, []).append(run.level)
    return [f"{', '.join(names)} not checked: {why}" for why, names in reasons.items()]


def explain(code: Code, width: int = 80) -> str:
    """Why a kind of finding matters."""
    head = f"{code.code} ({code.severity}): {code.name}"
    return "\n".join([head, "", *textwrap.wrap(code.why, width)]) + "\n"


def _where(finding: Finding) -> str:
    if finding.path == paths.ROOT and finding.subject and finding.source is None:
        return finding.subject
    about = "" if finding.subject is None else f", {finding.subject}"
    by = "" if finding.source is None else f" ({finding.source})"
    return f"{_brief(finding.path)}{about}{by}"


def _brief(path: str) -> str:
    try:
        return paths.brief(paths.parse(path))
    except UserError:  # a key that is written out and cannot be read back
        return path
