"""Which element of a sequence continues which."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from fdlkit.diff.sequences import align, in_order


def like_nothing(i, j):
    return 0.1


def unknown(i, j):
    return 0.0


def aligned(old, new, likeness=like_nothing, at_least=unknown):
    return align(old, new, likeness, at_least)


def test_an_insertion_leaves_the_others_where_they_were():
    assert aligned("abc", "xabc") == [None, 0, 1, 2]
    assert aligned("abc", "abxc") == [0, 1, None, 2]
    assert aligned("aaaa", "aaaaa").count(None) == 1


def test_what_is_equal_is_found_out_of_order_too():
    assert aligned("abcd", "dabc") == [3, 0, 1, 2]
    assert aligned("abcd", "dcba") == [3, 2, 1, 0]


def test_several_insertions_among_equal_elements_are_few():
    old = [0] * 500
    new = [*old[:100], 1, *old[100:300], 2, *old[300:]]
    found = aligned(old, new)
    assert [j for j, i in enumerate(found) if i is None] == [100, 301]


def test_equal_elements_keep_their_places_where_they_can():
    assert aligned("LEEEBD", "LeEEBd") == [0, 1, 2, 3, 4, 5]
    assert aligned("EEE", "EeE") == [0, 1, 2]
    assert aligned("XEEEY", "xeEEy") == [0, 1, 2, 3, 4]
    assert aligned("EEE", "NeEE")[2:] == [1, 2]


def test_what_is_left_over_is_paired_by_likeness():
    def likeness(i, j):
        return 0.9 if (i, j) in {(1, 2), (2, 3)} else 0.3

    assert aligned("abcd", "axyzd", likeness) == [0, None, 1, 2, 3]


def test_what_is_plainly_alike_in_turn_is_not_asked_about():
    asked = []

    def likeness(i, j):
        asked.append((i, j))
        return {(1, 1): 0.5, (2, 2): 0.6, (1, 2): 0.99, (2, 1): 0.99}[i, j]

    def at_least(i, j):
        return {(1, 1): 0.45, (2, 2): 0.55}[i, j]

    assert aligned("abcd", "axyd", likeness, at_least) == [0, 1, 2, 3]
    assert not asked
    assert aligned("abcd", "axyd", likeness) == [0, 1, 2, 3]
    assert asked


def test_what_is_little_alike_in_turn_is_asked_about():
    def likeness(i, j):
        return 0.99 if (i, j) == (1, 2) else 0.4

    assert aligned("abcd", "axyd", likeness, lambda i, j: 0.4) == [0, None, 1, 3]


def test_long_stretches_without_anything_in_common_are_paired_in_order():
    asked = []

    def likeness(i, j):
        asked.append((i, j))
        return 0.5

    old, new = range(5000), range(5000, 10000)
    assert aligned(old, new, likeness) == list(range(5000))
    assert len(asked) < 5000


@hypothesis.given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_each_old_element_continues_in_one_new_one_and_equal_ones_first(old, new):
    found = aligned(old, new)
    used = [i for i in found if i is not None]
    assert len(used) == len(set(used))
    assert len(found) == len(new)
    for value in set(old) & set(new):
        pairs = [(i, j) for j, i in enumerate(found) if i is not None]
        equal = sum(old[i] == new[j] == value for i, j in pairs)
        assert equal == min(old.count(value), new.count(value))


@hypothesis.given(st.permutations(range(8)))
def test_the_longest_part_in_order_goes_up(numbers):
    kept = in_order(numbers)
    part = [n for n in numbers if n in kept]
    assert part == sorted(part)
    assert len(part) >= 3 or len(in_order(numbers[::-1])) >= 3  # Erdős and Szekeres
    assert in_order([]) == set()
