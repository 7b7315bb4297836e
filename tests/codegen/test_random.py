"""Random graphs: what is written makes the same again, in both styles."""

from __future__ import annotations

import contextlib
import functools
import re

import fiddle as fdl
import hypothesis
import jax.numpy as jnp
import numpy as np
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


# What the generator draws and code refuses: a field that no constructor takes, a
# partial that may hold a list or dict twice, arrays of another machine's byte order.
_MAY_BE_REFUSED = re.compile(
    r"count=(?!3\b)|functools\.partial\(.*[\[{]|dtype='?>", re.DOTALL
)


def written(config, style):
    """The code; None where it may be refused, and is."""
    if not _MAY_BE_REFUSED.search(repr(config)):
        return unformatted(config, style)
    with contextlib.suppress(UserError):
        return unformatted(config, style)
    return None


@_settings
@hypothesis.given(config=configs())
def test_code_of_the_style_fiddle_makes_an_equal_config(config, evaluated):
    text = written(config, "fiddle")
    if text is None:
        return
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
    text = written(config, "build")
    if text is None:
        return
    made = evaluated(text, "build")
    wanted, found = described.describe(built), described.describe(made)
    assert described.difference(wanted, found) is None, text


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_a_value_that_holds_one_list_twice_is_refused(style):
    held: list[int] = []
    config = fdl.Config(dict, a=functools.partial(dict, x=held, y=held))
    with pytest.raises(UserError, match="a partial that holds one and the same list"):
        unformatted(config, style)


@pytest.mark.parametrize("style", ["build", "fiddle"])
def test_a_nan_keeps_every_bit(style, evaluated):
    odd = np.frombuffer(b"\x01\xff\x00\xfe", np.float16).copy()
    config = fdl.Config(dict, a=odd, b=odd[0], c=jnp.asarray(odd[:1]))
    made = evaluated(
        unformatted(config, style), "build" if style == "build" else "base"
    )
    made = made if style == "build" else build(made)
    for key, held in build(config).items():
        assert np.asarray(made[key]).tobytes() == np.asarray(held).tobytes()
