"""Pax's optimizer, part by part, against a loop over single numbers."""

from __future__ import annotations

import math

import fiddle as fdl
import jax
import numpy as np
import optax
import pytest

import fdlkit
from experiments import gpt3, pax
from fdlkit.train.update_clip import clip_by_layer_rms

SHAPES = {"table": (5, 3), "layers": {"kernel": (2, 3, 4), "scale": (2, 3)}}
STEPS = 10


def draw(seed: int, scale: float) -> dict:
    """A tree of SHAPES; of the stacked layers the second is a hundred times larger."""
    draws = np.random.default_rng(seed)
    tree = jax.tree.map(
        lambda shape: draws.normal(0, scale, shape).astype(np.float32),
        SHAPES,
        is_leaf=lambda leaf: isinstance(leaf, tuple),
    )
    tree["layers"]["kernel"][1] *= 100
    return tree


def tensors(tree: dict) -> list[np.ndarray]:
    """Each layer's arrays by themselves, as without a stack."""
    inside = tree["layers"]
    return [tree["table"], *inside["kernel"], *inside["scale"]]


def scalar_loop(params, gradients, rates, *, b2, eps, decay, max_norm, clip):
    """Adam as the papers write it, a number at a time, in float64."""
    params = [p.astype(np.float64).ravel().tolist() for p in params]
    m = [[0.0] * len(p) for p in params]
    v = [[0.0] * len(p) for p in params]
    for t, (grads, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        grads = [g.astype(np.float64).ravel().tolist() for g in grads]
        norm = math.sqrt(sum(x * x for g in grads for x in g))
        shrink = min(1.0, max_norm / norm)
        for i, p in enumerate(params):
            step = []
            for j, x in enumerate(grads[i]):
                x *= shrink
                m[i][j] = 0.9 * m[i][j] + 0.1 * x
                v[i][j] = b2 * v[i][j] + (1 - b2) * x * x
                first, second = m[i][j] / (1 - 0.9**t), v[i][j] / (1 - b2**t)
                step.append(first / (math.sqrt(second) + eps))
            if clip is not None:
                rms = math.sqrt(sum(x * x for x in step) / len(step))
                step = [x / max(1.0, rms / clip) for x in step]
            for j, x in enumerate(step):
                p[j] -= rate * (x + decay * p[j])
    return [np.array(p) for p in params]


@pytest.mark.parametrize(
    ("optimizer", "numbers"),
    [
        (
            lambda: pax.adam(pax.exponential(1e-3)),
            {"b2": 0.99, "eps": 1e-6, "decay": 1e-3, "max_norm": 5.0, "clip": 1.0},
        ),
        (
            lambda: gpt3.adam(gpt3.cosine(6e-5)),
            {"b2": 0.95, "eps": 1e-8, "decay": 0.1, "max_norm": 1.0, "clip": None},
        ),
    ],
    ids=["lm_cloud, c4", "gpt3"],
)
def test_ten_steps_are_those_of_a_loop_over_single_numbers(optimizer, numbers):
    cfg = optimizer()
    schedule = cfg[-1].learning_rate
    schedule.peak_value, schedule.ramp_steps = 0.05, 3
    schedule.decay_start, schedule.decay_end = 4, 9
    optimizer, rate = fdlkit.build(cfg), fdlkit.build(schedule)
    # Gradients that at first are small, and so for Adam; then one is far too large for
    # the clip by norm, and what follows differs so much that updates are clipped.
    scales = [1e-3, 1e-3, 50.0, 1e-3, 1.0, 0.1, 1e-3, 10.0, 1.0, 1e-2]
    gradients = [draw(seed, scale) for seed, scale in enumerate(scales, 1)]
    params = start = draw(0, 1.0)
    state = optimizer.init(params)
    update = jax.jit(optimizer.update)
    for gradient in gradients:
        updates, state = update(gradient, state, params)
        params = optax.apply_updates(params, updates)
    want = scalar_loop(
        tensors(start),
        [tensors(gradient) for gradient in gradients],
        [float(rate(step)) for step in range(STEPS)],
        **numbers,
    )
    moved = 0.0
    for got, first, wanted in zip(tensors(params), tensors(start), want, strict=True):
        got = np.asarray(got, np.float64).ravel()
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)
        moved = max(moved, np.abs(got - first.ravel()).max())
    assert moved > 0.05


def test_each_layer_of_a_stack_is_clipped_by_itself():
    clip = clip_by_layer_rms(1.0)
    updates = {"layers": {"kernel": np.array([[3.0, 3.0], [0.5, 0.5]], np.float32)}}
    got, _ = clip.update(updates, clip.init(updates))
    np.testing.assert_allclose(got["layers"]["kernel"], [[1, 1], [0.5, 0.5]])
    whole, _ = clip_by_layer_rms(1.0, stacks=()).update(updates, clip.init(updates))
    np.testing.assert_allclose(whole["layers"]["kernel"][1], 0.5 / 2.150581, rtol=1e-6)


def test_what_is_not_stacked_is_clipped_as_optax_clips_it():
    updates = {"table": np.array([[3.0, 4.0], [0.0, 1.0]], np.float32)}
    ours, theirs = clip_by_layer_rms(0.7), optax.clip_by_block_rms(0.7)
    got, _ = ours.update(updates, ours.init(updates))
    want, _ = theirs.update(updates, theirs.init(updates))
    np.testing.assert_array_equal(got["table"], want["table"])


def test_an_optimizer_says_all_of_its_numbers_in_the_config():
    cfg = pax.adam(pax.exponential(1e-3))
    names = [fdl.get_callable(part).__name__ for part in cfg[:]]
    assert names == [
        "clip_by_global_norm",
        "scale_by_adam",
        "clip_by_layer_rms",
        "add_decayed_weights",
        "scale_by_learning_rate",
    ]
