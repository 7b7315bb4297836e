"""fdlkit's side of `tools/beside_kauldron.py`, run by the Python that is here."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdlkit.data.batches import BatchIterator
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import CrossEntropy, SquaredError
from fdlkit.train.trainer import Trainer
from fdlkit.train.writers import TensorBoard
from tools.benchmarks.kauldron_peer.problem import (
    Marks,
    asked,
    batch_of,
    model_of,
    optimizer,
)

ASKED = asked()
MARKS = Marks(ASKED)


class Marked:
    """Batches, each of which is marked as the loop asks for it."""

    def __init__(self, batches: BatchIterator):
        self._batches = batches
        self.get_state, self.set_state = batches.get_state, batches.set_state
        self.close = batches.close

    def __iter__(self) -> Marked:
        return self

    def __next__(self) -> Mapping[str, Any]:
        MARKS.next_batch()
        return next(self._batches)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MarkedPipeline(Pipeline):
    """A pipeline whose batches are marked."""

    def batches(self, **named: Any) -> Any:
        """The batches that the loop reads; those of the check are not counted."""
        batches = super().batches(**named)
        return Marked(batches) if named else batches


def main() -> None:
    """Trains, and prints what was measured."""
    batch = batch_of(ASKED.model)
    size = len(batch["x"])
    rows = InMemory(batch)
    trainer = Trainer(
        model=model_of(ASKED.model)(),
        inputs={"x": "batch.x"},
        loss=SquaredError() if ASKED.model == "mlp" else CrossEntropy(),
        train_data=MarkedPipeline(source=rows, batch_size=size, shuffle=False),
        # The same batch, after the last step: what both sides have come to.
        eval_data=Pipeline(source=rows, batch_size=size, shuffle=False, num_epochs=1),
        optimizer=optimizer(),
        num_train_steps=ASKED.steps,
        log_every=ASKED.log_every,
        checkpoints=CheckpointPolicy(every=ASKED.steps),
        writers=[TensorBoard()],
    )
    with contextlib.redirect_stdout(sys.stderr):
        trainer.train(ASKED.workdir)
    lines = (Path(ASKED.workdir) / "metrics.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    MARKS.told(next(line["eval/loss"] for line in found if "eval/loss" in line))


if __name__ == "__main__":
    main()
