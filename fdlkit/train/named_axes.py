"""Named-axis annotations (`Float[Array, "batch time embed"]`) held against calls.

Within one call a name is one size, as in jaxtyping, whose annotations these are. They
are read as data: nothing is decorated and nothing runs unless somebody observes.

    with named_axes.refusing():
        trainer.step(state, batch)

Observed are the methods of Flax Linen modules, `values` of losses and `state` of
metrics. An annotation is plain text to a compiled step, which is traced once.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import flax.linen as nn

from fdlkit.errors import UserError
from fdlkit.train.axis_names import Axes, annotations_of


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """One array that is not what its annotation says.

    Attributes:
      module: The Flax path of the module whose method was called; () for others.
      part: The config path of the loss or metric that was called; "" for modules.
      where: What was called: `Attention.__call__`.
      text: What disagrees, with both sources:
        "axis `c`: 8 from features[-1], 5 from weights[0]".
      arguments: Each annotated array so far, as it is written and as it is.
      bound: What every other name is, and by whom: `n=3 from features[1]`.
    """

    module: tuple[str, ...]
    part: str
    where: str
    text: str
    arguments: tuple[str, ...]
    bound: tuple[str, ...]

    def lines(self) -> list[str]:
        """It, for people: where and what, then the arrays and the other names."""
        place = "/".join(self.module) or self.part
        others = ", ".join(self.bound) or "no other name"
        return [
            f"{place}: {self.where}: {self.text}"
            if place
            else f"{self.where}: {self.text}",
            *(f"  {line}" for line in self.arguments),
            f"  bound besides: {others}",
        ]


class NamedAxisError(UserError):
    """An array that is not what its annotation says.

    Attributes:
      found: What disagrees.
    """

    def __init__(self, found: Disagreement):
        super().__init__(*found.lines())
        self.found = found


Observer = Callable[[Disagreement], None]

# Who is told; None, as in every run without --debug: nobody, and nothing is looked at.
_OBSERVER: contextvars.ContextVar[Observer | None] = contextvars.ContextVar(
    "fdlkit_named_axes", default=None
)


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Tells of every disagreement in what is called (or traced) inside.

    Args:
      observer: Called before the method whose arguments disagree, and after one whose
        result does. What it raises ends the call.
    """
    token = _OBSERVER.set(observer)
    try:
        with nn.intercept_methods(_intercept):
            yield
    finally:
        _OBSERVER.reset(token)


def refusing() -> contextlib.AbstractContextManager[None]:
    """Refuses the first disagreement in what is called (or traced) inside.

    Raises:
      NamedAxisError: By the call in which it is.
    """
    return observing(_refuse)


def _refuse(found: Disagreement) -> None:
    raise NamedAxisError(found)


def observed(method: Callable[..., Any], where: str, read: Mapping[str, Any]) -> Any:
    """What a method of a loss or metric makes of what it reads.

    Args:
      method: Bound; takes `read` by name.
      where: The config path of the loss or metric.
      read: Its arguments.
    """
    observer = _OBSERVER.get()
    if observer is None:
        return method(**read)
    function = getattr(method, "__func__", method)
    owner = getattr(method, "__self__", None)
    call = functools.partial(method, **read)
    return _observe(observer, call, function, owner, (), read, part=where)


def _intercept(call: Callable[..., Any], args: Any, kwargs: Any, context: Any) -> Any:
    observer = _OBSERVER.get()
    if observer is None:  # another thread of whoever observes
        return call(*args, **kwargs)
    module = context.module
    method = context.orig_method  # the function with its module bound to it
    return _observe(
        observer,
        functools.partial(call, *args, **kwargs),
        getattr(method, "func", method),
        module,
        args,
        kwargs,
        module_path=tuple(module.path) if module.scope is not None else (),
    )


def _observe(
    observer: Observer,
    call: Callable[[], Any],
    function: Callable[..., Any],
    owner: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    part: str = "",
    module_path: tuple[str, ...] = (),
) -> Any:
    """The call's result, after its arguments and itself were held to their word."""
    noted = annotations_of(function)
    arguments = _bound_arguments(function, owner, args, kwargs) if noted else None
    if arguments is None:
        return call()
    axes = Axes(arguments)
    where = f"{type(owner).__name__}.{getattr(function, '__name__', 'call')}"

    def hold(name: str, value: Any) -> None:
        clash = axes.hold(name, value, noted[name])
        if clash is not None:
            others = axes.others(clash)
            observer(
                Disagreement(module_path, part, where, clash.text, axes.held, others)
            )

    for name in noted:
        if name != "return":
            hold(name, arguments.get(name))
    result = call()
    if "return" in noted:
        hold("return", result)
    return result


def _bound_arguments(
    function: Callable[..., Any],
    owner: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, Any] | None:
    """The arguments by name; None if they do not fit, which the call itself tells."""
    try:
        bound = inspect.signature(function).bind(owner, *args, **kwargs)
    except TypeError:
        return None
    named = dict(bound.arguments)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named
