"""`--grep` keeps the rows that match and the way to each."""

from __future__ import annotations

import re

import fiddle as fdl
import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.graph.snapshot import snapshot
from fdlkit.view.grep import grep
from fdlkit.view.tree import line, render, tree
from tests.graph.configs import Box, configs
from tests.view.scenes import small


def shown(config, pattern):
    return render(grep(tree(snapshot(config)), re.compile(pattern)))


def test_hits_are_marked_and_stand_below_what_leads_to_them():
    assert shown(small(), "pair|hidden") == (
        "Job\n"
        "├─ model = Model\n"
        "│  ├─ hidden: int = 128  (--fdl_set)  ←\n"
        "│  └─ embed = &1 Mlp\n"
        "│     └─ width: int = ref(..hidden) = 128  ←\n"
        "└─ parts = dict\n"
        "   └─ ['pair'] = tuple  ←\n"
    )


def test_a_match_in_a_path_reaches_the_rows_own_name():
    config = fdl.Config(Box, a=fdl.Config(Box, a=fdl.Config(Box, b=7)))
    text = render(grep(tree(snapshot(config), defaults=False), re.compile(r"a\.a")))
    assert text == "Box\n└─ a = Box\n   └─ a = Box  ←\n"


def test_nothing_that_matches_is_no_rows():
    assert grep(tree(snapshot(small())), re.compile("zzz")) == []


def test_everything_that_matches_is_the_whole_tree():
    rows = tree(snapshot(small()))
    found = grep(rows, re.compile(""))
    assert [row.guides for row in found] == [row.guides for row in rows]
    assert all(row.is_hit for row in found)


@hypothesis.given(configs(), st.sampled_from(["a", "b", r"\d", "Box", r"\[0\]$", "="]))
def test_what_is_kept_is_a_hit_or_above_one(config, pattern):
    rows = tree(snapshot(config))
    found = grep(rows, re.compile(pattern))
    hits = {row.path for row in found if row.is_hit}
    assert hits >= {row.path for row in rows if re.search(pattern, line(row))}
    by_level: list[str] = []
    above: set[str] = set()
    for row in rows:
        del by_level[len(row.guides) // 3 :]
        if row.path in hits:
            above.update(by_level)
        by_level.append(row.path)
    assert [row.path for row in found] == [
        row.path for row in rows if row.path in hits | above
    ]


def test_a_thousand_levels_are_no_trouble():
    chain = fdl.Config(Box, a=7)
    for _ in range(1000):
        chain = fdl.Config(Box, a=chain)
    found = grep(tree(snapshot(chain), defaults=False), re.compile("= 7"))
    assert len(found) == 1002 and sum(row.is_hit for row in found) == 1


@pytest.mark.parametrize("colored", [True, False])
def test_a_value_that_a_flag_set_says_so(colored):
    text = render(tree(snapshot(small()), defaults=False), color=colored)
    (found,) = [text for text in text.splitlines() if "(--fdl_set)" in text]
    assert "128" in found
    assert ("\x1b[1;32m128\x1b[0m" in found) == colored
