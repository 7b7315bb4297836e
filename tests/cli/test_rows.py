"""What people type, each line as a process of its own: code, streams, message."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SMALL = pathlib.Path(__file__).with_name("small.py")


@dataclasses.dataclass(frozen=True)
class Row:
    """A command line and what has to come of it.

    Attributes:
      typed: `show lm.py:T --format=json` goes before it, unless it names a verb.
      says: What stderr is, word for word; up to `...` if it ends so.
      sets: For a line that is taken: values of the config that is shown.
    """

    typed: tuple[str, ...]
    says: str = ""
    sets: dict[str, object] | None = None

    @property
    def argv(self) -> list[str]:
        if self.typed[0] in ("show", "train", "data"):
            return [*self.typed]
        given = [t if t.startswith("--") else f"--fdl_set={t}" for t in self.typed]
        return ["show", "lm.py:T", "--format=json", *given]

    def __str__(self) -> str:
        return " ".join(self.typed)


def taken(*typed: str, says: str = "", **sets: object) -> Row:
    return Row(typed, says, {k.replace("__", "."): v for k, v in sets.items()})


def refused(*typed: str, says: str) -> Row:
    return Row(typed, says)


ROWS = [
    refused(
        "model.hiden=1",
        says="""\
error: no parameter 'hiden' at model (lm.Model)
  --fdl_set=model.hiden=1
                  ^^^^^ did you mean 'hidden'?
  parameters: hidden, widths, norm, ckpt, mlp, dropout, dtype
""",
    ),
    refused(
        "hidden=1",
        says="""\
error: no parameter 'hidden' at <root> (lm.Trainer)
  --fdl_set=hidden=1
            ^^^^^^ did you mean 'model.hidden'?
""",
    ),
    refused(
        "train",
        "lm.py:T",
        "--workdir=runs/x",
        "--dry-rn",
        says="""\
error: fdlkit train has no flag '--dry_rn'
  did you mean '--dry_run'?
  flags: --fdl_set, --fdl_tag, --fdl_fiddler, ...
""",
    ),
    refused(
        "--steps=3",
        says="""\
error: fdlkit show has no flag '--steps'
  did you mean '--fdl_set=steps=3'?
  flags: --fdl_set, --fdl_tag, --fdl_fiddler, ...
""",
    ),
    refused(
        "model.hidden=abc",
        says="""\
error: 'abc' is not an int: model.hidden (lm.Model)
  --fdl_set=model.hidden=abc
                         ^^^
""",
    ),
    taken("steps=1e3", Trainer__steps=1000),
    refused(
        "steps=100.5",
        says="""\
error: '100.5' is not an int: steps (lm.Trainer)
  --fdl_set=steps=100.5
                  ^^^^^ an int has no fraction
""",
    ),
    taken("name=a=b", Trainer__name="a=b"),
    taken("name=None", Trainer__name="None"),
    taken("model.ckpt=None", Model__ckpt=None),
    taken("model.norm=rms", Model__norm={"enum": "lm:Norm", "member": "RMS"}),
    refused(
        "model.norm=RMSS",
        says="""\
error: 'RMSS' is not a Norm: model.norm (lm.Model)
  --fdl_set=model.norm=RMSS
                       ^^^^ did you mean 'RMS'?
  choices: RMS, LAYER
""",
    ),
    taken("model.widths[0]=7", Model__widths=[7, 2, 3]),
    refused(
        "model.widths[5]=7",
        says="""\
error: model.widths is a list of 3, which has no [5]
  --fdl_set=model.widths[5]=7
                        ^^^ 0 to 2
""",
    ),
    taken("model.widths+=[3]", Model__widths=[1, 2, 3, 3]),
    taken("steps+=5", Trainer__steps=105),
    taken("~model.ckpt", Model__ckpt="<unset>"),
    taken(
        "opt.learning_rate=.5",
        "opt=sgd",
        says="note: opt is now sgd, which has no b2\n",
        sgd__learning_rate=0.5,
    ),
    refused(
        "opt.learning_rate=.5",
        "opt=sgd",
        "opt.b1=.9",
        says="""\
error: no parameter 'b1' at opt (optax.sgd)
  --fdl_set=opt.b1=.9
                ^^
  parameters: learning_rate, momentum, nesterov, accumulator_dtype
