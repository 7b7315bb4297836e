"""An experiment whose step is profiled, on CPUs that are said to be of use for that.

A CPU has no latencies to tell of: JAX's converter, where a trace becomes what XLA
reads, gives the number of its process. Each process notes what it compiles by.
"""

from __future__ import annotations

import functools
from pathlib import Path

import fiddle as fdl
import jax

from fdlkit.train import pgle, profiled_step
from fdlkit.train.pgle import AutomaticPgle, ManualPgle
from fdlkit.train.trainer import Trainer
from tests.run import several

_compiled_with = profiled_step.compiled_with


def _noted(notes: str, lowered, profile: bytes):
    with Path(notes, f"compiled-{jax.process_index()}.txt").open("a") as file:
        file.write(f"{profile!r}\n")
    return _compiled_with(lowered, profile)


def _number_of_process(folder: str) -> bytes:
    del folder
    return b"of %d" % jax.process_index()


pgle.why_no_pgle = lambda platform: None
profiled_step.get_profiled_instructions_proto = _number_of_process


def manual(notes: str) -> fdl.Config[Trainer]:
    """A window of two steps, after two."""
    profiled_step.compiled_with = functools.partial(_noted, notes)
    return _short(fdl.Config(ManualPgle, after=2, steps=2))


def automatic() -> fdl.Config[Trainer]:
    """JAX's own."""
    return _short(fdl.Config(AutomaticPgle, profiling_runs=2))


def _short(asked: fdl.Config) -> fdl.Config[Trainer]:
    cfg = several.base()
    cfg.pgle = asked
    cfg.evaluators = {}
    cfg.keep_best = cfg.stop_early = None
    cfg.num_train_steps = 8
    return cfg
