"""`NAME` and `NAME(argument=value)`: a function of the user's that edits the config."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import fiddle as fdl

from fdlkit import suggest, tracebacks
from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import messages, signatures
from fdlkit.overrides import functions, hints, symbols, syntax, values
from fdlkit.overrides.problems import BadTextError, listing, quote
from fdlkit.overrides.symbols import Scope


def apply(cfg: fdl.Buildable, text: str, scope: Scope) -> list[str]:
    """Calls the fiddler on the config, which it changes in place.

    Raises:
      BadTextError: There is no such fiddler, an argument is wrong, or it raised.
    """
    text = text.strip()
    call = syntax.call(text) or syntax.Call(text, (), text)
    fiddler = _find(call.name, scope)
    given = values.arguments(call, fiddler, scope, skip=1)
    name_span = (0, len(call.name))
    missing = [
        name
        for name, parameter in list(signatures.parameters(fiddler).items())[1:]
        if not parameter.has_default and name not in given
    ]
    if missing:
        what = f"{call.name} needs {listing(missing)}"
        hint = f"write {call.name}({missing[0]}=VALUE)"
        raise BadTextError(what, (0, len(text)), hint=hint)
    try:
        result = fiddler(cfg, **given)
    except UserError as error:
        first, *rest = error.lines
        what = f"{call.name}: {first}"
        raise BadTextError(what, name_span, more=tuple(rest)) from error
    except BaseException as error:
        if is_interrupt(error):
            raise
        what, *told = messages.raised(call.name, error)
        own = (*told, *tracebacks.own_frames(error))
        own = tuple(line.removeprefix("  ") for line in own)
        raise BadTextError(what, name_span, more=own) from error
    if inspect.iscoroutine(result):
        result.close()
        what = f"{call.name} is a coroutine function, and a fiddler is not waited for"
        hint = f"write def {call.name} in place of async def {call.name}"
        raise BadTextError(what, name_span, hint=hint)
    if result is not None and result is not cfg:
        what = f"{call.name} returned {hints.describe(type(result))}"
        hint = "a fiddler edits the config it is given and returns nothing"
        raise BadTextError(what, name_span, hint=hint)
    return []


def _find(name: str, scope: Scope) -> Any:
    if not scope.modules:
        what = f"no fiddler {quote(name)}: this config comes from no Python file"
        raise BadTextError(what, (0, max(len(name), 1)))
    known = _fiddlers(scope)
    dotted = symbols.is_name(name) and (":" in name or "." in name)
    if not dotted and name not in vars(scope.modules[0]):
        raise BadTextError(
            f"no fiddler {quote(name)} in {scope.modules[0].__name__}",
            (0, max(len(name), 1)),
            hint=suggest.hint(name, known) or "",
            more=(f"fiddlers: {listing(known)}",),
        )
    found = scope.find(name, "fiddler")
    if not _is_function(found) or not _takes_a_config(found):
        what = f"{quote(name)} is not a fiddler"
        raise BadTextError(
            what,
            (0, len(name)),
            hint="a fiddler is a function that is given the config and edits it",
            more=(f"fiddlers: {listing(known)}",),
        )
    return found


def _fiddlers(scope: Scope) -> list[str]:
    """The fiddlers of the experiment's own file: those that `show FILE.py` lists."""
    module = scope.modules[0]
    try:
        text = inspect.getsource(module)
    except (OSError, TypeError):  # made in a notebook, or its file is gone
        return []
    return [name for name in functions.names(text, "fiddler") if hasattr(module, name)]


def _is_function(value: object) -> bool:
    """Also one with some arguments fixed: `wider = functools.partial(widen, by=2)`."""
    return inspect.isroutine(_plain(value))


def _plain(value: Any) -> Any:
    while isinstance(value, functools.partial):
        value = value.func
    return value


def _takes_a_config(function: Any) -> bool:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return (
        first is not None
        and first.kind in positional
        and first.default is inspect.Parameter.empty
    )
