"""Which functions of a file make configs and which edit them, told by their syntax.

One rule for all that offers them: a file's listing, suggestions, completion. A name
that a user gives is tried whatever the rule says of it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import Literal

Kind = Literal["config", "fiddler"]

_CONFIG_TYPES = {"Config", "Partial", "ArgFactory", "Buildable"}
_CONFIG_PARAMETERS = {"cfg", "config", "conf", "experiment"}


@dataclasses.dataclass(frozen=True)
class Definition:
    """A public name of a module that means a function of one of the kinds.

    Attributes:
      name: The name.
      kind: What the function does with configs.
      function: The function; another one's where the name is only another name for it.
      bound: Arguments that the name fixes, `functools.partial`'s.
      line: Where the name is defined, from 1.
    """

    name: str
    kind: Kind
    function: ast.FunctionDef
    bound: Mapping[str, ast.expr]
    line: int


def definitions(module: ast.Module) -> list[Definition]:
    """The configs and fiddlers among a module's public top-level names.

    Functions, and other names for them: `small = base.as_buildable`,
    `wide = functools.partial(widen, by=2)`.
    """
    # `fdlkit codegen --style=build` wrote it: its calls are read as a config.
    is_of_calls = "--style=build" in (ast.get_docstring(module) or "")
    found: dict[str, Definition] = {}
    known: dict[str, ast.FunctionDef] = {}
    for node in module.body:
        bound: dict[str, ast.expr] = {}
        match node:
            case ast.FunctionDef(name=name):
                function = known[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                of, bound = _other_name(value)
                if of not in known:
                    continue
                function = known[name] = known[of]
            case _:
                continue
        kind = kind_of(function)
        if name == "build" and is_of_calls:
            kind = "config"
        if kind is None or name.startswith("_"):
            continue
        found.pop(name, None)  # the last of several is what the name means
        found[name] = Definition(name, kind, function, bound, node.lineno)
    return list(found.values())


def names(text: str, kind: Kind) -> list[str]:
    """The public names of a kind in a module's text; none if it is no Python."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [found.name for found in definitions(module) if found.kind == kind]


def kind_of(node: ast.FunctionDef) -> Kind | None:
    """What a function does with configs, None if nothing.

    A fiddler needs its first argument, which is called or annotated like a config or
    is written to by the function, and returns nothing. What makes a config says so in
    its annotation or decorator, or needs no arguments and returns something.
    """
    if any(_last_name(d) == "auto_config" for d in node.decorator_list):
        return "config"
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    first = required[0] if required else None
    if first is not None and _is_config(first, node):
        # A function that is given a config and returns one is a part of others.
        nothing = node.returns is None or ast.unparse(node.returns) == "None"
        return "fiddler" if nothing and not _returns_a_value(node) else None
    if node.returns is not None:
        return "config" if _last_name(node.returns) in _CONFIG_TYPES else None
    return "config" if not required and _returns_a_value(node) else None


def _other_name(value: ast.expr) -> tuple[str, dict[str, ast.expr]]:
    """The function that an expression is another name for, and arguments it fixes."""
    match value:
        case ast.Attribute(value=ast.Name(id=of), attr="as_buildable"):
            return of, {}
        case ast.Call(func=called, args=[ast.Name(id=of)], keywords=keywords):
            if _last_name(called) == "partial":
                return of, {k.arg: k.value for k in keywords if k.arg is not None}
    return "", {}


def _is_config(first: ast.arg, node: ast.FunctionDef) -> bool:
    if first.arg in _CONFIG_PARAMETERS or _last_name(first.annotation) in _CONFIG_TYPES:
        return True
    return first.annotation is None and _writes_to(first.arg, node)


def _writes_to(name: str, node: ast.FunctionDef) -> bool:
    """Whether the function sets or deletes something below an argument."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute | ast.Subscript):
            continue
        if isinstance(part.ctx, ast.Store | ast.Del):
            root: ast.expr = part
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name) and root.id == name:
                return True
    return False


def _last_name(node: ast.expr | None) -> str:
    """`Config` of `fdl.Config[Trainer]`, also when it is called or quoted."""
    while True:
        match node:
            case ast.Subscript(value=inner) | ast.Call(func=inner):
                node = inner
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name
            case ast.Constant(value=str(text)):
                return text.partition("[")[0].rpartition(".")[2]
            case _:
                return ""


def _returns_a_value(node: ast.FunctionDef) -> bool:
    """Whether the function itself, not one inside it, returns something."""
    todo: list[ast.AST] = list(node.body)
    while todo:
        child = todo.pop()
        if isinstance(child, ast.Return):
            value = child.value
            if value is not None and not isinstance(value, ast.Constant):
                return True
        elif not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            todo.extend(ast.iter_child_nodes(child))
    return False
