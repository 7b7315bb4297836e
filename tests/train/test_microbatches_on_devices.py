"""Microbatches on eight devices: no row moves, and no number changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import xla

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json
import jax
from fdlkit.sharding.mesh import Mesh, MeshAxes
from tests.train.toys import Mlp, examples, make_trainer
from tests.train.test_updates import data

rows = examples(96)
rows["mask"] = (rows["x"][:, 0] > 0).astype("float32")
found = {}
for devices, microbatches in ((1, 1), (1, 4), (8, 4)):
    trainer = make_trainer(
        model=Mlp(dropout=0.5),
        train_data=data(rows, 32),
        eval_data=None,
        microbatches=microbatches,
        mesh=Mesh(ici=MeshAxes(data=devices)),
    )
    setup = trainer.setup_on(trainer.mesh.make(jax.devices()[:devices]))
    step = setup.lower_train_step().compile()
    batch = jax.device_put(next(trainer.train_data.batches()), setup.batch_sharding)
    _, report, _ = step(setup.init_state(), batch, None)
    name = f"{microbatches} on {devices}"
    found[name] = {"report": report.tolist(), "program": step.as_text()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ | xla.devices(8) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_device_is_sent_a_row_of_another(found):
    program = found["4 on 8"]["program"]
    assert "all-reduce" in program
    for operation in ("all-gather", "all-to-all", "collective-permute"):
        assert operation not in program


def test_dropout_and_losses_are_those_of_one_device(found):
    expected = found["4 on 1"]["report"]
    assert found["4 on 8"]["report"] == pytest.approx(expected, rel=1e-5)


def test_the_model_is_not_run_to_count_what_a_mask_of_the_batch_leaves(found):
    products = [found[f"{n} on 1"]["program"].count(" dot(") for n in (1, 4)]
    assert products[0] == products[1] > 0
