"""Hand-made pairs of configs, with the exact text of their differences beside each.

`python -m tests.diff.test_cases` writes the texts anew; read what it changes.
"""

from __future__ import annotations

import importlib
import pathlib

import fiddle as fdl
import pytest

from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.diff.text import render
from fdlkit.graph.equality import equal

CASES = pathlib.Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.py"))


def pair(name: str) -> tuple[fdl.Buildable, fdl.Buildable]:
    module = importlib.import_module(f"tests.diff.cases.{name}")
    return module.old(), module.new()


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_pair_is_as_written(name):
    expected = (CASES / f"{name}.txt").read_text(encoding="utf-8")
    assert render(diff(*pair(name))) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_changes_of_a_pair_are_complete_both_ways(name):
    old, new = pair(name)
    assert equal(apply(diff(old, new), old), new)
    assert equal(apply(diff(new, old), new), old)


def test_there_are_many_pairs():
    assert len(NAMES) >= 20


if __name__ == "__main__":
    for stem in NAMES:
        text = render(diff(*pair(stem)))
        (CASES / f"{stem}.txt").write_text(text, encoding="utf-8")
