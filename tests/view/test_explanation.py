"""Explanations as `fdlkit explain` prints them, against a golden file."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
from typing import Any

import fiddle as fdl
import pytest

from fdlkit.graph.references import ref
from fdlkit.overrides.apply import Override, apply
from fdlkit.overrides.explain import explain, explain_all
from fdlkit.serialize.loading import loads
from fdlkit.serialize.writing import dumps
from fdlkit.view.explanation import SCHEMA, render, to_json


class Rate(fdl.Tag):
    """A rate."""


class Loud:
    def __repr__(self):
        return "\x1b[31mLOUD\x07"


@dataclasses.dataclass
class Axes:
    data: int = -1


@dataclasses.dataclass
class Mlp:
    width: int
    rate: float = 0.1
    axes: Axes = dataclasses.field(default_factory=Axes)


@dataclasses.dataclass
class Gated:
    width: int
    gates: int = 2


@dataclasses.dataclass
class Model:
    hidden: int = 4
    mlp: Any = None
    other: Any = None
    names: Any = None


def experiment() -> fdl.Config[Model]:
    mlp = fdl.Config(Mlp, width=ref("^hidden") * 4)
    fdl.add_tag(mlp, "rate", Rate)
    return fdl.Config(Model, hidden=64, mlp=mlp, other=[mlp, ref("mlp")])


def small(cfg: fdl.Config[Model]) -> None:
    cfg.hidden = 1


def explained() -> list[str]:
    """Every kind of explanation, one after the other."""
    overrides = [
        Override("set", "hidden=8"),
        Override("fiddler", "small"),
        Override("tag", "Rate=.25"),
        Override("set", "hidden*=16"),
        Override("set", "names=['a', 'b']"),
        Override("set", "names[0]=z"),
        Override("set", "~mlp.rate"),
    ]
    cfg, _ = apply(experiment(), overrides, sys.modules[__name__])
    swapped, _ = apply(cfg, [Override("set", "mlp=Gated")], sys.modules[__name__])
    replaced, _ = apply(
        cfg, [Override("set", "mlp=Gated(width=3)")], sys.modules[__name__]
    )
    kept = loads(dumps(experiment()), allow=[__name__], source="kept.json")
    broken = fdl.Config(Model, hidden=ref("mlp.wdth"), mlp=fdl.Config(Mlp))
    shown = [
        *(explain(cfg, path) for path in ("hidden", "mlp.width", "mlp.rate", "mlp")),
        *(explain(cfg, path) for path in ("other[1].width", "other[0].axes.data")),
        *(explain(cfg, path) for path in ("names", "names[0]", "names.1", "<root>")),
        *(explain(cfg, path) for path in ("other[1]", "mlp.axes")),
        explain(swapped, "mlp.gates"),
        explain(swapped, "other[0]"),
        explain(replaced, "mlp.width"),
        explain(kept, "mlp.width"),
        explain(kept, "mlp"),
        explain(broken, "hidden"),
        explain(broken, "mlp.width"),
        explain(fdl.Config(dict), "anything"),
        *explain_all(cfg, "**.width"),
    ]
    return list(map(render, shown))


def test_every_kind_of_explanation_is_as_in_the_golden_file(golden, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parent)
    # The lines of this file move when it is worked on.
    text = re.sub(r"\.py:\d+", ".py:N", "\n\n".join(explained()) + "\n")
    text = text.replace(f"{__name__}.", "")
    golden("view/explained", text)


def test_many_writes_are_shown_from_both_ends():
    cfg = fdl.Config(Model)
    for n in range(100):
        cfg.hidden = n
    lines = render(explain(cfg, "hidden")).splitlines()
    assert len(lines) == 28
    assert "… 77 more" in lines[14]
    assert "set      99" in lines[26]


def test_a_text_of_the_users_cannot_act_on_the_terminal():
    cfg = fdl.Config(Model, names="\x1b[2J" * 100, other=Loud())
    for path in ("names", "other"):
        text = render(explain(cfg, path))
        assert all(line.isprintable() for line in text.splitlines())
        assert r"\x1b[" in text
        assert max(map(len, text.splitlines())) < 160


def test_json_says_all_of_it_under_its_schema():
    cfg, _ = apply(experiment(), [Override("set", "hidden=8")], sys.modules[__name__])
    data = json.loads(to_json(explain_all(cfg, "**.width")))
    assert data["schema"] == SCHEMA == "fdlkit.explain/1"
    (one,) = data["explanations"]
    fields = {field.name for field in dataclasses.fields(type(explain(cfg, "mlp")))}
    assert set(one) == fields
    assert (one["path"], one["value"], one["result"]) == (
        "mlp.width",
        "ref(^hidden) * 4",
        "32",
    )
    assert one["paths"] == ["mlp.width", "other[0].width"]
    assert one["writes"][0]["origin"]["file"] == __file__
    assert one["hops"][0]["origin"] == {
        "file": "--fdl_set",
        "line": 0,
        "cause": {"flag": "--fdl_set", "number": 1, "text": "hidden=8"},
    }


@pytest.mark.parametrize("path", ["hidden", "mlp", "other", "<root>"])
def test_an_explanation_is_plain_data(path):
    one = explain(experiment(), path)
    assert dataclasses.asdict(one)["path"] == path
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.path = "x"
