"""Pairs of pure functions train: Haiku's, and one's own."""

from __future__ import annotations

import fiddle as fdl
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec

import fdlkit
from fdlkit.errors import UserError
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.function_models import FunctionModel, InitAndApply
from tests.train.toys import make_trainer


def forward(x):
    x = jnp.tanh(hk.Linear(16, name="inner")(x))
    rng = hk.maybe_next_rng_key()
    if rng is not None:
        x = hk.dropout(rng, 0.1, x)
    return hk.Linear(1, name="outer")(x)


def forward_with_state(x, is_training):
    x = hk.Linear(8)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training=is_training)
    return hk.Linear(1)(jnp.tanh(x))


def linear_init(rng, x):
    return [jax.random.normal(rng, (x.shape[-1], 1)), jnp.zeros(1)]


def linear_apply(params, rng, x):
    del rng
    kernel, bias = params
    return x @ kernel + bias


HAIKU = FunctionModel(hk.transform(forward))
HAIKU_WITH_STATE = FunctionModel(
    hk.transform_with_state(forward_with_state), stateful=True, training="is_training"
)
OWN = FunctionModel(InitAndApply(linear_init, linear_apply))


@pytest.mark.parametrize("model", [HAIKU, OWN])
def test_a_pair_trains(model):
    trainer = make_trainer(model=model)
    state = trainer.init_state()
    batch = next(trainer.train_data.batches())
    losses = []
    for _ in range(20):
        state, report = trainer.step(state, batch)
        losses.append(float(report["loss"]))
    assert losses[-1] < losses[0]


def test_a_run_stops_and_goes_on_to_the_same_bits(tmp_path):
    fields = {"model": HAIKU_WITH_STATE, "checkpoints": CheckpointPolicy(every=10)}
    make_trainer(**fields, num_train_steps=10).train(tmp_path / "cut")
    make_trainer(**fields).train(tmp_path / "cut")
    make_trainer(**fields).train(tmp_path / "whole")
    lines = [
        (tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1]
        for name in ("cut", "whole")
    ]
    assert lines[0] == lines[1]
    assert '"eval/loss"' in lines[0]


def test_a_state_moves_in_training_and_rests_in_evaluation():
    x = np.random.default_rng(0).normal(2.0, size=(16, 4)).astype(np.float32)
    variables = HAIKU_WITH_STATE.init(jax.random.key(0), {"x": x})
    assert set(variables) == {"params", "state"}
    _, changed = HAIKU_WITH_STATE.apply(
        variables, {"x": x}, {"dropout": jax.random.key(0)}
    )
    flat = [
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
        for tree in (variables["state"], changed["state"])
    ]
    assert not np.array_equal(*flat)
    assert HAIKU_WITH_STATE.apply(variables, {"x": x}, {})[1] == {}


def test_dropout_gets_a_key_in_training_only():
    x = np.ones((4, 4), np.float32)
    variables = HAIKU.init(jax.random.key(0), {"x": x})
    quiet = HAIKU.apply(variables, {"x": x}, {})[0]
    np.testing.assert_array_equal(quiet, HAIKU.apply(variables, {"x": x}, {})[0])
    noisy = HAIKU.apply(variables, {"x": x}, {"dropout": jax.random.key(3)})[0]
    assert not np.array_equal(quiet, noisy)


def test_patterns_give_parameters_their_logical_axes():
    model = FunctionModel(
        hk.transform(forward), axes={"inner/w": [None, "mlp"], "*/b": [None]}
    )
    trainer = make_trainer(model=model)
    layout = trainer.setup_on(trainer.mesh.abstract()).shardings.params
    assert layout["inner"]["w"].spec == PartitionSpec(None, "tensor")
    assert layout["outer"]["b"].spec == PartitionSpec(None)


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"iner/w": [None, "mlp"]}, "did you mean 'inner/w'?"),
        ({"inner/w": ["mlp"]}, r"names 1 dims, and the parameter inner/w has 2"),
    ],
)
def test_patterns_that_fit_nothing_are_refused(axes, text):
    model = FunctionModel(hk.transform(forward), axes=axes)
    with pytest.raises(UserError) as refused:
        _ = make_trainer(model=model).setup
    assert text in str(refused.value)


def test_a_bare_pair_is_told_where_it_belongs():
    with pytest.raises(UserError, match="FunctionModel"):
        _ = make_trainer(model=hk.transform(forward)).setup


def twice(first, second):
    def function(x):
        return first()(x) + second()(x)

    return function


def test_one_recipe_in_two_places_is_an_error_of_check():
    trainer = make_trainer()
    recipe = fdl.Partial(hk.Linear, 1)
    cfg = fdl.Config(
        type(trainer),
        model=fdl.Config(
            FunctionModel,
            fdl.Config(hk.transform, fdl.Config(twice, first=recipe, second=recipe)),
        ),
        inputs={"x": "batch.x"},
        loss=trainer.loss,
        train_data=trainer.train_data,
        optimizer=fdl.Config(optax.adam, 1e-3),
        num_train_steps=3,
    )
    assert "CF007" in {finding.code for finding in fdlkit.check(cfg)}
    pair = cfg.model.functions
    pair.f.second = fdl.Partial(hk.Linear, 1)
    assert "CF007" not in {finding.code for finding in fdlkit.check(cfg)}
