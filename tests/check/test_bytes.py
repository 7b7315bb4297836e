"""What is whole on every device, by bytes; how values are cut and live."""

from __future__ import annotations

import fiddle as fdl
import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec

from fdlkit.check import jaxprs, liveness, memory
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from tests.check.house import experiment


class Tables(nn.Module):
    """A kernel that rules cut, and a table that they do not know."""

    table: int = 7
    dtype: str = "float32"

    @nn.compact
    def __call__(self, x):
        named = nn.with_logical_partitioning(nn.initializers.ones, ("embed", None))
        whole = (4, self.table)
        table = self.param("table", nn.initializers.ones, whole, self.dtype)
        kernel = self.param("kernel", named, (4, 100 - self.table), self.dtype)
        y = jnp.sum(x.astype(self.dtype) @ kernel, -1, keepdims=True)
        return y.astype(jnp.float32) + jnp.sum(table).astype(jnp.float32)


def found(mesh, **fields):
    cfg = experiment(model=fdl.Config(Tables, **fields))
    return list(memory.find(Subject(cfg, Request(mesh=mesh))))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_seven_percent_are_seven_percent_in_every_type(dtype):
    (one,) = found({"fsdp": 4}, dtype=dtype)
    assert one.code == "BY001"
    assert one.subject == "params/table"
    assert dict(one.numbers)["percent"] == 7.0
    assert one.text.startswith("7.0 % of the parameters' bytes")


def test_one_percent_is_not_worth_a_word():
    assert found({"fsdp": 4}, table=1) == []


def test_copies_are_meant_where_nothing_is_cut():
    assert found({"data": 4}) == []


def test_what_no_axis_divides_cannot_be_cut():
    assert found({"fsdp": 3}, table=5) == []


def working(function, *shapes, cuts=None, mesh=None):
    arrays = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    program = jax.make_jaxpr(function)(*arrays)
    cuts = cuts or [((),) * len(shape) for shape in shapes]
    return liveness.working_bytes(program, cuts, mesh or {})


def test_what_is_kept_for_later_counts_until_then():
    def kept(x, w):
        y = x @ w
        z = (y @ w) @ w
        return jnp.sum(z @ y)

    # `y` beside the two products after it; the last one is only summed up.
    assert working(kept, (8, 8), (8, 8)) >= 3 * 4 * 64
    assert working(lambda x, w: jnp.sum(((x @ w) @ w) @ w), (8, 8), (8, 8)) < 3 * 4 * 64


def test_element_wise_work_with_one_reader_is_never_written():
    assert working(lambda x: jnp.sum(jnp.exp(x * 2 + 1)), (1000,)) < 1000


def test_a_loop_keeps_what_it_stacks():
    def stacked(xs):
        _, ys = jax.lax.scan(lambda c, x: (c, jnp.sin(x) * 2), 0.0, xs)
        return jnp.sum(ys @ ys.T)

    assert working(stacked, (64, 100)) >= 4 * 64 * 100


def test_rematerialisation_keeps_less():
    def layers(policy):
        def layer(x, w):
            for _ in range(4):
                x = jnp.tanh(x @ w)
            return x

        if policy is not None:
            layer = jax.checkpoint(layer, policy=policy)

        def loss(ws, x):
            y, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)
            return jnp.sum(y)

        return jax.grad(loss)

    shapes = ((16, 32, 32), (128, 32))
    everything = working(layers(None), *shapes)
    nothing = working(layers(jax.checkpoint_policies.nothing_saveable), *shapes)
    assert nothing < everything / 2


def test_cuts_follow_products_reshapes_and_reductions():
    def forward(x, w):
        y = jnp.einsum("btd,dhk->bthk", x, w)
        return jnp.sum(jnp.tanh(y.reshape(8, 16, 64)) @ jnp.ones((64, 64)))

    cuts = [(("data",), (), ()), ((), ("tensor",), ())]
    whole = working(forward, (8, 16, 32), (32, 4, 16))
    cut = working(
        forward, (8, 16, 32), (32, 4, 16), cuts=cuts, mesh={"data": 8, "tensor": 4}
    )
    assert whole / cut > 6  # the last product is whole in its last dim


def test_constraints_are_read_from_a_program():
    mesh = jax.sharding.AbstractMesh(
        (2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2
    )

    def body(x, _):
        x = jax.lax.with_sharding_constraint(x, PartitionSpec("a", None))
        return x, jax.lax.with_sharding_constraint(x, PartitionSpec(("a", "b")))

    with jax.sharding.use_abstract_mesh(mesh):
        program = jax.make_jaxpr(lambda x: jax.lax.scan(body, x, None, length=3))(
            jax.ShapeDtypeStruct((8, 4), jnp.float32)
        )
    assert set(jaxprs.constraints(program)) == {
        ((8, 4), (("a",), ())),
        ((8, 4), (("a", "b"),)),
    }
