"""Runs the commands that README.md shows, and puts in what they print.

A command stands in a comment; what it prints stands between that and the closing one:

    <!-- run: fdlkit show experiments/lm.py:tiny -->
    (a fenced block: the command after a `$`, then its output)
    <!-- end -->

Words before the colon change how it is run and shown:
  exit=N   the exit code that is expected, where it is not 0
  head=N   only the first N lines of the output are shown, then an ellipsis
  varies   numbers and quoted text differ from run to run, or from one Python to the
           next: a check compares all but these

The commands run one after the other in a new folder that holds a copy of
`experiments/` alone, so a later command finds what an earlier one has written.

Usage:
  python tools/readme.py           writes README.md
  python tools/readme.py --check   exit code 1 if a block does not say what is printed
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 88

_BLOCK = re.compile(
    r"^<!-- run(?P<options>(?: [\w=]+)*): (?P<command>.+?) -->\n"
    r"(?:\n*```[^\n]*\n(?P<shown>.*?)^```\n\n*<!-- end -->\n)?",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"\d[\d_,.:]*(?:e[+-]?\d+)?")
_QUOTED = re.compile(r"""(['"]).*\1""")
_SPACE = re.compile(r"[ \t]+")


class CommandFailedError(Exception):
    """A command of the README ended with another exit code than the one expected."""


@dataclasses.dataclass(frozen=True)
class Block:
    """One command of the README.

    Attributes:
      command: What a person would type.
      exit_code: The exit code that is expected.
      head: How many lines of the output are shown; None for all.
      varies: Whether numbers and quoted text in the output differ from run to run.
      shown: What the README shows at present: the command and its output; empty
        where there is only the comment so far.
      opening: The comment, as it is written.
    """

    command: str
    exit_code: int
    head: int | None
    varies: bool
    shown: str
    opening: str


def parse(match: re.Match[str]) -> Block:
    """Makes a block of a match in the README.

    Raises:
      ValueError: A word before the colon is none of the known ones.
    """
    exit_code, head, varies = 0, None, False
    for option in match["options"].split():
        name, _, value = option.partition("=")
        if name == "exit" and value.isdigit():
            exit_code = int(value)
        elif name == "head" and value.isdigit():
            head = int(value)
        elif option == "varies":
            varies = True
        else:
            raise ValueError(f"unknown option {option!r} of {match['command']!r}")
    opening, _, _ = match[0].partition("\n")
    shown = match["shown"] or ""
    return Block(match["command"], exit_code, head, varies, shown, opening)


def picture(block: Block, output: str) -> str:
    """What a terminal shows of a command: the line typed, then what it printed."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    if block.head is not None and len(lines) > block.head:
        lines = [*lines[: block.head], "…"]
    return "\n".join((f"$ {block.command}", *lines)) + "\n"


def _without_what_varies(text: str) -> str:
    text = _NUMBER.sub("0", _QUOTED.sub("''", text))
    return _SPACE.sub(" ", text)


def agree(block: Block, fresh: str) -> bool:
    """Whether what the README shows is what the command prints now."""
    if block.varies:
        return _without_what_varies(block.shown) == _without_what_varies(fresh)
    return block.shown == fresh


def rewrite(text: str, run: Callable[[Block], str]) -> tuple[str, list[str]]:
    """Puts what the commands print into the text of the README.

    Args:
      text: The README.
      run: Runs one command and returns what it prints.

    Returns:
      The new text, and for each block that was not right a diff of it.
    """
    differences = []

    def fresh_block(match: re.Match[str]) -> str:
        block = parse(match)
        fresh = picture(block, run(block))
        if agree(block, fresh):
            fresh = block.shown
        else:
            lines = difflib.unified_diff(
                block.shown.splitlines(), fresh.splitlines(), "shown", "printed"
            )
            differences.append("\n".join((block.opening, *lines)))
        return f"{block.opening}\n\n```\n{fresh}```\n\n<!-- end -->\n"

    return _BLOCK.sub(fresh_block, text), differences


def runner(folder: pathlib.Path) -> Callable[[Block], str]:
    """Makes what runs a block's command in a folder, as in a plain terminal.

    Args:
      folder: Where the commands run; its path is left out of what they print.
    """
    programs = pathlib.Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": str(WIDTH),
        "NO_COLOR": "1",
        "JAX_PLATFORMS": "cpu",
    }

    def run(block: Block) -> str:
        done = subprocess.run(
            shlex.split(block.command),
            check=False,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        if done.returncode != block.exit_code:
            raise CommandFailedError(
                f"{block.command}: exit code {done.returncode}, "
                f"not {block.exit_code}\n{done.stdout}"
            )
        return done.stdout.replace(f"{folder}/", "")

    return run


def main(argv: list[str] | None = None) -> int:
    """Writes or checks the README; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "experiments", folder / "experiments", ignore=ignored)
        try:
            text, differences = rewrite(readme.read_text(), runner(folder))
        except CommandFailedError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print("\n\n".join(differences) or "README.md shows what the commands print")
    if options.check:
        return int(bool(differences))
    readme.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
