"""One node in two places is one module, and what a repeated template changes."""

from __future__ import annotations

import functools
import operator
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fdlkit.errors import UserError
from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.sharing import (
    HiddenSharing,
    find_hidden_sharing,
    refuse_hidden_sharing,
)
from fdlkit.nn.transformer import Transformer
from tests.nn.models import (
    HIDDEN,
    VOCAB,
    boxes,
    by_path,
    expect_close,
    expect_equal_bits,
    initial,
    logits,
    parameters,
    some_tokens,
)

BOTH = pytest.mark.parametrize("scan", [True, False], ids=["scan", "laid out"])


class Adapted(nn.Module):
    """A layer with two branches, and with what it is given by `Repeat.shared`."""

    first: nn.Module
    second: nn.Module

    def __call__(self, x: jax.Array, *shared: Any, **inputs: Any) -> jax.Array:
        x += self.first(x) + self.second(jnp.sin(x))
        for module in shared:
            x += module(x)
        return x


class Wrapped(nn.Module):
    """A module that is used before and after some layers."""

    outer: nn.Module
    layers: nn.Module

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.outer(self.layers(self.outer(x)))


def mlp(width: int = 8) -> fdl.Config[Mlp]:
    return fdl.Config(Mlp, features=HIDDEN, width=width)


def layers(
    first: Any, second: Any, *, scan: bool, shared: tuple[Any, ...] = ()
) -> fdl.Config[Repeat]:
    block = fdl.Config(Adapted, first=first, second=second)
    return fdl.Config(Repeat, block, n=3, scan=scan, shared=shared)


def stream() -> np.ndarray:
    draw = np.random.default_rng(0).normal(size=(2, 4, HIDDEN))
    return draw.astype(np.float32)


def language_model(*, tied: bool) -> fdl.Config[Transformer]:
    embed = fdl.Config(Embed, VOCAB, HIDDEN)
    block = fdl.Config(Block, fdl.Config(SelfAttention, HIDDEN, num_heads=2), mlp())
    return fdl.Config(
        Transformer,
        vocab_size=VOCAB,
        hidden=HIDDEN,
        embed=embed,
        output=embed if tied else fdl.Config(Embed, VOCAB, HIDDEN),
        layers=fdl.Config(Repeat, block, n=2),
    )


def test_a_node_used_twice_ties_embedding_and_output():
    tied, untied = (fdl.build(language_model(tied=tied)) for tied in (True, False))
    tokens = some_tokens()
    params = parameters(tied, tokens)
    assert "output" not in params
    twice = {**params, "output": params["embed"]}
    np.testing.assert_array_equal(
        logits(tied, params, tokens), logits(untied, twice, tokens)
    )


def test_the_gradient_of_a_tied_table_is_the_sum_of_both_uses():
    tied, untied = (fdl.build(language_model(tied=tied)) for tied in (True, False))
    tokens = some_tokens()
    params = parameters(tied, tokens)

    def gradient(model: nn.Module, params: Any) -> Any:
        def value(params: Any) -> jax.Array:
            return (model.apply({"params": params}, tokens) ** 2).mean()

        return jax.jit(jax.grad(value))(params)

    together = gradient(tied, params)
    apart = gradient(untied, {**params, "output": params["embed"]})
    both = jax.tree.map(jnp.add, apart.pop("output"), apart["embed"])
    expect_close(together, {**apart, "embed": both})


@BOTH
def test_a_node_used_twice_inside_the_template_is_one_in_each_layer(scan: bool):
    shared = mlp()
    tied = fdl.build(layers(shared, shared, scan=scan))
    untied = fdl.build(layers(mlp(), mlp(), scan=scan))
    assert find_hidden_sharing(tied) == []
    params = parameters(tied, stream())
    assert {path: leaf.shape for path, leaf in by_path(params).items()} == {
        "block/first/up/kernel": (3, HIDDEN, 8),
        "block/first/down/kernel": (3, 8, HIDDEN),
    }
    twice = {"block": {"second": params["block"]["first"], **params["block"]}}
    np.testing.assert_array_equal(
        logits(tied, params, stream()), logits(untied, twice, stream())
    )


