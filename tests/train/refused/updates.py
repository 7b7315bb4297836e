"""Updates that cannot be made: parts of a batch, averages, scales, groups, rates."""

from __future__ import annotations

import jax.numpy as jnp
import optax

from fdlkit.train.ema import Ema
from fdlkit.train.loss_scale import DynamicLossScale, LossScale
from fdlkit.train.nonfinite import SkipNonfinite
from fdlkit.train.patterns import assigned
from fdlkit.train.schedules import ramp_then_cosine, ramp_then_exponential
from tests.train.refused.toys import checked, fails, made

PATHS = [
    "embed/embedding",
    "layers/block/mlp/up/kernel",
    "layers/block/mlp/up/bias",
    "output/kernel",
]
STEPS = {"ramp_steps": 10, "decay_start": 10, "decay_end": 100}


def grouped(*patterns):
    return lambda _: assigned(patterns, PATHS)


REFUSED = {
    "no part of a batch": checked(microbatches=0),
    "parts that are not equal": checked(microbatches=3),
    "an average of nothing": made(Ema, decay=1.0),
    "an average that forgets twice": made(Ema, debias=True, warmup=True),
    "a scale of nothing": made(LossScale, scale=0.0),
    "a scale that begins too large": made(DynamicLossScale, initial=2.0**30),
    "a scale that never grows": made(DynamicLossScale, interval=0),
    "skipping none": made(SkipNonfinite, most_in_a_row=0),
    "a pattern of no parameter": grouped("layer/**", "**"),
    "a parameter without a pattern": grouped("layers/**", "embed/*"),
    "a pattern that is left with none": grouped("output/*", "output/kernel", "**"),
    "two patterns of one parameter": grouped("**/kernel", "layers/**", "**"),
    "a decay to more than the peak": made(
        ramp_then_exponential, 1e-3, floor=2.0, **STEPS
    ),
    "a decay to less than nothing": made(ramp_then_cosine, 1e-3, floor=-0.1, **STEPS),
    "a decay before the ramp ends": made(
        ramp_then_cosine, 1e-3, floor=0.1, **STEPS | {"decay_start": 5}
    ),
    "a rate that is text": checked(learning_rate="1e-3"),
    "a rate of several numbers": checked(schedules={"a": lambda step: jnp.ones(3)}),
    "a rate that raises": checked(schedules={"a": fails}),
    "a loss where an optimizer belongs": checked(optimizer=optax.squared_error),
}
