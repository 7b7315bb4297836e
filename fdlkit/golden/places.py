"""Where the golden files of a target are."""

from __future__ import annotations

import ast
import dataclasses
import os
import string
from pathlib import Path

from fdlkit import tracebacks
from fdlkit.errors import UserError
from fdlkit.overrides.problems import quote
from fdlkit.targets import spelling

FOLDER = "golden"

_CONFIG = ".config.txt"
_PARAMETERS = ".params.txt"

# What a file's name holds as it is; the rest is written `%20`, as in addresses.
_PLAIN = frozenset(string.ascii_letters + string.digits + "_.,()=+-")

# The longest name that file systems take, in bytes, less the ending.
_LONGEST = 200


@dataclasses.dataclass(frozen=True)
class Place:
    """The golden files of one target.

    Attributes:
      config: The file of its values.
      parameters: The file of its arrays, which only an experiment has.
    """

    config: Path
    parameters: Path

    @classmethod
    def of(cls, stem: str | os.PathLike[str]) -> Place:
        """The place `tests/golden/mine`: two files of that name, with endings."""
        text = os.path.expanduser(stem)
        return cls(Path(f"{text}{_CONFIG}"), Path(f"{text}{_PARAMETERS}"))


def place(target: str, file: Path, folder: str | None = None) -> Place:
    """Where a target's files are: in `golden`, beside the file that defines it.

    Args:
      target: The target: `experiments/lm.py:base`.
      file: The file that holds it.
      folder: Where they are in place of that.

    Raises:
      UserError: The target is a run, or its arguments fit in no file's name.
    """
    spelt = spelling.parse(target)
    if spelt.kind == "run":
        raise UserError(
            f"{quote(target)} is a run, which keeps its config itself",
            f"  fdlkit diff {target} FILE.py:NAME    compares the two",
        )
    is_file = spelt.kind == "file"
    file = spelt.path if is_file else Path(tracebacks.shown_path(file))
    name = ".".join(part for part in (file.stem, _called(spelt)) if part)
    encoded = "".join(c if c in _PLAIN else _percent(c) for c in name)
    if len(encoded.encode()) > _LONGEST:
        raise UserError(
            f"{quote(target)} is too long for the name of a file",
            "  write a function that gives these arguments, and keep what it returns",
        )
    return Place.of(
        Path(folder) / encoded if folder else file.parent / FOLDER / encoded
    )


def _called(spelt: spelling.Spelling) -> str:
    """The function and its arguments, however they are spaced."""
    text = spelt.function + spelt.arguments
    try:
        return ast.unparse(ast.parse(text, mode="eval")).replace(", ", ",")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))
