"""The shipped experiment in both styles, as a reviewer reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

import pytest

from experiments import lm
from fdlkit.codegen.writing import Source, codegen
from tests.codegen.conftest import FOLDER

CONFIGS = {"base": lm.base, "tied": lm.tied}


def written(name: str, style: str, comments: str = "none") -> str:
    target = f"experiments/lm.py:{name}"
    command = f"fdlkit codegen {target} --style={style} --out={style}_{name}.py"
    source = Source(target, command, name)
    return codegen(CONFIGS[name](), style=style, comments=comments, source=source)


@pytest.mark.parametrize("style", ["build", "fiddle"])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_experiment_is_written_as_in_the_golden_file(name, style, golden):
    golden(f"{style}_{name}", written(name, style))


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_who_wrote_a_value_stands_beside_it_where_that_is_wanted(style, monkeypatch):
    monkeypatch.chdir(FOLDER.parents[2])
    text = written("base", style, "origin")
    line = next(
        n
        for n, x in enumerate(lm.__loader__.get_source(lm.__name__).splitlines(), 1)
        if "vocab_size=256" in x
    )
    assert f"# experiments/lm.py:{line - 2}\n" in text
    without = [x.partition("  #")[0].rstrip() for x in text.splitlines()]
    assert compile("\n".join(without), "x", "exec")


def test_ruff_finds_nothing_in_golden_files_but_missing_docstrings():
    ruff = os.path.join(sysconfig.get_path("scripts"), "ruff")
    if not os.path.exists(ruff):
        ruff = os.path.join(os.path.dirname(sys.executable), "ruff")
    rules = "--select=E,F,W,B,C4,PIE,RET,SIM,UP,N"
    command = [ruff, "check", "--isolated", "--no-cache", rules, "--line-length=88"]
    done = subprocess.run([*command, str(FOLDER)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_same_text_comes_out_of_every_process(seed):
    program = (
        "from tests.codegen.test_golden import written\n"
        "import sys\n"
        "sys.stdout.write(written('tied', 'build') + written('tied', 'fiddle'))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout == written("tied", "build") + written("tied", "fiddle")
