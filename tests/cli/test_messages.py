"""Every message that a person can meet, as it is printed, in `tests/golden`."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import types

import pytest

from fdlkit.cli import main as cli
from fdlkit.errors import UserError
from fdlkit.overrides.problems import BadTextError
from tests import messages
from tests.cli.sessions import FILES, SESSIONS

ROOMS = ("graph", "overrides", "serialize", "targets", "view", "cli")

# Where no command line leads, and which test sees what is said there instead.
SEEN_ELSEWHERE = {
    "cli.main:_version": "where fdlkit is not installed, only there",
    "cli.golden:_refuse_two_in_one_place": "tests/cli/test_golden.py",
    "cli.output:_keep_sources": "tests/cli/test_codegen.py, of a config's own file",
    "targets.listing:read_json": "tests/serialize/test_hostile.py, of UTF-16",
    "cli.main:_refuse_a_lost_place": "tests/cli/test_streams.py, where it is gone",
    "cli.codegen:only_experiment": "tests/cli/test_codegen.py, where there is none",
    "cli.drawing:program": "tests/cli/test_show.py, on a terminal",
    "cli.sample:_read_stdin": "tests/sample, of bytes that are no text",
    "graph.faults:Faults.at_root": "tests/graph/test_scale.py, of a root that refers",
    "overrides.explain:explain": "tests/overrides/test_explain.py; the verb takes `**`",
    "view.picture:find_program": "tests/cli/test_show.py, where nothing draws",
    "graph.resolve:Resolver._starts": "tests/graph/test_references.py, of JSON alone",
    "graph.restore:_live": "tests/serialize, of a graph that nothing looks up",
    "overrides.values:_called": "a guard: of what only Fiddle itself would refuse",
    "overrides.symbols:Scope.find": "tests/overrides/test_untyped.py",
    "targets.listing:_reading": "tests/targets/test_files.py: pipes, no permission",
    "targets.listing:parse_source": "of what one Python calls no syntax error",
    "targets.loading:load_target": "a guard: such a text is no target before",
    "targets.modules:existing": "tests/targets/test_files.py, of pipes and links",
}


def argv_of(line: str) -> list[str]:
    """The arguments that a line of `SESSIONS` stands for."""
    if line.startswith("-- "):
        return ["show", "shop.py:base", *shlex.split(line[3:])]
    first = line.partition(" ")[0]
    verbs = {*(verb.name for verb in cli.VERBS), "__complete", "shwo", "xyzzy"}
    if line.startswith("--") or first in verbs:
        return shlex.split(line)
    return ["show", "shop.py:base", f"--fdl_set={line}"]


def short(line: str) -> str:
    """A line as it stands in a golden file: printable, and not thousands long."""
    return line if len(line) < 120 else f"{line[:60]}…{line[-20:]}"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Runs every line; what was said, by file, and the places where it was raised."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before_path, before = list(sys.path), set(sys.modules)
    found: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        run(["show", "trouble.py:base", "--format=json", "--out=good.json"])
        with messages.listening([UserError, BadTextError]) as raised:
            for name, lines in SESSIONS.items():
                found[name] = "\n".join(
                    session(line, name).replace(str(folder), "<folder>")
                    for line in lines
                )
        written = {p.name for p in folder.iterdir()} - {n.split("/")[0] for n in FILES}
    sys.path[:] = before_path
    for module in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[module], "__file__", "")):
            del sys.modules[module]
    return types.SimpleNamespace(texts=found, raised=raised, written=written)


def run(argv: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(argv)
    return code, out.getvalue(), err.getvalue()


def session(line: str, name: str) -> str:
    argv = [] if name == "cli/verbs" and not line else argv_of(line)
    code, out, err = run(argv)
    assert (code == 0) or not out, line
    shown = short(shlex.join(argv))
    return f"$ fdlkit {shown}\n{err}[exit {code}]\n"


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_said_is_as_in_the_golden_file(name, said, golden):
    golden(name, said.texts[name])


def test_no_traceback_and_no_error_that_is_none(said):
    for text in said.texts.values():
        assert "Traceback" not in text
        *sessions, end = re.split(r"^\[exit (?=\d)", text, flags=re.MULTILINE)
        for said_now, code in zip(sessions, [*sessions[1:], end], strict=True):
            refused = "\nerror: " in said_now or "\nusage: " in said_now
            assert refused == (not code.startswith("0]")), said_now


def test_nothing_is_written_where_something_is_refused(said):
    assert said.written <= {"good.json", "__pycache__", "w"}
    assert "w" not in said.written


def test_every_place_that_words_an_error_is_heard(said):
    files = [
        path for room in ROOMS for path in sorted((messages.HOUSE / room).rglob("*.py"))
    ]
    kinds = {"UserError", "BadTextError", "PathError", "BrokenReferenceError"}
    messages.refuse_silence(
        messages.sites(files, made=kinds),
        said.raised,
        SEEN_ELSEWHERE,
        add_to="tests/cli/sessions.py",
    )
