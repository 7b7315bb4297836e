"""What nothing reads: variables, and parameters with the arguments that they get."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from fdlkit.codegen.carry import cuts
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import FUNCTIONS, Function, Module
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.scopes import all_arguments


def edits(program: Program) -> Iterator[Edit]:
    """Removes variables that nothing reads, and parameters with their arguments."""
    module = program.module
    for statement in module.statements:
        if statement.names and all(map(program.is_open, statement.names)):
            for node in ast.walk(statement.node):
                if isinstance(node, FUNCTIONS):
                    yield from _unread_variables(program, node)
    for name, function, is_method in _called_by_name(program):
        names = _unread_parameters(function, is_method)
        calls = _calls(program, name, is_method) if names else None
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


def _calls(program: Program, name: str, is_method: bool) -> list[ast.Call] | None:
    """All calls of a function or method; None if it is used in another way."""
    kind = ast.Attribute if is_method else ast.Name
    calls = program.calls.get((kind, name), [])
    return calls if program.num_uses[kind, name] == len(calls) else None


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
