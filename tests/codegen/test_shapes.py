"""Each shape of the table is written right, or refused with a remedy."""

from __future__ import annotations

import pytest

from fdlkit.codegen import described
from fdlkit.codegen.proof import plain_config
from fdlkit.codegen.writing import codegen
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.equality import equal
from tests.codegen.shapes import ONLY_ITSELF, REFUSED, SHAPES


@pytest.mark.parametrize("style", ["build", "fiddle"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_written_right_or_refused(shape, style, evaluated):
    config = SHAPES[shape]()
    reason = REFUSED.get((shape, style))
    if reason is not None:
        with pytest.raises(UserError) as refused:
            codegen(config, style=style)
        assert reason in str(refused.value)
        return
    text = codegen(config, style=style)
    if style == "build":
        made = evaluated(text, "build")
        wanted, found = described.describe(build(config)), described.describe(made)
    else:
        made = evaluated(text, "base")
        assert shape in ONLY_ITSELF or equal(made, config)
        wanted = described.describe(plain_config(config))
        found = described.describe(plain_config(made))
    assert described.difference(wanted, found) is None, text


def test_the_table_is_as_large_as_was_promised():
    assert len(SHAPES) >= 70
    for style in ("build", "fiddle"):
        refused = [shape for shape, of in REFUSED if of == style]
        assert set(refused) <= set(SHAPES)
        assert len(SHAPES) - len(refused) >= 64
