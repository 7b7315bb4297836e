"""`DEFINE_experiment`: an experiment on the command line of any absl program."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from absl import app
from absl import flags as absl_flags
from absl.testing import flagsaver

import fdlkit
from fdlkit import flags
from fdlkit.errors import UserError

ROOT = pathlib.Path(__file__).parents[2]

CONFIGS = '''
import fiddle as fdl


class Width(fdl.Tag):
    """How wide."""


class Model:
    def __init__(self, hidden: int = 4, name: str = "", depth: int = 1):
        self.hidden, self.name, self.depth = hidden, name, depth


def base(hidden: int = 64):
    cfg = fdl.Config(Model, hidden=hidden)
    fdl.add_tag(cfg, "depth", Width)
    return cfg


def other():
    return fdl.Config(Model, name="other")


def doubled(cfg, by: int = 2):
    cfg.hidden *= by


def broken():
    return helper()


def helper():
    return 1 / 0
'''


@pytest.fixture
def file(tmp_path):
    before_path, before = list(sys.path), set(sys.modules)
    path = tmp_path / "flag_configs.py"
    path.write_text(CONFIGS)
    yield path
    sys.path[:] = before_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def values():
    return absl_flags.FlagValues()


def parsed(values, *argv):
    values(["program", *argv])


def test_the_value_is_the_config_with_the_changes(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base(hidden=8)", "--exp.set=name=x")
    assert (exp.value.hidden, exp.value.name) == (8, "x")
    assert exp.target == f"{file}:base(hidden=8)"
    assert values.exp == f"{file}:base(hidden=8)"
    assert exp.present


@pytest.mark.parametrize(
    ("argv", "hidden"),
    [
        (["--exp.set=hidden=10", "--exp.fiddler=doubled"], 20),
        (["--exp.fiddler=doubled", "--exp.set=hidden=10"], 10),
        (["--exp.fiddler=doubled(by=3)", "--exp.set=hidden+=1"], 193),
        (["--fdl_set=hidden=10", "--exp.fiddler=doubled"], 20),
        (["--exp.fiddler=doubled", "--fdl_set=hidden=10"], 10),
        (["--exp.set=hidden=7", "--fdl_fiddler=doubled", "--exp.set=hidden+=1"], 15),
    ],
)
def test_changes_are_applied_in_the_order_given(file, values, argv, hidden):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base", *argv)
    assert exp.value.hidden == hidden


def test_the_target_may_stand_behind_its_changes(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, "--exp.set=hidden=3", f"--exp={file}:base")
    assert exp.value.hidden == 3


def test_a_tag_is_set(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base", "--exp.tag=Width=9", "--fdl_tag=Width=10")
    assert exp.value.depth == 10


def test_reading_twice_gives_the_same_object(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base", "--exp.set=hidden+=1")
    first = exp.value
    first.name = "changed by the program"
    assert exp.value is first
    assert exp.value.hidden == 65


def test_a_failed_change_fails_at_every_reading_and_changes_nothing(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base", "--exp.set=name=x", "--exp.set=hiden=3")
    for _ in range(3):
        with pytest.raises(flags.ExperimentUsageError) as error:
            _ = exp.value
        assert str(error.value).startswith("error: no parameter 'hiden' at <root>")
        assert "--exp.set=hiden=3" in str(error.value)
        assert "did you mean 'hidden'?" in str(error.value)


def test_all_problems_are_told_together(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:base", "--exp.set=hidden=x", "--fdl_set=nam=3")
    with pytest.raises(UserError) as error:
        _ = exp.value
    assert str(error.value).count("error: ") == 2
    assert "--fdl_set=nam=3" in str(error.value)


def test_the_error_is_an_absl_usage_error(file, values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, f"--exp={file}:bse")
    with pytest.raises(app.UsageError, match="did you mean") as error:
        _ = exp.value
    assert error.value.exitcode == 1


def test_without_a_target_there_is_no_config(values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values)
    assert exp.value is None


@pytest.mark.parametrize("change", ["--exp.set=a=1", "--fdl_fiddler=f"])
def test_a_change_of_nothing_is_refused(values, change):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, change)
    with pytest.raises(UserError, match=f"{change} changes no config"):
        _ = exp.value


def test_a_default_is_used_where_none_is_given(file, values):
    exp = flags.DEFINE_experiment("exp", f"{file}:base", flag_values=values)
    parsed(values, "--exp.set=hidden=3")
    assert exp.value.hidden == 3
    assert not exp.present


def test_a_required_one_must_be_given(values):
    flags.DEFINE_experiment("exp", required=True, flag_values=values)
    with pytest.raises(absl_flags.Error, match="exp"):
        parsed(values)


def test_flags_must_be_parsed_before_the_value_is_read(values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    with pytest.raises(absl_flags.UnparsedFlagAccessError):
        _ = exp.value


def test_a_flagfile_may_hold_it(file, values, tmp_path):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    lines = [f"--exp={file}:base", "--exp.set=hidden=5", "--exp.fiddler=doubled"]
    (tmp_path / "flags.txt").write_text("\n".join(lines))
    parsed(values, f"--flagfile={tmp_path}/flags.txt", "--exp.set=hidden+=1")
    assert exp.value.hidden == 11


def test_several_experiments_have_flags_of_their_own(file, values):
    student = flags.DEFINE_experiment("student", flag_values=values)
    teacher = flags.DEFINE_experiment("teacher", f"{file}:other", flag_values=values)
    parsed(
        values,
        f"--student={file}:base",
        "--teacher.set=hidden=1",
        "--student.set=hidden=2",
    )
    assert (student.value.hidden, teacher.value.hidden) == (2, 1)


def test_a_change_that_could_be_of_several_is_refused(file, values):
    student = flags.DEFINE_experiment("student", f"{file}:base", flag_values=values)
    flags.DEFINE_experiment("teacher", f"{file}:other", flag_values=values)
    parsed(values, "--fdl_set=hidden=1")
    with pytest.raises(UserError) as error:
        _ = student.value
    assert error.value.lines == (
        "--fdl_set=hidden=1 could mean any of --student, --teacher",
        "  write --student.set=... or --teacher.set=...",
    )


def test_what_else_has_defined_is_left_alone(file, values):
    absl_flags.DEFINE_string("fdl_set", "theirs", "Of others.", flag_values=values)
    exp = flags.DEFINE_experiment("exp", f"{file}:base", flag_values=values)
    parsed(values, "--fdl_set=hidden=1", "--fdl_fiddler=doubled")
    assert values.fdl_set == "hidden=1"
    assert exp.value.hidden == 128


def test_what_else_defines_later_takes_over(file, values):
    exp = flags.DEFINE_experiment("exp", f"{file}:base", flag_values=values)
    absl_flags.DEFINE_string("fdl_set", "theirs", "Of others.", flag_values=values)
    parsed(values, "--fdl_set=hidden=1", "--exp.set=name=x")
    assert values.fdl_set == "hidden=1"
    assert (exp.value.hidden, exp.value.name) == (64, "x")


def test_json_may_name_what_the_program_or_the_user_allows(file, values, tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text(fdlkit.dumps(fdlkit.load(f"{file}:base")))
    exp = flags.DEFINE_experiment("exp", f"{kept}", flag_values=values)
    parsed(values)
    with pytest.raises(UserError, match="not allowed"):
        _ = exp.value
    parsed(values, "--exp.allow=flag_configs")
    assert exp.value.hidden == 64
    trusting = flags.DEFINE_experiment(
        "trusting", f"{kept}", allow=["flag_configs"], flag_values=values
    )
    assert trusting.value.hidden == 64


def test_changes_are_serialized_as_they_were_given(values):
    exp = flags.DEFINE_experiment("exp", flag_values=values)
    parsed(values, "--exp=a.py:b", "--exp.set=a=1", "--exp.set=b=2")
    assert exp.serialize() == "--exp=a.py:b"
    assert values["exp.set"].serialize() == "--exp.set=a=1\n--exp.set=b=2"
    assert values["exp.set"].value == ("a=1", "b=2")


def test_the_face_has_the_module():
    assert fdlkit.flags is flags


@pytest.fixture
def global_flags():
    """The process's own flags, parsed, and as before when the test ends."""
    saved = flagsaver.save_flag_values()
    if not absl_flags.FLAGS.is_parsed():
        absl_flags.FLAGS(["program"])
    yield absl_flags.FLAGS
    flagsaver.restore_flag_values(saved)


