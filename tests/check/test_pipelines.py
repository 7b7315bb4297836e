"""What is said of pipelines, and by whom."""

from __future__ import annotations

import fiddle as fdl
import pytest

import fdlkit
from fdlkit.check.card import card
from fdlkit.check.card_text import render
from fdlkit.check.report import examine
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.errors import UserError
from fdlkit.nn.pipelining import Pipelining

LEVELS = ["config", "axes", "shapes", "bytes"]


def piped(stages: int = 2, microbatches: int = 4, **more: int):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.layers.pipeline = fdl.Config(
        Pipelining, num_stages=stages, num_microbatches=microbatches, **more
    )
    return cfg


def accumulating():
    """Two rows at a time, for four microbatches in the pipeline."""
    cfg = piped()
    cfg.microbatches = 4
    return cfg


def test_a_sound_pipeline_is_not_complained_of_and_the_card_tells_its_bubble():
    subject = Subject(piped(), Request(mesh={"stage": 2, "fsdp": 2}))
    assert examine(subject, LEVELS).findings == ()
    plain = Subject(fdlkit.load("experiments/lm.py:tiny"), Request())
    told = card(subject)
    assert told.flops == card(plain).flops  # bubbles are no work
    assert (
        "model.layers: 4 microbatches of 2 rows through 2 stages: 5 iterations, "
        "bubble 20.0 %" in render(told)
    )


def test_constraints_inside_a_stage_are_told_at_their_module():
    subject = Subject(piped(), Request(mesh={"stage": 2, "tensor": 4}))
    found = examine(subject, ["axes"]).findings
    # Two heads on four devices.
    assert {one.path for one in found} == {"model.layers.block.attention.num_heads"}


@pytest.mark.parametrize(
    ("cfg", "sizes", "text"),
    [
        (piped(), {"stage": 4}, r"model.layers.pipeline.num_stages: num_stages=2 on"),
        (accumulating(), {"stage": 2}, r"one of microbatches=4 of 2 rows is not a"),
        (piped(microbatches=3), {"stage": 2}, r"pipeline.num_microbatches: a batch of"),
        (
            fdlkit.load("experiments/lm.py:tiny"),
            {"stage": 2},
            r"model.layers: the mesh has stage=2, and model.layers has no pipeline",
        ),
    ],
    ids=["stages", "accumulation", "microbatches", "none"],
)
def test_a_run_refuses_the_same_before_it_is_traced(cfg, sizes, text):
    cfg.mesh.ici.data = 1
    for axis, size in sizes.items():
        setattr(cfg.mesh.ici, axis, size)
    trainer = fdlkit.build(cfg)
    with pytest.raises(UserError, match=text):
        trainer.setup_on(trainer.mesh.abstract())


def test_layers_that_do_not_fill_stages_are_refused_where_they_are_built():
    cfg = piped(stages=4)
    with pytest.raises(UserError) as raised:
        fdlkit.build(cfg)
    told = "\n".join(raised.value.lines)
    assert "cannot build model.layers" in told
    assert "n=2 layers do not fill the stages" in told
