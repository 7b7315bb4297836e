"""A module as text: its top-level statements, what they bind, where they stand."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import sys
from pathlib import Path
from typing import Literal

from fdlkit.errors import UserError

Kind = Literal["docstring", "import", "definition", "effect"]
Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclasses.dataclass(frozen=True, eq=False)
class Statement:
    """A top-level statement, with the comments that stand right above it.

    Attributes:
      module: The module's name.
      index: Its place among the module's statements.
      kind: What it is; an effect is neither definition nor import.
      node: The statement itself.
      first: Its first line, decorators and comments included, from 1.
      last: Its last line.
      names: The names that it binds in the module.
    """

    module: str
    index: int
    kind: Kind
    node: ast.stmt
    first: int
    last: int
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of what it defines; of an assignment, the first."""
        return self.names[0] if self.names else ""


@dataclasses.dataclass(frozen=True)
class Imported:
    """What an import binds to one name.

    Attributes:
      module: The module that is imported, or imported from; absolute.
      name: What is taken from it; None for the module itself.
      bound: The name from then on.
    """

    module: str
    name: str | None
    bound: str

    @property
    def is_whole(self) -> bool:
        """Whether `import a.b.c` binds `a`, so that uses spell the path out."""
        return self.name is None and self.bound == self.module.partition(".")[0]


class Module:
    """One module of the house or of the user, parsed, never run from here.

    Attributes:
      name: Its dotted name.
      file: Its file.
      text: Its text.
      statements: Its top-level statements, in order.
      imports: What its imports bind, by name; several `import a.b` bind one name.
    """

    def __init__(self, name: str, file: Path, text: str):
        self.name = name
        self.file = file
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text, str(file))
        self.is_package = file.name == "__init__.py"
        self.statements = self._statements()
        self.imports: dict[str, list[Imported]] = {}
        for statement in self.statements:
            if statement.kind == "import":
                for imported in self.imported_by(statement.node):
                    self.imports.setdefault(imported.bound, []).append(imported)
        self.defined: dict[str, list[Statement]] = {}
        for statement in self.statements:
            if statement.kind == "definition":
                for bound in statement.names:
                    self.defined.setdefault(bound, []).append(statement)

    @functools.cached_property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self.tree) or "").partition("\n")[0]

    @functools.cached_property
    def stars(self) -> list[str]:
        """The modules that it imports all names of."""
        return [
            self._absolute(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            and any(alias.name == "*" for alias in node.names)
        ]

    def imported_by(self, node: ast.AST) -> list[Imported]:
        """What an import statement binds, wherever it stands in the module."""
        if isinstance(node, ast.If):  # `if TYPE_CHECKING:`
            return [one for inner in node.body for one in self.imported_by(inner)]
        if isinstance(node, ast.Import):
            return [
                Imported(a.name, None, a.asname or a.name.partition(".")[0])
                for a in node.names
            ]
        if isinstance(node, ast.ImportFrom):
            return [
                Imported(self._absolute(node), alias.name, alias.asname or alias.name)
                for alias in node.names
                if alias.name != "*" and node.module != "__future__"
            ]
        return []

    def place(self, node: ast.AST) -> str:
        """Where something stands, for messages: `lm.py:12`."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}"

    def offset(self, line: int, column: int) -> int:
        """A position of the tree (line from 1, column in bytes) as one in the text."""
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Where a node's text begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    @functools.cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def line_start(self, line: int) -> int:
        """Where a line begins, counted from 1; one past the last is the end."""
        return self._starts[line - 1]

    def first_line(self, node: ast.stmt, *, after: int) -> int:
        """The first line of a statement's decorators and of the comments above it."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        while first - 1 > after and self.lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return first

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        up = node.level - (1 if self.is_package else 0)
        package = parts[: len(parts) - up] if up else parts
        return ".".join([*package, *([node.module] if node.module else [])])

    def _statements(self) -> list[Statement]:
        found: list[Statement] = []
        after = 0
        for node in self.tree.body:
            first = self.first_line(node, after=after)
            last = node.end_lineno or node.lineno
            kind, names = _kind_of(node, is_first=not found)
            after = last
            found.append(
                Statement(self.name, len(found), kind, node, first, last, names)
            )
        return found


def _kind_of(node: ast.stmt, *, is_first: bool) -> tuple[Kind, tuple[str, ...]]:
    match node:
        case ast.Import() | ast.ImportFrom():
            return "import", ()
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return "definition", (node.name,)
        case ast.Expr(value=ast.Constant(value=str())) if is_first:
            return "docstring", ()
        case ast.Assign(targets=targets) if all(map(_binds_names_only, targets)):
            names = [n for target in targets for n in stored_names(target)]
            return ("definition", tuple(names)) if names != ["_"] else ("effect", ())
        case ast.AnnAssign(target=ast.Name(id=name)):
            return "definition", (name,)
        case ast.AugAssign(target=ast.Name(id=name)):
            return "definition", (name,)
        case ast.If(test=test, body=body, orelse=[]) if ast.unparse(test).endswith(
            "TYPE_CHECKING"
        ) and all(isinstance(s, ast.Import | ast.ImportFrom) for s in body):
            return "import", ()
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
            return "effect", tuple(dict.fromkeys(block_names(node)))
    if type(node).__name__ == "TypeAlias":  # `type X = …`, from Python 3.12 on
        return "definition", (node.name.id,)  # type: ignore[attr-defined]
    return "effect", ()


def _binds_names_only(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_binds_names_only, target.elts))
    if isinstance(target, ast.Starred):
        return _binds_names_only(target.value)
    return isinstance(target, ast.Name)


def stored_names(node: ast.AST) -> list[str]:
    """The names that an assignment's target binds."""
    return [
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]


def block_names(node: ast.AST) -> list[str]:
    """The names that a compound statement at top level binds in the module."""
    names: list[str] = []
    todo: list[ast.AST] = [node]
    while todo:
        inner = todo.pop()
        match inner:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.append(inner.name)
                continue
            case ast.Import() | ast.ImportFrom():
                names += [
                    a.asname or a.name.partition(".")[0]
                    for a in inner.names
                    if a.name != "*"
                ]
            case ast.Name(ctx=ast.Store()):
                names.append(inner.id)
            case ast.Lambda():
                continue
        todo.extend(ast.iter_child_nodes(inner))
    return names


def file_of(name: str) -> Path | None:
    """The Python file of a module, without importing it if that can be avoided."""
    loaded = sys.modules.get(name)
    file = getattr(loaded, "__file__", None)
    if file is None and loaded is None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    return Path(file) if file is not None and str(file).endswith(".py") else None


def read(name: str) -> Module:
    """A module, from its file.

    Raises:
      UserError: It has no source, or none that can be parsed.
    """
    file = file_of(name)
    if file is None:
        raise UserError(
            f"module {name} has no Python source, so nothing of it can be carried"
        )
    try:
        return Module(name, file, file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read as Python: {error}") from error
