"""Whatever is typed, a user meets a `UserError` or a config, nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override, apply

PATHS = st.sampled_from(
    [
        "model",
        "model.hidden",
        "model.widths",
        "model.widths[0]",
        "model.layers[1]",
        "model.table",
        "model.norm",
        "model.ckpt",
        "model.mode",
        "model.dtype",
        "model.mlp.activation",
        "opt",
        "name",
        "steps",
        "scale",
        "fast",
        "extra",
        "mesh.ici.fsdp",
        "**.dropout",
        "...width",
        "warmup",
        "opt[0]",
        "model.mlp[-1]",
        "extra[0]",
    ]
)
VALUES = st.sampled_from(
    [
        "1",
        "-1",
        "1.5",
        "1e9",
        "abc",
        "None",
        "true",
        "[1,2]",
        "{}",
        "{'a':1}",
        "(1,)",
        "Sgd",
        "Adam(b1=1)",
        "Mlp",
        "shop:x",
        "relu",
        "bfloat16",
        "rms",
        "'q'",
        "()",
        "[]",
        "ü",
        "1j",
        "b''",
        "...",
        "*",
        "lambda:0",
        "Sgd(Adam)",
        "f(x=f(x=1))",
        "[Sgd(), {'k': Mlp(width=2)}]",
        "(shop:Mlp, 1)",
        "fdlkit_test_shop:Mlp(width=1)",
        "[fdlkit_test_shop:Sgd(momentum=none)]",
        "fdlkit_test_shop.Mlp()",
        "Mlp(1, *a, **b)",
        "optax.chain(Sgd(), Adam)",
        "none",
        "[none]",
        "{a:b.c,d:e[0]}",
        "0x" + "f" * 6000,
        "[" * 150,
        "\ud800",
        "'\udcff'",
    ]
)
SCRAPS = st.sampled_from(
    [*list("~.*[]()'\"=+,:{}# \\\n\x00-_\udcff"), "..", "**", "+="]
)
OPERATORS = st.sampled_from(["=", "+=", "*=", "", "=="])
WRITTEN = st.builds(
    "{}{}{}{}{}".format,
    st.one_of(st.just(""), SCRAPS),
    st.one_of(PATHS, st.text(max_size=5)),
    OPERATORS,
    st.one_of(VALUES, st.text(max_size=5)),
    st.one_of(st.just(""), SCRAPS),
)
KINDS = st.sampled_from(["set", "set", "set", "tag", "fiddler"])
OVERRIDES = st.lists(
    st.builds(Override, KINDS, st.one_of(WRITTEN, WRITTEN, st.text(max_size=12))),
    max_size=4,
)


@pytest.fixture(scope="module")
def module(shop):
    return shop


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(overrides=OVERRIDES)
def test_no_text_makes_anything_else_than_a_user_error(module, overrides):
    cfg = module.base()
    with contextlib.suppress(UserError):
        apply(cfg, overrides, module)
    assert cfg == module.base()
