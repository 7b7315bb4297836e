"""Import statements as ruff sorts them."""

from __future__ import annotations

import subprocess

from fdlkit.codegen import formatting
from fdlkit.errors import UserError

_ARGUMENTS = ("check", "--isolated", "--select=I", "--fix", "--target-version=py311")


def sorted_imports(text: str) -> str:
    """The text with its imports sorted and parted.

    Raises:
      UserError: There is no ruff, or it refuses the text.
    """
    command = [formatting.ruff(), *_ARGUMENTS, "--no-cache", "--quiet"]
    done = subprocess.run(
        [*command, "--stdin-filename=code.py", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        why = done.stdout.decode(errors="replace").strip().splitlines() or ["no reason"]
        raise UserError("ruff cannot sort the imports of what was written", *why[:5])
    return done.stdout.decode()
