"""Where the text of an option stands: fields, parameters, arguments, docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.modules import Function, Module
from fdlkit.codegen.carry.options import Option
from fdlkit.codegen.carry.program import Program
from fdlkit.codegen.carry.scopes import all_arguments

_SECTIONS = ("Args:", "Attributes:")


def of_options(program: Program, options: Collection[Option]) -> Iterator[Edit]:
    """Removes fields and parameters, with what docstrings say of them."""
    for cls in program.classes.values():
        fields = {o.name for o in options if (o.kind, o.owner) == ("field", cls.name)}
        if fields:
            yield from _of_fields(program.module, cls, fields)
    for name, function in program.functions.items():
        yield from of_parameters(program.module, function, _of(options, name))
    for name, methods in program.methods.items():
        for _, function in methods:
            yield from of_parameters(program.module, function, _of(options, f".{name}"))


def _of(options: Iterable[Option], owner: str) -> set[str]:
    return {o.name for o in options if (o.kind, o.owner) == ("parameter", owner)}


def _of_fields(module: Module, cls: ast.ClassDef, names: set[str]) -> Iterator[Edit]:
    after = cls.lineno
    gone = []
    for inner in cls.body:
        first = module.first_line(inner, after=after)
        after = inner.end_lineno or inner.lineno
        if isinstance(inner, ast.AnnAssign) and ast.unparse(inner.target) in names:
            gone.append(inner)
            yield lines(module, first, after)
    if len(gone) == len(cls.body):
        at = module.line_start(after + 1)
        yield Edit(at, at, f"{' ' * cls.body[0].col_offset}pass\n")
    yield from _of_docstring(module, cls, names)


def of_parameters(
    module: Module, function: Function, names: set[str]
) -> Iterator[Edit]:
    """Removes parameters of one function, with what its docstring says of them."""
    args = function.args
    if not names & {a.arg for a in all_arguments(args)}:
        return
    plain = [*args.posonlyargs, *args.args]
    defaults = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    written: list[str] = []
    for number, (arg, default) in enumerate(zip(plain, defaults, strict=True)):
        if arg.arg not in names:
            written.append(_parameter(module, arg, default))
        if args.posonlyargs and number == len(args.posonlyargs) - 1 and written:
            written.append("/")
    if args.vararg is not None:
        written.append(f"*{_parameter(module, args.vararg, None)}")
    only = [
        _parameter(module, arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if arg.arg not in names
    ]
    written += ["*"] if only and args.vararg is None else []
    written += only
    if args.kwarg is not None and args.kwarg.arg not in names:
        written.append(f"**{_parameter(module, args.kwarg, None)}")
    start = module.text.index("(", module.offset(function.lineno, function.col_offset))
    yield Edit(start + 1, _closed(module.text, start), ", ".join(written))
    yield from _of_docstring(module, function, names)


def _parameter(module: Module, arg: ast.arg, default: ast.expr | None) -> str:
    assert arg.end_lineno is not None and arg.end_col_offset is not None
    start = module.offset(arg.lineno, arg.col_offset)
    end = module.offset(arg.end_lineno, arg.end_col_offset)
    text = module.text[start:end]
    if default is None:
        return text
    begin, finish = module.span(default)
    return f"{text}{' = ' if arg.annotation else '='}{module.text[begin:finish]}"


def _closed(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed."""
    depth = 0
    for found in re.finditer(r"#.*|'[^'\n]*'|\"[^\"\n]*\"|[()]", text[start:]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth and found[0] == ")":
            return start + found.start()
    raise AssertionError("a bracket is not closed")


def _of_docstring(
    module: Module, node: ast.ClassDef | Function, names: set[str]
) -> Iterator[Edit]:
    if ast.get_docstring(node, clean=False) is None:
        return
    doc = node.body[0]
    first, last = doc.lineno, doc.end_lineno or doc.lineno
    number = first
    while number <= last:
        if module.lines[number - 1].strip() not in _SECTIONS:
            number += 1
            continue
        header = number
        indent = _indent(module.lines[header - 1])
        entries: list[tuple[str, int, int]] = []
        number += 1
        while number <= last and _indent(module.lines[number - 1]) > indent:
            line = module.lines[number - 1]
            entry = re.match(r"\s*\*{0,2}(\w+):( |$)", line)
            if entry and (
                not entries or _indent(line) == _indent(module.lines[header])
            ):
                entries.append((entry[1], number, number))
            elif entries:
                entries[-1] = (*entries[-1][:2], number)
            number += 1
        if entries and all(name in names for name, _, _ in entries):
            begin = header
            while begin - 1 > first and not module.lines[begin - 2].strip():
                begin -= 1
            yield lines(module, begin, entries[-1][2])
            continue
        for name, begin, end in entries:
            if name in names:
                yield lines(module, begin, end)


def _indent(line: str) -> int:
    """How far a line is indented; one of nothing not at all."""
    return len(line) - len(line.lstrip()) if line.strip() else 0


def lines(module: Module, first: int, last: int) -> Edit:
    """Removes lines."""
    return Edit(module.line_start(first), module.line_start(last + 1), "")


def of_arguments(
    module: Module, call: ast.Call, dropped: Collection[ast.AST]
) -> Iterator[Edit]:
    """Removes arguments of a call."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    elements = sorted(given, key=lambda e: (e.lineno, e.col_offset))
    text = module.text
    close = module.span(call)[1] - 1
    start = text.index("(", module.span(call.func)[1]) + 1
    spans: list[tuple[int, int]] = []  # of each with the comma after it
    for number, element in enumerate(elements):
        end = module.span(element)[1]
        if number + 1 < len(elements):
            following = module.span(elements[number + 1])[0]
            end = text.index(",", end, following) + 1
        else:
            end = close
        spans.append((start, end))
        start = end
    last = max((n for n, e in enumerate(elements) if e not in dropped), default=-1)
    for number, element in enumerate(elements[: last + 1]):
        if element in dropped:
            yield Edit(*spans[number], "")
    begin = spans[0][0]
    if last >= 0:
        begin = module.span(elements[last])[1]
    comma = re.match(r"[\s)]*,", text[begin:close])
    if comma is not None:
        yield Edit(begin + comma.end() - 1, close, "")
    elif last + 1 < len(elements):
        yield Edit(begin, close, "")


def is_keyword_only(program: Program, owner: str, field: ast.AnnAssign) -> bool:
    """Whether a constructor takes a field by keyword alone."""
    cls = program.classes[owner]
    made = [*cls.decorator_list, *(k for k in cls.keywords)]
    if any("kw_only=True" in ast.unparse(one) for one in made):
        return True
    if any(k.arg == "kw_only" for k in cls.keywords):
        return True
    for inner in cls.body:
        if inner is field:
            return False
        if isinstance(inner, ast.AnnAssign) and "KW_ONLY" in ast.unparse(
            inner.annotation
        ):
            return True
    return False


def is_elif(module: Module, node: ast.If) -> bool:
    """Whether what else a test leads to is another test."""
    if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
        return False
    start, _ = module.span(node.orelse[0])
    return module.text.startswith("elif", start)


def else_line(module: Module, node: ast.If) -> int:
    """The line with the `else` of a test."""
    line = node.orelse[0].lineno - 1
    while not module.lines[line - 1].strip().startswith("else:"):
        line -= 1
    return line


def outdented(
    module: Module, body: Sequence[ast.stmt], first: int, by: int
) -> Iterator[Edit]:
    """Moves statements, from a line above the first on, to the left."""
    in_text = {
        line
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    for line in range(first, (body[-1].end_lineno or body[-1].lineno) + 1):
        if line not in in_text and module.lines[line - 1].startswith(" " * by):
            yield Edit(module.line_start(line), module.line_start(line) + by, "")
