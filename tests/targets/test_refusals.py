"""A target that names no config is told what it is, and what to write instead."""

from __future__ import annotations

import os

import pytest

from fdlkit.errors import UserError
from fdlkit.targets.loading import load_target

FILE = """
import fiddle as fdl

class Model:
    def __init__(self, width: int = 1): raise RuntimeError("was made")

class Unreadable(Exception):
    def __str__(self): raise ValueError

def base(width: int = 1) -> fdl.Config: return fdl.Config(Model, width=width)
def wider(cfg, by: int = 2): cfg.width *= by
def rows(): yield base()
def odd(): raise Unreadable
def leaves(): raise GeneratorExit
def book(): raise ValueError("line\\n" * 900)
def many(): raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])
def asked(size: int) -> fdl.Config: return base(size)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "lm.py").write_text(FILE)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "inner.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(target):
    with pytest.raises(UserError) as caught:
        load_target(target)
    return list(caught.value.lines)


def test_a_class_is_not_made(project):
    assert refused("lm.py:Model") == [
        "'Model' in lm.py is a class, not a function",
        "  write a function that returns its config: def model(): "
        "return fdl.Config(Model)",
    ]


def test_a_fiddler_is_sent_behind_a_config(project):
    assert refused("lm.py:wider") == [
        "'wider' in lm.py is a fiddler: it edits a config",
        "  name the config first: lm.py:base --fdl_fiddler=wider",
    ]


def test_a_config_that_needs_an_argument_is_no_fiddler(project):
    assert refused("lm.py:asked")[0] == "asked needs size"


def test_a_generator_is_told_to_return(project):
    assert refused("lm.py:rows") == [
        "lm.py:rows is a generator function, and a config is returned",
        "  write return in place of yield in rows",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("odd", ["lm.py:odd raised Unreadable (its text cannot be read: ValueError)"]),
        ("leaves", ["lm.py:leaves raised GeneratorExit (without a text)"]),
        (
            "many",
            [
                "lm.py:many raised ExceptionGroup: two (2 sub-exceptions)",
                "    ValueError: a",
                "    KeyError: 'b'",
            ],
        ),
        (
            "book",
            ["lm.py:book raised ValueError: line", *["  line"] * 4, "  ..."],
        ),
    ],
)
def test_whatever_it_raises_is_told_in_a_few_lines(project, name, said):
    lines = refused(f"lm.py:{name}")
    assert lines[: len(said)] == said
    assert lines[len(said)].startswith("  lm.py:")


def test_a_folder_tells_what_is_in_it(project):
    assert refused("parts")[-1] == "  in it: inner.py"
    assert refused("parts:base")[-1] == "  modules in it: inner"


def test_an_argument_twice_is_refused(project):
    assert refused("lm.py:base(width=1, width=2)")[0] == "base is given width twice"


def test_a_pipe_is_not_waited_for(project):
    os.mkfifo("pipe.py")
    os.mkfifo("pipe.json")
    assert refused("pipe.py:base")[0] == "pipe.py is no regular file"
    assert refused("pipe.json")[0] == "pipe.json is no regular file"


def test_a_file_whose_name_is_no_text_is_loaded(project):
    name = os.fsdecode(b"b\xffse")
    (project / f"{name}.py").write_text(FILE)
    assert load_target(f"{name}.py:base").cfg.width == 1
