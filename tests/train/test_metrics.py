"""Metrics over batches: any cut of the rows gives the digits of one batch."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdlkit.data.tokenizer import ByteTokenizer
from fdlkit.train.exact import exact_sum
from fdlkit.train.losses import AbsoluteError, CrossEntropy, SquaredError
from fdlkit.train.metrics import BitsPerByte, MeanLoss, Metric, Perplexity
from fdlkit.train.metrics_of_classes import (
    Accuracy,
    Auc,
    ConfusionMatrix,
    LabelCounts,
    TopK,
)
from fdlkit.train.metrics_of_values import Mean, Norm, Rmse, SkipNan, TreeNorm

ROWS = 24
CLASSES = 5

CLASS_METRICS = {
    "accuracy": Accuracy(),
    "top2": TopK(k=2),
    "counts": LabelCounts(num_classes=CLASSES),
    "confusion": ConfusionMatrix(num_classes=CLASSES),
    "auc": Auc(scores="batch.score", labels="batch.click"),
    "mean": Mean(values="batch.score"),
    "norm": Norm(values="preds"),
    "rmse": Rmse(predictions="batch.score", labels="batch.click"),
    "loss": MeanLoss(),
    "one": MeanLoss(loss="losses.loss"),
    "perplexity": Perplexity(),
    "skip": SkipNan(metric=Accuracy()),
    "skip_loss": SkipNan(metric=MeanLoss()),
    "skip_auc": SkipNan(metric=Auc(scores="batch.score", labels="batch.click")),
}


def rows(seed, *, masked=True, ties=True):
    """A batch of all rows, and the scores that a model gave them."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=ROWS).astype(np.float32)
    batch = {
        "labels": rng.integers(0, CLASSES, ROWS).astype(np.int32),
        "click": rng.integers(0, 2, ROWS).astype(np.int32),
        "score": np.round(score, 1) if ties else score,
        "mask": (rng.random(ROWS) < 0.8).astype(np.float32)
        if masked
        else np.ones(ROWS, np.float32),
    }
    return {"batch": batch, "preds": rng.normal(size=(ROWS, CLASSES)).astype("f4")}


def with_losses(context):
    return context if "losses" in context else _with_losses(context)


@jax.jit
def _with_losses(context):
    losses = {
        "loss": CrossEntropy(),
        "z": AbsoluteError(
            predictions="batch.score", labels="batch.click", weight=0.25
        ),
    }
    return {**context, "losses": {name: loss(context) for name, loss in losses.items()}}


