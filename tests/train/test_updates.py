"""Updates in a trainer: microbatches, averages, frozen parts, scales, skips."""

from __future__ import annotations

import dataclasses
import io
import json

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import RunFailedError, UserError
from fdlkit.keys import Key
from fdlkit.train.checkpoints import CheckpointPolicy, Checkpoints
from fdlkit.train.ema import Ema
from fdlkit.train.loss_scale import DynamicLossScale, LossScale
from fdlkit.train.losses import Loss, SquaredError
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.nonfinite import SkipNonfinite
from fdlkit.train.optimizers import by_path, frozen
from fdlkit.train.progress import LineProgress
from fdlkit.train.saved_state import OTHER_WINDOW
from tests.train.toys import Mlp, examples, make_trainer


def data(rows, batch_size=8):
    return Pipeline(source=InMemory(rows), batch_size=batch_size, shuffle=False)


def run(trainer, steps, **asked):
    """The state after some steps, and what each of them reported."""
    state, batches, told = trainer.init_state(), trainer.train_data.batches(), []
    for _ in range(steps):
        state, report = trainer.step(state, next(batches), **asked)
        told.append(report)
    return state, told


def assert_same_bits(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def assert_close(a, b, tolerance):
    """Within a tolerance relative to the largest number of each array."""

    def close(x, y):
        atol = tolerance * max(float(np.max(np.abs(y))), 1e-6)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)

    jax.tree.map(close, a, b)


# Microbatches


@dataclasses.dataclass(frozen=True, kw_only=True)
class Absolute(Loss):
    """An error an element, `[batch, 1]`."""

    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def values(self, *, predictions, labels):
        return jnp.abs(predictions - labels)


def ragged():
    """Rows of which some count, and by different weights, and in one batch none."""
    rows = examples(48)
    random = np.random.default_rng(5)
    rows["mask"] = random.integers(0, 2, 48).astype(np.float32)
    rows["mask"][24:48] = 0.0
    rows["other"] = random.random((48, 1)).astype(np.float32) * (
        random.random((48, 1)) < 0.3
    )
    return rows


LOSSES = {"square": SquaredError(), "abs": Absolute(mask="batch.other", weight=0.3)}


def on_ragged(**changes):
    return make_trainer(
        model=Mlp(dropout=0.0),
        train_data=data(ragged(), 24),
        eval_data=None,
        loss=LOSSES,
        **changes,
    )


@pytest.fixture(scope="module")
def whole():
    return run(on_ragged(), 3, return_losses=True)


@pytest.mark.parametrize("microbatches", [2, 3, 8, 24])
def test_microbatches_are_the_big_batch_however_ragged_its_masks_are(
    microbatches, whole
):
    trainer = on_ragged(microbatches=microbatches)
    state, told = run(trainer, 3, return_losses=True)
    expected_state, expected = whole
    # Adam divides by the gradient's own size: that is what leaves these few digits.
    assert_close(state.params, expected_state.params, 1e-5)
    for one, other in zip(told, expected, strict=True):
        for name in ("loss", "losses/square", "losses/abs", "grad_norm"):
            assert float(one[name]) == pytest.approx(float(other[name]), rel=1e-5)
        assert_close(one["losses"], other["losses"], 1e-5)
    # The mean of the second batch's means would not be 0 for the loss that is masked.
    assert float(told[1]["losses/square"]) == 0.0 != float(told[1]["losses/abs"])


class Dropped(nn.Module):
    """Returns which of its numbers dropout has left."""

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, ())
        training = self.has_rng("dropout")
        return nn.Dropout(0.5, deterministic=not training)(jnp.ones_like(x)) * scale


def test_each_microbatch_has_dropout_of_its_own_and_the_same_again_next_time():
    def kept():
        rows = examples(8)
        rows["labels"] = np.zeros((8, 4), np.float32)
        trainer = make_trainer(
            model=Dropped(), train_data=data(rows), eval_data=None, microbatches=2
        )
        _, told = run(trainer, 1, return_keys=("preds",))
        return np.asarray(told[0]["keys"]["preds"])

    preds = kept()
    assert preds.shape == (8, 4)
    assert (preds[0::2] != preds[1::2]).any()
    np.testing.assert_array_equal(preds, kept())