@BOTH
def test_a_node_used_twice_outside_the_template_is_one(scan: bool):
    outer = mlp()
    model = fdl.build(
        fdl.Config(Wrapped, outer, layers(mlp(), mlp(), scan=scan)),
    )
    assert find_hidden_sharing(model) == []
    params = parameters(model, stream())
    assert by_path(params)["outer/up/kernel"].shape == (HIDDEN, 8)
    assert by_path(params)["layers/block/first/up/kernel"].shape == (3, HIDDEN, 8)
    assert len(jax.tree.leaves(params)) == 6


def by_hand(params: Any, x: jax.Array) -> jax.Array:
    """`Wrapped` around three `Adapted` layers that share its outer module."""
    outer = functools.partial(Mlp(HIDDEN, 8).apply, {"params": params["outer"]})
    block = Adapted(Mlp(HIDDEN, 8), Mlp(HIDDEN, 8))
    x = outer(x)
    for layer in range(3):
        own = jax.tree.map(operator.itemgetter(layer), params["layers"]["block"])
        x = block.apply({"params": own}, x, outer)
    return outer(x)


@BOTH
@pytest.mark.parametrize("remat", ["none", "full"])
def test_a_node_used_inside_and_outside_is_one_when_it_is_shared(
    scan: bool, remat: str
):
    outer = mlp()
    config = fdl.Config(
        Wrapped, outer, layers(mlp(), mlp(), scan=scan, shared=(outer,))
    )
    config.layers.remat = remat
    model = fdl.build(config)
    assert find_hidden_sharing(model) == []
    params = parameters(model, stream())
    assert by_path(params)["outer/up/kernel"].shape == (HIDDEN, 8)
    assert len(jax.tree.leaves(params)) == 6

    def answer_and_gradient(function: Any) -> Any:
        def value(params: Any) -> Any:
            answer = function(params, stream())
            return (answer**2).mean(), answer

        return jax.jit(jax.value_and_grad(value, has_aux=True))(params)

    expected = answer_and_gradient(by_hand)
    got = answer_and_gradient(lambda params, x: model.apply({"params": params}, x))
    expect_close(got, expected, rtol=1e-4)


def test_a_shared_module_that_is_nowhere_else_is_made_once_and_in_both_ways_alike():
    by_scan, laid_out = (
        initial(
            fdl.build(layers(mlp(), mlp(), scan=scan, shared=(mlp(width=4),))), stream()
        )
        for scan in (True, False)
    )
    assert by_path(by_scan)["shared_0/up/kernel"].shape == (HIDDEN, 4)
    assert np.abs(by_path(by_scan)["shared_0/up/kernel"]).max() > 0
    expect_equal_bits(by_scan, laid_out)


def test_a_shared_module_does_not_move_the_layers_own_initial_values():
    without = initial(fdl.build(layers(mlp(), mlp(), scan=True)), stream())
    shared = initial(
        fdl.build(layers(mlp(), mlp(), scan=True, shared=(mlp(),))), stream()
    )
    expect_equal_bits(without["block"], shared["block"])


