"""Reading, comparing and keeping configs, beside Fiddle and beside one plain walk."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import fiddle as fdl
from fiddle.experimental import serialization

from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.diff.text import render as render_diff
from fdlkit.graph import walk
from fdlkit.graph.equality import equal
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from fdlkit.view import tree

SIZES = (100, 1_000, 3_000, 10_000)

# Beyond the last size Fiddle takes minutes; beyond the first one it is timed once, and
# only what is named here.
FIDDLE_OFTEN, FIDDLE_ONCE = 1_000, 3_000
AT_FIDDLE_ONCE = ("diff, leaf", "dump")

_BRANCHES = 4


def part(children: Any = None, width: int = 0, rate: float = 0.5) -> None:
    """What every node of the benchmark's configs calls."""


def wide(nodes: int) -> Any:
    """A node with a list of all others."""
    children = [fdl.Config(part, width=n) for n in range(nodes - 1)]
    return fdl.Config(part, children=children, width=-1)


def branching(nodes: int) -> Any:
    """A tree in which each node has four others below it."""
    made = [fdl.Config(part, children=[], width=n) for n in range(nodes)]
    for n in range(1, nodes):
        made[(n - 1) // _BRANCHES].children.append(made[n])
    return made[0]


def chain(nodes: int) -> Any:
    """Each node inside the one before."""
    config = fdl.Config(part, width=0)
    for n in range(1, nodes):
        config = fdl.Config(part, children=[config], width=n)
    return config


def diamonds(levels: int) -> Any:
    """Each level holds the next one twice: as many paths as two to that power."""
    config = fdl.Config(part, width=0)
    for n in range(1, levels):
        config = fdl.Config(part, children=[config, config], width=n)
    return config


SHAPES = {"wide": wide, "tree": branching}


def all_nodes(config: Any) -> list[Any]:
    """One plain walk: every node, each once, in no more work than that takes."""
    found, seen, todo = [], set(), [config]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, fdl.Buildable):
            found.append(value)
        todo += [child for _, child in walk.children(value)]
    return found


def one_leaf(config: Any) -> None:
    """Changes one value."""
    nodes = all_nodes(config)
    nodes[len(nodes) // 2].rate = 0.25


def one_insertion(config: Any) -> None:
    """Puts one node before all others."""
    config.children.insert(0, fdl.Config(part, width=-2, rate=0.125))


def one_percent(config: Any) -> None:
    """Changes a value in each hundredth node."""
    for node in all_nodes(config)[::100]:
        node.rate = 0.25


EDITS = {"leaf": one_leaf, "insertion": one_insertion, "1 %": one_percent}


def seconds(what: Callable[[], Any], rounds: int) -> float:
    """The median time of a call, by the process's own clock."""
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        what()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def main(rounds: int) -> None:
    """A table for each shape: milliseconds, walks, and times faster than Fiddle."""
    for shape, make in SHAPES.items():
        print(f"{shape}: ms of CPU (in plain walks) [times Fiddle's], {rounds} rounds")
        before: dict[str, float] = {}
        for size in SIZES:
            before = _size(make, size, rounds, before)
    _growth(rounds)


def _growth(rounds: int) -> None:
    """What twice the nodes cost, and what a node costs in deep and shared configs."""
    print("diff of graphs, one leaf: ms of CPU, microseconds a node")
    last = 0.0
    for name, config in (
        *((f"wide {n:,}", wide(n)) for n in (2_500, 5_000, 10_000)),
        ("chain 1,000", chain(1_000)),
        ("diamonds 30", diamonds(30)),
    ):
        one, count = snapshot(config), len(all_nodes(config))
        one_leaf(config)
        taken = seconds(functools.partial(diff, one, snapshot(config)), rounds)
        grown = f"{taken / last:5.2f} x the last" if last and "wide" in name else ""
        line = f"  {name:<12} {taken * 1e3:8.2f} {taken / count * 1e6:6.1f}  {grown}"
        print(line.rstrip(), flush=True)
        last = taken


def _size(
    make: Callable[[int], Any], size: int, rounds: int, before: dict[str, float]
) -> dict[str, float]:
    config = make(size)
    graph, text = snapshot(config), dumps(config)
    own: dict[str, Callable[[], Any]] = {
        "walk": lambda: all_nodes(config),
        "snapshot": lambda: snapshot(config),
        "equal": lambda: equal(config, config),
        "dump": lambda: dumps(config),
        "read": lambda: read(text),
        "load": lambda: loads(text, allow=[__name__]),
        "tree": lambda: tree.render(tree.tree(graph)),
    }
    peers: dict[str, Callable[[], Any]] = {
        "equal": lambda: config == make(size),
        "dump": lambda: serialization.dump_json(config),
    }
    for name, edit in EDITS.items():
        other = make(size)
        edit(other)
        changes = diff(config, other)
        assert equal(apply(changes, config), other)
        own[f"diff, {name}"] = functools.partial(diff, config, other)
        graphs = graph, snapshot(other)
        own[f"diff, {name}, of graphs"] = functools.partial(diff, *graphs)
        peers[f"diff, {name}"] = functools.partial(_fiddle_diff, config, other)
        count = f"{len(changes)} change{'s' * (len(changes) > 1)}"
        print(f"  {size:>6} {name}: {count}, {len(render_diff(changes))} characters")
    taken = {name: seconds(what, rounds) for name, what in own.items()}
    for name, value in taken.items():
        ratio = f"({value / taken['walk']:5.1f})"
        peer = _peer(name, peers.get(name), size, rounds)
        faster = "" if peer is None else f"[{peer / value:6.0f} x]"
        grown = f"{value / before[name]:5.1f} x the last" if name in before else ""
        line = f"  {size:>6} {name:<26} {value * 1e3:9.2f} {ratio} {faster:<11} {grown}"
        print(line.rstrip(), flush=True)
    return taken


def _peer(
    name: str, what: Callable[[], Any] | None, size: int, rounds: int
) -> float | None:
    if what is None or size > FIDDLE_ONCE:
        return None
    if size > FIDDLE_OFTEN and name not in AT_FIDDLE_ONCE:
        return None
    return seconds(what, rounds if size < FIDDLE_OFTEN else 1)


def _fiddle_diff(old: Any, new: Any) -> Any:
    from fiddle import diffing  # loads what no other benchmark needs

    return diffing.build_diff(old, new)
