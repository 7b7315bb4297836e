"""A program before it is text: expressions that use one another.

Styles turn a config's graph into a `Program`; `planning` decides which expressions get
a name or a function of their own, `printing` writes them. Both know nothing of configs.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

# How tightly an expression binds: what binds less than its place gets parentheses.
ATOM = 9

# The same of Python's operators between numbers.
BINDING = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5}


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """Something that an import leads to.

    Attributes:
      module: `optax`, `fdlkit.nn.embed`.
      qualname: `adamw`, `Outer.Inner`; empty for the module itself.
    """

    module: str
    qualname: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """The value of another expression of the program.

    Attributes:
      number: Which one.
      binding: How tightly it must bind to stand here without parentheses.
    """

    number: int
    binding: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Local:
    """The name of a definition that the program carries along.

    Attributes:
      number: Its place in `Program.definitions`.
    """

    number: int


@dataclasses.dataclass(frozen=True, slots=True)
class Own:
    """The name of the expression or definition that the text belongs to."""


Part = str | Imported | Use | Local | Own
Text = tuple[Part, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One argument of a call, or one element of a container.

    Attributes:
      before: What stands before the value: `model=`, `"key": `.
      value: The value.
      role: What the value is called by its holder; empty if by a number alone.
      note: A comment for its line.
    """

    before: Text
    value: Text
    role: str = ""
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """One expression.

    Attributes:
      opening: The text before the items; all of it if there are none.
      items: What stands in its brackets, separated by commas.
      closing: The text after the items.
      called: What it calls or is, by a short name; what it is named after in need.
      type: Its type as an annotation; empty if nobody knows.
      name: If not empty, it is always a variable, and this is the name to give it.
      is_object: Whether several uses must get the very same object.
      is_part: Whether a person might give it a function of its own.
      binding: How tightly it binds; `ATOM` for calls, names and literals.
      note: A comment for its first line.
      then: Statements to follow where it has been given a name, their `Own`.
      region: The function (`is_function`) in which it is evaluated, each time anew.
        What is not of that region is evaluated once, before.
      is_function: Whether its value is a function without arguments that returns
        `opening`, evaluated anew at each call.
    """

    opening: Text
    items: tuple[Item, ...] = ()
    closing: str = ""
    called: str = ""
    type: Text = ()
    name: str = ""
    is_object: bool = False
    is_part: bool = False
    binding: int = ATOM
    note: str = ""
    then: tuple[Text, ...] = ()
    region: int | None = None
    is_function: bool = False

    def parts(self) -> list[Part]:
        """All parts of its text, in order."""
        found = [*self.opening]
        for item in self.items:
            found += item.before
            found += item.value
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class Definition:
    """A function or class at the top of the program, whose text was carried.

    Attributes:
      name: The name to give it.
      text: The text, with `Own` in place of the name.
    """

    name: str
    text: Text


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """All expressions of a program.

    Attributes:
      expressions: In any order; each is reached from the root by uses.
      root: What the program's main function returns.
      definitions: What is carried along.
    """

    expressions: tuple[Expression, ...]
    root: int
    definitions: tuple[Definition, ...] = ()


Style = Literal["script", "build", "fiddle"]
Comments = Literal["none", "origin"]
