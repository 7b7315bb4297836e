"""Every touch of what Fiddle does not document, each with its reason.

The rest of the package reads and writes Buildables through these functions and
Fiddle's public names. When a new Fiddle breaks something, it breaks here.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import fiddle as fdl
from fiddle import history, tag_type

# What `fiddle.arg_factory.is_arg_factory_partial` knows a partial with factories by.
from fiddle._src.arg_factory import _InvokeArgFactoryWrapper

# Fiddle refuses a build inside a build by a thread-local flag that only this context
# manager sets. Without it a constructor that calls `fdl.build` would pass under
# `fdlkit.build` and fail under `fdl.build`.
from fiddle._src.building import _in_build

# No public name leads to it.
from fiddle._src.config import tagged_value_fn

# What a name is that was imported within Fiddle's `lazy_imports`; not public either.
from fiddle._src.experimental.lazy_imports import ProxyObject

# What an `ArgFactory` is built to, for the partial around it to find.
from fiddle._src.partial import _BuiltArgFactory

ArgumentKey = str | int

BuiltArgFactory = _BuiltArgFactory
InvokesFactories = _InvokeArgFactoryWrapper

# What a `TaggedValue` calls. Its second parameter is filled by Fiddle, so that it is
# nothing to show or to set.
TAGGED_VALUE_FN: Any = tagged_value_fn


def is_tagged_value_fn(fn_or_cls: Any) -> bool:
    """Whether it is the callable of every `TaggedValue`."""
    return fn_or_cls is TAGGED_VALUE_FN


def lazy_name(thing: Any) -> tuple[str, str] | None:
    """The module and the name in it that a lazily imported name stands for.

    None for anything else. Fiddle imports it when it is called.
    """
    if type(thing) is not ProxyObject:
        return None
    module, colon, name = thing.qualname.partition(":")
    if not colon:
        module, _, name = module.rpartition(".")
    return module, name


def lazy_qualname(thing: Any) -> str | None:
    """What a lazily imported name stands for: `pkg.mod`, `pkg.mod:Name`, or a name that
    was imported from a module, `pkg.mod.Name`. None for anything else.
    """
    return thing.qualname if type(thing) is ProxyObject else None


def in_build() -> contextlib.AbstractContextManager[None]:
    """Marks this thread as building, for Fiddle's check against nested builds."""
    return _in_build()


def raw_arguments(node: fdl.Buildable) -> dict[ArgumentKey, Any]:
    """The arguments that are set, in the order they were set; not a copy.

    Fiddle's public way to read them, `ordered_arguments`, costs a signature walk.
    """
    return node.__arguments__


def ordered_arguments(node: fdl.Buildable) -> Mapping[ArgumentKey, Any]:
    """The arguments that are set, in signature order; may be read, not written.

    What `fdl.ordered_arguments` says, without its look at every parameter's kind: a
    config of 10,000 nodes is walked often. Where arguments stand by position, which
    is seldom, Fiddle is asked.
    """
    given = raw_arguments(node)
    if len(given) < 2:
        return given
    parameters = node.__signature_info__.parameters
    ordered = {name: given[name] for name in parameters if name in given}
    if len(ordered) == len(given):
        return ordered
    if any(isinstance(key, int) for key in given):
        return fdl.ordered_arguments(node)
    return ordered | given


def argument_tags(node: fdl.Buildable) -> Mapping[ArgumentKey, set[tag_type.TagType]]:
    """Tags by argument; `fdl.get_tags` validates a name and makes empty entries."""
    return node.__argument_tags__


def argument_history(
    node: fdl.Buildable,
) -> Mapping[ArgumentKey, list[history.HistoryEntry]]:
    """What was written to each argument, oldest first. Fiddle has no public reader."""
    return node.__argument_history__


def callable_history(node: fdl.Buildable) -> list[history.HistoryEntry]:
    """What the node was made to call, oldest first: when it was made, then swaps."""
    return node.__argument_history__.get("__fn_or_cls__", [])


def delete_positional(node: fdl.Buildable, index: int) -> None:
    """Takes away an argument that stands by position before a `*args`, or without one.

    Fiddle's own `del node[index]` fails where the callable has no `*args`.
    """
    node._arguments_del_value(index)