class Masked(nn.Module):
    """Dropout of ones: shows the mask."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dropout(0.5, deterministic=not self.has_rng("dropout"))(
            jnp.ones_like(x)
        )


class Counted(nn.Module):
    """Adds what a shared module gives."""

    def __call__(self, x: jax.Array, shared: Any) -> jax.Array:
        y = shared(x)
        self.sow("intermediates", "mask", y)
        return x + y


def test_dropout_in_a_shared_module_differs_from_layer_to_layer_or_is_off():
    model = Repeat(Counted(), 2, shared=(Masked(),))
    x = jnp.zeros((1, 4, 16))
    _, kept = model.apply(
        {}, x, rngs={"dropout": jax.random.key(0)}, mutable="intermediates"
    )
    first, second = kept["intermediates"]["block"]["mask"][0]
    assert set(np.unique(first)) == {0, 2}
    assert (first != second).any()
    np.testing.assert_array_equal(model.apply({}, x), jnp.full_like(x, 2))


class Unembedding(nn.Module):
    """Uses a method of a shared module that is not its call."""

    def __call__(self, x: jax.Array, shared: Any) -> jax.Array:
        chances = jax.nn.softmax(shared(x, method=Embed.attend))
        return x + shared(jnp.argmax(chances, axis=-1))


def test_methods_of_a_shared_module_can_be_called():
    model = Repeat(Unembedding(), 2, shared=(Embed(VOCAB, HIDDEN),))
    params = initial(model, stream())
    table = params["shared_0"]["embedding"]
    x = stream()
    for _ in range(2):
        x += 4 * table[np.argmax(x @ table.T, axis=-1)]
    np.testing.assert_allclose(logits(model, params, stream()), x, rtol=1e-5)


@BOTH
def test_hidden_sharing_is_found_and_both_paths_named(scan: bool):
    outer = mlp()
    model = fdl.build(fdl.Config(Wrapped, outer, layers(outer, mlp(), scan=scan)))
    assert find_hidden_sharing(model) == [
        HiddenSharing(
            inside="model.layers.block.first",
            outside="model.outer",
            repeat="model.layers",
        )
    ]
    with pytest.raises(UserError) as caught:
        refuse_hidden_sharing(model)
    assert str(caught.value) == (
        "one module is used inside a repeated layer and outside it\n"
        "  inside:  model.layers.block.first\n"
        "  outside: model.outer\n"
        "  model.layers gives each of its layers parameters of its own, so this one "
        "cannot stay one module\n"
        "  to share it, put it into model.layers.shared and have the block take it as "
        "an argument\n"
        "  to have two, make it two nodes"
    )


def test_a_module_in_shared_and_in_the_template_too_is_hidden_sharing():
    both = mlp()
    model = fdl.build(layers(both, mlp(), scan=True, shared=(both,)))
    assert find_hidden_sharing(model, root="layers") == [
        HiddenSharing("layers.block.first", "layers.shared[0]", "layers")
    ]


def test_one_template_in_two_repeats_is_hidden_sharing():
    first = layers(mlp(), mlp(), scan=True)
    second = fdl.Config(Repeat, first.block, n=2)
    model = fdl.build(fdl.Config(Wrapped, first, second))
    assert find_hidden_sharing(model) == [
        HiddenSharing("model.layers.block", "model.outer.block", "model.layers")
    ]


def test_a_module_of_the_outer_template_in_the_inner_one_is_hidden_sharing():
    shared = mlp()
    inner = fdl.Config(Repeat, shared, n=2, axis_name="inner_layers")
    model = fdl.build(layers(shared, inner, scan=True))
    assert find_hidden_sharing(model) == [
        HiddenSharing(
            "model.block.second.block", "model.block.first", "model.block.second"
        )
    ]


def test_one_repeat_used_twice_is_one_module_and_not_refused():
    repeat = fdl.build(layers(mlp(), mlp(), scan=True))
    model = Wrapped(repeat, repeat)
    assert find_hidden_sharing(model) == []
    refuse_hidden_sharing(model)
    assert {path.split("/")[0] for path in by_path(boxes(model, stream()))} == {"outer"}


def test_several_hidden_sharings_are_counted_once_each():
    one, two = mlp(), mlp()
    model = fdl.build(
        fdl.Config(
            Wrapped,
            fdl.Config(Adapted, one, two),
            layers(one, two, scan=True),
        )
    )
    assert len(find_hidden_sharing(model)) == 2
    with pytest.raises(UserError, match="and 1 more like it"):
        refuse_hidden_sharing(model)
