"""From a config to the text of a script."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from fdlkit.codegen import formatting
from fdlkit.codegen.carry.carrier import Carried, carry
from fdlkit.codegen.carry.homes import HOUSE, Definition, External, Homes, is_of
from fdlkit.codegen.carry.modules import Imported as Import
from fdlkit.codegen.leaves import Leaves
from fdlkit.codegen.naming import Namer
from fdlkit.codegen.program import Imported
from fdlkit.codegen.script import parts, sorting, twins
from fdlkit.codegen.script.experiment import Experiment, Text, Variable, Writer
from fdlkit.errors import UserError
from fdlkit.graph.model import Graph
from fdlkit.graph.snapshot import Taken

# What a script may need; their versions are noted in it.
PACKAGES = ("jax", "flax", "optax", "orbax-checkpoint", "grain", "etils", "numpy")
MAIN = Definition("fdlkit.eject.train.main", "main")
TRAINER = Definition("fdlkit.train.trainer", "Trainer")
FUNCTION = "experiment"

_ALIASES = {"jax.numpy": "jnp", "numpy": "np", "flax.linen": "nn"}


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a script comes from, for its first lines.

    Attributes:
      target: What the user named.
      command: The command line that writes it.
      commit: Of the checkout; empty outside of one.
      summary: What the experiment is, in a line.
      modules: The user's modules that loading the target imported.
    """

    target: str = ""
    command: str = ""
    commit: str = ""
    summary: str = ""
    modules: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Script:
    """A script's text and what it is made of.

    Attributes:
      text: All of it, but for the losses in its docstring.
      carried: The definitions.
      own_lines: The lines that are not carried: docstring, imports, experiment.
      left_out: Optional parts that the config has and the script has not.
    """

    text: str
    carried: Carried
    left_out: tuple[str, ...]

    @property
    def blocked(self) -> list[str]:
        """The modules that it must do without."""
        return ["fiddle", *sorted({s.module for s in self.carried.sections} | {HOUSE})]

    def with_losses(self, losses: Sequence[float], where: str) -> str:
        """The text with the first losses in its docstring."""
        told = ", ".join(f"{loss:.4f}" for loss in losses)
        count = f"first {len(losses)} steps" if len(losses) > 1 else "first step"
        line = f"{_LOSSES}\n\nMean loss after each of the {count} on {where}:\n{told}.\n"
        return self.text.replace(f"{_LOSSES}\n", line, 1)


_LOSSES = "Started again, it goes on from the last checkpoint."


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
    needed = script.carried.users_need & chosen.modules.keys()
    if needed != chosen.without(needed).modules.keys() & needed:
        script = _write(taken.graph, origin, chosen.without(needed))
    return script


def _write(graph: Graph, origin: Origin, chosen: twins.Chosen) -> Script:
    homes = Homes(chosen.modules)
    symbols = _Symbols(homes)
    leaves = Leaves()
    writer = Writer(graph, leaves.leaf, leaves.key, chosen.is_left_out)
    experiment = writer.write()
    roots, externals = symbols.needed(experiment)
    trainer = homes.twin(TRAINER)
    carried = carry(
        [*(root for root in roots if root != trainer), trainer, MAIN],
        homes=homes,
        entered=[name for name in origin.modules if homes.is_own(name)],
        externals=[*externals, External((Import("sys", None, "sys"),))],
        reserved=[FUNCTION],
        rank=parts.rank,
    )
    main = _name(carried, MAIN)
    blocks = [
        _docstring(origin, chosen.left_out),
        f"from __future__ import annotations\n\n{_imports(carried)}",
        *parts.laid_out(s for s in carried.sections if s.module != MAIN.module),
        parts.heading("The experiment"),
        _Body(experiment, carried, symbols, origin).text(),
        *(s.text for s in carried.sections if s.module == MAIN.module),
        f'if __name__ == "__main__":\n    sys.exit({main}({FUNCTION}))\n',
    ]
    text = formatting.formatted(sorting.sorted_imports("\n\n\n".join(blocks)))
    return Script(text, carried, chosen.left_out)


def _name(carried: Carried, home: Definition) -> str:
    return carried.identifiers.definitions[home]


