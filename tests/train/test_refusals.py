"""What a run refuses of its losses, metrics and schedules, before it compiles."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import RunFailedError, UserError
from fdlkit.train.losses import SquaredError
from fdlkit.train.metrics import MeanLoss
from tests.train.refused.toys import Mine, fails
from tests.train.toys import make_trainer

STATES = {
    "complex": (lambda p: jnp.sum(p + 1j), "the state of {} has an array of complex64"),
    "text": (lambda p: "x", "the state of {} has something of type str"),
    "unsortable": (lambda p: {1: p, "a": p}, "{} cannot be traced"),
    "key": (lambda p: jax.random.key(0), "the state of {} has an array of key<fry>"),
    "raises": (fails, "{} cannot be traced\nZeroDivisionError: of mine\nat .*fails"),
}


@pytest.mark.parametrize("field", ["metrics", "train_metrics"])
@pytest.mark.parametrize("kind", STATES)
def test_a_metric_without_a_state_of_numbers_is_refused_before_it_runs(field, kind):
    make, told = STATES[kind]
    trainer = make_trainer(**{field: {"mine": Mine(make=make)}})
    with pytest.raises(UserError, match=told.format(rf"{field}\['mine'\]")):
        trainer.check()


def test_so_is_one_whose_evaluation_has_batches_of_other_rows():
    trainer = make_trainer(metrics={"mine": Mine(make=fails)})
    data = dataclasses.replace(trainer.eval_data, batch_size=4)
    trainer = dataclasses.replace(trainer, eval_data=data)
    with pytest.raises(UserError, match=r"metrics\['mine'\] cannot be traced"):
        trainer.check()


@pytest.mark.parametrize("field", ["metrics", "train_metrics"])
@pytest.mark.parametrize(
    "give",
    [lambda s: None, lambda s: "x", lambda s: np.ones(2), lambda s: {"a": {}}],
    ids=["none", "text", "array", "nested"],
)
def test_a_result_that_is_never_a_number_is_refused_before_a_run(field, give):
    trainer = make_trainer(**{field: {"mine": Mine(give=give)}})
    with pytest.raises(UserError, match=rf"^{field}\['mine'\] \(Mine\): `result`"):
        trainer.check()


@pytest.mark.parametrize("field", ["metrics", "train_metrics"])
@pytest.mark.parametrize(
    "give",
    [lambda s: float(s) if s in (0, 1) else "x", fails],
    ids=["text", "raises"],
)
def test_a_result_that_is_no_number_then_ends_the_run_by_name(field, give, tmp_path):
    trainer = make_trainer(
        **{field: {"mine": Mine(give=give)}}, num_train_steps=1, log_every=1
    )
    with pytest.raises(RunFailedError, match=rf"{field}\['mine'\] \(Mine\): `result`"):
        trainer.train(tmp_path)


WEIGHTS = {
    math.nan: "neither a finite number",
    math.inf: "neither a finite number",
    "1": "neither a finite number",
    None: "neither a finite number",
    lambda step: jnp.ones(3): r"an array of shape \[3\]",
}


@pytest.mark.parametrize("weight", WEIGHTS, ids=["nan", "inf", "text", "None", "axes"])
def test_a_loss_of_no_weight_is_refused(weight):
    trainer = make_trainer(loss={"a": SquaredError(), "b": SquaredError(weight=weight)})
    with pytest.raises(UserError, match=rf"loss\['b'\].weight.*{WEIGHTS[weight]}"):
        trainer.check()


@pytest.mark.parametrize("weight", [0, -1.0, np.float32(2), jnp.float32(2)], ids=repr)
def test_any_number_is_a_weight(weight):
    make_trainer(loss=SquaredError(weight=weight)).check()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schedules": {"a": lambda step: jnp.ones(3)}}, r"schedules\['a'\] gives an"),
        ({"schedules": {"a": fails}}, r"schedules\['a'\] cannot be traced"),
        ({"schedules": {"a": "x"}}, r"schedules\['a'\]='x' is neither"),
        ({"learning_rate": "x"}, "learning_rate='x' is neither"),
        ({"metrics": [MeanLoss()]}, "metrics is a list"),
        ({"metrics": {1: MeanLoss()}}, r"metrics\[1\]: a name has to be text, .*int"),
    ],
    ids=["shape", "raises", "text", "rate", "list", "number"],
)
def test_what_is_no_schedule_or_no_name_is_refused(changes, told):
    with pytest.raises(UserError, match=told):
        make_trainer(**changes).check()
