"""Folds tests of options that nobody sets to the branch that runs.

It begins with all options that could go. Where one of them is set, or is used in a way
that no fold removes, it stays, and all begins anew without it. What is left then goes
as a whole: the field or parameter with its entry in a docstring, the arguments that
only pass it on, and the tests of it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from fdlkit.codegen.carry import cuts
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.expressions import Expressions, Found
from fdlkit.codegen.carry.modules import Function
from fdlkit.codegen.carry.options import Known, Option
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.surroundings import Scope, is_read_inside, is_stored_once
from fdlkit.codegen.carry.values import Values


def edits(program: Program) -> list[Edit]:
    """The changes that remove all options that can go."""
    blocked: frozenset[Option] = frozenset()
    while True:
        found = _Statements(program, blocked).run()
        if not found.needed - blocked:
            return found.edits
        blocked |= found.needed


class _Statements:
    """One attempt, without the options that are known to be needed."""

    def __init__(self, program: Program, blocked: frozenset[Option]):
        self._program = program
        self._module = program.module
        self._blocked = blocked
        self._options = {
            o: default for o, default in program.options().items() if o not in blocked
        }
        self._values = Values(program, self._options, blocked)
        self._found = Found()
        self._expressions = Expressions(
            program, self._options, self._values, self._found
        )

    def run(self) -> Found:
        """The changes, which hold if no other option turned out to be needed."""
        for statement in self._module.statements:
            is_open = all(map(self._program.is_open, statement.names or [""]))
            self._statement(statement.node, Scope(is_open=is_open), always=False)
        self._found.edits += cuts.of_options(self._program, self._options)
        return self._found

    # Blocks. `always`: they run whenever their function does, from top to bottom.

    def _block(
        self, body: Sequence[ast.stmt], scope: Scope, *, always: bool, after: int
    ) -> int:
        """Folds statements that stand below a line; how many stay."""
        kept = 0
        for number, statement in enumerate(body):
            first = self._module.first_line(statement, after=after)
            after = statement.end_lineno or statement.lineno
            is_last = self._is_last(statement, scope)
            if self._statement(statement, scope, always=always):
                self._remove(first, after)
                continue
            kept += 1
            if is_last and number + 1 < len(body):
                self._remove(after + 1, body[-1].end_lineno or body[-1].lineno)
                break
        return kept

    def _inner(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Folds a block that must not become empty."""
        if body and not self._block(
            body, scope, always=False, after=body[0].lineno - 1
        ):
            self._pass(body)

    def _is_last(self, statement: ast.stmt, scope: Scope) -> bool:
        """Whether nothing after it runs, once its test is folded."""
        if not isinstance(statement, ast.If):
            return False
        truth = self._values.truth(statement.test, scope)
        if truth is None or not truth.because:
            return False
        chosen = statement.body if truth.value else statement.orelse
        return bool(chosen) and isinstance(chosen[-1], ast.Return | ast.Raise)

    def _remove(self, first: int, last: int) -> None:
        self._found.edits.append(cuts.lines(self._module, first, last))

    def _pass(self, body: Sequence[ast.stmt]) -> None:
        at = self._module.line_start((body[-1].end_lineno or body[-1].lineno) + 1)
        text = f"{' ' * body[0].col_offset}pass\n"
        self._found.edits.append(Edit(at, at, text))

    # Statements.

    def _statement(self, node: ast.stmt, scope: Scope, *, always: bool) -> bool:
        """Folds one; whether all of it goes."""
        fold = self._expressions.fold
        match node:
            case ast.If():
                return self._if(node, scope, always=always)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope)
            case ast.ClassDef():
                for decorator in node.decorator_list:
                    fold(decorator, scope)
                inside = dataclasses.replace(scope, cls=node.name)
                for inner in node.body:
                    self._statement(inner, inside, always=False)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                return self._assigned(node, name, value, scope, always=always)
            case ast.AnnAssign():
                fold(node.value, scope)
                self._stored(node.target, scope, always=False)
            case ast.Assign():
                fold(node.value, scope)
                for target in node.targets:
                    self._stored(target, scope, always=False)
            case ast.AugAssign():
                adds = isinstance(node.op, ast.Add | ast.BitOr)
                if adds and self._is_empty(node.value, scope):
                    return True
                fold(node.value, scope)
                self._stored(node.target, scope, always=False)
            case ast.For():
                if self._is_empty(node.iter, scope) and not node.orelse:
                    return True
                fold(node.iter, scope)
                self._stored(node.target, scope, always=False)
                self._inner(node.body, scope)
                self._inner(node.orelse, scope)
            case ast.While():
                fold(node.test, scope, test=True)
                self._inner(node.body, scope)
                self._inner(node.orelse, scope)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    fold(item.context_expr, scope)
                    self._stored(item.optional_vars, scope, always=False)
                self._inner(node.body, scope)
            case ast.Try():
                for body in (node.body, node.orelse, node.finalbody):
                    self._inner(body, scope)
                for handler in node.handlers:
                    self._inner(handler.body, scope)
            case ast.Delete():
                return self._delete(node, scope)
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                known = self._values.of(value, scope)
                if known is not None and known.because:
                    return True
                fold(value, scope)
            case _:
                for child in ast.iter_child_nodes(node):
                    fold(child, scope)
        return False

    def _is_empty(self, node: ast.expr, scope: Scope) -> bool:
        known = self._values.of(node, scope)
        return known is not None and bool(known.because) and known.is_empty

    def _function(self, node: Function, scope: Scope) -> None:
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        for part in (*node.decorator_list, *defaults):
            self._expressions.fold(part, scope)
        inside = self._values.entered(node, scope)
        has_docstring = ast.get_docstring(node, clean=False) is not None
        rest = node.body[has_docstring:]
        after = node.body[0].end_lineno if has_docstring else node.lineno
        kept = self._block(rest, inside, always=True, after=after or 0)
        if rest and not kept and not has_docstring:
            self._pass(rest)

    def _if(self, node: ast.If, scope: Scope, *, always: bool) -> bool:
        truth = self._values.truth(node.test, scope)
        if truth is None or not truth.because:
            self._undecided(node, scope)
            return False
        chosen = node.body if truth.value else node.orelse
        if not chosen:
            return True
        module = self._module
        if not truth.value and cuts.is_elif(module, node):
            start, _ = module.span(chosen[0])
            self._remove(node.lineno, chosen[0].lineno - 1)
            self._found.edits.append(Edit(start, start + len("elif"), "if"))
            return self._statement(chosen[0], scope, always=always)
        above = node.test.end_lineno if truth.value else cuts.else_line(module, node)
        first = module.first_line(chosen[0], after=above or node.lineno)
        end = chosen[-1].end_lineno or chosen[-1].lineno
        before = len(self._found.edits)
        if not self._block(chosen, scope, always=always, after=first - 1):
            del self._found.edits[before:]
            return True
        self._remove(node.lineno, first - 1)
        if end < (node.end_lineno or end):
            self._remove(end + 1, node.end_lineno or end)
        by = chosen[0].col_offset - node.col_offset
        self._found.edits += cuts.outdented(module, chosen, first, by)
        return False

    def _undecided(self, node: ast.If, scope: Scope) -> None:
        """A test that stays, and both of its branches."""
        self._expressions.fold(node.test, scope, test=True)
        self._inner(node.body, scope)
        rest = node.orelse
        if cuts.is_elif(self._module, node):
            inner = rest[0]
            assert isinstance(inner, ast.If)
            truth = self._values.truth(inner.test, scope)
            if truth is not None:
                self._expressions.need(truth.because)  # it would become an `else`
            if self._statement(inner, scope, always=False):
                self._remove(inner.lineno, inner.end_lineno or inner.lineno)
        elif rest and not self._block(
            rest, scope, always=False, after=rest[0].lineno - 1
        ):
            line = cuts.else_line(self._module, node)
            self._remove(line, node.end_lineno or node.lineno)

    # Variables.

    def _assigned(
        self,
        node: ast.Assign | ast.AnnAssign,
        name: str,
        value: ast.expr,
        scope: Scope,
        *,
        always: bool,
    ) -> bool:
        """Folds `name = value`; whether it goes, since all know what it would be."""
        function = scope.function
        known = self._values.of(value, scope)
        if isinstance(value, ast.IfExp) and known is None:
            truth = self._values.truth(value.test, scope)
            if truth is not None and truth.because:
                chosen = value.body if truth.value else value.orelse
                if ast.unparse(chosen) == name:
                    return True  # `x = x`
        if known is not None and known.because and function is not None and always:
            option = Option("local", f"{function.name}:{function.lineno}", name)
            if option not in self._blocked and is_stored_once(function, name):
                scope.known[name] = Known(known.value, frozenset([option]))
                return True
        self._expressions.fold(value, scope)
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        self._stored(target, scope, always=always)
        return False

    def _stored(self, target: ast.expr | None, scope: Scope, *, always: bool) -> None:
        """A variable that was an option is something else from here on."""
        for inner in ast.walk(target) if target is not None else ():
            if isinstance(inner, ast.Name):
                known = scope.known.get(inner.id)
                if known is None:
                    continue
                function = scope.function
                if not always or function is None or is_read_inside(function, inner.id):
                    self._expressions.need(known.because)
                else:
                    scope.known[inner.id] = None
        match target:
            case ast.Attribute():
                self._expressions.fold(target, scope)
            case ast.Subscript() | ast.Tuple() | ast.List():
                for child in ast.iter_child_nodes(target):
                    if not isinstance(child, ast.Name):
                        self._expressions.fold(child, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> bool:
        kept = [
            one
            for one in node.targets
            if not isinstance(one, ast.Name) or scope.known.get(one.id) is None
        ]
        for target in kept:
            if not isinstance(target, ast.Name):
                self._expressions.fold(target, scope)
        if kept and len(kept) < len(node.targets):
            text = f"del {', '.join(map(ast.unparse, kept))}"
            self._found.edits.append(Edit(*self._module.span(node), text))
        return not kept
