"""What fdlkit costs on 10,000 nodes, beside Fiddle's own construct and build.

Every operation runs in one process, in turn with the peer: construct the config with
`fdl.Config` and build it with `fdl.build`. One round is the peer, every operation, the
peer again. Process time decides; wall time stands beside it.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import fiddle as fdl

import fdlkit
from fdlkit.graph.copying import copy
from fdlkit.graph.references import ref
from fdlkit.overrides.apply import Override, apply
from fdlkit.view.tree import render, tree

MODELS = 20
BLOCKS = 50  # of a model; ten nodes each


@dataclasses.dataclass
class Init:
    """How a kernel starts; one for all kernels of a model."""

    scale: float = 1.0
    mode: str = "fan_in"


@dataclasses.dataclass
class Dense:
    """A kernel."""

    features: int
    init: Any = None
    axes: tuple[str, ...] = ()
    use_bias: bool = False


@dataclasses.dataclass
class Dropout:
    """A rate."""

    rate: float = 0.0


@dataclasses.dataclass
class Norm:
    """A scale."""

    epsilon: float = 1e-6
    dtype: str = "float32"


@dataclasses.dataclass
class Attention:
    """Holds its projections in a list."""

    features: int
    num_heads: int = 8
    projections: list[Any] = dataclasses.field(default_factory=list)
    dropout: Any = None


@dataclasses.dataclass
class Mlp:
    """Holds what it calls, and how wide it is."""

    width: int
    activation: str = "gelu"
    dropout: Any = None


@dataclasses.dataclass
class Block:
    """Ten nodes with what is below it."""

    attention: Any
    mlp: Any
    norms: dict[str, Any]
    options: dict[str, Any]


@dataclasses.dataclass
class Model:
    """Blocks that are as wide as it says."""

    hidden: int
    init: Any
    blocks: list[Any]


@dataclasses.dataclass
class Experiment:
    """Models by name."""

    models: dict[str, Any]
    steps: int = 1000
    name: str = "scale"


def experiment(*, references: bool = False) -> fdl.Config:
    """A config of 10,041 nodes; with references, 2,000 of its values are such.

    Without them the same numbers are written out, since Fiddle has none.
    """
    return fdl.Config(
        Experiment,
        models={f"m{n:02}": _model(128 + n, references) for n in range(MODELS)},
    )


def _model(hidden: int, references: bool) -> fdl.Config:
    init = fdl.Config(Init, scale=0.5)
    width: Any = ref("^hidden") if references else hidden
    blocks = [_block(width, init) for _ in range(BLOCKS)]
    return fdl.Config(Model, hidden=hidden, init=init, blocks=blocks)


def _block(width: Any, init: fdl.Config) -> fdl.Config:
    return fdl.Config(
        Block,
        attention=fdl.Config(
            Attention,
            features=width,
            num_heads=4,
            projections=[
                fdl.Config(Dense, 64, init=init, axes=("embed", name))
                for name in ("query", "key", "value")
            ],
            dropout=fdl.Config(Dropout, rate=0.1),
        ),
        mlp=fdl.Config(Mlp, width=4 * width, dropout=fdl.Config(Dropout, rate=0.2)),
        norms={"before": fdl.Config(Norm), "after": fdl.Config(Norm, epsilon=1e-5)},
        options={"remat": False, "axes": ["batch", "time"], "scales": (1.0, 0.5)},
    )


def operations(cfg: fdl.Config) -> dict[str, Callable[[], Any]]:
    """What is measured, by name; the last path of a model is as far as paths go."""
    deep = "models['m19'].blocks[49].mlp.dropout.rate"
    twenty = [
        Override("set", f"models['m{n:02}'].blocks[{n}].mlp.dropout.rate=0.{n}")
        for n in range(20)
    ]
    text = fdlkit.dumps(cfg)
    other = copy(cfg)
    found: dict[str, Callable[[], Any]] = {
        "copy": lambda: copy(cfg),
        "override": lambda: apply(cfg, [Override("set", f"{deep}=0.5")], None),
        "20 overrides": lambda: apply(cfg, twenty, None),
        "** over 1,000": lambda: apply(
            cfg, [Override("set", "**.num_heads=8")], sys.modules[__name__]
        ),
        "snapshot": lambda: fdlkit.snapshot(cfg),
        "build": lambda: fdlkit.build(cfg),
        "equal": lambda: fdlkit.equal(cfg, other),
        "show": lambda: render(tree(fdlkit.snapshot(cfg))),
        "dumps": lambda: fdlkit.dumps(cfg),
        "read": lambda: fdlkit.read(text),
        "loads": lambda: fdlkit.loads(text, allow=[__name__]),
    }
    explain = getattr(fdlkit, "explain", None)
    if explain is not None:
        found["explain"] = lambda: explain(cfg, deep)
    return found


def seconds(action: Callable[[], Any]) -> tuple[float, float]:
    """Process and wall seconds of one call; what it returns dies within them."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.process_time() - cpu, time.perf_counter() - wall


def peer() -> None:
    """Fiddle's own construct and build."""
    fdl.build(experiment())


def compare(name: str, cfg: fdl.Config, rounds: int) -> None:
    """Prints the peer's medians, and every operation's ratio to it."""
    found = operations(cfg)
    peers: list[tuple[float, float]] = []
    again: list[float] = []
    rows: dict[str, list[tuple[float, float, float, float]]] = {n: [] for n in found}
    for _ in range(rounds):
        before = seconds(peer)
        taken = {n: seconds(action) for n, action in found.items()}
        after = seconds(peer)
        again.append(after[0] / before[0])
        # The machine's own drift within a round cancels out in the peers' mean.
        cpu, wall = ((a + b) / 2 for a, b in zip(before, after, strict=True))
        peers.append((cpu, wall))
        for n, (own_cpu, own_wall) in taken.items():
            rows[n].append((own_cpu, own_wall, own_cpu / cpu, own_wall / wall))
    print(f"{name}, {rounds} rounds")
    cpu, wall = (statistics.median(column) for column in zip(*peers, strict=True))
    print(
        f"  {'fdl.Config + fdl.build':24} {cpu * 1e3:7.0f} ms CPU {wall * 1e3:7.0f} ms"
        f"   A/A {min(again):.2f} to {max(again):.2f}"
    )
    for n, row in rows.items():
        columns = list(zip(*row, strict=True))
        cpu, wall, ratio, wall_ratio = map(statistics.median, columns)
        spread = f"({min(columns[2]):.2f} to {max(columns[2]):.2f})"
        print(
            f"  {n:24} {cpu * 1e3:7.0f} ms CPU {wall * 1e3:7.0f} ms   "
            f"{ratio:5.2f} x {spread}   wall {wall_ratio:.2f} x"
        )
    if "explain" not in rows:
        print("  explain                  this version has none")


def main(rounds: int) -> None:
    """The config of plain values, and the one with 2,000 references."""
    compare("10,041 nodes", experiment(), rounds)
    compare("with 2,000 references", experiment(references=True), rounds)
