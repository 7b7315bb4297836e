"""The table of an experiment's arrays."""

from __future__ import annotations

import importlib

import fiddle as fdl
import flax.linen as nn
import jax
import optax
import pytest

from fdlkit.errors import UserError
from fdlkit.run.parameters import variables, variables_of
from fdlkit.train.optimizers import by_path, frozen
from tests.train import toys

lm = importlib.import_module("experiments.lm")


def told(config):
    return {variable.path: str(variable) for variable in variables(config)}


def test_shapes_axes_and_decay_of_a_language_model():
    block = {
        "attention_norm/scale": "embed=32",
        "mlp_norm/scale": "embed=32",
        "attention/query/kernel": "embed=32, heads=2, head_dim=16",
        "attention/key/kernel": "embed=32, kv_heads=2, head_dim=16",
        "attention/value/kernel": "embed=32, kv_heads=2, head_dim=16",
        "attention/out/kernel": "heads=2, head_dim=16, embed=32",
        "mlp/up/kernel": "embed=32, mlp=128",
        "mlp/down/kernel": "mlp=128, embed=32",
    }
    dims = {f"layers/block/{path}": f"layers=2, {dims}" for path, dims in block.items()}
    dims["embed/embedding"] = dims["output/embedding"] = "vocab=256, embed=32"
    dims["norm/scale"] = "embed=32"
    assert told(lm.tiny()) == {
        f"params/{path}": f"float32[{shape}]  weight_decay: 0.1 * learning_rate"
        for path, shape in dims.items()
    }


def matrices(params):
    return jax.tree_util.tree_map_with_path(
        lambda path, _: "norm" not in str(path), params
    )


def test_a_mask_by_path_is_seen():
    cfg = lm.tiny()
    cfg.optimizer[1].mask = matrices
    found = {variable.path: str(variable.decay) for variable in variables(cfg)}
    assert {p for p, decay in found.items() if decay == "none"} == {
        path for path in found if "norm" in path
    }
    assert set(found.values()) == {"none", "0.1 * learning_rate"}


def test_what_is_frozen_is_told_as_such():
    cfg = lm.tiny()
    groups = {"**": cfg.optimizer[1], "embed/**": fdl.Config(frozen)}
    cfg.optimizer[1] = fdl.Config(by_path, groups=groups)
    cfg.learning_rate = None
    found = told(cfg)
    assert found["params/embed/embedding"] == "float32[vocab=256, embed=32]  frozen"
    others = [text for path, text in found.items() if path != "params/embed/embedding"]
    assert not [text for text in others if "weight_decay: " not in text]


def test_what_the_experiment_calls_its_rate_is_what_decay_is_told_by():
    cfg = lm.tiny()
    cfg.learning_rate = None
    assert {str(v.decay) for v in variables(cfg)} == {"varies"}
    cfg.optimizer = fdl.Config(optax.adamw, 1e-2, weight_decay=0.1)
    assert {str(v.decay) for v in variables(cfg)} == {"0.001 a step"}


class Normed(nn.Module):
    """A model that carries running means, without logical axes."""

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=True)(x))


def test_what_is_not_trained_has_no_decay():
    trainer = toys.make_trainer(model=Normed())
    assert {v.path: str(v) for v in variables_of(trainer)} == {
        "batch_stats/BatchNorm_0/mean": "float32[4]",
        "batch_stats/BatchNorm_0/var": "float32[4]",
        "params/BatchNorm_0/bias": "float32[4]  weight_decay: none",
        "params/BatchNorm_0/scale": "float32[4]  weight_decay: none",
        "params/Dense_0/bias": "float32[1]  weight_decay: none",
        "params/Dense_0/kernel": "float32[4, 1]  weight_decay: none",
    }


def test_another_config_is_refused():
    with pytest.raises(UserError, match="not an experiment"):
        variables(fdl.Config(dict))
