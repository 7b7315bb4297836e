"""Pax's language models are sound, and lower for machines that are not here."""

from __future__ import annotations

import pytest

import fdlkit
from tests.experiments import facts

# One of each family and kind of mesh; the others differ by sizes.
SOME = (
    "lm_cloud.py:lm_cloud_spmd_test",
    "lm_cloud.py:lm_cloud_spmd_1024b",
    "lm_cloud.py:lm_cloud_spmd_pipeline_175b",
    "c4.py:spmd_22b_adam_2xv4_128",
    "gpt3.py:gpt3_adam_org_hp_bs1p5k_1536replicas",
    "gpt3.py:pipeline_gpt3_small_adam_8replicas",
)
REST = tuple(row.target for row in facts.ROWS if row.target not in SOME)


def expect_sound(target: str) -> None:
    """No finding, and a step that lowers for TPUs on the experiment's own mesh."""
    cfg = fdlkit.load(f"experiments/{target}")
    assert [str(finding) for finding in fdlkit.check(cfg)] == []
    trainer = fdlkit.build(cfg)
    setup = trainer.setup_on(trainer.mesh.abstract())
    text = setup.lower_train_step(platforms=("tpu",)).as_text()
    devices = setup.mesh.size
    assert f"mhlo.num_partitions = {devices} : i32" in text


@pytest.mark.parametrize("target", SOME)
def test_an_experiment_of_each_kind_is_sound_and_lowers_for_its_mesh(target: str):
    expect_sound(target)


@pytest.mark.slow
@pytest.mark.parametrize("target", REST)
def test_every_other_experiment_is_sound_and_lowers_for_its_mesh(target: str):
    expect_sound(target)
