"""One file's classes and functions, and the options among them."""

from __future__ import annotations

import ast
import collections
import functools
from collections.abc import Collection, Iterator

from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module
from fdlkit.codegen.carry.options import Known, Option, constant


class Program:
    """A file that is read once, to find out what of it can go.

    Args:
      module: The file.
      open_lines: The lines whose definitions may change.

    Attributes:
      classes: Those at top level whose names nothing else has.
      functions: The same.
      methods: By name: the class and the text of each.
      names: All that its statements bind.
    """

    def __init__(self, module: Module, open_lines: Collection[int]):
        self.module = module
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, Function] = {}
        self.methods: dict[str, list[tuple[str, Function]]] = {}
        self.names = [name for s in module.statements for name in s.names]
        self._open: set[str] = set()
        for statement in module.statements:
            node = statement.node
            if isinstance(node, ast.ClassDef) and self.names.count(node.name) == 1:
                self.classes[node.name] = node
            elif isinstance(node, FUNCTIONS) and self.names.count(node.name) == 1:
                self.functions[node.name] = node
            if statement.names and node.lineno in open_lines:
                self._open.update(statement.names)
        for cls in self.classes.values():
            for inner in cls.body:
                if isinstance(inner, FUNCTIONS):
                    self.methods.setdefault(inner.name, []).append((cls.name, inner))

    @functools.cached_property
    def num_uses(self) -> collections.Counter[tuple[type[ast.AST], str]]:
        """How often a name, or an attribute of a name, stands in the text."""
        return collections.Counter(filter(None, map(_used, ast.walk(self.module.tree))))

    @functools.cached_property
    def calls(self) -> dict[tuple[type[ast.AST], str], list[ast.Call]]:
        """The calls of what has a name, or of attributes of a name."""
        found: dict[tuple[type[ast.AST], str], list[ast.Call]] = {}
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Call) and (used := _used(node.func)):
                found.setdefault(used, []).append(node)
        return found

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
        return [
            (owner, inner)
            for owner in reversed(self.ancestors(name))
            for inner in self.classes[owner].body
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
        ]

    @functools.cache  # noqa: B019
    def owner(self, cls: str, field: str) -> str | None:
        """The class of a class's field of this name."""
        for one in self.ancestors(cls):
            for inner in self.classes[one].body:
                if isinstance(inner, ast.AnnAssign) and _name(inner.target) == field:
                    return one
        return None

    def is_protocol(self, name: str) -> bool:
        """Whether a class only says what methods others have."""
        bases = map(ast.unparse, self.classes[name].bases)
        return any(base.split(".")[-1].startswith("Protocol") for base in bases)

    def is_abstract(self, name: str) -> bool:
        """Whether a class is there to be inherited from alone."""
        return "abc.ABC" in map(ast.unparse, self.classes[name].bases)

    def options(self) -> dict[Option, Known]:
        """Every option that may go, and its default."""
        found = dict(self._fields())
        for name, function in self.functions.items():
            if self.is_open(name):
                for parameter, default in defaults(function):
                    found[Option("parameter", name, parameter)] = default
        for name, all_of_it in self.methods.items():
            if name.startswith("__") or not all(self.is_open(c) for c, _ in all_of_it):
                continue
            known = [dict(defaults(f)) for _, f in all_of_it]
            for parameter, default in known[0].items():
                if all(default.same(one.get(parameter)) for one in known):
                    found[Option("parameter", f".{name}", parameter)] = default
        return found

    def _fields(self) -> Iterator[tuple[Option, Known]]:
        for name, cls in self.classes.items():
            if not self.is_open(name) or not self._holds_fields(name):
                continue
            family = {a for heir in self.heirs(name) for a in self.ancestors(heir)}
            for inner in cls.body:
                if not isinstance(inner, ast.AnnAssign):
                    continue
                default = constant(inner.value)
                field = _name(inner.target)
                # What looks at all fields must find neither a part nor a key in it.
                if default is None or (default.value and _may_be_key(inner)):
                    continue
                if [o for o in family if self._says(o, field)] == [name]:
                    yield Option("field", name, field), default

    def _holds_fields(self, name: str) -> bool:
        """Whether a class is a plain dataclass or a Flax module."""
        made = [self.classes[one] for one in self.ancestors(name)]
        decorators = [ast.unparse(d) for cls in made for d in cls.decorator_list]
        if any("register" in one or "struct" in one for one in decorators):
            return False  # its fields are a tree that others know
        bases = [ast.unparse(base) for cls in made for base in cls.bases]
        own = [ast.unparse(d) for d in self.classes[name].decorator_list]
        return any("dataclass" in one for one in own) or "nn.Module" in bases

    def _says(self, cls: str, name: str) -> bool:
        for inner in self.classes[cls].body:
            targets = getattr(inner, "targets", [getattr(inner, "target", None)])
            if name in map(_name, targets) or getattr(inner, "name", None) == name:
                return True
        return False


def _used(node: ast.AST) -> tuple[type[ast.AST], str] | None:
    if isinstance(node, ast.Name):
        return ast.Name, node.id
    return (ast.Attribute, node.attr) if isinstance(node, ast.Attribute) else None


def defaults(function: Function) -> Iterator[tuple[str, Known]]:
    """The parameters that have a constant for their default."""
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


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _may_be_key(field: ast.AnnAssign) -> bool:
    return "Key" in ast.unparse(field.annotation)
