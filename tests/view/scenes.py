"""Configs that several tests of drawings use."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

import fiddle as fdl

from fdlkit.graph.origins import written_by
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from tests.view.test_tree import Mesh, Mlp, Model, WeightDType, schedule

ESCAPE, TURN = "\x1b[31m", "\N{RIGHT-TO-LEFT OVERRIDE}"


@dataclasses.dataclass
class Job:
    model: Any
    parts: Any = None
    steps: int = 100
    rate: Any = None
    mesh: Mesh = dataclasses.field(default_factory=Mesh)
    extra: Any = None


def small():
    """A bit of everything that a drawing shows."""
    shared = fdl.Config(Mlp, ref("..hidden"))
    model = fdl.Config(Model, hidden=64, embed=shared, block=shared)
    fdl.add_tag(model, "dtype", WeightDType)
    names = ["a", "b"]
    job = fdl.Config(
        Job,
        model=model,
        parts={"one": fdl.Config(Mlp), "pair": (fdl.Config(Mlp, 2), 3)},
        rate=fdl.Partial(schedule, 1e-3, ref("steps") // 3),
        extra={"names": names, "again": names, "lost": ref("nowhere")},
    )
    with written_by("--fdl_set", 1, "model.hidden=128"):
        job.model.hidden = 128
    return job


def hostile():
    """Values and names that would break a page that took them as they are."""
    nasty = {
        "script": "</script><script>window.broken = 1</script>",
        "comment": "<!--<script>",
        "quotes": "\"'`${window.broken = 1}",
        "entity": "&lt;&quot;&#0;",
        "terminal": ESCAPE,
        "bidi": f"{TURN}abc",
        "lines": "a\nb\u2028c\x00d",
        "half": "\ud800",
        "backslash": "\\N \\G \\",
        "mermaid": '"]; click n0 "javascript:alert(1)" %% ; end',
        "huge": "<" * 10_000_000,
    }
    nasty[f"</script>{TURN}{ESCAPE}"] = "as a key"
    return fdl.Config(
        dict, **{"a</title>": 1}, values=nasty, inner=fdl.Config(dict, **nasty)
    )


def wide(count):
    """A list of nodes."""
    return fdl.Config(dict, layers=[fdl.Config(Mlp, n) for n in range(count)])


def tall(count):
    """A chain of nodes."""
    chain = fdl.Config(Mlp, 1)
    for _ in range(count):
        chain = fdl.Config(Mlp, width=chain)
    return chain


def bushy(count):
    """Nodes as a model has them: stacks of blocks, each with a part that all share."""
    shared = fdl.Config(Mlp, ref("hidden"))
    blocks = [
        fdl.Config(
            Job,
            model=fdl.Config(
                Model, n, embed=shared, block=fdl.Config(Mlp, ref("^hidden"))
            ),
            parts=[fdl.Config(Mlp, 7)],
        )
        for n in range(count // 4)
    ]
    return fdl.Config(dict, hidden=1, blocks=blocks, last=shared)


def diamonds(levels):
    """Two ways down at each level."""
    node = fdl.Config(Mlp, 1)
    for _ in range(levels):
        node = fdl.Config(Mlp, width=node, dropout=node)
    return node


@functools.cache
def large(name: str):
    """The graph of a large config, made once for all tests."""
    made = {
        "wide": lambda: wide(10_000),
        "tall": lambda: tall(1000),
        "bushy": lambda: bushy(2000),
        "diamonds": lambda: diamonds(30),
    }
    return snapshot(made[name]())


def embedded(page: str) -> Any:
    """The scene that is in a page."""
    _, _, rest = page.partition('<script type="application/json" id="scene">')
    return json.loads(rest.partition("</script>")[0])
