"""Shapes that jaxtyping wrote in annotations, as comments a reader keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.homes import is_shape
from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module
from fdlkit.codegen.carry.reach import Reach
from fdlkit.codegen.carry.scopes import all_arguments

WIDTH = 88  # of a line, as ruff formats code


def shaped(module: Module, node: ast.AST | None, reach: Reach) -> list[ast.Subscript]:
    """The `Float[Array, "b t"]` below a node, the outermost ones."""
    if node is None:
        return []
    found: list[ast.Subscript] = []
    todo: list[ast.AST] = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, ast.Subscript) and _is_jaxtyping(module, at.value, reach):
            found.append(at)
        else:
            todo.extend(ast.iter_child_nodes(at))
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _is_jaxtyping(module: Module, node: ast.expr, reach: Reach) -> bool:
    return any(is_shape(one.home) for one in reach.resolved(module, node))


def edits(module: Module, statement: ast.stmt, reach: Reach) -> Iterator[Edit]:
    """Arrays where shapes were, and the shapes in a comment beside or below."""
    for node in ast.walk(statement):
        if isinstance(node, FUNCTIONS):
            notes = []
            for name, annotation in _signature(node):
                for one in shaped(module, annotation, reach):
                    notes.append(f"{name}: {_shape(one)}")
                    yield Edit(*module.span(one), _array(one, module, reach))
            # Below the docstring, unless there is nothing else.
            first, *rest = node.body
            has_docstring = ast.get_docstring(node, clean=False) is not None
            below = rest[0] if has_docstring and rest else first
            if notes and below.lineno > node.lineno:
                after = first.end_lineno if below is not first else node.lineno
                at = module.line_start(module.first_line(below, after=after or 0))
                yield Edit(at, at, _comment(notes, " " * below.col_offset))
        elif isinstance(node, ast.AnnAssign):
            found = shaped(module, node.annotation, reach)
            for one in found:
                yield Edit(*module.span(one), _array(one, module, reach))
            if found:
                _, end = module.span(node)
                yield Edit(end, end, f"  # {', '.join(map(_shape, found))}")


def _comment(notes: Sequence[str], indent: str) -> str:
    """Notes on as few lines as there is room for."""
    lines = [f"{indent}#"]
    for number, note in enumerate(notes):
        piece = f" {note}," if number + 1 < len(notes) else f" {note}"
        if len(lines[-1]) + len(piece) > WIDTH and not lines[-1].endswith("#"):
            lines.append(f"{indent}#")
        lines[-1] += piece
    return "".join(f"{line}\n" for line in lines)


def _signature(node: Function) -> Iterator[tuple[str, ast.expr | None]]:
    for arg in all_arguments(node.args):
        yield arg.arg, arg.annotation
    yield "returns", node.returns


def _shape(node: ast.Subscript) -> str:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    kind = ast.unparse(node.value).rpartition(".")[2]
    shape = parts[-1]
    text = str(shape.value) if isinstance(shape, ast.Constant) else ast.unparse(shape)
    return f"{kind}[{text}]"


def _array(node: ast.Subscript, module: Module, reach: Reach) -> str:
    first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    start, end = module.span(first)
    for one in reach.resolved(module, first):
        if is_shape(one.home):
            return "jax.Array"
    return module.text[start:end]
