"""Settings that nothing reads: arguments of the user's own classes and functions.

Libraries are trusted to read what they take. Of a user's own class the texts of the
class, its bases and mixins, and then of the whole project, are searched for the name;
what is found nowhere is watched in a build and a trace besides.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

from fdlkit import suggest, tracebacks
from fdlkit.check.config import readers, watching
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.errors import UserError
from fdlkit.graph import paths, signatures, sources


@dataclasses.dataclass(frozen=True)
class _Setting:
    """An argument of a user's own callable that is set.

    Attributes:
      number: The node.
      name: The argument.
      called: The class or function.
      attribute: What the name is as an attribute; None if it is a function's own.
    """

    number: int
    name: str
    called: Any
    attribute: str | None


def find(subject: Subject) -> Iterator[Finding]:
    """Arguments that are set and that nothing reads."""
    unread = [s for s in _settings(subject) if not _is_read(s)]
    if not unread:
        return
    read = _watched(subject, unread)
    for setting in unread:
        if (setting.called, setting.attribute) in read:
            continue
        node = subject.graph.nodes[setting.number]
        assert node.callable is not None
        path = (*subject.places.path(setting.number), setting.name)
        yield subject.finding(
            "CF016",
            path,
            f"{paths.format(path)} is set, and nothing reads "
            f"{node.callable.short}.{setting.name}",
            meant=_meant(setting),
            fix=f"leave it out: --fdl_set=~{paths.format(path)}; or have "
            f"{node.callable.short} use it",
        )


def _settings(subject: Subject) -> Iterator[_Setting]:
    for number in subject.places.order:
        node = subject.graph.nodes[number]
        if node.kind not in ("config", "partial", "arg_factory"):
            continue
        called = None if node.callable is None else node.callable.live
        if not _is_users(called):
            continue
        for argument in node.arguments:
            name = argument.key
            if argument.value is None or not isinstance(name, str):
                continue
            if name.startswith(("_", "unused")):
                continue
            found = _setting(number, name, called)
            if found is not None:
                yield found


def _is_users(called: Any) -> bool:
    if not (inspect.isclass(called) or inspect.isfunction(called)):
        return False
    file = _file(called)
    return file is not None and tracebacks.is_users(file)


def _file(called: Any) -> str | None:
    try:
        return inspect.getsourcefile(inspect.unwrap(called))
    except (TypeError, ValueError):
        return None


def _setting(number: int, name: str, called: Any) -> _Setting | None:
    """Where the argument of a name could be read; None if it is, or that is unknown."""
    function = inspect.unwrap(called)
    if inspect.isclass(called):
        function = inspect.getattr_static(called, "__init__", None)
    code = getattr(function, "__code__", None)
    is_written = code is not None and tracebacks.is_users(code.co_filename)
    body = sources.definition(function) if is_written else None
    if body is not None:
        return _in_body(number, name, called, body)
    if inspect.isclass(called) and dataclasses.is_dataclass(called):
        return _Setting(number, name, called, name)
    return None


def _in_body(
    number: int, name: str, called: Any, body: sources.Definition
) -> _Setting | None:
    known = {a.arg for a in (*body.args.args, *body.args.kwonlyargs)}
    if name not in known or _is_stub(body):
        return None
    reads = readers.of_tree(ast.Module(body=body.body, type_ignores=[]))
    if reads.sees_all:
        return None
    if name not in reads.variables:
        return _Setting(number, name, called, None)
    kept = _kept_as(body, name)
    if kept is None or not inspect.isclass(called):
        return None
    return _Setting(number, name, called, kept)


def _is_stub(body: sources.Definition) -> bool:
    """Whether a function has nothing in it but words: a protocol's, an overload's."""
    return all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
        )
        for statement in body.body
    )


def _kept_as(body: sources.Definition, name: str) -> str | None:
    """`width` for `self.width = width`, if that is all that is done with it."""
    kept: list[str] = []
    uses = 0
    for node in ast.walk(body):
        match node:
            case ast.Name(id=used, ctx=ast.Load()) if used == name:
                uses += 1
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=attribute)],
                value=ast.Name(id=used),
            ) if used == name:
                kept.append(attribute)
    return kept[0] if len(kept) == uses == 1 else None


def _is_read(setting: _Setting) -> bool:
    """Whether a text reads it: those of the class and its bases, then the project's."""
    name = setting.attribute
    if name is None:
        return False
    searched = set()
    for base in inspect.getmro(setting.called):
        file = _file(base)
        if file is None:
            continue  # written in C
        reads = readers.of_file(file)
        if reads is None or name in reads.attributes:
            return True
        if tracebacks.is_users(file):
            searched.add(os.path.abspath(file))
    # What knows such objects: the class's own package, and the house, whose trainer
    # asks a loss for its unit.
    packages = (str(setting.called.__module__).partition(".")[0], "fdlkit")
    for module, held in list(sys.modules.items()):
        file = getattr(held, "__file__", None)
        if module.partition(".")[0] not in packages or not file or file in searched:
            continue
        if readers.reads_attribute(file, name):
            return True
    return any(readers.is_read(name, file, searched) for file in sorted(searched))


def _watched(subject: Subject, settings: list[_Setting]) -> set[tuple[type, str]]:
    """Which of them a build and a trace read all the same, by names that they make."""
    from fdlkit.graph.build import build

    names: dict[type, set[str]] = {}
    for setting in settings:
        if setting.attribute is not None:
            names.setdefault(setting.called, set()).add(setting.attribute)
    if not names or subject.build_error is not None:
        return set()
    with watching.watching(names) as watch:
        try:
            built = build(subject.config)
            if subject.is_experiment:
                built.setup_on(built.mesh.abstract())
        except UserError:
            return watch.read  # told by others; what was read until then was read
    return watch.read


def _meant(setting: _Setting) -> str | None:
    """An attribute that the class does read and that sounds like it."""
    file = _file(setting.called)
    reads = None if file is None else readers.of_file(file)
    if reads is None or setting.attribute is None:
        return None
    taken = signatures.all_parameters(setting.called)
    names = {n for n in reads.attributes if n.islower() == setting.name.islower()}
    hint = suggest.hint(setting.name, names - set(taken))
    return hint and f"{hint} (that is read)"
