"""What expressions come to, as long as nobody sets the options."""

from __future__ import annotations

import ast
import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fdlkit.codegen.carry.modules import FUNCTIONS, Function
from fdlkit.codegen.carry.options import Known, Option, constant
from fdlkit.codegen.carry.program import Program, defaults
from fdlkit.codegen.carry.scopes import all_arguments
from fdlkit.codegen.carry.surroundings import Scope, bound_in

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What becomes of nothing.
_OF_NOTHING: Mapping[str, object] = {
    "tuple": (),
    "list": [],
    "sorted": [],
    "dict": {},
    "zip": (),
    "map": (),
    "enumerate": (),
    "reversed": (),
}
_COMPARES: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, some: one in some,
    ast.NotIn: lambda one, some: one not in some,
}
_VIEWS = frozenset({"items", "keys", "values"})


class Values:
    """Computes with the defaults of some options.

    Args:
      program: The program.
      options: Options that nobody sets as far as is known, and their defaults.
      blocked: Options that are needed as they are.
    """

    def __init__(
        self,
        program: Program,
        options: Mapping[Option, Known],
        blocked: frozenset[Option] = frozenset(),
    ):
        self._program = program
        self._options = options
        self._blocked = blocked
        self._running: list[Option] = []

    def of(self, node: ast.expr, scope: Scope) -> Known | None:
        """What an expression comes to; None: that is not known."""
        if not scope.is_open:
            return constant(node)
        match node:
            case ast.Name(id=name):
                return scope.known.get(name)
            case ast.Attribute():
                option = self.field(node, scope)
                return self._because(option) if option is not None else None
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self.truth(operand, scope)
                if truth is not None:
                    return Known(not truth.value, truth.because)
            case ast.Compare():
                return self._compared(node, scope)
            case ast.IfExp():
                truth = self.truth(node.test, scope)
                if truth is None:
                    return None
                chosen = node.body if truth.value else node.orelse
                value = self.of(chosen, scope)
                return value and Known(value.value, value.because | truth.because)
            case ast.BoolOp():
                return self._joined(node, scope)
            case ast.Call(func=ast.Name(id=name)) if name not in scope.bound:
                if name in self._program.functions:
                    return self._result(node, name, scope)
                if name in _OF_NOTHING and not (name == "dict" and node.keywords):
                    empty = self._empty(node.args, scope)
                    return empty and Known(_OF_NOTHING[name], empty.because)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                if attr in _VIEWS and (empty := self._empty([value], scope)):
                    return Known((), empty.because)
                if (cls := self.class_of(value, scope)) is not None:
                    return self._method_result(cls, attr)
            case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
                empty = self._empty([node.generators[0].iter], scope)
                made: object = {} if isinstance(node, ast.DictComp) else ()
                made = [] if isinstance(node, ast.ListComp) else made
                return empty and Known(made, empty.because)
        return constant(node)

    def truth(self, node: ast.expr, scope: Scope) -> Known | None:
        """Whether an expression is true, if it is known."""
        if not isinstance(node, ast.BoolOp):
            value = self.of(node, scope)
            return value and Known(bool(value.value), value.because)
        ends = isinstance(node.op, ast.Or)
        truths = [self.truth(operand, scope) for operand in node.values]
        for truth in truths:
            if truth is not None and truth.value is ends:
                return truth  # the others do not matter
        if None in truths:
            return None
        return Known(not ends, frozenset().union(*(t.because for t in truths if t)))

    def default(self, option: Option) -> Known:
        """What an option is if nobody sets it."""
        return self._options[option]

    def _because(self, option: Option) -> Known:
        return Known(self._options[option].value, frozenset([option]))

    def _empty(self, nodes: Sequence[ast.expr], scope: Scope) -> Known | None:
        """The first of some expressions that is known to be a container of nothing."""
        known = (self.of(node, scope) for node in nodes)
        return next((k for k in known if k is not None and k.is_empty), None)

    def _joined(self, node: ast.BoolOp, scope: Scope) -> Known | None:
        ends = isinstance(node.op, ast.Or)
        because: frozenset[Option] = frozenset()
        value: Known | None = None
        for operand in node.values:
            value = self.of(operand, scope)
            if value is None:
                return None
            because |= value.because
            if bool(value.value) is ends:
                break
        return value and Known(value.value, because)

    def _compared(self, node: ast.Compare, scope: Scope) -> Known | None:
        sides = [self.of(side, scope) for side in (node.left, *node.comparators)]
        because: frozenset[Option] = frozenset()
        found = True
        for left, right, op in zip(sides, sides[1:], node.ops, strict=False):
            if left is None or right is None or type(op) not in _COMPARES:
                return None
            because |= left.because | right.because
            try:
                found = found and _COMPARES[type(op)](left.value, right.value)
            except TypeError:
                return None
        return Known(found, because)

    # What a function of the program returns.

    def _result(self, node: ast.Call, name: str, scope: Scope) -> Known | None:
        """What a function that does nothing but decide returns for known arguments."""
        function = self._program.functions[name]
        if any(isinstance(a, ast.Starred) for a in node.args):
            return None
        if any(k.arg is None for k in node.keywords):
            return None
        args = function.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        given = {
            **dict(zip(names, node.args, strict=False)),
            **{k.arg: k.value for k in node.keywords if k.arg},
        }
        known: dict[str, Known | None] = {
            **dict(defaults(function)),
            **{name: self.of(value, scope) for name, value in given.items()},
        }
        return self._run(Option("result", name, ""), name, function, known)

    def _method_result(self, cls: str, name: str) -> Known | None:
        """What all methods of a name return, for a class and all that inherit it."""
        family = {cls, *self._program.heirs(cls)}
        family |= set(self._program.ancestors(cls))
        if any(map(self._program.is_protocol, family)):
            return None  # what has its methods need not say so
        option = Option("result", f".{name}", "")
        found = [
            self._run(option, owner, function, {})
            for owner, function in self._program.methods.get(name, ())
            if owner in family
        ]
        first = found[0] if found else None
        return first if first and all(first.same(other) for other in found) else None

    def _run(
        self,
        option: Option,
        owner: str,
        function: Function,
        known: dict[str, Known | None],
    ) -> Known | None:
        """What a definition returns, as far as what is known of its arguments says."""
        if (
            option in self._blocked
            or option in self._running
            or not self._program.is_open(owner)
            or function.decorator_list
            or not isinstance(function, ast.FunctionDef)
        ):
            return None
        self._running.append(option)
        is_method = owner in self._program.classes
        inside = self.entered(function, Scope(cls=owner if is_method else None))
        inside = dataclasses.replace(inside, known={**inside.known, **known})
        _, found = self._returned(function.body, inside)
        self._running.pop()
        return found and Known(found.value, found.because | {option})

    def _returned(
        self, body: Sequence[ast.stmt], scope: Scope
    ) -> tuple[bool, Known | None]:
        """Whether statements run to their end, and what is returned: None: unknown."""
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Delete() | ast.Pass():
                    continue
                case ast.Return(value=None):
                    return False, Known(None)
                case ast.Return(value=ast.expr() as value):
                    return False, self.of(value, scope)
                case ast.If():
                    truth = self.truth(statement.test, scope)
                    if truth is None:
                        return False, None
                    chosen = statement.body if truth.value else statement.orelse
                    goes_on, found = self._returned(chosen, scope)
                    if not goes_on:
                        because = truth.because
                        return False, found and Known(
                            found.value, found.because | because
                        )
                case _:
                    return False, None
        return True, Known(None)

    # Whose a name or an attribute is.

    def field(self, node: ast.Attribute, scope: Scope) -> Option | None:
        """The option that an attribute reads."""
        cls = self.class_of(node.value, scope)
        if cls is None:
            return None
        owner = self._program.owner(cls, node.attr)
        option = Option("field", owner or "", node.attr)
        return option if option in self._options else None

    def class_of(self, node: ast.expr, scope: Scope) -> str | None:
        """The class of the program that an expression is of, as far as is said."""
        if isinstance(node, ast.Name):
            return scope.cls if node.id == scope.me else scope.types.get(node.id)
        if isinstance(node, ast.Attribute):
            cls = self.class_of(node.value, scope)
            for _, field in self._program.fields(cls) if cls is not None else ():
                if ast.unparse(field.target) == node.attr:
                    return self._named(field.annotation)
        return None

    def _named(self, annotation: ast.expr | None) -> str | None:
        match annotation:
            case ast.Name(id=name) if name in self._program.classes:
                return name
            case ast.BinOp(left=left, right=ast.Constant(value=None)):
                return self._named(left)
        return None

    def entered(self, node: Function | ast.Lambda, scope: Scope) -> Scope:
        """Where what is in a function stands."""
        arguments = all_arguments(node.args)
        inside = scope.hiding({a.arg for a in arguments} | bound_in(node))
        types = {a.arg: self._named(a.annotation) for a in arguments}
        me, owner = inside.me, ""
        if isinstance(node, FUNCTIONS) and scope.function is None:
            if scope.cls is not None:
                me = arguments[0].arg if arguments else None
                owner = f".{node.name}"
            elif node.name in self._program.functions:
                owner = node.name
        known: dict[str, Known | None] = {
            option.name: self._because(option)
            for option in self.of_owner("parameter", owner)
            if owner and option.name in types
        }
        return dataclasses.replace(
            inside,
            me=me,
            types={**inside.types, **{k: v for k, v in types.items() if v}},
            function=node if isinstance(node, FUNCTIONS) else scope.function,
            known={**inside.known, **known},
        )

    def of_owner(self, kind: str, name: str) -> Iterator[Option]:
        """The options of a callable, or of the classes that a class is made of."""
        for option in self._options:
            if option.kind == kind and (
                option.owner == name
                or (kind == "field" and option.owner in self._program.ancestors(name))
            ):
                yield option
