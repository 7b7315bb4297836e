"""Whatever is typed: an answer or a refusal, never a traceback, never half of one."""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fdlkit.cli import main as cli
from tests.cli.sessions import FILES, SESSIONS
from tests.cli.test_messages import argv_of

LINES = [
    argv_of(line)
    for lines in SESSIONS.values()
    for line in lines
    # Running an experiment is not what is typed at random here, nor are its seconds.
    if not line.startswith(("train", "data"))
]
WORDS = sorted({word for argv in LINES for word in argv if len(word) < 200})
SCRAPS = st.sampled_from(
    [
        *"~.*[](){}'\"=+,:#@ \\\n\t\x00-_/%$!\u00fc\u4e2d\udcff\ud800",
        "..",
        "**",
        "+=",
        "--",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=3),
    SCRAPS,
)
FLAGS = st.builds(
    "--{}{}{}".format,
    st.sampled_from(
        [
            *("fdl_set", "fdl-tag", "fdl_fiddler", "format", "depth", "color", "allow"),
            *("flagfile", "undefok", "traceback", "help", "dry_run", "n", "steps", ""),
        ]
    ),
    st.sampled_from(["=", "", "=="]),
    st.one_of(TEXTS, st.sampled_from(WORDS)),
)


@st.composite
def mutated(draw: st.DrawFn) -> list[str]:
    """A line of the golden sessions with some of it mistyped."""
    argv = list(draw(st.sampled_from(LINES)))
    for _ in range(draw(st.integers(0, 2))):
        if not argv:
            break
        at = draw(st.integers(0, len(argv) - 1))
        word = argv[at]
        start = draw(st.integers(0, len(word)))
        end = min(len(word), start + draw(st.integers(0, 3)))
        argv[at] = word[:start] + draw(TEXTS) + word[end:]
    return argv


ARGV = st.one_of(
    mutated(),
    st.lists(st.one_of(FLAGS, st.sampled_from(WORDS), TEXTS), max_size=4),
    st.builds(
        lambda verb, target, flags: [verb, target, *flags],
        st.sampled_from(["show", "show", "shwo", "data"]),
        st.sampled_from(["shop.py:base", "lm.py:T", "sgd.json", "shop.py", "nope"]),
        st.lists(FLAGS, max_size=3),
    ),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before_path, before = list(sys.path), set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
    sys.path[:] = before_path
    for module in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[module], "__file__", "")):
            del sys.modules[module]


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[*HealthCheck],
)
@given(argv=ARGV)
def test_no_command_line_makes_anything_but_an_answer_or_a_refusal(project, argv):
    before = files(project)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(argv)
    said = err.getvalue()
    assert code in (0, 1, 2)
    refused = said.startswith("error: ") or "\nerror: " in said
    asked_for = "--traceback" in argv
    assert asked_for or ("Traceback (most recent call last)" in said) is False
    if code == 0:
        assert not refused
        return
    assert asked_for or refused or "verbs:" in said
    assert out.getvalue() == ""
    assert files(project) == before
