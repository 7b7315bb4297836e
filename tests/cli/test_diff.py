"""`fdlkit diff A B`: text, JSON, effects, and exit codes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

from fdlkit.cli.diff import table
from fdlkit.cli.main import main
from fdlkit.diff.applying import apply
from fdlkit.diff.reading import read
from fdlkit.graph.equality import equal
from fdlkit.run.effects import Effects
from fdlkit.serialize.reading import read as read_config

ROOT = pathlib.Path(__file__).parents[2]

CONFIGS = """
import dataclasses
import fiddle as fdl


@dataclasses.dataclass
class Model:
    hidden: int = 4
    names: list = dataclasses.field(default_factory=list)
    inner: "Model | None" = None


def base(hidden: int = 64) -> fdl.Config[Model]:
    return fdl.Config(
        Model, hidden=hidden, names=["b"], inner=fdl.Config(Model, hidden=7)
    )


def other() -> fdl.Config[Model]:
    cfg = base(hidden=128)
    cfg.names.insert(0, "a")
    return cfg


def small(cfg) -> None:
    cfg.hidden = 1
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "diff_configs.py"
    path.write_text(CONFIGS)
    return path


@pytest.fixture
def kept(file, tmp_path, capsys):
    """Both configs as JSON that names a module that is not there."""
    found = []
    for name in ("base", "other"):
        path = tmp_path / f"{name}.json"
        argv = ["show", f"{file}:{name}", "--format=json", f"--out={path}"]
        assert main(argv) == 0
        path.write_text(path.read_text().replace("diff_configs", "no_such_module_zz"))
        found.append(path)
    return found


def test_what_differs_is_told_and_the_code_is_1(file, capsys):
    assert main(["diff", f"{file}:base", f"{file}:other"]) == 1
    out, err = capsys.readouterr()
    assert out == (
        "<root> (diff_configs.Model)\n  ~ hidden: 64 → 128\n  + names[0]: 'a'\n"
    )
    assert err == ""


def test_the_same_is_told_and_the_code_is_0(file, capsys):
    assert main(["diff", f"{file}:base", f"{file}:base(hidden=64)"]) == 0
    assert capsys.readouterr().out == "no differences\n"


def test_the_code_can_be_0_all_the_same(file, capsys):
    assert main(["diff", f"{file}:base", f"{file}:other", "--exit-zero"]) == 0
    assert "hidden" in capsys.readouterr().out


def test_overrides_are_for_b_and_with_a_before_them_for_a(file, capsys):
    targets = ["diff", f"{file}:base", f"{file}:base"]
    assert main([*targets, "--fdl_set=hidden=3"]) == 1
    assert "hidden: 64 → 3" in capsys.readouterr().out
    assert main([*targets, "--a.fdl_set=hidden=3"]) == 1
    assert "hidden: 3 → 64" in capsys.readouterr().out
    assert main([*targets, "--a.fdl_fiddler=small", "--fdl_fiddler=small"]) == 0


