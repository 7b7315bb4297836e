"""The two wings do not know each other, and each leaves certain packages alone."""

from __future__ import annotations

import json
import subprocess
import sys

# Heavy, and nothing that a config is made of: only functions may import them.
ACCELERATED = ("jax", "jaxlib", "flax", "optax", "orbax", "grain")


def foreign_to_training(source):
    """Imports of Fiddle, the config wing, the hall and the face."""
    for item in source.imports:
        if item.within("fiddle") or item.wing in ("config", "hall", "face"):
            yield f"{source.path}:{item.line} imports {item.name}"


def foreign_to_config(source):
    """Imports of the training wing, the hall and the face; of JAX outside functions."""
    for item in source.imports:
        foreign = item.wing in ("training", "hall", "face")
        heavy = any(item.within(package) for package in ACCELERATED)
        if foreign or (heavy and not item.in_function):
            yield f"{source.path}:{item.line} imports {item.name}"


def private_fiddle(sources):
    """Files that import Fiddle's private modules, with the first such line."""
    return {
        source.path: item.line
        for source in sources
        for item in reversed(source.imports)
        if item.within("fiddle._src") or item.within("fiddle.absl_flags")
    }


def loaded_after(statement):
    """The modules in `sys.modules` after a statement in a new interpreter."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_training_wing_knows_no_fiddle_and_no_config_wing(training_wing):
    assert not [
        line for source in training_wing for line in foreign_to_training(source)
    ]


def test_a_trainer_that_knows_fiddle_is_caught(written):
    text = (
        "import fiddle as fdl\nfrom fiddle import tagging\nimport jax\n"
        "from fdlkit import errors\nfrom fdlkit.graph import paths\n"
        "def f():\n    from fdlkit.run import record\n"
    )
    caught = [line.split()[-1] for line in foreign_to_training(written(text))]
    assert caught == [
        "fiddle",
        "fiddle.tagging",
        "fdlkit.graph.paths",
        "fdlkit.run.record",
    ]


def test_the_config_wing_knows_no_training_wing_and_imports_no_jax(config_wing):
    assert not [line for source in config_wing for line in foreign_to_config(source)]


def test_a_config_room_that_imports_jax_is_caught(written):
    text = (
        "import jax.numpy as jnp\nfrom fdlkit.graph import paths\n"
        "def f():\n    import optax\n    from fdlkit.train import step\n"
        "try:\n    from flax import linen\nexcept ImportError:\n    pass\n"
    )
    source = written(text, "fdlkit.view.tree")
    caught = [line.split()[-1] for line in foreign_to_config(source)]
    assert caught == ["jax.numpy", "fdlkit.train.step", "flax.linen"]


def test_importing_the_config_wing_loads_no_jax(config_wing):
    statements = "\n".join(f"import {source.module}" for source in config_wing)
    loaded = loaded_after(f"import fdlkit\n{statements}")
    assert "fdlkit" in loaded
    assert not set(loaded) & set(ACCELERATED)


def test_the_command_line_starts_without_fiddle(house):
    starts = {"fdlkit", "fdlkit.cli", "fdlkit.cli.main"}
    modules = [source.module for source in house if source.module in starts]
    loaded = loaded_after("\n".join(f"import {module}" for module in modules))
    assert set(modules) <= set(loaded)
    assert not set(loaded) & {"fiddle", "libcst", "rich", "numpy", *ACCELERATED}


def test_a_loaded_jax_would_be_seen():
    assert "jax" in loaded_after("import jax")


def test_one_file_of_the_graph_touches_what_fiddle_keeps_private(house):
    files = private_fiddle(house)
    assert len(files) <= 1, files
    assert all(path.startswith("fdlkit/graph/") for path in files), files


def test_a_use_of_what_fiddle_keeps_private_is_caught(written):
    sources = [
        written("from fiddle._src import daglish\n", "fdlkit.view.tree"),
        written("import fiddle\n\nimport fiddle._src.config\n", "fdlkit.graph.a"),
        written("from fiddle import absl_flags\n", "fdlkit.cli.flags"),
        written("from fiddle import daglish\n", "fdlkit.graph.b"),
    ]
    assert private_fiddle(sources) == {
        "fdlkit/view/tree.py": 1,
        "fdlkit/graph/a.py": 3,
        "fdlkit/cli/flags.py": 1,
    }


def test_the_package_needs_nothing_that_the_wheel_leaves_behind(house):
    outside = ("experiments", "tools", "tests")
    assert not [
        f"{source.path}:{item.line} imports {item.name}"
        for source in house
        for item in source.imports
        if any(item.within(folder) for folder in outside)
    ]


def test_no_module_of_the_house_asks_for_tensorflow(house):
    # A finder that stands first sees also the attempts that are caught and forgotten.
    program = (
        "import importlib.abc\n"
        "asked = []\n"
        "class Watch(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] in ('tensorflow', 'clu'):\n"
        "            asked.append(name)\n"
        "sys.meta_path.insert(0, Watch())\n"
    )
    modules = [source.module for source in house if source.module != "fdlkit.__main__"]
    imports = "\n".join(f"import {module}" for module in modules)
    loaded = loaded_after(f"{program}{imports}\nassert not asked, asked")
    assert set(modules) <= set(loaded)
    assert "tensorflow" not in loaded
