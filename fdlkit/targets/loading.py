"""A target's text to the config that it names."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
import pathlib
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import fiddle as fdl
from fiddle.experimental import auto_config

from fdlkit import tracebacks
from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import messages, origins, signatures
from fdlkit.graph.model import Graph
from fdlkit.overrides import symbols, syntax, values
from fdlkit.overrides.problems import BadTextError, quoted_lines
from fdlkit.targets import listing, modules, plain_calls, refusals, spelling
from fdlkit.targets.devices import Watch
from fdlkit.targets.refusals import RUN_CONFIG

_ABSENT = object()


@dataclasses.dataclass(frozen=True)
class LoadedTarget:
    """A config and where it came from.

    Attributes:
      text: The target, as it was written.
      cfg: The config: a fresh one, which the caller may change.
      module: The module of the file that holds the function; None for JSON.
      file: The Python or JSON file, absolute.
      function: The function's name; empty for JSON.
      source: The text of the file.
      before: The config as the function made it, where overrides made `cfg` of it.
    """

    text: str
    cfg: fdl.Buildable
    module: types.ModuleType | None
    file: pathlib.Path
    function: str
    source: str
    before: fdl.Buildable | None = None


def load(target: str, *, allow: Sequence[str] = ()) -> fdl.Buildable:
    """The config that a target names: `experiments/lm.py:base`.

    Warns (a `UserWarning`) of code that asks JAX for devices while the config is made.

    Args:
      target: Any form of the table in `docs/cli.md`.
      allow: Modules that a JSON target may name beside the known ones.

    Raises:
      UserError: As `load_target`.
    """
    with Watch() as watch:
        loaded = load_target(target, allow=allow)
    note = watch.note()
    if note is not None:
        warnings.warn(note, stacklevel=2)
    return loaded.cfg


def load_target(target: str, *, allow: Sequence[str] = ()) -> LoadedTarget:
    """The config that a target names.

    Args:
      target: `path.py:name`, `path.py:name(argument=value)`, `pkg.mod:name`,
        `config.json` or a run directory.
      allow: Modules whose functions and classes a JSON file may name, besides those
        that every JSON file may.

    Raises:
      UserError: There is no such config, or making it failed; the message says which
        configs there are, or shows the user's own part of the traceback.
    """
    spelt = spelling.parse(target)
    if spelt.kind in ("json", "run"):
        return _load_json(spelt, allow)
    if spelt.kind == "file":
        path = spelt.path
        if not spelt.function:
            raise refusals.no_function(modules.existing(path), spelt)
        module = modules.import_file(path)
    else:
        module = modules.import_module(spelt.where)
        if not spelt.function:
            raise UserError(f"'{target}' names no function", *spelling.FORMS)
    file = pathlib.Path(getattr(module, "__file__", None) or spelt.where)
    if file.suffix != ".py":
        raise refusals.no_python_file(module, spelt)
    function = _function(module, file, spelt)
    given = _arguments(function, spelt, module)
    source = listing.read_source(file)
    if spelt.function == plain_calls.FUNCTION and plain_calls.is_of_calls(
        module.__doc__
    ):
        tree = listing.parse_source(source, file)
        cfg = plain_calls.read(module, str(file), tree)
    else:
        cfg = _call(function, given, spelt)
    return LoadedTarget(target, cfg, module, file, spelt.function, source)


def read_graph(target: str) -> Graph | None:
    """The graph of a target that is JSON, read by its names alone; None if it is not.

    Nothing that the JSON names is imported.

    Raises:
      UserError: There is no such file, or it holds no config.
    """
    spelt = spelling.parse(target)
    if spelt.kind not in ("json", "run"):
        return None
    from fdlkit.serialize import reading

    path = _json_file(spelt)
    text = listing.read_json(path)
    with _naming(path):
        return reading.read(text)


def _load_json(spelt: spelling.Spelling, allow: Sequence[str]) -> LoadedTarget:
    from fdlkit.serialize import loading

    path = _json_file(spelt)
    text = listing.read_json(path)
    if allow:
        # As for `pkg.mod:fn`: what the user allows may stand in the current folder.
        modules.make_importable(pathlib.Path.cwd())
    with _naming(path):
        cfg = loading.loads(text, allow=allow, source=str(path.resolve()))
    if not isinstance(cfg, fdl.Buildable):
        kind = type(cfg).__name__
        raise UserError(f"{path} holds a value of type {kind}, not a config")
    return LoadedTarget(spelt.text, cfg, None, path.resolve(), "", text)


def _json_file(spelt: spelling.Spelling) -> pathlib.Path:
    if spelt.kind == "run":
        return _config_of_run(spelt.path, spelt)
    return modules.existing(spelt.path)


@contextlib.contextmanager
def _naming(path: pathlib.Path) -> Iterator[None]:
    """What is wrong with a text is told with the file that it is from."""
    try:
        yield
    except UserError as error:
        first, *rest = error.lines
        raise UserError(f"{path}: {first}", *rest) from error


def _config_of_run(path: pathlib.Path, spelt: spelling.Spelling) -> pathlib.Path:
    config = path / RUN_CONFIG
    if os.path.isfile(config):
        return config
    raise refusals.no_run(path, spelt)


def _function(
    module: types.ModuleType, file: pathlib.Path, spelt: spelling.Spelling
) -> Any:
    found: Any = module
    for part in spelt.function.split("."):
        # Statically first: a module's `__getattr__` may make up anything.
        if inspect.getattr_static(found, part, _ABSENT) is _ABSENT:
            raise refusals.no_function(file, spelt)
        found = getattr(found, part)
    if _is_as_buildable(found):  # smaller = base.as_buildable
        found = found.__self__
    if auto_config.is_auto_config(found):
        return found
    if inspect.isclass(found) or not callable(found):
        raise refusals.no_callable(found, spelt)
    return found


def _is_as_buildable(found: Any) -> bool:
    return (
        inspect.ismethod(found)
        and found.__name__ == "as_buildable"
        and auto_config.is_auto_config(found.__self__)
    )


def _arguments(
    function: Any, spelt: spelling.Spelling, module: types.ModuleType
) -> dict[str, Any]:
    call_text = spelt.function + spelt.arguments
    scope = symbols.Scope((module,))
    plain = function.func if auto_config.is_auto_config(function) else function
    try:
        call = syntax.call(call_text) or syntax.Call(call_text, (), call_text)
        given = values.arguments(call, plain, scope)
        missing = [
            name
            for name, parameter in signatures.parameters(plain).items()
            if not parameter.has_default and name not in given
        ]
        if missing and (refusal := refusals.fiddler(module, spelt)) is not None:
            raise refusal
        if missing:
            raise BadTextError(
                f"{spelt.function} needs {', '.join(missing)}",
                (0, len(call_text)),
                hint=f"write {spelt.function}({missing[0]}=VALUE)",
            )
    except BadTextError as problem:
        prefix = spelt.text[: spelt.text.index(":") + 1]
        if spelt.kind == "file":
            prefix = f"{spelt.where}:"
        raise UserError(*quoted_lines(problem, prefix, call_text)) from problem
    return given


def _call(
    function: Any, given: dict[str, Any], spelt: spelling.Spelling
) -> fdl.Buildable:
    make = function
    if auto_config.is_auto_config(function):
        make = function.as_buildable
    try:
        with origins.written_by_lines():
            cfg = make(**given)
    except UserError:
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        said = messages.raised(spelt.text, error)
        raise UserError(*said, *tracebacks.own_frames(error)) from error
    if isinstance(cfg, fdl.Buildable):
        return cfg
    raise refusals.no_config(cfg, spelt)
