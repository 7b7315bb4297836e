"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Writes beside the file, then puts that in its place: a kill leaves no half.

    Raises:
      OSError: It cannot be written. What was there before is there still.
    """
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}")
    try:
        with beside.open("xb") as file:
            if path.exists():
                os.chmod(beside, path.stat().st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
