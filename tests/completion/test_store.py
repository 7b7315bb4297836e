"""What verbs leave for TAB: small, whole, for one text of a file, in bounds."""

from __future__ import annotations

import os

import pytest

from fdlkit.completion import store
from fdlkit.completion.offers import Offers, Step, Wanted

OFFERS = Offers(({"hidden": Step(Wanted("int"))},))
OTHERS = Offers(({"width": Step(Wanted("int"))},))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fdlkit" / "completion"


def test_what_was_kept_is_recalled_for_the_same_file_function_and_text(cache, tmp_path):
    file = tmp_path / "lm.py"
    store.keep(file, "base", "text", OFFERS)
    assert store.recall(file, "base", "text") == OFFERS
    assert store.recall(file, "tiny", "text") is None
    assert store.recall(file, "base", "text, edited") is None
    assert store.recall(tmp_path / "other.py", "base", "text") is None


def test_a_file_is_the_same_by_any_of_its_paths(cache, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    store.keep("lm.py", "base", "text", OFFERS)
    assert store.recall(tmp_path / "link" / "lm.py", "base", "text") == OFFERS


def test_the_last_text_of_a_file_is_the_one_that_is_kept(cache, tmp_path):
    file = tmp_path / "lm.py"
    store.keep(file, "base", "old", OFFERS)
    store.keep(file, "base", "new", OTHERS)
    assert store.recall(file, "base", "new") == OTHERS
    assert store.recall(file, "base", "old") is None
    assert len(list(cache.iterdir())) == 1


def test_what_has_changed_without_the_file_is_kept_anew(cache, tmp_path):
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    store.keep(tmp_path / "lm.py", "base", "text", OTHERS)
    assert store.recall(tmp_path / "lm.py", "base", "text") == OTHERS


def test_only_the_latest_entries_stay(cache, tmp_path):
    for number in range(205):
        store.keep(tmp_path / "lm.py", f"f{number}", "text", OFFERS)
        for entry in cache.iterdir():  # as if an hour went by
            stat = entry.stat()
            os.utime(entry, (stat.st_atime - 3600, stat.st_mtime - 3600))
    assert len(list(cache.iterdir())) == 200
    assert store.recall(tmp_path / "lm.py", "f4", "text") is None
    assert store.recall(tmp_path / "lm.py", "f5", "text") == OFFERS


def test_what_is_too_large_is_not_kept(cache, tmp_path):
    large = Offers(({"x" * 2_000_000: Step()},))
    store.keep(tmp_path / "lm.py", "base", "text", large)
    assert store.recall(tmp_path / "lm.py", "base", "text") is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"text": 1}', "[" * 100_000])
def test_a_damaged_entry_is_no_entry_and_is_replaced(cache, tmp_path, damage):
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    (entry,) = cache.iterdir()
    entry.write_text(damage)
    assert store.recall(tmp_path / "lm.py", "base", "text") is None
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    assert store.recall(tmp_path / "lm.py", "base", "text") == OFFERS


def test_where_nothing_can_be_written_nothing_is_kept_and_nothing_said(
    tmp_path, monkeypatch, capfd
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    assert store.recall(tmp_path / "lm.py", "base", "text") is None
    assert capfd.readouterr() == ("", "")


def test_a_write_that_fails_leaves_nothing_half_written(cache, tmp_path, monkeypatch):
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store.keep(tmp_path / "lm.py", "base", "text", OTHERS)
    assert store.recall(tmp_path / "lm.py", "base", "text") == OFFERS
    assert len(list(cache.iterdir())) == 1


def test_a_relative_cache_folder_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    assert not (tmp_path / "relative").exists()
    assert (tmp_path / ".cache" / "fdlkit" / "completion").is_dir()


def test_what_was_loaded_with_overrides_is_found_behind_the_same(cache, tmp_path):
    file, sgd, more = tmp_path / "lm.py", ("set", "opt=sgd"), ("set", "x=1")
    store.keep(file, "base", "text", OFFERS)
    store.keep(file, "base", "text", OTHERS, [sgd])
    assert store.recall(file, "base", "text") == OFFERS
    assert store.recall(file, "base", "text", [sgd]) == OTHERS
    assert store.recall(file, "base", "text", [sgd, more]) == OTHERS
    assert store.recall(file, "base", "text", [more, sgd]) == OFFERS


@pytest.mark.parametrize("home", ["", "relative", "./here"])
def test_a_home_that_would_move_holds_nothing(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    store.keep(tmp_path / "lm.py", "base", "text", OFFERS)
    assert store.recall(tmp_path / "lm.py", "base", "text") is None
    assert list(tmp_path.iterdir()) == []
