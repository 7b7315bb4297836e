"""What a callable takes whose signature says `(*args, **kwargs)`.

Fiddle lets any name pass for such a callable. Where it can be shown that it hands on
all it is given, the signature that counts is that of whatever it hands it to; where it
cannot be shown, any name may be right and none is refused.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from fiddle import signatures as fiddle_signatures

from fdlkit.graph import sources

_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_OPEN = inspect.Parameter.VAR_KEYWORD


class Constructor(NamedTuple):
    """What a callable takes.

    Attributes:
      parameters: In order.
      sources: The functions whose annotations speak of them; empty where the callable
        itself says all.
    """

    parameters: tuple[inspect.Parameter, ...]
    sources: tuple[Any, ...] = ()


def constructor(fn_or_cls: Callable[..., Any]) -> Constructor:
    """The real parameters of a callable, as far as they can be known.

    Raises:
      TypeError, ValueError: It has no signature at all.
    """
    said = fiddle_signatures.get_signature(fn_or_cls).parameters.values()
    if not is_open(said):
        return Constructor(tuple(said))
    return _behind(typing.get_origin(fn_or_cls) or fn_or_cls) or Constructor(
        tuple(said)
    )


def is_open(parameters: Collection[inspect.Parameter]) -> bool:
    """Whether there is a `**kwargs` among them."""
    return any(parameter.kind is _OPEN for parameter in parameters)


def supplied(fn_or_cls: Any) -> Collection[str] | None:
    """Parameters of a decorated function that its decorator may fill in by itself.

    `functools.wraps` gives the outer function the signature of the inner one, but the
    outer one may pass on more than it is given.

    Returns:
      Their names; None if it cannot be told, so that it may be any.
    """
    if inspect.isclass(fn_or_cls):
        fn_or_cls = inspect.getattr_static(fn_or_cls, "__init__")
    filled: set[str] = set()
    for _ in range(
        32
    ):  # decorators nest a few deep, and no circle is followed for ever
        inner = getattr(fn_or_cls, "__wrapped__", None)
        call = inspect.getattr_static(type(fn_or_cls), "__call__", None)
        outer = fn_or_cls if isinstance(fn_or_cls, types.FunctionType) else call
        if inner is None or not isinstance(outer, types.FunctionType):
            return filled  # a wrapper in C, such as `jax.jit`'s: it adds nothing
        handed = _Handed.on(outer)
        if handed is None:
            return None
        names = [p.name for p in _signature(inner) or () if p.kind in _BY_PLACE]
        filled |= {*handed.keywords, *names[: handed.positional]}
        fn_or_cls = inner
    return None


def _behind(called: Any) -> Constructor | None:
    if isinstance(called, functools.partial):
        return _of_partial(called)
    if not inspect.isclass(called) or getattr(called, "__signature__", None):
        return None
    if not _makes_by_init(called):
        return None
    return _of_init(called)


def _of_partial(called: functools.partial) -> Constructor | None:
    inner = constructor(called.func)
    if is_open(inner.parameters):
        return None

    def stand_in() -> None: ...

    signature = inspect.Signature(inner.parameters, __validate_parameters__=False)
    stand_in.__signature__ = signature  # type: ignore[attr-defined]
    try:
        bound = functools.partial(stand_in, *called.args, **called.keywords)
        left = inspect.signature(bound).parameters.values()
    except ValueError:  # it holds what the function does not take
        return None
    return Constructor(tuple(left), inner.sources)


def _makes_by_init(cls: type) -> bool:
    """Whether calling the class hands all it is given to `__init__`."""
    if any("__new__" in vars(base) for base in cls.__mro__[:-1]):
        return False  # it may make something else altogether
    for meta in inspect.getmro(type(cls)):
        call = vars(meta).get("__call__")
        if meta is type or (call is not None and _is_of_nnx(cls, call)):
            return True
        if call is not None and not _only_calls_above(call):
            return False
    return False


def _is_of_nnx(cls: type, call: Any) -> bool:
    """Whether it is made the way that `flax.nnx` makes its modules and variables."""
    # Flax is not imported for this: whoever made a Flax class has it loaded.
    nnx = sys.modules.get("flax.nnx")
    for base in (getattr(nnx, name, None) for name in ("Module", "Variable")):
        made = type(base)
        if base is None or call is not inspect.getattr_static(made, "__call__"):
            continue
        # What that `__call__` calls in its turn; a metaclass may replace it.
        steps = ("_pytree_meta_construct", "_variable_meta_call")
        return all(
            inspect.getattr_static(type(cls), step, None)
            is inspect.getattr_static(made, step, None)
            for step in steps
        )
    return False


def _only_calls_above(call: Any) -> bool:
    """Whether a metaclass's `__call__` passes everything on, always."""
    handed = _Handed.on(call)
    return handed is not None and handed.is_all("__call__")


def _of_init(cls: type) -> Constructor | None:
    """The parameters of `__init__`, and of those above that it hands the rest to."""
    found: list[inspect.Parameter] = []
    spoken: list[Any] = []
    gone: set[str] = set()  # filled from further down
    skip = 0  # so many places of the next one are filled
    by_place = True  # whether places are handed on at all
    for owner in cls.__mro__:
        init = vars(owner).get("__init__")
        if init is None:
            continue
        if owner is object:
            return Constructor(tuple(found), tuple(spoken))
        given = _signature(init)
        if given is None or not _says_all(init):
            return None
        spoken.append(init)
        own = _left(given[1:], gone, skip, by_place=by_place)
        rest = [p for p in own if p.kind is not _OPEN]
        if len(rest) == len(own):
            return Constructor(tuple(_in_order([*found, *rest])), tuple(spoken))
        handed = _Handed.on(init)
        if handed is None or not handed.is_always("__init__"):
            return None
        by_place = by_place and handed.places
        found += [p for p in rest if p.kind is not inspect.Parameter.VAR_POSITIONAL]
        gone |= {*handed.keywords, *(p.name for p in rest)}
        skip = handed.positional
    return None


