"""The answer goes to stdout and nothing else does; it is written whatever it holds."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def only_the_answer() -> Iterator[None]:
    """What a user's code prints within this goes to stderr.

    Importing a file, calling its functions and building what they configure run code
    that may print, and that would stand in the middle of a tree or of JSON.
    """
    with contextlib.redirect_stdout(sys.stderr):
        yield


def write_anything(stream: TextIO) -> None:
    """Lets a stream write what its encoding lacks, as an escape.

    A command line may hold bytes that are no text, and a terminal may not know what a
    tree is drawn with.
    """
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")
