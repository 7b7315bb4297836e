"""Text as ruff formats it: 88 columns, the same everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig

from fdlkit.errors import UserError

_ARGUMENTS = ("format", "--isolated", "--line-length=88", "--target-version=py311")


def formatted(text: str) -> str:
    """The text, formatted.

    Raises:
      UserError: There is no ruff, or it refuses the text.
    """
    command = [ruff(), *_ARGUMENTS, "--no-cache", "--stdin-filename=code.py", "-"]
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False
    )
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason"]
        raise UserError("ruff cannot format what was written", *why[:5])
    return done.stdout.decode()


def ruff() -> str:
    """The environment's own ruff before any other."""
    name = "ruff.exe" if sys.platform == "win32" else "ruff"
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    found = shutil.which("ruff")
    if found is None:
        raise UserError(
            "there is no ruff, which formats generated code",
            "  pip install ruff, or make setup",
        )
    return found
