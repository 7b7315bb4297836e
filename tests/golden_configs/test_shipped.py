"""The shipped experiments are what is kept of them, on every Python and JAX."""

from __future__ import annotations

import pathlib

import pytest

from fdlkit.testing import check_golden

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["base", "tiny", "tied"])
def test_a_shipped_experiment_is_as_kept(name):
    # If a dependency has moved a default, this says which: read it, then accept it by
    # `fdlkit golden experiments/lm.py:base experiments/lm.py:tiny ... --update`.
    check_golden(f"{ROOT / 'experiments' / 'lm.py'}:{name}")


def test_what_is_kept_is_readable():
    folder = ROOT / "experiments" / "golden"
    config = (folder / "lm.tied.config.txt").read_text().splitlines()
    assert "model.output = shared with model.embed" in config
    assert "model.embed.features = ref(^hidden) = 128" in config
    assert "optimizer[1] = optax.adamw" in config
    assert "optimizer[1].eps = 1e-08  (default)" in config
    parameters = (folder / "lm.tied.params.txt").read_text().splitlines()
    assert (
        "params/embed/embedding = float32[vocab=256, embed=128]  "
        "weight_decay: 0.1 * learning_rate"
    ) in parameters
    assert all(len(line) < 200 for line in (*config, *parameters))
