"""What `train` checks first: refused before a device or a file is touched."""

from __future__ import annotations

import io

import fiddle as fdl
import jax
import pytest
from jax._src import xla_bridge

import fdlkit
from fdlkit.errors import UserError
from fdlkit.run import launch
from fdlkit.run.preflight import preflight
from fdlkit.train.stop import Stop
from tests.check.house import Layer, experiment


@pytest.fixture(autouse=True)
def without_cache(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")


def train(cfg, directory, **options) -> tuple[int, str]:
    stream = io.StringIO()
    code = launch.train(
        cfg,
        target="experiments/lm.py:tiny",
        argv=("train",),
        directory=str(directory),
        stop=Stop(),
        stream=stream,
        **options,
    )
    return code, stream.getvalue()


def broken():
    """An experiment with an error that only a check finds."""
    cfg = experiment()
    cfg.allowed = {"CF999": "there is no such code"}
    return cfg


def test_an_error_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(UserError) as caught:
        train(broken(), tmp_path / "run")
    assert caught.value.exit_code == 2
    assert caught.value.lines[0].startswith("CF030: there is no finding 'CF999'")
    assert caught.value.lines[-1] == "--check=off runs it all the same"
    assert not list(tmp_path.iterdir())


def test_without_a_check_it_runs(tmp_path):
    code, _ = train(broken(), tmp_path / "run", check="off", dry_run=True)
    assert code == 0


def test_warnings_are_a_line_each_and_what_is_allowed_is_none(tmp_path):
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 2
    code, said = train(cfg, tmp_path / "run", dry_run=True)
    assert code == 0
    assert said.startswith(
        "warning CF005: model.layers[0], [1] are one Layer, not 2: what is built is "
        "one object 2 times (at model.layers[0])\n"
    )
    fdlkit.allow(cfg, "CF005", reason="meant")
    _, said = train(cfg, tmp_path / "run", dry_run=True)
    assert "CF005" not in said


def test_a_full_check_looks_at_every_level(tmp_path):
    cfg = experiment()
    cfg.loss.labels = "batch.label"
    with pytest.raises(UserError, match=r"loss\.labels='batch\.label' leads nowhere"):
        train(cfg, tmp_path / "run", dry_run=True)
    with pytest.raises(UserError) as caught:
        train(cfg, tmp_path / "run", dry_run=True, check="full")
    assert caught.value.lines[0].startswith("SH")
    assert not list(tmp_path.iterdir())


def test_the_trace_of_the_check_is_the_run_s_own(tmp_path, monkeypatch):
    trainer = fdlkit.build(experiment())
    traces = []
    init = type(trainer.model).init
    monkeypatch.setattr(
        type(trainer.model),
        "init",
        lambda self, *a, **k: (traces.append(1), init(self, *a, **k))[1],
    )
    preflight(experiment(), trainer, check="fast", workdir=str(tmp_path), stream=None)
    assert len(traces) == 1
    # On devices of some kind, as a run has them: the check knows of none.
    trainer.setup_on(trainer.mesh.make(jax.devices()[:1]))
    assert len(traces) == 1


def test_no_device_is_touched_before_the_refusal(tmp_path, monkeypatch):
    def touched(*args, **kwargs):
        raise AssertionError("a device was touched")

    monkeypatch.setattr(xla_bridge, "backends", touched)
    monkeypatch.setattr(xla_bridge, "get_backend", touched)
    with pytest.raises(UserError, match="CF030"):
        train(broken(), tmp_path / "run", check="full")
