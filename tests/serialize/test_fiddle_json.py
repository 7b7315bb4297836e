"""What Fiddle wrote is read as if it were written here, and imports nothing."""

from __future__ import annotations

import collections
import contextlib
import enum
import json
import math
import subprocess
import sys
from typing import Any

import fiddle as fdl
import flax.linen as nn
import hypothesis
import jax
import jax.numpy as jnp
import optax
import pytest
from fiddle import tagging
from fiddle.experimental import dict_config, serialization
from hypothesis import strategies as st

from fdlkit.cli import main as cli
from fdlkit.errors import UserError
from fdlkit.graph import names
from fdlkit.graph.equality import differences, equal
from fdlkit.graph.references import ref
from fdlkit.serialize import fiddle_names
from fdlkit.serialize.allowed import NAMES
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.targets.loading import load, read_graph
from tests.graph.configs import Box, Dynamic, Norm, Pair, Rate, collect

HERE = ["tests.graph.configs"]


def everything() -> Any:
    """One of each construct that Fiddle can write."""
    shared = fdl.Config(Box, a=fdl.Config(optax.adamw, 1e-3, b1=0.9))
    fdl.add_tag(shared, "a", Rate)
    shared.b = [1, (2, "x"), {"k": math.inf, 3: -math.inf, Norm.RMS: b"ab\xff\\"}]
    shared.c = Pair(Norm.LAYER, {1, 2.5, "x", None})
    return fdl.Config(
        dict,
        shared=shared,
        again=shared.b,
        places=fdl.Config(collect, 1, 2, 3, z=shared.a),
        partial=fdl.Partial(
            nn.Dense,
            3,
            kernel_init=fdl.ArgFactory(nn.initializers.zeros_init),
            dtype=jnp.float32,
        ),
        slice=slice(1, None),
        elements=frozenset({(1, 2), (0, "q"), frozenset({3})}),
        default=collections.defaultdict(list, {"a": shared}),
        tagged=tagging.TaggedValue(tags=[Rate], default=4),
        dict_config=dict_config.DictConfig(x=[shared]),
        reference=ref("shared.b"),
        computed=ref("count") * 2 - 1,
        count=3,
        functions=[nn.gelu, optax.sgd, jax.nn.initializers.lecun_normal, Norm],
        empty=[(), [], {}, set()],
        unicode="\ud800é",
    )


def test_it_reads_as_the_config_that_fiddle_was_given():
    config = everything()
    text = serialization.dump_json(config)
    graph = read(text)
    assert differences(config, graph) == []
    assert equal(graph, config) and equal(config, graph)
    assert dumps(graph) == dumps(config)
    assert equal(loads(text, allow=HERE), config)


_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False),
    st.text(max_size=3), st.sampled_from([Norm.RMS, Box, collect]),
    st.sets(st.integers(0, 9), max_size=3), st.binary(max_size=3),
)  # fmt: skip


@st.composite
def configs(draw: st.DrawFn) -> Any:
    """A config of what Fiddle can write."""
    made: list[Any] = []

    def value() -> Any:
        return draw(st.sampled_from(made) if made and draw(st.booleans()) else _LEAVES)

    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["config", "partial", "list", "tuple", "dict"]))
        if kind == "list":
            made.append([value(), value()])
        elif kind == "tuple":
            made.append((value(), value()))
        elif kind == "dict":
            made.append({draw(st.text(max_size=2)): value(), 3: value()})
        else:
            node = (fdl.Config if kind == "config" else fdl.Partial)(Box, a=value())
            if draw(st.booleans()):
                fdl.add_tag(node, "a", Rate)
                node.b = fdl.Config(Dynamic, items=[value()])
            made.append(node)
    return fdl.Config(dict, rest=made)


@hypothesis.given(configs())
def test_any_config_of_what_fiddle_can_write_comes_over(config):
    text = serialization.dump_json(config)
    assert dumps(read(text)) == dumps(config)
    assert equal(loads(text, allow=HERE), config)


class Colour(enum.Enum):
    red = 1


class Outer:
    class MLP:
        """By its name it might be a member of an enum."""


def test_members_of_enums_and_inner_classes_are_told_apart_when_they_are_looked_up():
    text = serialization.dump_json(fdl.Config(dict, x=Outer.MLP, y=Colour.red))
    again = loads(text, allow=[__name__])
    assert again.x is Outer.MLP and again.y is Colour.red


def test_it_is_a_target_like_any_other(tmp_path):
    config = fdl.Config(optax.adam, learning_rate=0.5)
    path = tmp_path / "fiddle.json"
    path.write_text(serialization.dump_json(config, indent=2))
    assert equal(load(str(path)), config)
    assert equal(read_graph(str(path)), config)


