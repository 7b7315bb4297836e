"""A step's context: several losses, train metrics, intermediates, outputs on demand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import UserError
from fdlkit.keys import Key
from fdlkit.nn.repeat import Repeat
from fdlkit.train.losses import Loss, SquaredError
from fdlkit.train.metrics import MeanLoss, Metric
from fdlkit.train.models import LinenModel
from tests.train.toys import Mlp, examples, make_trainer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size(Metric):
    """The root of the sum of squares of all that a key leads to."""

    of: Key

    def state(self, *, of, mask):
        del mask
        leaves = jax.tree.leaves(of)
        return {"squares": sum(jnp.sum(jnp.square(leaf)) for leaf in leaves)}

    def result(self, state):
        return float(np.sqrt(state["squares"]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbsoluteError(Loss):
    """Distances, `[batch]`."""

    predictions: Key = "preds"
    labels: Key = "batch.labels"

    def values(self, *, predictions, labels):
        return jnp.abs(predictions - labels)[:, 0]


class Tower(nn.Module):
    """Layers of one kind below a head; its fields name them."""

    repeat: Repeat
    head: nn.Module

    def __call__(self, x: jax.Array) -> jax.Array:
        """`[batch, features]` to `[batch, 1]`."""
        return self.head(self.repeat(x))


class Layer(nn.Module):
    """`[batch, features]` to the same."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Adds to the stream."""
        return x + nn.tanh(nn.Dense(4, name="dense")(x))


def tower(**changes: Any) -> Tower:
    return Tower(repeat=Repeat(block=Layer(), n=3, **changes), head=nn.Dense(1))


