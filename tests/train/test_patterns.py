"""Patterns over the paths of parameters."""

from __future__ import annotations

import fnmatch
import itertools
import random

import pytest

from fdlkit.train.patterns import PatternError, assigned, is_within, matches

PATHS = (
    "embed/embedding",
    "layers/block/attention/query/bias",
    "layers/block/attention/query/kernel",
    "layers/block/mlp/up/bias",
    "layers/block/mlp/up/kernel",
    "norm/scale",
    "output/kernel",
)


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("**", 7),
        ("embed/**", 1),
        ("embed/embedding", 1),
        ("embed", 0),
        ("**/bias", 2),
        ("**/kernel", 3),
        ("layers/**/kernel", 2),
        ("layers/*/kernel", 0),
        ("layers/*/*/up/*", 2),
        ("*/kernel", 1),
        ("**/mlp/**", 2),
        ("layers/**/mlp/up/**/kernel", 1),
        ("*/[es]*", 2),
        ("**/b?as", 2),
        ("**/Bias", 0),
    ],
)
def test_stars_stand_for_names_and_two_of_them_for_any_number(pattern, count):
    assert sum(matches(pattern, path) for path in PATHS) == count


def test_a_pattern_within_another_matches_nothing_that_the_other_does_not():
    rng = random.Random(0)
    names = ("a", "b", "ab", "*", "a*", "?", "**")
    paths = ["/".join(p) for n in (1, 2, 3) for p in itertools.product("ab", repeat=n)]
    within = 0
    for _ in range(2000):
        one, other = (
            "/".join(rng.choices(names, k=rng.randint(1, 4))) for _ in range(2)
        )
        some = {path for path in paths if matches(one, path)}
        if is_within(one, other):
            within += 1
            assert some <= {path for path in paths if matches(other, path)}, (
                one,
                other,
            )
    assert within > 200


def test_a_pattern_without_two_stars_is_a_shells_of_one_name():
    for word, name in itertools.product(
        ("a*", "*b", "a?b", "[ab]*", "ab"), ("ab", "b")
    ):
        assert matches(word, name) == fnmatch.fnmatchcase(name, word)


@pytest.mark.parametrize(
    "order", list(itertools.permutations(("**", "**/bias", "embed/**")))
)
def test_a_parameter_is_of_its_narrowest_pattern_in_whatever_order_they_stand(order):
    found = assigned(order, PATHS)
    assert list(found) == list(PATHS)
    assert {p for p, pattern in found.items() if pattern == "embed/**"} == {PATHS[0]}
    assert {p for p, pattern in found.items() if pattern == "**/bias"} == {
        PATHS[1],
        PATHS[3],
    }


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("embd/**", "embed/**"),
        ("embed", "embed/**"),
        ("kernel", "**/kernel"),
        ("mlp", "**/mlp/**"),
        ("mpl/**", "**/mlp/**"),
        ("params/embed/embedding", "embed/embedding"),
        ("layers.block.mlp.**", "layers/block/mlp/**"),
        ("**/kernal", "**/kernel"),
        ("/embed/**", "embed/**"),
        ("layers/block/atention/**", "layers/block/attention/**"),
        ("layers/*/up/kernel", None),
        ("zzz", None),
    ],
)
def test_a_pattern_that_matches_nothing_is_told_what_was_meant(pattern, meant):
    with pytest.raises(PatternError) as refused:
        assigned([pattern, "**"], PATHS)
    assert (refused.value.pattern, refused.value.meant) == (pattern, meant)
    what, *rest = refused.value.lines
    assert what == f"the pattern {pattern!r} matches no parameter"
    assert (rest[0] == f"did you mean '{meant}'?") == (meant is not None)
    assert f"there are 7 parameters: {PATHS[0]}" in rest[-2]


def test_a_parameter_without_a_pattern_is_named_with_what_to_write():
    with pytest.raises(PatternError) as refused:
        assigned(["embed/**", "**/kernel"], PATHS)
    assert refused.value.lines == (
        "no pattern matches 3 parameters: layers/block/attention/query/bias, "
        "layers/block/mlp/up/bias, norm/scale",
        "patterns: 'embed/**', '**/kernel'",
        "say what is to become of the rest: '**' matches what no narrower pattern does",
    )


def test_two_patterns_neither_of_which_is_narrower_are_refused():
    with pytest.raises(PatternError) as refused:
        assigned(["**", "layers/**", "**/bias"], PATHS)
    what, remedy = refused.value.lines
    assert "'layers/**' and '**/bias' both match the parameter" in what
    narrower = "layers/**/bias"
    assert "layers/block/attention/query/bias" in remedy
    assert assigned(["**", "layers/**", "layers/**/bias"], PATHS)[PATHS[1]] == narrower


def test_a_pattern_that_narrower_ones_leave_nothing_is_refused():
    with pytest.raises(PatternError) as refused:
        assigned(["**", "embed/**", "embed/embedding"], PATHS)
    assert refused.value.pattern == "embed/**"
    assert "is left with no parameter" in refused.value.lines[0]