def record_value(node: fdl.Buildable, key: ArgumentKey, value: Any) -> None:
    """Adds to an argument's history, without setting it, that a value was written."""
    node.__argument_history__.add_new_value(key, value)


def record_all(node: fdl.Buildable) -> None:
    """Begins the history of a node that has none: it was made, its arguments set."""
    past = node.__argument_history__
    past.add_new_value("__fn_or_cls__", node.__fn_or_cls__)
    for key, value in node.__arguments__.items():
        past.add_new_value(key, value)


def signature_parameters(node: fdl.Buildable) -> Mapping[str, Any]:
    """The `inspect.Parameter`s of the node's callable, by name."""
    return node.__signature_info__.parameters


def args_kwargs(
    node: fdl.Buildable, arguments: dict[ArgumentKey, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """How Fiddle passes `arguments` to the callable: positional and by keyword."""
    named = {key: value for key, value in arguments.items() if isinstance(key, str)}
    if len(named) == len(arguments):
        return [], named  # nothing that the signature would have a say in
    return node.__signature_info__.transform_to_args_kwargs(arguments)


def call(node: fdl.Buildable, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the node's own kind does when it is built, arguments being built."""
    return node.__build__(*args, **kwargs)


def make_node(
    kind: type[fdl.Buildable],
    fn_or_cls: Any,
    arguments: Mapping[ArgumentKey, Any],
    tags: Mapping[ArgumentKey, Iterable[tag_type.TagType]],
) -> fdl.Buildable:
    """A node with exactly these arguments and tags, and an empty history.

    The constructors cannot do it: they take tags from annotations (which may have
    been removed since), spread `TaggedValue`s, and differ among subclasses.
    """
    node = object.__new__(kind)
    node.__init_callable__(fn_or_cls)
    object.__setattr__(node, "__arguments__", dict(arguments))
    object.__setattr__(
        node,
        "__argument_tags__",
        collections.defaultdict(set, {key: set(value) for key, value in tags.items()}),
    )
    object.__setattr__(node, "__argument_history__", history.History())
    return node


def copy_node(
    node: fdl.Buildable, arguments: Mapping[ArgumentKey, Any]
) -> fdl.Buildable:
    """The same node with other values: tags and history are copied along.

    `copy.copy` goes through `__unflatten__`, which `DictConfig` and its like override
    in a way that drops tags and history.
    """
    copied = object.__new__(type(node))
    copied.__dict__.update(node.__dict__)
    past = {key: entries[:] for key, entries in node.__argument_history__.items()}
    tags = {key: set(value) for key, value in node.__argument_tags__.items()}
    copied.__dict__["__arguments__"] = dict(arguments)
    copied.__dict__["__argument_history__"] = history.History(past)
    copied.__dict__["__argument_tags__"] = collections.defaultdict(set, tags)
    return copied


def rename_arguments(node: fdl.Buildable, names: Mapping[Any, ArgumentKey]) -> None:
    """Gives arguments other keys, all at once, with their tags and history.

    Fiddle has no way to do it that leaves the history as it is.
    """
    for kept in (
        node.__arguments__,
        node.__argument_tags__,
        node.__argument_history__,
    ):
        moved = {new: kept.pop(old) for old, new in names.items() if old in kept}
        for key, value in moved.items():
            kept[key] = value


def drop_argument(node: fdl.Buildable, key: ArgumentKey) -> None:
    """Takes away one argument, as its history then says.

    Fiddle's `del node[0]` needs a `*args`, and moves what stands behind.
    """
    node._arguments_del_value(key)


def update_callable(
    node: fdl.Buildable, function: Any, keys: Mapping[ArgumentKey, ArgumentKey]
) -> None:
    """Makes a node call something else, which knows its arguments by other keys.

    Fiddle's own refuses a node with arguments that stand by place, so these are out of
    its sight meanwhile.

    Args:
      node: The node, which has only arguments that `function` takes.
      function: What it is to call.
      keys: For each argument the key that it has there.
    """
    renamed = {old: new for old, new in keys.items() if old != new}
    rename_arguments(node, renamed)
    given = node.__arguments__
    by_place = {key: given.pop(key) for key in [*given] if isinstance(key, int)}
    fdl.update_callable(node, function, drop_invalid_args=True)
    named = dict(given)
    given.clear()
    given.update(by_place | named)
