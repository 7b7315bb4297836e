"""`fdlkit.testing.check_golden`, as it is used in other people's tests."""

from __future__ import annotations

import os
import subprocess
import sys

import fiddle as fdl
import pytest

from fdlkit import testing

FILE = """
import fiddle as fdl
def base() -> fdl.Config[dict]:
    return fdl.Config(dict, x=1)
"""

TEST = """
from fdlkit.testing import check_golden
def test_base_is_as_kept():
    check_golden("cfgs.py:base")
"""


@pytest.fixture(autouse=True)
def no_switch(monkeypatch):
    monkeypatch.delenv(testing.UPDATE, raising=False)


def config(x):
    return fdl.Config(dict, x=x)


def test_the_message_is_the_difference(tmp_path):
    path = tmp_path / "mine"
    testing.check_golden(config(1), path, update=True)
    testing.check_golden(config(1), path)
    with pytest.raises(AssertionError) as failed:
        testing.check_golden(config(2), path)
    assert str(failed.value).splitlines() == [
        f"{path} is not as kept",
        f"  {path}.config.txt",
        "    ~ x: 1 → 2",
        "  to accept: FDLKIT_UPDATE_GOLDEN=1 pytest ...",
    ]


def test_what_is_not_kept_yet_fails_too(tmp_path):
    with pytest.raises(AssertionError, match=r"there is no .*mine\.config\.txt"):
        testing.check_golden(config(1), tmp_path / "mine")


@pytest.mark.parametrize(("value", "writes"), [("1", True), ("0", False), ("", False)])
def test_the_environment_has_it_written(value, writes, tmp_path, monkeypatch):
    monkeypatch.setenv(testing.UPDATE, value)
    if writes:
        testing.check_golden(config(1), tmp_path / "mine")
    else:
        with pytest.raises(AssertionError):
            testing.check_golden(config(1), tmp_path / "mine")
    assert (tmp_path / "mine.config.txt").exists() == writes


def test_a_config_needs_a_path():
    with pytest.raises(TypeError, match="needs a path"):
        testing.check_golden(config(1))


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_suite_of_ones_own_has_a_switch_for_it(tmp_path):
    (tmp_path / "cfgs.py").write_text(FILE)
    (tmp_path / "test_cfgs.py").write_text(TEST)
    done = run(tmp_path)
    assert done.returncode == 1
    assert "E       AssertionError: cfgs.py:base is not as kept" in done.stdout
    plugin = ("-p", "fdlkit.testing")
    done = run(tmp_path, *plugin, "--fdlkit-update-golden")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "golden" / "cfgs.base.config.txt").is_file()
    (tmp_path / "cfgs.py").write_text(FILE.replace("x=1", "x=2"))
    done = run(tmp_path, *plugin)
    assert done.returncode == 1
    assert "~ x: 1 → 2" in done.stdout
