"""Mesh sizes and layouts that cannot be are refused in words."""

from __future__ import annotations

import jax
import pytest
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from fdlkit.errors import UserError
from fdlkit.sharding.layout import (
    DEFAULT_RULES,
    check_divides,
    check_rules,
    divisors,
    like_parameters,
    mesh_spec,
)
from fdlkit.sharding.mesh import MESH_AXES, Mesh, MeshAxes
from tests.train.toys import make_trainer


def abstract(**sizes: int) -> AbstractMesh:
    shape = tuple(sizes.get(axis, 1) for axis in MESH_AXES)
    return AbstractMesh(shape, MESH_AXES, axis_types=(AxisType.Auto,) * len(shape))


def test_minus_one_is_the_rest():
    mesh = Mesh(ici=MeshAxes(data=-1, fsdp=4))
    assert mesh.shape(32) == {
        "data": 8,
        "fsdp": 4,
        "tensor": 1,
        "context": 1,
        "stage": 1,
    }


def test_slices_multiply_with_what_is_inside_them():
    mesh = Mesh(ici=MeshAxes(fsdp=-1), dcn=MeshAxes(data=2))
    assert mesh.shape(16, num_slices=2) == {
        "data": 2,
        "fsdp": 8,
        "tensor": 1,
        "context": 1,
        "stage": 1,
    }


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"fsdp": 3}, r"mesh.ici \(fsdp=3\) does not fit: 3 is not the 8 devices"),
        ({"data": -1, "fsdp": 3}, "3 does not divide the 8 devices"),
        ({"data": -1, "fsdp": -1}, "data and fsdp are both -1"),
        ({"tensor": 0}, "mesh.ici.tensor=0 is not a size"),
    ],
)
def test_sizes_that_do_not_fit_are_named(axes, text):
    with pytest.raises(UserError, match=text):
        Mesh(ici=MeshAxes(**axes)).shape(8)


def test_an_activations_embed_is_not_cut_where_its_batch_is():
    assert mesh_spec(("batch", "time", "embed"), DEFAULT_RULES) == PartitionSpec(
        ("data", "fsdp"), "context", None
    )
    assert mesh_spec(("embed", "mlp"), DEFAULT_RULES) == PartitionSpec("fsdp", "tensor")


def test_three_heads_on_an_eight_way_axis_are_refused_not_padded():
    spec = mesh_spec(("embed", "heads", "head_dim"), DEFAULT_RULES)
    with pytest.raises(UserError) as caught:
        check_divides(
            "parameter attention/query/kernel",
            (48, 3, 16),
            spec,
            mesh=abstract(tensor=8),
            axes=("embed", "heads", "head_dim"),
        )
    assert caught.value.lines == (
        "parameter attention/query/kernel (48, 3, 16): its heads 3 is not a multiple "
        "of 8 (mesh tensor=8)",
        "what would work: heads 8, or a mesh that cuts it in 1",
    )


def test_a_rule_with_an_unknown_mesh_axis_is_refused():
    with pytest.raises(UserError, match="'embed' is mapped to 'model'"):
        check_rules([("embed", "model")], abstract())


def test_a_batch_that_the_mesh_does_not_divide_is_refused_by_name():
    with pytest.raises(UserError, match=r"train_data.batch_size=8: .* multiple of 16"):
        make_trainer().setup_on(abstract(data=16))


def test_moments_are_laid_out_like_their_parameters_whatever_wraps_them():
    import optax

    params = {
        "a": {"w": jax.ShapeDtypeStruct((8, 4), "float32")},
        "w": jax.ShapeDtypeStruct((3,), "float32"),
    }
    specs = {"a": {"w": PartitionSpec("fsdp", "tensor")}, "w": PartitionSpec("data")}
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.masked(optax.adam(1e-3), {"a": {"w": True}, "w": False}),
        optax.trace(0.9),
    )
    state = jax.eval_shape(optimizer.init, params)
    laid = like_parameters(state, params, specs)
    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    found = [
        (jax.tree_util.keystr(path), spec)
        for path, spec in jax.tree_util.tree_leaves_with_path(laid, is_leaf=is_spec)
    ]
    of_a = [spec for path, spec in found if path.endswith("['a']['w']")]
    assert of_a == [PartitionSpec("fsdp", "tensor")] * 3
    assert [s for path, s in found if path.endswith("trace['w']")] == [
        PartitionSpec("data")
    ]
    assert [s for path, s in found if "count" in path] == [PartitionSpec()]


@pytest.mark.parametrize("n", [1, 2, 12, 36, 97, 360])
def test_divisors_are_all_there_in_order(n):
    assert divisors(n) == [d for d in range(1, n + 1) if n % d == 0]
