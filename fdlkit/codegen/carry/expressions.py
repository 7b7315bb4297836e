"""Folds expressions, and finds the options that they need all the same."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable

from fdlkit.codegen.carry import calls, cuts
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import stored_names
from fdlkit.codegen.carry.options import Known, Option
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.scopes import all_arguments
from fdlkit.codegen.carry.surroundings import Scope
from fdlkit.codegen.carry.values import COMPREHENSIONS, Values

_LITERALS = (type(None), bool, int, float, str, tuple, list, dict)


@dataclasses.dataclass
class Found:
    """What one attempt comes to.

    Attributes:
      edits: Changes of the text.
      needed: Options that are set or used in a way that no fold removes.
    """

    edits: list[Edit] = dataclasses.field(default_factory=list)
    needed: set[Option] = dataclasses.field(default_factory=set)


class Expressions:
    """Folds the expressions of a program.

    Args:
      program: The program.
      options: The options that may go.
      values: Computes with them.
      found: Where changes and needed options are put down.
    """

    def __init__(
        self,
        program: Program,
        options: Iterable[Option],
        values: Values,
        found: Found,
    ):
        self._program = program
        self._options = frozenset(options)
        self._values = values
        self._found = found

    def fold(self, node: ast.AST | None, scope: Scope, *, test: bool = False) -> None:
        """Folds all that is in an expression; `test`: only its truth matters."""
        if node is None or (
            isinstance(node, ast.expr) and self._replaced(node, scope, test=test)
        ):
            return
        match node:
            case ast.Name():
                self._used_name(node, scope)
            case ast.Attribute():
                self._used_attribute(node, scope)
                if not calls.is_class(self._program, node.value, scope):
                    self.fold(node.value, scope)
            case ast.Call():
                self._call(node, scope)
            case ast.Lambda():
                for default in (*node.args.defaults, *node.args.kw_defaults):
                    self.fold(default, scope)
                self.fold(node.body, self._values.entered(node, scope))
            case ast.UnaryOp(op=ast.Not()):
                self.fold(node.operand, scope, test=True)
            case ast.BoolOp():
                for inner in node.values:
                    self.fold(inner, scope, test=test)
            case ast.IfExp():
                self.fold(node.test, scope, test=True)
                self.fold(node.body, scope)
                self.fold(node.orelse, scope)
            case ast.JoinedStr():
                self._used_in_text(node, scope)
            case _ if isinstance(node, COMPREHENSIONS):
                self._comprehension(node, scope)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.fold(child, scope)

    # What is known is written in its place.

    def _replaced(self, node: ast.expr, scope: Scope, *, test: bool) -> bool:
        """Writes what is known of an expression in its place; whether it did."""
        values = self._values
        match node:
            case ast.Name(ctx=ast.Load(), id=name):
                # A variable may go; a field or parameter says more than its value.
                if not _is_variable(scope.known.get(name)):
                    return False
            case ast.Name() | ast.Attribute() | ast.Constant() | ast.JoinedStr():
                return False
            case ast.IfExp():
                truth = values.truth(node.test, scope)
                if truth is not None and truth.because:
                    chosen = node.body if truth.value else node.orelse
                    self._put(node, chosen)
                    self.fold(chosen, scope, test=test)
                    return True
            case ast.BoolOp():
                return self._shortened(node, scope, test=test)
            case ast.BinOp(op=ast.BitOr() | ast.Add()):
                # `a | {}` and `a + ()` are `a`.
                for one, other in ((node.right, node.left), (node.left, node.right)):
                    known = values.of(one, scope)
                    if known is not None and known.because and known.is_empty:
                        self._put(node, other)
                        self.fold(other, scope)
                        return True
            case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]):
                is_known = scope.is_open and name not in scope.bound
                if is_known and self._returns_its_argument(name):
                    self._put(node, only)
                    self.fold(only, scope, test=test)
                    return True
        known = values.of(node, scope)
        if known is None or not known.because or not isinstance(known.value, _LITERALS):
            return False
        span = self._program.module.span(node)
        self._found.edits.append(Edit(*span, repr(known.value)))
        return True

    def _shortened(self, node: ast.BoolOp, scope: Scope, *, test: bool) -> bool:
        """Leaves out of `a and b and c` what decides nothing."""
        ends = isinstance(node.op, ast.Or)
        kept: list[int] = []
        for number, operand in enumerate(node.values):
            truth = self._values.truth(operand, scope)
            is_last = number == len(node.values) - 1
            if truth is None or not truth.because or (is_last and not test):
                kept.append(number)
            elif truth.value is ends:
                kept.append(number)
                break
        kept = kept or [len(node.values) - 1]
        first, last = kept[0], kept[-1]
        if len(kept) == len(node.values) or kept != list(range(first, last + 1)):
            return False  # nothing goes, or something in between
        module = self._program.module
        start, end = module.span(node)
        begin, finish = (
            module.span(node.values[first])[0],
            module.span(node.values[last])[1],
        )
        if "(" in module.text[start:begin]:
            return False
        self._found.edits += [Edit(start, begin, ""), Edit(finish, end, "")]
        for number in kept:
            self.fold(node.values[number], scope, test=test)
        return True

    def _returns_its_argument(self, name: str) -> bool:
        function = self._program.functions.get(name)
        if function is None or not self._program.is_open(name):
            return False
        if function.decorator_list:
            return False
        arguments = [a.arg for a in all_arguments(function.args)]
        body = [s for s in function.body if not isinstance(s, ast.Delete)]
        match body[-1], len(body):
            case ast.Return(value=ast.Name(id=returned)), 1 | 2:
                is_doc = len(body) == 1 or ast.get_docstring(function) is not None
                return is_doc and arguments == [returned]
        return False

    def _put(self, node: ast.expr, chosen: ast.expr) -> None:
        """Leaves of an expression only one that is in it."""
        module = self._program.module
        text = module.text
        start, end = module.span(node)
        begin, finish = module.span(chosen)
        # Parentheses of its own around what is chosen stay.
        while text[start:begin].rstrip().endswith("(") and text[
            finish:end
        ].lstrip().startswith(")"):
            if isinstance(node, ast.Call):
                break  # these are the call's
            begin = start + text[start:begin].rstrip().rindex("(")
            finish += text[finish:end].index(")") + 1
        self._found.edits += [Edit(start, begin, ""), Edit(finish, end, "")]

    def _comprehension(self, node: ast.AST, scope: Scope) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.fold(generators[0].iter, scope)
        inner = scope.hiding({n for g in generators for n in stored_names(g.target)})
        for number, generator in enumerate(generators):
            if number:
                self.fold(generator.iter, inner)
            for condition in generator.ifs:
                self.fold(condition, inner, test=True)
        for part in ("key", "value", "elt"):
            self.fold(getattr(node, part, None), inner)

    # What is used all the same is needed.

    def need(self, options: Iterable[Option]) -> None:
        """Puts down that some options cannot go."""
        self._found.needed.update(options)

    def _used_name(self, node: ast.Name, scope: Scope) -> None:
        known = scope.known.get(node.id)
        if known is not None:
            self.need(known.because)
        elif isinstance(node.ctx, ast.Load) and node.id not in scope.bound:
            if node.id in self._program.functions:
                self.need(self._values.of_owner("parameter", node.id))
            elif node.id in self._program.classes:
                for heir in self._program.heirs(node.id):
                    self.need(self._values.of_owner("field", heir))

    def _used_attribute(self, node: ast.Attribute, scope: Scope) -> None:
        option = self._values.field(node, scope)
        if option is not None:
            self.need([option])
        elif not self._is_imported(node.value, scope):
            cls = self._values.class_of(node.value, scope)
            family = self._program.heirs(cls) if cls is not None else None
            self.need(
                o
                for o in self._options
                if (o.kind, o.name) == ("field", node.attr)
                and (family is None or o.owner in family)
            )
        # A method that is not called here may be called with anything.
        self.need(self._values.of_owner("parameter", f".{node.attr}"))

    def _is_imported(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it is a module: a name that nothing in the program binds."""
        return (
            isinstance(node, ast.Name)
            and node.id not in scope.bound
            and node.id not in self._program.names
        )

    def _used_in_text(self, node: ast.JoinedStr, scope: Scope) -> None:
        # Before Python 3.12 nobody knows where the parts of an f-string stand.
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                self._used_name(inner, scope)
            elif isinstance(inner, ast.Attribute):
                self._used_attribute(inner, scope)
            elif isinstance(inner, ast.Call):
                for callable_ in calls.callables(self._program, inner, scope).values():
                    for one in calls.given(inner, [callable_]):
                        self.need(one.sets & self._options)

    # Calls.

    def _call(self, node: ast.Call, scope: Scope) -> None:
        program, func = self._program, node.func
        if isinstance(func, ast.Name) and func.id == "isinstance":
            self.fold(node.args[0], scope)
            return
        self.need(calls.asked_by_name(node, self._options, scope))
        callables = calls.callables(program, node, scope)
        is_ours = bool(callables)
        if callables and isinstance(func, ast.Attribute):
            self.fold(func.value, scope)
            is_ours = self._values.class_of(func.value, scope) is not None
        elif not callables:
            self.fold(func, scope)
        may_drop = is_ours and scope.is_open and scope.function is not None
        dropped = []
        for argument in calls.given(node, list(callables.values())):
            known = self._values.of(argument.value, scope)
            live = argument.sets & self._options
            if argument.is_starred:
                if known is not None and known.because and not known.value:
                    dropped.append(argument.written)
                    continue
            elif may_drop and live and live == argument.sets:
                is_default = [self._values.default(o).same(known) for o in live]
                if all(is_default):
                    dropped.append(argument.written)
                    continue
            self.need(live)
            self.fold(argument.value, scope)
        if dropped:
            self._found.edits += cuts.of_arguments(program.module, node, dropped)


def _is_variable(known: Known | None) -> bool:
    return known is not None and all(o.kind == "local" for o in known.because)
