"""What a user's mistake is, in both wings of the house.

Anything that a person can mend by changing their command, config, files or
machine is raised as one of these. The command line prints them without a
traceback and exits with their code; everything else is a defect of ours.
"""

from __future__ import annotations


class UserError(Exception):
    """Refused before anything ran or was written (exit code 2).

    Attributes:
      lines: What is wrong (first line), then where, what was likely meant, what
        is possible and what to do, a line each.
      exit_code: The exit code of a command that ends with this error.
    """

    exit_code = 2

    def __init__(self, what: str, *lines: str):
        super().__init__("\n".join((what, *lines)))
        self.lines: tuple[str, ...] = (what, *lines)


class RunFailedError(UserError):
    """It ran, and the answer is no (exit code 1): NaN losses, a failed proof."""

    exit_code = 1
