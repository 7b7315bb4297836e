"""What a program no longer reaches, now that some of its text has gone."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Set

from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module, Statement
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.reach import class_parts
from fdlkit.codegen.carry.scopes import attribute_names, uses

# A definition, or a method of a class: `("Box", "area")`.
Place = tuple[str, str]
# By the text of a piece of a program: the global names that it uses, and what it may
# ask objects for. Most of a program is the same text after each change.
Asked = dict[str, tuple[frozenset[str], frozenset[str]]]


class Reached:
    """What the statements that are no definitions, and the closed ones, lead to.

    Args:
      program: The program.
      asked: What is known of some texts already; others are added.
      roots: Definitions and methods that are needed anyway.
    """

    def __init__(self, program: Program, asked: Asked, roots: Set[Place] = frozenset()):
        self._program = program
        self._module = program.module
        self._asked = asked
        self._roots = roots
        self.names: set[str] = set()
        self._attributes: set[str] = set()
        self._seen: set[ast.AST] = set()
        todo: list[Statement] = list(self._module.statements)
        while True:
            before = len(self._seen)
            for statement in todo:
                self._statement(statement)
            if len(self._seen) == before:
                return

    def _statement(self, statement: Statement) -> None:
        needed = (
            not statement.names
            or not all(map(self._program.is_open, statement.names))
            or any(n in self.names or (n, "") in self._roots for n in statement.names)
        )
        node = statement.node
        if not needed or statement.kind == "import":
            return
        if not isinstance(node, ast.ClassDef):
            self._follow(node)
            return
        for part in class_parts(node):
            self._follow(part)
        for inner in node.body:
            if isinstance(inner, FUNCTIONS) and self._is_called(node, inner):
                self._follow(inner)

    def _is_called(self, cls: ast.ClassDef, function: Function) -> bool:
        return (
            not self._program.is_open(cls.name)
            or function.name in self._attributes
            or (function.name.startswith("__") and function.name.endswith("__"))
            or (cls.name, function.name) in self._roots
        )

    def _follow(self, node: ast.expr | ast.stmt | ast.keyword) -> None:
        if node in self._seen:
            return
        self._seen.add(node)
        begin, end = self._module.span(node)
        for decorator in getattr(node, "decorator_list", ()):
            begin = min(begin, self._module.span(decorator)[0])
        text = self._module.text[begin:end]
        if text not in self._asked:
            names = frozenset(use.node.id for use in uses(node))
            self._asked[text] = (names, frozenset(attribute_names(node)))
        names, attributes = self._asked[text]
        self.names |= names
        self._attributes |= attributes

    def missed(self) -> Iterator[tuple[Place, ast.stmt, int, int]]:
        """Definitions and methods that nothing leads to, with their lines."""
        for statement in self._module.statements:
            node = statement.node
            if statement.kind not in ("definition", "effect") or not statement.names:
                continue
            if not all(map(self._program.is_open, statement.names)):
                continue
            if not any(
                n in self.names or (n, "") in self._roots for n in statement.names
            ):
                place = (statement.name, "")
                yield place, node, statement.first, statement.last
                continue
            if isinstance(node, ast.ClassDef):
                after = node.lineno
                for inner in node.body:
                    first = self._module.first_line(inner, after=after)
                    after = inner.end_lineno or inner.lineno
                    if isinstance(inner, FUNCTIONS) and inner not in self._seen:
                        yield (node.name, inner.name), inner, first, after


def edits(program: Program, asked: Asked, roots: Set[Place]) -> list[Edit]:
    """Removes what nothing leads to, and methods that have come to do nothing."""
    module = program.module
    missed = list(Reached(program, asked, roots).missed())
    gone = {node for _, node, _, _ in missed}
    found = [_without(module, first, last) for _, _, first, last in missed]
    for cls in program.classes.values():
        if not program.is_open(cls.name):
            continue
        for inner in cls.body:
            if isinstance(inner, FUNCTIONS) and _is_idle(inner):
                gone.add(inner)
                first = module.first_line(inner, after=cls.lineno)
                last = inner.end_lineno or inner.lineno
                found.append(_without(module, first, last))
        if gone.issuperset(cls.body):
            at = module.line_start((cls.end_lineno or cls.lineno) + 1)
            found.append(Edit(at, at, f"{' ' * cls.body[0].col_offset}pass\n"))
    return found


def _is_idle(function: Function) -> bool:
    """Whether a `__post_init__` only calls the one above it, or nothing."""
    if function.name != "__post_init__":
        return False
    has_docstring = ast.get_docstring(function) is not None
    rest = [ast.unparse(s) for s in function.body[has_docstring:]]
    return rest in ([], ["pass"], ["super().__post_init__()"])


def _without(module: Module, first: int, last: int) -> Edit:
    while first > 1 and not module.lines[first - 2].strip():
        first -= 1
    return Edit(module.line_start(first), module.line_start(last + 1), "")


def joined_returns(module: Module, program: Program) -> Iterator[Edit]:
    """`return E` where `x = E` and `return x` have come to stand together."""
    for statement in module.statements:
        if not statement.names or not all(map(program.is_open, statement.names)):
            continue
        for node in ast.walk(statement.node):
            body = getattr(node, "body", None)
            if not isinstance(body, list):
                continue
            for one, other in itertools.pairwise(body):
                match one, other:
                    case (
                        ast.Assign(targets=[ast.Name(id=name)], value=value),
                        ast.Return(value=ast.Name(id=returned)),
                    ) if name == returned and isinstance(node, FUNCTIONS):
                        yield Edit(
                            module.span(one)[0], module.span(value)[0], "return "
                        )
                        yield Edit(
                            module.line_start(other.lineno),
                            module.line_start((other.end_lineno or other.lineno) + 1),
                            "",
                        )