class Counting(nn.Module):
    """Counts the batches that it has seen, and their rows."""

    @nn.compact
    def __call__(self, x):
        seen = self.variable("seen", "batches", lambda: jnp.zeros((), jnp.int32))
        if self.is_mutable_collection("seen") and not self.is_initializing():
            seen.value += 1
        return nn.Dense(1)(x)


def test_a_model_that_keeps_statistics_sees_one_microbatch_after_another():
    trainer = make_trainer(model=Counting(), microbatches=4)
    state, _ = run(trainer, 2)
    assert int(state.model_state["seen"]["batches"]) == 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class SumOfPreds(Metric):
    """The sum of the predictions and of the squares of a gradient."""

    preds: Key = "preds"
    grads: Key = "grads"

    def state(self, *, preds, grads, mask):
        del mask
        return {"preds": jnp.sum(preds), "grads": optax.tree.norm(grads)}

    def result(self, state):
        return {name: float(number) for name, number in state.items()}


def test_metrics_of_a_log_point_read_the_whole_batch():
    told = []
    for microbatches in (1, 4):
        trainer = make_trainer(
            model=Mlp(dropout=0.0),
            microbatches=microbatches,
            train_metrics={"sum": SumOfPreds(), "loss": MeanLoss()},
        )
        told.append(run(trainer, 1, return_metrics=True)[1][0]["metrics"])
    assert told[0] == pytest.approx(told[1], rel=1e-5)


def test_microbatches_that_do_not_divide_a_batch_are_refused_with_what_would_do():
    with pytest.raises(UserError) as refused:
        _ = make_trainer(microbatches=3).setup
    assert refused.value.lines == (
        "microbatches=3: they do not cut the 8 rows of a device into equal parts",
        "what would work: 2 or 4, or train_data.batch_size=9",
    )


# Averages


def test_the_average_is_that_of_a_loop_in_float64_and_evaluations_use_it(tmp_path):
    trainer = make_trainer(ema=Ema(decay=0.9), checkpoints=CheckpointPolicy(every=12))
    state = trainer.init_state()
    average = jax.tree.map(lambda p: np.asarray(p, np.float64), state.params)
    batches = trainer.train_data.batches()
    for _ in range(30):
        state, _ = trainer.step(state, next(batches))
        average = jax.tree.map(
            lambda a, p: 0.9 * a + 0.1 * np.asarray(p, np.float64),
            average,
            state.params,
        )
    assert_close(state.ema, average, 1e-6)
    trainer.train(tmp_path)
    lines = [json.loads(x) for x in (tmp_path / "metrics.jsonl").open()]
    held_out = examples(21, seed=1)
    preds = Mlp().apply({"params": state.ema}, held_out["x"])
    expected = np.mean((np.asarray(preds) - held_out["labels"]) ** 2)
    assert lines[-1]["eval/loss"] == pytest.approx(float(expected), rel=1e-4)


def final_state(trainer, workdir):
    with Checkpoints(workdir / "checkpoints", CheckpointPolicy()) as checkpoints:
        setup = trainer.setup
        return checkpoints.restore(
            checkpoints.last_step, like=setup.state, shardings=setup.shardings
        )[0]


ALL = {
    "microbatches": 2,
    "ema": Ema(decay=0.9, debias=True),
    "loss_scale": DynamicLossScale(initial=8.0, interval=5),
    "skip_nonfinite": SkipNonfinite(),
    "eval_data": None,
}


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    trainer = make_trainer(**ALL, num_train_steps=20)
    trainer.train(tmp_path / "whole")
    half = dataclasses.replace(trainer, num_train_steps=12)
    half.train(tmp_path / "parts")
    trainer.train(tmp_path / "parts")
    whole, parts = (final_state(trainer, tmp_path / n) for n in ("whole", "parts"))
    assert_same_bits(parts, whole)
    assert set(np.asarray(parts.loss_scale)) != {8.0}


@pytest.mark.parametrize("names", [["a", "b"], ["a"]])
def test_a_run_goes_on_with_another_number_of_losses(names, tmp_path):
    kept = {"a": SquaredError(), "b": SquaredError(weight=0.5), "c": SquaredError()}
    make_trainer(loss=kept, num_train_steps=10).train(tmp_path)
    changed = make_trainer(loss={n: kept[n] for n in names}, num_train_steps=14)
    said = io.StringIO()
    changed.train(tmp_path, progress=LineProgress(stream=said, num_train_steps=14))
    assert said.getvalue().count(OTHER_WINDOW) == 1
    # Steps 11 to 14, of which all means are.
    last = [json.loads(line) for line in (tmp_path / "metrics.jsonl").open()][-2:]
    logged = next(line for line in last if "loss" in line)
    assert logged["step"] == 14
    assert 0 < logged["loss"] < 20
    assert changed.evaluate(tmp_path).step == 14


