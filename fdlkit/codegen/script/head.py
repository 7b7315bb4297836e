"""The first lines of a script: what it is, where it comes from, what it imports."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from importlib import metadata

from fdlkit.codegen.carry.carrier import Carried

# What a script may need; their versions are noted in it.
PACKAGES = ("jax", "flax", "optax", "orbax-checkpoint", "grain", "etils", "numpy")

_GOES_ON = "Started again, it goes on from the last checkpoint."


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a script comes from, for its first lines.

    Attributes:
      target: What the user named.
      command: The command line that writes it.
      commit: Of the checkout; empty outside of one.
      summary: What the experiment is, in a line.
      modules: The user's modules that loading the target imported.
    """

    target: str = ""
    command: str = ""
    commit: str = ""
    summary: str = ""
    modules: tuple[str, ...] = ()


def docstring(origin: Origin, left_out: Sequence[str]) -> str:
    """The docstring, quotes and all.

    Args:
      origin: Where the script comes from.
      left_out: Parts of the config that the script has not.
    """
    file = _file_of(origin.command)
    paragraphs = [
        origin.summary or "An experiment in JAX.",
        f"    python {file} --workdir=runs/first",
        _GOES_ON,
    ]
    if origin.target:
        at = f", commit {origin.commit}" if origin.commit else ""
        paragraphs.append(f"Written from {origin.target}{at}:")
        paragraphs.append(f"    {origin.command}")
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    paragraphs.append(textwrap.fill(f"Written for {', '.join(versions)}.", 88))
    if left_out:
        paragraphs.append(f"Left out: {', '.join(left_out)}.")
    text = "\n\n".join(paragraphs)
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""'


def _file_of(command: str) -> str:
    """What the command writes, as somebody who was given the file calls it."""
    for word in command.split():
        name, _, file = word.partition("=")
        if name == "--out" and file not in ("", "-"):
            return file.rpartition("/")[2]
    return "train.py"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(any)"


def imports(carried: Carried) -> str:
    """The import statements, in no order."""
    whole: dict[str, None] = {}
    members: dict[str, dict[str, None]] = {}
    for one, bound in carried.imports:
        if one.name is None:
            package, _, last = one.module.rpartition(".")
            if one.is_whole and bound == one.bound:
                whole.setdefault(f"import {one.module}")
            elif bound == last and package:
                members.setdefault(package, {}).setdefault(last)
            else:
                whole.setdefault(f"import {one.module} as {bound}")
        else:
            text = one.name if bound == one.name else f"{one.name} as {bound}"
            members.setdefault(one.module, {}).setdefault(text)
    lines = list(whole)
    lines += [
        f"from {module} import {', '.join(names)}" for module, names in members.items()
    ]
    return "\n".join(lines)


def with_losses(text: str, losses: Sequence[float], where: str) -> str:
    """A script's text with its first losses in its docstring."""
    told = ", ".join(f"{loss:.4f}" for loss in losses)
    steps = f"{len(losses)} steps" if len(losses) > 1 else "step"
    line = f"Mean loss after each of the first {steps} on {where}:\n{told}."
    return text.replace(f"{_GOES_ON}\n", f"{_GOES_ON}\n\n{line}\n", 1)
