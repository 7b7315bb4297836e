"""Reading, comparing and keeping configs, beside Fiddle and beside one plain walk.

All in one process and by its CPU clock, in turn: the plain walk, then each operation
and its peer of Fiddle's one after the other, as many rounds as asked for. What takes
Fiddle seconds is timed once. What would take it minutes is not: its time is told from
that of the smaller configs, as they grow, and marked `~`.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import fiddle as fdl
from fiddle import printing
from fiddle.experimental import serialization

from fdlkit.diff.applying import apply
from fdlkit.diff.compare import diff
from fdlkit.diff.text import render as render_diff
from fdlkit.graph import walk
from fdlkit.graph.equality import equal
from fdlkit.graph.snapshot import snapshot
from fdlkit.serialize.loading import loads
from fdlkit.serialize.writing import dumps
from fdlkit.view import dot, scene, tree

SIZES = (100, 1_000, 3_000, 10_000)

# The whole benchmark is for a few minutes. A peer is timed once from `ONCE` seconds on,
# and not at all from `NEVER` on, but for those that a promise is made of.
ONCE, NEVER = 0.5, 6.0
PROMISED = {"diff, leaf": 200, "diff, insertion": 200, "diff, 1 %": 200, "dump": 20}
PROMISED_AT = 3_000

# What doubling the nodes may cost.
MOST_GROWTH = 2.3

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

_Call = Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One operation.

    Attributes:
      own: Does it.
      peer: Does it with Fiddle's own; None if Fiddle has nothing like it.
    """

    own: _Call
    peer: _Call | None = None


def cases(config: Any, make: Callable[[], Any]) -> dict[str, Case]:
    """The operations on a config; each takes configs or text, as a user has them.

    Args:
      config: The config.
      make: Makes another one like it.
    """
    other = make()
    text, theirs = dumps(config), serialization.dump_json
    found = {
        "snapshot": Case(lambda: snapshot(config)),
        "equal": Case(lambda: equal(config, other), lambda: config == other),
        "dump": Case(lambda: dumps(config), lambda: theirs(config)),
        "load": Case(lambda: loads(text, allow=[__name__]), _fiddle_load(config)),
        "tree": Case(
            lambda: tree.render(tree.tree(snapshot(config))),
            lambda: printing.as_str_flattened(config),
        ),
        "dot": Case(
            lambda: dot.dot(scene.scene(snapshot(config))),
            functools.partial(_fiddle_dot, config),
        ),
    }
    for name, edit in EDITS.items():
        changed = make()
        edit(changed)
        found[f"diff, {name}"] = Case(
            functools.partial(diff, config, changed),
            functools.partial(_fiddle_diff, config, changed),
        )
    changed = make()
    one_leaf(changed)
    graphs = snapshot(config), snapshot(changed)
    found["diff of graphs, leaf"] = Case(functools.partial(diff, *graphs))
    return found


def _fiddle_diff(old: Any, new: Any) -> Any:
    from fiddle import diffing  # loads what no other benchmark needs

    return diffing.build_diff(old, new)


def _fiddle_dot(config: Any) -> Any:
    from fiddle import graphviz

    return graphviz.render(config).source


def _fiddle_load(config: Any) -> _Call:
    """Reads the text that Fiddle writes; that is made when it is first asked for."""
    made: list[str] = []

    def load() -> Any:
        return serialization.load_json(made[0])

    def first() -> Any:
        if not made:
            made.append(serialization.dump_json(config))
        return load()

    return first


def seconds(what: _Call) -> float:
    """CPU time of one call; a short one is called until the clock can tell."""
    gc.collect()
    began = time.process_time()
    what()
    taken = time.process_time() - began
    if taken > 0.01:
        return taken
    count = min(int(0.01 / max(taken, 1e-6)) + 1, 1_000)
    began = time.process_time()
    for _ in range(count):
        what()
    return (time.process_time() - began) / count


