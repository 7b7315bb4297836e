"""A program for eight virtual devices: what a real step says of mutants, a line each.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 \
        python -m tests.check.oracle COUNT PART PARTS

The step is the trainer's own, lowered and compiled for the devices and run once on a
real batch, from a state of small random numbers that lies as the trainer lays it out.
Programs that were compiled before are not compiled again: many mutants differ in what
a compiler does not see.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any

import jax
import numpy as np

import fdlkit
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.feed import Feed
from fdlkit.train.setup import using
from fdlkit.train.step import WINDOW
from tests.check.mutants import mutants


class Real:
    """Runs experiments, and looks at what the compiler was given.

    Attributes:
      compiled: How many programs were compiled.
    """

    def __init__(self) -> None:
        self.compiled = 0
        self._programs: dict[str, Any] = {}

    def trial(self, cfg: Any) -> dict[str, Any]:
        """What became of one experiment: `error`, and `padded` and `idle` if none."""
        try:
            trainer = fdlkit.build(cfg)
            trainer.check()
            setup = trainer.setup
            lowered = setup.lower_train_step()
            if setup.eval_batch is not None:
                setup.lower_eval_step()
            report = self._step(trainer, setup, lowered)
        except Exception as error:  # noqa: BLE001 - whatever it is, it does not run
            text = " ".join(str(error).split())[:200]
            return {"error": f"{type(error).__name__}: {text}"}
        loss = report[WINDOW.index("loss")]
        if not np.isfinite(loss):
            return {"error": f"the loss is {loss}"}
        padded, used = self._constraints(setup)
        for leaf in jax.tree.leaves(setup.shardings):
            used |= set(axes_in(leaf.spec))
        used |= set(axes_in(setup.batch_sharding.spec))
        mesh = setup.mesh.shape
        idle = [axis for axis, size in mesh.items() if size > 1 and axis not in used]
        return {"error": None, "padded": padded, "idle": idle}

    def _step(self, trainer: Any, setup: Any, lowered: Any) -> np.ndarray:
        digest = hashlib.sha256(lowered.as_text().encode()).hexdigest()
        if digest not in self._programs:
            self._programs[digest] = lowered.compile()
            self.compiled += 1
        rng = np.random.default_rng(0)

        def fill(array: Any, sharding: Any) -> jax.Array:
            values = np.zeros(array.shape, np.float32)
            if np.issubdtype(np.dtype(array.dtype), np.integer):
                values = values.astype(np.int32)
            elif array.ndim > 1:
                values = rng.normal(size=array.shape) * 0.05
            return jax.device_put(values.astype(array.dtype), sharding)

        state = jax.tree.map(fill, setup.state, setup.shardings)
        batch = next(trainer.train_data.batches())
        placed = Feed(trainer.train_data.batch_size, setup.batch_sharding).place(batch)
        _, report, _ = self._programs[digest](state, placed, None)
        return np.asarray(report)

    def _constraints(self, setup: Any) -> tuple[list[str], set[str]]:
        """Uneven constraints in the program, and the mesh axes that constraints use."""
        with using(setup.mesh, setup.rules):
            program = jax.make_jaxpr(setup.train_step)(setup.state, setup.batch)
        padded, used = [], set()
        pending = [program.jaxpr]
        while pending:
            for eqn in pending.pop().eqns:
                for value in eqn.params.values():
                    for inner in value if isinstance(value, tuple | list) else (value,):
                        inner = getattr(inner, "jaxpr", inner)
                        if hasattr(inner, "eqns"):
                            pending.append(inner)
                if eqn.primitive.name != "sharding_constraint":
                    continue
                shape, spec = eqn.outvars[0].aval.shape, eqn.params["sharding"].spec
                for size, entry in zip(shape, spec, strict=False):
                    axes = axes_in((entry,))
                    used |= set(axes)
                    parts = np.prod([setup.mesh.shape[a] for a in axes], dtype=int)
                    if size % parts:
                        padded.append(f"{shape} over {spec}")
        return padded, used


def axes_in(spec: Any) -> list[str]:
    """The mesh axes of a `PartitionSpec`."""
    found: list[str] = []
    for entry in spec:
        found += (entry,) if isinstance(entry, str) else entry or ()
    return [axis for axis in found if axis in MESH_AXES]


def main() -> None:
    count, part, parts = (int(text) for text in sys.argv[1:4])
    real = Real()
    seconds = {"check": 0.0, "real": 0.0}
    for number, mutant in enumerate(mutants(count)):
        if number % parts != part:
            continue
        began = time.perf_counter()
        try:
            findings = fdlkit.check(mutant.config, devices=len(jax.devices()))
            found = [
                {"code": f.code, "severity": f.severity, "text": f.text, "path": f.path}
                for f in findings
            ]
            crash = None
        except Exception as error:  # noqa: BLE001 - a check that falls is a result too
            found, crash = [], f"{type(error).__name__}: {error}"
        middle = time.perf_counter()
        trial = real.trial(mutant.config)
        told = {"name": mutant.name, "findings": found, "crash": crash, **trial}
        print(json.dumps(told), flush=True)
        seconds["check"] += middle - began
        seconds["real"] += time.perf_counter() - middle
    print(f"{real.compiled} programs compiled, seconds: {seconds}", file=sys.stderr)


if __name__ == "__main__":
    main()
