"""The part of a traceback that is the user's own."""

from __future__ import annotations

import os
import traceback

_HOUSE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = (os.sep + "site-packages" + os.sep, os.path.dirname(os.__file__) + os.sep)
_FRAMES_SHOWN = 6


def own_frames(error: BaseException) -> tuple[str, ...]:
    """The traceback from the user's own first frame: the place, then the code.

    Frames of this package and of the import system, which are not the user's, are
    left out; of a long one only the last frames are shown.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [i for i, frame in enumerate(frames) if _is_users(frame.filename)]
    if not own:
        return ()
    shown = [
        frame
        for frame in frames[own[0] :]
        if not frame.filename.startswith(("<frozen", _HOUSE))
    ]
    lines = ["  ..."] if len(shown) > _FRAMES_SHOWN else []
    for frame in shown[-_FRAMES_SHOWN:]:
        lines.append(f"  {frame.filename}:{frame.lineno} in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    return tuple(lines)


def _is_users(filename: str) -> bool:
    return not (
        filename.startswith(("<frozen", "<string>", _HOUSE))
        or any(part in filename for part in _LIBRARIES)
    )
