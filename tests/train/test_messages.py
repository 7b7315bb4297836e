"""Every message of the trainer's parts, as it is said, in `tests/golden/train`."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import types

import pytest

from fdlkit.data.input_sharding import InputFault
from fdlkit.errors import UserError
from fdlkit.train.evaluators import Fault
from tests import messages
from tests.train.refused import (
    axes,
    evaluators,
    keys,
    losses,
    metrics,
    models,
    processes,
    running,
    texts,
    updates,
)

TABLES = (
    keys,
    losses,
    metrics,
    axes,
    evaluators,
    updates,
    texts,
    running,
    models,
    processes,
)
EXTRAS = ("sklearn", "tokenizers", "wandb", "mlflow")
FILES = ("keys.py", "train", "data/input_sharding.py", "sample", "run/debugging.py")

# What people make themselves; whatever else is raised is a defect of ours.
THEIRS = (UserError, ValueError, NotImplementedError)
# A word to the loop, which nobody reads.
SILENT = {"EvaluationStoppedError"}
SEEN_ELSEWHERE = {
    "run.debugging:debug": "tests/golden/run, of axes that disagree",
    "run.debugging:_Watched.judge": "tests/golden/run, of NaN and of indices",
    "run.debugging:_Watched.attempt": "a guard: tracing tells before what raises",
    "run.debugging:_run_other": "a guard: an evaluator of texts has no named axes",
    "run.debugging:_Notes._writing": "where a folder cannot be written in",
    "sample.opening:held_arrays": "tests/golden/sample, of a damaged checkpoint",
    "sample.opening:refuse_another_model": "tests/golden/sample, of a wider model",
    "train.axis_names:_evaluate": "a guard: what is no sum of names is let pass",
}


def name_of(table: types.ModuleType) -> str:
    return table.__name__.rpartition(".")[2]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What every table's rooms say, and the places where they say it."""
    find = importlib.util.find_spec
    found: dict[str, str] = {}
    lines: set[messages.Line] = set()
    with (
        pytest.MonkeyPatch.context() as patch,
        messages.listening([UserError, Fault, InputFault]) as made,
    ):
        patch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *more: None if name in EXTRAS else find(name, *more),
        )
        for table in TABLES:
            blocks = []
            for what, run in table.REFUSED.items():
                folder = tmp_path_factory.mktemp("folder")
                told, passed = answer(run, folder)
                lines |= passed
                blocks.append("\n".join([what, *(f"  {line}" for line in told), ""]))
            found[name_of(table)] = "\n".join(blocks)
        lines |= made
    return types.SimpleNamespace(texts=found, lines=lines)


def answer(run, folder: pathlib.Path) -> tuple[list[str], set[messages.Line]]:
    """What a call says, a line each, and the lines of the house that it passed."""
    try:
        told = run(folder)
    except THEIRS as error:
        told = error.lines if isinstance(error, UserError) else None
        if told is None:
            told = f"{type(error).__name__}: {error}".splitlines()
        passed = messages.lines_of(error)
    else:
        passed = set()
    assert isinstance(told, list | tuple), "it is not refused"
    assert told
    return [plain(line, folder) for line in told], passed


def plain(line: str, folder: pathlib.Path) -> str:
    """A line as it is wherever this is run, and after the next edit of a table."""
    line = line.replace(str(folder), "<folder>")
    return re.sub(r"\S*/(tests/\w+/\S+\.py):\d+", r"\1:N", line)


@pytest.mark.parametrize("name", [name_of(table) for table in TABLES])
def test_what_is_refused_is_said_as_in_the_golden_file(name, said, golden):
    golden(f"train/{name}", said.texts[name])


def test_every_place_that_words_an_error_is_heard(said):
    files = [
        path
        for name in FILES
        for path in sorted(
            [messages.HOUSE / name]
            if name.endswith(".py")
            else (messages.HOUSE / name).rglob("*.py")
        )
    ]
    places = messages.sites(
        files,
        made={"UserError", "DeadKeyError", "RunFailedError", "Fault", "InputFault"},
        raises=True,
        silent=SILENT,
    )
    messages.refuse_silence(
        places, said.lines, SEEN_ELSEWHERE, add_to="tests/train/refused"
    )
