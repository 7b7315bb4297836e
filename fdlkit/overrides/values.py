"""Text to a value, by the annotation of the parameter that it is for.

The annotation decides and nothing is guessed first: where a string is wanted,
`None` is a string. Inside brackets stand Python's own literals, and each element
is typed in its turn. Text is parsed, never evaluated.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import enum
import inspect
import keyword
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import fiddle as fdl

from fdlkit import suggest
from fdlkit.graph import references, signatures
from fdlkit.overrides import hints, literals, scalars, symbols, syntax
from fdlkit.overrides.problems import BadTextError, listing, quote
from fdlkit.overrides.scalars import refused


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a value is for.

    Attributes:
      annotation: The parameter's annotation; `inspect.Parameter.empty` if none.
      scope: Where names are looked up.
      name: The parameter's name: `dtype` and `..._dtype` say what `Any` does not.
      current: What stands there now. A node or a function tells what is wanted
        where the annotation does not.
    """

    annotation: Any
    scope: symbols.Scope
    name: str = ""
    current: Any = None

    def of(self, annotation: Any) -> Wanted:
        """A part of this place: a union's member, an element."""
        return Wanted(annotation, self.scope)


def read(text: str, wanted: Wanted) -> Any:
    """The value that `text` means where `wanted` stands.

    The bare name of a class or function gives a `Symbol` where a node may stand, for
    the caller to swap a node's callable or to make a new node.

    Raises:
      BadTextError: The annotation refuses the text; columns count from its start.
    """
    annotation = hints.plain(wanted.annotation)
    if not hints.takes_str(annotation) or hints.says_nothing(annotation):
        _refuse_reference(text, wanted.scope)
    if hints.is_dtype(annotation, wanted.name):
        return scalars.dtype(text, annotation)
    if (members := hints.union_members(annotation)) is not None:
        return _union(text, wanted, members)
    if hints.says_nothing(annotation):
        return _untyped(text, wanted)
    if annotation is types.NoneType:
        if text != "None":
            hint = suggest.hint(text, ["None"]) or ""
            raise refused(text, annotation, hint)
        return None
    if typing.get_origin(annotation) is typing.Literal:
        return scalars.choice(text, typing.get_args(annotation))
    if hints.container_of(annotation) is not None:
        with _blanks_before(text):
            text = text.strip()
            return _container(syntax.expression(text), text, wanted, annotation)
    if inspect.isclass(annotation):
        if reader := scalars.READERS.get(annotation):
            return reader(text)
        if issubclass(annotation, enum.Enum):
            return scalars.enum_member(text, annotation)
    return _symbol(text, wanted, annotation)


_REFERENCE = re.compile(r"\s*((?:fdlkit[.:])?ref)\s*\(")


