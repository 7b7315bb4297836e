"""What a run derives from its config before anything compiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import AbstractMesh, AxisType

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.errors import UserError
from fdlkit.keys import Key
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.losses import CrossEntropy, Loss, SquaredError
from fdlkit.train.throughput import Clock, StepCost, count_flops, peak_flops
from tests.train.toys import Mlp, examples, make_trainer


def test_nothing_is_compiled_and_no_device_is_touched(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a device was touched")

    trainer = make_trainer()
    mesh = AbstractMesh((4, 1, 1, 1, 1), MESH_AXES, axis_types=(AxisType.Auto,) * 5)
    monkeypatch.setattr(jax, "device_put", refuse)
    monkeypatch.setattr(jax, "devices", refuse)
    setup = trainer.setup_on(mesh)
    assert setup.state.params["Dense_0"]["kernel"].shape == (4, 16)
    assert setup.batch["x"].shape == (8, 4)


def test_an_abstract_mesh_lowers_the_same_step():
    mesh = AbstractMesh((1, 1, 1, 1, 1), MESH_AXES, axis_types=(AxisType.Auto,) * 5)
    trainer = make_trainer()
    real = trainer.setup.lower_train_step().as_text()
    abstract = trainer.setup_on(mesh).lower_train_step(platforms=("cpu",)).as_text()
    assert abstract == real


def test_every_array_of_a_wrapped_optimizers_state_has_a_place():
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    setup = make_trainer(optimizer=optimizer).setup
    arrays = jax.tree.leaves(setup.state.opt_state)
    # Two moments of two kernels and two biases, and Adam's count.
    assert len(arrays) == 2 * 4 + 1
    assert jax.tree.structure(setup.shardings.opt_state) == jax.tree.structure(
        setup.state.opt_state
    )


class Counted(nn.Module):
    """Scales by its first batch's mean, and tells that it is being initialised."""

    tell: Callable[[], None]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """A column for each row."""
        if self.is_initializing():
            self.tell()
        kernel = nn.with_logical_partitioning(nn.initializers.ones, ("embed", "mlp"))
        h = nn.Dense(16, kernel_init=kernel)(x) + 1.0
        h = nn.with_logical_constraint(h, ("batch", "mlp"))
        scale = self.param("scale", lambda key: jnp.mean(h, axis=0))
        return (h * scale).sum(axis=-1, keepdims=True)


def test_a_models_init_is_traced_once_for_shapes_and_state():
    told = []
    trainer = make_trainer(model=Counted(lambda: told.append("init")))
    state = trainer.init_state()
    assert told == ["init"]
    assert state.params["scale"].tolist() == [1.0] * 16


class Broken(nn.Module):
    """Cannot run on four features."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Adds what does not fit."""
        return x + jnp.zeros(7)


def test_a_model_that_does_not_fit_its_data_is_refused_with_shapes_and_place():
    with pytest.raises(UserError) as caught:
        _ = make_trainer(model=Broken()).setup
    what, why, where = caught.value.lines
    assert what == "the model does not run on a batch of x [8, 4], labels [8, 1]"
    assert "(8, 4)" in why
    assert "test_setup.py" in where


@pytest.mark.parametrize(
    ("inputs", "lines"),
    [
        (
            {"x": "batch.x", "z": "batch.x"},
            (
                "inputs.z: the model Mlp takes no argument 'z'",
                "its __call__ takes: x",
            ),
        ),
        (
            {},
            (
                "inputs: the model Mlp needs 'x'",
                "say where it is in the batch: inputs.x=batch.x",
            ),
        ),
        (
            {"x": ""},
            (
                "inputs.x: '' is not a key path",
                "a key path looks like batch.tokens, preds.aux[0] or preds['a b']",
            ),
        ),
    ],
)
def test_inputs_that_do_not_fit_the_model_are_refused_by_their_names(inputs, lines):
    with pytest.raises(UserError) as refused:
        make_trainer(inputs=inputs).setup  # noqa: B018 - made when it is asked for
    assert refused.value.lines == lines


def test_a_rule_for_an_axis_that_is_none_is_told_the_axis():
    with pytest.raises(UserError) as refused:
        make_trainer(rules=[("batch", "fspd")]).setup  # noqa: B018
    assert "did you mean 'fsdp'?" in refused.value.lines


