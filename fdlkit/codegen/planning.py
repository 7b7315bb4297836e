"""Which expressions get names, and which get functions of their own.

An expression is written where it is used, unless it is used more often than once and
must be one object, has a name of its own, or stands too deep or too often for a reader.
A large part with a role (`model`, `train_data`) becomes a function. A variable stands
in the innermost function around all its uses; functions between them hand it down.
"""

from __future__ import annotations

import collections
import dataclasses

from fdlkit.codegen import naming
from fdlkit.codegen.program import Expression, Program, Use

# Calls within calls that a reader still follows; the house's bound is 20.
MAX_DEPTH = 10

# A value that is no object may be written at each of its uses if it is this short.
_SHORT = 40

# A function of more lines than this is cut into parts of at least so many lines, but
# not into one part and next to nothing else.
_MAX_LINES, _MIN_PART = 40, 10
_MAX_SHARE = 0.8

# What takes fewer characters stands on one line.
_ONE_LINE = 64

# Functions within functions: one for the experiment, the model, the encoder, ...
_MAX_CUTS = 4

MAIN = 0


@dataclasses.dataclass
class Function:
    """A function of the program.

    Attributes:
      number: Its own; 0 is the main one.
      root: The expression that it returns.
      outer: The function that calls it (that it is inside of, if `is_local`).
      level: How many functions are around it.
      is_local: Whether it is defined inside the other one and sees its variables.
      variables: Expressions with a name in it, each after those that it uses.
      parameters: Variables of functions around it that it is given.
      name: Its name; empty until names are given.
    """

    number: int
    root: int
    outer: int | None
    level: int = 0
    is_local: bool = False
    variables: list[int] = dataclasses.field(default_factory=list)
    parameters: list[int] = dataclasses.field(default_factory=list)
    name: str = ""


@dataclasses.dataclass
class Plan:
    """What `printing` needs to know besides the program.

    Attributes:
      program: The program.
      order: The expressions that are used, each after those that it uses.
      functions: All functions, each after the one around it.
      home: For each expression, the function that it is evaluated in.
      of: The functions that stand for an expression, by its number.
      variables: The expressions that have a name.
      roles: For each expression, what its holders call it, in order.
      names: The names of variables, by expression.
    """

    program: Program
    order: list[int]
    functions: list[Function]
    home: dict[int, int]
    of: dict[int, Function]
    variables: set[int]
    roles: dict[int, list[str]]
    names: dict[int, str] = dataclasses.field(default_factory=dict)


def plan(program: Program) -> Plan:
    """Cuts a program into functions and variables, without names yet."""
    return _Planner(program).plan()


