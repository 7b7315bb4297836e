"""Pax's language models are what Pax says that they are: sizes, batches, rates."""

from __future__ import annotations

import math

import fiddle as fdl
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fdlkit
from fdlkit.cli.main import main
from fdlkit.run.decay import weight_decay
from tests.experiments import facts


def built(target: str):
    return fdlkit.build(fdlkit.load(f"experiments/{target}"))


def by_target(row: facts.Row) -> str:
    return row.target


@pytest.mark.parametrize("row", facts.ROWS, ids=by_target)
def test_an_experiment_has_the_size_the_batch_and_the_mesh_of_its_row(row: facts.Row):
    trainer = built(row.target)
    mesh = trainer.mesh.abstract()
    assert {a: n for a, n in mesh.shape.items() if n > 1} == {
        a: n for a, n in row.axes.items() if n > 1
    }
    devices = math.prod(row.axes.values())
    assert trainer.train_data.batch_size == row.batch == row.per_core * devices
    assert trainer.eval_data.batch_size == row.batch
    state = trainer.shapes(mesh).state
    count = sum(math.prod(a.shape) for a in jax.tree.leaves(state.params))
    assert count == row.count()
    assert row.parameters in (None, count)
    assert trainer.shapes(mesh).batch["tokens"].shape == (row.batch, row.length)
    assert all(a.dtype == jnp.float32 for a in jax.tree.leaves(state.params))


@pytest.mark.parametrize("row", facts.ROWS, ids=by_target)
def test_an_experiment_has_the_cadence_of_its_row(row: facts.Row):
    trainer = built(row.target)
    assert trainer.num_train_steps == row.steps
    assert row.cadence == (
        trainer.checkpoints.every,
        trainer.checkpoints.keep,
        trainer.eval_every,
        trainer.log_every,
    )


def closed_form(
    step: int, peak: float, ramp: int, start: int, end: int, shape: str
) -> float:
    """The rate, in float64, with a floor of a tenth."""
    if step < ramp:
        return peak * step / ramp
    t = min(max(step - start, 0) / (end - start), 1.0)
    if shape == "exponential":
        return peak * 0.1**t
    return peak * (0.1 + 0.9 * (1 + math.cos(math.pi * t)) / 2)


@pytest.mark.parametrize("target", facts.RATES)
def test_learning_rates_are_those_of_the_closed_form(target: str):
    peak, ramp, start, end, shape = facts.RATES[target]
    rate = built(target).learning_rate
    assert float(rate(0)) == 0
    np.testing.assert_allclose(float(rate(ramp)), peak, rtol=1e-6)
    np.testing.assert_allclose(float(rate(end)), peak / 10, rtol=1e-5)
    np.testing.assert_allclose(float(rate(2 * end)), peak / 10, rtol=1e-5)
    between = np.unique(np.linspace(1, end, 23).astype(int)).tolist()
    # Optax's ramp is a difference of float32 numbers as large as the peak.
    near = {"rtol": 2e-5, "atol": peak * 2e-7}
    for step in (1, ramp - 1, ramp, start, start + 1, *between, end - 1):
        want = closed_form(step, peak, ramp, start, end, shape)
        np.testing.assert_allclose(float(rate(step)), want, **near, err_msg=str(step))


@pytest.mark.parametrize(
    ("target", "decay", "clips"),
    [
        ("lm_cloud.py:tiny_spmd", 1e-3, True),
        ("c4.py:tiny", 1e-3, True),
        ("gpt3.py:tiny", 0.1, False),
    ],
)
def test_every_parameter_decays_by_the_rate(target: str, decay: float, clips: bool):
    cfg = fdlkit.load(f"experiments/{target}")
    parts = [fdl.get_callable(part).__name__ for part in cfg.optimizer[:]]
    assert ("clip_by_layer_rms" in parts) == clips
    trainer = fdlkit.build(cfg)
    found = weight_decay(
        trainer.optimizer,
        trainer.shapes().state.params,
        learning_rate=trainer.learning_rate,
        num_train_steps=60,
    )
    assert {str(d) for d in jax.tree.leaves(found)} == {f"{decay:g} * learning_rate"}


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("lm_cloud.py:lm_cloud_spmd_32b", "save_context_and_out_proj"),
        ("lm_cloud.py:lm_cloud_spmd_2b", "save_nothing"),
        ("lm_cloud.py:lm_cloud_transformer_adam_limit_steps", "none"),
        ("c4.py:spmd_22b_adam_2xv4_128", "save_nothing"),
        ("gpt3.py:gpt_126m_base", "none"),
    ],
)
def test_what_is_computed_again_is_what_pax_computes_again(target: str, kept: str):
    assert fdlkit.load(f"experiments/{target}").model.layers.remat == kept


@pytest.mark.parametrize("row", facts.ROWS, ids=by_target)
def test_the_name_that_pax_gives_an_experiment_leads_to_it(row: facts.Row, capsys):
    file, _, name = row.target.partition(":")
    in_pax = "lm_cloud.py" if file == "lm_cloud.py" else "c4.py"
    for typed in (f"experiments/{file}:{row.pax}", f"experiments/{in_pax}:{row.pax}"):
        assert main(["show", typed]) == 2
        assert f"did you mean 'experiments/{file}:{name}'?" in capsys.readouterr().err
    assert main(["show", row.pax]) == 2
    assert f"did you mean 'experiments/{file}:{name}'?" in capsys.readouterr().err
