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
