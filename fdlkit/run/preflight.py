"""What `fdlkit train` checks before it touches a device."""

from __future__ import annotations

from typing import Any, TextIO

from fdlkit.check import text
from fdlkit.check.findings import Finding
from fdlkit.check.report import examine
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.errors import UserError
from fdlkit.train.trainer import Trainer

# By default what costs next to nothing: the trace of the state's shapes is the run's
# own, and what the other levels find of a mesh and of shapes, the run itself refuses
# before it compiles, if one thing at a time.
FAST = ("config", "environment")

_MAX_LINES = 60


def preflight(
    cfg: Any, trainer: Trainer, *, check: str, workdir: str, stream: TextIO | None
) -> None:
    """Checks an experiment, and refuses it if a run would fail.

    Args:
      cfg: The experiment.
      trainer: What it builds.
      check: `fast`: the levels that look at config and environment; `full`: all
        levels, each function of the run being traced for that; `off`: none.
      workdir: The folder of the run.
      stream: Where warnings go, a line each; None: nowhere.

    Raises:
      UserError: There are findings that are errors; all of them are listed.
    """
    if check == "off":
        return
    request = Request(workdir=workdir)
    subject = Subject(cfg, request).with_trainer(trainer)
    report = examine(subject, None if check == "full" else FAST)
    errors = [finding for finding in report.findings if finding.is_error]
    if errors:
        raise UserError(*_refusal(errors))
    for finding in report.findings:
        if stream is not None and finding.allowed is None:
            print(_line(finding), file=stream)


def _refusal(errors: list[Finding]) -> list[str]:
    """All errors, the first one's own first line first."""
    first, *more = errors
    lines = text.lines(first)
    said = [lines[0].removeprefix("error "), *lines[1:]]
    for finding in more:
        said += text.lines(finding)
    if len(said) > _MAX_LINES:
        said[_MAX_LINES:] = ["  fdlkit check tells the rest"]
    return [*said, "--check=off runs it all the same"]


def _line(finding: Finding) -> str:
    first = text.lines(finding)[0]
    return f"{first} (at {finding.path})"
