"""Constants and class attributes of an experiment's files that nothing reads."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from collections.abc import Iterator

from fdlkit import suggest, tracebacks
from fdlkit.check.config import readers
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph.model import Graph

_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple"})
_MIN_LENGTH = 2  # a single letter is the notation of a paper


@dataclasses.dataclass(frozen=True)
class _Constant:
    """A name in capitals that a file gives a value.

    Attributes:
      name: The name.
      owner: The class that has it; empty for the module's own.
      file: The file.
      line: The line.
    """

    name: str
    owner: str
    file: str
    line: int


def find(subject: Subject) -> Iterator[Finding]:
    """Each of them, by file and line."""
    files = users_files(subject.graph)
    reads = {file: readers.of_file(file) for file in files}
    if any(one is None for one in reads.values()):
        return
    known = [one for one in reads.values() if one is not None]
    everything = frozenset().union(*(r.attributes | r.variables for r in known))
    if any(one.sees_all for one in known):
        return  # a loop over all names may read any of them
    for file in files:
        tree = readers.parse(file)
        for constant in () if tree is None else _constants(tree, file):
            if constant.name in everything:
                continue
            if readers.is_read(constant.name, file, files):
                continue
            yield _finding(constant, everything)


def users_files(graph: Graph) -> tuple[str, ...]:
    """The user's own files that wrote something into a config."""
    found: set[str] = set()
    for node in graph.nodes:
        written = [node.origin, *(argument.origin for argument in node.arguments)]
        found |= {one.file for one in written if one is not None and one.line}
    return tuple(
        sorted(
            os.path.abspath(file)
            for file in found
            if tracebacks.is_users(file) and file.endswith(".py")
        )
    )


def _constants(tree: ast.Module, file: str) -> Iterator[_Constant]:
    bodies: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    while bodies:
        owner, body = bodies.pop()
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                if not any(_last(base) in _ENUMS for base in statement.bases):
                    bodies.append((statement.name, statement.body))
                continue
            for name in _assigned(statement):
                if len(name) >= _MIN_LENGTH and _CONSTANT.fullmatch(name):
                    yield _Constant(name, owner, file, statement.lineno)


def _last(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            parts = [e for t in targets for e in getattr(t, "elts", [t])]
            return [part.id for part in parts if isinstance(part, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            return [name]
    return []


def _finding(constant: _Constant, known: frozenset[str]) -> Finding:
    from fdlkit.check import codes

    owner = f"{constant.owner}." if constant.owner else ""
    shown = tracebacks.shown_path(constant.file)
    capitals = [name for name in known if _CONSTANT.fullmatch(name)]
    return Finding(
        code="CF017",
        severity=codes.find("CF017").severity,
        path="<root>",
        text=f"{owner}{constant.name} is given a value, and nothing reads it",
        source=f"{shown}:{constant.line}",
        meant=suggest.hint(constant.name, sorted(capitals)) or "",
        fix="delete it, or rename it to what is read",
    )
