"""A script from a config, with its proof."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import tempfile
import types
from pathlib import Path
from typing import Any

import jax

from fdlkit.codegen.script import driver, head, proof, writing
from fdlkit.codegen.script.head import Origin
from fdlkit.codegen.script.writing import Script
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.snapshot import take
from fdlkit.train.trainer import Trainer

# Without being told how many, a proof compares so many losses, where a step is cheap
# enough for the machine that writes the script.
FEW_STEPS = 3
MAX_FLOPS = 3e11


def script(cfg: Any, origin: Origin) -> str:
    """The text of a config's script, unproven.

    Raises:
      UserError: It cannot be built, written or carried.
    """
    return _made(cfg, origin)[0].text


def proven_script(cfg: Any, origin: Origin, *, steps: int | None = None) -> str:
    """The text of a config's script, after it has run without Fiddle and fdlkit.

    Args:
      cfg: The config.
      origin: Where it comes from.
      steps: For how many steps losses are compared, beside all that is compared
        anyway; None: for a few, if that is cheap.

    Raises:
      UserError: It cannot be built, written or carried.
      RunFailedError: The script computes something else.
    """
    made, trainer = _made(cfg, origin)
    if trainer.pgle is not None:
        # It changes when something is computed, not what, and is for other machines.
        trainer = dataclasses.replace(trainer, pgle=None)
    trainer.check()
    if steps is None:
        steps = FEW_STEPS if trainer.setup.flops <= MAX_FLOPS else 0
    own = driver.evidence(trainer, steps)
    text = made.text
    if steps:
        devices = jax.devices()
        where = f"{len(devices)} {devices[0].device_kind}"
        text = head.with_losses(text, own["losses"][:FEW_STEPS], where)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "script.py"
        file.write_text(text, encoding="utf-8")
        proof.prove(file, own, steps=steps, blocked=made.blocked)
    return text


def _made(cfg: Any, origin: Origin) -> tuple[Script, Trainer]:
    trainer = build(cfg)
    if not isinstance(trainer, Trainer):
        raise UserError(
            f"{origin.target or 'the config'} builds a {type(trainer).__name__}, "
            "not an experiment",
            "  --style=build and --style=fiddle write any config",
        )
    return writing.write(take(cfg), trainer, origin), trainer


def refuse_comments(comments: str) -> None:
    """Refuses what the other styles can say of each value.

    Raises:
      UserError: Comments are wanted.
    """
    if comments != "none":
        raise UserError(
            f"--comments={comments} is for the styles build and fiddle",
            "  a script is read by people who have no config",
        )


def origin_of(
    target: str, command: str, module: types.ModuleType | None, function: str
) -> Origin:
    """What is known of a target that was loaded."""
    made_by = getattr(module, function.partition(".")[0], None)
    file = getattr(module, "__file__", None)
    return Origin(
        target=target,
        command=command,
        commit="" if file is None else _commit(Path(file).parent),
        summary=(inspect.getdoc(made_by) or "").partition("\n")[0],
        modules=() if module is None else (module.__name__,),
    )


def _commit(folder: Path) -> str:
    """The commit of the checkout around a folder; empty where there is none."""
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
