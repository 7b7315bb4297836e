"""Text of others is shown, and acts on nothing."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from fdlkit import printable


@hypothesis.given(st.text(st.characters(codec=None)))
def test_what_is_clean_is_printable_and_can_be_encoded(text):
    cleaned = printable.clean(text)
    assert cleaned.isprintable()
    cleaned.encode("utf-8")
    assert printable.clean(cleaned) == cleaned
    assert all(line.isprintable() for line in printable.lines(text))


@hypothesis.given(st.text().filter(str.isprintable))
def test_printable_text_is_left_alone(text):
    assert printable.clean(text) == text


def test_what_acts_on_a_terminal_is_spelt_out():
    assert printable.clean("\x1b[31mé\u202e\x00\ta") == r"\x1b[31mé\u202e\x00 a"
    assert printable.lines("a\r\n\x07b\n") == ["a", r"\x07b"]


def test_long_text_is_cut():
    assert printable.cut("abcdef", 4) == "abc…"
    assert printable.cut("abcd", 4) == "abcd"