def test_without_rules_the_state_has_no_more_than_it_had():
    plain = make_trainer().setup.state
    assert (plain.ema, plain.loss_scale, plain.skipped) == (None, None, None)
    assert plain.eval_params is plain.params


def test_an_average_is_laid_out_as_the_parameters_are():
    setup = make_trainer(ema=Ema()).setup
    assert jax.tree.leaves(setup.shardings.ema) == jax.tree.leaves(
        setup.shardings.params
    )


# Frozen parts


def test_what_is_frozen_keeps_every_bit_and_counts_in_no_norm():
    def optimizer(first):
        return optax.chain(
            optax.clip_by_global_norm(0.1),
            by_path({"Dense_0/**": first, "**": optax.adam(1e-2)}),
            optax.add_decayed_weights(-1e-3),
        )

    trainer = make_trainer(optimizer=optimizer(frozen()), learning_rate=None)
    before = trainer.init_state().params
    state, told = run(trainer, 5)
    assert_same_bits(state.params["Dense_0"], before["Dense_0"])
    assert np.any(state.params["Dense_1"]["kernel"] != before["Dense_1"]["kernel"])
    _, trained = run(
        make_trainer(optimizer=optimizer(optax.adam(1e-2)), learning_rate=None), 1
    )
    assert float(told[0]["grad_norm"]) < float(trained[0]["grad_norm"])


def test_a_frozen_part_costs_no_matrix_products():
    def products(first):
        groups = by_path({"Dense_0/**": first, "**": optax.sgd(1e-2)})
        text = make_trainer(optimizer=groups, learning_rate=None)
        return text.setup.lower_train_step().as_text().count("dot_general")

    # The gradient of the first kernel, the first thing that the backward pass ends in.
    assert products(frozen()) < products(optax.sgd(1e-2))


def test_a_frozen_part_is_frozen_in_a_run_and_after_it_goes_on(tmp_path):
    groups = by_path({"Dense_0/**": frozen(), "**": optax.adam(1e-2)})
    trainer = make_trainer(optimizer=groups, learning_rate=None, ema=Ema(decay=0.5))
    before = trainer.init_state().params["Dense_0"]
    dataclasses.replace(trainer, num_train_steps=12).train(tmp_path)
    trainer.train(tmp_path)
    after = final_state(trainer, tmp_path)
    assert_same_bits(after.params["Dense_0"], before)
    assert_same_bits(after.ema["Dense_0"], before)


# Scales and skips


class Half(nn.Module):
    """Computes in float16, with parameters in float32."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, dtype=jnp.float16)(x)


def test_a_scale_changes_no_number_but_for_rounding():
    plain, _ = run(make_trainer(model=Mlp(dropout=0.0)), 3)
    scaled, told = run(
        make_trainer(model=Mlp(dropout=0.0), loss_scale=LossScale(scale=1024.0)), 3
    )
    assert_close(scaled.params, plain.params, 1e-6)
    assert float(told[-1]["loss_scale"]) == 1024.0
    assert scaled.loss_scale is None


def test_a_dynamic_scale_shrinks_until_float16_can_hold_the_gradient():
    trainer = make_trainer(
        model=Half(), loss_scale=DynamicLossScale(initial=2.0**24, largest=2.0**24)
    )
    state, told = run(trainer, 20)
    scales = [float(report["loss_scale"]) for report in told]
    skipped = [int(report["skipped"]) for report in told]
    assert scales[0] == 2.0**24 > scales[-1] > 1.0
    last = skipped[-1]
    assert skipped == [min(n, last) for n in range(1, 21)]
    assert scales[last] == 2.0 ** (24 - last) == scales[-1]
    assert state.params["Dense_0"]["kernel"].dtype == jnp.float32
    # Adam counts the updates that were made.
    assert int(state.opt_state[0].count) == 20 - last


def with_bad_rows(*steps):
    """Rows in order; the batches of some steps, from 1, have one that is NaN."""
    rows = examples(80)
    for step in steps:
        rows["x"][(step - 1) * 8 + 3] = np.nan
    return data(rows)


def test_a_step_that_is_not_finite_changes_nothing_but_the_counts():
    trainer = make_trainer(
        train_data=with_bad_rows(2, 3),
        skip_nonfinite=SkipNonfinite(),
        ema=Ema(decay=0.5),
        model=Mlp(dropout=0.0),
    )
    batches = trainer.train_data.batches()
    state, _ = trainer.step(trainer.init_state(), next(batches))
    before = jax.tree.map(np.asarray, (state.params, state.opt_state, state.ema))
    for count in (1, 2):
        state, report = trainer.step(state, next(batches))
        assert_same_bits((state.params, state.opt_state, state.ema), before)
        assert int(report["skipped"]) == count
    assert int(state.step) == 3
    state, report = trainer.step(state, next(batches))
    assert int(report["skipped"]) == 2
    assert np.isfinite(float(report["loss"]))
    assert np.any(state.params["Dense_0"]["kernel"] != before[0]["Dense_0"]["kernel"])


class Lines:
    """What a run says."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)

    def update(self, step, values):
        pass


