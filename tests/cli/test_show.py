"""`fdlkit show`: a tree, JSON, or what is in a file."""

from __future__ import annotations

import io
import json

import pytest

from fdlkit.cli.main import main
from fdlkit.cli.terminal import use_color

CONFIGS = '''
"""Two configs and a fiddler."""
import dataclasses
import fiddle as fdl


@dataclasses.dataclass
class Model:
    hidden: int = 4
    inner: "Model | None" = None


def base(hidden: int = 64) -> fdl.Config[Model]:
    """The usual one."""
    return fdl.Config(Model, hidden=hidden, inner=fdl.Config(Model, hidden=7))


def deep() -> fdl.Config[Model]:
    return base()


def small(cfg, to=1) -> None:
    """Makes it small."""
    cfg.hidden = to
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "show_configs.py"
    path.write_text(CONFIGS)
    return path


def test_a_file_is_listed(file, capsys):
    assert main(["show", str(file)]) == 0
    assert capsys.readouterr().out == (
        "config   base(hidden=64)  The usual one.\n"
        "config   deep\n"
        "fiddler  small(to=1)      Makes it small.\n"
    )


def test_a_file_is_listed_as_json(file, capsys):
    assert main(["show", str(file), "--format=json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "fdlkit.configs/1"
    assert [entry["name"] for entry in listed["configs"]] == ["base", "deep", "small"]


def test_a_missing_file_is_told_its_neighbours(file, capsys):
    assert main(["show", str(file).replace("show_", "shwo_")]) == 2
    assert f"did you mean '{file}'?" in capsys.readouterr().err


def test_overrides_need_a_config(file, capsys):
    assert main(["show", str(file), "--fdl_set=hidden=1"]) == 2


def test_a_config_is_a_tree(file, capsys):
    assert main(["show", f"{file}:base"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "hidden" in out and "64" in out and "7" in out
    assert "\x1b[" not in out


def test_overrides_are_seen_and_noted(file, capsys):
    argv = [
        "show",
        f"{file}:base",
        "--fdl_fiddler=small(to=123)",
        "--fdl_set=**.hidden+=1",
    ]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert "124" in out and "8" in out
    assert err == "note: **.hidden+=1 set hidden, inner.hidden\n"


def test_depth_cuts_the_tree(file, capsys):
    assert main(["show", f"{file}:base", "--depth=1"]) == 0
    assert "7" not in capsys.readouterr().out


def test_color_can_be_asked_for(file, capsys):
    assert main(["show", f"{file}:base", "--color=always"]) == 0
    assert "\x1b[" in capsys.readouterr().out


def test_the_answer_can_go_to_a_file(file, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["show", f"{file}:base", "--format=json", f"--out={out}"]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text())["schema"] == "fdlkit.config/1"


def test_a_file_that_cannot_be_written_is_told(file, capsys):
    assert main(["show", f"{file}:base", "--out=/no/such/folder/x"]) == 2
    assert "cannot write /no/such/folder/x" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "begins"),
    [("dot", "digraph {"), ("mermaid", "%%{init: "), ("html", "<!DOCTYPE html>")],
)
def test_a_config_can_be_drawn_as_text(kind, begins, file, tmp_path, capsys):
    assert main(["show", f"{file}:base", f"--format={kind}", "--depth=0"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(begins) and printed.endswith("\n")
    out = tmp_path / "drawn"
    assert (
        main(["show", f"{file}:base", f"--format={kind}", "--depth=0", f"--out={out}"])
        == 0
    )
    assert out.read_text(encoding="utf-8") == printed


def test_a_drawing_shows_what_an_override_made(file, capsys):
    assert (
        main(["show", f"{file}:base", "--format=mermaid", "--fdl_set=hidden=99"]) == 0
    )
    assert "hidden = 99 (--fdl_set)" in capsys.readouterr().out


def test_a_picture_without_a_program_is_refused_before_anything_runs(
    file, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    out = tmp_path / "x.svg"
    assert main(["show", f"{file}:base", "--format=svg", f"--out={out}"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("error: svg and png are drawn by Graphviz's dot")
    assert "fdlkit[viz]" in err[1] and "graphviz" in err[1] and len(err) == 2
    assert not out.exists()


def test_a_picture_goes_to_stdout_but_a_png_to_no_terminal(
    file, tmp_path, monkeypatch, capsysbinary
):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\ncat >/dev/null; printf '\\211PNG'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert main(["show", f"{file}:base", "--format=png"]) == 0
    assert capsysbinary.readouterr().out == b"\x89PNG"
    monkeypatch.setattr("sys.stdout", Terminal())
    assert main(["show", f"{file}:base", "--format=png"]) == 2
    assert b"--format=png --out=FILE.png" in capsysbinary.readouterr().err


def test_a_picture_of_many_boxes_is_announced(file, tmp_path, monkeypatch, capsys):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\ncat >/dev/null; echo '<svg/>'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with file.open("a") as more:
        more.write("def many():\n    return fdl.Config(dict, all=[base()] + [")
        more.write("fdl.Config(Model, hidden=n) for n in range(500)])\n")
    assert main(["show", f"{file}:many", "--format=svg"]) == 0
    out, err = capsys.readouterr()
    assert out == "<svg/>\n" and err.startswith("note: 503 boxes take long to draw")
    assert main(["show", f"{file}:many", "--format=svg", "--depth=0"]) == 0
    assert capsys.readouterr().err == ""


def test_a_drawing_that_mermaid_itself_would_refuse_is_announced(file, capsys):
    with file.open("a") as more:
        more.write("def many():\n    return fdl.Config(dict, all=[base()] + [")
        more.write("fdl.Config(Model, hidden=n) for n in range(800)])\n")
    assert main(["show", f"{file}:many", "--format=mermaid"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        f"note: this text has {len(out):,} characters, and Mermaid draws 50,000 unless "
        "its page sets maxTextSize; --depth=N draws less",
        "note: this drawing has 802 edges, and Mermaid draws 500 unless its page sets "
        "maxEdges; --depth=N draws less",
    ]
    assert main(["show", f"{file}:many", "--format=mermaid", "--depth=0"]) == 0
    assert capsys.readouterr().err == ""


def test_grep_keeps_hits_and_the_way_to_them(file, capsys):
    assert main(["show", f"{file}:base", "--grep=inner.hidden"]) == 0
    assert capsys.readouterr().out == (
        "Model\n└─ inner: Model | None = Model\n   └─ hidden: int = 7  ←\n"
    )


def test_grep_that_finds_nothing_says_so(file, capsys):
    assert main(["show", f"{file}:base", "--grep=nowhere"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note: nothing matches --grep=nowhere\n")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--grep=[a"], "--grep takes a regular expression"),
        (["--grep=a", "--format=html"], "--grep is for the tree"),
        (["--depth=1", "--format=json"], "--depth is for what is drawn"),
    ],
)
def test_flags_that_would_do_nothing_are_refused(flags, said, file, capsys):
    assert main(["show", f"{file}:base", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


def test_a_file_is_no_drawing(file, capsys):
    assert main(["show", str(file), "--format=svg"]) == 2
    assert "--format=svg is for a config" in capsys.readouterr().err


def test_json_is_shown_by_its_names_alone(file, tmp_path, capsys):
    kept = tmp_path / "kept.json"
    assert main(["show", f"{file}:base", "--format=json", f"--out={kept}"]) == 0
    assert main(["show", f"{file}:base"]) == 0
    kept.write_text(kept.read_text().replace("show_configs", "no_such_module_zz"))
    assert main(["show", str(kept)]) == 0
    assert "64" in capsys.readouterr().out
    assert main(["show", str(kept), "--fdl_set=hidden=1"]) == 2
    assert "no_such_module_zz" in capsys.readouterr().err


def test_a_run_directory_is_its_config(file, tmp_path, capsys):
    run = tmp_path / "run"
    (run / "record").mkdir(parents=True)
    kept = run / "record" / "config.json"
    assert main(["show", f"{file}:base", "--format=json", f"--out={kept}"]) == 0
    allowed = ["--allow=show_configs", "--fdl_set=hidden=987"]
    assert main(["show", str(run), *allowed]) == 0
    assert "987" in capsys.readouterr().out


def test_a_damaged_json_file_is_named(tmp_path, capsys):
    path = tmp_path / "bad.json"
    path.write_text("{")
    assert main(["show", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: ")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("asked", "stream", "environment", "colored"),
    [
        ("auto", Terminal(), {}, True),
        ("auto", io.StringIO(), {}, False),
        ("auto", Terminal(), {"NO_COLOR": "1"}, False),
        ("auto", Terminal(), {"NO_COLOR": ""}, True),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1"}, True),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_follows_flag_environment_and_terminal(
    asked, stream, environment, colored
):
    assert use_color(asked, stream, environment) is colored
