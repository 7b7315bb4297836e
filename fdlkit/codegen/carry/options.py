"""Options of a program: fields and parameters that may all be left as they are.

An option is a field of a dataclass or of a Flax module, or a parameter of a function or
method, with a constant for its default. Which of them nobody sets, and which of those
can go, `folding` finds out.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module

Kind = Literal["field", "parameter", "local", "result"]


@dataclasses.dataclass(frozen=True)
class Option:
    """A field, a parameter, or a variable that is one of those.

    Attributes:
      kind: Which of them.
      owner: The class; the function, or `.name` for methods of a name; of a variable,
        where its function stands.
      name: Its name.
    """

    kind: Kind
    owner: str
    name: str


@dataclasses.dataclass(frozen=True)
class Constant:
    """A value that is known, to be told from one that is not."""

    value: Any

    def same(self, other: Constant | None) -> bool:
        """Whether it is of the same type and value."""
        return (
            other is not None
            and type(other.value) is type(self.value)
            and bool(other.value == self.value)
        )

    @property
    def says_nothing(self) -> bool:
        """Whether what looks at all fields finds neither a part nor a key in it."""
        if isinstance(self.value, str | tuple | list | dict):
            return not self.value
        return True


_FACTORIES: Mapping[str, Any] = {"dict": {}, "list": [], "tuple": ()}


def constant(node: ast.expr | None) -> Constant | None:
    """What an expression without names comes to."""
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return Constant(value)
        case ast.Tuple(elts=[]):
            return Constant(())
        case ast.List(elts=[]):
            return Constant([])
        case ast.Dict(keys=[]):
            return Constant({})
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() | int())):
            return Constant(ast.literal_eval(node))
        case ast.Call(func=func, args=[], keywords=[ast.keyword() as made]) if (
            ast.unparse(func) in ("dataclasses.field", "field")
            and made.arg == "default_factory"
            and ast.unparse(made.value) in _FACTORIES
        ):
            return Constant(_FACTORIES[ast.unparse(made.value)])
    return None


class Program:
    """One file's classes and functions, and the options among them.

    Args:
      module: The file.
      open_lines: The lines whose definitions may change.
    """

    def __init__(self, module: Module, open_lines: Collection[int]):
        self.module = module
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, Function] = {}
        self._open: set[str] = set()
        names = [name for s in module.statements for name in s.names]
        for statement in module.statements:
            node = statement.node
            if isinstance(node, ast.ClassDef) and names.count(node.name) == 1:
                self.classes[node.name] = node
            elif isinstance(node, FUNCTIONS) and names.count(node.name) == 1:
                self.functions[node.name] = node
            if statement.names and node.lineno in open_lines:
                self._open.update(statement.names)
        self.methods: dict[str, list[tuple[str, Function]]] = {}
        for cls in self.classes.values():
            for inner in cls.body:
                if isinstance(inner, FUNCTIONS):
                    self.methods.setdefault(inner.name, []).append((cls.name, inner))

    def is_open(self, name: str) -> bool:
        """Whether a definition may change."""
        return name in self._open

    @functools.cache  # noqa: B019 - a program lives as long as its folds
    def ancestors(self, name: str) -> list[str]:
        """A class and the classes of the file that it is made of, the nearest first."""
        found: list[str] = []
        todo = [name]
        while todo:
            at = todo.pop(0)
            if at in self.classes and at not in found:
                found.append(at)
                todo += [
                    b.id for b in self.classes[at].bases if isinstance(b, ast.Name)
                ]
        return found

    @functools.cache  # noqa: B019
    def heirs(self, name: str) -> list[str]:
        """A class and those of the file that are made of it."""
        return [one for one in self.classes if name in self.ancestors(one)]

    @functools.cache  # noqa: B019
    def fields(self, name: str) -> list[tuple[str, ast.AnnAssign]]:
        """The fields of a class in the order of its constructor, with their owners."""
        found = []
        for owner in reversed(self.ancestors(name)):
            for inner in self.classes[owner].body:
                if isinstance(inner, ast.AnnAssign) and isinstance(
                    inner.target, ast.Name
                ):
                    found.append((owner, inner))
        return found

    @functools.cache  # noqa: B019
    def owner(self, cls: str, field: str) -> str | None:
        """The class of a class's field of this name."""
        for one in self.ancestors(cls):
            for inner in self.classes[one].body:
                if isinstance(inner, ast.AnnAssign) and _name(inner.target) == field:
                    return one
        return None

    def _holds_fields(self, name: str) -> bool:
        """Whether a class is a plain dataclass or a Flax module."""
        made = [self.classes[one] for one in self.ancestors(name)]
        decorators = [ast.unparse(d) for cls in made for d in cls.decorator_list]
        if any("register" in one or "struct" in one for one in decorators):
            return False  # its fields are a tree that others know
        bases = [ast.unparse(base) for cls in made for base in cls.bases]
        own = [ast.unparse(d) for d in self.classes[name].decorator_list]
        return any("dataclass" in one for one in own) or "nn.Module" in bases

    @functools.cache  # noqa: B019
    def options(self) -> dict[Option, Constant]:
        """Every option that may go, and its default."""
        found: dict[Option, Constant] = {}
        for name, cls in self.classes.items():
            if not self.is_open(name) or not self._holds_fields(name):
                continue
            family = {a for heir in self.heirs(name) for a in self.ancestors(heir)}
            for inner in cls.body:
                if not isinstance(inner, ast.AnnAssign):
                    continue
                default = constant(inner.value)
                field = _name(inner.target)
                if default is None or not default.says_nothing:
                    continue
                others = [o for o in family if self._says(o, field)]
                if others == [name]:
                    found[Option("field", name, field)] = default
        for name, function in self.functions.items():
            if self.is_open(name):
                for parameter, default in _defaults(function):
                    found[Option("parameter", name, parameter)] = default
        for name, all_of_it in self.methods.items():
            if name.startswith("__") or not all(self.is_open(c) for c, _ in all_of_it):
                continue
            known = [dict(_defaults(f)) for _, f in all_of_it]
            for parameter, default in known[0].items():
                if all(default.same(one.get(parameter)) for one in known):
                    found[Option("parameter", f".{name}", parameter)] = default
        return found

    @functools.cache  # noqa: B019
    def results(self) -> dict[str, Constant]:
        """What functions return that do nothing but return a constant."""
        found: dict[str, Constant] = {}
        for name, function in self.functions.items():
            if not self.is_open(name) or function.decorator_list:
                continue
            if isinstance(function, ast.AsyncFunctionDef):
                continue
            has_docstring = ast.get_docstring(function) is not None
            rest = [
                s
                for s in function.body[has_docstring:]
                if not isinstance(s, ast.Delete | ast.Pass)
            ]
            match rest:
                case []:
                    found[name] = Constant(None)
                case [ast.Return(value=value)]:
                    known = Constant(None) if value is None else constant(value)
                    if known is not None and known.says_nothing:
                        found[name] = known
        return found

    def _says(self, cls: str, name: str) -> bool:
        for inner in self.classes[cls].body:
            targets = getattr(inner, "targets", [getattr(inner, "target", None)])
            if name in map(_name, targets) or getattr(inner, "name", None) == name:
                return True
        return False


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _defaults(function: Function) -> Iterator[tuple[str, Constant]]:
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    with_default = plain[len(plain) - len(args.defaults) :]
    for arg, default in (
        *zip(with_default, args.defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ):
        found = constant(default)
        if found is not None:
            yield arg.arg, found
