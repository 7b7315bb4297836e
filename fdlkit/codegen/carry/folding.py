"""Folds tests of options that nobody sets to the branch that runs.

It begins with all options that could go. Where one of them is set, or is used in a way
that no fold removes, it stays, and all begins anew without it. What is left then goes
as a whole: the field or parameter with its entry in a docstring, the arguments that
only pass it on, and the tests of it.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence

from fdlkit.codegen.carry import cuts
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import FUNCTIONS, Function
from fdlkit.codegen.carry.options import Constant, Option, Program, constant
from fdlkit.codegen.carry.scopes import all_arguments

# A variable that is a constant here; None: one that has come to be something else.
Names = Mapping[str, "tuple[Option, Constant] | None"]

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LITERALS = (type(None), bool, int, float, str, tuple, list, dict)
# What makes an object like another, with fields set by keyword.
_COPIES = frozenset({"replace", "_replace", "copy", "clone", "partial"})
# What becomes of nothing.
_COLLECTING: Mapping[str, object] = {
    "tuple": (),
    "list": [],
    "sorted": [],
    "dict": {},
    "zip": (),
    "map": (),
    "enumerate": (),
    "reversed": (),
}
_ASKS = frozenset({"getattr", "setattr", "hasattr", "delattr"})


def edits(program: Program) -> list[Edit]:
    """The changes that remove all options that can go."""
    blocked: set[Option] = set()
    while True:
        folds = Folds(program, blocked)
        found = folds.run()
        if not folds.newly_blocked:
            return found
        blocked |= folds.newly_blocked


@dataclasses.dataclass(frozen=True)
class _Scope:
    """Where an expression stands.

    Attributes:
      cls: The class around it.
      me: What its methods call their object.
      types: Variables whose class an annotation says.
      bound: Names that are not the file's.
      function: The function around it.
    """

    cls: str | None = None
    me: str | None = None
    types: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bound: frozenset[str] = frozenset()
    function: Function | None = None


class Folds:
    """One attempt.

    Attributes:
      newly_blocked: Options that turned out to be needed.
    """

    def __init__(self, program: Program, blocked: set[Option]):
        self._program = program
        self._module = program.module
        self._blocked = blocked
        every = program.options()
        self._options = {o: c for o, c in every.items() if o not in blocked}
        self._results = {
            name: known
            for name, known in program.results().items()
            if Option("result", name, "") not in blocked
        }
        self.newly_blocked: set[Option] = set()
        self._edits: list[Edit] = []
        self._scope = _Scope()
        self._names: dict[str, tuple[Option, Constant] | None] = {}
        self._outermost = ""

    def run(self) -> list[Edit]:
        """The changes, as far as no option was blocked."""
        for statement in self._module.statements:
            self._outermost = statement.name
            self._statement(statement.node, spine=False)
        self._edits += cuts.of_options(self._program, self._options)
        return self._edits

    # What is known of an expression.

    def _value(self, node: ast.expr, used: set[Option]) -> Constant | None:
        """What an expression comes to; `used`: the options that say so."""
        match node:
            case ast.Name(id=name):
                known = self._names.get(name)
                if known is None:
                    return None
                used.add(known[0])
                return known[1]
            case ast.Attribute():
                option = self._field(node)
                if option is None:
                    return None
                used.add(option)
                return self._options[option]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                truth = self._truth(operand, used)
                return None if truth is None else Constant(not truth)
            case ast.Compare(ops=[_], comparators=[_]):
                return self._compared(node, used)
            case ast.IfExp():
                truth = self._truth(node.test, used)
                if truth is None:
                    return None
                return self._value(node.body if truth else node.orelse, used)
            case ast.BoolOp():
                return self._joined(node, used)
            case _ if isinstance(node, _COMPREHENSIONS):
                first = self._value(node.generators[0].iter, used)
                if first is None or first.value or not _is_container(first.value):
                    return None
                if isinstance(node, ast.DictComp):
                    return Constant({})
                return Constant([]) if isinstance(node, ast.ListComp) else Constant(())
            case ast.Call(func=ast.Name(id=name)) if name not in self._scope.bound:
                if name in self._results:
                    used.add(Option("result", name, ""))
                    return self._results[name]
                return self._collected(name, node, used)
        return constant(node)

    def _collected(
        self, name: str, node: ast.Call, used: set[Option]
    ) -> Constant | None:
        """What collects the items of nothing."""
        if name not in _COLLECTING:
            return None
        for argument in node.args:
            some: set[Option] = set()
            known = self._value(argument, some)
            if known is not None and _is_container(known.value) and not known.value:
                used |= some
                return Constant(_COLLECTING[name])
        return None

    def _truth(self, node: ast.expr, used: set[Option]) -> bool | None:
        if isinstance(node, ast.BoolOp):
            ends = isinstance(node.op, ast.Or)
            some: set[Option] = set()
            truths = []
            for operand in node.values:
                own: set[Option] = set()
                truths.append(self._truth(operand, own))
                if truths[-1] is ends:
                    used |= own  # the others do not matter
                    return ends
                some |= own
            if None in truths:
                return None
            used |= some
            return not ends
        value = self._value(node, used)
        return None if value is None else bool(value.value)

    def _joined(self, node: ast.BoolOp, used: set[Option]) -> Constant | None:
        ends = isinstance(node.op, ast.Or)
        value: Constant | None = None
        for operand in node.values:
            value = self._value(operand, used)
            if value is None or bool(value.value) is ends:
                break
        return value

    def _compared(self, node: ast.Compare, used: set[Option]) -> Constant | None:
        some: set[Option] = set()
        left = self._value(node.left, some)
        right = self._value(node.comparators[0], some)
        if left is None or right is None:
            return None
        try:
            match node.ops[0]:
                case ast.Is():
                    found = left.value is right.value
                case ast.IsNot():
                    found = left.value is not right.value
                case ast.Eq():
                    found = left.value == right.value
                case ast.NotEq():
                    found = left.value != right.value
                case ast.Lt():
                    found = left.value < right.value
                case ast.LtE():
                    found = left.value <= right.value
                case ast.Gt():
                    found = left.value > right.value
                case ast.GtE():
                    found = left.value >= right.value
                case _:
                    return None
        except TypeError:
            return None
        used |= some
        return Constant(found)

    # What a name or an attribute is.

    def _field(self, node: ast.Attribute) -> Option | None:
        """The option that an attribute reads."""
        cls = self._class_of(node.value)
        if cls is None:
            return None
        owner = self._program.owner(cls, node.attr)
        option = Option("field", owner or "", node.attr)
        return option if option in self._options else None

    def _class_of(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            if node.id == self._scope.me:
                return self._scope.cls
            return self._scope.types.get(node.id)
        if isinstance(node, ast.Attribute):
            cls = self._class_of(node.value)
            for _, field in self._program.fields(cls) if cls is not None else ():
                if ast.unparse(field.target) == node.attr:
                    return self._named_class(field.annotation)
        return None

    def _named_class(self, annotation: ast.expr | None) -> str | None:
        match annotation:
            case ast.Name(id=name) if name in self._program.classes:
                return name
            case ast.BinOp(left=left, right=ast.Constant(value=None)):
                return self._named_class(left)
        return None

    def _block(
        self, options: Iterator[Option] | Sequence[Option] | set[Option]
    ) -> None:
        self.newly_blocked.update(options)

    def _all_of(self, kind: str, name: str) -> Iterator[Option]:
        """The options of a callable, or of what is of its family."""
        for option in self._options:
            if option.kind != kind:
                continue
            if option.owner == name or (
                kind == "field" and option.owner in self._program.ancestors(name)
            ):
                yield option

    # Expressions.

    def _expression(self, node: ast.AST | None, *, test: bool = False) -> None:
        """Folds what is in an expression, and blocks what it uses all the same."""
        if node is None:
            return
        if isinstance(node, ast.expr) and self._fold(node, test=test):
            return
        match node:
            case ast.Name():
                self._residual_name(node)
            case ast.Attribute():
                self._residual_attribute(node)
            case ast.Call():
                self._call(node)
            case ast.Lambda():
                outer = self._enter(node)
                self._expression(node.body)
                self._leave(outer)
            case ast.UnaryOp(op=ast.Not()):
                self._expression(node.operand, test=True)
            case ast.BoolOp():
                for inner in node.values:
                    self._expression(inner, test=test)
            case ast.IfExp():
                self._expression(node.test, test=True)
                self._expression(node.body)
                self._expression(node.orelse)
            case _ if isinstance(node, _COMPREHENSIONS):
                names = self._names
                stored = {
                    n.id
                    for g in node.generators
                    for n in ast.walk(g.target)
                    if isinstance(n, ast.Name)
                }
                self._expression(node.generators[0].iter)
                self._names = {k: v for k, v in names.items() if k not in stored}
                scope = self._scope
                self._scope = dataclasses.replace(
                    scope,
                    bound=scope.bound | stored,
                    types={k: v for k, v in scope.types.items() if k not in stored},
                )
                for number, generator in enumerate(node.generators):
                    if number:
                        self._expression(generator.iter)
                    for test_ in generator.ifs:
                        self._expression(test_, test=True)
                for part in ("key", "value", "elt"):
                    self._expression(getattr(node, part, None))
                self._names, self._scope = names, scope
            case _:
                for child in ast.iter_child_nodes(node):
                    self._expression(child)

    def _fold(self, node: ast.expr, *, test: bool) -> bool:
        """Writes what is known of an expression in its place; whether it did."""
        used: set[Option] = set()
        if isinstance(node, ast.Name | ast.Attribute | ast.Constant):
            return False  # an option itself says more than its value
        if isinstance(node, ast.IfExp):
            truth = self._truth(node.test, used)
            if truth is not None and used:
                chosen = node.body if truth else node.orelse
                self._instead(node, chosen)
                self._expression(chosen, test=test)
                return True
        if isinstance(node, ast.BoolOp):
            return self._fold_joined(node, test=test)
        if isinstance(node, ast.BinOp) and self._fold_union(node):
            return True
        value = self._value(node, used)
        if value is None or not used or not isinstance(value.value, _LITERALS):
            return False
        self._edits.append(Edit(*self._module.span(node), repr(value.value)))
        return True

    def _fold_union(self, node: ast.BinOp) -> bool:
        """`a | {}` and `a + ()` are `a`."""
        if not isinstance(node.op, ast.BitOr | ast.Add):
            return False
        for empty, other in ((node.right, node.left), (node.left, node.right)):
            used: set[Option] = set()
            known = self._value(empty, used)
            if (
                known is not None
                and used
                and not known.value
                and isinstance(known.value, dict | tuple | list)
            ):
                self._instead(node, other)
                self._expression(other)
                return True
        return False

    def _fold_joined(self, node: ast.BoolOp, *, test: bool) -> bool:
        ends = isinstance(node.op, ast.Or)
        kept: list[ast.expr] = []
        for number, operand in enumerate(node.values):
            used: set[Option] = set()
            truth = self._truth(operand, used)
            is_last = number == len(node.values) - 1
            if not used or truth is None or (is_last and not test):
                kept.append(operand)
            elif truth is ends:
                kept.append(operand)
                break
        if kept == node.values:
            return False
        if not kept:
            kept = [node.values[-1]]
        kept_first, kept_last = kept[0], kept[-1]
        indices = [node.values.index(one) for one in kept]
        if indices != list(range(indices[0], indices[-1] + 1)):
            return False  # what goes stands in between
        start, _ = self._module.span(node)
        _, end = self._module.span(node)
        begin, _ = self._module.span(kept_first)
        _, finish = self._module.span(kept_last)
        if self._module.text[start:begin].count("("):
            return False
        self._edits.append(Edit(start, begin, ""))
        self._edits.append(Edit(finish, end, ""))
        for one in kept:
            self._expression(one, test=test)
        return True

    def _instead(self, node: ast.expr, chosen: ast.expr) -> None:
        start, end = self._module.span(node)
        begin, finish = self._module.span(chosen)
        # Parentheses of its own around what is chosen stay.
        text = self._module.text
        while text[start:begin].rstrip().endswith("(") and text[
            finish:end
        ].lstrip().startswith(")"):
            begin = start + text[start:begin].rstrip().rindex("(")
            finish += text[finish:end].index(")") + 1
        self._edits += [Edit(start, begin, ""), Edit(finish, end, "")]

    def _residual_name(self, node: ast.Name) -> None:
        known = self._names.get(node.id)
        if known is not None:
            self._block([known[0]])
        elif isinstance(node.ctx, ast.Load) and node.id not in self._scope.bound:
            if node.id in self._program.functions:
                self._block(self._all_of("parameter", node.id))
            elif node.id in self._program.classes:
                for heir in self._program.heirs(node.id):
                    self._block(self._all_of("field", heir))

    def _residual_attribute(self, node: ast.Attribute) -> None:
        option = self._field(node)
        if option is not None:
            self._block([option])
        else:
            cls = self._class_of(node.value)
            family = self._program.heirs(cls) if cls is not None else None
            self._block(
                {
                    o
                    for o in self._options
                    if o.kind == "field"
                    and o.name == node.attr
                    and (family is None or o.owner in family)
                }
            )
        # A method that is not called here may be called with anything.
        self._block(self._all_of("parameter", f".{node.attr}"))
        if not self._is_class(node.value):
            self._expression(node.value)

    def _is_class(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Name)
            and node.id in self._program.classes
            and node.id not in self._scope.bound
        )

    # Calls.

    def _call(self, node: ast.Call) -> None:
        func = node.func
        if isinstance(func, ast.Name) and func.id not in self._scope.bound:
            if func.id in self._program.functions:
                function = self._program.functions[func.id]
                self._arguments(node, _slots(function, func.id))
                return
            if func.id in self._program.classes:
                self._arguments(node, self._constructor(func.id))
                return
            if func.id == "isinstance" and len(node.args) == 2:
                self._expression(node.args[0])
                return
            if func.id in _ASKS and len(node.args) > 1:
                asked = constant(node.args[1])
                if asked is not None:
                    self._block({o for o in self._options if o.name == asked.value})
        if isinstance(func, ast.Call) and ast.unparse(func.func) == "type":
            self._block({o for o in self._options if o.kind == "field"})
        if isinstance(func, ast.Name) and func.id == "cls":
            self._block({o for o in self._options if o.kind == "field"})
        if isinstance(func, ast.Attribute):
            if func.attr in _COPIES:
                given = {k.arg for k in node.keywords}
                some = {o for o in self._options if o.name in given or None in given}
                self._block(some)
            known = self._program.methods.get(func.attr)
            if known and not self._is_class(func.value):
                self._expression(func.value)
                slots = [_slots(f, f".{func.attr}", bound=True) for _, f in known]
                is_ours = self._class_of(func.value) is not None
                self._arguments(node, *slots, may_drop=is_ours)
                return
        self._expression(func)
        self._arguments(node)

    def _constructor(self, name: str) -> list[tuple[str, Option, bool]]:
        found = []
        for owner, field in self._program.fields(name):
            assert isinstance(field.target, ast.Name)
            only_keyword = cuts.is_keyword_only(self._program, owner, field)
            option = Option("field", owner, field.target.id)
            found.append((field.target.id, option, not only_keyword))
        return found

    def _arguments(
        self,
        node: ast.Call,
        *all_slots: Sequence[tuple[str, Option, bool]],
        may_drop: bool = True,
    ) -> None:
        """Removes arguments that only pass an option on, and blocks what is set."""
        dropped: list[ast.expr | ast.keyword] = []
        given: list[tuple[ast.expr | ast.keyword, ast.expr, set[Option]]] = []
        for index, argument in enumerate(node.args):
            at: set[Option] = set()
            starred = any(isinstance(a, ast.Starred) for a in node.args[: index + 1])
            for one in all_slots:
                places = [o for _, o, positional in one if positional]
                at |= set(places[index:] if starred else places[index : index + 1])
            value = argument.value if isinstance(argument, ast.Starred) else argument
            given.append((argument, value, at))
        for keyword in node.keywords:
            at = {
                option
                for one in all_slots
                for name, option, _ in one
                if keyword.arg in (name, None)
            }
            given.append((keyword, keyword.value, at))
        for written, value, at in given:
            used: set[Option] = set()
            known = self._value(value, used)
            is_star = isinstance(written, ast.Starred) or (
                isinstance(written, ast.keyword) and written.arg is None
            )
            if is_star:
                if known is not None and used and not known.value:
                    dropped.append(written)
                    continue
                self._block(at & self._options.keys())
                self._expression(value)
                continue
            live = at & self._options.keys()
            passes_on = live and all(self._options[o].same(known) for o in live)
            if passes_on and live == at and may_drop and not self._is_shown():
                dropped.append(written)
                continue
            self._block(live)
            self._expression(value)
        if dropped:
            self._edits += cuts.of_arguments(self._module, node, dropped)

    def _is_shown(self) -> bool:
        """Whether a call is of the experiment: it says what the user has set."""
        function = self._scope.function
        around = self._scope.cls or self._outermost
        return function is None or not self._program.is_open(around)

    # Statements.

    def _block_of(self, body: Sequence[ast.stmt], *, spine: bool, after: int) -> int:
        """Folds statements; how many stay."""
        kept = 0
        for number, statement in enumerate(body):
            first = self._module.first_line(statement, after=after)
            after = statement.end_lineno or statement.lineno
            ends = self._ends(statement)
            if self._statement(statement, spine=spine):
                self._remove(first, after)
                continue
            kept += 1
            if ends and number + 1 < len(body):
                last = body[-1].end_lineno or body[-1].lineno
                self._remove(after + 1, last)
                break
        return kept

    def _remove(self, first: int, last: int) -> None:
        module = self._module
        self._edits.append(
            Edit(module.line_start(first), module.line_start(last + 1), "")
        )

    def _ends(self, statement: ast.stmt) -> bool:
        """Whether nothing after it runs, since a test was folded."""
        if not isinstance(statement, ast.If):
            return False
        used: set[Option] = set()
        truth = self._truth(statement.test, used)
        if truth is None or not used:
            return False
        chosen = statement.body if truth else statement.orelse
        return bool(chosen) and isinstance(chosen[-1], ast.Return | ast.Raise)

    def _statement(self, node: ast.stmt, *, spine: bool) -> bool:
        """Folds one; whether all of it goes."""
        match node:
            case ast.If():
                return self._if(node, spine=spine)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)
            case ast.ClassDef():
                self._class(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assign(node, name, value, spine=spine)
            case ast.AugAssign(target=target, value=value):
                used: set[Option] = set()
                known = self._value(value, used)
                if known is not None and used and known.value in ((), [], {}):
                    return True
                self._expression(value)
                self._stored(target, spine=False)
            case ast.For():
                used = set()
                known = self._value(node.iter, used)
                if known is not None and used and not known.value and not node.orelse:
                    return True
                self._expression(node.iter)
                self._stored(node.target, spine=False)
                self._inner(node, node.body)
                self._inner(node, node.orelse)
            case ast.While():
                self._expression(node.test, test=True)
                self._inner(node, node.body)
                self._inner(node, node.orelse)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr)
                    self._stored(item.optional_vars, spine=False)
                self._inner(node, node.body)
            case ast.Try():
                self._inner(node, node.body)
                for handler in node.handlers:
                    self._inner(handler, handler.body)
                self._inner(node, node.orelse)
                self._inner(node, node.finalbody)
            case ast.AnnAssign():
                self._expression(node.value)
                self._stored(node.target, spine=False)
            case ast.Assign():
                self._expression(node.value)
                for each in node.targets:
                    self._stored(each, spine=False)
            case ast.Delete():
                return self._delete(node)
            case ast.Assert():
                self._expression(node.test, test=True)
                self._expression(node.msg)
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    self._expression(child)
        return False

    def _inner(self, node: ast.AST, body: Sequence[ast.stmt]) -> None:
        """A block that must not become empty."""
        if body and not self._block_of(body, spine=False, after=body[0].lineno - 1):
            self._pass(body)

    def _pass(self, body: Sequence[ast.stmt]) -> None:
        at = self._module.line_start((body[-1].end_lineno or body[-1].lineno) + 1)
        self._edits.append(Edit(at, at, f"{' ' * body[0].col_offset}pass\n"))

    def _if(self, node: ast.If, *, spine: bool) -> bool:
        used: set[Option] = set()
        truth = self._truth(node.test, used)
        if truth is None or not used:
            if self._only_refuses(node):
                return True
            self._expression(node.test, test=True)
            self._inner(node, node.body)
            nested = node.orelse
            if cuts.is_elif(self._module, node):
                inner = nested[0]
                assert isinstance(inner, ast.If)
                some: set[Option] = set()
                known = self._truth(inner.test, some)
                if known is not None and some:
                    # It would have to become an `else`.
                    self._block(some)
                if self._statement(inner, spine=False):
                    first, last = inner.lineno, inner.end_lineno or inner.lineno
                    self._remove(first, last)
                return False
            if nested and not self._block_of(
                nested, spine=False, after=nested[0].lineno - 1
            ):
                first = cuts.else_line(self._module, node)
                self._remove(first, node.end_lineno or node.lineno)
            return False
        chosen = node.body if truth else node.orelse
        if not chosen:
            return True
        module = self._module
        last = node.end_lineno or node.lineno
        if not truth and cuts.is_elif(module, node):
            start, _ = module.span(chosen[0])
            self._remove(node.lineno, chosen[0].lineno - 1)
            self._edits.append(Edit(start, start + len("elif"), "if"))
            return self._statement(chosen[0], spine=spine)
        above = node.test.end_lineno if truth else cuts.else_line(module, node)
        first = module.first_line(chosen[0], after=above or node.lineno)
        end = chosen[-1].end_lineno or chosen[-1].lineno
        before = len(self._edits)
        kept = self._block_of(chosen, spine=spine, after=first - 1)
        if not kept:
            del self._edits[before:]
            return True
        self._remove(node.lineno, first - 1)
        if end < last:
            self._remove(end + 1, last)
        by = chosen[0].col_offset - node.col_offset
        self._edits += cuts.outdented(module, first, end, by)
        return False

    def _only_refuses(self, node: ast.If) -> bool:
        """Whether it refuses values of options alone: what is there has passed."""
        if node.orelse or not all(isinstance(s, ast.Raise) for s in node.body):
            return False
        names = [n for n in ast.walk(node.test) if isinstance(n, ast.Name)]
        read = [
            n
            for n in ast.walk(node.test)
            if isinstance(n, ast.Attribute) and self._field(n) is not None
        ]
        inside = {id(n.value) for n in read}
        return bool(read) and all(id(n) in inside for n in names)

    def _assign(
        self, node: ast.Assign, name: str, value: ast.expr, *, spine: bool
    ) -> bool:
        function = self._scope.function
        used: set[Option] = set()
        known = self._value(value, used)
        if isinstance(value, ast.IfExp) and known is None:
            truth = self._truth(value.test, used)
            chosen = value.body if truth else value.orelse
            if truth is not None and used and ast.unparse(chosen) == name:
                return True  # `x = x`
        if known is not None and used and function is not None and spine:
            place = f"{function.name}:{function.lineno}"
            option = Option("local", place, name)
            if option not in self._blocked and _stores(function, name) == 1:
                self._names[name] = (option, known)
                return True
        self._expression(value)
        self._stored(node.targets[0], spine=spine)
        return False

    def _stored(self, target: ast.expr | None, *, spine: bool) -> None:
        """A variable that was an option is something else from here on."""
        for inner in ast.walk(target) if target is not None else ():
            if isinstance(inner, ast.Name):
                known = self._names.get(inner.id)
                if known is None:
                    continue
                function = self._scope.function
                if not spine or function is None or _is_read_inside(function, inner.id):
                    self._block([known[0]])
                else:
                    self._names[inner.id] = None
        if isinstance(target, ast.Attribute | ast.Subscript | ast.Tuple | ast.List):
            for inner in ast.iter_child_nodes(target):
                if not isinstance(inner, ast.Name) or isinstance(target, ast.Attribute):
                    self._expression(inner)
        if isinstance(target, ast.Attribute):
            self._residual_attribute(target)

    def _delete(self, node: ast.Delete) -> bool:
        kept = []
        for target in node.targets:
            if isinstance(target, ast.Name) and self._names.get(target.id) is not None:
                continue
            kept.append(target)
            if not isinstance(target, ast.Name):
                self._expression(target)
        if not kept:
            return True
        if len(kept) < len(node.targets):
            text = ", ".join(ast.unparse(one) for one in kept)
            self._edits.append(Edit(*self._module.span(node), f"del {text}"))
        return False

    # Scopes.

    def _class(self, node: ast.ClassDef) -> None:
        outer = self._scope
        for decorator in node.decorator_list:
            self._expression(decorator)
        self._scope = dataclasses.replace(outer, cls=node.name)
        for inner in node.body:
            self._statement(inner, spine=False)
        self._scope = outer

    def _function(self, node: Function) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator)
        outer = self._enter(node)
        body = node.body
        has_docstring = ast.get_docstring(node, clean=False) is not None
        rest = body[1:] if has_docstring else body
        after = body[0].end_lineno if has_docstring else node.lineno
        kept = self._block_of(rest, spine=True, after=after or 0)
        if rest and not kept and not has_docstring:
            self._pass(rest)
        self._leave(outer)

    def _enter(
        self, node: Function | ast.Lambda
    ) -> tuple[_Scope, dict[str, tuple[Option, Constant] | None]]:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            self._expression(default)
        outer = (self._scope, self._names)
        scope = self._scope
        arguments = all_arguments(node.args)
        bound = {a.arg for a in arguments} | _bound_in(node)
        types = {k: v for k, v in scope.types.items() if k not in bound}
        for argument in arguments:
            cls = self._named_class(argument.annotation)
            if cls is not None:
                types[argument.arg] = cls
        is_method = scope.function is None and scope.cls is not None
        me = scope.me if scope.me not in bound else None
        owner = ""
        if isinstance(node, FUNCTIONS):
            if is_method:
                me = arguments[0].arg if arguments else None
                owner = f".{node.name}"
            elif scope.function is None and node.name in self._program.functions:
                owner = node.name
        self._scope = _Scope(
            cls=scope.cls,
            me=me,
            types=types,
            bound=scope.bound | bound,
            function=node if isinstance(node, FUNCTIONS) else scope.function,
        )
        self._names = {k: v for k, v in outer[1].items() if k not in bound}
        for argument in arguments:
            option = Option("parameter", owner, argument.arg)
            if owner and option in self._options:
                self._names[argument.arg] = (option, self._options[option])
        return outer

    def _leave(
        self, outer: tuple[_Scope, dict[str, tuple[Option, Constant] | None]]
    ) -> None:
        self._scope, self._names = outer


def _slots(
    function: Function, owner: str, *, bound: bool = False
) -> list[tuple[str, Option, bool]]:
    """The parameters of a function: name, option, and whether by position too."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    found = [(a.arg, Option("parameter", owner, a.arg), True) for a in plain]
    is_static = any(ast.unparse(d) == "staticmethod" for d in function.decorator_list)
    if bound and not is_static:
        found = found[1:]
    found += [
        (a.arg, Option("parameter", owner, a.arg), False) for a in args.kwonlyargs
    ]
    return found


def _is_container(value: object) -> bool:
    return isinstance(value, tuple | list | dict | str)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, but not in the functions inside it."""
    body = getattr(function, "body", [])
    todo = list(body) if isinstance(body, list) else [body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))


@functools.lru_cache(4096)
def _bound_in(function: ast.AST) -> frozenset[str]:
    found = set()
    for node in _own_nodes(function):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def _stores(function: ast.AST, name: str) -> int:
    return sum(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
        for n in ast.walk(function)
    )


def _is_read_inside(function: ast.AST, name: str) -> bool:
    """Whether a function inside a function reads a variable of it."""
    for node in _own_nodes(function):
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and inner.id == name:
                    return True
    return False