def lines_of(workdir: Path) -> list[dict[str, float]]:
    text = (workdir / "metrics.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def first_batch(trainer) -> dict[str, np.ndarray]:
    return next(trainer.train_data.batches())


def still(**changes: Any):
    """A trainer whose model has no dropout."""
    return make_trainer(**{"model": Mlp(dropout=0.0)} | changes)


def test_losses_are_summed_by_their_weights_and_each_is_reported():
    schedule = optax.linear_schedule(0.5, 0.0, 10)
    losses = {
        "square": SquaredError(weight=2.0),
        "absolute": AbsoluteError(weight=schedule),
    }
    trainer = still(loss=losses, schedules={"absolute_weight": schedule})
    state, batch = trainer.init_state(), first_batch(trainer)
    for step in range(3):
        preds = trainer.model.apply({"params": state.params}, batch["x"])
        errors = np.asarray(preds) - batch["labels"]
        state, report = trainer.step(state, batch)
        square, absolute = np.mean(errors**2), np.mean(np.abs(errors))
        weight = 0.5 - 0.05 * step
        assert float(report["losses/square"]) == pytest.approx(square, rel=1e-5)
        assert float(report["losses/absolute"]) == pytest.approx(absolute, rel=1e-5)
        total = 2 * square + weight * absolute
        assert float(report["loss"]) == pytest.approx(total, rel=1e-5)
        rate = float(report["schedules/absolute_weight"])
        assert rate == pytest.approx(weight, rel=1e-6)


def test_one_loss_reports_no_more_than_itself():
    trainer = still()
    _, report = trainer.step(trainer.init_state(), first_batch(trainer))
    assert list(report) == ["loss", "grad_norm", "learning_rate", "param_norm"]
    assert trainer.setup.state.window.shape == (5,)


def test_a_loss_may_have_a_mask_of_its_own():
    data = examples(16) | {"left": np.repeat([1.0, 0.0], 8).astype(np.float32)}
    pipeline = Pipeline(source=InMemory(data), batch_size=16, shuffle=False)
    losses = {"left": SquaredError(mask="batch.left"), "all": SquaredError()}
    trainer = still(loss=losses, train_data=pipeline, eval_data=None)
    state, batch = trainer.init_state(), first_batch(trainer)
    preds = trainer.model.apply({"params": state.params}, batch["x"])
    squares = (np.asarray(preds) - batch["labels"]) ** 2
    _, report = trainer.step(state, batch)
    assert float(report["losses/left"]) == pytest.approx(squares[:8].mean(), rel=1e-5)
    assert float(report["losses/all"]) == pytest.approx(squares.mean(), rel=1e-5)


def test_a_batch_that_is_all_padding_adds_nothing_to_several_losses():
    data = examples() | {"mask": np.zeros(64, np.float32)}
    pipeline = Pipeline(source=InMemory(data), batch_size=8)
    losses = {"square": SquaredError(), "absolute": AbsoluteError()}
    trainer = still(loss=losses, train_data=pipeline, eval_data=None)
    _, report = trainer.step(trainer.init_state(), first_batch(trainer))
    names = ("loss", "losses/square", "losses/absolute", "grad_norm")
    assert {name: float(report[name]) for name in names} == dict.fromkeys(names, 0.0)


TRAIN_METRICS = {
    "loss": MeanLoss(),
    "grads": Size(of="grads"),
    "updates": Size(of="updates.Dense_0.kernel"),
    "params": Size(of="params"),
    "step": Size(of="step"),
}


def test_train_metrics_are_of_the_log_points_own_batch(tmp_path):
    trainer = make_trainer(train_metrics=TRAIN_METRICS, eval_data=None)
    trainer.train(tmp_path)
    state, wanted = trainer.init_state(), []
    batches = trainer.train_data.batches()
    for step in range(1, 31):
        before = state.params["Dense_0"]["kernel"].copy()
        size = float(optax.tree.norm(state.params))
        state, report = trainer.step(state, next(batches))
        if step % 7 == 0 or step == 30:
            moved = np.asarray(state.params["Dense_0"]["kernel"] - before)
            wanted.append(
                {
                    "train/loss": float(report["loss"]),
                    "train/grads": float(report["grad_norm"]),
                    "train/updates": float(np.sqrt(np.sum(moved**2))),
                    "train/params": size,
                    "train/step": step - 1,
                }
            )
    found = [
        {name: value for name, value in line.items() if name.startswith("train/")}
        for line in lines_of(tmp_path)
    ]
    assert len(found) == len(wanted) == 5
    for line, expected in zip(found, wanted, strict=True):
        assert line == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_train_metrics_change_nothing_that_is_trained(tmp_path):
    make_trainer(eval_data=None).train(tmp_path / "without")
    make_trainer(eval_data=None, train_metrics=TRAIN_METRICS).train(tmp_path / "with")
    losses = [
        [line["loss"] for line in lines_of(tmp_path / name)]
        for name in ("without", "with")
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_what_only_a_log_point_needs_is_in_one_branch_of_the_step():
    trainer = make_trainer(train_metrics=TRAIN_METRICS, eval_data=None)
    text = trainer.setup.lower_train_step().as_text()
    assert text.count('"stablehlo.case"') == 1


def test_a_metric_finds_the_states_of_those_before_it():
    metrics = {"grads": Size(of="grads"), "again": Size(of="metrics.grads.squares")}
    trainer = still(train_metrics=metrics, eval_data=None)
    batch = first_batch(trainer)
    _, report = trainer.step(trainer.init_state(), batch, return_metrics=True)
    found = report["metrics"]
    assert found["again"] == pytest.approx(found["grads"] ** 2, rel=1e-5)


def captured(jaxpr) -> bool:
    """Whether a program gives arrays `[3, 8, 4]`: what three layers return."""
    shapes = [getattr(v.aval, "shape", None) for v in jaxpr.jaxpr.outvars]
    inner = [
        value
        for eqn in jaxpr.jaxpr.eqns
        for value in eqn.params.values()
        if hasattr(value, "jaxpr")
    ]
    of_scans = [
        var.aval.shape
        for eqn in jaxpr.jaxpr.eqns
        if eqn.primitive.name == "scan"
        for var in eqn.outvars
    ]
    return (3, 8, 4) in (*shapes, *of_scans) or any(map(captured, inner))


def forward_program(trainer):
    setup = trainer.setup
    return jax.make_jaxpr(setup.eval_step)(
        setup.state.params, setup.state.model_state, setup.eval_batch, 0
    )


@pytest.mark.parametrize("scan", [True, False])
def test_an_intermediate_of_repeated_layers_is_stacked(scan):
    key = "interms.repeat.block.dense.__call__[0]"
    trainer = make_trainer(
        model=tower(scan=scan), train_metrics={"inner": Size(of=key)}, eval_data=None
    )
    state, batch = trainer.init_state(), first_batch(trainer)
    kernel, bias = (
        np.asarray(state.params["repeat"]["block"]["dense"][name])
        for name in ("kernel", "bias")
    )
    x, expected = batch["x"], []
    for layer in range(3):
        expected.append(x @ kernel[layer] + bias[layer])
        x = x + np.tanh(expected[-1])
    _, report = trainer.step(state, batch, return_metrics=True, return_keys=[key])
    np.testing.assert_allclose(
        report["keys"][key], np.stack(expected), rtol=1e-5, atol=1e-6
    )
    size = np.sqrt(np.sum(np.square(expected)))
    assert report["metrics"]["inner"] == pytest.approx(size, rel=1e-5)


def test_nothing_is_captured_unless_a_key_asks_for_it():
    plain = make_trainer(model=tower())
    asking = make_trainer(
        model=tower(),
        metrics={"inner": Size(of="interms.repeat.block.dense.__call__[0]")},
    )
    other = make_trainer(
        model=tower(), metrics={"last": Size(of="interms.head.__call__[0]")}
    )
    # The evaluation's batches have 8 rows as well.
    assert not captured(forward_program(plain))
    assert captured(forward_program(asking))
    assert not captured(forward_program(other))


class Helped(nn.Module):
    """A layer that asks itself for a number, also while it is made."""

    width: int = 4

    def __post_init__(self):
        super().__post_init__()
        self._half()

    def _half(self):
        return self.width // 2

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2 * self._half(), name="dense")(x)


def test_what_a_layers_helpers_return_is_no_intermediate():
    model, x = LinenModel(Helped()), jnp.ones((2, 4))
    variables = model.init(jax.random.key(0), {"x": x})
    _, _, kept = model.apply_capturing(variables, {"x": x}, {}, [()])
    assert sorted(kept) == ["__call__", "dense"]
    _, _, kept = model.apply_capturing(variables, {"x": x}, {}, [("_half", 0)])
    assert set(kept) == {"_half"} and set(kept["_half"]) == {2}


def test_a_loss_may_read_an_intermediate():
    loss = {
        "fit": SquaredError(),
        "small": SquaredError(
            predictions="interms.Dense_0.__call__[0]",
            labels="interms.Dense_0.__call__[0]",
        ),
    }
    trainer = still(loss=loss)
    _, report = trainer.step(trainer.init_state(), first_batch(trainer))
    assert float(report["losses/small"]) == 0.0
    trainer.setup.lower_eval_step()


def test_a_misspelt_intermediate_is_told_what_there_is_before_anything_compiles():
    metric = Size(of="interms.repeat.blok.dense.__call__[0]")
    trainer = make_trainer(model=tower(), train_metrics={"inner": metric})
    with pytest.raises(UserError) as caught:
        trainer.check()
    assert caught.value.lines == (
        "train_metrics['inner'].of='interms.repeat.blok.dense.__call__[0]' leads "
        "nowhere: no 'blok' at interms.repeat",
        "did you mean 'interms.repeat.block.dense.__call__[0]'?",
        "available at interms.repeat: __call__, block",
    )


@pytest.mark.parametrize(
    ("changes", "what", "meant"),
    [
        (
            {"metrics": {"m": Size(of="batch.lables")}},
            "metrics['m'].of='batch.lables'",
            "batch.labels",
        ),
        (
            {"metrics": {"m": Size(of="grads")}},
            "metrics['m'].of='grads' leads nowhere: no 'grads' at the context",
            None,
        ),
        (
            {"train_metrics": {"m": Size(of="update")}},
            "train_metrics['m'].of='update'",
            "updates",
        ),
        (
            {"loss": {"a": SquaredError(), "b": SquaredError(labels="labels")}},
            "loss['b'].labels='labels'",
            "batch.labels",
        ),
        (
            {"loss": SquaredError(mask="batch.msk", labels="batch.x")},
            "loss.mask='batch.msk'",
            None,
        ),
        (
            {"train_metrics": {"m": Size(of="interms.")}},
            "train_metrics['m'].of: 'interms.' is not a key path",
            None,
        ),
        (
            {"train_metrics": {"m": Size(of=f"preds[{'9' * 5000}]")}},
            "train_metrics['m'].of: 'preds[999",
            None,
        ),
    ],
)
def test_key_paths_are_refused_before_anything_compiles(changes, what, meant):
    with pytest.raises(UserError) as caught:
        make_trainer(**changes).check()
    assert caught.value.lines[0].startswith(what)
    if meant is not None:
        assert caught.value.lines[1] == f"did you mean '{meant}'?"


def test_what_is_asked_for_comes_with_the_step_and_compiles_once():
    trainer = still(
        train_metrics={"grads": Size(of="grads")},
        loss={"square": SquaredError(), "absolute": AbsoluteError()},
    )
    batch = first_batch(trainer)
    state, full = trainer.step(
        trainer.init_state(),
        batch,
        return_losses=True,
        return_metrics=True,
        return_keys=["preds", "grads.Dense_0.kernel"],
    )
    assert set(full) > {"losses", "metrics", "keys"}
    assert full["losses"]["absolute"].values.shape == (8,)
    assert full["metrics"]["grads"] == pytest.approx(float(full["grad_norm"]), rel=1e-5)
    assert full["keys"]["preds"].shape == (8, 1)
    assert full["keys"]["grads.Dense_0.kernel"].shape == (4, 16)
    # Whoever asks for less is served by the same executable.
    state, less = trainer.step(state, batch, return_losses=True)
    assert "metrics" not in less
    assert len(trainer._steppers) == 1
    state, _ = trainer.step(state, batch)
    assert len(trainer._steppers) == 1


def test_a_key_that_is_asked_for_and_leads_nowhere_is_told():
    trainer = still()
    with pytest.raises(UserError, match="did you mean 'preds'"):
        trainer.step(
            trainer.init_state(), first_batch(trainer), return_keys=["preds.logits"]
        )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"loss": MeanLoss()},
            "loss is a MeanLoss, which is no Loss",
        ),
        (
            {"loss": {"a": SquaredError(), "b": optax.l2_loss}},
            "loss['b'] is a function, which is no Loss",
        ),
        (
            {"train_metrics": {"a": SquaredError()}},
            "train_metrics['a'] is a SquaredError, which is no Metric",
        ),
        ({"loss": {}}, "loss={}: there is nothing to minimize"),
    ],
)
def test_what_is_no_loss_or_metric_is_refused(changes, line):
    with pytest.raises(UserError) as caught:
        make_trainer(**changes).check()
    assert caught.value.lines[0] == line