def test_flagsaver_changes_the_experiment_and_restores_it(file, global_flags):
    exp = flags.DEFINE_experiment("saved_exp", f"{file}:base")
    before = exp.value
    with flagsaver.flagsaver(
        (exp, f"{file}:other"), **{"saved_exp.set": ["hidden=1", "hidden+=1"]}
    ):
        assert (exp.value.name, exp.value.hidden) == ("other", 2)
    assert (exp.value.name, exp.value.hidden) == ("", 64)
    assert fdlkit.equal(exp.value, before)
    with flagsaver.as_parsed(
        **{"saved_exp.set": ["hidden=5"], "saved_exp.fiddler": "doubled"}
    ):
        assert exp.value.hidden == 10
    assert exp.value.hidden == 64


PROGRAM = """
import sys
from absl import app
{imports}
EXP = flags.DEFINE_experiment("exp")
{later}

def main(argv):
    cfg = EXP.value
    again = EXP.value
    assert cfg is again
    print(cfg.hidden, cfg.name, argv[1:])

app.run(main{parser})
"""


def run(program, *argv, folder):
    path = pathlib.Path(folder) / "program.py"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, str(path), *argv],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def program(*, imports="from fdlkit import flags", later="", parser=""):
    return textwrap.dedent(PROGRAM).format(imports=imports, later=later, parser=parser)


