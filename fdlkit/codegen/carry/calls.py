"""What calls say of options: which argument sets which, and who asks by name."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from fdlkit.codegen.carry import cuts
from fdlkit.codegen.carry.modules import Function
from fdlkit.codegen.carry.options import Option, constant
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.surroundings import Scope

# What makes an object like another, with fields set by keyword.
_COPIES = frozenset({"replace", "_replace", "copy", "clone", "partial"})
_ASKS = frozenset({"getattr", "setattr", "hasattr", "delattr"})
# What looks at all fields. Those of the house look for parts and keys among them.
_LOOKS = frozenset({"fields", "asdict", "astuple", "vars"})


@dataclasses.dataclass(frozen=True)
class Slot:
    """What takes an argument.

    Attributes:
      name: The parameter's name, or the field's.
      option: What it would be as an option.
      by_position: Whether an argument may leave its name out.
    """

    name: str
    option: Option
    by_position: bool


@dataclasses.dataclass(frozen=True)
class Given:
    """An argument of a call.

    Attributes:
      written: The argument.
      value: What it passes.
      sets: What it sets, of all that may be called.
      is_starred: Whether it passes what is in its value.
    """

    written: ast.expr | ast.keyword
    value: ast.expr
    sets: frozenset[Option]
    is_starred: bool


def given(call: ast.Call, callables: Sequence[Sequence[Slot]]) -> Iterator[Given]:
    """The arguments of a call of one of some callables; of none: they set nothing."""
    for index, argument in enumerate(call.args):
        after_star = any(isinstance(a, ast.Starred) for a in call.args[: index + 1])
        sets: set[Option] = set()
        for slots in callables:
            places = [slot.option for slot in slots if slot.by_position]
            sets.update(places[index:] if after_star else places[index : index + 1])
        is_star = isinstance(argument, ast.Starred)
        value = argument.value if isinstance(argument, ast.Starred) else argument
        yield Given(argument, value, frozenset(sets), is_star)
    for keyword in call.keywords:
        named = frozenset(
            slot.option
            for slots in callables
            for slot in slots
            if keyword.arg in (slot.name, None)
        )
        yield Given(keyword, keyword.value, named, keyword.arg is None)


def of_function(function: Function, owner: str, *, bound: bool = False) -> list[Slot]:
    """What a function takes; `bound`: what a method does, its object apart."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    found = [Slot(a.arg, Option("parameter", owner, a.arg), True) for a in plain]
    is_static = any(ast.unparse(d) == "staticmethod" for d in function.decorator_list)
    if bound and not is_static:
        found = found[1:]
    return found + [
        Slot(a.arg, Option("parameter", owner, a.arg), False) for a in args.kwonlyargs
    ]


def of_class(program: Program, name: str) -> list[Slot]:
    """What a constructor takes."""
    return [
        Slot(
            field.target.id,
            Option("field", owner, field.target.id),
            not cuts.is_keyword_only(program, owner, field),
        )
        for owner, field in program.fields(name)
        if isinstance(field.target, ast.Name)
    ]


def asked_by_name(
    call: ast.Call, options: Collection[Option], scope: Scope
) -> set[Option]:
    """Options that a call may read or set in a way that no fold sees."""
    fields = {option for option in options if option.kind == "field"}
    match call.func:
        case ast.Name(id=name) if name in _ASKS and name not in scope.bound:
            asked = constant(call.args[1]) if len(call.args) > 1 else None
            if asked is not None:
                return {option for option in options if option.name == asked.value}
            return set() if scope.is_open else fields
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _LOOKS:
            return set() if scope.is_open else fields
        case ast.Name(id="cls") | ast.Call(func=ast.Name(id="type")):
            return fields
        case ast.Attribute(attr=name) if name in _COPIES:
            set_here = {k.arg for k in call.keywords}
            return {o for o in options if o.name in set_here or None in set_here}
    return set()


def callables(
    program: Program, call: ast.Call, scope: Scope
) -> Mapping[str, Sequence[Slot]]:
    """What of the program a call by name, or of a method's name, may call, by class."""
    func = call.func
    if isinstance(func, ast.Name) and func.id not in scope.bound:
        if func.id in program.functions:
            return {"": of_function(program.functions[func.id], func.id)}
        if func.id in program.classes:
            return {"": of_class(program, func.id)}
    if isinstance(func, ast.Attribute) and not is_class(program, func.value, scope):
        return {
            cls: of_function(function, f".{func.attr}", bound=True)
            for cls, function in program.methods.get(func.attr, ())
        }
    return {}


def is_class(program: Program, node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is a class of the program, by its name."""
    return (
        isinstance(node, ast.Name)
        and node.id in program.classes
        and node.id not in scope.bound
    )