def logged(workdir):
    lines = [json.loads(line) for line in (workdir / "metrics.jsonl").open()]
    return [line for line in lines if "loss" in line]


def test_a_run_leaves_such_steps_out_of_its_means_and_says_how_many_they_were(tmp_path):
    changes = {"num_train_steps": 9, "log_every": 3, "eval_data": None}
    trainer = make_trainer(
        train_data=with_bad_rows(2, 5, 7, 8, 9),
        skip_nonfinite=SkipNonfinite(most_in_a_row=3),
        **changes,
    )
    told = Lines()
    assert trainer.train(tmp_path, progress=told).finished
    lines = logged(tmp_path)
    assert [line["skipped"] for line in lines] == [1, 2, 5]
    losses = []
    state, batches = trainer.init_state(), trainer.train_data.batches()
    for _ in range(6):
        state, report = trainer.step(state, next(batches))
        losses.append(float(report["loss"]))
    assert lines[0]["loss"] == pytest.approx((losses[0] + losses[2]) / 2, rel=1e-5)
    assert lines[1]["loss"] == pytest.approx((losses[3] + losses[5]) / 2, rel=1e-5)
    assert lines[2]["loss"] == "nan"
    said = [line for line in told.lines if "made no update" in line]
    assert said == [
        "5 of 9 steps made no update: their loss or gradient was not finite"
    ]


def test_too_many_of_them_in_a_row_end_the_run(tmp_path):
    trainer = make_trainer(
        train_data=with_bad_rows(4, 5, 6),
        skip_nonfinite=SkipNonfinite(most_in_a_row=2),
        num_train_steps=10,
        eval_data=None,
    )
    with pytest.raises(RunFailedError) as failed:
        trainer.train(tmp_path)
    assert "is not finite at step 6" in failed.value.lines[0]


def test_the_logged_rate_is_the_one_of_the_updates_that_were_made():
    trainer = make_trainer(train_data=with_bad_rows(2), skip_nonfinite=SkipNonfinite())
    _, told = run(trainer, 3)
    schedule = trainer.learning_rate
    rates = [float(report["learning_rate"]) for report in told]
    assert rates == pytest.approx([float(schedule(n)) for n in (0, 1, 1)])


# Types


class Brain(nn.Module):
    """Computes in bfloat16, with parameters in float32."""

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(8, dtype=jnp.bfloat16)(x))
        assert x.dtype == jnp.bfloat16
        return nn.Dense(1, dtype=jnp.bfloat16)(x)


@pytest.mark.parametrize("microbatches", [1, 2])
def test_bfloat16_is_computed_in_and_neither_kept_nor_added_up(microbatches):
    trainer = make_trainer(
        model=Brain(), ema=Ema(), microbatches=microbatches, eval_data=None
    )
    asked = ("grads", "updates", "preds", "losses.loss.values")
    state, told = run(trainer, 1, return_keys=asked)
    keys = told[0]["keys"]
    assert keys["preds"].dtype == jnp.bfloat16
    del keys["preds"]
    kinds = {array.dtype for array in jax.tree.leaves((state, keys))}
    assert kinds == {jnp.dtype(jnp.float32), jnp.dtype(jnp.int32)}
