"""A planned program as text: names given, imports settled, functions written."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Sequence

from fdlkit.codegen import naming, planning
from fdlkit.codegen.imports import RESERVED, Imports
from fdlkit.codegen.planning import Function, Plan
from fdlkit.codegen.program import (
    Definition,
    Expression,
    Imported,
    Local,
    Own,
    Part,
    Program,
    Text,
    Use,
)

_INDENT = "    "


@dataclasses.dataclass(frozen=True)
class Names:
    """How the functions of a program are called.

    Attributes:
      main: The main function.
      prefix: What the names of the others begin with: `build_`.
      taken: Names that the text around the program needs.
    """

    main: str
    prefix: str = ""
    taken: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Printed:
    """The parts of a module's text, unformatted.

    Attributes:
      imports: The import statements.
      definitions: What was carried along, each a definition.
      functions: The main function, then those that it calls.
    """

    imports: str
    definitions: tuple[str, ...]
    functions: tuple[str, ...]


def printed(
    program: Program,
    names: Names,
    *,
    docstring: str = "",
    helpers: Sequence[Text] = (),
) -> Printed:
    """Writes a program.

    Args:
      program: The program.
      names: How its functions are called.
      docstring: The main function's.
      helpers: Definitions that it uses by names that are taken.
    """
    plan = planning.plan(program)
    used = [part for text in helpers for part in text if isinstance(part, Imported)]
    imports = Imports([*used, *_imported(plan)], {names.main, *names.taken})
    printer = _Printer(plan, imports, names)
    definitions = (*map(printer.text, helpers), *printer.definitions())
    return Printed(imports.block(), definitions, printer.functions(docstring))


def _imported(plan: Plan) -> list[Imported]:
    found: dict[Imported, None] = {}
    texts: list[Iterable[Part]] = [d.text for d in plan.program.definitions]
    for number in plan.order:
        expression = plan.program.expressions[number]
        texts += [expression.parts(), *expression.then]
        if number in plan.of:
            texts.append(expression.type or _ANY)
    for function in plan.functions:
        for number in function.parameters:
            texts.append(plan.program.expressions[number].type or _ANY)
    for text in texts:
        found.update(dict.fromkeys(p for p in text if isinstance(p, Imported)))
    return list(found)


_ANY: Text = (Imported("typing", "Any"),)


class _Printer:
    def __init__(self, plan: Plan, imports: Imports, names: Names) -> None:
        self._plan = plan
        self._imports = imports
        self._expressions = plan.program.expressions
        self._carried: list[str] = []
        self._texts: dict[int, str] = {}
        self._name_all(names)
        for number in plan.order:
            self._texts[number] = self._written(number)

    def text(self, text: Text) -> str:
        """A text with everything settled."""
        return self._join(text, "")

    def definitions(self) -> tuple[str, ...]:
        """The text of each definition that is carried along."""
        return tuple(
            self._join(definition.text, self._carried[number])
            for number, definition in enumerate(self._plan.program.definitions)
        )

    def functions(self, docstring: str) -> tuple[str, ...]:
        """The text of each function that is not inside another one."""
        return tuple(
            "\n".join(
                self._function(function, docstring if not function.number else "")
            )
            for function in self._as_read()
        )

    def _as_read(self) -> list[Function]:
        """The functions that are not inside others, each before those that it calls."""
        place = {number: at for at, number in enumerate(self._plan.order)}
        below: dict[int, list[Function]] = collections.defaultdict(list)
        for function in self._plan.functions:
            if function.outer is not None and not function.is_local:
                below[function.outer].append(function)
        found, todo = [], [self._plan.functions[planning.MAIN]]
        while todo:
            function = todo.pop()
            found.append(function)
            todo += sorted(below[function.number], key=lambda f: -place[f.root])
        return found

    def _name_all(self, names: Names) -> None:
        taken = {*RESERVED, *self._imports.bound, names.main, *names.taken}
        top = naming.Namer(taken)
        for definition in self._plan.program.definitions:
            self._carried.append(top.name([_of_definition(definition)]))
        for function in self._plan.functions:
            if function.number == planning.MAIN:
                function.name = names.main
            elif not function.is_local:
                wishes = [names.prefix + wish for wish in self._wishes(function.root)]
                function.name = top.name(wishes)
        around: dict[int, frozenset[str]] = {planning.MAIN: frozenset()}
        mine: dict[int, set[str]] = collections.defaultdict(set)
        inside: dict[int, frozenset[str]] = {}
        for function in self._plan.functions:  # outer ones before inner ones
            if function.outer is not None:
                if function.outer not in inside:
                    above = around[function.outer] | mine[function.outer]
                    inside[function.outer] = above
                around[function.number] = inside[function.outer]
            namer = naming.Namer(top.taken)
            for number in self._by_name(function.variables):
                name = namer.name(self._wishes(number), around[function.number])
                self._plan.names[number] = name
                mine[function.number].add(name)

    def _by_name(self, variables: Sequence[int]) -> list[int]:
        """Those with a name of their own first: they get it."""
        return sorted(variables, key=lambda n: not self._expressions[n].name)

    def _wishes(self, number: int) -> list[str]:
        expression = self._expressions[number]
        if expression.is_function:
            return [expression.name]
        if expression.name:
            return [naming.snake(expression.name) or "value"]
        roles = list(dict.fromkeys(r for r in self._plan.roles.get(number, ()) if r))
        wishes = [naming.of_role(role, expression.called) for role in roles[:3]]
        called = naming.snake(expression.called)
        wishes += [called] if len(called) > 1 else []
        wishes += (
            [f"{wishes[0]}_{called}"] if roles and called not in wishes[:1] else []
        )
        return wishes or ["value"]

    def _function(self, function: Function, docstring: str) -> list[str]:
        """The lines of a function, without the indentation of what is around it."""
        expression = self._expressions[function.root]
        parameters = ", ".join(
            f"{self._plan.names[n]}: {self._type(n)}" for n in function.parameters
        )
        if function.is_local:
            lines = [f"def {self._plan.names[function.root]}():"]
        else:
            kind = self._type(function.root)
            lines = [f"def {function.name}({parameters}) -> {kind}:"]
        body = [f'"""{docstring}"""'] if docstring else []
        for number in self._first_plain(function.variables):
            body += self._statement(number)
        value = self._own_text(function.root)
        if function.root in self._plan.variables and function.number == planning.MAIN:
            value = self._plan.names[function.root]
        elif expression.then:
            name = self._plan.names[function.root]
            body.append(f"{name} = {value}")
            body += [self._join(text, name) for text in expression.then]
            value = name
        body.append(f"return {value}")
        return [*lines, *(_indented(line) for line in body)]

    def _first_plain(self, variables: Sequence[int]) -> list[int]:
        """Numbers and the like first, as a person would put them."""
        return sorted(
            variables,
            key=lambda n: (
                not planning.is_plain(self._expressions[n])
                or not self._expressions[n].name
            ),
        )

    def _statement(self, number: int) -> list[str]:
        expression = self._expressions[number]
        if expression.is_function:
            return self._function(self._plan.of[number], "")
        name = self._plan.names[number]
        called = self._plan.of.get(number)
        if called is not None and called.number != planning.MAIN:
            return [f"{name} = {self._call(called)}"]
        then = [self._join(text, name) for text in expression.then]
        return [f"{name} = {self._own_text(number)}", *then]

    def _call(self, function: Function) -> str:
        given = ", ".join(self._plan.names[n] for n in function.parameters)
        return f"{function.name}({given})"

    def _type(self, number: int) -> str:
        return self._join(self._expressions[number].type or _ANY, "")

    def _own_text(self, number: int) -> str:
        return self._texts[number]

    def _used(self, use: Use) -> str:
        """What is written where an expression is used."""
        number = use.number
        if number in self._plan.variables:
            return self._plan.names[number]
        if (function := self._plan.of.get(number)) is not None:
            return self._call(function)
        text = self._texts[number]
        if self._expressions[number].binding < use.binding:
            return f"({text})"
        return text

    def _written(self, number: int) -> str:
        """An expression's own text; those that it uses are written."""
        expression = self._expressions[number]
        opening = self._join(expression.opening, "")
        if not expression.items:
            note = f"  # {expression.note}\n" if expression.note else ""
            return f"{opening}{note}{expression.closing}"
        items = [
            (self._join((*item.before, *item.value), ""), item.note)
            for item in expression.items
        ]
        if not expression.note and not any(note for _, note in items):
            inside = ", ".join(text for text, _ in items)
            if _is_lonely_tuple(expression):
                inside += ","
            return f"{opening}{inside}{expression.closing}"
        lines = [f"{opening}  # {expression.note}" if expression.note else opening]
        for text, note in items:
            lines.append(f"{text},  # {note}" if note else f"{text},")
        return "\n".join([*lines, expression.closing])

    def _join(self, text: Iterable[Part], name: str) -> str:
        """The text with everything settled; `Own` is `name`."""
        found = []
        for part in text:
            if isinstance(part, str):
                found.append(part)
            elif isinstance(part, Own):
                found.append(name)
            elif isinstance(part, Imported):
                found.append(self._imports.text(part))
            elif isinstance(part, Local):
                found.append(self._carried[part.number])
            else:
                found.append(self._used(part))
        return "".join(found)


def _is_lonely_tuple(expression: Expression) -> bool:
    return expression.opening == ("(",) and len(expression.items) == 1


def _of_definition(definition: Definition) -> str:
    return definition.name if definition.name.isidentifier() else "function"


def _indented(text: str) -> str:
    """One level in; only where a line of Python begins, never inside a string."""
    return f"{_INDENT}{text}"
