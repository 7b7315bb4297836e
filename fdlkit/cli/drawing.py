"""Drawings as answers: what `show` and `diff` have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.view.boxes import Scene

FORMATS = ("dot", "svg", "png", "mermaid")

# From so many boxes on, placing them well may take the drawing program a minute.
_MANY_BOXES = 400


def program(kind: str, out: str | None, command: str) -> str:
    """The program that draws what is asked for; empty where none is needed.

    To be asked before any work is done.

    Args:
      kind: The format.
      out: The file that is written, if any.
      command: What was typed, without its flags.

    Raises:
      UserError: There is no such program, or the answer is nothing for a terminal.
    """
    if kind == "png" and out is None and sys.stdout.isatty():
        raise UserError(
            "a png is nothing for a terminal",
            f"  fdlkit {command} --format=png --out=FILE.png",
        )
    if kind not in ("svg", "png"):
        return ""
    from fdlkit.view import picture

    return picture.find_program()


def drawn(scene: Scene, kind: str, program: str, *, fewer: str = "") -> str | bytes:
    """A scene in one of `FORMATS`.

    Args:
      scene: The scene.
      kind: The format.
      program: What `program` has found.
      fewer: What draws fewer boxes, for a note where there are many.
    """
    if kind == "mermaid":
        from fdlkit.view import mermaid

        text = mermaid.mermaid(scene)
        for limit in mermaid.beyond_limits(scene, text):
            print(f"note: {limit}" + (f"; {fewer}" if fewer else ""), file=sys.stderr)
        return text
    from fdlkit.view import dot, picture

    if kind == "dot":
        return dot.dot(scene)
    if len(scene.boxes) > _MANY_BOXES:
        print(
            f"note: {len(scene.boxes):,} boxes take long to draw; "
            f"{fewer + ', ' if fewer else ''}--format=html needs no drawing",
            file=sys.stderr,
        )
    if kind == "png":
        text = dot.dot(scene, font=dot.PIXEL_FONT)
        return picture.draw(text, kind="png", program=program)
    return picture.draw(dot.dot(scene), kind="svg", program=program)
