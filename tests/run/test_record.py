"""What a run keeps of itself is enough to know what it was."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import fdlkit
from fdlkit.run.record import git_state, make_record
from fdlkit.train.checkpoints import CheckpointPolicy, Checkpoints
from tests.train.toys import make_trainer


def test_the_record_holds_config_command_environment_and_git_state():
    cfg = fdlkit.load("experiments/lm.py:tiny")
    record = make_record(
        fdlkit.dumps(cfg), "seed = 0\n", target="lm.py:tiny", argv=("train", "x")
    )
    assert fdlkit.equal(fdlkit.loads(record["config.json"]), cfg)
    assert json.loads(record["command.json"])["argv"] == ["train", "x"]
    environment = json.loads(record["environment.json"])
    assert environment["packages"]["jax"].startswith("0.")
    assert json.loads(record["git.json"]) == git_state(Path.cwd())


def test_secrets_in_the_environment_are_not_kept(monkeypatch):
    monkeypatch.setenv("MY_API_TOKEN", "do not keep this")
    monkeypatch.setenv("JAX_LOG_COMPILES", "0")
    record = make_record("{}", "", target="t", argv=())
    assert "do not keep this" not in record["environment.json"]
    assert "JAX_LOG_COMPILES" in record["environment.json"]


def test_git_state_names_commit_and_changes(tmp_path):
    def git(*arguments: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            ["git", "-C", str(tmp_path), *author, *arguments],
            check=True,
            capture_output=True,
        )

    assert git_state(tmp_path) == {}
    git("init", "-q")
    (tmp_path / "a.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "-qm", "first")
    clean = git_state(tmp_path)
    assert clean["changed"] == []
    (tmp_path / "a.py").write_text("x = 2\n")
    changed = git_state(tmp_path)
    assert changed["commit"] == clean["commit"]
    assert changed["changed"] == [" M a.py"]
    assert "+x = 2" in changed["diff"]


def test_the_record_is_in_the_workdir_and_in_every_checkpoint(tmp_path: Path):
    make_trainer(num_train_steps=2).train(tmp_path, {"config.json": '{"a": 1}'})
    assert (tmp_path / "record" / "config.json").read_text() == '{"a": 1}'
    with Checkpoints(tmp_path / "checkpoints", CheckpointPolicy()) as checkpoints:
        assert checkpoints.record(2) == {"config.json": '{"a": 1}'}
