"""Classes that stand for others, where there is but one other.

A protocol, or a base class of abstract methods, says what a program asks of several
classes. Where a file has one of them, annotations name that one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import FUNCTIONS
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.scopes import uses


def edits(program: Program) -> Iterator[Edit]:
    """Writes the one class in the place of what only stands for it."""
    for name, cls in program.classes.items():
        if not program.is_open(name):
            continue
        if not (program.is_protocol(name) or program.is_abstract(name)):
            continue
        only = _only(program, name)
        named = list(_named(program, name)) if only is not None else None
        if only is None or named is None or None in named:
            continue
        yield from _without_base(program, program.classes[only], cls.name)
        for one in named:
            if one is not None:
                yield Edit(*program.module.span(one), only)


def _only(program: Program, name: str) -> str | None:
    """The one class that has all that another says, if nothing comes from there."""
    members = _members(program, name)
    found = [
        other
        for other in program.classes
        if other != name
        and not program.is_protocol(other)
        and members
        <= {
            member
            for one in program.ancestors(other)
            if one != name
            for member in _members(program, one)
        }
    ]
    heirs = [heir for heir in program.heirs(name) if heir != name]
    if len(found) != 1 or not set(heirs) <= set(found):
        return None
    return found[0] if program.is_open(found[0]) else None


def _members(program: Program, name: str) -> set[str]:
    body = program.classes[name].body
    methods = {inner.name for inner in body if isinstance(inner, FUNCTIONS)}
    fields = {
        ast.unparse(inner.target) for inner in body if isinstance(inner, ast.AnnAssign)
    }
    return methods | fields


def _named(program: Program, name: str) -> Iterator[ast.Name | None]:
    """Where annotations name a class; None for any other use but as a base."""
    for statement in program.module.statements:
        node = statement.node
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        is_open = all(map(program.is_open, statement.names or [""]))
        for use in uses(node):
            if use.node.id != name:
                continue
            if not is_open:
                yield None
            elif use.annotation:
                yield use.node
            elif use.node not in bases:
                yield None


def _without_base(program: Program, cls: ast.ClassDef, name: str) -> Iterator[Edit]:
    module = program.module
    kept = [*cls.bases, *cls.keywords]
    kept = [one for one in kept if ast.unparse(one) != name]
    if len(kept) < len(cls.bases) + len(cls.keywords):
        start = module.text.index("(", module.offset(cls.lineno, cls.col_offset))
        end = module.text.index(":\n", start)
        text = f"({', '.join(map(ast.unparse, kept))})" if kept else ""
        yield Edit(start, end, text)
