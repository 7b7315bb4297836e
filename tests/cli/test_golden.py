"""`fdlkit golden`: what is said, written and returned."""

from __future__ import annotations

import pytest

from fdlkit.cli import main as cli

TEXT = """
from __future__ import annotations
import dataclasses
import fiddle as fdl

@dataclasses.dataclass
class Layer:
    width: int = 8
    rate: float = 0.5

def base() -> fdl.Config[Layer]:
    return fdl.Config(Layer, width=16)

def other(width: int = 4) -> fdl.Config[list]:
    return fdl.Config(Layer, width=width)
"""


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "cfgs.py").write_text(TEXT)

    def run(*argv):
        code = cli.main(["golden", *argv])
        return (code, *capsys.readouterr())

    return run


def test_nothing_kept_yet_is_told_and_how_to_keep_it(call, tmp_path):
    assert call("cfgs.py:base") == (
        1,
        "cfgs.py:base is not as kept\n"
        "  there is no golden/cfgs.base.config.txt\n"
        "to accept: fdlkit golden cfgs.py:base --update\n",
        "",
    )
    assert not (tmp_path / "golden").exists()


def test_it_is_kept_and_then_holds(call, tmp_path):
    code, out, err = call("cfgs.py:base", "--update")
    assert (code, err) == (0, "")
    assert out == (
        "cfgs.py:base is kept as it is now\n  golden/cfgs.base.config.txt is new\n"
    )
    kept = (tmp_path / "golden" / "cfgs.base.config.txt").read_text().splitlines()
    assert kept[1:] == [
        "<root> = cfgs.Layer",
        "rate = 0.5  (default)",
        "width = 16",
    ]
    assert call("cfgs.py:base") == (0, "cfgs.py:base is as kept\n", "")


def test_all_targets_are_compared_and_told(call, tmp_path):
    targets = ("cfgs.py:base", "cfgs.py:other", "cfgs.py:other(width=7)")
    assert call(*targets, "--update")[0] == 0
    (tmp_path / "cfgs.py").write_text(TEXT.replace("0.5", "0.25").replace("16", "32"))
    code, out, err = call(*targets, "cfgs.py:base")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "cfgs.py:base is not as kept",
        "  golden/cfgs.base.config.txt",
        "    ~ rate: 0.5 → 0.25  (another default)",
        "    ~ width: 16 → 32",
        "cfgs.py:other is not as kept",
        "  golden/cfgs.other.config.txt",
        "    ~ rate: 0.5 → 0.25  (another default)",
        "cfgs.py:other(width=7) is not as kept",
        "  golden/cfgs.other(width=7).config.txt",
        "    ~ rate: 0.5 → 0.25  (another default)",
        "to accept: fdlkit golden cfgs.py:base cfgs.py:other "
        "'cfgs.py:other(width=7)' --update",
    ]
    code, out, _ = call(*targets, "--update")
    assert code == 0
    assert "    ~ width: 16 → 32\n" in out
    assert call(*targets)[0] == 0


def test_what_cannot_be_made_is_told_with_the_others_and_nothing_is_written(
    call, tmp_path
):
    code, out, err = call("cfgs.py:bse", "cfgs.py:base", "no.py:x", "--update")
    assert code == 2
    assert out.startswith("cfgs.py:base is not as kept\n")
    assert err.startswith("error: no config 'bse' in cfgs.py\n")
    assert "\nerror: no file no.py" in err
    assert err.endswith("so nothing was written\n")
    assert not (tmp_path / "golden").exists()


def test_another_folder(call, tmp_path):
    assert call("cfgs.py:base", "--dir=kept")[0] == 2
    (tmp_path / "kept").mkdir()
    assert call("cfgs.py:base", "--dir=kept", "--update")[0] == 0
    assert (tmp_path / "kept" / "cfgs.base.config.txt").is_file()
    code, out, _ = call("cfgs.py:other", "--dir=kept")
    assert code == 1
    assert out.endswith("to accept: fdlkit golden cfgs.py:other --update --dir=kept\n")


def test_two_targets_with_one_file_are_refused(call, tmp_path):
    assert call("cfgs.py:base", "cfgs:base", "--update")[0] == 0  # one, spelt twice
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "cfgs.py").write_text(TEXT.replace("16", "17"))
    (tmp_path / "kept").mkdir()
    targets = ("cfgs.py:base", "below/cfgs.py:base")
    code, _, err = call(*targets, "--dir=kept", "--update")
    assert code == 2
    assert "have one file, kept/cfgs.base.config.txt" in err
    assert not list((tmp_path / "kept").iterdir())
    assert call(*targets, "--update")[0] == 0


def test_json_is_compared_with_the_defaults_that_hold_now(call, tmp_path, capsys):
    assert cli.main(["show", "cfgs.py:base", "--format=json", "--out=kept.json"]) == 0
    assert call("kept.json", "--allow=cfgs", "--update")[0] == 0
    text = (tmp_path / "golden" / "kept.config.txt").read_text()
    assert "rate = 0.5  (default)\n" in text
