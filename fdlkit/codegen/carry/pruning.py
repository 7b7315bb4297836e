"""What a program no longer reaches, now that some of its text has gone."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Set

from fdlkit.codegen.carry import cuts
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module, Statement
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.reach import class_parts
from fdlkit.codegen.carry.scopes import all_arguments, attribute_names, uses

# A definition, or a method of a class: `("Box", "area")`.
Place = tuple[str, str]


class Reached:
    """What the statements that are no definitions, and the closed ones, lead to.

    Args:
      program: The program.
      roots: Definitions and methods that are needed anyway.
    """

    def __init__(self, program: Program, roots: Set[Place] = frozenset()):
        self._program = program
        self._module = program.module
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

    def _follow(self, node: ast.AST) -> None:
        if node in self._seen:
            return
        self._seen.add(node)
        self.names.update(use.node.id for use in uses(node))
        self._attributes.update(attribute_names(node))

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


def edits(program: Program, roots: Set[Place]) -> list[Edit]:
    """Removes what nothing leads to, and methods that have come to do nothing."""
    module = program.module
    missed = list(Reached(program, roots).missed())
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


def unread(program: Program) -> Iterator[Edit]:
    """Removes variables that nothing reads, and parameters with their arguments."""
    module = program.module
    for statement in module.statements:
        if statement.names and all(map(program.is_open, statement.names)):
            for node in ast.walk(statement.node):
                if isinstance(node, FUNCTIONS):
                    yield from _unread_variables(program, node)
    for name, function, is_method in _called_by_name(program):
        names = _unread_parameters(function, is_method)
        calls = _calls(module, name, is_method) if names else None
        if calls is None:
            continue
        passed = [_passed(program, function, call, names, is_method) for call in calls]
        names = {
            n for n in names if all(one is not None and n in one for one in passed)
        }
        if not names:
            continue
        for call, one in zip(calls, passed, strict=True):
            assert one is not None
            dropped = [a for n in names for a in one[n]]
            if dropped:
                yield from cuts.of_arguments(module, call, dropped)
        yield from cuts.of_parameters(module, function, names)
        for node in ast.walk(function):
            if isinstance(node, ast.Delete):
                yield from _undeleted(module, node, names)


def _called_by_name(program: Program) -> Iterator[tuple[str, Function, bool]]:
    """Functions, and methods that only their own class calls: of a private name."""
    for name, function in program.functions.items():
        if program.is_open(name) and not function.decorator_list:
            yield name, function, False
    for name, methods in program.methods.items():
        if name.startswith("_") and not name.startswith("__") and len(methods) == 1:
            (cls, function), *_ = methods
            if program.is_open(cls) and not function.decorator_list:
                yield name, function, True


def _unread_variables(program: Program, function: Function) -> Iterator[Edit]:
    read = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)
    }
    outer = any(isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(function))
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ) if name not in read:
                if not outer and _is_plain(program, value):
                    last = node.end_lineno or node.lineno
                    yield cuts.lines(program.module, node.lineno, last)


def _calls(module: Module, name: str, is_method: bool) -> list[ast.Call] | None:
    """All calls of a function or method; None if it is used in another way."""

    def names_it(node: ast.AST) -> bool:
        if is_method:
            return isinstance(node, ast.Attribute) and node.attr == name
        return isinstance(node, ast.Name) and node.id == name

    nodes = list(ast.walk(module.tree))
    calls = [n for n in nodes if isinstance(n, ast.Call) and names_it(n.func)]
    return calls if sum(map(names_it, nodes)) == len(calls) else None


def _unread_parameters(function: Function, is_method: bool) -> set[str]:
    read = {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Del)
    }
    every = {a.arg for a in all_arguments(function.args)[is_method:]}
    rest = function.args.vararg
    return every - read - ({rest.arg} if rest is not None else set())


def _passed(
    program: Program,
    function: Function,
    call: ast.Call,
    names: Set[str],
    is_method: bool,
) -> dict[str, list[ast.expr | ast.keyword]] | None:
    """What a call passes to parameters, where leaving it out changes nothing else."""
    args = function.args
    if args.vararg is not None or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    if any(k.arg is None for k in call.keywords):
        return None
    plain = [a.arg for a in (*args.posonlyargs, *args.args)][is_method:]
    known = {*plain, *(a.arg for a in args.kwonlyargs)}
    found: dict[str, list[ast.expr | ast.keyword]] = {name: [] for name in names}
    for name, argument in zip(plain, call.args, strict=False):
        if name in found:
            found[name].append(argument)
    for keyword in call.keywords:
        rest = args.kwarg.arg if args.kwarg is not None else ""
        name = keyword.arg if keyword.arg in known else rest
        if name in found:
            found[name].append(keyword)
    for name, given in list(found.items()):
        if not all(
            _is_plain(program, g.value if isinstance(g, ast.keyword) else g)
            for g in given
        ):
            del found[name]
    return found


def _is_plain(program: Program, node: ast.expr) -> bool:
    """Whether it only reads, or asks functions of the house, which only compute."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Await | ast.NamedExpr | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(inner, ast.Call):
            name = inner.func.id if isinstance(inner.func, ast.Name) else ""
            if name not in program.functions or not program.is_open(name):
                return False
    return True


def _undeleted(module: Module, node: ast.Delete, names: Set[str]) -> Iterator[Edit]:
    kept = [t for t in node.targets if ast.unparse(t) not in names]
    if not kept:
        yield cuts.lines(module, node.lineno, node.end_lineno or node.lineno)
    elif len(kept) < len(node.targets):
        yield Edit(*module.span(node), f"del {', '.join(map(ast.unparse, kept))}")
