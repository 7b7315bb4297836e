"""Files that mean harm: each is refused with its place, and brings nothing in.

Each file of `hostile/` is loaded in a process of its own, forked from one that has
loaded what reading needs and nothing that a file can name.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from fdlkit.cli import main as cli

FOLDER = pathlib.Path(__file__).with_name("hostile")

LENDER = "tests.serialize.lender"

# For each file the path that is told, and words that must stand behind it.
CASES: dict[str, tuple[str, str]] = {
    "argument_twice": ("model[0]", "has argument 0 twice"),
    "array_of_endless_axes": ("model.loss", "an array of 0 bytes, which is not what"),
    "array_of_objects": ("model.loss", "unknown dtype, 'object'"),
    "array_too_long": ("model.loss", "an array of 8 bytes, which is not what"),
    "array_too_short": ("model.loss", "an array of 3 bytes, which is not what"),
    "array_with_a_negative_axis": ("model.loss", "which is no array"),
    "builtins_eval": ("model.loss", "builtins:eval is not allowed"),
    "builtins_exec": ("model.loss", "builtins:exec is not allowed"),
    "builtins_import": ("model.loss", "builtins:__import__ is not allowed"),
    "builtins_open": ("model.loss", "builtins:open is not allowed"),
    "circle": ("model.loss", "holds node 0, which is not before it"),
    "default_factory": ("model.loss", "os:getcwd is not allowed"),
    "dict_key_twice": ("model.loss[1]", "has the key True twice"),
    "dunder_globals": ("model.loss", "make.__globals__ is not allowed"),
    "dunder_of_a_class": ("model.loss", "dict.__class__ is not allowed"),
    "dunder_of_allowed": ("model.loss", "__builtins__ is not allowed"),
    "enum_of_system": ("model.loss", "os:system is not allowed"),
    "fiddle_circle": ("model.loss.x", "contains itself"),
    "fiddle_endless_metadata": ("model.loss", "metadata of too many levels"),
    "fiddle_metadata_bomb": ("model.loss.x", "metadata of too many parts"),
    "fiddle_missing_object": ("model.loss.x", "there is no object 'nowhere'"),
    "fiddle_os_system": ("model.loss", "os:system is not allowed"),
    "fiddle_symbol_of_system": ("model.loss.x", "os:system is not allowed"),
    "fiddle_type_popen": ("model.loss", "subprocess:Popen is not allowed"),
    "fiddle_unknown_type": ("model.loss", "os.environ, which has no form here"),
    "fiddle_version": ("", "it is Fiddle's JSON of version '9'"),
    "flax_rmtree": ("model.loss", "flax.io:rmtree is not allowed"),
    "forward_link": ("model.loss", "holds node 1, which is not before it"),
    "fraction_bomb": ("model.loss", "it takes two ints"),
    "functools_partial": ("model.loss", "functools:partial is not allowed"),
    "hash_bomb": ("model.loss[0]", "holds too much to be hashed"),
    "huge_int": ("", "a number in it has more digits than Python reads"),
    "huge_node": ("model.loss", "which is not before it"),
    "huge_position": ("model.loss", "by position, but not 0"),
    "infinity": ("model.loss", "-Infinity where a value belongs"),
    "jax_pure_callback": ("model.loss", "jax:pure_callback is not allowed"),
    "key_of_system": ("model.loss[os.system]", "os:system is not allowed"),
    "lent_function": ("model.loss", f"{LENDER}.system is not defined there"),
    "lent_module": ("model.loss", f"{LENDER}.os is a module"),
    "method_of_a_class": ("model.loss", "builtins:bytes.fromhex is not allowed"),
    "missing_node": ("model.loss", "holds node 7, which is not before it"),
    "module_of_a_module": ("model.loss", "optax.jax:pure_callback is not allowed"),
    "module_that_is_built": ("model.loss", "flax.linen.Dense is no dataclass"),
    "nan": ("model.loss", "NaN where a value belongs"),
    "negative_position": ("model[-1]", "an argument at the position -1"),
    "never_imported": ("model.loss", "antigravity:fly is not allowed"),
    "no_schema": ("", "it has no schema"),
    "numpy_memmap": ("model.loss", "numpy:memmap is not allowed"),
    "numpy_runstring": ("model.loss", "numpy.testing:runstring is not allowed"),
    "numpy_save": ("model.loss", "numpy:save is not allowed"),
    "object_key_twice": ("", "an object names 'callable' twice"),
    "os_system": ("model.loss", "os:system is not allowed"),
    "own_module": ("model.loss", "fdlkit.data.corpus.os is no class"),
    "own_private_name": ("model.loss", "fdlkit.nn.mlp:_hidden is not allowed"),
    "partial_in_a_partial": ("model.loss", "builtins:eval is not allowed"),
    "partial_of_system": ("model.loss", "os:system is not allowed"),
    "pickle_loads": ("model.loss", "pickle:loads is not allowed"),
    "private_name": ("model.loss", "optax._src.alias:adamw is not allowed"),
    "subprocess_popen": ("model.loss", "subprocess:Popen is not allowed"),
    "subprocess_run": ("model.loss", "subprocess:run is not allowed"),
    "symbol_of_system": ("model.loss", "os:system is not allowed"),
    "tag_of_system": ("model.loss", "os:system is not allowed"),
    "tags_twice": ("model", "has tags on 'loss' twice"),
    "through_linen": ("model.loss", "flax.linen.module:os.system is not allowed"),
    "through_optax": ("model.loss", "optax:jax.pure_callback is not allowed"),
    "tuple_of_system": ("model.loss", "subprocess:Popen is not allowed"),
    "type_of_system": ("model.loss", "os:system is not allowed"),
    "value_of_many_levels": ("model.loss", "a value of too many levels"),
    "value_of_popen": ("model.loss", "subprocess:Popen is not allowed"),
    "wrong_schema": ("", "its schema is 'fdlkit.config/2'"),
}

# What a file may bring in: the modules that its names are looked for in.
MAY_IMPORT = {
    "huge_position": LENDER,
    "lent_function": LENDER,
    "lent_module": LENDER,
    "module_that_is_built": "flax",
    "own_module": "fdlkit.data",
}

# Loads each file in a fork, and tells what was said and what came into `sys.modules`.
PROGRAM = """
import json, os, pathlib, sys
from fdlkit.errors import UserError
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read

