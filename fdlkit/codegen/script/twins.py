"""Which parts of the house a script has in their plain form.

A definition of `fdlkit.eject` stands for the one of its name. Where the config sets an
argument that the plain one does not take, to anything but its default, the original is
carried; but optional parts, which change nothing that is computed, are left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from fdlkit.graph.model import Argument, Graph, Node


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What is carried in its plain form.

    Attributes:
      modules: Of each definition that has a twin in use, the twin's module.
      left_out: Optional parts of the config that the script has not, for people.
    """

    modules: Mapping[str, str]
    left_out: tuple[str, ...]

    def is_left_out(self, node: Node, argument: Argument) -> bool:
        """Whether an argument is not passed to the plain form."""
        return False


def choose(graph: Graph) -> Chosen:
    """The twins that can stand in for what a config needs."""
    return Chosen({}, ())
