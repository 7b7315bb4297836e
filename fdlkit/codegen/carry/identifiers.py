"""What everything is called in the one file, where two things of one name may meet."""

from __future__ import annotations

import builtins
import dataclasses
import keyword
from collections.abc import Collection, Iterable, Mapping

from fdlkit.codegen.carry.homes import HOUSE, Definition, External, is_of
from fdlkit.codegen.carry.modules import Imported


@dataclasses.dataclass(frozen=True)
class Identifiers:
    """Names in the file.

    Attributes:
      definitions: Of each carried definition.
      imports: Of each import, what it binds there.
      taken: All names at the file's top level.
    """

    definitions: Mapping[Definition, str]
    imports: Mapping[Imported, str]
    taken: frozenset[str]

    def renamed(self, home: Definition) -> str | None:
        """The other name that a definition has in the file; None if it has its own."""
        name = self.definitions[home]
        return None if name == home.name else name


def choose(
    definitions: Iterable[Definition],
    externals: Iterable[External],
    *,
    reserved: Collection[str] = (),
) -> Identifiers:
    """Gives each its own name where nobody else has it.

    A user's definition comes before one of the house, and both before an import, which
    can say `as`.

    Args:
      definitions: What is carried.
      externals: What is imported.
      reserved: Names that the rest of the file has.
    """
    taken = set(reserved)
    defined: dict[Definition, str] = {}
    in_order = sorted(dict.fromkeys(definitions), key=lambda d: is_of(d.module, HOUSE))
    for home in in_order:
        name = home.name if home.name not in taken else _other(home, taken)
        taken.add(name)
        defined[home] = name
    imported: dict[Imported, str] = {}
    meanings: dict[str, tuple[str, str | None]] = {}
    for external in externals:
        for one in external.imports:
            bound = one.bound
            meaning = (bound, None) if one.is_whole else (one.module, one.name)
            if meanings.get(bound) != meaning:
                while bound in taken:
                    bound = f"{bound}_lib" if one.name is None else f"{bound}_"
                taken.add(bound)
                meanings.setdefault(bound, meaning)
            imported[one] = bound
    return Identifiers(defined, imported, frozenset(taken))


def _other(home: Definition, taken: Collection[str]) -> str:
    """Another name: that of the module before it, as `MinePipeline`, `mine_half`."""
    for part in reversed(home.module.split(".")):
        if home.name[:1].isupper():
            words = "".join(word.capitalize() for word in part.split("_"))
            name = f"{words}{home.name}"
        else:
            name = f"{part}_{home.name.lstrip('_')}"
            if home.name.isupper():
                name = name.upper()
        if is_free(name, taken):
            return name
    number = 2
    while not is_free(f"{home.name}_{number}", taken):
        number += 1
    return f"{home.name}_{number}"


def is_free(name: str, taken: Collection[str]) -> bool:
    """Whether a name may be given to something new."""
    return (
        name.isidentifier()
        and name not in taken
        and not keyword.iskeyword(name)
        and not hasattr(builtins, name)
    )
