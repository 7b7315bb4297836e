"""Eight devices write what one writes, and each keeps its part of the keys."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import flax.linen as nn, jax, numpy as np
from fdlkit.nn.cache import CACHE
from fdlkit.sharding.layout import DEFAULT_RULES, named, spec_tree
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.caching import why_uncached
from fdlkit.train.continuing import continued
from fdlkit.train.generation import rules_for
from fdlkit.train.setup import using
from tests.nn.models import boxes, small_model, some_tokens
from tests.train.languages import generator_of, language_of, variables_of

model = small_model(attention={"num_kv_heads": 2})
language, variables = language_of(model), variables_of(model)
# A vocabulary of 19 is not divided evenly by two: that table stays whole.
rules = [(name, None if name == "vocab" else to) for name, to in DEFAULT_RULES]

def tokens(generator, variables):
    *_, rows = continued(
        generator, variables, ["abc", "rqponml"], num_samples=4, max_tokens=20
    )
    return [row.tokens for row in rows]

want = tokens(generator_of(language), variables)
for axes in (MeshAxes(data=8), MeshAxes(data=2, fsdp=2, tensor=2),
             MeshAxes(tensor=2, context=4)):
    mesh = Mesh(ici=axes).make()
    specs = spec_tree({"params": boxes(model, some_tokens())}, rules)
    placed = jax.device_put(variables, named(specs, mesh))
    assert why_uncached(language, placed, mesh=mesh, rules=rules) is None
    for cached in (True, False):
        generator = generator_of(language, cached=cached, mesh=mesh, rules=rules)
        assert tokens(generator, placed) == want, (axes, cached)
    with using(mesh, rules_for(8, rules, mesh)):
        decoder = generator_of(language, mesh=mesh, rules=rules).decoder(12)
        rows = np.ones((8, 12), np.int32)
        (cache, _), _ = jax.jit(decoder.begin)(placed, rows, np.full(8, 3))
    key = cache["layers"]["block"]["attention"]["key"]
    part = key.addressable_shards[0].data.shape
    print(part)
    assert part == (2, 8 // (axes.data * axes.fsdp), 12, 2 // axes.tensor, 4)
"""


@pytest.mark.slow
def test_eight_devices_write_what_one_writes_and_share_the_cache():
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
    assert len(ended.stdout.splitlines()) == 3