def test_a_program_runs(file, tmp_path):
    argv = [f"--exp={file}:base", "--exp.set=hidden=3", "--fdl_fiddler=doubled", "x"]
    done = run(program(), *argv, folder=tmp_path)
    assert done.stdout == "6  ['x']\n", done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["--exp.set=hiden=3"], "error: no parameter 'hiden' at <root>"),
        (["--exp={file}:bse"], "error: no config 'bse' in"),
        (["--exp={file}:broken"], "raised ZeroDivisionError: division by zero"),
        (["--exp=no_such_file.py:base"], "error: no file no_such_file.py"),
        (["--exp.ste=hidden=3"], "exp.ste"),
    ],
)
def test_a_mistake_ends_a_program_without_a_traceback(file, tmp_path, argv, what):
    argv = [text.format(file=file) for text in argv]
    done = run(program(), f"--exp={file}:base", *argv, folder=tmp_path)
    assert done.returncode == 1
    assert what in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("imports", "later"),
    [
        ("from fiddle import absl_flags\nfrom fdlkit import flags", ""),
        ("from fdlkit import flags", "from fiddle import absl_flags"),
    ],
    ids=["before", "after"],
)
def test_it_stands_beside_fiddles_own_flags(file, tmp_path, imports, later):
    argv = [f"--exp={file}:base", "--exp.set=hidden=3", "--fdl_config=of_fiddle"]
    text = program(
        imports=imports, later=later, parser=", flags_parser=absl_flags.flags_parser"
    )
    done = run(text, *argv, "--exp.fiddler=doubled", folder=tmp_path)
    assert done.stdout == "6  []\n", done.stderr


def test_help_names_the_flags_and_runs_nothing(tmp_path):
    (tmp_path / "mine.py").write_text("raise RuntimeError('was run')")
    done = run(program(), "--exp=mine.py:base", "--help", folder=tmp_path)
    assert done.returncode == 1  # absl's own code for --help
    for flag in ("--exp:", "--exp.set:", "--exp.tag:", "--exp.fiddler:", "--fdl_set:"):
        assert flag in done.stdout
    assert "was run" not in done.stderr


def test_notes_go_to_the_log(file, tmp_path):
    done = run(
        program(), f"--exp={file}:base", "--exp.set=**.hidden=3", folder=tmp_path
    )
    assert "note: **.hidden=3 set hidden" in done.stderr


def test_importing_the_flags_loads_neither_fiddle_nor_jax():
    code = (
        "import sys, fdlkit.flags; "
        "print(sorted({'fiddle', 'jax', 'numpy', 'libcst'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.stdout == "[]\n", done.stderr


def example(*argv):
    return subprocess.run(
        [sys.executable, "docs/examples/fit.py", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
    )


LINE = "--exp=docs/examples/fits.py:line"


def test_the_example_runs_an_experiment():
    changes = ["--exp.fiddler=curve(degree=5)", "--exp.set=steps=30"]
    done = example(LINE, *changes, "--exp.set=optimizer=optax.adam")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("degree 5, 30 steps: loss 0.")


def test_the_example_tells_a_mistake():
    done = example(LINE, "--exp.set=stpes=30")
    assert done.returncode == 1
    assert "did you mean 'steps'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_takes_any_other_experiment(tmp_path):
    (tmp_path / "my_fits.py").write_text(
        "import fiddle as fdl, optax\nfrom fits import Fit\n"
        "def mine():\n"
        "    return fdl.Config(Fit, optimizer=fdl.Config(optax.sgd, 0.01), degree=2)\n"
    )
    done = example(f"--exp={tmp_path}/my_fits.py:mine", "--exp.set=steps=3")
    assert done.stdout.startswith("degree 2, 3 steps: loss "), done.stderr


def test_a_holder_is_a_flag_holder_of_absl(values):
    assert isinstance(
        flags.DEFINE_experiment("exp", flag_values=values), absl_flags.FlagHolder
    )
    assert issubclass(flags.ExperimentUsageError, UserError)
