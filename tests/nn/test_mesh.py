"""The logical axes of the model on a mesh: what is lowered, what is placed where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import flax.linen as nn
import jax
import pytest
from jax.sharding import AbstractMesh, AxisType

from fdlkit.sharding.layout import DEFAULT_RULES
from tests.nn.models import parameters, small_model, some_tokens

AXES = ("data", "fsdp", "tensor", "context", "stage")


def lowered(mesh: AbstractMesh, *, scan: bool) -> str:
    """The StableHLO of the model's forward pass on a mesh of devices that are not."""
    model = small_model(mlp={"gated": True}, repeat={"scan": scan})
    tokens = some_tokens(batch=8)
    params = parameters(model, tokens)
    with (
        jax.sharding.use_abstract_mesh(mesh),
        nn.logical_axis_rules(DEFAULT_RULES),
    ):
        traced = jax.jit(model.apply).trace({"params": params}, tokens)
        return traced.lower(lowering_platforms=("cpu",)).as_text()


@pytest.mark.parametrize("scan", [True, False], ids=["scan", "laid out"])
def test_activations_are_constrained_in_the_lowered_program(scan: bool):
    mesh = AbstractMesh((2, 2, 2, 1, 1), AXES, axis_types=(AxisType.Auto,) * 5)
    constraints = set(
        re.findall(
            r"sdy\.sharding_constraint \S+ <@mesh, (\[.*?\])> : tensor<(\S+)>",
            lowered(mesh, scan=scan),
        )
    )
    rows = '{"data", "fsdp"}'
    assert constraints >= {
        (f'[{rows}, {{"context"}}, {{}}]', "8x12x16xf32"),
        (f'[{rows}, {{"context"}}, {{"tensor"}}]', "8x12x24xf32"),
        (f'[{rows}, {{"context"}}, {{"tensor"}}, {{}}]', "8x12x4x4xf32"),
        (f'[{rows}, {{"context"}}, {{"tensor"}}]', "8x12x19xf32"),
    }


PROGRAM = """
import flax.linen as nn, jax, json, numpy as np
from jax.sharding import AxisType
from fdlkit.sharding.layout import DEFAULT_RULES
from tests.nn.models import expect_close, small_model, some_tokens

tokens = some_tokens(batch=8)
segment_ids = np.repeat([[0, 1]] * 8, [5, 7], axis=1)
model = small_model(attention={"num_kv_heads": 2}, dropout=0.2)

def value(params):
    answers = model.apply({"params": params}, tokens, segment_ids=segment_ids)
    return (answers ** 2).mean()

alone = nn.meta.unbox(model.init(jax.random.key(0), tokens))["params"]
want = jax.jit(jax.value_and_grad(value))(alone)
for sizes in ((8, 1, 1, 1, 1), (1, 8, 1, 1, 1), (2, 2, 2, 1, 1), (2, 1, 2, 2, 1)):
    mesh = jax.make_mesh(
        sizes,
        ("data", "fsdp", "tensor", "context", "stage"),
        axis_types=(AxisType.Auto,) * 5,
    )
    # A vocabulary of 19 is not divided evenly by two: that table stays whole.
    rules = [(name, None if name == "vocab" else to) for name, to in DEFAULT_RULES]
    with jax.set_mesh(mesh), nn.logical_axis_rules(rules):
        shapes = jax.eval_shape(model.init, jax.random.key(0), tokens)
        places = nn.logical_to_mesh_sharding(nn.get_partition_spec(shapes), mesh, rules)
        init = lambda: nn.meta.unbox(model.init(jax.random.key(0), tokens))
        params = jax.jit(init, out_shardings=places)()["params"]
        got = jax.jit(jax.value_and_grad(value))(params)
    kernel = params["layers"]["block"]["mlp"]["up"]["kernel"]
    assert kernel.shape == (2, 16, 24)
    part = kernel.addressable_shards[0].data
    assert part.shape == (2, 16 // sizes[1], 24 // sizes[2])
    query = params["layers"]["block"]["attention"]["query"]["kernel"]
    part = query.addressable_shards[0].data
    assert part.shape == (2, 16 // sizes[1], 4 // sizes[2], 4)
    expect_close(params, alone, rtol=1e-4)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    expect_close(got[1], want[1], rtol=1e-3)
    print(sizes)
"""


@pytest.mark.slow
def test_eight_devices_hold_parts_and_give_the_numbers_of_one():
    root = Path(__file__).parents[2]
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        cwd=root,
        env={**os.environ, **flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == 4
