"""What does not make the same again is not written."""

from __future__ import annotations

import fractions

import fiddle as fdl
import pytest

from fdlkit.codegen import proof
from fdlkit.codegen.writing import codegen
from fdlkit.errors import RunFailedError
from tests.codegen import things


@pytest.fixture
def prove(tmp_path):
    """Proves a text of a config; nothing is left beside it."""

    def run(text, config, style="build"):
        function = "build" if style == "build" else "base"
        try:
            proof.prove(
                text,
                config,
                style=style,
                function=function,
                beside=tmp_path / "code.py",
            )
        finally:
            assert not list(tmp_path.iterdir())

    return run


def half() -> fdl.Config:
    return fdl.Config(dict, half=fdl.Config(fractions.Fraction, 1, 2), name="x")


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_what_was_written_is_right(prove, style):
    prove(codegen(half(), style=style), half(), style)


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_another_value_is_found(prove, style):
    text = codegen(half(), style=style).replace("denominator=2", "denominator=3")
    with pytest.raises(RunFailedError, match="something else") as failed:
        prove(text, half(), style)
    told = str(failed.value)
    was, became = {
        "build": ("Fraction(1, 2)", "Fraction(1, 3)"),
        "fiddle": (": int 2", ": int 3"),
    }[style]
    assert was in told and became in told


def test_a_copy_in_place_of_what_is_shared_is_found(prove):
    shared = fdl.Config(things.Box, a=1)
    config = fdl.Config(dict, a=shared, b=[shared])
    text = codegen(config, style="build")
    text = text.replace("b=[a]", "b=[Box(a=1)]")
    assert "b=[Box(a=1)]" in text
    with pytest.raises(RunFailedError, match="shared"):
        prove(text, config)


def test_a_text_that_raises_is_told_with_its_line(prove):
    text = codegen(half(), style="build").replace("denominator=2", "denominator=0")
    with pytest.raises(RunFailedError, match="does not run") as failed:
        prove(text, half())
    assert "ZeroDivisionError" in str(failed.value)
    assert "denominator=0" in str(failed.value)


def test_a_text_that_ends_its_interpreter_is_told(prove):
    text = "import os\ndef build(): os._exit(3)\n"
    with pytest.raises(RunFailedError, match="exit code 3"):
        prove(text, half())


@pytest.mark.parametrize("package", ["fiddle", "fdlkit"])
def test_code_that_needs_no_fiddle_imports_none(prove, package):
    text = codegen(half(), style="build")
    late = text.replace("return", f"__import__('{package}')\n    return")
    with pytest.raises(RunFailedError, match=f"No module named '{package}'"):
        prove(late, half())


def test_a_module_that_the_config_names_may_import_fiddle_itself(prove):
    config = fdl.Config(things.Box, a=1)
    prove(codegen(config, style="build"), config)
