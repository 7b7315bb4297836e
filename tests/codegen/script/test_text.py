"""What a script looks like: read as text, compared with what is carried."""

from __future__ import annotations

import ast
import difflib
import pathlib
import re
import subprocess
import sys

import pytest

from fdlkit.codegen import formatting
from fdlkit.codegen.carry import modules
from tests.codegen.script.conftest import ROOT, written

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "train_lm.py"


def lines_of(text, name):
    """How many lines a definition of the text has."""
    node = next(n for n in ast.parse(text).body if getattr(n, "name", "") == name)
    return node.end_lineno - node.lineno + 1


def dead_definitions(text, folder):
    """What vulture finds to be of no use; `setup` is called by Flax."""
    file = folder / "script.py"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "vulture", file, "--ignore-names=setup"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr  # 3: it has found something
    return done.stdout.splitlines()


@pytest.mark.golden
def test_a_reviewer_reads_the_golden_copy(base, request):
    text = re.sub(r"Written for .*?\n\n", "Written for …\n\n", base.text, flags=re.S)
    if request.config.getoption("--update-golden"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
        return
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_script_is_little_more_than_what_it_carries(base):
    assert base.text.count("\n") <= 1.3 * base.carried.num_lines


def test_experiment_and_main_are_short(base):
    own = lines_of(base.text, "experiment") + lines_of(base.text, "main")
    assert own <= 120


def test_a_script_imports_neither_fiddle_nor_fdlkit(base):
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(base.text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    outside = imported - sys.stdlib_module_names
    assert outside <= {"jax", "flax", "optax", "orbax", "grain", "etils", "numpy"}


def test_no_definition_is_dead(base, tmp_path):
    assert not dead_definitions(base.text, tmp_path)


def test_a_dead_definition_would_be_seen(tmp_path):
    text = "import os\nclass C:\n    def g(self): pass\nC()\n"
    assert len(dead_definitions(text, tmp_path)) == 2


def test_ruff_finds_nothing_to_mend(base):
    select = "--select=E,F,W,I,A,B,BLE,C4,FLY,PIE,PERF,PLC,PLE,RET,SIM,UP"
    # A loop may read better than a comprehension, and late imports are on purpose.
    ignore = "--ignore=PERF401,PLC0415,E741"
    for how in (["check", select, ignore], ["format", "--check"]):
        command = [formatting.ruff(), *how, "--isolated", "--no-cache"]
        done = subprocess.run(
            [*command, "--stdin-filename=train_lm.py", "-"],
            input=base.text.encode(),
            capture_output=True,
        )
        assert done.returncode == 0, done.stdout.decode()


def test_the_head_says_where_it_comes_from(base):
    head = ast.get_docstring(ast.parse(base.text))
    assert head.startswith("About a million parameters")
    assert "python train_lm.py --workdir=runs/first" in head
    assert "fdlkit codegen experiments/lm.py:base --out=train_lm.py" in head
    assert "jax 0." in head and "writers" in head


def test_references_are_expressions(base):
    assert "num_train_steps: int = 1500" in base.text
    assert "warmup_steps=num_train_steps // 20" in base.text
    assert "width=hidden * 4" in base.text
    assert base.text.count("hidden = 128") == 1


def test_tied_nodes_are_one_variable(in_root):
    text = written("experiments/lm.py:tied").text
    assert "embed = Embed(vocab_size=vocab_size, features=hidden)" in text
    assert "embed=embed,\n" in text and "output=embed,\n" in text


def test_the_text_is_the_same_every_time(base, in_root):
    written.cache_clear()
    assert written("experiments/lm.py:base").text == base.text


@pytest.mark.parametrize(
    ("module", "line", "changed"),
    [
        (
            "fdlkit.train.step",
            "newly = done.failed & (window",
            "newly = ~done.failed & (window",
        ),
        (
            "fdlkit.train.losses",
            "return total / jnp.where(over > 0, over, 1.0)",
            "return total / jnp.where(over > 0, over, 2.0)",
        ),
        (
            "fdlkit.nn.mlp",
            "return jax.nn.gelu(x, approximate=True)",
            "return jax.nn.gelu(x, approximate=False)",
        ),
        ("fdlkit.nn.repeat", "length=self.n,", "length=self.n + 0,"),
        ("fdlkit.nn.attention", "# A finite floor: a row", "# Not the floor: a row"),
    ],
)
def test_a_changed_line_of_the_house_changes_the_script(
    base, in_root, monkeypatch, module, line, changed
):
    read = modules.read

    def with_a_change(name):
        found = read(name)
        if name != module:
            return found
        assert found.text.count(line) == 1
        return modules.Module(name, found.file, found.text.replace(line, changed))

    monkeypatch.setattr(modules, "read", with_a_change)
    text = written.__wrapped__("experiments/lm.py:base").text
    diff = difflib.unified_diff(
        base.text.splitlines(), text.splitlines(), n=0, lineterm=""
    )
    edits = [one for one in list(diff)[2:] if one[:1] in "+-"]
    assert edits == [f"-{whole(base.text, line)}", f"+{whole(text, changed)}"]


def whole(text, part):
    """The one line of a text that has the part."""
    found = [one for one in text.splitlines() if part in one]
    assert len(found) == 1
    return found[0]


def test_no_template_of_the_trainer_is_in_the_room():
    """No three lines of the training wing stand one after another in codegen."""

    def passages(folder):
        for path in (ROOT / "fdlkit" / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            lines = [one.strip() for one in text.splitlines()]
            code = [one for one in lines if len(one) > 10 and "import" not in one]
            yield from zip(code, code[1:], code[2:], strict=False)

    own = set(passages("codegen"))
    for folder in ("train", "nn", "data", "sharding", "eject"):
        assert not own & set(passages(folder))