def main(rounds: int) -> None:
    """A table for each shape, how the cost grows, and what depth and sharing cost."""
    print(f"ms of CPU (in plain walks), Fiddle's, times ours; {rounds} rounds")
    for shape, make in SHAPES.items():
        _check(make)
        past: dict[str, dict[int, float]] = {}
        for size in SIZES:
            _size(shape, make, size, rounds, past)
    _growth(rounds)
    _depth(rounds)


def _check(make: Callable[[int], Any]) -> None:
    """What is measured is true, and as few changes as were made."""
    for name, edit in EDITS.items():
        old, new = make(1_000), make(1_000)
        edit(new)
        changes = diff(old, new)
        assert equal(apply(changes, old), new)
        assert len(changes) == (10 if name == "1 %" else 1), render_diff(changes)


def _size(
    shape: str,
    make: Callable[[int], Any],
    size: int,
    rounds: int,
    past: dict[str, dict[int, float]],
) -> None:
    config = make(size)
    for name, case in cases(config, lambda: make(size)).items():
        expected = _forecast(past.get(name, {}), size)
        is_promised = name in PROMISED and size == PROMISED_AT
        is_timed = case.peer and (expected < NEVER or is_promised)
        case.own()  # what is made once is not the operation's
        walks, own, peer = [], [], []
        for n in range(rounds):
            walks.append(seconds(lambda: all_nodes(config)))
            own.append(seconds(case.own))
            if case.peer and is_timed and (not n or expected < ONCE):
                if name == "load" and not n:
                    case.peer()  # which makes its text
                peer.append(seconds(case.peer))
        ours, walked = statistics.median(own), statistics.median(walks)
        line = f"{shape} {size:>6} {name:<20} {ours * 1e3:9.2f} ({ours / walked:5.1f})"
        if case.peer:
            taken = statistics.median(peer) if peer else expected
            if peer:
                past.setdefault(name, {})[size] = taken
            about = " " if peer else "~"
            line += f" {about}{taken * 1e3:10.1f} {about}{taken / ours:7.1f} x"
            if is_promised:
                line += f"  at least {PROMISED[name]}"
                line += ": kept" if taken / ours >= PROMISED[name] else ": NOT KEPT"
        print(line, flush=True)


def _forecast(past: Mapping[int, float], size: int) -> float:
    """How long something will take, from how it has grown so far."""
    if not past:
        return 0.0
    (*_, last), sizes = past, list(past)
    power = 1.6  # between a plain walk's and that of what compares all with all
    if len(sizes) > 1:
        first = sizes[-2]
        power = math.log(past[last] / past[first]) / math.log(last / first)
    return past[last] * (size / last) ** power


def _growth(rounds: int) -> None:
    """What twice the nodes cost, from 5,000 on."""
    print(f"twice the nodes, 5,000 to 10,000: at most {MOST_GROWTH} times the cost")
    for shape, make in SHAPES.items():
        small, large = (
            cases(make(n), functools.partial(make, n)) for n in (5_000, 10_000)
        )
        for name in small:
            ratios = [
                seconds(large[name].own) / seconds(small[name].own)
                for _ in range(rounds)
            ]
            ratio = statistics.median(ratios)
            kept = "" if ratio <= MOST_GROWTH else "  TOO MUCH"
            print(f"  {shape} {name:<20} {ratio:5.2f}{kept}", flush=True)


def _depth(rounds: int) -> None:
    """What a node costs in deep and in shared configs, beside one of a plain tree.

    Fiddle's own fail on the chain, and would not end on the diamonds.
    """
    print("microseconds a node; (times that of a tree of 1,000)")
    per_node: dict[str, float] = {}
    for label, make in (
        ("tree 1,000", functools.partial(branching, 1_000)),
        ("chain 1,000", functools.partial(chain, 1_000)),
        ("diamonds 30", functools.partial(diamonds, 30)),
    ):
        config = make()
        count = len(all_nodes(config))
        for name, case in cases(config, make).items():
            taken = statistics.median(seconds(case.own) for _ in range(rounds))
            cost = taken / count * 1e6
            per_node.setdefault(name, cost)
            line = (
                f"  {label:<12} {name:<20} {cost:8.1f} ({cost / per_node[name]:4.1f})"
            )
            print(line, flush=True)
