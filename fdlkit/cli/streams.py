"""The answer goes to stdout and nothing else does; it is written whatever it holds."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from fdlkit.errors import RunFailedError

_STDOUT, _STDERR = 1, 2  # as the system numbers them


@contextlib.contextmanager
def only_the_answer() -> Iterator[None]:
    """What a user's code prints within this goes to stderr.

    Importing a file, calling its functions and building what they configure run code
    that may print, and that would stand in the middle of a tree or of JSON. So do the
    programs that it starts, and C code, which know the stream by its number alone.
    It may change the folder too, and `--out=FILE` is meant from this one.
    """
    with (
        contextlib.redirect_stdout(sys.stderr),
        _number_redirected(),
        _staying_here(),
    ):
        yield


@contextlib.contextmanager
def _staying_here() -> Iterator[None]:
    here = os.getcwd()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it may have taken the folder away
            os.chdir(here)


@contextlib.contextmanager
def _number_redirected() -> Iterator[None]:
    own = sys.__stdout__
    try:
        if own is None or own.closed or own.fileno() != _STDOUT:
            raise OSError  # it was closed: the number may be another file's by now
        own.flush()
        kept = os.dup(_STDOUT)
        os.dup2(_STDERR, _STDOUT)
    except (OSError, ValueError):  # stderr may be closed too
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # a user's code may close it
            own.flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)


def prepare() -> None:
    """Makes stdout and stderr such that anything can be written to them."""
    if sys.stdout is None:  # the shell closed it: `fdlkit show TARGET >&-`
        sys.stdout = _NoAnswer()
    if sys.stderr is None:  # `print(..., file=None)` would write to stdout
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for good
    _write_anything(sys.stdout)


def tell(*lines: str) -> None:
    """Writes to stderr; where that cannot be, the exit code has to say it all."""
    try:
        for line in lines:
            print(line, file=sys.stderr)
        sys.stderr.flush()
    except (OSError, ValueError):
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Lets a stream that takes no more be flushed at exit, as Python does once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _NoAnswer(io.TextIOBase):
    """Stands for a stdout that is closed: an answer is a loss that has to be told."""

    def write(self, text: str) -> int:
        """Raises a `RunFailedError`."""
        raise RunFailedError("the answer cannot be written: stdout is closed")


def _write_anything(stream: object) -> None:
    """Lets a stream write what its encoding lacks, as an escape.

    A command line may hold bytes that are no text, and a terminal may not know what a
    tree is drawn with.
    """
    lossy = ("strict", "surrogateescape")  # the second: in a C locale
    if isinstance(stream, io.TextIOWrapper) and stream.errors in lossy:
        stream.reconfigure(errors="backslashreplace")
