"""What `show` and `train` say of a config that would go wrong in silence."""

from __future__ import annotations

import pytest

from fdlkit.cli.main import main

CONFIGS = """
import fiddle as fdl
import flax.linen as nn
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, width: int, *, rate: float = 0.1):
        self.width = width


def make(model, optimizer=None):
    return model


def built() -> fdl.Config:
    return fdl.Config(make, model=nn.Dense(3), optimizer=optax.sgd(0.1))


def typo() -> fdl.Config:
    return fdl.Config(make, model=fdl.Config(Net, widht=3))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trap_configs.py"
    path.write_text(CONFIGS)
    return path


def test_built_objects_are_shown_and_marked(file, capsys):
    assert main(["show", f"{file}:built"]) == 0
    out, err = capsys.readouterr()
    assert out.count("  (a built object)") == 2 and not err


def test_built_objects_are_kept_out_of_json(file, capsys):
    assert main(["show", f"{file}:built", "--format=json"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("error: 2 values of this config cannot be kept in JSON\n")
    assert "    write fdl.Config(flax.linen.Dense, features=3)\n" in err


def test_training_with_built_objects_is_refused_and_writes_nothing(
    file, tmp_path, capsys
):
    workdir = tmp_path / "run"
    assert main(["train", f"{file}:built", f"--workdir={workdir}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: 2 built objects are in this config\n")
    assert "trap_configs.py:18" in err
    assert not workdir.exists()


def test_an_nnx_typo_in_the_file_is_refused_with_its_line(file, tmp_path, capsys):
    workdir = tmp_path / "run"
    assert main(["train", f"{file}:typo", f"--workdir={workdir}"]) == 2
    err = capsys.readouterr().err
    assert "error: no parameter 'widht' at model (trap_configs.Net)" in err
    assert "trap_configs.py:22" in err and "did you mean 'width'?" in err
    assert not workdir.exists()


def test_an_nnx_typo_on_the_command_line_is_refused(file, capsys):
    assert main(["show", f"{file}:typo", "--fdl_set=model.rat=1"]) == 2
    err = capsys.readouterr().err
    assert "did you mean 'rate'?" in err and "parameters: width, rate" in err
