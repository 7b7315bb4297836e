"""What of the own modules is needed: whole definitions, and methods that are called.

A definition is needed if the experiment names it or another needed one does. A method
is needed if its class is and something that is needed asks any object for that name, or
if a library may call it: it begins with two underscores, or a library's base class has
it too. What a user's module does when it is imported is needed as well, and so is what
a decorator may have recorded there.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from fdlkit.codegen.carry import homes as homes_lib
from fdlkit.codegen.carry import modules as modules_lib
from fdlkit.codegen.carry.homes import Definition, External, Home, Homes
from fdlkit.codegen.carry.modules import (
    FUNCTIONS,
    Function,
    Imported,
    Module,
    Statement,
)
from fdlkit.codegen.carry.scopes import Use, attribute_names, uses
from fdlkit.errors import UserError

# Packages whose decorators only change what they decorate.
_CHANGING = frozenset(
    {
        *("abc", "builtins", "contextlib", "dataclasses", "enum", "functools"),
        *("typing", "typing_extensions", "jaxtyping", "beartype"),
        *("jax", "flax", "optax", "chex", "numpy"),
    }
)
# What a module knows of its own place.
_PLACES = frozenset({"__file__", "__path__", "__spec__", "__package__"})
_BUILTIN_DECORATORS = frozenset({"property", "staticmethod", "classmethod"})
# What looks at a module's names while it runs, so that no name can be left out.
_LOOKS_AROUND = frozenset({"globals", "vars", "exec", "eval", "__import__", "dir"})


@dataclasses.dataclass(frozen=True, eq=False)
class Resolved:
    """A use of a global name and where it leads.

    Attributes:
      use: The place.
      home: What it means.
      spent: How many of the attributes after the name lead there.
    """

    use: Use
    home: Home
    spent: int


class Reach:
    """Finds all that is needed, to a fixed point.

    Attributes:
      needed: The statements, in the order in which they were found.
      methods: Of each needed class, the functions of its body that are needed.
      externals: What is imported from other packages, in the order found.
    """

    def __init__(self, homes: Homes):
        self.homes = homes
        self.needed: dict[Statement, None] = {}
        self.methods: dict[Statement, set[Function]] = {}
        self.externals: dict[External, None] = {}
        self._attributes: set[str] = set()
        self._entered: set[str] = set()
        self._whole: set[str] = set()
        self._todo: list[Statement] = []
        self._pending: list[tuple[Statement, Function]] = []
        self._resolved: dict[ast.AST, list[Resolved]] = {}
        self._config: dict[Statement, str] = {}

    def run(
        self,
        roots: Iterable[Definition],
        *,
        attributes: Iterable[str] = (),
        entered: Iterable[str] = (),
    ) -> None:
        """Finds what is needed.

        Args:
          roots: What the experiment names.
          attributes: What the experiment asks objects for.
          entered: User's modules whose effects are part of the experiment.

        Raises:
          UserError: Something that is needed makes configs.
        """
        self._attributes.update(attributes)
        for name in entered:
            self._enter(name)
        for root in roots:
            self._need(root, "the experiment")
        while self._todo or self._release_methods():
            while self._todo:
                self._visit(self._todo.pop())

    def resolved(self, module: Module, node: ast.AST) -> list[Resolved]:
        """The uses of global names below a node that lead somewhere."""
        if node not in self._resolved:
            found = []
            for use in uses(node, lambda inner: self.late_imports(module, inner)):
                leads = self.homes.of_use(module, use)
                if leads is not None:
                    found.append(Resolved(use, leads.home, leads.spent))
            self._resolved[node] = found
        return self._resolved[node]

    def late_imports(self, module: Module, node: ast.AST) -> Sequence[Imported]:
        """What an import inside a function binds, if it is of own modules."""
        return [
            imported
            for imported in module.imported_by(node)
            if self.homes.is_own(imported.module)
        ]

    def is_needed(self, home: Home) -> bool:
        """Whether a definition is among what is carried."""
        return isinstance(home, Definition) and any(
            s in self.needed for s in self.homes.statements(home)
        )

    def _need(self, home: Home, by: str) -> None:
        if isinstance(home, External):
            self.externals.setdefault(home)
            return
        if not isinstance(home, Definition):
            raise UserError(
                f"{by} uses the module {home.name} itself, not a name in it",
                "only what a module defines can be carried",
            )
        for statement in self.homes.statements(home):
            self._add(statement, by)

    def _add(self, statement: Statement, by: str) -> None:
        if statement in self.needed:
            return
        if self.makes_configs(statement):
            raise UserError(
                f"{by} needs {statement.name}, which makes configs or calls Fiddle",
                f"  {self._config[statement]}",
                "a standalone script has neither; split what it computes from what it "
                "configures",
            )
        self.needed[statement] = None
        self._todo.append(statement)
        self._enter(statement.module)

    def _enter(self, name: str) -> None:
        """Takes up what importing a module does, and the modules that it imports."""
        if name in self._entered or homes_lib.is_of(name, homes_lib.HOUSE):
            return
        self._entered.add(name)
        module = self.homes.module(name)
        for statement in module.statements:
            if statement.kind == "effect" or self._is_recorded(module, statement):
                if not _is_main(statement.node) and not self.makes_configs(statement):
                    self._add(statement, f"importing {name}")
            elif statement.kind == "import":
                for imported in module.imported_by(statement.node):
                    inner = f"{imported.module}.{imported.name}"
                    for other in (imported.module, inner):
                        if self.homes.is_own(other) and modules_lib.file_of(other):
                            self._enter(other)

    def _is_recorded(self, module: Module, statement: Statement) -> bool:
        """Whether a decorator of it may have kept it somewhere."""
        for decorator in getattr(statement.node, "decorator_list", []):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            found = self.resolved(module, called)
            if not found:
                if ast.unparse(called) in _BUILTIN_DECORATORS:
                    continue
                return True
            for one in found:
                if isinstance(one.home, External) and one.home.top in _CHANGING:
                    continue
                return True
        return False

    def makes_configs(self, statement: Statement) -> bool:
        """Whether it uses Fiddle, or a function that does."""
        if homes_lib.is_of(statement.module, homes_lib.HOUSE):
            return False  # the plain rooms know no Fiddle
        if statement not in self._config:
            self._config[statement] = ""  # for those that call each other
            self._config[statement] = self._use_of_fiddle(statement)
        return bool(self._config[statement])

    def _use_of_fiddle(self, statement: Statement) -> str:
        """Where a statement, or one that it uses, uses Fiddle; empty if none does."""
        module = self.homes.module(statement.module)
        for part in self._parts(statement):
            for one in self.resolved(module, part):
                if self.homes.makes_configs(one.home):
                    node = one.use.chain[-1] if one.use.chain else one.use.node
                    return f"{module.place(node)} uses {ast.unparse(node)}"
                if isinstance(one.home, Definition) and not homes_lib.is_of(
                    one.home.module, homes_lib.HOUSE
                ):
                    for inner in self.homes.statements(one.home):
                        if self.makes_configs(inner):
                            return self._config[inner]
        return ""

    def _parts(self, statement: Statement) -> Iterator[ast.AST]:
        """What is needed of a statement whatever else is."""
        node = statement.node
        if not isinstance(node, ast.ClassDef):
            yield node
            return
        yield from class_parts(node)

    def _visit(self, statement: Statement) -> None:
        module = self.homes.module(statement.module)
        for part in self._parts(statement):
            self._follow(module, statement, part)
        if isinstance(statement.node, ast.ClassDef):
            self.methods.setdefault(statement, set())
            self._pending += [
                (statement, f) for f in statement.node.body if isinstance(f, FUNCTIONS)
            ]

    def _follow(self, module: Module, statement: Statement, node: ast.AST) -> None:
        self._attributes.update(attribute_names(node))
        _refuse_places(module, statement, node)
        for one in self.resolved(module, node):
            home = one.home
            if one.use.annotation and homes_lib.is_shape(home):
                home = homes_lib.ARRAY  # which stands there instead
            self._need(home, f"{statement.module}.{statement.name}")
        is_users = not homes_lib.is_of(module.name, homes_lib.HOUSE)
        if is_users and module.name not in self._whole and _looks_around(node):
            self._carry_whole(module)

    def _carry_whole(self, module: Module) -> None:
        self._whole.add(module.name)
        for statement in module.statements:
            if (
                statement.kind in ("definition", "effect")
                and not _is_main(statement.node)
                and not self.makes_configs(statement)
            ):
                self._add(statement, f"{module.name}, which looks at its own names")

    def _release_methods(self) -> bool:
        """Takes up methods that have come to be called; whether there were any."""
        waiting, self._pending = self._pending, []
        released = False
        for statement, function in waiting:
            if self._is_called(statement, function):
                self.methods[statement].add(function)
                self._follow(self.homes.module(statement.module), statement, function)
                released = True
            else:
                self._pending.append((statement, function))
        return released

    def _is_called(self, statement: Statement, function: Function) -> bool:
        name = function.name
        if name in self._attributes or (name.startswith("__") and name.endswith("__")):
            return True
        if statement.module in self._whole:
            return not self._uses_fiddle(statement, function)
        cls = homes_lib.live(Definition(statement.module, statement.name))
        return isinstance(cls, type) and any(
            name in vars(base)
            for base in cls.__mro__[1:]
            if base is not object and not self.homes.is_own(base.__module__)
        )

    def _uses_fiddle(self, statement: Statement, function: Function) -> bool:
        module = self.homes.module(statement.module)
        return any(
            self.homes.makes_configs(r.home) for r in self.resolved(module, function)
        )


def _refuse_places(module: Module, statement: Statement, node: ast.AST) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in _PLACES:
            raise UserError(
                f"{module.name}.{statement.name or 'a statement'} uses {inner.id}, "
                "which means another file in a script",
                f"  {module.place(inner)}",
                "take the path as an argument, and write it in the config",
            )


def class_parts(node: ast.ClassDef) -> Iterator[ast.expr | ast.stmt | ast.keyword]:
    """What of a class is there whichever of its methods are."""
    yield from node.decorator_list
    yield from node.bases
    yield from node.keywords
    for inner in node.body:
        if not isinstance(inner, FUNCTIONS):
            yield inner


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test)
    )


def _looks_around(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Name)
        and n.func.id in _LOOKS_AROUND
        and (n.func.id in ("globals", "exec", "eval", "__import__") or not n.args)
        for n in ast.walk(node)
    )
