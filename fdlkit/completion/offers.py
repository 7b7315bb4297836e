"""What a config lets a person name: its paths, their choices, its tags. Plain data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fdlkit.completion.candidates import Answer, Candidate, behind, choose
from fdlkit.graph import paths

SCHEMA = "fdlkit.offers/1"

_ANYWHERE = re.compile(r"(?P<head>.*?)(?P<glob>\*\*\.|\.\.\.)(?P<tail>\w*)")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What an argument takes.

    Attributes:
      type: Its annotation, as a reader writes it.
      choices: The values it is one of, as they are typed; empty where they are many.
    """

    type: str = ""
    choices: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Step:
    """One argument of a node, or one element of a container.

    Attributes:
      wanted: What it takes.
      below: The number of the node or container that stands there, if one does.
    """

    wanted: Wanted = Wanted()
    below: int | None = None


Steps = Mapping[str | int, Step]


@dataclasses.dataclass(frozen=True)
class Offers:
    """A config's names. What is shared is there once, so all of this is linear.

    Attributes:
      nodes: The steps down from each node; the root comes first.
      tags: What each tag takes, by the tag's short name.
    """

    nodes: tuple[Steps, ...]
    tags: Mapping[str, Wanted] = dataclasses.field(default_factory=dict)

    def paths(self, typed: str, *, then: str) -> Answer:
        """The paths that go on from what was typed, one step further.

        Args:
          typed: The beginning of a path.
          then: What follows a whole path: `=`, or nothing.
        """
        if match := _ANYWHERE.fullmatch(typed):
            start = self._node(match["head"].removesuffix("."))
            names = self._names_below(start) if start is not None else {}
            head = match["head"] + match["glob"]
            found = [
                _step(name, Step(), then)
                for name in names
                if name.startswith(match["tail"])
            ]
            return behind(head, Answer(tuple(found)))
        head, dot, tail = typed.rpartition(".")
        start = self._node(head)
        if start is None:
            return Answer()
        found = [
            _step(str(key), step, then)
            for key, step in self.nodes[start].items()
            if str(key).startswith(tail)
        ]
        return behind(head + dot, Answer(tuple(found)))

    def values(self, path: str, typed: str) -> Answer:
        """The choices for the value at a path."""
        if match := _ANYWHERE.fullmatch(path):
            start = self._node(match["head"].removesuffix("."))
            steps = self._names_below(start) if start is not None else {}
            step = steps.get(match["tail"])
        else:
            step = self._step(path)
        return choose(typed, step.wanted.choices if step else ())

    def tag_names(self, typed: str) -> Answer:
        """Tags that begin with what was typed."""
        found = [
            Candidate(f"{name}=", wanted.type, is_whole=False)
            for name, wanted in self.tags.items()
            if name.startswith(typed)
        ]
        return Answer(tuple(found))

    def tag_values(self, tag: str, typed: str) -> Answer:
        """The choices for what carries a tag."""
        wanted = self.tags.get(tag.rpartition(".")[2], Wanted())
        return choose(typed, wanted.choices)

    def _step(self, path: str) -> Step | None:
        try:
            keys = paths.parse(path)
        except paths.PathError:
            return None
        step: Step | None = Step(below=0)
        for key in map(paths.to_dict_key, keys):
            if step is None or step.below is None or not isinstance(key, str | int):
                return None
            steps = self.nodes[step.below]
            if isinstance(key, int) and key < 0:
                key += len(steps)
            step = steps.get(key)
        return step

    def _node(self, path: str) -> int | None:
        step = self._step(path)
        return step.below if step else None

    def _names_below(self, start: int) -> dict[str, Step]:
        """Every argument's name in a node and below it, with the first that has it."""
        found: dict[str, Step] = {}
        for number in self._reached_from(start):
            for key, step in self.nodes[number].items():
                if isinstance(key, str):
                    found.setdefault(key, step)
        return found

    def _reached_from(self, start: int) -> Iterator[int]:
        todo, seen = [start], {start}
        while todo:
            number = todo.pop()
            yield number
            below = {step.below for step in self.nodes[number].values()} - {None}
            todo += sorted(b for b in below - seen if b is not None)
            seen |= {b for b in below if b is not None}


def _step(name: str, step: Step, then: str) -> Candidate:
    if step.below is not None:
        return Candidate(f"{name}.", step.wanted.type, is_whole=False)
    return Candidate(name + then, step.wanted.type, is_whole=not then)


def to_data(offers: Offers) -> dict[str, Any]:
    """The offers as JSON can hold them; what many arguments take is there once."""
    table: dict[Wanted, int] = {}
    nodes = [
        [
            [key, table.setdefault(step.wanted, len(table)), step.below]
            for key, step in steps.items()
        ]
        for steps in offers.nodes
    ]
    tags = {
        name: table.setdefault(wanted, len(table))
        for name, wanted in offers.tags.items()
    }
    wanted = [[each.type, *each.choices] for each in table]
    return {"schema": SCHEMA, "nodes": nodes, "tags": tags, "wanted": wanted}


def from_data(data: Any) -> Offers | None:
    """The offers that `to_data` gave; None for anything else."""
    try:
        if data["schema"] != SCHEMA:
            return None
        table = [Wanted(type_, tuple(choices)) for type_, *choices in data["wanted"]]
        nodes = tuple(
            {key: Step(table[wanted], below) for key, wanted, below in steps}
            for steps in data["nodes"]
        )
        tags = {name: table[wanted] for name, wanted in data["tags"].items()}
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    belows = {step.below for steps in nodes for step in steps.values()} - {None}
    if not nodes or not belows <= set(range(len(nodes))):
        return None
    return Offers(nodes, tags)