def test_it_can_be_shown_and_compared(tmp_path, capsys):
    config = fdl.Config(optax.adam, learning_rate=0.5)
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    theirs.write_text(serialization.dump_json(config))
    ours.write_text(dumps(config))
    assert cli.main(["show", str(theirs)]) == 0
    assert capsys.readouterr().out == "adam\n└─ learning_rate = 0.5\n"
    assert cli.main(["diff", str(theirs), str(ours)]) == 0
    assert capsys.readouterr().out == "no differences\n"
    assert cli.main(["show", str(theirs), "--fdl_set=learning_rate=0.1"]) == 0
    assert "learning_rate: ScalarOrSchedule = 0.1" in capsys.readouterr().out


def test_reading_imports_nothing(tmp_path):
    path = tmp_path / "fiddle.json"
    path.write_text(serialization.dump_json(fdl.Config(optax.adam, 0.5)))
    program = (
        "import sys, encodings.utf_8_sig\n"
        "from fdlkit.targets.loading import read_graph\n"
        "from fdlkit.serialize import reading\n"
        "before = set(sys.modules)\n"
        f"graph = read_graph({str(path)!r})\n"
        "assert set(sys.modules) == before, set(sys.modules) - before\n"
        "print(graph.nodes[-1].callable.name)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "optax.adam\n"


def test_depth_costs_no_recursion():
    config: Any = fdl.Config(Box)
    config = fdl.Config(Box, a=config)
    data = json.loads(serialization.dump_json(config))
    name = data["root"]["key"]
    whole = data["objects"]
    for level in range(3000):
        whole[f"n{level}"] = json.loads(json.dumps(whole[name]))
        below = name if level == 0 else f"n{level - 1}"
        whole[f"n{level}"]["items"][0][1] = {"type": "ref", "key": below}
    data["root"]["key"] = "n2999"
    assert len(read(json.dumps(data)).nodes) == 3002


def test_public_names_are_what_they_say_they_are():

    checked = 0
    for public, listed in NAMES.items():
        for qualname in sorted(listed):
            found = names.reach(public, qualname)
            if found is None:
                continue
            for module, published in fiddle_names.PUBLISHED.items():
                defined = names.reach(module, qualname)
                if defined is not None and public in published:
                    # The first that lists it is the one that is taken.
                    symbol = fiddle_names.public(module, qualname)
                    assert names.reach(symbol.module, qualname) is defined
                    checked += 1
    assert checked > 100


def fiddle_text(config: Any) -> dict[str, Any]:
    return json.loads(serialization.dump_json(config))


def replaced(config: Any, old: str, new: str) -> str:
    text = serialization.dump_json(config)
    assert old in text
    return text.replace(old, new)


BYTES = fdl.Config(dict, x=[b"\\u12ab"])
NESTED = fdl.Config(dict, x=[fdl.Config(dict, y=1)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            replaced(NESTED, '"0.0.1"', '"0.0.2"'),
            "it is Fiddle's JSON of version '0.0.2'; this version reads '0.0.1'",
        ),
        (
            serialization.dump_json(BYTES),
            "x[0]: it has bytes of which Fiddle has not kept whether they were "
            r"'\u1f40' or '\u1F40'",
        ),
        (
            replaced(NESTED, '"value": 1', '"value": [1]'),
            "x[0].y: it has [1] where a value belongs",
        ),
        (
            replaced(NESTED, '"builtins", "name": "list"', '"os", "name": "environ"'),
            "x: it holds a os.environ, which has no form here",
        ),
    ],
    ids=["version", "bytes", "leaf", "type"],
)  # fmt: skip
def test_what_has_no_form_here_is_refused_with_its_place(text: str, said: str):
    with pytest.raises(UserError) as refused:
        read(text)
    assert refused.value.lines[0] == "this JSON is not a config"
    assert said in refused.value.lines[1]


def test_a_private_name_that_is_not_listed_is_told_with_the_public_one():
    text = replaced(fdl.Config(optax.adam, 0.5), "optax._src.alias", "optax._src.other")
    with pytest.raises(UserError) as refused:
        loads(text)
    assert refused.value.lines[1] == (
        "  <root>: optax._src.other:adam is not allowed, did you mean 'optax:adam'?"
    )


@hypothesis.given(st.data())
def test_damage_is_refused_in_words(data):
    """Any part of a file replaced by anything: read, or refused, never a traceback."""
    whole = fiddle_text(everything())
    places = list(_places(whole))
    holder, key = data.draw(st.sampled_from(places))
    parts = [whole["root"], 3, None, "x", [], {}, {"type": "ref", "key": "nowhere"}]
    parts += [{"type": "pyref", "module": "os", "name": "system"}, {"type": {}}]
    other, at = data.draw(st.sampled_from(places))
    holder[key] = data.draw(st.sampled_from([*parts, other[at]]))
    try:
        text = json.dumps(whole)
    except ValueError:
        return  # it holds itself, which is no text
    with contextlib.suppress(UserError):
        dumps(read(text))


def _places(data: Any) -> Any:
    todo = [data]
    while todo:
        value = todo.pop()
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            if isinstance(value[key], dict | list):
                todo.append(value[key])
