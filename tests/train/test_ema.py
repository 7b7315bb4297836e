"""Averages of parameters against a plain loop in float64."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import UserError
from fdlkit.train.ema import Ema

WALK = np.cumsum(np.random.default_rng(0).normal(size=(200, 3)), axis=0)


def averaged(ema: Ema):
    """The average over a random walk, by `Ema`, after its last step."""
    average = ema.begin({"w": jnp.asarray(WALK[0], jnp.float32)})
    for n, w in enumerate(WALK[1:], 1):
        params = {"w": jnp.asarray(w, jnp.float32)}
        average = ema.next(average, params, jnp.int32(n))
    return np.asarray(average["w"])


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 0.999])
def test_it_is_the_exponential_average_that_begins_as_the_parameters(decay):
    expected = WALK[0]
    for w in WALK[1:]:
        expected = decay * expected + (1 - decay) * w
    np.testing.assert_allclose(averaged(Ema(decay=decay)), expected, rtol=2e-5)


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 0.9999])
def test_debiased_it_is_adams_average_of_what_came_after_the_beginning(decay):
    moment = np.zeros(3)
    for w in WALK[1:]:
        moment = decay * moment + (1 - decay) * w
    expected = moment / (1 - decay ** len(WALK[1:]))
    np.testing.assert_allclose(averaged(Ema(decay=decay, debias=True)), expected, 2e-5)


def test_warmed_up_it_decays_as_tensorflows_does():
    expected = WALK[0]
    for n, w in enumerate(WALK[1:], 1):
        decay = min(0.95, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * w
    np.testing.assert_allclose(averaged(Ema(decay=0.95, warmup=True)), expected, 2e-5)


def test_what_does_not_change_stays_to_the_bit():
    params = {"w": jnp.asarray(WALK, jnp.float32)}
    ema = Ema(decay=0.9)
    average = ema.begin(params)
    for n in range(1, 20):
        average = ema.next(average, params, jnp.int32(n))
    np.testing.assert_array_equal(average["w"], params["w"])


def test_narrow_parameters_are_averaged_in_float32_and_integers_are_taken_over():
    ema = Ema(decay=0.999)
    average = ema.begin({"w": jnp.ones(2, jnp.bfloat16), "n": jnp.int32(1)})
    average = ema.next(
        average, {"w": jnp.zeros(2, jnp.bfloat16), "n": jnp.int32(7)}, jnp.int32(1)
    )
    assert average["w"].dtype == jnp.float32
    np.testing.assert_allclose(average["w"], 0.999, rtol=1e-6)
    assert int(average["n"]) == 7


@pytest.mark.parametrize("wrong", [{"decay": 1.0}, {"decay": -0.1}])
def test_a_decay_is_a_part(wrong):
    with pytest.raises(UserError, match="at least 0 and less than 1"):
        Ema(**wrong)


def test_there_is_one_way_to_forget_the_beginning():
    with pytest.raises(UserError, match="debias or warmup, not both"):
        Ema(debias=True, warmup=True)