def refused(step, text):
    try:
        step(text)
    except UserError as error:
        return list(error.lines)

def said(text):
    before = set(sys.modules)
    at_reading = refused(read, text)
    after_reading = sorted(set(sys.modules) - before)
    lines = refused(lambda text: loads(text, allow=[sys.argv[2]]), text)
    return {
        "lines": lines, "read": after_reading, "at_reading": at_reading,
        "loaded": sorted(set(sys.modules) - before),
    }

found = {}
texts = {p.stem: p.read_text() for p in pathlib.Path(sys.argv[1]).glob("*.json")}
texts["of_100_000_levels"] = "[" * 100_000
for name, text in texts.items():
    ours, theirs = os.pipe()
    if os.fork() == 0:
        with open(theirs, "w") as out:
            json.dump(said(text), out)
        os._exit(0)
    os.close(theirs)
    with open(ours) as told:
        found[name] = json.load(told)
    os.wait()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What is said of each file, by its name."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FOLDER), LENDER],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_a_hostile_file_is_refused_with_its_place_and_brings_nothing_in(told, name):
    path, words = CASES[name]
    lines, brought = told[name]["lines"], told[name]["loaded"]
    assert lines[0] in ("this JSON is not a config", "this JSON cannot be loaded")
    assert lines[1].startswith(f"  {path}: " if path else "  ") and words in lines[1]
    assert told[name]["read"] == []
    if name in MAY_IMPORT:
        assert MAY_IMPORT[name] in brought
    else:
        assert brought == []


def test_a_text_of_100_000_levels_is_refused(told):
    assert told["of_100_000_levels"] == {
        "lines": ["this JSON is nested too deeply to be a config"],
        "at_reading": ["this JSON is nested too deeply to be a config"],
        "read": [],
        "loaded": [],
    }


def test_there_is_a_file_for_every_case():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(CASES)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_refused_as_json_not_as_python(
    encoding, tmp_path, capsys
):
    path = tmp_path / "cfg.json"
    path.write_bytes('{"schema": "ü"}'.encode(encoding))
    assert cli.main(["show", str(path)]) == 2
    said = capsys.readouterr().err
    assert said == f"error: {path} is not UTF-8, which JSON is written in\n"