class _Symbols:
    """Finds where what the experiment names comes from."""

    def __init__(self, homes: Homes):
        self._homes = homes

    def home(self, one: Imported) -> tuple[Definition | External | None, str]:
        """What is carried or imported for a name, and the attributes after it."""
        first, _, rest = one.qualname.partition(".")
        if one.module == "builtins":
            return None, one.qualname
        if self._homes.is_own(one.module):
            found = self._homes.find(one.module, first)
            if isinstance(found, Definition):
                return found, rest
            if isinstance(found, External):
                return found, rest
            raise UserError(
                f"{one.module}.{one.qualname} is not defined at the top of its module",
                "a script can carry only what is",
            )
        if one.module in _ALIASES:
            whole = Import(one.module, None, _ALIASES[one.module])
            return External((whole,)), one.qualname
        if not one.qualname:
            return External((Import(one.module, None, one.module.partition(".")[0]),)), ""
        if "." not in one.module:
            return External((Import(one.module, None, one.module),)), one.qualname
        return External((Import(one.module, first, first),)), rest

    def needed(self, experiment: Experiment) -> tuple[list[Definition], list[External]]:
        """The definitions and imports that the experiment names."""
        roots: dict[Definition, None] = {}
        externals: dict[External, None] = {}
        for one in experiment.imported():
            home, _ = self.home(one)
            if isinstance(home, Definition):
                roots.setdefault(home)
            elif home is not None:
                externals.setdefault(home)
        return list(roots), list(externals)

    def text(self, one: Imported, carried: Carried) -> str:
        """What is written for a name."""
        home, rest = self.home(one)
        if home is None:
            return rest
        if isinstance(home, Definition):
            name = carried.identifiers.definitions[home]
        else:
            name = carried.identifiers.imports[home.imports[0]]
            if home.imports[0].is_whole and home.imports[0].module != name:
                name = home.imports[0].module
        return f"{name}.{rest}" if rest else name


class _Body:
    """The function that makes the trainer."""

    def __init__(
        self, experiment: Experiment, carried: Carried, symbols: _Symbols, origin: Origin
    ):
        self._experiment = experiment
        self._carried = carried
        self._symbols = symbols
        self._origin = origin
        namer = Namer(carried.identifiers.taken)
        self._names: dict[Variable, str] = {}
        for name, _ in experiment.parameters:
            namer.taken.add(name)
        for variable, wishes in experiment.wishes.items():
            if len(wishes) == 1 and wishes[0] in dict(experiment.parameters):
                self._names[variable] = wishes[0]
        for variable, _ in experiment.variables:
            if variable not in self._names:
                self._names[variable] = namer.name(experiment.wishes[variable])

    def text(self) -> str:
        """Its definition."""
        trainer = _name(self._carried, self._trainer())
        parameters = ", ".join(
            f"{name}: int | None = None" if text is None
            else f"{name}: int = {self._text(text)}"
            for name, text in self._experiment.parameters
        )
        lines = [f"def {FUNCTION}({'*, ' if parameters else ''}{parameters}) -> {trainer}:"]
        summary = (self._origin.summary or "The experiment.").replace("\\", "\\\\")
        lines.append(f'    """{summary}"""')
        for variable, text in self._experiment.variables:
            name = self._names[variable]
            if name in dict(self._experiment.parameters):  # it is computed, unless given
                lines.append(f"    if {name} is None:")
                lines.append(f"        {name} = {self._text(text)}")
            else:
                lines.append(f"    {name} = {self._text(text)}")
        lines.append(f"    return {self._text(self._experiment.root)}")
        return "\n".join(lines)

    def _trainer(self) -> Definition:
        for home in self._carried.identifiers.definitions:
            if home.name == TRAINER.name and is_of(home.module, HOUSE):
                return home
        raise AssertionError("the trainer is always carried")

    def _text(self, text: Text) -> str:
        return "".join(
            self._names[part]
            if isinstance(part, Variable)
            else self._symbols.text(part, self._carried)
            if isinstance(part, Imported)
            else part
            for part in text
        )


def _docstring(origin: Origin, left_out: Sequence[str]) -> str:
    file = _file_of(origin.command)
    paragraphs = [
        origin.summary or "An experiment in JAX.",
        f"    python {file} --workdir=runs/first",
        _LOSSES,
    ]
    if origin.target:
        at = f", commit {origin.commit}" if origin.commit else ""
        paragraphs.append(f"Written from {origin.target}{at}:")
        paragraphs.append(f"    {origin.command}")
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    paragraphs.append(textwrap.fill(f"Written for {', '.join(versions)}.", 88))
    if left_out:
        paragraphs.append(f"Left out: {', '.join(left_out)}.")
    text = "\n\n".join(paragraphs)
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""'


def _file_of(command: str) -> str:
    """What the command writes, as somebody who was given the file calls it."""
    for word in command.split():
        name, _, file = word.partition("=")
        if name == "--out" and file not in ("", "-"):
            return file.rpartition("/")[2]
    return "train.py"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(any)"


def _imports(carried: Carried) -> str:
    """The import statements; ruff sorts them."""
    whole: dict[str, None] = {}
    members: dict[str, dict[str, None]] = {}
    for one, bound in carried.imports:
        if one.name is None:
            package, _, last = one.module.rpartition(".")
            if one.is_whole and bound == one.bound:
                whole.setdefault(f"import {one.module}")
            elif bound == last and package:
                members.setdefault(package, {}).setdefault(last)
            else:
                whole.setdefault(f"import {one.module} as {bound}")
        else:
            text = one.name if bound == one.name else f"{one.name} as {bound}"
            members.setdefault(one.module, {}).setdefault(text)
    lines = list(whole)
    lines += [f"from {module} import {', '.join(names)}" for module, names in members.items()]
    return "\n".join(lines)
