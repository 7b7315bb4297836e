"""Golden files: where they are, what they hold, and how they are written."""

from __future__ import annotations

import pathlib
import types

import fiddle as fdl
import pytest

from fdlkit import whole_file
from fdlkit.errors import UserError
from fdlkit.golden import keeping, places
from fdlkit.golden.texts import Texts, texts

FILE = pathlib.Path("experiments/lm.py")


def stem(target, file=FILE, folder=None):
    place = places.place(target, file, folder)
    config, parameters = str(place.config), str(place.parameters)
    assert config.removesuffix(".config.txt") == parameters.removesuffix(".params.txt")
    return config.removesuffix(".config.txt")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("experiments/lm.py:base", "experiments/golden/lm.base"),
        ("experiments/lm.py:Model.small", "experiments/golden/lm.Model.small"),
        (
            "experiments/lm.py:base(hidden=64, tied=True)",
            "experiments/golden/lm.base(hidden=64,tied=True)",
        ),
        ("lm.py:base( hidden = 64 )", "golden/lm.base(hidden=64)"),
        ("lm.py:base(a='x/y')", "golden/lm.base(a=%27x%2Fy%27)"),
        ("experiments.lm:base", "experiments/golden/lm.base"),
        ("runs/kept.json", "runs/golden/kept"),
    ],
)  # fmt: skip
def test_files_are_beside_what_defines_the_target(target, expected):
    file = pathlib.Path("runs/kept.json") if "json" in target else FILE
    assert stem(target, file) == expected


def test_they_may_be_in_another_folder():
    assert stem("experiments/lm.py:base", folder="kept") == "kept/lm.base"


def test_a_run_and_what_no_file_can_be_called_are_refused():
    with pytest.raises(UserError, match="is a run"):
        stem("runs/first")
    with pytest.raises(UserError, match="too long"):
        stem(f"experiments/lm.py:base(a='{'x' * 300}')")


def config(x):
    return fdl.Config(dict, x=x)


def compared(tmp_path, kept):
    place = places.Place.of(tmp_path / "deep" / "mine")
    return keeping.compare("mine", kept, place), place


def test_what_is_written_is_then_the_same(tmp_path):
    kept = texts(config(1))
    assert kept.parameters is None
    outcome, place = compared(tmp_path, kept)
    assert [file.state for file in outcome.files] == ["missing", "same"]
    keeping.update([outcome])
    assert place.config.read_text() == kept.config
    assert compared(tmp_path, kept)[0].is_same
    assert [path.name for path in place.config.parent.iterdir()] == ["mine.config.txt"]


def test_what_is_different_is_told(tmp_path):
    keeping.update([compared(tmp_path, texts(config(1)))[0]])
    outcome, place = compared(tmp_path, texts(config(2)))
    assert not outcome.is_same
    assert outcome.lines() == [str(place.config), "  ~ x: 1 → 2"]


def test_the_arrays_of_what_is_no_experiment_now_are_taken_away(tmp_path):
    keeping.update([compared(tmp_path, Texts("# c\n", "# p\n"))[0]])
    outcome, place = compared(tmp_path, Texts("# c\n", None))
    assert outcome.lines() == [
        f"{place.parameters} is of an experiment, and this is none now"
    ]
    keeping.update([outcome])
    assert not place.parameters.exists()


def test_of_many_changes_the_first_are_told(tmp_path):
    old, new = (fdl.Config(dict, **dict.fromkeys(map(str, range(99)), x)) for x in "ab")
    keeping.update([compared(tmp_path, texts(old))[0]])
    lines = compared(tmp_path, texts(new))[0].lines()
    assert len(lines) == 42
    assert lines[-1] == "  … 59 more"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("golden/1", "golden/0"), "another version"),
        (lambda text: text + "\n", "in blanks, order or headings alone"),
        (lambda text: "", "another version"),
    ],
)
def test_a_file_in_another_form_is_told_as_such(change, said, tmp_path):
    outcome, place = compared(tmp_path, texts(config(1)))
    keeping.update([outcome])
    place.config.write_text(change(place.config.read_text()))
    outcome, _ = compared(tmp_path, texts(config(1)))
    assert not outcome.is_same
    assert said in outcome.lines()[1]


def test_a_checkout_with_other_line_ends_is_the_same(tmp_path):
    outcome, place = compared(tmp_path, texts(config(1)))
    keeping.update([outcome])
    place.config.write_bytes(place.config.read_bytes().replace(b"\n", b"\r\n"))
    assert compared(tmp_path, texts(config(1)))[0].is_same


def test_what_no_encoding_has_is_kept_as_an_escape(tmp_path):
    kept = texts(config("\udc80"))
    keeping.update([compared(tmp_path, kept)[0]])
    assert compared(tmp_path, kept)[0].is_same


def test_what_cannot_be_read_or_written_is_refused(tmp_path):
    (tmp_path / "deep").write_text("a file")
    outcome, _ = compared(tmp_path, Texts("# c\n", None))
    with pytest.raises(UserError, match="cannot write"):
        keeping.update([outcome])
    (tmp_path / "deep").unlink()
    (tmp_path / "deep" / "mine.config.txt").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot read"):
        compared(tmp_path, Texts("# c\n", None))


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    keeping.update([compared(tmp_path, texts(config(1)))[0]])
    outcome, place = compared(tmp_path, texts(config(2)))

    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file, "os", types.SimpleNamespace(**vars(whole_file.os)))
    monkeypatch.setattr(whole_file.os, "fsync", fail)
    with pytest.raises(UserError, match="No space left on device"):
        keeping.update([outcome])
    assert "x = 1" in place.config.read_text()
    assert len([*place.config.parent.iterdir()]) == 1
