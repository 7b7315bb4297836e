"""Optimizers by the paths of parameters, and parameters that stay."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fdlkit.train.frozen import Frozen, frozen_paths, held, moved
from fdlkit.train.optimizers import by_path, frozen
from fdlkit.train.patterns import PatternError


def parameters():
    return {
        "embed": {"embedding": jnp.arange(6.0).reshape(3, 2)},
        "out": {"kernel": jnp.ones((2, 2)), "bias": jnp.zeros(2)},
    }


def gradients():
    return jax.tree.map(lambda p: jnp.full(p.shape, 0.5), parameters())


def test_each_group_is_updated_by_its_own_optimizer():
    optimizer = by_path({"**": optax.sgd(1.0), "**/bias": optax.sgd(10.0)})
    state = optimizer.init(parameters())
    updates, _ = optimizer.update(gradients(), state, parameters())
    np.testing.assert_array_equal(updates["out"]["kernel"], -0.5)
    np.testing.assert_array_equal(updates["out"]["bias"], -5.0)


def test_groups_that_are_alike_are_as_good_as_one_optimizer():
    params = {"one": parameters(), "groups": parameters()}
    made = {
        "one": optax.adam(1e-2),
        "groups": by_path({"**": optax.adam(1e-2), "out/**": optax.adam(1e-2)}),
    }
    states = {name: made[name].init(params[name]) for name in made}
    for _ in range(3):
        for name, optimizer in made.items():
            updates, states[name] = optimizer.update(
                gradients(), states[name], params[name]
            )
            params[name] = optax.apply_updates(params[name], updates)
    # Optax compiles a part of Adam for a whole tree, and fuses each tree in its way.
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6),
        params["one"],
        params["groups"],
    )


def test_the_order_of_the_groups_does_not_count():
    groups = {"**": optax.sgd(1.0), "**/bias": optax.adam(1.0), "embed/**": frozen()}
    one = by_path(groups).init(parameters())
    other = by_path(dict(reversed(groups.items()))).init(parameters())
    assert jax.tree.structure(one) == jax.tree.structure(other)


def test_frozen_parameters_have_no_state_and_say_so_however_deep_they_are():
    inner = by_path({"**": optax.adam(1e-2), "embed/**": frozen()})
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), inner)
    state = jax.eval_shape(optimizer.init, parameters())
    assert frozen_paths(state) == {"embed/embedding"}
    # Two moments of a kernel and a bias, and Adam's count.
    assert len(jax.tree.leaves(state)) == 5
    assert frozen_paths(jax.eval_shape(optax.adam(1.0).init, parameters())) == set()


def test_no_gradient_is_computed_for_what_is_held():
    def loss(params, *paths):
        params = held(params, Frozen(paths))
        hidden = jnp.take(params["embed"]["embedding"], jnp.array([0, 2]), axis=0)
        return jnp.sum((hidden @ params["out"]["kernel"] + params["out"]["bias"]) ** 2)

    def gradient(*paths):
        return jax.make_jaxpr(lambda params: jax.grad(loss)(params, *paths))(
            parameters()
        )

    # The gradient of a table that is looked up in is a scatter.
    assert "scatter" in str(gradient())
    assert "scatter" not in str(gradient("embed/embedding"))
    grads = jax.grad(loss)(parameters(), "embed/embedding")
    assert not np.any(grads["embed"]["embedding"]) and np.any(grads["out"]["kernel"])


def test_what_is_frozen_stays_to_the_bit_whatever_is_added_to_it():
    params = {"a": jnp.array([-0.0, 1.0]), "b": jnp.array([1.0])}
    updates = {"a": jnp.array([0.0, 5.0]), "b": jnp.array([2.0])}
    after = moved(params, updates, (optax.EmptyState(), Frozen(("a",))))
    assert np.asarray(after["a"]).tobytes() == np.asarray(params["a"]).tobytes()
    np.testing.assert_array_equal(after["b"], [3.0])


def test_a_wrong_pattern_is_found_where_only_shapes_are_known():
    optimizer = by_path({"**": optax.sgd(1.0), "embd/**": frozen()})
    with pytest.raises(PatternError, match="did you mean 'embed/\\*\\*'"):
        jax.eval_shape(optimizer.init, parameters())