class _Planner:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._expressions = program.expressions
        self._order = _order(program)
        self._users: dict[int, list[int]] = collections.defaultdict(list)
        self._roles: dict[int, list[str]] = collections.defaultdict(list)
        for number in reversed(self._order):
            self._note_uses(number)
        self._variables: set[int] = set()
        # About how many characters each takes, with all that is written inside it.
        self._sizes: dict[int, int] = {}

    def plan(self) -> Plan:
        self._choose_variables()
        functions, home, of = self._cut()
        for number in self._order:
            if number in self._variables:
                functions[home[number]].variables.append(number)
        self._hand_down(functions, home, of)
        return Plan(
            self._program,
            self._order,
            functions,
            home,
            of,
            self._variables,
            dict(self._roles),
        )

    def _note_uses(self, number: int) -> None:
        """Remembers whom an expression uses, and in what role."""
        expression = self._expressions[number]
        for part in expression.opening:
            if isinstance(part, Use):
                self._users[part.number].append(number)
                # What is an operator's side, or wrapped, has the role of the whole.
                self._roles[part.number] += self._roles[number][:1]
        whole = next(iter(self._roles[number]), "")
        for item in expression.items:
            role = item.role or naming.singular(whole)
            for part in (*item.before, *item.value):
                if isinstance(part, Use):
                    self._users[part.number].append(number)
                    self._roles[part.number].append(role)

    def _choose_variables(self) -> None:
        height: dict[int, int] = {}
        size = self._sizes
        for number in self._order:
            expression = self._expressions[number]
            tallest = total = 0
            for part in expression.parts():
                if isinstance(part, str):
                    total += len(part)
                elif isinstance(part, Use) and part.number not in self._variables:
                    below = part.number
                    if height[below] >= MAX_DEPTH or self._crosses(number, below):
                        self._variables.add(below)
                        total += 10
                    else:
                        tallest = max(tallest, height[below])
                        total += size[below]
                else:
                    total += 10
            size[number] = total
            is_alone = not expression.items and len(expression.opening) == 1
            height[number] = tallest + (0 if is_alone else 1)
            if self._must_have_name(number, total):
                self._variables.add(number)

    def _must_have_name(self, number: int, size: int) -> bool:
        expression = self._expressions[number]
        if expression.name or expression.then or expression.is_function:
            return True
        uses = len(self._users[number])
        return uses > 1 and (expression.is_object or size > _SHORT)

    def _crosses(self, user: int, used: int) -> bool:
        """Whether it is evaluated before the function that uses it is called."""
        one, other = self._expressions[user], self._expressions[used]
        inner = user if one.is_function else one.region
        return inner is not None and other.region != inner and other.is_object

    def _cut(self) -> tuple[list[Function], dict[int, int], dict[int, Function]]:
        """The functions, and in which of them each expression is evaluated."""
        lines = self._lines()
        root = self._program.root
        functions = [Function(MAIN, root, None)]
        home: dict[int, int] = {root: MAIN}
        of: dict[int, Function] = {root: functions[MAIN]}
        self._choose_parts(root, of, lines)
        for number in reversed(self._order):
            if number == root:
                continue
            inner = [self._inside(u, number, of, home) for u in self._users[number]]
            home[number] = _common(functions, inner)
            is_local = self._expressions[number].is_function
            if not is_local and number not in of:
                continue
            outer = functions[home[number]]
            made = Function(
                len(functions), number, outer.number, outer.level + 1, is_local
            )
            of[number] = made
            functions.append(made)
            if not is_local and made.level < _MAX_CUTS:
                self._choose_parts(number, of, lines)
        return functions, home, of

    def _inside(
        self, user: int, used: int, of: dict[int, Function], home: dict[int, int]
    ) -> int:
        """The function in which `user` needs what it uses."""
        expression = self._expressions[user]
        region = user if expression.is_function else expression.region
        if region is not None and (
            self._expressions[used].region != region and used in self._variables
        ):
            return home[region]  # is evaluated once, before
        return of[user].number if user in of else home[user]

    def _lines(self) -> dict[int, int]:
        """About how many lines each expression takes, with what only it uses."""
        found: dict[int, int] = {}
        for number in self._order:
            expression = self._expressions[number]
            own = [
                part.number
                for part in expression.parts()
                if isinstance(part, Use) and len(self._users[part.number]) == 1
            ]
            if self._sizes[number] <= _ONE_LINE and not expression.is_function:
                found[number] = 1
            else:
                below = sum(found[one] - 1 for one in own)
                found[number] = 2 + below + len(expression.items)
            found[number] += sum(found[one] for one in own if one in self._variables)
        return found

    def _choose_parts(
        self,
        whole: int,
        of: dict[int, Function],
        lines: dict[int, int],
    ) -> None:
        """Marks the parts of a function's expression that get functions."""
        left = lines[whole]
        todo = [(whole, 0)]
        while todo and left > _MAX_LINES:
            number, depth = todo.pop(0)
            for part in self._expressions[number].parts():
                if not isinstance(part, Use) or len(self._users[part.number]) > 1:
                    continue
                below, size = part.number, lines[part.number]
                if size < _MIN_PART or depth >= MAX_DEPTH:
                    continue
                if self._may_be_function(below) and size < _MAX_SHARE * lines[whole]:
                    of[below] = Function(-1, below, None)  # until its place is known
                    left -= size
                elif not self._expressions[below].is_function:
                    todo.append((below, depth + 1))

    def _may_be_function(self, number: int) -> bool:
        expression = self._expressions[number]
        return (
            expression.is_part
            and expression.region is None
            and not expression.name
            and bool(self._roles[number][:1] and self._roles[number][0])
        )

    def _hand_down(
        self,
        functions: list[Function],
        home: dict[int, int],
        of: dict[int, Function],
    ) -> None:
        """Finds the parameters: what a function uses of those around it."""
        wanted: dict[int, dict[int, None]] = collections.defaultdict(dict)
        for number in self._order:
            for part in self._expressions[number].parts():
                if isinstance(part, Use) and part.number in self._variables:
                    at = of[number].number if number in of else home[number]
                    while at != home[part.number]:
                        wanted[at][part.number] = None
                        outer = functions[at].outer
                        assert outer is not None
                        at = outer
        for function in functions:
            if not function.is_local:
                function.parameters = list(wanted[function.number])


def _order(program: Program) -> list[int]:
    """All expressions that the root leads to, each after those that it uses."""
    done: dict[int, None] = {}
    todo = [(program.root, False)]
    while todo:
        number, is_below_done = todo.pop()
        if number in done:
            continue
        if is_below_done:
            done[number] = None
            continue
        todo.append((number, True))
        below = [
            part.number
            for part in program.expressions[number].parts()
            if isinstance(part, Use)
        ]
        todo += [(one, False) for one in reversed(below) if one not in done]
    return list(done)


def _common(functions: list[Function], numbers: list[int]) -> int:
    """The innermost function around all of some."""
    common = numbers[0]
    for other in numbers[1:]:
        while common != other:
            if functions[common].level < functions[other].level:
                common, other = other, common
            outer = functions[common].outer
            assert outer is not None
            common = outer
    return common


def is_plain(expression: Expression) -> bool:
    """Whether it uses no other: a number with a name."""
    return not any(isinstance(part, Use) for part in expression.parts())
