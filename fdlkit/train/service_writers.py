"""Writers to services that keep runs: Weights & Biases and MLflow.

Each is an extra, refused before a run where its package is not installed. A run that
is stopped and goes on is one run there too: its id is kept in the workdir.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import re
import secrets
import time
from collections.abc import Iterator
from typing import Any, Literal

from etils import epath

from fdlkit.errors import MissingPackageError
from fdlkit.train.histograms import Bars
from fdlkit.train.writers import Sink, Values, Writer, config_leaves


def scalars(values: Values) -> Iterator[tuple[str, float]]:
    """Plain numbers by name; of a histogram what sums it up."""
    for name, value in values.items():
        if isinstance(value, Bars):
            yield from ((f"{name}/{k}", v) for k, v in value.summary().items())
        else:
            yield name, value


def kept_id(workdir: epath.Path, name: str, new: str) -> str:
    """The id that a workdir keeps in a file; `new`, which is kept now, at first."""
    path = workdir / name
    if not path.exists():
        beside = workdir / f".{name}.new"
        beside.write_text(new)
        beside.replace(path)
    return path.read_text()


@dataclasses.dataclass(frozen=True, kw_only=True)
class WeightsAndBiases(Writer):
    """A run of Weights & Biases; its config is the run's, a leaf a line.

    Steps that are run again after a stop are logged again: the axis is the number
    `step` that is logged with each, since W&B's own can only go up.

    Attributes:
      project: The project.
      name: The run's name; None: the workdir's last part.
      mode: `online`, or `offline`: files in the workdir for `wandb sync`.
    """

    project: str
    name: str | None = None
    mode: Literal["online", "offline"] = "online"

    def check(self) -> None:
        """Refuses a machine without the package.

        Raises:
          MissingPackageError: `wandb` is not installed.
        """
        if importlib.util.find_spec("wandb") is None:
            raise MissingPackageError("the writer WeightsAndBiases", "wandb", "wandb")

    def open(self, workdir: epath.Path, step: int) -> Sink:
        """Begins the run, or goes on with the one that the workdir names."""
        del step  # what is logged again stands beside what was logged
        import wandb  # an extra

        run = wandb.init(
            project=self.project,
            name=self.name or workdir.name,
            id=kept_id(workdir, "wandb_id.txt", secrets.token_hex(8)),
            resume="allow",
            config=config_leaves(workdir),
            dir=str(workdir),
            mode=self.mode,
        )
        run.define_metric("step")
        run.define_metric("*", step_metric="step")
        return _WandbSink(run)


class _WandbSink:
    def __init__(self, run: Any):
        self._run = run

    def write(self, step: int, values: Values) -> None:
        self._run.log({"step": step, **dict(scalars(values))})

    def flush(self) -> None:
        """Nothing: a process of the package's own keeps what it was handed."""

    def close(self) -> None:
        self._run.finish()


@dataclasses.dataclass(frozen=True, kw_only=True)
class MlFlow(Writer):
    """A run of MLflow; its parameters are the config's leaves.

    Attributes:
      experiment: The experiment's name.
      tracking_uri: Where the server or the store is; None: what the package takes,
        `MLFLOW_TRACKING_URI` above all. From MLflow 3 on a store of plain files is
        refused unless `MLFLOW_ALLOW_FILE_STORE=true` is in the environment.
      name: The run's name; None: the workdir's last part.
    """

    experiment: str
    tracking_uri: str | None = None
    name: str | None = None

    def check(self) -> None:
        """Refuses a machine without the package.

        Raises:
          MissingPackageError: `mlflow` is not installed.
        """
        if importlib.util.find_spec("mlflow") is None:
            raise MissingPackageError("the writer MlFlow", "mlflow-skinny", "mlflow")

    def open(self, workdir: epath.Path, step: int) -> Sink:
        """Begins the run, or goes on with the one that the workdir names."""
        del step  # MLflow keeps both values of a step that is run again
        from mlflow.tracking import MlflowClient  # an extra

        client = MlflowClient(tracking_uri=self.tracking_uri)
        path = workdir / "mlflow_id.txt"
        if not path.exists():
            known = client.get_experiment_by_name(self.experiment)
            experiment = (
                client.create_experiment(self.experiment)
                if known is None
                else known.experiment_id
            )
            run = client.create_run(experiment, run_name=self.name or workdir.name)
            kept_id(workdir, path.name, run.info.run_id)
            for name, text in config_leaves(workdir).items():
                client.log_param(run.info.run_id, plain_name(name), text[:500])
        run_id = path.read_text()
        client.update_run(run_id, status="RUNNING")
        return _MlFlowSink(client, run_id)


class _MlFlowSink:
    def __init__(self, client: Any, run_id: str):
        self._client = client
        self._run_id = run_id

    def write(self, step: int, values: Values) -> None:
        now = time.time_ns() // 1_000_000
        for name, value in scalars(values):
            if math.isfinite(value):  # a store of files keeps no other
                self._client.log_metric(
                    self._run_id, plain_name(name), value, timestamp=now, step=step
                )

    def flush(self) -> None:
        """Nothing: each number is with the server when `write` returns."""

    def close(self) -> None:
        self._client.set_terminated(self._run_id)


def plain_name(name: str) -> str:
    """A name in the letters that MLflow takes: `writers[0]` as `writers.0`."""
    return re.sub(r"[^\w\-./ ]", "", re.sub(r"\[['\"]?", ".", name))
