"""Pictures: a text in the language of Graphviz, drawn by a program that knows it."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from typing import Literal

from fdlkit.errors import RunFailedError, UserError
from fdlkit.view import dot

# Graphviz itself first; then a port of it that a package carries (extra `viz`).
PROGRAMS = ("dot", "graphviz-pure")

_FONTS = f"{dot.FONT},DejaVu Sans,Helvetica,Arial,sans-serif"


def find_program() -> str:
    """The program that draws: on the PATH, or installed beside this Python.

    Raises:
      UserError: There is none.
    """
    beside = str(pathlib.Path(sys.executable).parent)
    for program in PROGRAMS:
        found = shutil.which(program) or shutil.which(program, path=beside)
        if found is not None:
            return found
    raise UserError(
        "svg and png are drawn by Graphviz's dot, and there is none here",
        "  to get it: pip install 'fdlkit[viz]', or the system's package graphviz; "
        "--format=html needs neither",
    )


def draw(text: str, *, kind: Literal["svg", "png"], program: str) -> bytes:
    """The picture.

    Args:
      text: What `dot` made.
      kind: What kind of file.
      program: What `find_program` found.

    Raises:
      RunFailedError: The program failed.
    """
    command = [program, f"-T{kind}"]
    # A screen's points are small; a picture of pixels is made for sharp screens.
    if kind == "png":
        command.append("-Gdpi=144")
    data = text.encode("utf-8", "backslashreplace")  # half of a surrogate pair
    try:
        done = subprocess.run(command, check=False, input=data, capture_output=True)
    except OSError as error:
        raise RunFailedError(f"cannot run {program}: {error.strerror}") from error
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        how = (
            f"ended with status {done.returncode}"
            if done.returncode
            else "drew nothing"
        )
        raise RunFailedError(f"{program} {how}", *(f"  {line}" for line in said[-3:]))
    if kind == "svg":  # whoever has not got the font takes one that is like it
        wanted = f'font-family="{dot.FONT}"'.encode()
        return done.stdout.replace(wanted, f'font-family="{_FONTS}"'.encode())
    return done.stdout
