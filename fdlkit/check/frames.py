"""The line of a person's own among the frames of libraries."""

from __future__ import annotations

import os
import traceback
from types import FrameType

import fdlkit
from fdlkit.graph import origins

_HOUSE = os.path.dirname(os.path.abspath(fdlkit.__file__)) + os.sep
_ROOMS = tuple(os.path.join(_HOUSE, room) + os.sep for room in ("train", "check"))
_LIBRARIES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def users_line(error: Exception) -> str | None:
    """`file.py:12 in __call__`: the innermost line that a person may mend.

    Lines of libraries and of the trainer are passed over, and those of the layers of
    this package too where a line of somebody else's called them.
    """
    found = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in found
        if not any(part in frame.filename for part in _LIBRARIES)
        and not frame.filename.startswith(("<", *_ROOMS))
        and os.path.sep in frame.filename
        and not _is_stdlib(frame.filename)
    ]
    outside = [frame for frame in own if not frame.filename.startswith(_HOUSE)]
    inner = [frame for frame in own if frame.filename.startswith(_HOUSE)]
    # A file that drives the check (a test, a notebook) stands before the first frame of
    # these rooms, the file of a model after it.
    rooms = (i for i, f in enumerate(found) if f.filename.startswith(_ROOMS))
    first = next(rooms, -1)
    outside = [frame for frame in outside if found.index(frame) > first]
    best = outside or inner
    if not best:
        return None
    frame = best[-1]
    return f"{origins.shown_file(frame.filename)}:{frame.lineno} in {frame.name}"


def _is_stdlib(filename: str) -> bool:
    return filename.startswith(os.path.dirname(os.__file__) + os.sep)


def of_caller(frame: FrameType) -> str:
    """`file.py:12`: where a frame stands."""
    return f"{origins.shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"