def cut(context, sizes):
    """The context of each batch, filled up with rows that count nothing."""
    start, most = 0, -(-max(sizes) // 8) * 8  # some shapes, not one for each size
    context = jax.tree.map(np.asarray, with_losses(context))
    for size in sizes:
        take = slice(start, start + size)

        def padded(array, take=take):
            if not array.ndim:
                return array
            part = array[take]
            fill = np.zeros((most - len(part), *part.shape[1:]), part.dtype)
            return np.concatenate([part, fill])

        yield jax.tree.map(padded, context)
        start += size


@functools.cache
def compiled(metric):
    return jax.jit(metric)


def state_of(metric, context):
    return jax.tree.map(np.asarray, compiled(metric)(with_losses(context)))


def merged(metric, contexts):
    states = [state_of(metric, context) for context in contexts]
    total = states[0]
    for state in states[1:]:
        total = metric.merge(total, state)
    return total


@st.composite
def cuts(draw):
    places = draw(st.sets(st.integers(1, ROWS - 1), max_size=5))
    edges = [0, *sorted(places), ROWS]
    return [b - a for a, b in itertools.pairwise(edges)]


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("name", CLASS_METRICS)
@given(seed=st.integers(0, 1000), sizes=cuts())
@settings(max_examples=25)
def test_any_cut_of_the_rows_gives_the_digits_of_one_batch(name, seed, sizes):
    metric, context = CLASS_METRICS[name], rows(seed)
    whole = metric.result(state_of(metric, context))
    parts = metric.result(merged(metric, cut(context, sizes)))
    assert same(parts, whole)


@pytest.mark.parametrize("name", CLASS_METRICS)
def test_merging_is_associative_and_in_any_order(name):
    metric, context = CLASS_METRICS[name], rows(7)
    a, b, c = (state_of(metric, part) for part in cut(context, [10, 9, 5]))
    left = metric.result(metric.merge(metric.merge(a, b), c))
    right = metric.result(metric.merge(a, metric.merge(b, c)))
    turned = metric.result(metric.merge(c, metric.merge(b, a)))
    assert same(left, right) and same(left, turned)


@given(st.lists(st.floats(width=32), min_size=1, max_size=30), st.randoms())
def test_an_exact_sum_is_that_of_fractions_in_any_order(numbers, random):
    finite = [x for x in numbers if math.isfinite(x)]
    total = exact_sum(np.array(finite, np.float32))
    assert float(total) == math.fsum(finite)
    random.shuffle(numbers)
    at = random.randrange(len(numbers) + 1)
    parts = [np.array(part, np.float32) for part in (numbers[:at], numbers[at:])]
    whole = exact_sum(np.array(numbers, np.float32))
    added = exact_sum(parts[0]) + exact_sum(parts[1])
    assert added.units == whole.units
    assert same(added.beyond, whole.beyond)


def test_the_merged_share_is_not_the_mean_of_the_batches_shares():
    # 5 of 8 right, then 9 of 24.
    labels, preds = np.zeros(32, np.int32), np.tile(np.array([0, 1], "f4"), (32, 1))
    preds[[*range(5), *range(8, 17)]] = [1, 0]
    metric = Accuracy()
    parts = [
        metric({"batch": {"labels": labels[part]}, "preds": preds[part]})
        for part in (slice(0, 8), slice(8, 32))
    ]
    assert np.mean([metric.result(part) for part in parts]) == 0.5
    assert metric.result(metric.merge(*parts)) == 14 / 32


def test_a_metric_is_of_the_rows_that_count():
    context = rows(3)
    batch, preds = context["batch"], context["preds"]
    kept = batch["mask"] != 0
    right = preds.argmax(-1) == batch["labels"]
    error = batch["score"].astype(np.float64) - batch["click"]
    lengths = np.linalg.norm(preds.astype(np.float64), axis=-1)
    wanted = {
        "accuracy": right[kept].mean(),
        "rmse": np.sqrt((error[kept] ** 2).mean()),
        "mean": batch["score"][kept].astype(np.float64).mean(),
        "norm": lengths[kept].mean(),
    }
    for name, value in wanted.items():
        metric = CLASS_METRICS[name]
        result = metric.result(state_of(metric, context))
        assert result == pytest.approx(value, rel=1e-6), name


def test_the_total_of_losses_is_weighted_and_each_has_its_own_count():
    context = with_losses(rows(5))
    one, other = context["losses"]["loss"], context["losses"]["z"]
    metric = MeanLoss()
    result = metric.result(jax.tree.map(np.asarray, metric(context)))
    assert result == pytest.approx(float(one.mean() + 0.25 * other.mean()), rel=1e-6)


def test_perplexity_and_bits_are_those_of_the_mean():
    tokenizer = ByteTokenizer()
    labels = np.array([[65, 66], [67, 255]])
    logits = np.random.default_rng(0).normal(size=(2, 2, 300)).astype(np.float32)
    context = {"batch": {"labels": labels}, "preds": logits}
    context["losses"] = {"loss": CrossEntropy()(context)}
    nats = np.asarray(context["losses"]["loss"].values, np.float64)
    sizes = np.asarray(tokenizer.bytes_per_token)[labels]
    perplexity, bits = Perplexity(), BitsPerByte(tokenizer=tokenizer)
    assert perplexity.result(perplexity(context)) == pytest.approx(np.exp(nats.mean()))
    assert bits.result(bits(context)) == pytest.approx(
        nats.sum() / math.log(2) / sizes.sum()
    )


def test_a_perplexity_past_all_floats_is_infinite():
    state = {"numerator": np.array([1e30], "f4"), "denominator": np.array([1], "f4")}
    assert Perplexity().result(state) == math.inf


@pytest.mark.parametrize("k", [1, 2, 4])
def test_top_k_takes_the_first_of_equal_scores_and_no_nan(k):
    logits = np.array(
        [[1, 1, 1, 1], [0, 3, 2, 1], [np.nan, 0, 0, 0], [5, np.nan, 0, 0]], "f4"
    )
    labels = np.array([1, 2, 0, 0])
    context = {"preds": logits, "batch": {"labels": labels}}
    metric = TopK(k=k)
    # Ranks by hand: second of equals; second; NaN is last; a NaN is before it.
    right = [k > 1, k > 1, False, k > 1]
    assert metric.result(metric(context)) == np.mean(right)


def test_accuracy_is_that_of_argmax():
    context = rows(11, masked=False)
    context["preds"] = np.round(context["preds"])  # ties
    wanted = (context["preds"].argmax(-1) == context["batch"]["labels"]).mean()
    assert Accuracy().result(Accuracy()(context)) == wanted


def plain_auc(scores, labels, weights):
    """Every pair of a 1 and a 0, one after another."""
    above = total = 0.0
    for score, label, weight in zip(scores, labels, weights, strict=True):
        for other, other_label, other_weight in zip(
            scores, labels, weights, strict=True
        ):
            if label and not other_label:
                total += weight * other_weight
                above += (
                    weight * other_weight * ((score > other) + (score == other) / 2)
                )
    return above / total if total else math.nan


@given(seed=st.integers(0, 10_000), ties=st.booleans())
def test_the_area_is_that_of_all_pairs_with_ties_counted_half(seed, ties):
    context = rows(seed, ties=ties)
    batch = context["batch"]
    metric = Auc(scores="batch.score", labels="batch.click")
    result = metric.result(state_of(metric, context))
    assert same(result, plain_auc(batch["score"], batch["click"], batch["mask"]))


def test_the_area_of_one_class_or_of_a_nan_is_none():
    metric = Auc(scores="preds", labels="batch.labels")
    context = {"preds": np.zeros(3, "f4"), "batch": {"labels": np.ones(3)}}
    assert math.isnan(metric.result(metric(context)))
    context["preds"] = np.array([0, np.nan, 1], "f4")
    context["batch"] = {"labels": np.array([0, 1, 1])}
    assert math.isnan(metric.result(metric(context)))
    skipping = SkipNan(metric=metric)
    assert skipping.result(skipping(context)) == 1


def test_a_confusion_matrix_counts_labels_by_prediction():
    preds = np.eye(3, dtype="f4")[[0, 1, 1, 2, 0]]
    batch = {"labels": np.array([0, 0, 1, 2, -1]), "mask": np.array([1, 1, 1, 1, 1.0])}
    metric = ConfusionMatrix(num_classes=3, names=("cat", "dog", "eel"))
    state = metric({"preds": preds, "batch": batch})
    np.testing.assert_array_equal(state, [[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    result = metric.result(state)
    assert result["cat/dog"] == 1 and result["dog/cat"] == 0 and len(result) == 9


def test_counts_of_labels_have_the_classes_names():
    metric = LabelCounts(num_classes=2, names=("no", "yes"))
    state = metric({"batch": {"labels": np.array([1, 1, 0, 7])}})
    assert metric.result(metric.merge(state, state)) == {"no": 2, "yes": 4}


def test_what_is_nan_is_skipped_with_its_element_and_nothing_else():
    context = rows(9, masked=False)
    context["preds"][3, 1] = np.nan
    context["batch"]["score"][5] = np.nan
    kept = np.arange(ROWS) != 3
    accuracy = SkipNan(metric=Accuracy())
    right = context["preds"].argmax(-1) == context["batch"]["labels"]
    assert accuracy.result(state_of(accuracy, context)) == right[kept].mean()
    mean = Mean(values="batch.score")
    assert math.isnan(mean.result(state_of(mean, context)))
    skipping = SkipNan(metric=mean)
    scores = context["batch"]["score"].astype(np.float64)
    assert skipping.result(state_of(skipping, context)) == pytest.approx(
        np.nanmean(scores), rel=1e-6
    )
    total = SkipNan(metric=MeanLoss())
    result = total.result(state_of(total, context))
    losses = with_losses(context)["losses"]
    by_hand = np.nanmean(losses["loss"].values) + 0.25 * np.nanmean(losses["z"].values)
    assert result == pytest.approx(by_hand, rel=1e-6)


def test_a_tree_has_the_length_of_all_its_arrays():
    params = {"a": np.full((2, 2), 2.0, "f4"), "b": {"c": np.array([3.0], "f4")}}
    context = {"params": params, "batch": {"mask": np.zeros(7)}}
    whole, part = TreeNorm(), TreeNorm(tree="params.b")
    assert whole.result(whole(context)) == 5
    assert part.result(part.merge(part(context), part(context))) == 3
    params["a"][0, 0] = np.nan
    assert math.isnan(whole.result(whole(context)))
    skipping = SkipNan(metric=whole)
    assert skipping.result(skipping(context)) == pytest.approx(math.sqrt(21))


def test_nothing_that_counts_is_0():
    context = rows(1)
    context["batch"]["mask"] = np.zeros(ROWS, np.float32)
    for name in ("accuracy", "rmse", "mean", "loss"):
        metric = CLASS_METRICS[name]
        assert metric.result(state_of(metric, context)) == 0, name


def test_states_are_traced_and_of_32_bits():
    context = jax.tree.map(jnp.asarray, rows(2))
    for name, metric in CLASS_METRICS.items():
        shapes = jax.eval_shape(lambda c, m=metric: m(with_losses(c)), context)
        dtypes = {str(leaf.dtype) for leaf in jax.tree.leaves(shapes)}
        assert dtypes <= {"float32", "int32"}, name


def test_a_metric_without_a_state_says_so():
    with pytest.raises(NotImplementedError, match="Metric has no method `state`"):
        Metric()({"batch": {}})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK(k=0), "k=0: it counts classes"),
        (
            lambda: LabelCounts(num_classes=0),
            "num_classes=0: it counts classes, so at least 1",
        ),
        (
            lambda: ConfusionMatrix(num_classes=3, names=("a",)),
            "1 names for num_classes=3",
        ),
    ],
)
def test_numbers_that_make_no_metric_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_squared_error_is_the_square_of_rmse():
    context = rows(4)
    loss = SquaredError(predictions="batch.score", labels="batch.click")
    rmse = CLASS_METRICS["rmse"]
    assert rmse.result(state_of(rmse, context)) ** 2 == pytest.approx(
        float(loss(context).mean()), rel=1e-5
    )
