"""Writers to services: refused where the package is missing, and what they hand over.

Neither package is in the lock files (each brings dozens of others), so what is tested
is what reaches the border of the clients, which doubles record.
"""

from __future__ import annotations

import math
import sys
import types
from typing import ClassVar

import pytest
from etils import epath

from fdlkit.errors import UserError
from fdlkit.train.histograms import Bars
from fdlkit.train.service_writers import MlFlow, WeightsAndBiases
from fdlkit.train.writers import WriterThread
from tests.train.toys import make_trainer

BARS = Bars(
    limits=[0.0, 1.0],
    counts=[1.0, 3.0],
    least=0.0,
    most=1.0,
    count=4.0,
    total=2.0,
    squares=1.0,
)


@pytest.mark.parametrize(
    ("writer", "package", "text"),
    [
        (WeightsAndBiases(project="p"), "wandb", "pip install 'fdlkit[wandb]'"),
        (MlFlow(experiment="e"), "mlflow", "pip install 'fdlkit[mlflow]'"),
    ],
)
def test_a_missing_package_is_refused_before_the_run(
    tmp_path, monkeypatch, writer, package, text
):
    find = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda n, *r: None if n == package else find(n, *r)
    )
    with pytest.raises(UserError) as refused:
        make_trainer(writers=[writer]).train(tmp_path / "run")
    assert text in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def workdir(tmp_path):
    record = tmp_path / "record"
    record.mkdir()
    (record / "config.txt").write_text("model.width = 8\nwriters[0] = A\n")
    return epath.Path(tmp_path)


class WandbDouble(types.ModuleType):
    """`wandb`, as far as the writer calls it."""

    def __init__(self):
        super().__init__("wandb")
        self.runs, self.lines, self.axes, self.finished = [], [], [], 0

    def init(self, **arguments):
        self.runs.append(arguments)
        return self

    def define_metric(self, name, step_metric=None):
        self.axes.append((name, step_metric))

    def log(self, values):
        self.lines.append(values)

    def finish(self):
        self.finished += 1


def test_wandb_gets_config_and_numbers_and_goes_on_with_one_run(workdir, monkeypatch):
    double = WandbDouble()
    monkeypatch.setitem(sys.modules, "wandb", double)
    writer = WeightsAndBiases(project="p", name="n", mode="offline")
    with WriterThread([writer], workdir, 0) as thread:
        thread.write(5, {"loss": 0.5, "grads": BARS})
    with WriterThread([writer], workdir, 5) as thread:
        thread.write(10, {"loss": 0.25})
    first, second = double.runs
    assert first["config"] == {"model.width": "8", "writers[0]": "A"}
    assert (first["project"], first["name"], first["mode"]) == ("p", "n", "offline")
    assert first["id"] == second["id"]
    assert first["resume"] == "allow"
    assert ("*", "step") in double.axes
    assert double.lines[0]["step"] == 5
    assert double.lines[0]["loss"] == 0.5
    assert double.lines[0]["grads/p95"] == 1.0
    assert double.finished == 2


class MlFlowDouble:
    """`MlflowClient`, as far as the writer calls it; of one store."""

    store: ClassVar[dict] = {}

    def __init__(self, tracking_uri=None):
        self.store.setdefault("uris", []).append(tracking_uri)

    def get_experiment_by_name(self, name):
        known = self.store.get("experiments", {})
        if name not in known:
            return None
        return types.SimpleNamespace(experiment_id=known[name])

    def create_experiment(self, name):
        self.store.setdefault("experiments", {})[name] = "1"
        return "1"

    def create_run(self, experiment, run_name):
        self.store.setdefault("runs", []).append((experiment, run_name))
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))

    def log_param(self, run_id, key, value):
        self.store.setdefault("params", {})[key] = value

    def update_run(self, run_id, status):
        self.store.setdefault("states", []).append(status)

    def log_metric(self, run_id, key, value, timestamp, step):
        assert timestamp > 1_600_000_000_000
        self.store.setdefault("metrics", []).append((run_id, key, value, step))

    def set_terminated(self, run_id):
        self.store.setdefault("states", []).append("FINISHED")


def test_mlflow_gets_config_and_numbers_and_goes_on_with_one_run(workdir, monkeypatch):
    double = type("MlflowClient", (MlFlowDouble,), {"store": {}})
    tracking = types.ModuleType("mlflow.tracking")
    tracking.MlflowClient = double
    monkeypatch.setitem(sys.modules, "mlflow", types.ModuleType("mlflow"))
    monkeypatch.setitem(sys.modules, "mlflow.tracking", tracking)
    writer = MlFlow(experiment="e", tracking_uri="file:store", name="n")
    with WriterThread([writer], workdir, 0) as thread:
        thread.write(5, {"loss": 0.5, "grad_norm": math.nan})
    with WriterThread([writer], workdir, 5) as thread:
        thread.write(10, {"eval/loss": 0.25})
    assert double.store == {
        "uris": ["file:store"] * 2,
        "experiments": {"e": "1"},
        "runs": [("1", "n")],
        "params": {"model.width": "8", "writers.0": "A"},
        "states": ["RUNNING", "FINISHED"] * 2,
        "metrics": [("r", "loss", 0.5, 5), ("r", "eval/loss", 0.25, 10)],
    }
