"""A run that cannot begin, or ends: steps, batches, data, checkpoints, writers."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.train.checkpoints import CheckpointPolicy, read_variables
from fdlkit.train.loop import keep_record
from fdlkit.train.saved_state import METADATA_FILE
from fdlkit.train.writers import Writer, WriterThread
from tests.train.refused.toys import checked, fails, made
from tests.train.toys import Mlp, examples, make_trainer


@dataclasses.dataclass(frozen=True)
class Failing(Writer):
    """A writer whose service is not there."""

    opens: bool = True

    def open(self, workdir, step):
        return self if self.opens else fails()

    def write(self, step, values):
        raise ConnectionError("the service is away")

    def flush(self):
        pass

    def close(self):
        pass


def written(opens):
    def run(folder):
        with WriterThread([Failing(opens=opens)], folder, 0) as thread:
            thread.write(1, {"loss": 1.0})
            thread.flush()

    return run


def stepped(batch):
    return lambda _: make_trainer().step(None, batch)


def asked_for(key):
    """A key path of `return_keys` that leads nowhere."""

    def run(_):
        trainer = make_trainer()
        batch = next(trainer.train_data.batches())
        trainer.step(trainer.init_state(), batch, return_keys=[key])

    return run


def of_nan(folder):
    """A run whose labels are not finite from the first batch on."""
    rows = examples()
    rows["labels"][:] = np.nan
    make_trainer(
        train_data=Pipeline(source=InMemory(rows), batch_size=8, seed=3),
        num_train_steps=3,
        log_every=2,
    ).train(folder)


def damaged(folder):
    (folder / "checkpoints" / "3" / "state").mkdir(parents=True)
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    like = {"params": {"w": jax.ShapeDtypeStruct((4,), "float32")}}
    shardings = {"params": {"w": here}}
    read_variables(folder / "checkpoints", 3, like=like, shardings=shardings)


def torn(folder):
    """A run that goes on from a checkpoint that somebody wrote into."""
    few = {"num_train_steps": 1, "eval_every": None, "eval_data": None}
    make_trainer(**few).train(folder)
    (folder / "checkpoints" / "1" / "state" / METADATA_FILE).write_text("{")
    make_trainer(**few | {"num_train_steps": 2}).train(folder)


def of_another_model(folder):
    """A run that goes on with a wider model."""
    few = {"num_train_steps": 1, "eval_every": None, "eval_data": None}
    make_trainer(**few).train(folder)
    make_trainer(model=Mlp(width=8), **few | {"num_train_steps": 2}).train(folder)


def in_the_way(folder):
    (folder / "file").write_text("")
    keep_record(folder / "file" / "run", {})


REFUSED = {
    "no step": checked(num_train_steps=0),
    "no steps between checkpoints": checked(checkpoints=CheckpointPolicy(every=0)),
    "no checkpoint that stays": made(CheckpointPolicy, keep=0),
    "data that ends too early": checked(
        train_data=Pipeline(source=InMemory(examples()), batch_size=8, num_epochs=2)
    ),
    "a batch of other entries": stepped({"y": np.ones((8, 4), np.float32)}),
    "a batch without an entry": stepped({}),
    "a key path of a step": asked_for("grads.Dense_0.kernal"),
    "a workdir below a file": in_the_way,
    "a loss that is not finite": of_nan,
    "a damaged checkpoint": damaged,
    "a checkpoint that somebody wrote into": torn,
    "a checkpoint of another model": of_another_model,
    "a writer that does not open": written(opens=False),
    "a writer that fails": written(opens=True),
}
