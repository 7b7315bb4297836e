"""Arrays that are not what their annotation says."""

from __future__ import annotations

from jaxtyping import Array, Float

from fdlkit.train import named_axes
from fdlkit.train.losses import CrossEntropy, SquaredError
from fdlkit.train.metrics_of_classes import Accuracy, ConfusionMatrix
from tests.train.refused.toys import ones
from tests.train.test_named_axes import Bilinear, Outer
from tests.train.toys import make_trainer


def called(call):
    def run(_):
        with named_axes.refusing():
            call()

    return run


def batch(**arrays):
    return {"batch": arrays}


def of_rule(hint, *shape):
    """An array held to an annotation by a method."""

    class Held:
        def values(self, *, x):
            return x

    Held.values.__annotations__ = {"x": hint}
    read = {"x": ones(*shape)}
    return called(lambda: named_axes.observed(Held().values, "loss", read))


REFUSED = {
    "an axis of two sizes": called(
        lambda: Bilinear()(
            batch(features=ones(2, 3, 8), weights=ones(5, 4)), where="loss['cross']"
        )
    ),
    "labels of another batch": called(
        lambda: CrossEntropy()(
            batch(labels=ones(4).astype("int32")) | {"preds": ones(5, 3)}
        )
    ),
    "labels that are no integers": called(
        lambda: Accuracy()(batch(labels=ones(4)) | {"preds": ones(4, 3)})
    ),
    "a class too many": called(
        lambda: ConfusionMatrix(num_classes=3)(
            batch(labels=ones(4).astype("int32")) | {"preds": ones(4, 5)},
            where="metrics['confusion']",
        )
    ),
    "a layer": called(lambda: Outer().apply({}, ones(2, 8), ones(7))),
    "a layer's result": called(lambda: Outer(5).apply({}, ones(2, 8), ones(8))),
    "a dim too many": of_rule(Float[Array, "b c"], 2, 3, 4),
    "too few dims for several": of_rule(Float[Array, "*b n c"], 2),
    "a fixed size": of_rule(Float[Array, "b 3"], 2, 4),
    "a sum of names": of_rule(Float[Array, "n n+1"], 2, 4),
    "a run's own labels": called(
        lambda: make_trainer(loss=SquaredError(labels="batch.x")).check()
    ),
}
