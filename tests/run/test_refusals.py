"""What cannot run is refused in a few lines, exit 2, with nothing written or lost."""

from __future__ import annotations

import os
from pathlib import Path

import fiddle as fdl
import pytest
from etils import epath

import fdlkit
from fdlkit.data.corpus import TextFiles
from fdlkit.errors import UserError
from fdlkit.graph.snapshot import snapshot
from fdlkit.run import launch, workdir
from fdlkit.train.stop import Stop


@pytest.fixture(autouse=True)
def without_cache(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")


def config(**changes):
    """`lm.py:tiny` with some values set by path."""
    cfg = fdlkit.load("experiments/lm.py:tiny")
    for path, value in changes.items():
        *above, last = path.split("__")
        node = cfg
        for name in above:
            node = getattr(node, name)
        setattr(node, last, value)
    return cfg


def refuse(cfg, directory: Path, **options) -> tuple[str, ...]:
    """The lines of the refusal."""
    with pytest.raises(UserError) as caught:
        launch.train(
            cfg,
            target="experiments/lm.py:tiny",
            argv=("train",),
            directory=str(directory),
            stop=Stop(),
            **options,
        )
    assert caught.value.exit_code == 2
    return caught.value.lines


def test_a_glob_without_files_is_named_before_anything_is_written(tmp_path):
    cfg = config()
    for data, split in ((cfg.train_data, "train"), (cfg.eval_data, "eval")):
        data.source.corpus = fdl.Config(
            TextFiles, glob=str(tmp_path / "*.txt"), split=split
        )
    lines = refuse(cfg, tmp_path / "run")
    assert str(tmp_path / "*.txt") in " ".join(lines)
    assert not (tmp_path / "run").exists()


def test_a_workdir_of_another_config_says_what_differs_and_is_left_alone(tmp_path):
    record = tmp_path / "record"
    record.mkdir()
    (record / "config.json").write_text(fdlkit.dumps(config(seed=1)))
    before = (record / "config.json").read_bytes()
    lines = refuse(config(model__hidden=64), tmp_path)
    assert lines[0] == f"{tmp_path} holds a run of another config"
    assert "  model.hidden: 32 there, 64 now" in lines
    assert "  seed: 1 there, 0 now" in lines
    assert "--fresh" in lines[-1]
    assert (record / "config.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["record"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mesh__ici__fsdp": 2},
        {"log_every": 7},
        {"eval_every": None},
        {"checkpoints__every": 3},
        {"writers": []},
        {"num_train_steps": 80},
    ],
)
def test_what_leaves_the_numbers_alone_may_differ(changes, tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "config.json").write_text(fdlkit.dumps(config()))
    found = workdir.changes_since(tmp_path, snapshot(config(**changes)))
    assert len(found) == 1
    workdir.refuse_another_run(tmp_path, found)


def test_fewer_steps_are_another_run(tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "config.json").write_text(fdlkit.dumps(config()))
    found = workdir.changes_since(tmp_path, snapshot(config(num_train_steps=20)))
    with pytest.raises(UserError, match="another config"):
        workdir.refuse_another_run(tmp_path, found)


def test_more_steps_say_from_where_the_schedule_changes(tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "config.json").write_text(fdlkit.dumps(config()))
    graph = snapshot(config(num_train_steps=80))
    said = workdir.notes(workdir.changes_since(tmp_path, graph), graph)
    assert said[0] == "num_train_steps: 40 before, 80 now"
    assert said[1].startswith(
        "what follows num_train_steps changes its curve from step 40"
    )
    assert "decay_steps" in said[1]


def test_fresh_throws_the_old_run_away_and_nothing_else(tmp_path):
    for name in ("checkpoints", "record", "tensorboard"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("old")
    (tmp_path / "metrics.jsonl").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    workdir.clear(epath.Path(tmp_path))
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_mesh_that_the_devices_do_not_fill_is_named(tmp_path):
    lines = refuse(
        config(train_data__batch_size=7, mesh__ici__data=1, mesh__ici__fsdp=2),
        tmp_path / "run",
    )
    assert lines[0].startswith("mesh.ici (fsdp=2) does not fit: 2 is not the 1 devices")
    assert not (tmp_path / "run").exists()


def test_a_config_that_is_no_experiment_is_refused(tmp_path):
    lines = refuse(config().loss, tmp_path / "run")
    assert lines == (
        "experiments/lm.py:tiny builds a CrossEntropy, not an experiment",
        "fdlkit train takes a config of fdlkit.train.trainer.Trainer",
    )


def test_a_key_path_that_leads_nowhere_is_named_with_what_is_there(tmp_path):
    lines = refuse(config(inputs={"tokens": "batch.token"}), tmp_path / "run")
    assert lines[0] == (
        "inputs.tokens='batch.token' leads nowhere: no 'token' at batch"
    )
    assert lines[1] == "did you mean 'batch.tokens'?"
    assert lines[2] == "available at batch: tokens, labels"


def test_a_loss_whose_labels_are_misspelt_is_refused(tmp_path):
    cfg = config()
    cfg.loss.labels = "batch.lables"
    assert refuse(cfg, tmp_path / "run")[1] == "did you mean 'batch.labels'?"


def test_a_module_inside_and_outside_a_repeated_template_is_refused(tmp_path):
    cfg = config()
    cfg.model.layers.block.mlp = cfg.model.embed
    lines = " ".join(refuse(cfg, tmp_path / "run"))
    assert "model.embed" in lines
    assert "model.layers.block.mlp" in lines


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    assert "cannot be written" in refuse(config(), tmp_path / "run")[0]


def test_a_file_in_the_way_of_the_workdir_is_refused(tmp_path):
    (tmp_path / "run").write_text("mine")
    lines = refuse(config(), tmp_path / "run")
    assert "cannot" in lines[0]
    assert (tmp_path / "run").read_text() == "mine"


def test_a_dry_run_checks_and_writes_nothing(tmp_path, capsys):
    code = launch.train(
        config(),
        target="experiments/lm.py:tiny",
        argv=("train",),
        directory=str(tmp_path / "run"),
        stop=Stop(),
        dry_run=True,
    )
    assert code == 0
    assert "nothing was run or written" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_fresh_keeps_the_old_run_when_the_new_one_cannot_begin(tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "config.json").write_text("old")
    cfg = config(train_data__num_epochs=1, num_train_steps=10**9)
    lines = refuse(cfg, tmp_path, fresh=True)
    assert lines[0].startswith("the training data ends after ")
    assert (tmp_path / "record" / "config.json").read_text() == "old"


@pytest.mark.parametrize("text", ["{", '{"schema": "fdlkit.config/99"}'])
def test_a_record_that_cannot_be_read_is_named_with_a_way_out(text, tmp_path):
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "config.json").write_text(text)
    lines = refuse(config(), tmp_path)
    assert str(tmp_path / "record" / "config.json") in lines[0]
    assert "--fresh" in lines[-1]


def test_a_second_run_in_a_workdir_is_refused_while_the_first_goes_on(tmp_path):
    with workdir.held(epath.Path(tmp_path)):
        lines = refuse(config(), tmp_path)
    assert lines[0] == f"a run is going on in {tmp_path}"
    with workdir.held(epath.Path(tmp_path)):
        pass


def test_fresh_does_not_follow_links(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("old")
    (tmp_path / "run" / "tensorboard").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link"):
        workdir.clear(epath.Path(tmp_path / "run"))
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == "old"


def test_an_object_store_without_its_package_is_refused(tmp_path):
    assert "cannot be used" in refuse(config(), "s3://bucket/run")[0]
