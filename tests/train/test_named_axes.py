"""What is said where an array is not what its annotation says."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import threading

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Float32, Integer, Real, Shaped

import fdlkit.nn
import fdlkit.train
from fdlkit.keys import Key
from fdlkit.train import named_axes
from fdlkit.train.axis_names import Axes, annotations_of
from fdlkit.train.losses import CrossEntropy, Loss, SquaredError
from fdlkit.train.metrics_of_classes import Accuracy, ConfusionMatrix
from fdlkit.train.metrics_of_values import SkipNan
from fdlkit.train.named_axes import NamedAxisError


@pytest.fixture(autouse=True)
def axes_are_checked():
    """Not for all that is called here: the tests say for what."""


def f32(*shape):
    return np.zeros(shape, np.float32)


def lines_of(call):
    with named_axes.refusing(), pytest.raises(NamedAxisError) as caught:
        call()
    return caught.value.lines


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bilinear(Loss):
    features: Key = "batch.features"
    weights: Key = "batch.weights"

    def values(
        self, *, features: Float[Array, "*b n c"], weights: Float[Array, "c d"]
    ) -> Float[Array, "*b"]:
        return (features @ weights).sum(axis=(-1, -2))


def test_an_axis_that_clashes_is_told_with_both_sources_and_all_other_names():
    batch = {"features": f32(2, 3, 8), "weights": f32(5, 4)}
    lines = lines_of(lambda: Bilinear()({"batch": batch}, where="loss['cross']"))
    assert lines == (
        "loss['cross']: Bilinear.values: axis `c`: 8 from features[-1], 5 from "
        "weights[0]",
        "  features: Float[Array, '*b n c'] is float32[2, 3, 8]",
        "  weights: Float[Array, 'c d'] is float32[5, 4]",
        "  bound besides: *b=(2,) from features[:-2], n=3 from features[-2], d=4 from "
        "weights[1]",
    )


class Scaled(nn.Module):
    features: int

    @nn.compact
    def __call__(
        self, x: Float[Array, "batch width"], scale: Float[Array, " width"]
    ) -> Float[Array, "batch {self.features}"]:
        return (x * scale[:1])[:, :4]


class Outer(nn.Module):
    features: int = 4

    @nn.compact
    def __call__(self, x, scale):
        return Scaled(self.features, name="scaled")(x, scale)


def test_a_module_is_named_by_its_path():
    lines = lines_of(lambda: Outer().apply({}, f32(2, 8), f32(7)))
    assert lines[0] == (
        "scaled: Scaled.__call__: axis `width`: 8 from x[1], 7 from scale[0]"
    )
    assert lines[-1] == "  bound besides: batch=2 from x[0]"


def test_a_result_is_held_to_what_the_module_says_of_itself():
    assert Outer(4).apply({}, f32(2, 8), f32(8)).shape == (2, 4)
    lines = lines_of(lambda: Outer(5).apply({}, f32(2, 8), f32(8)))
    assert lines[0] == (
        "scaled: Scaled.__call__: axis return[1] is 4, not 5, which is "
        "`{self.features}`"
    )


def test_arguments_are_told_before_the_method_fails_on_them():
    class Fails(nn.Module):
        def __call__(self, x: Float[Array, "b c"], y: Float[Array, "c d"]):
            raise AssertionError("it ran")

    lines = lines_of(lambda: Fails().apply({}, f32(2, 3), f32(4, 5)))
    assert "axis `c`: 3 from x[1], 4 from y[0]" in lines[0]


def test_nothing_is_looked_at_unless_somebody_observes():
    batch = {"features": f32(2, 3, 8), "weights": f32(5, 4)}
    with pytest.raises((TypeError, ValueError)) as caught:
        Bilinear()({"batch": batch})
    assert not isinstance(caught.value, NamedAxisError)
    with named_axes.refusing():
        pass
    with pytest.raises((TypeError, ValueError)):
        Bilinear()({"batch": batch})


def test_another_thread_is_left_alone():
    seen = []

    def call():
        context = {"preds": f32(2, 1), "batch": {"labels": f32(2)}}
        seen.append(SquaredError()(context).values.shape)

    with named_axes.refusing():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert seen == [(2,)]


def test_a_compiled_step_is_the_same_program_with_checks_and_without():
    def program():
        def step(logits, labels):
            context = {"preds": logits, "batch": {"labels": labels}}
            return CrossEntropy()(context).mean(), Accuracy()(context)

        return jax.jit(step).lower(f32(4, 3), np.zeros(4, np.int32)).as_text()

    plain = program()
    with named_axes.refusing():
        assert program() == plain


@pytest.mark.parametrize(
    ("part", "context", "said"),
    [
        (
            CrossEntropy(),
            {"preds": f32(4, 3, 7), "batch": {"labels": np.zeros((4, 2), int)}},
            "axes `*b`: (4, 3) from logits[:-1], (4, 2) from labels[:]",
        ),
        (
            SquaredError(),
            {"preds": f32(8, 1), "batch": {"labels": f32(8)}},
            "axes `*b`: (8, 1) from predictions[:], (8,) from labels[:]",
        ),
        (
            CrossEntropy(),
            {"preds": f32(4, 7), "batch": {"labels": f32(4)}},
            "labels is float32, and Integer wanted",
        ),
        (
            Accuracy(),
            {"preds": f32(), "batch": {"labels": np.zeros((), int)}},
            "logits has 0 dims, and '*b classes' names 1 at least",
        ),
        (
            ConfusionMatrix(num_classes=3),
            {"preds": f32(2, 4), "batch": {"labels": np.zeros(2, int)}},
            "axis logits[-1] is 4, not 3, which is `{self.num_classes}`",
        ),
        (
            SkipNan(metric=Accuracy()),
            {"preds": f32(2, 4), "batch": {"labels": np.zeros(3, int)}},
            "axes `*b`: (2,) from logits[:-1], (3,) from labels[:]",
        ),
    ],
)
def test_losses_and_metrics_say_the_axes_of_what_they_read(part, context, said):
    (first, *_) = lines_of(lambda: part(context))
    assert first.endswith(said)


def holding(*pairs, **scope):
    """What the last of some arrays has against its annotation."""
    axes = Axes(scope)
    for number, (hint, shape) in enumerate(pairs):
        clash = axes.hold(f"x{number}", f32(*shape), (hint,))
    return clash and clash.text


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(Float[Array, ""], ())], None),
        ([(Float[Array, ""], (1,))], "x0 has 1 dim, and '' names 0"),
        ([(Float[Array, "a 3"], (2, 3))], None),
        ([(Float[Array, "a 3"], (2, 4))], "axis x0[1] is 4, not 3"),
        ([(Float[Array, "a rows=4"], (2, 4))], None),
        ([(Float[Array, "a rows=4"], (2, 5))], "axis x0[1] is 5, not 4"),
        ([(Float[Array, "a a"], (2, 3))], "axis `a`: 2 from x0[0], 3 from x0[1]"),
        ([(Float[Array, "_ _"], (2, 3))], None),
        ([(Float[Array, "... a"], (5, 4, 3)), (Float[Array, "a ..."], (3, 9))], None),
        (
            [(Float[Array, "a b"], (2, 3)), (Float[Array, "#a b"], (1, 3))],
            None,
        ),
        (
            [(Float[Array, "a b"], (2, 3)), (Float[Array, "#a b"], (4, 3))],
            "axis `a`: 2 from x0[0], 4 from x1[0]",
        ),
        (
            [(Float[Array, "n"], (3,)), (Float[Array, "n+1 2*n"], (4, 6))],
            None,
        ),
        (
            [(Float[Array, "n"], (3,)), (Float[Array, "2*n-1"], (6,))],
            "axis x1[0] is 6, not 5, which is `2*n-1`",
        ),
        ([(Float[Array, "unknown+1"], (4,))], None),
        (
            [(Float[Array, "*s c"], (2, 3, 4)), (Float[Array, "c *s"], (4, 2, 3))],
            None,
        ),
        (
            [(Float[Array, "*s"], (2, 3)), (Float[Array, "*#s"], (1, 3))],
            None,
        ),
        (
            [(Float[Array, "*s"], (2, 3)), (Float[Array, "*#s"], (2, 2))],
            "axes `*s`: (2, 3) from x0[:], (2, 2) from x1[:]",
        ),
        (
            [(Float[Array, "a *s b"], (2, 3)), (Float[Array, "a *s b"], (2, 9, 3))],
            "axes `*s`: () from x0[1:-1], (9,) from x1[1:-1]",
        ),
        ([(Integer[Array, "a"], (2,))], "x0 is float32, and Integer wanted"),
        ([(Shaped[Array, "a"], (2,))], None),
        ([(Float32[Array, "a"], (2,))], None),
    ],
)
def test_annotations_mean_what_they_mean_to_jaxtyping(pairs, said):
    assert holding(*pairs) == said


def test_one_of_several_annotations_is_enough():
    axes = Axes({})
    either = (Float[Array, "b t"], Float[Array, "b t c"])
    assert axes.hold("x", f32(2, 3, 4), either) is None
    assert axes.hold("y", f32(3), (Float[Array, "t"],)) is None
    assert axes.hold("z", f32(4), (Float[Array, "t"],)) is not None
    # And what an annotation that did not fit had bound is forgotten.
    assert axes.others(axes.hold("z", f32(4), (Float[Array, "t"],))) == (
        "b=2 from x[0]",
        "c=4 from x[2]",
    )


def test_bfloat16_is_a_float_and_keys_are_not():
    axes = Axes({})
    assert axes.hold("x", jnp.zeros(2, jnp.bfloat16), (Float[Array, "a"],)) is None
    assert axes.hold("k", jax.random.key(0), (Real[Array, ""],)) is not None


def test_annotations_that_cannot_be_resolved_are_let_pass():
    def f(x: NoSuchName[int]): ...  # noqa: F821 - that is the case

    assert annotations_of(f) == {}


def annotated_here():
    """Every function of the training wing that names an axis, by its text."""
    for room in (fdlkit.nn, fdlkit.train):
        for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            module = importlib.import_module(info.name)
            own = [h for h in vars(module).values() if inspect.isclass(h)]
            for holder in (module, *own):
                for function in vars(holder).values():
                    if getattr(function, "__module__", "") == info.name:
                        hints = getattr(function, "__annotations__", {})
                        if any("[Array, '" in str(hint) for hint in hints.values()):
                            yield function


def test_every_annotation_of_our_own_can_be_resolved():
    functions = list(annotated_here())
    assert len(functions) > 15
    assert not [f for f in functions if not annotations_of(f)]
