"""The axes level over whole experiments."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax
import pytest
from jax.sharding import PartitionSpec

import fdlkit
from tests.check.house import experiment

LEVELS = ["axes", "shapes", "bytes"]


@pytest.mark.parametrize("name", ["base", "tiny", "tied"])
@pytest.mark.parametrize(
    "mesh", [None, {"data": 2, "fsdp": 2, "tensor": 2}], ids=["one device", "eight"]
)
def test_nothing_is_found_on_what_is_shipped(name, mesh):
    cfg = fdlkit.load(f"experiments/lm.py:{name}")
    assert fdlkit.check(cfg, mesh=mesh, levels=LEVELS) == []


class ByHand(nn.Module):
    """Constrains by mesh axes, without logical names."""

    width: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.Dense(self.width)(x)
        x = jax.lax.with_sharding_constraint(x, PartitionSpec(None, "tensor"))
        return nn.Dense(1)(x)


def by_hand(width):
    cfg = experiment(model=fdl.Config(ByHand, width=width))
    found = fdlkit.check(cfg, mesh={"data": 2, "tensor": 4}, levels=LEVELS)
    return {(f.code, dict(f.numbers).get("size")) for f in found}


def test_a_constraint_by_mesh_axes_uses_them():
    assert by_hand(8) == set()


def test_a_constraint_by_mesh_axes_that_is_uneven_is_padded():
    assert by_hand(10) == {("AX004", 10)}


class Deep(nn.Module):
    """Fails two modules down, in a library's layer."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return Inner(name="inner")(x)


class Inner(nn.Module):
    """Asks for a kernel of no size."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Conv(4, kernel_size=(3, 3), name="conv")(x[:, None, None, None, :, 0])


def test_an_exception_is_told_with_the_module_and_the_users_own_line():
    (found,) = fdlkit.check(experiment(model=fdl.Config(Deep)), levels=["shapes"])
    assert found.code == "SH002"
    assert found.subject == "inner"
    assert "IndexError" in found.text or "ValueError" in found.text
    assert "test_axes.py" in found.text.splitlines()[-1]
