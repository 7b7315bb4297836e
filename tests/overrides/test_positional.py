"""Positional arguments are reached by index, and given where there are no names."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override, apply
from tests.overrides import loose


def change(*texts):
    overrides = [Override("set", text) for text in texts]
    return apply(loose.base(), overrides, loose)[0]


def refusal(text):
    with pytest.raises(UserError) as refused:
        change(text)
    return "\n".join(refused.value.lines)


@pytest.mark.parametrize("last", ["[1]", "[-1]", ".1", ".-1"])
def test_an_element_is_reached_in_every_spelling(last):
    cfg = change(f"chain{last}.size=7")
    assert [part.size for part in cfg.chain[:]] == [1, 7]
    assert change(f"chain{last}.size+=5").chain[1].size == 7
    assert change(f"chain{last}=Part(size=9)").chain[1].size == 9
    assert len(change(f"~chain{last}").chain[:]) == 1


def test_everywhere_reaches_them_too():
    assert [part.size for part in change("**.size=4").chain[:]] == [4, 4]
    assert [part.size for part in change("chain.**.size=4").chain[:]] == [4, 4]


def test_they_are_typed_by_the_annotation_of_the_rest():
    assert "'3' is not a Part: chain[0]" in refusal("chain[0]=3")


def test_an_index_beyond_them_is_refused():
    assert refusal("chain[2].size=1").splitlines() == [
        "chain (tests.overrides.loose.Chain) has 2 positional arguments, and so no [2]",
        "  --fdl_set=chain[2].size=1",
        "                 ^^^ 0 to 1",
        "  to give it others, write the whole of it: Name(value, value)",
    ]
    assert "has 2 positional arguments" in refusal("pair[2]=1")


def test_an_argument_without_a_name_is_typed():
    assert fdl.build(change("pair[0]=1e2", "pair[-1]=5").pair) == (100, 5)
    assert "'x' is not an int" in refusal("pair[0]=x")


def test_an_index_means_the_name_where_there_is_one():
    cfg = change("chain[1][0]=8")
    assert cfg.chain[1].size == 8


@pytest.mark.parametrize(
    "text",
    [
        "chain=Chain(Part(size=3), Part, name='mine')",
        "chain=tests.overrides.loose:Chain(Part(size=3), Part(), name=mine)",
    ],
)
def test_a_call_takes_arguments_without_names_for_the_rest(text):
    chain = fdl.build(change(text)).chain
    assert chain.parts == (loose.Part(size=3), loose.Part())
    assert chain.name == "mine"


def test_nested_calls_take_them_too():
    cfg = change("loud.value=[Chain(Part(note=Chain(Part(size=3))))]")
    inner = cfg.loud.value[0][0].note
    assert inner[0] == fdl.Config(loose.Part, size=3)


def test_a_function_whose_arguments_have_no_names_is_given_them():
    assert fdl.build(change("pair=only_by_place(3, 4)").pair) == (3, 4)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("loud.value=Part(3)", "3"),
        ("chain=Chain(*parts)", "*parts"),
        ("pair=only_by_place(1, 2, 3)", "3"),
    ],
)
def test_elsewhere_arguments_are_given_by_name(text, marked):
    what, quoted, caret, *_ = refusal(text).splitlines()
    assert "are given by name" in what
    assert quoted[caret.index("^") : caret.rindex("^") + 1] == marked
