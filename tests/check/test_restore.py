"""A checkpoint against a run, known from metadata alone."""

from __future__ import annotations

import shutil

import fiddle as fdl
import jax
import numpy as np
import optax
import pytest
from etils import epath

import fdlkit
from fdlkit.check.saved import saved
from fdlkit.errors import UserError
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions
from fdlkit.train.checkpoints import CheckpointPolicy, Checkpoints


def save(cfg, folder):
    """A checkpoint of an experiment, as a run would leave it."""
    state = fdlkit.build(cfg).shapes().state
    zeros = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), state)
    with Checkpoints(epath.Path(folder), CheckpointPolicy()) as checkpoints:
        checkpoints.save(zeros, {"position": 0}, step=3, record={})


def delete_arrays(folder):
    """Leaves nothing of a checkpoint's state but what is no array."""
    state = folder / "3" / "state"
    gone = [p for p in state.iterdir() if p.name == "d" or "ocdbt" in p.name]
    assert gone
    for path in gone:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with Checkpoints(epath.Path(folder), CheckpointPolicy()) as checkpoints:
        assert checkpoints.last_step == 3


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A run of `tiny` that has saved, the arrays of which are gone."""
    folder = tmp_path_factory.mktemp("run")
    save(fdlkit.load("experiments/lm.py:tiny"), folder / "checkpoints")
    delete_arrays(folder / "checkpoints")
    return folder


def restore(cfg, workdir):
    return fdlkit.check(cfg, restore=str(workdir), levels=["restore"])


def more_layers(cfg):
    cfg.model.layers.n = 3


def larger_vocabulary(cfg):
    cfg.model.vocab_size = 300


def tied(cfg):
    cfg.model.output = cfg.model.embed


def gated_with_positions(cfg):
    cfg.model.layers.block.mlp.gated = True
    cfg.model.positions = fdl.Config(LearnedPositions, length=32, features=32)


def wider_mlp_in_bfloat16(cfg):
    cfg.model.layers.block.mlp.width = 96
    cfg.model.layers.block.attention.param_dtype = jax.numpy.bfloat16


def test_the_run_that_wrote_it_can_go_on(workdir):
    assert restore(fdlkit.load("experiments/lm.py:tiny"), workdir) == []


CHANGED = {
    more_layers: {
        ("RE002", "params/layers/block/attention/key/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/attention/out/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/attention/query/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/attention/value/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/attention_norm/scale", "layers 2 → 3"),
        ("RE002", "params/layers/block/mlp/down/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/mlp/up/kernel", "layers 2 → 3"),
        ("RE002", "params/layers/block/mlp_norm/scale", "layers 2 → 3"),
    },
    larger_vocabulary: {
        ("RE002", "params/embed/embedding", "vocab 256 → 300"),
        ("RE002", "params/output/embedding", "vocab 256 → 300"),
    },
    tied: {("RE004", "params/output/embedding", "not in the run")},
    gated_with_positions: {
        ("RE003", "params/layers/block/mlp/gate/kernel", "not in the checkpoint"),
        ("RE003", "params/positions/embedding", "not in the checkpoint"),
    },
    wider_mlp_in_bfloat16: {
        ("RE002", "params/layers/block/mlp/down/kernel", "mlp 128 → 96"),
        ("RE002", "params/layers/block/mlp/up/kernel", "mlp 128 → 96"),
        ("RE007", "params/layers/block/attention/key/kernel", "bfloat16 in the run"),
        ("RE007", "params/layers/block/attention/out/kernel", "bfloat16 in the run"),
        ("RE007", "params/layers/block/attention/query/kernel", "bfloat16 in the run"),
        ("RE007", "params/layers/block/attention/value/kernel", "bfloat16 in the run"),
    },
}


@pytest.mark.parametrize("change", CHANGED, ids=lambda change: change.__name__)
def test_a_changed_model_is_told_parameter_by_parameter(change, workdir):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    change(cfg)
    found = {f.subject: f for f in restore(cfg, workdir)}
    assert {(f.code, f.subject) for f in found.values()} == {
        (code, path) for code, path, _ in CHANGED[change]
    }
    for _, path, text in CHANGED[change]:
        assert text in found[path].text
        assert "2 of the optimizer's with it" in found[path].text


def test_a_place_to_change_is_named(workdir):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    larger_vocabulary(cfg)
    assert {f.path for f in restore(cfg, workdir)} == {"model.vocab_size"}


def test_another_optimizer_is_told_apart_from_another_model(workdir):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.optimizer = fdl.Config(optax.sgd, learning_rate=0.1, momentum=0.9)
    cfg.learning_rate = 0.1
    found = restore(cfg, workdir)
    assert {f.code for f in found} == {"RE006"}
    assert {f.path for f in found} == {"optimizer"}


def test_other_losses_are_told_and_hinder_nothing(workdir):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.loss = {"a": cfg.loss, "b": cfg.loss}
    (found,) = restore(cfg, workdir)
    assert (found.code, found.severity, found.path) == ("RE008", "warning", "loss")
    assert "sums are of other losses" in found.text


def test_another_norm_of_the_same_shapes_is_no_difference(workdir):
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.norm = fdl.Partial(LayerNorm)
    assert restore(cfg, workdir) == []


def test_a_folder_without_a_checkpoint_is_said_to_be_one(tmp_path):
    (found,) = restore(fdlkit.load("experiments/lm.py:tiny"), tmp_path)
    assert found.code == "RE001"


def test_a_file_is_said_to_hold_no_checkpoint(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(UserError, match="there is no checkpoint in"):
        saved(str(path))


def test_layers_apart_and_stacked_are_told_as_such():
    from fdlkit.check.restoring import compare
    from fdlkit.check.saved import SavedArray

    part = SavedArray("float32", (8, 4))
    apart = {f"params/layers_{i}/mlp/kernel": part for i in range(3)}
    stacked = {"params/layers/mlp/kernel": SavedArray("float32", (3, 8, 4))}
    (one,), rest = compare(apart, stacked)
    assert (one.in_run, one.stacked, one.apart) == (True, *stacked, tuple(apart))
    assert rest == []
    (other,), rest = compare(stacked, apart)
    assert other.in_run is False
    assert rest == []


def test_a_checkpoint_without_our_note_is_read_by_orbax(tmp_path, monkeypatch):
    monkeypatch.setattr("fdlkit.train.checkpoints.arrays_of", lambda state: None)
    save(fdlkit.load("experiments/lm.py:tiny"), tmp_path / "checkpoints")
    monkeypatch.undo()
    cfg = fdlkit.load("experiments/lm.py:tiny")
    assert restore(cfg, tmp_path) == []
    larger_vocabulary(cfg)
    assert {f.subject for f in restore(cfg, tmp_path)} == {
        "params/embed/embedding",
        "params/output/embedding",
    }