def test_a_wrong_override_of_a_is_refused(file, capsys):
    targets = ["diff", f"{file}:base", f"{file}:base"]
    assert main([*targets, "--a.fdl_set=hiden=3"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "did you mean 'hidden'?" in err


def test_json_is_compared_by_its_names_alone(kept, capsys):
    assert main(["diff", *map(str, kept)]) == 1
    out, err = capsys.readouterr()
    assert "~ hidden: 64 → 128" in out and "no_such_module_zz" in out
    assert err == ""
    assert "no_such_module_zz" not in sys.modules


def test_the_json_of_a_diff_is_versioned_and_makes_the_new_config(kept, capsys):
    assert main(["diff", *map(str, kept), "--format=json"]) == 1
    text = capsys.readouterr().out
    data = json.loads(text)
    assert data["schema"] == "fdlkit.diff/1" and data["same"] is False
    assert [change["path"] for change in data["changes"]] == ["hidden", "names[0]"]
    assert data["effects"] is None
    old, new = (read_config(path.read_text()) for path in kept)
    assert equal(apply(read(text), old), new)


def test_the_answer_can_go_to_a_file(file, tmp_path, capsys):
    out = tmp_path / "out.txt"
    assert main(["diff", f"{file}:base", f"{file}:other", f"--out={out}"]) == 1
    assert capsys.readouterr().out == ""
    assert "names[0]: 'a'" in out.read_text()


def test_color_can_be_asked_for_and_changes_nothing_else(file, capsys):
    argv = ["diff", f"{file}:base", f"{file}:other"]
    main(argv)
    plain = capsys.readouterr().out
    main([*argv, "--color=always"])
    colored = capsys.readouterr().out
    assert "\x1b[32m" in colored
    for code in ("0", "1", "2", "31", "32", "33"):
        colored = colored.replace(f"\x1b[{code}m", "")
    assert colored == plain


def test_lines_fit_the_width(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    long = "x" * 200
    argv = ["diff", f"{file}:base", f"{file}:base", f"--fdl_set=names=['{long}']"]
    assert main(argv) == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["diff"], "takes two targets, A and B, and was given none"),
        (["diff", "a.json"], "and was given 1"),
        (["diff", "a", "b", "c"], "and was given 3"),
        (["diff", "a.json", "b.json", "--format=tree"], "it is one of text, json"),
        (["diff", "a.json", "b.json"], "a.json"),
    ],
)
def test_what_cannot_be_compared_is_refused(argv, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


@pytest.mark.parametrize(
    ("kind", "begins", "holds"),
    [
        ("html", "<!DOCTYPE html>", '"was":"64"'),
        ("dot", "digraph {", "64</FONT> → "),
        ("mermaid", "%%{init: ", "~ hidden = 64 → 128"),
        ("svg", "<?xml", "64"),
    ],
)
def test_both_can_be_one_drawing(kind, begins, holds, file, tmp_path, capsys):
    out = tmp_path / "out"
    argv = ["diff", f"{file}:base", f"{file}:other", f"--format={kind}"]
    assert main([*argv, f"--out={out}"]) == 1
    assert capsys.readouterr() == ("", "")
    text = out.read_text()
    assert text.startswith(begins) and holds in text
    assert main([*argv, "--exit_zero"]) == 0
    assert capsys.readouterr().out == text
    same = ["diff", f"{file}:base", f"{file}:base", f"--format={kind}"]
    assert main(same) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_a_png_of_a_difference_is_nothing_for_a_terminal(
    file, tmp_path, capsys, monkeypatch
):
    argv = ["diff", f"{file}:base", f"{file}:other", "--format=png"]
    out = tmp_path / "x.png"
    assert main([*argv, f"--out={out}"]) == 1
    assert out.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert "a png is nothing for a terminal" in err
    assert f"fdlkit diff {file}:base {file}:other --format=png --out=FILE.png" in err


def test_json_is_drawn_by_its_names_alone(kept, capsys):
    one, two = kept
    assert main(["diff", str(one), str(two), "--format=dot"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("digraph {") and not err


def test_effects_of_two_experiments_are_told(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    tiny = "experiments/lm.py:tiny"
    assert main(["diff", tiny, tiny, "--fdl_set=train_data.batch_size=4"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    rows = [line.split("  ") for line in out.splitlines()[-4:]]
    told = {row[1].strip(): row[-1] for row in rows}
    assert told == {
        "parameters": "same",
        "optimizer bytes": "same",
        "tokens per step": "-50.0%",
        "FLOPs per step": "-50.0%",
    }
    assert "256 →" in out and "→        128" in out
    argv = ["diff", tiny, tiny, "--fdl_set=seed=4", "--effects=false"]
    assert main(argv) == 1
    assert "effects" not in capsys.readouterr().out


def test_a_side_that_cannot_be_built_has_no_effects_and_a_note(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    tiny = "experiments/lm.py:tiny"
    assert main(["diff", tiny, tiny, "--fdl_set=model.hidden=31"]) == 1
    out, err = capsys.readouterr()
    assert "~ hidden: 32 → 31" in out and "effects" not in out
    assert err.startswith("note: no effects, because of B: cannot build ")
    assert err.count("\n") == 1


def test_a_json_side_that_cannot_be_resolved_has_no_effects_and_a_note(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(ROOT)
    tiny, path = "experiments/lm.py:tiny", tmp_path / "kept.json"
    assert main(["show", tiny, "--format=json", f"--out={path}"]) == 0
    path.write_text(path.read_text().replace("fdlkit.nn.mlp", "no_such_module_zz"))
    assert main(["diff", str(path), tiny]) == 1
    out, err = capsys.readouterr()
    assert "no_such_module_zz.Mlp → fdlkit.nn.mlp.Mlp" in out
    assert err.startswith("note: no effects, because of A: ")
    assert err.count("\n") == 1


def test_the_table_says_what_is_the_same_and_what_came_from_nothing():
    old = Effects(100, 0, 8, "tokens", 1000)
    new = Effects(150, 4, 8, "examples", 900)
    assert table(old, new) == (
        "effects\n"
        "  parameters                     100 → 150  +50.0%\n"
        "  optimizer bytes                  0 →   4\n"
        "  tokens or examples per step      8 →   8  same\n"
        "  FLOPs per step               1,000 → 900  -10.0%\n"
    )


def test_comparing_json_loads_no_jax(kept):
    program = (
        "import sys; from fdlkit.cli.main import main; "
        f"code = main(['diff', {str(kept[0])!r}, {str(kept[1])!r}]); "
        "assert not {'jax', 'flax', 'optax'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stderr
