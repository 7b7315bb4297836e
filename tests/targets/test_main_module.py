"""What a script defines is named by its file; what a notebook does cannot be."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import fdlkit
from fdlkit.errors import UserError
from fdlkit.graph import module_names
from fdlkit.targets.loading import load

ROOT = pathlib.Path(__file__).parents[2]

SCRIPT = """
import fiddle as fdl


class Model:
    def __init__(self, size: int = 1):
        self.size = size


def base():
    return fdl.Config(Model, size=3)


if __name__ == "__main__":
    import sys
    import fdlkit

    cfg = base()
    text = fdlkit.dumps(cfg)
    name = sys.argv[1]
    again = fdlkit.loads(text, allow=[name])
    print(text)
    assert name in text
    assert "__main__" not in text
    assert fdlkit.equal(cfg, again)
    assert isinstance(fdlkit.build(again), Model)
    own = fdlkit.load(__file__ + ":base")
    assert isinstance(fdlkit.build(own), Model)
    assert name not in sys.modules or __package__
"""


def run(*command, folder):
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_script_is_named_by_its_file(write, monkeypatch):
    path = write("own_script.py", SCRIPT)
    done = run(path, "own_script", folder="/")
    assert done.returncode == 0, done.stderr
    # Any other program can load it.
    kept = path.parent / "kept.json"
    kept.write_text(done.stdout)
    monkeypatch.chdir(path.parent)
    assert load(str(kept), allow=["own_script"]) is not None


def test_a_module_that_is_run_is_named_by_its_dotted_name(write):
    path = write("own_package/train.py", SCRIPT)
    write("own_package/__init__.py", "")
    folder = path.parent.parent
    done = run("-m", "own_package.train", "own_package.train", folder=folder)
    assert done.returncode == 0, done.stderr
    done = run(path, "own_package.train", folder="/")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["my-script.py", "json.py"])
def test_a_script_that_cannot_be_imported_is_refused_with_the_remedy(write, name):
    program = (
        "import sys; sys.path.pop(0)\n"  # or `json.py` would stand before Python's own
        "import fiddle as fdl\nimport fdlkit\nfrom fdlkit.errors import UserError\n"
        "def make(): ...\n"
        "try: fdlkit.dumps(fdl.Config(make))\n"
        "except UserError as error: print(error)\n"
    )
    path = write(name, program)
    done = run(path, folder=path.parent)
    assert (
        f"make, which only the running program has (__main__)\n    no other program "
        f"can import {name}; move it into a file that can be imported"
    ) in done.stdout, done.stderr


NOTEBOOK = """
import types, sys
cell = types.ModuleType("__main__")  # as IPython puts it in place of the program's own
sys.modules["__main__"] = cell
exec('''
import fiddle as fdl
import fdlkit


class Model:
    def __init__(self, size: int = 1):
        self.size = size


cfg = fdl.Config(Model, size=3)
''', cell.__dict__)
import fdlkit
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override, apply
from fdlkit.view import tree

changed, _ = apply(cell.cfg, [Override("set", "size=5")], cell)
print(fdlkit.build(changed).size)
print(tree.render(tree.tree(snapshot(changed))))
fdlkit.dumps(cell.cfg)
"""


def test_a_notebooks_classes_work_until_they_must_be_named():
    done = run("-c", NOTEBOOK, folder="/")
    assert done.stdout.splitlines()[0] == "5"
    assert "size" in done.stdout
    assert done.stderr.splitlines()[-3:] == [
        "fdlkit.errors.UserError: a value of this config cannot be kept in JSON",
        "  <root>: Model, which only the running program has (__main__)",
        "    a notebook or an interactive session; move it into a .py file and import "
        "it from there",
    ]


def test_a_test_runner_is_no_one_elses_main():
    # Whatever runs these tests, a class here is named by its own module.
    assert __name__ != "__main__"
    assert module_names.main_name() != __name__


def test_a_name_that_is_not_there_is_told_as_before(write):
    path = write("own_script.py", SCRIPT)
    with pytest.raises(UserError, match="not allowed"):
        fdlkit.loads(fdlkit.dumps(load(f"{path}:base")))
