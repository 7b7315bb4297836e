"""Whether a script trains as its config does: run apart, compared, told in lines."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fdlkit.codegen.script import driver
from fdlkit.errors import RunFailedError

# Of what differs, how much is told.
_MAX_LINES = 8


def prove(
    script: Path, own: Mapping[str, Any], *, steps: int, blocked: Iterable[str]
) -> None:
    """Runs a script in an interpreter without Fiddle and fdlkit, and compares.

    Args:
      script: The file.
      own: The evidence of the config's own trainer.
      steps: For how many steps losses are compared.
      blocked: Modules that it must do without: Fiddle, fdlkit and those whose
        definitions it carries.

    Raises:
      RunFailedError: It does not run, or computes something else.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "evidence.json"
        # `-P`: what happens to lie in the current folder is not the script's.
        command = [sys.executable, "-P", "-W", "ignore", driver.__file__]
        done = subprocess.run(
            [*command, str(script), str(answer), str(steps), *blocked],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-_MAX_LINES:]
            raise RunFailedError(
                "the script does not run without fdlkit; it was not written", *last
            )
        theirs = json.loads(answer.read_text())
    lines = differences(own, theirs)
    if lines:
        raise RunFailedError(
            "the script does not compute what the config does; it was not written",
            *lines,
        )


def differences(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """How two pieces of evidence differ, a line each; none if they do not."""
    if own["parameters"] != theirs["parameters"]:
        return _of_parameters(own["parameters"], theirs["parameters"])
    for name, text in own["programs"].items():
        other = theirs["programs"].get(name, "")
        if text != other:
            lines = difflib.unified_diff(
                text.splitlines(),
                other.splitlines(),
                "config",
                "script",
                lineterm="",
                n=0,
            )
            return [f"the lowered {name} differs:", *_cut(list(lines))]
    if own.get("initial") != theirs.get("initial"):
        return ["the initial values differ"]
    for step, (one, other) in enumerate(
        zip(own["reports"], theirs["reports"], strict=True), 1
    ):
        if one != other:
            losses = own["losses"][step - 1], theirs["losses"][step - 1]
            return [
                f"step {step} differs: mean loss {losses[0]!r} of the config, "
                f"{losses[1]!r} of the script"
            ]
    return []


def _of_parameters(own: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    lines = []
    for name in sorted(own.keys() | theirs.keys()):
        one, other = own.get(name, "nothing"), theirs.get(name, "nothing")
        if one != other:
            lines.append(f"  {name}: {one} in the config, {other} in the script")
    return ["the parameters differ:", *_cut(lines)]


def _cut(lines: list[str]) -> list[str]:
    shown = [line if len(line) <= 160 else f"{line[:159]}…" for line in lines]
    if len(shown) <= _MAX_LINES:
        return shown
    return [*shown[:_MAX_LINES], f"  and {len(shown) - _MAX_LINES} more lines"]
