"""`fdlkit train` hands a run's parts on as they were given."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.cli.main import main

CONFIG = """
import fiddle as fdl

def base() -> fdl.Config[dict]:
    return fdl.Config(dict, steps=1)
"""


@pytest.fixture
def launched(monkeypatch):
    """What the run room was called with; it is not run."""
    calls = []

    def launch(cfg, **options):
        calls.append((cfg, options))
        return 75

    from fdlkit.run import launch as room

    monkeypatch.setattr(room, "train", launch)
    return calls


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "train_config.py"
    path.write_text(CONFIG)
    return f"{path}:base"


def test_config_flags_and_command_line_are_handed_on(launched, target):
    argv = ["train", target, "--workdir=w", "--fresh", "--fdl_set=steps=2"]
    assert main(argv) == 75
    ((cfg, options),) = launched
    assert cfg == fdl.Config(dict, steps=2)
    assert options["target"] == target
    assert list(options["argv"]) == argv
    assert options["directory"] == "w"
    assert options["fresh"] is True
    assert options["dry_run"] is False
    assert options["distributed"] is None
    assert options["stop"].signal is None


def test_a_process_among_several_knows_its_place(launched, target):
    flags = ["--coordinator=h:1", "--num_processes=2", "--process_id=0"]
    main(["train", target, "--workdir=w", *flags])
    distributed = launched[0][1]["distributed"]
    assert distributed.coordinator == "h:1"
    assert (distributed.num_processes, distributed.process_id) == (2, 0)


def test_what_is_refused_is_refused_before_anything_is_run(launched, target, capsys):
    assert main(["train", target, "--workdir=w", "--fdl_set=steps.x=2"]) == 2
    assert main(["train", target, "--workdir="]) == 2
    assert main(["train", target, "--workdir=w", "--process_id=3"]) == 2
    assert launched == []