def _refuse_reference(text: str, scope: symbols.Scope) -> None:
    match = _REFERENCE.match(text)
    if match is None:
        return
    with contextlib.suppress(BadTextError):  # a file that has no `ref` means fdlkit's
        if scope.find(match[1]) is not references.ref:
            return
    raise BadTextError(
        "a reference is written in a file, not in an override",
        (0, len(text)),
        hint="write the value itself",
        more=("or a fiddler: def follow(cfg): cfg.a.b = ref('c.d')",),
    )


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A function or class named where a node may stand."""

    callable: Any


def _union(text: str, wanted: Wanted, members: tuple[Any, ...]) -> Any:
    """The first member that takes the text: None, then others, `str`, `Any` last.

    A number goes to the member of its own type, else to a wider one, if there is one:
    `0` is not False, and `0.0` is no int.
    """
    others = [m for m in members if m is not types.NoneType]
    if len(others) < len(members):
        if text == "None":
            return None
        if text in ("'None'", '"None"') and str in others:
            return "None"
    first = _number_types(text)

    def rank(member: Any) -> int:
        if member in first:
            return first.index(member) - len(first)
        return 2 if hints.says_nothing(member) else int(member is str)

    others.sort(key=rank)
    problems = []
    for member in others:
        try:
            return read(text, dataclasses.replace(wanted, annotation=member))
        except BadTextError as problem:
            problems.append(problem)
    if len(others) < len(members):
        word = text.strip()
        if word.lower() in literals.NOTHING or suggest.nearest(word, ["None"]):
            raise refused(text, wanted.annotation, suggest.did_you_mean("None") or "")
    # A problem inside the text tells more than that the whole of it does not fit.
    inside = [p for p in problems if p.span not in (None, (0, len(text)))]
    if inside or len(problems) == 1:
        raise (inside or problems)[0]
    hint = next((problem.hint for problem in problems if problem.hint), "")
    raise refused(text, wanted.annotation, hint)


def _number_types(text: str) -> tuple[type, ...]:
    """The types that the number which a text spells fits best; none if it is none."""
    try:
        value = syntax.literal(syntax.expression(text.strip()))
    except (BadTextError, ValueError):
        return ()
    if type(value) is bool:
        return (bool,)
    tower = (int, float, complex)
    return tower[tower.index(type(value)) :] if type(value) in tower else ()


def _untyped(text: str, wanted: Wanted) -> Any:
    """What a text means where no annotation says it.

    A Python literal; brackets, with nodes in them too; `Name(argument=value)`; a name
    where a node or a function stands now; else the text itself. A text that is almost
    a literal is refused, unless a string stands there now.
    """
    with _blanks_before(text):
        source = text.strip()
        if isinstance(wanted.current, bool) and source.lower() in _BOOL_WORDS:
            return scalars.boolean(source)
        if type(wanted.current) in (int, float) and source in _FLOAT_WORDS:
            return float(source)
        try:
            node = syntax.expression(source)
        except BadTextError as problem:
            if isinstance(wanted.current, str):
                return text
            if symbols.is_callable_symbol(wanted.current) or _is_node(wanted.current):
                return _symbol(source, wanted, Callable)
            _refuse_near_miss(source, problem)
            return text
        try:
            value = syntax.literal(node)
        except ValueError:
            return _untyped_code(text, source, node, wanted)
        if _is_node(wanted.current) and value is not None:
            raise _scalar_for_node(source)
        return value


def _untyped_code(text: str, source: str, node: ast.expr, wanted: Wanted) -> Any:
    """An expression that is no literal."""
    if isinstance(node, _DISPLAYS) and source[0] in "[({":
        return _display(node, source, wanted)
    if symbols.is_callable_symbol(wanted.current) or _is_node(wanted.current):
        return _symbol(source, wanted, Callable)
    if isinstance(wanted.current, str):
        return text
    if isinstance(node, ast.Call) and syntax.is_call(source):
        try:
            return _symbol(source, wanted, Callable)
        except BadTextError as problem:
            more = problem.more
            if not _WOKEN & {*source}:
                more = (*more, _string_line(source))
            raise BadTextError(
                problem.what, problem.span, hint=problem.hint, more=more
            ) from problem
    _refuse_near_miss(source)
    return text


# No literals, but plain enough where a bool or a number stands.
_BOOL_WORDS = ("true", "false", "yes", "no")
_FLOAT_WORDS = ("inf", "-inf", "nan")
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


def _is_node(value: Any) -> bool:
    return isinstance(value, fdl.Buildable)


def _refuse_near_miss(source: str, problem: BadTextError | None = None) -> None:
    """Raises if the text was hardly meant as a string."""
    hint = literals.near_miss(source)
    if problem is not None and problem.hint and (hint or syntax.is_call(source)):
        hint = problem.hint
    if problem is not None and "too large" in problem.what:
        raise problem
    if hint:
        more = () if len(source) > 40 or _WOKEN & {*source} else (_string_line(source),)
        raise BadTextError(
            f"{quote(source)} is not a Python literal",
            (0, len(source)),
            hint=hint,
            more=more,
        )


# What would not stay as it is in the quotes that `_string_line` shows, in a shell.
_WOKEN = {*"'\"$`\\!"}


def _string_line(source: str) -> str:
    return f"to mean the string, quote it: \"'{source}'\""


def _scalar_for_node(source: str) -> BadTextError:
    return BadTextError(
        f"{quote(source)} is not a node, which is what stands there",
        (0, len(source)),
        hint="write Name or Name(argument=value)",
        more=("to put a plain value there, unset the node first: ~PATH",),
    )


def _symbol(text: str, wanted: Wanted, annotation: Any) -> Any:
    """A function or class by its name, or a new node for `Name(argument=value)`."""
    with _blanks_before(text):
        text = text.strip()
        scope = _scope(wanted)
        call = syntax.call(text)
        name = text if call is None else call.name
        if not symbols.is_name(name) or keyword.iskeyword(name):
            raise refused(text, annotation, "write Name or Name(argument=value)")
        found = scope.find(name)
        if not symbols.is_callable_symbol(found):
            raise BadTextError(
                f"{quote(name)} is a built {type(found).__name__}",
                (0, len(name)),
                hint="name its function or class: Name(argument=value)",
            )
        if call is not None:
            return _called(found, call, scope)
        if _is_node(wanted.current):
            return Symbol(found)
        return found if hints.wants_itself(annotation, found) else Symbol(found)


def _scope(wanted: Wanted) -> symbols.Scope:
    """Where a name is looked for: also beside what stands there and what is wanted."""
    scope, current = wanted.scope, wanted.current
    if _is_node(current):
        scope = scope.beside(fdl.get_callable(current))
    elif symbols.is_callable_symbol(current):
        scope = scope.beside(current)
    annotation = hints.plain(wanted.annotation)
    for kind in (type(current), *(hints.union_members(annotation) or (annotation,))):
        # Beside Python's own types stands nothing that would do instead.
        if inspect.isclass(kind) and kind.__module__ not in sys.stdlib_module_names:
            scope = scope.beside(kind)
    return scope


def _called(function: Any, call: syntax.Call, scope: symbols.Scope) -> fdl.Config:
    """A new node for `Name(value, argument=value)`."""
    scope = scope.beside(function)
    args = positional_arguments(call, function, scope)
    named = dataclasses.replace(call, positional=())
    given = arguments(named, function, scope)
    try:
        return fdl.Config(function, *args, **given)
    except (TypeError, ValueError) as error:
        what = f"cannot make a Config: {error}"
        raise BadTextError(what, (0, len(call.text))) from error


def positional_arguments(
    call: syntax.Call, function: Any, scope: symbols.Scope
) -> list[Any]:
    """The typed arguments that a call gives without names.

    Only a function with `*args`, or with parameters that have no name to its callers,
    takes such: `optax.chain(adam(learning_rate=1e-3), clip(max_delta=1))`.

    Raises:
      BadTextError: It takes none, or not as many, or one is refused.
    """
    if not call.positional:
        return []
    try:
        parameters = list(signatures.all_parameters(function).values())
    except (TypeError, ValueError) as error:
        raise _no_signature(call) from error
    by_place = [p for p in parameters if p.kind in _BY_PLACE]
    rest = next((p for p in parameters if p.kind is p.kind.VAR_POSITIONAL), None)
    found = []
    for index, node in enumerate(call.positional):
        parameter = by_place[index] if index < len(by_place) else rest
        nameless = parameter is not None and (
            rest is not None or parameter.kind is parameter.kind.POSITIONAL_ONLY
        )
        if parameter is None or not nameless or isinstance(node, ast.Starred):
            raise _by_name(call, syntax.span(node, call.text))
        wanted = Wanted(parameter.annotation, scope, parameter.name)
        found.append(_element(node, call.text, wanted))
    return found


_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _by_name(call: syntax.Call, span: tuple[int, int]) -> BadTextError:
    what = f"the arguments of {call.name} are given by name"
    return BadTextError(what, span, hint="write argument=value")


def _no_signature(call: syntax.Call) -> BadTextError:
    what = f"{call.name} does not say what arguments it takes"
    return BadTextError(what, (0, len(call.name)))


def arguments(
    call: syntax.Call,
    function: Any,
    scope: symbols.Scope,
    *,
    skip: int = 0,
) -> dict[str, Any]:
    """The typed arguments of a call; the first `skip` parameters are not for users.

    Raises:
      BadTextError: An argument is unknown or refused, or given without a name; columns
        count in the call's text.
    """
    if call.positional:
        raise _by_name(call, syntax.span(call.positional[0], call.text))
    try:
        known = dict(list(signatures.parameters(function).items())[skip:])
        open_ended = signatures.takes_any(function)
    except (TypeError, ValueError) as error:
        raise _no_signature(call) from error
    found = {}
    for name, columns, node in call.keywords:
        parameter = known.get(name)
        if parameter is None and not open_ended:
            raise BadTextError(
                f"{call.name} has no parameter {quote(name)}",
                columns,
                hint=suggest.hint(name, known) or "",
                more=(f"parameters: {listing(known)}",),
            )
        wanted = Wanted(Any, scope, name)
        if parameter is not None:
            default = (
                None if parameter.default is signatures.MISSING else (parameter.default)
            )
            wanted = Wanted(parameter.annotation, scope, name, default)
        found[name] = _element(node, call.text, wanted)
    return found


def _node(function: Any, text: str) -> fdl.Config:
    try:
        return fdl.Config(function)
    except (TypeError, ValueError) as error:
        raise BadTextError(f"cannot make a Config: {error}", (0, len(text))) from error


def _container(
    node: ast.expr, text: str, wanted: Wanted, annotation: Any
) -> list | tuple | set | frozenset | dict:
    """A bracketed literal whose elements are typed by the annotation's own.

    Raises:
      BadTextError: It is none, an element is refused, or a key stands there twice.
    """
    kind = hints.container_of(annotation)
    start, end = syntax.span(node, text)
    if isinstance(node, ast.Call) and ast.unparse(node) == "set()":
        node = ast.Set(elts=[])  # an empty set has no other spelling
    if kind is dict:
        if not isinstance(node, ast.Dict) or None in node.keys:
            hint = "write {'key': value}"
            raise refused(text[start:end], annotation, hint).shifted(start)
        types_ = hints.element_types(annotation, len(node.keys))
        return _dict(node, text, wanted, types_)
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        hint = _SPELLINGS.get(kind, "write [value, value]")
        raise refused(text[start:end], annotation, hint).shifted(start)
    element_types = hints.element_types(annotation, len(node.elts))
    if len(element_types) != len(node.elts):
        hint = f"it has {len(element_types)} elements, not {len(node.elts)}"
        raise refused(text[start:end], annotation, hint).shifted(start)
    elements = [
        _element(element, text, wanted.of(type_))
        for element, type_ in zip(node.elts, element_types, strict=True)
    ]
    if kind is object:  # any sequence: as it was written
        kind = tuple if isinstance(node, ast.Tuple) else list
    assert kind is not None
    return _made(kind, elements, (start, end))


_SPELLINGS: dict[Any, str] = {
    tuple: "write (value, value)",
    set: "write {value, value}, or set() for an empty one",
    frozenset: "write {value, value}, or set() for an empty one",
}


def _dict(
    node: ast.Dict, text: str, wanted: Wanted, element_types: tuple[Any, ...]
) -> dict:
    key_type, value_type = element_types
    keys = [_element(k, text, wanted.of(key_type)) for k in node.keys if k]
    values = [_element(v, text, wanted.of(value_type)) for v in node.values]
    made = _made(dict, zip(keys, values, strict=True), syntax.span(node, text))
    if len(made) < len(keys):
        again = next(i for i, key in enumerate(keys) if key in keys[:i])
        key = node.keys[again]
        assert key is not None  # an unpacked dict has been refused
        raise BadTextError(
            f"the key {keys[again]!r} stands there twice", syntax.span(key, text)
        )
    return made


def _display(node: ast.expr, text: str, wanted: Wanted) -> Any:
    """Brackets where nothing says what belongs in them."""
    if isinstance(node, ast.Dict):
        if None in node.keys:
            hint = "write {'key': value}"
            raise BadTextError(f"{quote(text)} unpacks", (0, len(text)), hint=hint)
        return _dict(node, text, wanted, (Any, Any))
    assert isinstance(node, ast.List | ast.Tuple | ast.Set)
    kinds: dict[type, type] = {ast.List: list, ast.Tuple: tuple, ast.Set: set}
    elements = [_element(element, text, wanted.of(Any)) for element in node.elts]
    return _made(kinds[type(node)], elements, syntax.span(node, text))


def _made(kind: type, elements: Iterable[Any], span: tuple[int, int]) -> Any:
    try:
        return kind(elements)
    except TypeError as error:  # a key, or an element of a set, that has no hash
        raise BadTextError(str(error), span) from error


def _element(node: ast.expr, text: str, wanted: Wanted) -> Any:
    """One element or argument, written as Python would write it."""
    start, end = syntax.span(node, text)
    source = text[start:end]
    annotation = hints.plain(wanted.annotation)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if hints.takes_str(annotation) and not hints.is_dtype(annotation, wanted.name):
            return node.value
        if hints.takes_only_numbers(annotation):
            raise refused(source, annotation).shifted(start)
        source, start = node.value, start + 1
    elif annotation is str and not _is_bare_word(node, source):
        raise refused(source, annotation, "quote it").shifted(start)
    elif hints.says_nothing(annotation) and _is_bare(node, wanted):
        try:
            return syntax.literal(node)
        except ValueError:
            raise refused(source, Any, _element_hint(source)).shifted(start) from None
    with _shifted(start):
        value = read(source, wanted)
    if isinstance(value, Symbol):
        return _node(value.callable, source)
    return value


# Shells eat quotes; a key path such as `preds.aux[0]` is a bare word too.
_BARE_WORD = re.compile(r"[^\W\d][\w./-]*(\[\d+\][\w./-]*)*")


def _is_bare_word(node: ast.expr, source: str) -> bool:
    """Whether the word may be a string without quotes; `True` and `None` may not."""
    return not isinstance(node, ast.Constant) and bool(_BARE_WORD.fullmatch(source))


def _element_hint(source: str) -> str:
    if ":" in source and symbols.is_name(source):
        return f"write {source}() for a node"
    return literals.near_miss(source) or "quote it"


def _is_bare(node: ast.expr, wanted: Wanted) -> bool:
    """Whether nothing says what an element means: it has to be a literal."""
    if hints.is_dtype(hints.plain(wanted.annotation), wanted.name):
        return False
    return wanted.current is None and not isinstance(node, (*_DISPLAYS, ast.Call))


def _blanks_before(text: str) -> contextlib.AbstractContextManager[None]:
    return _shifted(len(text) - len(text.lstrip()))


@contextlib.contextmanager
def _shifted(columns: int) -> Iterator[None]:
    """Problems inside are told in the columns of the larger text."""
    try:
        yield
    except BadTextError as problem:
        raise problem.shifted(columns) from problem.__cause__
