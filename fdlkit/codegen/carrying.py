"""Functions that no import leads to, whose text is carried along: lambdas, closures.

Names that the text uses are written anew, as the program imports them. What it closes
over is handed to it by a function around it: `make_scaler(3)`. A text is used only if
it compiles to the very code that the function has.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from fdlkit.codegen import described
from fdlkit.codegen.program import Definition, Imported, Local, Own, Part, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import module_names, names, reprs

Write = Callable[[Any], Text]

_REMEDY = "write it as a function at the top level of a module"

_Node = ast.Lambda | ast.FunctionDef

# Of these a function sees what others do to them; a copy of its own it must not get.
_MUTABLE = (list, dict, set, bytearray)


class Carrier:
    """Collects the functions that one program carries along."""

    def __init__(self) -> None:
        self._definitions: list[Definition] = []
        self._write: Write = lambda value: (repr(value),)
        self._trees: dict[str, tuple[bytes, list[_Node]] | None] = {}
        # By code: its text, or the number of its definition.
        self._known: dict[types.CodeType, tuple[Text, Any]] = {}
        self._open: set[int] = set()

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What is carried so far."""
        return tuple(self._definitions)

    def writes_with(self, write: Write) -> None:
        """Says what writes the values that functions close over."""
        self._write = write

    def text(self, function: Any) -> Text:
        """The text of a function.

        Raises:
          UnwritableError: Its own cannot be had.
        """
        if not isinstance(function, types.FunctionType):
            raise UnwritableError(
                f"{_called(function)}, which no import leads to", _REMEDY
            )
        if id(function) in self._open:
            raise UnwritableError(f"{_called(function)}, which calls itself", _REMEDY)
        self._open.add(id(function))
        try:
            return self._text(function)
        finally:
            self._open.discard(id(function))

    def _text(self, function: types.FunctionType) -> Text:
        code = function.__code__
        values = [_content(function, cell) for cell in function.__closure__ or ()]
        defaults = (function.__defaults__, function.__kwdefaults__)
        known = self._known.get(code)
        if known is not None and known[1] == repr(defaults):
            text = known[0]
        else:
            text = self._written(function)
            self._known[code] = text, repr(defaults)
        if not code.co_freevars:
            return text
        given: list[Part] = []
        for value in values:
            given += [*([", "] if given else []), *self._write(value)]
        return (*text, "(", *given, ")")

    def _written(self, function: types.FunctionType) -> Text:
        """The function itself; if it closes over something, what makes it."""
        source, node = self._find(function)
        text = tuple(self._spliced(function, source, node))
        free = function.__code__.co_freevars
        is_lambda = isinstance(node, ast.Lambda)
        if not free and is_lambda:
            return ("(", *text, ")") if "\n" in "".join(_strings(text)) else text
        if not free:
            return self._defined(function.__name__, text)
        inner: list[Part] = ["def ", Own(), f"({', '.join(free)}):\n"]
        if is_lambda:
            inner += ["    return (", *text, ")"]
        else:
            inner += ["    ", *_deeper(text, function.__name__)]
            inner += [f"\n    return {function.__name__}"]
        name = "function" if is_lambda else function.__name__
        return self._defined(f"make_{name}", tuple(inner))

    def _defined(self, name: str, text: Text) -> Text:
        self._definitions.append(Definition(name, text))
        return (Local(len(self._definitions) - 1),)

    def _find(self, function: types.FunctionType) -> tuple[bytes, _Node]:
        """The source of the function's file, and where in it the function is."""
        code = function.__code__
        parsed = self._parsed(code.co_filename)
        source, nodes = parsed or (b"", [])
        for node in nodes:
            if _is_at(node, code) and _is_same(node, function):
                if isinstance(node, ast.FunctionDef) and node.decorator_list:
                    raise UnwritableError(
                        f"{_called(function)}, which has a decorator", _REMEDY
                    )
                return source, node
        raise UnwritableError(
            f"{_called(function)}, whose text cannot be found", _REMEDY
        )

    def _parsed(self, file: str) -> tuple[bytes, list[_Node]] | None:
        if file not in self._trees:
            source = "".join(linecache.getlines(file))
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[file] = None
            else:
                kinds = (ast.Lambda, ast.FunctionDef)
                found = [n for n in ast.walk(tree) if isinstance(n, kinds)]
                self._trees[file] = source.encode(), found
        return self._trees[file]

    def _spliced(
        self, function: types.FunctionType, source: bytes, node: _Node
    ) -> Iterator[Part]:
        """The function's text with names and defaults written anew."""
        starts = _line_starts(source)
        changes = [
            *self._names_anew(function, node),
            *self._defaults_anew(function, node),
        ]
        cuts = [(_start(part, starts), _end(part, starts), t) for part, t in changes]
        cuts += [(begin, end, ()) for begin, end in _annotations(source, node, starts)]
        is_def = isinstance(node, ast.FunctionDef)
        at, end = _start(node, starts), _end(node, starts)
        margin = node.col_offset if is_def else 0
        if is_def and not function.__code__.co_freevars:
            name = source.index(function.__name__.encode(), at + 3)
            cuts.append((name, name + len(function.__name__.encode()), (Own(),)))
        for begin, stop, text in sorted(cuts, key=lambda cut: cut[:2]):
            if begin < at:
                continue  # inside what was written anew
            yield _dedented(source[at:begin], margin)
            yield from text
            at = stop
        yield _dedented(source[at:end], margin)

    def _names_anew(
        self, function: types.FunctionType, node: _Node
    ) -> Iterator[tuple[ast.expr, Text]]:
        wanted, locals_ = _names_in(function.__code__)
        texts = {name: self._global(function, name) for name in sorted(wanted)}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and (text := texts.get(part.id)) is not None:
                if part.id in locals_:
                    raise UnwritableError(
                        f"{_called(function)}, in which {part.id} means two things",
                        _REMEDY,
                    )
                yield part, text

    def _global(self, function: types.FunctionType, name: str) -> Text | None:
        """What is written for a global name of a function; None for a builtin."""
        scope = function.__globals__
        if name not in scope:
            if hasattr(builtins, name):
                return None
            raise UnwritableError(
                f"{_called(function)}, in which {name} means nothing", _REMEDY
            )
        value = scope[name]
        if isinstance(value, types.ModuleType):
            return self._write(value)
        if callable(value) and names.find(value) is not None:
            return self._write(value)
        home = str(scope.get("__name__", ""))
        module = sys.modules.get(home)
        if module is not None and vars(module) is scope and _has_a_name(home):
            return (Imported(home, name),)
        if isinstance(value, _MUTABLE):
            raise UnwritableError(
                f"{_called(function)}, which uses {name}, a {type(value).__name__} "
                "that no import leads to",
                _REMEDY,
            )
        return ("(", *self._write(value), ")")

    def _defaults_anew(
        self, function: types.FunctionType, node: _Node
    ) -> Iterator[tuple[ast.expr, Text]]:
        given = function.__defaults__ or ()
        for part, value in zip(node.args.defaults, given, strict=True):
            yield part, self._write(value)
        named = function.__kwdefaults__ or {}
        for argument, default in zip(
            node.args.kwonlyargs, node.args.kw_defaults, strict=True
        ):
            if default is not None:
                yield default, self._write(named[argument.arg])


