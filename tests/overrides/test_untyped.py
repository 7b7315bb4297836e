"""Where no annotation says what a value is, nothing surprising becomes a string."""

from __future__ import annotations

import importlib
import math
import sys

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override, apply
from fdlkit.overrides.problems import BadTextError
from fdlkit.overrides.symbols import Scope
from tests.overrides import loose, relatives


def change(*texts):
    overrides = [Override("set", text) for text in texts]
    return apply(loose.base(), overrides, loose)[0]


def refusal(text):
    with pytest.raises(UserError) as refused:
        change(text)
    return "\n".join(refused.value.lines)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("loud.value=3", 3),
        ("loud.value=[1, 'a']", [1, "a"]),
        ("loud.value=abc", "abc"),
        ("loud.value=two words", "two words"),
        ("loud.value=1.2.3", "1.2.3"),
        ("loud.value=2024-01-01", "2024-01-01"),
        ("loud.value=lr(0.1) warm", "lr(0.1) warm"),
        ("loud.value='none'", "none"),
        ("loud.value=\"'none'\"", "'none'"),
        ("loud.label=none", "none"),
        ("loud.label=[1,", "[1,"),
        ("loud.label=true", "true"),
        ("loud.count=inf", math.inf),
        ("loud.fast=true", True),
        ("loud.fast=No", False),
    ],
)
def test_a_literal_is_read_and_other_words_are_a_string(text, value):
    cfg = change(text)
    name = text.partition("=")[0].rpartition(".")[2]
    assert getattr(cfg.loud, name) == value
    assert type(getattr(cfg.loud, name)) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loud.value=none", "did you mean 'None'?"),
        ("loud.value=null", "did you mean 'None'?"),
        ("loud.value=true", "did you mean 'True'?"),
        ("loud.value=Flase", "did you mean 'False'?"),
        ("loud.value=[1,2", "'[' was never closed"),
        ("loud.value='abc", "unterminated string literal"),
        ("loud.value=f'x'", "it opens like a Python literal"),
        ("loud.value=1e-", "it begins like a number"),
        ("loud.value=007", "it begins like a number"),
        ("loud.value=inf", "write 1e999 for infinity"),
        ("loud.value=nan", "it reads as a number"),
        ("loud.value=[none]", "did you mean 'None'?"),
        ("loud.value=[abc]", "quote it"),
        ("loud.value=[{'a': x}]", "quote it"),
        ("loud.value={**a}", "write {'key': value}"),
        ("loud.value=Prat(size=1)", "did you mean 'Part'?"),
        ("loud.value=Part(sise=1)", "did you mean 'size'?"),
        ("loud.value=[loose:Part]", "write loose:Part() for a node"),
    ],
)
def test_what_was_hardly_meant_as_a_string_is_told(text, says):
    assert says in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "loud.value=ref('steps')",
        "chain[1].size=fdlkit.ref('pair')",
        "parts=[ref(path='pair')]",
    ],
)
def test_a_reference_is_no_value_of_an_override(text):
    said = refusal(text)
    assert "a reference is written in a file, not in an override" in said
    assert "write the value itself" in said and "a fiddler" in said


def test_a_symbol_may_be_qualified_in_a_dict_too():
    cfg = change("loud.value={'a': tests.overrides.loose:Part(size=3)}")
    assert cfg.loud.value == {"a": fdl.Config(loose.Part, size=3)}
    assert change("loud.value={'a':tests.overrides.loose:Part()}").loud.value["a"]


def test_how_the_string_is_written_is_told_where_that_works():
    line = "to mean the string, quote it: \"'none'\""
    assert refusal("loud.value=none").endswith(line)
    assert change("loud.value='none'").loud.value == "none"


MODULE = "tests.overrides.loose"


@pytest.mark.parametrize("name", ["Part", f"{MODULE}:Part"])
@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("loud.value={}(size=3)", lambda part: part),
        ("loud.value=[{}(size=3)]", lambda part: [part]),
        ("loud.value=({}(size=3), 1)", lambda part: (part, 1)),
        ("loud.value={{'k': {}(size=3)}}", lambda part: {"k": part}),
        ("loud.value=[[{}(size=3)], {{'k': 'v'}}]", lambda part: [[part], {"k": "v"}]),
        ("loud.node=[{}(size=3)]", lambda part: [part]),
    ],
)
def test_a_call_makes_a_node_wherever_it_stands(name, text, shape):
    cfg = change(text.format(name))
    held = text.partition("=")[0].rpartition(".")[2]
    assert getattr(cfg.loud, held) == shape(fdl.Config(loose.Part, size=3))


