"""NNX modules train, are laid out and are kept as Linen modules are."""

from __future__ import annotations

import functools

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import PartitionSpec

import fdlkit
from fdlkit.errors import UserError
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.nnx_models import NnxModel
from tests.train.toys import make_trainer


class Layer(nnx.Module):
    """A linear map whose kernel says its logical axes."""

    def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "mlp"))
        self.linear = nnx.Linear(inputs, outputs, kernel_init=init, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


class Net(nnx.Module):
    """What NNX has of everything: a list, dropout, batch statistics, sharing."""

    def __init__(self, width: int = 16, dropout: float = 0.5, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [Layer(4, width, rngs=rngs), Layer(width, width, rngs=rngs)]
        )
        self.reused = self.layers[1]
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)
        self.out = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        for layer in self.layers:
            x = nnx.tanh(layer(x))
        return self.out(self.dropout(self.norm(self.reused(x))))


def model(**arguments) -> NnxModel:
    return NnxModel(functools.partial(Net, **arguments))


def boxed_variables_of(adapter: NnxModel):
    return adapter.init(jax.random.key(0), {})


def variables_of(adapter: NnxModel):
    return nn.meta.unbox(boxed_variables_of(adapter))


def test_variables_are_plain_dicts_by_collection_with_names_of_axes():
    variables = boxed_variables_of(model())
    assert set(variables) == {"params", "batch_stats"}
    assert set(variables["params"]) == {"layers", "norm", "out"}
    assert set(variables["params"]["layers"]) == {"0", "1"}
    kernel = variables["params"]["layers"]["0"]["linear"]["kernel"]
    assert kernel.names == (None, "mlp")
    leaves = jax.tree.leaves(nn.meta.unbox(variables))
    assert leaves and all(isinstance(leaf, jax.Array) for leaf in leaves)


def test_what_two_fields_hold_is_one_set_of_parameters_and_trains_as_one():
    trainer = make_trainer(model=model(dropout=0.0))
    state = trainer.init_state()
    assert "reused" not in state.params
    before = np.asarray(state.params["layers"]["1"]["linear"]["kernel"])
    state, _ = trainer.step(state, next(trainer.train_data.batches()))
    after = np.asarray(state.params["layers"]["1"]["linear"]["kernel"])
    assert not np.array_equal(before, after)


def test_predictions_are_those_of_the_module_itself():
    adapter = model()
    variables = variables_of(adapter)
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    preds, state = adapter.apply(variables, {"x": x}, {})
    assert state == {}
    rngs = jax.random.split(jax.random.key(0), 3)
    with nnx.use_eager_sharding(False):
        module = Net(rngs=nnx.Rngs(default=rngs[0], params=rngs[1], dropout=rngs[2]))
    module.eval()
    np.testing.assert_allclose(preds, module(x), rtol=1e-6)


def test_dropout_is_on_in_training_with_a_new_mask_for_each_key():
    adapter = model()
    variables = variables_of(adapter)
    x = np.ones((8, 4), np.float32)

    def preds(rngs):
        return np.asarray(adapter.apply(variables, {"x": x}, rngs)[0])

    first, again = ({"dropout": jax.random.key(1)} for _ in range(2))
    np.testing.assert_array_equal(preds(first), preds(again))
    assert not np.array_equal(preds(first), preds({"dropout": jax.random.key(2)}))
    np.testing.assert_array_equal(preds({}), preds({}))


def test_batch_statistics_move_in_training_and_rest_in_evaluation():
    adapter = model()
    variables = variables_of(adapter)
    x = np.random.default_rng(0).normal(3.0, size=(32, 4)).astype(np.float32)
    _, changed = adapter.apply(variables, {"x": x}, {"dropout": jax.random.key(0)})
    before, after = variables["batch_stats"], changed["batch_stats"]
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert not np.array_equal(before["norm"]["mean"], after["norm"]["mean"])
    assert adapter.apply(variables, {"x": x}, {})[1] == {}


def test_a_run_stops_and_goes_on_to_the_same_bits(tmp_path):
    fields = {"model": model(), "checkpoints": CheckpointPolicy(every=10)}
    make_trainer(**fields, num_train_steps=10).train(tmp_path / "cut")
    make_trainer(**fields).train(tmp_path / "cut")
    make_trainer(**fields).train(tmp_path / "whole")
    lines = [
        (tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1]
        for name in ("cut", "whole")
    ]
    assert lines[0] == lines[1]
    assert '"eval/loss"' in lines[0]


