"""What a user's mistake is, in both wings of the house.

Anything that a person can mend by changing their command, config, files or
machine is raised as one of these. The command line prints them without a
traceback and exits with their code; everything else is a defect of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fdlkit import printable


class UserError(Exception):
    """Refused before anything ran or was written (exit code 2).

    Attributes:
      lines: What is wrong (first line), then where, what was likely meant, what
        is possible and what to do, a line each. What is not printable in them, a
        quoted text's escape sequences above all, is spelt out.
      exit_code: The exit code of a command that ends with this error.
    """

    exit_code = 2

    def __init__(self, what: str, *lines: str):
        self.lines: tuple[str, ...] = tuple(_single((what, *lines)))
        super().__init__("\n".join(self.lines))


class RunFailedError(UserError):
    """It ran, and the answer is no (exit code 1): NaN losses, a failed proof."""

    exit_code = 1


class MissingPackageError(UserError):
    """A package is not installed that only some experiments need.

    Attributes:
      package: What to install.
    """

    def __init__(self, wanted_by: str, package: str, extra: str):
        super().__init__(
            f"{wanted_by} needs {package}, which is not installed",
            f"to get it: pip install 'fdlkit[{extra}]', or pip install {package}",
        )
        self.package = package


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody wants the program to end, which is nobody's mistake: Ctrl-C.

    It may come in a group of exceptions. All else that a user's code raises, `sys.exit`
    and exceptions that are no `Exception` among it, is told as what that code did.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt)


def _single(said: Iterable[str]) -> Iterator[str]:
    """Each line as a line: a quoted text of several goes on below, indented."""
    for line in said:
        first, *more = printable.lines(line) or [""]
        indent = " " * (len(first) - len(first.lstrip(" ")) + 2)
        yield first
        yield from (f"{indent}{part}" for part in more)