""",
    ),
    taken(
        "**.dropout=0",
        says="note: **.dropout=0 set model.dropout, model.mlp.dropout\n",
        Model__dropout=0.0,
        Mlp__dropout=0.0,
    ),
    refused(
        "**.dropuot=0",
        says="""\
error: '**' finds no 'dropuot' below <root>
  --fdl_set=**.dropuot=0
               ^^^^^^^ did you mean 'dropout'?
""",
    ),
    refused(
        "show",
        "lm.py:bse",
        says="""\
error: no config 'bse' in lm.py
  did you mean 'lm.py:base'?
  configs:
    T     A model, an optimizer, a name and a number.
    base  `T` by the name that most files use.
""",
    ),
    refused(
        "show",
        "lmm.py:base",
        says="""\
error: no file lmm.py
  did you mean 'lm.py'?
  in .: lm.py
""",
    ),
    refused(
        "model.dtype=bfloat61",
        says="""\
error: 'bfloat61' is not a dtype: model.dtype (lm.Model)
  --fdl_set=model.dtype=bfloat61
                        ^^^^^^^^ did you mean 'bfloat16'?
  choices: bfloat16, float32, float16, float64, float8_e4m3fn, float8_e5m2, int32, …
""",
    ),
    refused(
        "model=3",
        says="""\
error: '3' is not a node, which is what stands there: model (lm.Trainer)
  --fdl_set=model=3
                  ^ write Name or Name(argument=value)
  to put a plain value there, unset the node first: ~PATH
""",
    ),
    refused(
        "opt=optax.adm",
        says="""\
error: no 'adm' in optax: opt (lm.Trainer)
  --fdl_set=opt=optax.adm
                      ^^^ did you mean 'adam'?
""",
    ),
    taken("~model", "model=3", Trainer__model=3),
    taken("model=Mlp", says="note: model is now Mlp, which has no ckpt, mlp\n"),
]


@dataclasses.dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    shutil.copy(SMALL, folder / "lm.py")
    yield folder
    left = sorted(p.name for p in folder.iterdir() if p.name != "__pycache__")
    assert left == ["lm.py"], "a line wrote a file"


@pytest.fixture(scope="module")
def results(project, tmp_path_factory):
    """What every row gives, each in a process of its own, all from one start."""
    told = tmp_path_factory.mktemp("told")
    done = subprocess.run(
        [sys.executable, str(SMALL.with_name("forked.py")), str(told)],
        input=json.dumps([row.argv for row in ROWS]),
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
        cwd=project,
    )
    assert done.returncode == 0, done.stderr
    return [
        Result(code, (told / f"{n}.out").read_text(), (told / f"{n}.err").read_text())
        for n, code in enumerate(json.loads(done.stdout))
    ]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[*map(str, ROWS)])
def test_a_line_as_it_is_typed(number, results):
    check(ROWS[number], results[number])


@pytest.mark.parametrize("number", [0, 3, 5], ids=lambda n: str(ROWS[n]))
def test_so_it_is_from_a_start_of_its_own(number, project):
    row = ROWS[number]
    done = subprocess.run(
        [sys.executable, "-m", "fdlkit", *row.argv],
        capture_output=True,
        text=True,
        timeout=120,
        env=ENVIRONMENT,
        cwd=project,
    )
    check(row, Result(done.returncode, done.stdout, done.stderr))


def check(row: Row, result: Result) -> None:
    if row.says.endswith("...\n"):
        assert result.err.startswith(row.says.removesuffix("...\n"))
    else:
        assert result.err == row.says
    if row.sets is None:
        assert (result.code, result.out) == (2, "")
    else:
        assert result.code == 0
        shown = _shown(result.out)
        assert {name: shown.get(name, "<unset>") for name in row.sets} == row.sets


def _shown(text: str) -> dict[str, object]:
    """`Model.hidden` and so on of a config as JSON; lists with their elements."""
    nodes = json.loads(text)["nodes"]
    found: dict[str, object] = {}
    for node in nodes:
        if "callable" not in node:
            continue
        owner = node["callable"].rpartition(":")[2]
        for name, value in node["arguments"].items():
            if isinstance(value, dict) and "node" in value:
                value = nodes[value["node"]].get("elements", value)
            found[f"{owner}.{name}"] = value
    return found