@pytest.mark.parametrize("name", ["Part", f"{MODULE}:Part"])
def test_so_it_does_in_a_typed_list(name):
    part = fdl.Config(loose.Part, size=3)
    assert change(f"parts=[{name}(size=3)]").parts == [part]
    assert change(f"parts+=[{name}(note={name}(size=3))]").parts[0].note == part
    assert change(f"parts=[{name}]").parts == [fdl.Config(loose.Part)]


@pytest.mark.parametrize("text", ["3", "'x'", "True", "[]", "{'a': 1}", "1.5"])
def test_a_node_is_not_replaced_by_a_plain_value(text):
    says = refusal(f"loud.node={text}")
    assert "is not a node, which is what stands there: loud.node" in says
    assert "unset the node first: ~PATH" in says
    assert change("~loud.node", f"loud.node={text}").loud.node == eval(text)


def test_a_node_may_be_taken_away():
    assert change("loud.node=None").loud.node is None


def test_bare_words_where_strings_are_wanted_may_have_dots_and_indices():
    cfg = change("words={tokens:batch.tokens,aux:preds.aux[0],file:a/b-c.txt}")
    assert cfg.words == {
        "tokens": "batch.tokens",
        "aux": "preds.aux[0]",
        "file": "a/b-c.txt",
    }


@pytest.mark.parametrize("word", ["none", "null", "Noen", "None_"])
def test_none_in_another_spelling_is_told_where_none_is_allowed(word):
    says = refusal(f"every={word}")
    assert f"'{word}' is not an int or None" in says
    assert "did you mean 'None'?" in says
    assert "did you mean" not in refusal("every=abc")


def test_what_is_no_name_is_not_looked_for():
    with pytest.raises(BadTextError, match="is not the name of a function or class"):
        Scope((loose,)).find("a b")


def test_an_open_bracket_is_told_in_the_users_own_words():
    text = f"loud.node={MODULE}:Part("
    assert refusal(text).splitlines() == [
        f"'{MODULE}:Part(' is not written like Name(argument=value): "
        f"loud.node ({MODULE}.loud)",
        f"  --fdl_set={text}",
        f"  {' ' * len('--fdl_set=loud.node=')}{'^' * len(MODULE + ':Part(')} "
        "'(' was never closed",
    ]


def test_a_dotted_call_is_told_its_colon():
    assert f"did you mean '{MODULE}:Part'?" in refusal(f"parts=[{MODULE}.Part()]")
    assert f"did you mean '{MODULE}:Part'?" in refusal(f"parts=[{MODULE}.Prat()]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("relative=Cousin(toys=3)", fdl.Config(relatives.Cousin, toys=3)),
        ("default=Cousin", fdl.Config(relatives.Cousin)),
        ("rounding=down", relatives.down),
    ],
)
def test_a_name_is_found_beside_what_stands_there_or_is_wanted(text, value):
    assert getattr(change(text), text.partition("=")[0]) == value


def test_beside_a_function_of_python_stand_its_like():
    assert change("loud.function=max").loud.function is max


@pytest.mark.parametrize(
    "text",
    ["loud.value=0x", "loud.value=[0x", "every=0x", "loud.value=-0x", "loud.count=0x"],
)
def test_an_int_that_python_would_not_print_is_refused(text):
    digits = "f" * 6000
    assert "is too large" in refusal(text + digits + ("]" if "[" in text else ""))


def test_a_product_that_python_would_not_print_is_refused():
    texts = [f"every={'9' * 3000}", f"every*={'9' * 3000}"]
    with pytest.raises(UserError, match="the result is too large"):
        change(*texts)


def test_a_module_in_a_loaded_package_is_named_whether_it_is_loaded_or_not(
    tmp_path, monkeypatch
):
    package = tmp_path / "half_loaded_zz" / "layers"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "dense.py").write_text("class Dense: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    for loaded in ("half_loaded_zz", "half_loaded_zz.layers"):
        importlib.import_module(loaded)
        with pytest.raises(BadTextError) as caught:
            Scope().find("half_loaded_zz.layers.dense.Dense")
        assert caught.value.hint == "did you mean 'half_loaded_zz.layers.dense:Dense'?"
    assert "half_loaded_zz.layers.dense" not in sys.modules
