"""Kauldron's side of `tools/beside_kauldron.py`, run by its environment's Python."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import flax.linen as nn
from kauldron import kd  # in its own environment

from tools.benchmarks.kauldron_peer.problem import (
    Marks,
    asked,
    batch_of,
    final_loss,
    model_of,
    optimizer,
)

ASKED = asked()
MARKS = Marks(ASKED)


class Model(nn.Module):
    """The model, wired by a key path."""

    x: kd.kontext.Key = "batch.x"

    def setup(self) -> None:
        """The model itself is shared, and its parameters are where they are alone."""
        nn.share_scope(self, self._model())

    def _model(self) -> Any:
        self.inner = model_of(ASKED.model)()
        return self.inner

    def __call__(self, x: Any) -> Any:
        """What the model returns."""
        return self.inner(x)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Marked(kd.data.InMemoryPipeline):
    """Rows in memory; each batch is marked as the loop asks for it."""

    def iter(self) -> Iterator[Any]:
        """The batches."""
        return MARKS.marked(super().iter())


def rows() -> dict[str, Any]:
    """The batch, with the trailing dim that Kauldron's cross-entropy wants."""
    batch = batch_of(ASKED.model)
    if ASKED.model == "transformer":
        batch["labels"] = batch["labels"][..., None]
    return batch


def main() -> None:
    """Trains, and prints what was measured."""
    size = len(rows()["x"])
    losses = {
        "mlp": kd.losses.L2(preds="preds", targets="batch.labels"),
        "transformer": kd.losses.SoftmaxCrossEntropyWithIntLabels(
            logits="preds", labels="batch.labels"
        ),
    }
    trainer = kd.train.Trainer(
        workdir=ASKED.workdir,
        train_ds=Marked(loader=rows, batch_size=size, shuffle=False),
        model=Model(),
        train_losses={"loss": losses[ASKED.model]},
        optimizer=optimizer(),
        # The last one is a step too.
        num_train_steps=ASKED.steps - 1,
        log_metrics_every=ASKED.log_every,
        log_summaries_every=ASKED.log_every,
    )
    with contextlib.redirect_stdout(sys.stderr):
        state, _ = trainer.train()
    MARKS.told(final_loss(ASKED.model, state.params))


if __name__ == "__main__":
    main()
