"""From a Flax module's path, or an array's dim, to the place in the config."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import flax.linen as nn

from fdlkit.graph import chains
from fdlkit.graph.faults import find_argument
from fdlkit.graph.model import Link
from fdlkit.graph.paths import Path, of_dict_key
from fdlkit.nn import walk
from fdlkit.nn.repeat import Repeat

if TYPE_CHECKING:
    from fdlkit.check.subject import Subject

MODEL: Path = ("model",)
# Where the arguments of an NNX module are: in the recipe that its adapter holds.
RECIPE: Path = (*MODEL, "module")


def place_of(subject: Subject, module: Sequence[str]) -> Path:
    """The config path of the module with this Flax path, or of the nearest around it.

    Modules that a class makes itself (`query` in an attention layer) have no node of
    their own: then it is the path of the node that makes them.
    """
    recipe = _built_at(subject.trainer, RECIPE)
    path = RECIPE if isinstance(recipe, functools.partial) else MODEL
    for name in module:
        for keys in _spellings(name):
            if subject.node_at((*path, *keys)) is not None:
                path = (*path, *keys)
                break
        else:
            break
    return path


def _spellings(name: str) -> Iterator[Path]:
    """The keys that Flax's name of a submodule may stand for: `blocks_0`."""
    yield (name,)
    field, _, rest = name.rpartition("_")
    if field and rest.isdecimal():
        yield (field, int(rest))
    while field:
        yield (field, of_dict_key(name[len(field) + 1 :]))
        field = field.rpartition("_")[0]


def argument_of_size(
    subject: Subject, module: Sequence[str], *, name: str | None, size: int
) -> Path | None:
    """The argument that gives a dim its size, as far as names and numbers tell.

    From the module outwards, the first node with an integer argument of that very
    value; of several the one whose name is most like the dim's logical name. A plain
    reference is followed to what it follows: that is what a person would change.

    Args:
      subject: The config.
      module: The Flax path of the module that makes the array.
      name: The dim's logical name.
      size: The dim's size.

    Returns:
      Its path; None if no argument has that value.
    """
    place = place_of(subject, module)
    while len(place) >= len(MODEL):
        built = _built_at(subject.trainer, place)
        fields = {f: v for f, v in _integers(built).items() if v == size}
        if name is not None and getattr(built, "axis_name", None) == name:
            fields = {f: v for f, v in fields.items() if f == "n"} or fields
        elif name == "layers":
            fields = {}
        if fields:
            likeness = [(-_likeness(field, name), i) for i, field in enumerate(fields)]
            best = list(fields)[min(likeness)[1]]
            return source_of(subject, (*place, best))
        place = place[:-1]
    return None


def source_of(subject: Subject, path: Path) -> Path:
    """Where a value is written that a plain reference at `path` stands for.

    The path itself if there is no reference, or one that computes.
    """
    holder = subject.node_at(path[:-1])
    if holder is None:
        return path
    argument = find_argument(subject.graph.nodes[holder], path[-1])
    if argument is None or not isinstance(argument.value, Link):
        return path
    number = argument.value.node
    node = subject.graph.nodes[number]
    if node.kind != "reference" or node.argument("path") is None:
        return path
    ends = subject.resolver.sources(number, holder)
    return chains.path_of(subject.resolver, ends[0]) if len(ends) == 1 else path


def _built_at(built: Any, path: Path) -> Any:
    for key in path:
        value = key if isinstance(key, str | int) else key.value
        try:
            if isinstance(built, functools.partial):
                built = built.args if isinstance(key, int) else built.keywords
            elif isinstance(key, str):
                built = getattr(built, key)
                continue
            built = built[value]
        except (AttributeError, KeyError, IndexError, TypeError):
            return None
    return built


def _integers(built: Any) -> dict[str, int]:
    if isinstance(built, functools.partial):
        return {n: v for n, v in built.keywords.items() if type(v) is int}
    if not dataclasses.is_dataclass(built) or isinstance(built, type):
        return {}
    values = {
        field.name: getattr(built, field.name, None)
        for field in dataclasses.fields(built)
    }
    return {name: value for name, value in values.items() if type(value) is int}


# How people call the argument that sets the size of a logical axis.
_USUAL = {
    "embed": ("features", "hidden", "width", "dim"),
    "mlp": ("width", "mlp", "hidden"),
    "vocab": ("vocab",),
    "heads": ("num_heads", "heads"),
    "kv_heads": ("num_kv_heads", "kv_heads", "num_heads"),
    "head_dim": ("head_dim",),
    "layers": ("n", "layers", "num_layers"),
    "time": ("length",),
}


def _likeness(field: str, name: str | None) -> int:
    """3 for a usual name of the axis, 2 for its own, 1 for one that holds it."""
    if name is None:
        return 0
    if field in _USUAL.get(name, ())[:1]:
        return 3
    if field == name:
        return 2
    return int(any(word in field for word in (name, *_USUAL.get(name, ()))))


def stacks(subject: Subject) -> set[str]:
    """The logical names of the axes that layers are stacked along."""
    assert subject.trainer is not None
    found = {"layers"}
    if isinstance(subject.trainer.model, nn.Module):
        for _, module in walk.submodules(subject.trainer.model, "model"):
            if isinstance(module, Repeat):
                found.add(module.axis_name)
    return found
