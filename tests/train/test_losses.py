"""What losses compute, held against plain NumPy in float64."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.keys import Key
from fdlkit.train.losses import (
    AbsoluteError,
    CrossEntropy,
    Elements,
    Huber,
    LogCosh,
    Loss,
    MaskedLanguageModel,
    SquaredError,
    total_loss,
)

DTYPES = [jnp.float32, jnp.bfloat16, jnp.float16]


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))


def cross_entropy(logits, labels, *, smoothing=0.0, z_loss=0.0):
    """By its definition: labels as distributions, smoothed, against log-softmax."""
    classes = logits.shape[-1]
    one_hot = np.eye(classes)[labels] * (1 - smoothing) + smoothing / classes
    log_z = np.asarray(logits, np.float64)[..., 0] - log_softmax(logits)[..., 0]
    return -(one_hot * log_softmax(logits)).sum(axis=-1) + z_loss * log_z**2


def huber(error, delta=1.0):
    size = np.abs(error)
    return np.where(size <= delta, error**2 / 2, delta * (size - delta / 2))


def log_cosh(error):
    return np.abs(error) + np.log1p(np.exp(-2 * np.abs(error))) - np.log(2)


REGRESSIONS = [
    (SquaredError, np.square),
    (AbsoluteError, np.abs),
    (Huber, huber),
    (LogCosh, log_cosh),
]


def scores(dtype, *shape, seed=0, scale=4.0):
    values = np.random.default_rng(seed).normal(size=shape) * scale
    return jnp.asarray(values).astype(dtype)


@given(
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from(DTYPES),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
    z_loss=st.sampled_from([0.0, 1e-4, 0.1]),
)
def test_cross_entropy_is_its_definition(seed, dtype, smoothing, z_loss):
    logits = scores(dtype, 4, 3, 7, seed=seed)
    labels = np.random.default_rng(seed).integers(0, 7, (4, 3))
    loss = CrossEntropy(label_smoothing=smoothing, z_loss=z_loss)
    values, weights, factor = loss({"preds": logits, "batch": {"labels": labels}})
    wanted = cross_entropy(
        np.asarray(logits, np.float64), labels, smoothing=smoothing, z_loss=z_loss
    )
    assert values.dtype == weights.dtype == factor.dtype == jnp.float32
    np.testing.assert_allclose(values, wanted, rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(weights, np.ones((4, 3)))


@pytest.mark.parametrize(("loss", "wanted"), REGRESSIONS)
@given(seed=st.integers(0, 2**31), dtype=st.sampled_from(DTYPES))
def test_a_regression_loss_is_its_definition(loss, wanted, seed, dtype):
    predictions, labels = scores(dtype, 4, 3, seed=seed), scores(dtype, 4, 3, seed=1)
    context = {"preds": predictions, "batch": {"labels": labels}}
    error = np.asarray(predictions, np.float64) - np.asarray(labels, np.float64)
    rows = loss()(context)
    each = loss(per_element=True)(context)
    assert rows.values.dtype == each.values.dtype == jnp.float32
    np.testing.assert_allclose(each.values, wanted(error), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        rows.values, wanted(error).mean(axis=-1), rtol=1e-5, atol=1e-6
    )


def test_huber_bends_at_its_delta():
    errors = jnp.asarray([[0.5], [2.0], [-3.0]])
    context = {"preds": errors, "batch": {"labels": jnp.zeros((3, 1))}}
    values = Huber(delta=2.0)(context).values
    np.testing.assert_allclose(values, [0.125, 2.0, 4.0])


def test_integer_labels_of_a_regression_are_no_less_exact():
    context = {"preds": jnp.full((2, 1), 0.5, jnp.bfloat16)}
    context["batch"] = {"labels": np.array([[300], [-300]])}
    np.testing.assert_allclose(AbsoluteError()(context).values, [299.5, 300.5])


LOSSES = [
    CrossEntropy(label_smoothing=0.1, z_loss=1e-4),
    CrossEntropy(pad_label=-1),
    MaskedLanguageModel(),
    *(loss() for loss, _ in REGRESSIONS),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_batch_of_padding_alone_gives_0_and_no_gradient(loss, dtype):
    is_class = isinstance(loss, CrossEntropy)
    preds = scores(dtype, 4, 3, 5 if is_class else 1)[..., : 5 if is_class else 1]
    if not is_class:
        preds = preds[..., 0]
    labels = np.full((4, 3), -1 if getattr(loss, "pad_label", None) else 0)

    def mean(preds):
        batch = {"labels": labels, "mask": np.zeros(4), "masked": np.ones((4, 3))}
        return loss({"preds": preds, "batch": batch}).mean()

    value, gradient = jax.value_and_grad(mean)(preds)
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


def test_weights_that_add_up_to_less_than_one_weigh_a_mean_all_the_same():
    context = {
        "preds": np.array([[3.0], [1.0]]),
        "batch": {"labels": np.zeros((2, 1)), "mask": np.array([0.25, 0.125])},
    }
    mean = float(AbsoluteError()(context).mean())
    assert mean == pytest.approx((3 * 0.25 + 1 * 0.125) / 0.375)


def test_what_is_not_a_number_in_padding_does_not_reach_the_mean():
    values, weights = jnp.asarray([1.0, jnp.nan, jnp.inf]), jnp.asarray([1.0, 0, 0])
    elements = Elements(values, weights, jnp.float32(1))
    value, gradient = jax.value_and_grad(
        lambda v: Elements(v, weights, elements.factor).mean()
    )(values)
    assert value == 1
    np.testing.assert_array_equal(gradient, [1, 0, 0])


def test_labels_of_padding_count_for_nothing_and_train_nothing():
    logits = scores(jnp.float32, 2, 3, 5)
    labels = np.array([[1, 2, 0], [3, 0, 0]])

    def mean(logits):
        context = {"preds": logits, "batch": {"labels": labels}}
        return CrossEntropy(pad_label=0)(context).mean()

    value, gradient = jax.value_and_grad(mean)(logits)
    real = labels != 0
    np.testing.assert_allclose(
        value, cross_entropy(logits, labels)[real].mean(), rtol=1e-6
    )
    assert (np.abs(gradient).sum(axis=-1) > 0).tolist() == real.tolist()


def test_only_masked_tokens_count_and_padding_never_does():
    logits = scores(jnp.float32, 2, 4, 5)
    labels = np.array([[1, 2, 3, 0], [4, 4, 0, 0]])
    masked = np.array([[1, 0, 1, 1], [0, 1, 0, 1]])
    batch = {"labels": labels, "masked": masked, "mask": np.array([1.0, 1.0])}
    elements = MaskedLanguageModel(pad_label=0)({"preds": logits, "batch": batch})
    counted = (masked != 0) & (labels != 0)
    np.testing.assert_array_equal(elements.weights, counted)
    np.testing.assert_allclose(
        elements.mean(), cross_entropy(logits, labels)[counted].mean(), rtol=1e-6
    )
    # Without a label for padding, masked padding would be trained on.
    every = MaskedLanguageModel()({"preds": logits, "batch": batch})
    np.testing.assert_array_equal(every.weights, masked)


def test_a_mask_counts_by_row_or_by_element_and_may_be_elsewhere():
    context = {
        "preds": jnp.zeros((2, 3)),
        "batch": {"labels": jnp.ones((2, 3)), "mask": np.array([1.0, 0.0])},
    }
    loss = AbsoluteError(per_element=True)
    np.testing.assert_array_equal(loss(context).weights, [[1, 1, 1], [0, 0, 0]])
    context["batch"]["seen"] = np.array([[1, 0, 0.5], [0, 1, 0]])
    elsewhere = dataclasses.replace(loss, mask="batch.seen")
    np.testing.assert_array_equal(
        elsewhere(context).weights, context["batch"]["seen"].astype(np.float32)
    )


def test_a_mask_that_does_not_fit_is_refused_with_what_would():
    batch = {"labels": jnp.ones((2, 3)), "mask": np.ones((2, 3))}
    with pytest.raises(UserError) as caught:
        SquaredError()({"preds": jnp.zeros((2, 3)), "batch": batch}, where="loss")
    assert caught.value.lines == (
        "loss: a mask [2, 3] does not fit elements [2]",
        "a mask has the shape of the elements, or their first dims",
        "set loss.mask to the key path of one that has; None is batch.mask, where a "
        "batch has one",
    )


def test_several_losses_are_summed_by_their_weights_and_a_schedule_follows_the_step():
    context = {
        "preds": jnp.asarray([[2.0], [4.0]]),
        "batch": {"labels": jnp.zeros((2, 1))},
        "step": jnp.int32(3),
    }
    losses = {
        "l1": AbsoluteError(weight=0.5),
        "l2": SquaredError(weight=lambda step: 0.1 * step),
    }
    elements = {name: loss(context) for name, loss in losses.items()}
    assert elements["l1"].mean() == 3 and elements["l2"].mean() == 10
    np.testing.assert_allclose(total_loss(elements), 0.5 * 3 + 0.3 * 10, rtol=1e-6)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hinge(Loss):
    """A user's own, as the base class's docstring shows it."""

    scores: Key = "preds"
    signs: Key = "batch.signs"

    def values(self, *, scores, signs):
        return jnp.maximum(0.0, 1.0 - signs * scores)


def test_a_loss_of_ones_own_gets_masks_and_weights_for_nothing():
    batch = {"signs": jnp.asarray([1.0, -1, 1]), "mask": np.array([1, 1, 0])}
    elements = Hinge(weight=2)({"preds": jnp.asarray([3.0, 3, -9]), "batch": batch})
    np.testing.assert_array_equal(elements.values, [0, 4, 10])
    assert elements.mean() == 2 and elements.factor == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CrossEntropy(label_smoothing=1.0), "label_smoothing=1.0: it is"),
        (lambda: CrossEntropy(z_loss=-1e-4), "z_loss=-0.0001 is negative"),
        (lambda: Huber(delta=0.0), r"delta=0.0: .*above 0"),
    ],
)
def test_numbers_that_make_no_loss_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
