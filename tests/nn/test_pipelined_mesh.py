"""A pipeline on a mesh: stages on devices of their own, the numbers of one device."""

from __future__ import annotations

import json
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

from fdlkit.nn.pipelining import Pipelining
from fdlkit.sharding.layout import DEFAULT_RULES
from tests.nn.models import parameters, small_model, some_tokens

AXES = ("data", "fsdp", "tensor", "context", "stage")


def mesh_of(**sizes: int) -> AbstractMesh:
    named = dict.fromkeys(AXES, 1) | sizes
    return AbstractMesh(tuple(named.values()), AXES, axis_types=(AxisType.Auto,) * 5)


def lowered(mesh: AbstractMesh, pipeline: Pipelining | None, rows: int = 8) -> str:
    """The StableHLO of the model on a mesh of devices that are not there."""
    model = small_model(repeat={"n": 4, "pipeline": pipeline})
    tokens = some_tokens(batch=rows)
    params = parameters(model, tokens)
    with jax.sharding.use_abstract_mesh(mesh), nn.logical_axis_rules(DEFAULT_RULES):
        traced = jax.jit(model.apply).trace({"params": params}, tokens)
        return traced.lower(lowering_platforms=("tpu",)).as_text()


def test_stages_and_the_rows_of_microbatches_are_cut_in_the_lowered_program():
    mesh = mesh_of(data=2, fsdp=2, stage=2)
    program = lowered(mesh, Pipelining(num_stages=2, num_microbatches=2))
    constraints = set(
        re.findall(
            r"sdy\.sharding_constraint \S+ <@mesh, (\[.*?\])> : tensor<(\S+)>", program
        )
    )
    rows = '{"data", "fsdp"}'
    # What stages work on; what waits; an activation within a layer; a stage's kernel.
    assert constraints >= {
        (f'[{{"stage"}}, {rows}, {{"context"}}, {{}}]', "2x4x12x16xf32"),
        (f'[{{"stage"}}, {{}}, {rows}, {{"context"}}, {{}}]', "2x2x4x12x16xf32"),
        (f'[{{"stage"}}, {rows}, {{"context"}}, {{"tensor"}}]', "2x4x12x24xf32"),
        ('[{?}, {?}, {"stage"}, {?}, {?}]', "1x2x2x16x24xf32"),
    }


@pytest.mark.parametrize(
    ("sizes", "pipeline", "rows", "text"),
    [
        (
            {"stage": 4},
            Pipelining(num_stages=2, num_microbatches=2),
            8,
            r"num_stages=2 on a mesh that cuts the layers over 4 devices",
        ),
        (
            {"stage": 2, "data": 4},
            Pipelining(num_stages=2, num_microbatches=4),
            8,
            r"8 rows is not a multiple of num_microbatches=4 \* 4 devices; "
            r"would work: num_microbatches=2 or num_microbatches=1 or a batch of 16",
        ),
    ],
)
def test_what_does_not_fit_the_mesh_never_reaches_the_compiler(
    sizes, pipeline, rows, text
):
    with pytest.raises(ValueError, match=text):
        lowered(mesh_of(**sizes), pipeline, rows)


PROGRAM = """
import collections, json, re
import flax.linen as nn, jax, numpy as np
from jax.sharding import AxisType
from fdlkit.nn.pipelining import Pipelining
from fdlkit.sharding.layout import DEFAULT_RULES
from tests.nn.models import expect_close, small_model, some_tokens

AXES = ("data", "fsdp", "tensor", "context", "stage")
tokens = some_tokens(batch=8)
segment_ids = (np.arange(12)[None] >= np.arange(8)[:, None] + 2).astype(np.int32)
# A vocabulary of 19 is not divided evenly by two: that table stays whole.
rules = [(name, None if name == "vocab" else to) for name, to in DEFAULT_RULES]

def value_of(model, dropout):
    def value(params):
        rngs = {"dropout": jax.random.key(3)} if dropout else {}
        answers = model.apply(
            {"params": params}, tokens, segment_ids=segment_ids, rngs=rngs
        )
        return (np.arange(1, 9)[:, None, None] * answers**2).mean()
    return jax.value_and_grad(value)

def make(pipeline, **changes):
    repeat = {"n": 4, "pipeline": pipeline, **changes.pop("repeat", {})}
    return small_model(repeat=repeat, **changes)

plain = make(None)
init = jax.jit(lambda: nn.meta.unbox(plain.init(jax.random.key(0), tokens)))
params = init()["params"]
want = jax.jit(value_of(plain, False))(params)
found = []
for sizes, (stages, microbatches, repeats), changes in (
    ({"stage": 2, "fsdp": 2, "tensor": 2}, (2, 4, 1), {}),
    ({"stage": 2, "fsdp": 2, "tensor": 2}, (2, 2, 2), {"repeat": {"remat": "full"}}),
    ({"stage": 4, "data": 2}, (4, 4, 1), {"repeat": {"remat": "dots_saveable"}}),
    ({"stage": 2, "data": 2, "context": 2}, (2, 4, 1), {}),
    ({"stage": 2, "data": 2, "fsdp": 2}, (2, 2, 1), {"repeat": {"scan": False}}),
    ({"stage": 2, "tensor": 4}, (2, 8, 1), {"dropout": 0.2}),
):
    pipeline = Pipelining(
        num_stages=stages, num_microbatches=microbatches, num_repeats=repeats
    )
    model = make(pipeline, **changes)
    dropout = "dropout" in changes
    # Without a mesh the same draws are made on one device.
    expected = jax.jit(value_of(model, dropout))(params) if dropout else want
    named = dict.fromkeys(AXES, 1) | sizes
    mesh = jax.make_mesh(
        tuple(named.values()), AXES, axis_types=(AxisType.Auto,) * len(AXES)
    )
    with jax.set_mesh(mesh), nn.logical_axis_rules(rules):
        shapes = jax.eval_shape(model.init, jax.random.key(0), tokens)
        places = nn.logical_to_mesh_sharding(nn.get_partition_spec(shapes), mesh, rules)
        init = lambda: nn.meta.unbox(model.init(jax.random.key(0), tokens))
        placed = jax.jit(init, out_shardings=places)()["params"]
        expect_close(placed, params, rtol=1e-4)
        step = jax.jit(
            value_of(model, dropout), out_shardings=(None, places["params"])
        ).lower(placed).compile()
        got = step(placed)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-5)
    expect_close(got[1], expected[1], rtol=1e-3, atol=1e-5)
    kernel = placed["layers"]["block"]["mlp"]["up"]["kernel"]
    assert kernel.addressable_shards[0].data.shape[0] == 4 // stages
    text = step.as_text()
    kinds = collections.Counter(
        re.findall(r" (all-gather|all-to-all|collective-permute)(?:-start)?\\(", text)
    )
    found.append({"sizes": sizes, "repeats": repeats, **kinds})
print(json.dumps(found))
"""


@pytest.mark.slow
def test_eight_devices_give_the_numbers_of_the_plain_stack_on_one():
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
    found = json.loads(ended.stdout)
    assert len(found) == 6
    # Stages hand on to each other, and to nobody else.
    assert all(one.get("collective-permute", 0) > 0 for one in found)
