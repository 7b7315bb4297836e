"""The part of a traceback that is the user's own."""

from __future__ import annotations

import os
import traceback

_HOUSE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = (os.sep + "site-packages" + os.sep, os.path.dirname(os.__file__) + os.sep)
_FRAMES_SHOWN = 6


def own_frames(error: BaseException) -> tuple[str, ...]:
    """The traceback from the user's own first frame: the place, then the code.

    Frames of libraries, of this package and of the import system are left out, and
    of a long traceback all but the last frames.
    """
    frames = traceback.extract_tb(error.__traceback__)
    shown = [frame for frame in frames if is_users(frame.filename)]
    lines = ["  ..."] if len(shown) > _FRAMES_SHOWN else []
    for frame in shown[-_FRAMES_SHOWN:]:
        lines.append(f"  {shown_path(frame.filename)}:{frame.lineno} in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    return tuple(lines)


def shown_path(path: str | os.PathLike[str]) -> str:
    """The path as a person would type it here: relative if it is below this folder."""
    path = os.fspath(path)
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here)


def is_users(filename: str) -> bool:
    """Whether a file is the user's own: no library's, not Python's, not ours."""
    return not (
        filename.startswith(("<frozen", "<string>", _HOUSE))
        or any(part in filename for part in _LIBRARIES)
    )
