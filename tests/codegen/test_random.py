"""Random graphs: what is written makes the same again, in both styles."""

from __future__ import annotations

import hypothesis
import pytest

from fdlkit.codegen import described
from fdlkit.codegen.proof import plain_config
from fdlkit.codegen.writing import unformatted
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from tests.graph.configs import configs

# The fixture runs a text each time from the beginning.
_settings = hypothesis.settings(
    suppress_health_check=[
        hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.too_slow,
    ]
)


@_settings
@hypothesis.given(config=configs())
def test_code_of_the_style_fiddle_makes_an_equal_config(config, evaluated):
    text = unformatted(config, "fiddle")
    made = evaluated(text, "base")
    assert equal(made, config), text
    wanted = described.describe(plain_config(config))
    found = described.describe(plain_config(made))
    assert described.difference(wanted, found) is None, text
    assert unformatted(made, "fiddle") == text


@_settings
@hypothesis.given(config=configs())
def test_code_of_the_style_build_returns_what_a_build_returns(config, evaluated):
    try:
        built = build(config)
    except UserError:
        with pytest.raises(UserError):
            unformatted(config, "build")
        return
    text = unformatted(config, "build")
    made = evaluated(text, "build")
    wanted, found = described.describe(built), described.describe(made)
    assert described.difference(wanted, found) is None, text
