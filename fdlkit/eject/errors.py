"""What goes wrong and can be mended."""

from __future__ import annotations


class UserError(Exception):
    """Refused before anything ran or was written (exit code 2)."""

    exit_code = 2

    def __init__(self, what: str, *lines: str):
        super().__init__("\n".join((what, *lines)))


class RunFailedError(UserError):
    """It ran, and the answer is no (exit code 1)."""

    exit_code = 1
