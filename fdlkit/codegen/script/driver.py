"""What a trainer would compute: gathered alike from fdlkit's own and from a script's.

This file is also run by itself, in an interpreter where importing Fiddle or fdlkit
raises: it uses neither.

    python driver.py SCRIPT ANSWER_FILE STEPS BLOCKED_MODULE…
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import json
import sys
from collections.abc import Collection
from typing import Any


def evidence(trainer: Any, steps: int) -> dict[str, Any]:
    """What is to be equal, as plain data.

    Args:
      trainer: A trainer, or what stands for it in a script.
      steps: How many updates to make.

    Returns:
      `parameters`: name, shape, type and layout of each array of the state;
      `programs`: the lowered steps' text, without locations; `reports`: what each
      step told, as hexadecimal bytes; `losses`: the mean losses among them; `initial`:
      a hash of the initial values, if there are steps.
    """
    import jax
    import numpy as np

    setup = trainer.setup
    arrays = jax.tree_util.tree_leaves_with_path(setup.state)
    layouts = jax.tree.leaves(setup.shardings)
    lowered = setup.lower_train_step()
    programs = {"train_step": lowered.as_text(), **_evaluation_steps(trainer)}
    found: dict[str, Any] = {
        "parameters": {
            jax.tree_util.keystr(path): f"{a.dtype}{list(a.shape)} {layout.spec}"
            for (path, a), layout in zip(arrays, layouts, strict=True)
        },
        "programs": programs,
        "reports": [],
        "losses": [],
    }
    if not steps:
        return found
    state = setup.init_state()
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        digest.update(np.asarray(leaf).tobytes())
    found["initial"] = digest.hexdigest()
    step = lowered.compile()
    batches = trainer.train_data.batches()
    for _ in range(steps):
        batch = jax.device_put(next(batches), setup.batch_sharding)
        state, report, measured = step(state, batch, None)
        told = [np.asarray(leaf) for leaf in (report, *jax.tree.leaves(measured))]
        found["reports"].append("".join(array.tobytes().hex() for array in told))
        found["losses"].append(float(told[0][1]))
    # Threads that read ahead would go on; the plain iterator has none.
    getattr(batches, "close", lambda: None)()
    return found


def _evaluation_steps(trainer: Any) -> dict[str, str]:
    """The lowered text of what each evaluator runs on a batch.

    A plain trainer has but the evaluation of `eval_data`, which is called `eval` in a
    whole one too. What an evaluator that runs no such step does is its own business.
    """
    if not hasattr(trainer, "evaluations"):
        if trainer.eval_data is None:
            return {}
        return {"step of eval": trainer.setup.lower_eval_step().as_text()}
    return {
        f"step of {name}": evaluation.lower().as_text()
        for name, evaluation in trainer.evaluations.items()
        if hasattr(evaluation, "lower")
    }


class _Blocker(importlib.abc.MetaPathFinder):
    def __init__(self, blocked: Collection[str]):
        self._blocked = blocked

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Refuses the blocked modules, and leaves all others to the next finder."""
        parts = name.split(".")
        above = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if not above.isdisjoint(self._blocked):
            raise ImportError(f"a standalone script imports {name}")


def _main(script: str, answer: str, steps: str, *blocked: str) -> None:
    sys.meta_path.insert(0, _Blocker(blocked))
    spec = importlib.util.spec_from_file_location("script", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["script"] = module
    spec.loader.exec_module(module)
    with open(answer, "w") as file:
        json.dump(evidence(module.experiment(), int(steps)), file)


if __name__ == "__main__":
    _main(*sys.argv[1:])
