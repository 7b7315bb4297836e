"""From the definitions that an experiment names to the text of all that it needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from fdlkit.codegen.carry import homes as homes_lib
from fdlkit.codegen.carry import identifiers as identifiers_lib
from fdlkit.codegen.carry import splice
from fdlkit.codegen.carry.homes import Definition, External, Homes, OwnModule
from fdlkit.codegen.carry.identifiers import Identifiers
from fdlkit.codegen.carry.modules import Imported, Statement
from fdlkit.codegen.carry.reach import Reach


@dataclasses.dataclass(frozen=True)
class Section:
    """What is carried of one module.

    Attributes:
      module: The module.
      heading: What it is for, in a line.
      text: Its statements; constants that stood together still do.
      num_lines: Lines of the statements, blank lines between them not counted.
    """

    module: str
    heading: str
    text: str
    num_lines: int


@dataclasses.dataclass(frozen=True)
class Carried:
    """What an experiment needs of own modules.

    Attributes:
      sections: In an order in which a person reads and Python can run it.
      imports: What the text imports, and what it binds there.
      identifiers: What everything is called.
      users_need: Definitions of the house that the user's own code uses, other than
        in annotations.
    """

    sections: tuple[Section, ...]
    imports: tuple[tuple[Imported, str], ...]
    identifiers: Identifiers
    users_need: frozenset[str]

    @property
    def num_lines(self) -> int:
        """The lines of all carried definitions."""
        return sum(section.num_lines for section in self.sections)


def carry(
    roots: Sequence[Definition],
    *,
    homes: Homes,
    attributes: Iterable[str] = (),
    entered: Iterable[str] = (),
    externals: Iterable[External] = (),
    reserved: Iterable[str] = (),
    rank: Callable[[str], int] = lambda module: 0,
) -> Carried:
    """Finds, orders and writes what is needed.

    Args:
      roots: What the experiment names, in its order.
      homes: Follows names through modules.
      attributes: What the experiment asks objects for.
      entered: The user's modules whose effects are part of the experiment.
      externals: What the experiment itself imports.
      reserved: Names that the rest of the file has.
      rank: What comes first, by module; one of a lower rank must not import one of a
        higher.

    Raises:
      UserError: What is needed cannot be carried.
    """
    reach = Reach(homes)
    reach.run(roots, attributes=attributes, entered=entered)
    order = _module_order([*(root.module for root in roots), *entered], reach)
    order.sort(key=rank)  # stable, and lower rooms import no higher ones
    needed: dict[str, list[Statement]] = {name: [] for name in order}
    for statement in sorted(reach.needed, key=lambda s: s.index):
        needed[statement.module].append(statement)
    definitions = [
        Definition(s.module, name)
        for part in needed.values()
        for s in part
        for name in s.names
    ]
    imported = [*reach.externals, *externals]
    taken = list(reserved)
    names = identifiers_lib.choose(definitions, imported, reserved=taken)
    if any(splice.is_wrapped_anew(s, names) for s in reach.needed):
        imported.append(External((splice.INSPECT,)))
        names = identifiers_lib.choose(definitions, imported, reserved=taken)
    sections = [
        _section(name, statements, reach, names)
        for name, statements in needed.items()
        if statements
    ]
    imports = tuple(names.imports.items())
    return Carried(tuple(sections), imports, names, frozenset(_users_need(reach)))


def _section(
    name: str, statements: Sequence[Statement], reach: Reach, names: Identifiers
) -> Section:
    text = ""
    num_lines = 0
    before: Statement | None = None
    for statement in statements:
        if before is not None:
            text += "\n" if statement.first == before.last + 1 else "\n\n"
        piece = splice.text_of(statement, reach, names)
        text += piece
        num_lines += piece.count("\n") + 1
        before = statement
    return Section(name, reach.homes.module(name).summary, text, num_lines)


def _users_need(reach: Reach) -> Iterator[str]:
    for statement in reach.needed:
        if homes_lib.is_of(statement.module, homes_lib.HOUSE):
            continue
        module = reach.homes.module(statement.module)
        for one in reach.resolved(module, statement.node):
            if (
                isinstance(one.home, Definition)
                and not one.use.annotation
                and homes_lib.is_of(one.home.module, homes_lib.HOUSE)
            ):
                yield one.home.name


def _module_order(starts: Iterable[str], reach: Reach) -> list[str]:
    """The modules with needed statements, each after those that it imports.

    That is the order in which Python ran them, so whatever a definition uses while it
    is made is there.
    """
    relevant = {statement.module for statement in reach.needed}
    order: list[str] = []
    seen: set[str] = set()
    for start in (*starts, *sorted(relevant)):
        todo: list[tuple[str, Iterator[str]]] = []
        if start not in seen:
            seen.add(start)
            todo.append((start, iter(_imported_modules(start, reach))))
        while todo:
            name, rest = todo[-1]
            inner = next(rest, None)
            if inner is None:
                todo.pop()
                order.append(name)
            elif inner not in seen:
                seen.add(inner)
                todo.append((inner, iter(_imported_modules(inner, reach))))
    return [name for name in order if name in relevant]


def _imported_modules(name: str, reach: Reach) -> list[str]:
    """The own modules that a module's top-level imports lead to."""
    homes = reach.homes
    module = homes.module(name)
    found: dict[str, None] = {}
    for statement in module.statements:
        if statement.kind != "import":
            continue
        for imported in module.imported_by(statement.node):
            if not homes.is_own(imported.module):
                continue
            home = homes.find(name, imported.bound)
            if isinstance(home, Definition):
                found.setdefault(home.module)
            elif isinstance(home, OwnModule):
                target = imported.module if imported.name is None else home.name
                found.setdefault(target)
    # Twins are imported by nobody: they follow from what is used.
    for statement in module.statements:
        if statement in reach.needed:
            for one in reach.resolved(module, statement.node):
                if isinstance(one.home, Definition):
                    found.setdefault(one.home.module)
    found.pop(name, None)
    return list(found)
