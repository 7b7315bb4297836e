"""The text of what is carried: as it was written, but for what one file changes.

Methods that nobody calls go, and with them the comments above them. Qualifiers of own
modules go, as do own imports inside functions. Shapes that jaxtyping wrote in
annotations become comments. Everything else stays to the letter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from fdlkit.codegen.carry import shapes
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.homes import Definition, External
from fdlkit.codegen.carry.identifiers import Identifiers
from fdlkit.codegen.carry.modules import (
    FUNCTIONS,
    Imported,
    Module,
    Statement,
)
from fdlkit.codegen.carry.reach import Reach, Resolved
from fdlkit.errors import UserError

# What finds the function inside its decorators.
INSPECT = Imported("inspect", None, "inspect")


def text_of(statement: Statement, reach: Reach, identifiers: Identifiers) -> str:
    """A carried statement's text.

    Raises:
      UserError: A name would come to mean something else.
    """
    module = reach.homes.module(statement.module)
    start = module.line_start(statement.first)
    end = module.line_start(statement.last + 1)
    edits = [
        *_dropped_methods(module, statement, reach),
        *_dropped_imports(module, statement, reach),
        *_renamed_uses(module, statement, reach, identifiers),
        *_renamed_definition(module, statement, identifiers),
        *shapes.edits(module, statement.node, reach),
    ]
    text = module.text[start:end]
    for edit in outermost(edits):
        text = text[: edit.start - start] + edit.text + text[edit.end - start :]
    return text.strip("\n") + _restored_name(statement, identifiers)


def outermost(edits: Sequence[Edit]) -> Iterator[Edit]:
    """The edits that no other contains, from the end of the text."""
    reached = -1
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda e: (e.start, -e.end)):
        if edit.start >= reached or edit.start == edit.end == reached:
            kept.append(edit)
            reached = edit.end
    return reversed(kept)


def _dropped_methods(
    module: Module, statement: Statement, reach: Reach
) -> Iterator[Edit]:
    node = statement.node
    if not isinstance(node, ast.ClassDef):
        return
    kept = reach.methods[statement]
    after = node.lineno
    left = 0
    for inner in node.body:
        first = module.first_line(inner, after=after)
        before, after = after, inner.end_lineno or inner.lineno
        if not isinstance(inner, FUNCTIONS) or inner in kept:
            left += 1
            continue
        if inner is node.body[-1] and not left:
            yield Edit(*module.span(inner), "pass")
            continue
        # The blank lines above go too.
        while first - 1 > before and not module.lines[first - 2].strip():
            first -= 1
        yield Edit(module.line_start(first), module.line_start(after + 1), "")


def _dropped_imports(
    module: Module, statement: Statement, reach: Reach
) -> Iterator[Edit]:
    for block in ast.walk(statement.node):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(block, field, None)
            if not isinstance(body, list):
                continue
            for inner in body:
                if not isinstance(inner, ast.Import | ast.ImportFrom):
                    continue
                if not reach.late_imports(module, inner):
                    continue
                if len(body) == 1:
                    yield Edit(*module.span(inner), "pass")
                    continue
                last = inner.end_lineno or inner.lineno
                blank = last < len(module.lines) and not module.lines[last].strip()
                yield Edit(
                    module.line_start(inner.lineno),
                    module.line_start(last + 1 + blank),
                    "",
                )


def _renamed_uses(
    module: Module, statement: Statement, reach: Reach, identifiers: Identifiers
) -> Iterator[Edit]:
    dropped = _spans_of_dropped(module, statement, reach)
    for one in reach.resolved(module, statement.node):
        start, _ = module.span(one.use.node)
        if any(a <= start < b for a, b in dropped):
            continue
        name = _name_in_file(one, identifiers)
        if name is None:
            continue
        outermost = one.use.chain[one.spent - 1] if one.spent else one.use.node
        written = ast.unparse(outermost)
        if name == written:
            continue
        if name in one.use.hidden:
            raise UserError(
                f"{statement.module}.{statement.name}: {written} would be captured by "
                f"the local name {name!r}",
                f"  {module.place(one.use.node)}",
                f"call the local something else, or give {written} another name",
            )
        yield from _in_place(module, one, outermost, written, name)


def _in_place(
    module: Module, one: Resolved, node: ast.expr, written: str, name: str
) -> Iterator[Edit]:
    start, end = module.span(node)
    if module.text[start:end] == written:
        yield Edit(start, end, name)
        return
    around = one.use.shared
    if around is None:  # written over several lines, or with blanks
        yield Edit(start, end, name)
        return
    # Before Python 3.12, the parts of an f-string do not know where they stand.
    start, end = module.span(around)
    for found in re.finditer(
        rf"(?<![\w.]){re.escape(written)}\b", module.text[start:end]
    ):
        yield Edit(start + found.start(), start + found.end(), name)


def _name_in_file(one: Resolved, identifiers: Identifiers) -> str | None:
    if isinstance(one.home, Definition):
        return identifiers.definitions.get(one.home)
    if isinstance(one.home, External):
        first = one.home.imports[0]
        bound = identifiers.imports.get(first)
        return bound if one.spent == 0 else None
    return None


def _spans_of_dropped(
    module: Module, statement: Statement, reach: Reach
) -> list[tuple[int, int]]:
    if not isinstance(statement.node, ast.ClassDef):
        return []
    kept = reach.methods[statement]
    return [
        (
            module.line_start(min([f.lineno, *(d.lineno for d in f.decorator_list)])),
            module.span(f)[1],
        )
        for f in statement.node.body
        if isinstance(f, FUNCTIONS) and f not in kept
    ]


def _renamed_definition(
    module: Module, statement: Statement, identifiers: Identifiers
) -> Iterator[Edit]:
    for old in statement.names:
        home = Definition(statement.module, old)
        name = identifiers.definitions.get(home, old)
        if name == old:
            continue
        node = statement.node
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            start = module.line_start(node.lineno)
            found = re.compile(rf"(def|class)\s+{old}\b").search(module.text, start)
            assert found is not None
            yield Edit(found.end() - len(old), found.end(), name)
            continue
        for inner in ast.walk(node):
            if (
                isinstance(inner, ast.Name)
                and inner.id == old
                and isinstance(inner.ctx, ast.Store)
            ):
                yield Edit(*module.span(inner), name)


def is_wrapped_anew(statement: Statement, identifiers: Identifiers) -> bool:
    """Whether it is a decorated function with another name: JAX asks the inner one."""
    name = identifiers.definitions.get(Definition(statement.module, statement.name))
    return (
        isinstance(statement.node, FUNCTIONS)
        and bool(statement.node.decorator_list)
        and name not in (None, statement.name)
    )


def _restored_name(statement: Statement, identifiers: Identifiers) -> str:
    """Flax's parameter paths and what JAX compiles hold the names of the original."""
    home = Definition(statement.module, statement.name)
    name = identifiers.definitions.get(home, statement.name)
    node = statement.node
    if name == statement.name or not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return ""
    if is_wrapped_anew(statement, identifiers):
        name = f"{identifiers.imports[INSPECT]}.unwrap({name})"
    return f'\n\n\n{name}.__name__ = {name}.__qualname__ = "{statement.name}"'