def _says_all(init: Any) -> bool:
    """Whether a decorated `__init__` takes no more than the inner one says."""
    for _ in range(32):
        if not hasattr(init, "__wrapped__"):
            return True
        handed = _Handed.on(init)
        outer = inspect.signature(init, follow_wrapped=False).parameters.values()
        if handed is None or any(p.kind is p.KEYWORD_ONLY for p in outer):
            return False
        init = init.__wrapped__
    return False


def _left(
    parameters: Sequence[inspect.Parameter],
    gone: Collection[str],
    skip: int,
    *,
    by_place: bool,
) -> list[inspect.Parameter]:
    """Those that are still to be filled."""
    left = []
    for index, parameter in enumerate(parameters):
        kind = parameter.kind
        if kind in _BY_PLACE and index < skip:
            continue
        if kind in (_OPEN, inspect.Parameter.VAR_POSITIONAL):
            if by_place or kind is _OPEN:
                left.append(parameter)
        elif parameter.name not in gone:
            if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and not by_place:
                parameter = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            left.append(parameter)
    return left


def _in_order(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return sorted(parameters, key=lambda parameter: parameter.kind)


def _signature(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C, and silent
        return None


class _Handed(NamedTuple):
    """How a function hands its `*args` and `**kwargs` on.

    Attributes:
      name: The attribute that is called with them; empty for a plain function.
      above: Whether that is an attribute of `super()`.
      always: Whether no condition decides on it.
      places: Whether `*args` are handed on.
      positional: How many places it fills by itself.
      keywords: The names that it fills by itself.
    """

    name: str
    above: bool
    always: bool
    places: bool
    positional: int
    keywords: tuple[str, ...]

    def is_always(self, name: str) -> bool:
        """Whether it calls `super().NAME`, whatever happens."""
        return self.above and self.always and self.name == name

    def is_all(self, name: str) -> bool:
        """The same, adding nothing of its own."""
        plain = self.places and not self.positional and not self.keywords
        return plain and self.is_always(name)

    @classmethod
    def on(cls, function: Any) -> _Handed | None:
        """None unless it hands all of its `**kwargs` to one call, and changes none."""
        written = sources.definition(function)
        if written is None or written.args.kwarg is None:
            return None
        rest, named = written.args.vararg, written.args.kwarg.arg
        inside = [node for part in written.body for node in ast.walk(part)]
        calls = [n for n in inside if isinstance(n, ast.Call) and named in _stars(n)]
        if len(calls) != 1 or _may_change(inside, named, rest.arg if rest else None):
            return None
        (call,) = calls
        stars = [isinstance(argument, ast.Starred) for argument in call.args]
        doubles = [keyword for keyword in call.keywords if keyword.arg is None]
        if sum(stars) > 1 or (True in stars and not stars[-1]) or len(doubles) > 1:
            return None
        name, above = _called(call.func)
        return cls(
            name,
            above,
            _is_unconditional(call, written),
            rest is not None and rest.arg in _stars(call),
            stars.count(False),
            tuple(k.arg for k in call.keywords if k.arg is not None),
        )


def _may_change(inside: list[ast.AST], named: str, rest: str | None) -> bool:
    """Whether statements might change `**kwargs`, or put another tuple for `*args`."""
    harmless: set[ast.AST | None] = set()
    for node in inside:
        match node:
            case ast.keyword(arg=None, value=value):
                harmless.add(value)
            case ast.Call(func=ast.Name(id="len" | "bool" | "sorted"), args=[value]):
                harmless.add(value)
            case ast.Attribute(value=value, attr="get" | "items" | "keys" | "values"):
                harmless.add(value)
            case ast.Subscript(value=value, ctx=ast.Load()):
                harmless.add(value)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[value]):
                harmless.add(value)
    return any(
        node.id == "locals"
        or (node.id == named and node not in harmless)
        or (node.id == rest and not isinstance(node.ctx, ast.Load))
        for node in inside
        if isinstance(node, ast.Name)
    )


def _stars(call: ast.Call) -> set[str]:
    """The names that stand behind a `*` or a `**` in a call."""
    starred = [a.value for a in call.args if isinstance(a, ast.Starred)]
    starred += [k.value for k in call.keywords if k.arg is None]
    return {value.id for value in starred if isinstance(value, ast.Name)}


def _called(function: ast.expr) -> tuple[str, bool]:
    """What is called: an attribute's name, and whether it is one of `super()`."""
    match function:
        case ast.Attribute(attr=name, value=ast.Call(func=ast.Name(id="super"))):
            return name, not function.value.args  # type: ignore[attr-defined]
        case ast.Attribute(attr=name):
            return name, False
    return "", False


def _is_unconditional(call: ast.Call, written: sources.Definition) -> bool:
    """Whether the call is reached whenever the function returns."""
    for statement in written.body:
        inside = list(ast.walk(statement))
        if call in inside:
            simple = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)
            # A lambda or a condition within an expression may never come to it.
            maybe = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.comprehension)
            return isinstance(statement, simple) and not any(
                isinstance(node, maybe) and call in ast.walk(node) for node in inside
            )
        if any(isinstance(node, ast.Return) for node in inside):
            return False
    return False
