"""From a config to the text of a script."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from fdlkit.codegen import formatting
from fdlkit.codegen.carry import leaner
from fdlkit.codegen.carry.carrier import Carried, carry
from fdlkit.codegen.carry.homes import HOUSE, Definition, External, Homes
from fdlkit.codegen.carry.modules import Imported as Import
from fdlkit.codegen.leaves import Leaves
from fdlkit.codegen.program import Imported
from fdlkit.codegen.script import head, parts, sorting, twins
from fdlkit.codegen.script.body import FUNCTION, Body
from fdlkit.codegen.script.experiment import Part, Writer
from fdlkit.codegen.script.head import Origin
from fdlkit.codegen.script.symbols import Symbols
from fdlkit.graph.model import Graph, Leaf, Symbol
from fdlkit.graph.snapshot import Taken

MAIN = Definition("fdlkit.eject.train.main", "main")
TRAINER = Definition("fdlkit.train.trainer", "Trainer")


@dataclasses.dataclass(frozen=True)
class Script:
    """A script's text and what it is made of.

    Attributes:
      text: All of it, but for the losses in its docstring.
      carried: The definitions.
      left_out: Optional parts that the config has and the script has not.
    """

    text: str
    carried: Carried
    left_out: tuple[str, ...]

    @property
    def blocked(self) -> list[str]:
        """The modules that it must do without."""
        return ["fiddle", *sorted({s.module for s in self.carried.sections} | {HOUSE})]


def write(taken: Taken, trainer: Any, origin: Origin) -> Script:
    """The script of an experiment.

    Args:
      taken: The config's graph, and what it was taken of.
      trainer: What it builds.
      origin: Where it comes from.

    Raises:
      UserError: Something of it cannot be written or carried.
    """
    chosen = twins.choose(taken, trainer)
    script = _write(taken.graph, origin, chosen)
    # What the user's own code builds on has to be what it was written for.
    fewer = chosen.without(script.carried.users_need)
    if fewer.modules != chosen.modules:
        script = _write(taken.graph, origin, fewer)
    return script


def _write(graph: Graph, origin: Origin, chosen: twins.Chosen) -> Script:
    homes = Homes(chosen.modules)
    symbols = Symbols(homes)
    leaves = Leaves()

    def leaf(one: Leaf) -> Sequence[Part]:
        held = one.value
        if isinstance(held, Symbol) and held.importable and homes.is_own(held.module):
            return (Imported(held.module, held.qualname),)  # which is carried
        return leaves.leaf(one)

    writer = Writer(graph, leaf, leaves.key, chosen.is_left_out)
    experiment = writer.write()
    local = leaves.definitions
    named = (p for d in local for p in d.text if isinstance(p, Imported))
    roots, externals = symbols.needed([*experiment.imported(), *named])
    trainer = homes.twin(TRAINER)
    carried = carry(
        [*(root for root in roots if root != trainer), trainer, MAIN],
        homes=homes,
        entered=[name for name in origin.modules if homes.is_own(name)],
        externals=[*externals, External((Import("sys", None, "sys"),))],
        reserved=[FUNCTION],
        rank=parts.rank,
    )
    main = carried.identifiers.definitions[MAIN]
    body = Body(experiment, local, carried, symbols, trainer, origin.summary)
    shown = list(body.texts())
    start = f'if __name__ == "__main__":\n    sys.exit({main}({FUNCTION}))\n'
    carried = leaner.without_options(carried, [*shown, start])
    blocks = [
        head.docstring(origin, chosen.left_out),
        f"from __future__ import annotations\n\n{head.imports(carried)}",
        *parts.laid_out(s for s in carried.sections if s.module != MAIN.module),
        parts.heading("The experiment"),
        *shown,
        *(s.text for s in carried.sections if s.module == MAIN.module),
        start,
    ]
    text = formatting.formatted(sorting.sorted_imports("\n\n\n".join(blocks)))
    return Script(text, carried, chosen.left_out)