def test_a_flop_is_a_product_or_a_sum_of_a_matrix_product():
    def f(a, b, xs):
        y = a @ b  # [8, 16] by [16, 4]
        z = jax.lax.scan(lambda c, x: (c @ x, None), y, xs)[0]  # 3 of [8,4] by [4,4]
        return jax.lax.cond(z[0, 0] > 0, lambda: z @ z.T, lambda: jnp.zeros((8, 8)))

    shapes = [(8, 16), (16, 4), (3, 4, 4)]
    arrays = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    expected = 2 * 8 * 16 * 4 + 3 * 2 * 8 * 4 * 4 + 2 * 8 * 8 * 4
    assert count_flops(jax.make_jaxpr(f)(*arrays)) == expected


def test_a_convolutions_flops_are_its_outputs_times_its_window():
    model = nn.Conv(features=5, kernel_size=(3, 3), use_bias=False)
    x = jnp.zeros((2, 8, 8, 4))
    params = jax.eval_shape(model.init, jax.random.key(0), x)
    jaxpr = jax.make_jaxpr(model.apply)(params, x)
    assert count_flops(jaxpr) == 2 * (2 * 8 * 8 * 5) * (3 * 3 * 4)


def test_a_steps_flops_are_three_forward_passes():
    assert make_trainer().setup.flops == 3 * 2 * 8 * (4 * 16 + 16 * 1)


def test_known_peaks_are_found_by_kind():
    assert peak_flops("NVIDIA H200") == 989e12
    assert peak_flops("TPU v5 lite") == 197e12
    assert peak_flops("cpu") is None


def test_rates_leave_out_what_is_not_training(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    cost = StepCost(flops=10**12, device_kind="TPU v4", num_devices=2, unit="tokens")
    clock = Clock(cost)
    assert clock.rates(elements_per_step=1) == {}
    clock.start(1)
    now[0] += 25.0
    clock.leave_out(5.0)
    clock.measure(11)
    assert clock.rates(elements_per_step=100.0) == {
        "steps_per_sec": 0.5,
        "tokens_per_sec": 50.0,
        "tflops_per_sec": 0.5,
        "mfu": pytest.approx(0.5e12 / (2 * 275e12)),
    }


def test_a_rate_above_the_peak_is_not_reported_as_utilisation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    cost = StepCost(flops=10**15, device_kind="TPU v4", num_devices=1, unit="tokens")
    clock = Clock(cost)
    assert clock.take_note() == (
        "mfu is the share of 275 TFLOP/s, the bfloat16 peak of one TPU v4"
    )
    clock.start(0)
    now[0] = 1.0
    clock.measure(10)
    assert "mfu" not in clock.rates(elements_per_step=1.0)
    assert clock.take_note() == (
        "10000 TFLOP/s is over the peak of 275 TFLOP/s noted for TPU v4 (bfloat16): "
        "that peak is wrong, so no mfu is logged"
    )


def test_cross_entropy_is_nats_per_label():
    logits = jnp.log(jnp.array([[[0.5, 0.25, 0.25]]]))
    loss = CrossEntropy()({"preds": logits, "batch": {"labels": jnp.array([[1]])}})
    np.testing.assert_allclose(loss.values, [[np.log(4)]], rtol=1e-6)


def test_squared_error_is_a_mean_over_each_row():
    context = {"preds": jnp.array([[1.0, 3.0]]), "batch": {"labels": jnp.zeros((1, 2))}}
    np.testing.assert_allclose(SquaredError()(context).values, [5.0])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"num_train_steps": 0}, "num_train_steps=0"),
        ({"log_every": 0}, "log_every=0"),
        ({"eval_every": -1}, "eval_every=-1"),
    ],
)
def test_counts_of_steps_are_positive(changes, text):
    with pytest.raises(ValueError, match=text):
        make_trainer(**changes)


def test_a_mask_of_rows_weighs_every_element_of_its_row():
    data = examples(16)
    data["labels"] = np.repeat(data["labels"], 3, axis=1)
    data["mask"] = np.repeat([1.0, 0.0], 8).astype(np.float32)
    pipeline = Pipeline(source=InMemory(data), batch_size=16, shuffle=False)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class PerElement(Loss):
        predictions: Key = "preds"
        labels: Key = "batch.labels"

        def values(self, *, predictions, labels):
            return (predictions - labels) ** 2

    model = Mlp(dropout=0.0)
    trainer = make_trainer(
        model=model, train_data=pipeline, loss=PerElement(), eval_data=None
    )
    state = trainer.init_state()
    batch = next(pipeline.batches())
    preds = model.apply({"params": state.params}, batch["x"])
    expected = np.mean((np.asarray(preds) - batch["labels"])[:8] ** 2)
    _, report = trainer.step(state, batch)
    np.testing.assert_allclose(report["loss"], expected, rtol=1e-5)
