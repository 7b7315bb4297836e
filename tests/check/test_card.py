"""The card of an experiment."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import numpy as np
import optax
import pytest

import fdlkit
from fdlkit.check import card_text
from fdlkit.check.card import Sketch, card
from fdlkit.check.footprint import footprint
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.sharding.layout import DEFAULT_RULES


def card_of(target="tiny", **request):
    cfg = fdlkit.load(f"experiments/lm.py:{target}")
    return card(Subject(cfg, Request(**request)))


@pytest.fixture(scope="module")
def tiny():
    return card_of(mesh={"data": 2, "fsdp": 2, "tensor": 2})


def test_parameters_are_told_by_module(tiny):
    sizes = {module.path: module.parameters for module in tiny.modules}
    assert sizes == {
        "model.embed": 256 * 32,
        "model.output": 256 * 32,
        "model.layers.block.attention": 2 * 4 * 32 * 32,
        "model.layers.block.mlp": 2 * 2 * 32 * 128,
        "model.layers.block": 2 * 2 * 32,
        "model": 32,
    }
    assert tiny.parameters == sum(sizes.values())
    assert tiny.parameter_bytes == 4 * tiny.parameters


def test_adam_keeps_two_numbers_for_each_and_its_counts(tiny):
    assert 0 <= tiny.optimizer_bytes - 8 * tiny.parameters <= 16


def test_a_table_that_is_tied_counts_once():
    assert card_of("tied").parameters == card_of("base").parameters - 256 * 128


def test_the_batch_comes_out_by_axis(tiny):
    batch = tiny.batch
    assert (batch.rows, batch.rows_per_device) == (8, 2.0)
    assert {c.axis: c.cuts for c in batch.cuts} == {
        "data": "rows",
        "fsdp": "rows",
        "tensor": None,
    }
    assert batch.elements == 8 * 32
    assert batch.eval_batches * 256 == batch.eval_rows + batch.eval_filled


def test_each_device_has_its_part(tiny):
    # `tensor` and `fsdp` cut every kernel and table; `fsdp` alone cuts the norms.
    norms = 2 * 2 * 32 + 32
    kernels = tiny.parameters - norms
    assert tiny.per_device.parameters == 4 * (kernels // 4 + norms // 2)
    assert tiny.per_device.batch == 2 * 2 * 32 * 4


def test_flops_are_those_that_xla_counts_in_the_unrolled_step():
    cfg = fdlkit.load("experiments/lm.py:base")
    cfg.model.layers.scan = False
    cfg.eval_data = None
    trainer = fdlkit.build(cfg)
    setup = trainer.setup_on(trainer.mesh.abstract())
    told = card(Subject(cfg)).flops
    lowered = setup.lower_train_step(platforms=("cpu",))
    counted = lowered.cost_analysis()["flops"]
    # XLA counts element-wise work too, about a twentieth here.
    assert 1.0 <= counted / told < 1.1


def test_the_schedule_is_sketched_where_it_turns(tiny):
    sketch = tiny.schedule
    assert sketch.steps[0] == 0
    assert sketch.steps[-1] == 39
    assert max(sketch.values) == pytest.approx(3e-3)
    assert sketch.values[-1] == pytest.approx(3e-4, rel=0.1)


def test_a_number_is_a_schedule_that_stays():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.optimizer[1].learning_rate = 1e-3
    text = card_text.render(card(Subject(cfg)))
    assert "learning rate  0.001 throughout" in text


def test_text_and_json_say_the_same(tiny):
    text = card_text.render(tiny)
    told = json.loads(card_text.to_json(tiny))
    assert told["schema"] == "fdlkit.card/1"
    assert f"parameters  {told['parameters']:,}" in text
    assert "8 = data=2 * fsdp=2 * 2 a device" in text
    assert "estimate" in text


def test_a_sketch_is_as_high_as_its_values():
    rising = Sketch(steps=(0, 1, 2), values=(0.0, 0.5, 1.0))
    top, *_, bottom = card_text._schedule(rising)[1:]
    assert top.strip() == "█"
    assert bottom.strip() == "██"


@pytest.mark.parametrize("remat", ["none", "dots_saveable", "full"])
def test_what_a_step_works_with_is_near_what_xla_allots(remat):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.n = 8
    cfg.model.layers.remat = remat
    cfg.train_data.batch_size = 32
    cfg.eval_data = None
    subject = Subject(cfg)
    mesh = dict(subject.mesh.shape)
    told = footprint(
        subject.shapes, subject.trace.step, rules=DEFAULT_RULES, mesh=mesh
    ).working
    setup = subject.trainer.setup_on(subject.trainer.mesh.make(jax.devices()[:1]))
    allotted = setup.lower_train_step().compile().memory_analysis()
    assert 0.5 < told / allotted.temp_size_in_bytes < 2.0


def test_a_card_touches_no_device_but_the_hosts():
    program = (
        "import jax; jax.config.update('jax_platforms', 'cpu'); import fdlkit\n"
        "from fdlkit.check.subject import Subject\n"
        "subject = Subject(fdlkit.load('experiments/lm.py:tiny'))\n"
        "from fdlkit.check import axes, shapes, memory\n"
        "for level in (axes, shapes, memory): assert not list(level.find(subject))\n"
        "from jax._src import xla_bridge; assert not xla_bridge._backends"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_schedule_is_looked_at_along_the_whole_run():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.num_train_steps = 1000
    sketch = card(Subject(cfg)).schedule
    expected = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 50, 1000, 3e-4)
    np.testing.assert_allclose(
        sketch.values, [float(expected(s)) for s in sketch.steps], rtol=1e-5
    )