def test_the_jitted_step_takes_and_gives_dicts_and_nothing_of_nnx():
    trainer = make_trainer(model=model())
    state = trainer.setup.state
    held = (state.params, dict(state.model_state))
    leaves = jax.tree.leaves(held, is_leaf=lambda x: not isinstance(x, dict | tuple))
    kinds = {type(leaf) for leaf in leaves}
    assert kinds == {jax.ShapeDtypeStruct}


def test_kernels_are_cut_by_the_names_that_the_module_gave_them():
    trainer = make_trainer(model=model())
    layout = trainer.setup_on(trainer.mesh.abstract()).shardings
    kernel = layout.params["layers"]["0"]["linear"]["kernel"]
    assert kernel.spec == PartitionSpec(None, "tensor")
    moments = layout.opt_state[0].mu["layers"]["0"]["linear"]["kernel"]
    assert moments.spec == PartitionSpec(None, "tensor")


def test_an_axis_that_no_rule_knows_is_refused_with_its_path():
    class Odd(nnx.Module):
        def __init__(self, *, rngs):
            init = nnx.with_partitioning(nnx.initializers.ones, (None, "mpl"))
            self.kernel = nnx.Param(init(rngs.params(), (4, 1)))

        def __call__(self, x):
            return x @ self.kernel

    with pytest.raises(UserError, match="no rule for its logical axis 'mpl'"):
        _ = make_trainer(model=NnxModel(Odd)).setup


def test_inputs_are_checked_against_the_modules_call():
    with pytest.raises(UserError, match="the model Net takes no argument 'z'"):
        _ = make_trainer(model=model(), inputs={"z": "batch.x"}).setup


class Tied(nnx.Module):
    """Makes its parts by recipes."""

    def __init__(self, embed, output, *, rngs):
        self.embed = embed(rngs=rngs)
        self.output = output(rngs=rngs)

    def __call__(self, x):
        return self.output(self.embed(x))


def test_one_recipe_in_two_places_is_refused_with_both():
    table = functools.partial(nnx.Linear, 4, 4)
    with pytest.raises(UserError) as refused:
        NnxModel(functools.partial(Tied, embed=table, output=table))
    assert "model.module.embed" in str(refused.value)
    assert "model.module.output" in str(refused.value)
    two = functools.partial(nnx.Linear, 4, 4)
    NnxModel(functools.partial(Tied, embed=table, output=two))


def test_a_module_that_is_made_already_is_refused():
    made = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
    with pytest.raises(
        UserError, match=r"model\.module\.embed: the Linear is made already"
    ):
        NnxModel(functools.partial(Tied, embed=made, output=made))


def test_a_variable_that_a_call_makes_is_refused():
    class Late(nnx.Module):
        def __init__(self, *, rngs):
            self.weight = nnx.Param(jnp.ones((4, 1)))

        def __call__(self, x):
            self.seen = nnx.BatchStat(jnp.zeros(()))
            return x @ self.weight

    adapter = NnxModel(Late)
    with pytest.raises(UserError, match="makes a variable seen"):
        adapter.apply(
            variables_of(adapter),
            {"x": np.ones((2, 4), np.float32)},
            {"dropout": jax.random.key(0)},
        )


def test_what_is_no_model_is_told_what_would_be():
    with pytest.raises(UserError) as refused:
        _ = make_trainer(model=functools.partial(Net)).setup
    assert "NnxModel" in str(refused.value)


def test_the_card_and_check_name_the_recipes_arguments():
    def part(inputs, outputs):
        return fdl.Partial(nnx.Linear, in_features=inputs, out_features=outputs)

    trainer = make_trainer()
    cfg = fdl.Config(
        type(trainer),
        model=fdl.Config(
            NnxModel, fdl.Partial(Tied, embed=part(4, 8), output=part(8, 1))
        ),
        inputs={"x": "batch.x"},
        loss=trainer.loss,
        train_data=trainer.train_data,
        optimizer=fdl.Config(optax.adam, 1e-3),
        num_train_steps=3,
    )
    from fdlkit.check.card import card
    from fdlkit.check.request import Request
    from fdlkit.check.subject import Subject

    sizes = {m.path: m.parameters for m in card(Subject(cfg, Request())).modules}
    assert sizes == {"model.module.embed": 40, "model.module.output": 9}
    assert not [f for f in fdlkit.check(cfg) if f.severity == "error"]
