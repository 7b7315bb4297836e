"""What is said of a target that names no config: what it is, and what was meant."""

from __future__ import annotations

import inspect
import os
import pathlib
import types
from collections.abc import Sequence
from typing import Any

import fiddle as fdl

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.graph import reprs
from fdlkit.overrides import problems
from fdlkit.overrides.problems import cut, quote
from fdlkit.targets import listing, modules, spelling

# Where a run keeps the config that it was started with, inside its directory.
RUN_CONFIG = pathlib.PurePath("record", "config.json")

# Where a project keeps its experiments, beside its root.
EXPERIMENTS = "experiments"

# Of so many files of a folder the names of configs are read for a suggestion.
_FILES_READ = 50


def no_function(file: pathlib.Path, spelt: spelling.Spelling) -> UserError:
    """That a file has no such config, or that none of it was named; lists them all."""
    offered = [e for e in listing.list_configs(file) if e.kind == "config"]
    names = [entry.name for entry in offered]
    if not spelt.function:
        what = f"'{spelt.text}' names a file: which config of it?"
        near = names[0] if len(names) == 1 else None
    else:
        what = f"no config {quote(spelt.function)} in {spelt.where}"
        beside = _configs_in(file.parent, besides=file)
        near = next(iter(suggest.nearest(spelt.function, [*names, *beside], n=1)), None)
        if near is not None and near not in names:
            return UserError(
                what,
                f"  did you mean '{_beside(spelt, beside[near])}:{near}'?",
                *_listing(offered),
            )
    lines = []
    if near is not None:
        lines.append(f"  did you mean '{spelt.where}:{near}'?")
    return UserError(what, *lines, *_listing(offered))


def _listing(offered: Sequence[listing.Entry]) -> list[str]:
    """The configs of a file, a line each."""
    if not offered:
        return ["  the file has no function that returns a config"]
    width = max(len(entry.name) for entry in offered)
    lines = [f"    {e.name:<{width}}  {e.summary}".rstrip() for e in offered]
    return ["  configs:", *lines]


def no_callable(found: Any, spelt: spelling.Spelling) -> UserError:
    """That a name is a class, a config or any other value, not a function."""
    name = spelt.function
    said = f"'{name}' in {spelt.where} is"
    if inspect.isclass(found):
        made = f"def {name.lower().replace('.', '_')}(): return fdl.Config({name})"
        return UserError(
            f"{said} a class, not a function",
            f"  write a function that returns its config: {made}",
        )
    if isinstance(found, fdl.Buildable):
        return UserError(
            f"{said} a config, not a function",
            f"  write a function that returns it: def {name}(): ...",
        )
    return UserError(f"{said} a {type(found).__name__}, not a function")


def fiddler(module: types.ModuleType, spelt: spelling.Spelling) -> UserError | None:
    """That a function edits a config instead of returning one; None if it does not."""
    file = getattr(module, "__file__", None)
    entries = listing.list_configs(file) if file else ()
    if not any(e.name == spelt.function and e.kind == "fiddler" for e in entries):
        return None
    config = next((e.name for e in entries if e.kind == "config"), "NAME")
    return UserError(
        f"'{spelt.function}' in {spelt.where} is a fiddler: it edits a config",
        f"  name the config first: {spelt.where}:{config} "
        f"--fdl_fiddler={spelt.function}",
    )


def no_config(value: Any, spelt: spelling.Spelling) -> UserError:
    """That what a function returned is no config."""
    if inspect.iscoroutine(value):
        value.close()  # nobody waits for it, and Python would warn of that
        return UserError(
            f"{spelt.text} is a coroutine function, and a config is not waited for",
            f"  write def {spelt.function} in place of async def {spelt.function}",
        )
    if inspect.isgenerator(value):
        return UserError(
            f"{spelt.text} is a generator function, and a config is returned",
            f"  write return in place of yield in {spelt.function}",
        )
    text = reprs.text(value)
    short = text if len(text) < 40 else f"{text[:39]}…"
    return UserError(
        f"{spelt.text} returned {short} ({type(value).__name__}), which is no config",
        "  a config is a fdl.Config or fdl.Partial; "
        "a function that builds objects can be decorated with @auto_config",
    )


def no_python_file(module: types.ModuleType, spelt: spelling.Spelling) -> UserError:
    """That a module has no Python file of its own: a folder, or compiled code."""
    inside = modules.submodules(module)
    return UserError(
        f"module '{spelt.where}' is not a Python file, so it holds no configs",
        *([f"  modules in it: {problems.listing(inside)}"] if inside else []),
    )


def no_run(path: pathlib.Path, spelt: spelling.Spelling) -> UserError:
    """That a path is no run, and what there is instead."""
    if os.path.isdir(path):
        inside = _targets_in(path)
        return UserError(
            f"{path} is a folder without a run in it",
            f"  a run keeps its config in {RUN_CONFIG}",
            *([f"  in it: {problems.listing(inside)}"] if inside else []),
        )
    if os.path.lexists(path):
        return spelling.not_a_target(spelt.text)
    near = suggest.nearest(path.name, _targets_in(path.parent), n=1)
    meant = path.parent / near[0] if near else _config_named(spelt.where)
    hint = [] if meant is None else [f"  did you mean '{meant}'?"]
    return UserError(
        f"no file or run directory {cut(str(path))}", *hint, *spelling.FORMS
    )


def _config_named(name: str) -> str | None:
    """The target with a config called about so, among a project's experiments.

    A dotted name is one of another program's, whose last part names the config.
    """
    if os.sep in name:
        return None
    name = name.rpartition(".")[2]
    found = _configs_in(pathlib.Path(EXPERIMENTS))
    near = next(iter(suggest.nearest(name, found, n=1)), None)
    return None if near is None else f"{found[near]}:{near}"


def _configs_in(
    folder: pathlib.Path, *, besides: pathlib.Path | None = None
) -> dict[str, pathlib.Path]:
    """The files of a folder by the names of their configs, `besides` left out."""
    found: dict[str, pathlib.Path] = {}
    for path in sorted(folder.glob("*.py"))[:_FILES_READ]:
        if path == besides:
            continue
        try:
            entries = listing.experiments(path)
        except UserError:  # not Python, or nothing that may be read
            continue
        for entry in entries:
            found.setdefault(entry.name, path)
    return found


def _beside(spelt: spelling.Spelling, file: pathlib.Path) -> str:
    """How a file is named that is in the folder of the one that was named."""
    if spelt.kind == "module":
        return ".".join([*spelt.where.split(".")[:-1], file.stem])
    return str(pathlib.Path(spelt.where).with_name(file.name))


def _targets_in(folder: pathlib.Path) -> list[str]:
    """The names of Python files, JSON files and runs in a folder."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:  # none there, or none that may be seen
        return []
    names = [path.name for path in inside if path.suffix in (".py", ".json")]
    return names + [p.name for p in inside if os.path.isfile(p / RUN_CONFIG)]
