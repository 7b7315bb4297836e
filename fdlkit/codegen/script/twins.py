"""Which parts of the house a script has in their plain form.

A definition of `fdlkit.eject` stands for the one of its name. Where the config sets an
argument that the plain one does not take, to anything but its default, the original is
carried; but optional parts, which change nothing that is computed, are left out.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fdlkit import eject
from fdlkit.codegen.carry import modules
from fdlkit.codegen.carry.homes import HOUSE, is_of
from fdlkit.data.order import LARGEST_TABLE
from fdlkit.data.source import Source
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.model import Argument, Graph, Leaf, Link, Node
from fdlkit.graph.snapshot import Taken
from fdlkit.keys import keys_of
from fdlkit.train.metrics import Ratio

# Arguments that a plain form may do without whatever they are, and what a script has
# instead.
OPTIONAL = {
    ("Trainer", "writers"): "it logs to metrics.jsonl alone",
    ("Trainer", "pgle"): "XLA schedules its step by what it guesses",
}

# Which originals, in place of their plain forms, need others to be originals too.
_DATA = frozenset({"Pipeline", "BatchIterator"})
_TRAINER = frozenset({"Trainer", "Setup", "Checkpoints", "Result", "spec_tree"})
_UPDATES = frozenset(
    {
        "batch_gradient",
        "begin_updates",
        "held",
        "lay_out_updates",
        "loss_factor",
        "make_update",
        "remarks",
        "TrainState",
        "update_reports",
        "Updated",
    }
)
_INTERMS = frozenset({"wanted_interms", "wanted_parts"})
_SUMS = frozenset({"exact_sum", "exact_ratio"})
_STATES = frozenset({"Packed", "pack_states", "results"})
_PROFILES = frozenset({"Pgle", "guided", "refuse_pgle"})
_NEEDS = (
    (_DATA, _DATA),
    (_TRAINER, _TRAINER | _DATA | _INTERMS | _STATES | {"Mesh"}),
    (_INTERMS, _INTERMS),
    (_STATES, _STATES),
    (_SUMS | {"ExactSum"}, _SUMS),
    (frozenset({"Mesh"}), frozenset({"Mesh"})),
    (frozenset({"Pipelining"}), frozenset({"Pipelining"})),
    (_UPDATES, _UPDATES),
    (_PROFILES, _PROFILES),
)

# What a training step does beside its optimizer's update, and when it does nothing.
_IDLE = {"microbatches": 1, "ema": None, "loss_scale": None, "skip_nonfinite": None}


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What is carried in its plain form.

    Attributes:
      modules: Of each definition that has a twin in use, the twin's module.
      left_out: Optional parts of the config that the script has not, for people.
    """

    modules: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    def without(self, names: Collection[str]) -> Chosen:
        """The same with some originals in place of their twins."""
        gone = {n for some, all_ in _NEEDS if some & set(names) for n in all_}
        kept = {n: m for n, m in self.modules.items() if n not in gone}
        return Chosen(kept, self.left_out if "Trainer" in kept else ())

    def is_left_out(self, node: Node, argument: Argument) -> bool:
        """Whether an argument is not passed to the plain form."""
        taken = self._parameters(node)
        return taken is not None and argument.key not in taken

    def _parameters(self, node: Node) -> frozenset[str] | None:
        """What the twin of a node's callable takes; None if it has none."""
        name = twin_of(node)
        return parameters(name, self.modules[name]) if name in self.modules else None


def twin_of(node: Node) -> str:
    """The name of the definition of the house that a node calls; empty if of others."""
    if node.callable is None or not is_of(node.callable.module, HOUSE):
        return ""
    return node.callable.qualname


@functools.cache
def parameters(name: str, module: str) -> frozenset[str]:
    """The parameters of a twin."""
    live = getattr(importlib.import_module(module), name)
    return frozenset(inspect.signature(live).parameters)


@functools.cache
def all_twins() -> Mapping[str, str]:
    """Every plain form, by name: the module that has it."""
    found = {}
    for info in pkgutil.walk_packages(eject.__path__, f"{eject.__name__}."):
        for statement in modules.read(info.name).statements:
            if statement.kind == "definition":
                for name in statement.names:
                    if not name.startswith("_"):
                        found[name] = info.name
    return found


def choose(taken: Taken, trainer: Any) -> Chosen:
    """The twins that can stand in for what a config needs.

    Args:
      taken: The config's graph and what it was taken of.
      trainer: What the config builds.
    """
    chosen = Chosen(all_twins())
    gone = {twin_of(n) for n in taken.graph.nodes if not _fits(n, taken, chosen)}
    for data in (trainer.train_data, trainer.eval_data):
        if data is not None and not _is_plain(data):
            gone.add("Pipeline")
    if any(getattr(trainer, name) != idle for name, idle in _IDLE.items()):
        gone |= _UPDATES
    if trainer.pgle is not None:
        gone |= _PROFILES
    if _reads_interms(trainer):
        gone |= _INTERMS
    metrics = [*trainer.metrics.values(), *trainer.train_metrics.values()]
    if not metrics or not all(map(_is_quotient, metrics)):
        gone |= _STATES
    if any(twin_of(node) == "frozen" for node in taken.graph.nodes):
        gone |= _UPDATES
    left_out = tuple(_left_out(taken.graph))
    return dataclasses.replace(chosen, left_out=left_out).without(gone)


def _reads_interms(trainer: Any) -> bool:
    """Whether a loss or a metric asks for what is inside the model."""
    if trainer.train_metrics:
        return True
    keys = keys_of([trainer.losses, trainer.metrics], "").values()
    return any(key.startswith("interms") for key in keys)


def _is_quotient(metric: Any) -> bool:
    """Whether a metric's state is one of float32, and its result one number."""
    return isinstance(metric, Ratio) and is_of(type(metric).__module__, HOUSE)


def _is_plain(pipeline: Any) -> bool:
    source = getattr(pipeline, "source", None)
    try:
        return isinstance(source, Source) and len(source) <= LARGEST_TABLE
    except UserError:
        return True  # the trainer's own check tells


def _left_out(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        for (name, key), instead in OPTIONAL.items():
            argument = node.argument(key)
            if twin_of(node) != name or argument is None:
                continue
            value = graph.node(argument.value)
            if value is not None and (value.is_buildable or value.arguments):
                yield f"{key} ({instead})"


def _fits(node: Node, taken: Taken, chosen: Chosen) -> bool:
    """Whether the twin of what a node calls, if there is one, takes all that is set."""
    name = twin_of(node)
    return name not in chosen.modules or all(
        argument.value is None
        or (name, argument.key) in OPTIONAL
        or not chosen.is_left_out(node, argument)
        or _is_default(node, argument, taken)
        for argument in node.arguments
    )


def _is_default(node: Node, argument: Argument, taken: Taken) -> bool:
    assert node.callable is not None
    known = inspect.signature(node.callable.live).parameters.get(str(argument.key))
    if known is None or known.default is known.empty:
        return False
    try:
        if isinstance(argument.value, Leaf):
            value = argument.value.live
        else:
            assert isinstance(argument.value, Link)
            value = build(taken.originals[argument.value.node])
        return bool(type(value) is type(known.default) and value == known.default)
    except Exception:  # noqa: BLE001 - what compares in another way is no default
        return False