def _content(function: types.FunctionType, cell: types.CellType) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:
        raise UnwritableError(
            f"{_called(function)}, which closes over what is not there yet", _REMEDY
        ) from None
    if isinstance(value, _MUTABLE):
        raise UnwritableError(
            f"{_called(function)}, which closes over a {type(value).__name__}",
            f"{_REMEDY}, and bind it: functools.partial",
        )
    return value


def _called(function: Any) -> str:
    qualname = getattr(function, "__qualname__", "")
    if qualname.endswith("<lambda>"):
        code = function.__code__
        return f"a lambda (line {code.co_firstlineno} of {code.co_filename})"
    if "<locals>" in qualname:
        outer, _, inner = qualname.rpartition(".<locals>.")
        return f"{inner}, which is defined inside {outer.rpartition('.')[2]}"
    return reprs.text(function)


def _has_a_name(module: str) -> bool:
    return module not in module_names.MAIN and not module_names.is_stand_in(module)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    todo = [code]
    while todo:
        one = todo.pop()
        yield one
        todo += [c for c in one.co_consts if isinstance(c, types.CodeType)]


def _names_in(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The global names that a function and those inside it read, and their locals."""
    wanted, locals_ = set(), set()
    for one in _codes(code):
        locals_ |= {*one.co_varnames, *one.co_cellvars, *one.co_freevars}
        wanted |= {
            str(step.argval)
            for step in dis.get_instructions(one)
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        }
    return wanted, locals_


def _is_at(node: _Node, code: types.CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return (node.name, first) == (code.co_name, code.co_firstlineno)
    return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno


def _is_same(node: _Node, function: types.FunctionType) -> bool:
    """Whether a text compiles to the code, in a function with the same free names."""
    code = function.__code__
    outer = ast.parse("def outer(): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.args.args = [ast.arg(name) for name in code.co_freevars]
    outer.body = [_bare(node)]
    tree = ast.fix_missing_locations(ast.Module([outer], []))
    try:
        made = compile(tree, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    (whole,) = _inside(made)
    return any(_does_the_same(one, function) for one in _inside(whole))


def _inside(code: types.CodeType) -> list[types.CodeType]:
    """The functions directly inside another one."""
    return [one for one in code.co_consts if isinstance(one, types.CodeType)]


def _bare(node: _Node) -> ast.stmt:
    """The function without what is evaluated around it; the node is not changed."""
    old = node.args
    arguments = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in old.posonlyargs],
        args=[ast.arg(one.arg) for one in old.args],
        vararg=old.vararg and ast.arg(old.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in old.kwonlyargs],
        kw_defaults=[None] * len(old.kwonlyargs),
        kwarg=old.kwarg and ast.arg(old.kwarg.arg),
        defaults=[],
    )
    if isinstance(node, ast.Lambda):
        return ast.Expr(ast.Lambda(arguments, node.body))
    made = ast.parse("def bare(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = node.name, arguments, node.body
    return made


def _does_the_same(one: types.CodeType, function: types.FunctionType) -> bool:
    if one.co_freevars != function.__code__.co_freevars:
        return False
    scope = function.__globals__
    return list(described.code(one, scope)) == list(
        described.code(function.__code__, scope)
    )


def _line_starts(source: bytes) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _start(node: Any, starts: list[int]) -> int:
    return starts[node.lineno - 1] + node.col_offset


def _end(node: Any, starts: list[int]) -> int:
    return starts[node.end_lineno - 1] + node.end_col_offset


def _annotations(
    source: bytes, node: _Node, starts: list[int]
) -> Iterator[tuple[int, int]]:
    """Where annotations stand, with their punctuation: they may name anything."""
    if isinstance(node, ast.Lambda):
        return
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    every += [one for one in (args.vararg, args.kwarg) if one is not None]
    for one in every:
        if one.annotation is not None:
            begin = _start(one, starts) + len(one.arg.encode())
            yield begin, _end(one.annotation, starts)
    if node.returns is not None:
        begin = source.rindex(b"->", 0, _start(node.returns, starts))
        yield begin, _end(node.returns, starts)


def _dedented(text: bytes, margin: int) -> str:
    lines = text.decode().split("\n")
    return "\n".join(
        [lines[0], *(x[margin:] if not x[:margin].strip() else x for x in lines[1:])]
    )


def _deeper(text: Text, name: str) -> Iterator[Part]:
    for part in text:
        if isinstance(part, Own):
            yield name
        else:
            yield part.replace("\n", "\n    ") if isinstance(part, str) else part


def _strings(text: Text) -> list[str]:
    return [part for part in text if isinstance(part, str)]
