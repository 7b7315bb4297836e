"""A line is cut into words as a shell would cut it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit.completion.words import quoted, split


@pytest.mark.parametrize(
    ("line", "values", "quote"),
    [
        ("", [""], ""),
        ("fdlkit", ["fdlkit"], ""),
        ("fdlkit ", ["fdlkit", ""], ""),
        ("fdlkit  show\tx", ["fdlkit", "show", "x"], ""),
        (r"a my\ dir/x", ["a", "my dir/x"], ""),
        ('a "my dir', ["a", "my dir"], '"'),
        ("a 'my dir/", ["a", "my dir/"], "'"),
        ("a 'my dir' ", ["a", "my dir", ""], ""),
        (r"""a "x\"y\z" 'p\q'""", ["a", r'x"y\z', r"p\q"], ""),
        ('a --out="my dir/', ["a", "--out=my dir/"], '"'),
        ("a \"it's", ["a", "it's"], '"'),
        ("a x\\", ["a", "x"], ""),
        ('a ""', ["a", ""], ""),
    ],
)
def test_words_have_their_values_and_the_last_its_open_quote(line, values, quote):
    words = split(line)
    assert [word.value for word in words] == values
    assert words[-1].quote == quote


def test_a_value_knows_how_much_of_the_line_it_takes():
    (word,) = split(r"my\ dir/'a b'")
    assert word.value == "my dir/a b"
    assert word.raw[: word.ends[len("my dir/") - 1]] == r"my\ dir/"


@given(st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" ")))
def test_what_is_quoted_is_one_word_again_with_any_quote(text):
    for quote in ("", '"', "'"):
        typed = f"{quote}{quoted(text, quote)}{quote}"
        assert split(f"x {typed}")[-1].value == text


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_bash_reads_what_is_quoted_as_it_was_meant(quote):
    text = " $HOME `id` (a) [b]* 'c' \"d\" \\ #e; f|g & {h,i} <j> é ~"
    command = f"printf %s {quote}{quoted(text, quote)}{quote}"
    told = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert told.stdout == text


@given(st.text())
def test_any_line_has_a_last_word(line):
    assert split(line)[-1].raw in line
