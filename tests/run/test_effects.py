"""What an experiment costs, told without a device."""

from __future__ import annotations

import fiddle as fdl
import jax
import pytest

from experiments import lm
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.run.effects import effects
from fdlkit.sharding.mesh import MeshAxes


def test_sizes_are_those_of_the_state_that_a_run_begins_with():
    cfg = lm.tiny()
    state = build(cfg).init_state()
    told = effects(cfg)
    assert told.parameters == sum(a.size for a in jax.tree.leaves(state.params))
    optimizer = jax.tree.leaves(state.opt_state)
    assert told.optimizer_bytes == sum(a.nbytes for a in optimizer)
    assert (told.elements_per_step, told.unit) == (8 * 32, "tokens")
    assert told.flops_per_step == build(cfg).setup.flops


def test_a_mesh_of_more_devices_than_there_are_does_not_stand_in_the_way():
    cfg = lm.tiny()
    cfg.mesh.ici = fdl.Config(MeshAxes, fsdp=4, tensor=2, data=-1)
    cfg.mesh.dcn = fdl.Config(MeshAxes, data=2)
    assert effects(cfg) == effects(lm.tiny())


def test_what_is_no_experiment_is_refused():
    with pytest.raises(UserError, match="it builds a Transformer, not an experiment"):
        effects(lm.model())
