"""Importing a user's file under the name that other files would import it by.

JSON and generated code name what a file defines by that file's module, so a file
is never run under a throw-away name when it has a real one: the dotted name from
its outermost package, or from the folder of `sys.path` that holds it. Only a file
whose name is taken by another module is given a suffix, made from its path.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import linecache
import os
import pathlib
import sys
import types

from fdlkit import suggest, tracebacks
from fdlkit.errors import UserError, is_interrupt
from fdlkit.graph import messages, module_names
from fdlkit.overrides.problems import cut, quote
from fdlkit.targets import listing

# Where a module keeps what tells whether its file has been edited since.
_DIGEST = "__fdlkit_digest__"


def import_file(path: pathlib.Path) -> types.ModuleType:
    """The module that `path` defines; run once, and again when its text has changed.

    What runs is the text that the file has now, never what Python has kept of it
    compiled: that is compared by whole seconds. A new text makes a new module. What was
    made by the old one stays as it is, and so do the modules that the file imports.
    The file that runs as `__main__` is the module that runs.

    Raises:
      UserError: The file is missing, is not Python, or raised while it ran (with
        its own traceback, from its own first frame).
    """
    path = existing(path).resolve()
    text = listing.read_source(path)
    tree = listing.parse_source(text, path)
    for module in list(sys.modules.values()):
        if _is_module_of(module, path):
            if not _is_older(module, text):
                return module
            return _run(module.__name__, path, text, tree)
    root, name = module_names.importable_name(path)
    make_importable(root)
    if name in sys.modules or not module_names.leads_to(name, path):
        return _run(module_names.stand_in(path), path, text, tree)
    if parent := name.rpartition(".")[0]:
        _guarded_import(parent, parent)
        if name in sys.modules:  # its package has imported it
            return sys.modules[name]
    return _run(name, path, text, tree)


def import_module(name: str) -> types.ModuleType:
    """The module called `name`; the current folder is importable, as for Python.

    Raises:
      UserError: There is none, or it raised while it ran.
    """
    make_importable(pathlib.Path.cwd())
    parent = name.rpartition(".")[0]
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise _no_module(name, str(error.name or parent)) from error
    except (OSError, RecursionError) as error:  # a name longer than any folder holds
        raise _no_module(name, name) from error
    except BaseException as error:  # the package that holds it
        if is_interrupt(error):
            raise
        raise _import_failed(error, parent) from error
    if spec is None:
        raise _no_module(name, name)
    if spec.has_location and str(spec.origin).endswith(".py"):
        path = pathlib.Path(str(spec.origin)).resolve()
        text = listing.read_source(path)
        loaded = sys.modules.get(name)
        if loaded is None:
            loaded = _guarded_import(name, spec.origin)
            setattr(loaded, _DIGEST, _digest(text))
        elif _is_older(loaded, text):
            tree = listing.parse_source(text, path)
            loaded = _run(name, path, text, tree)
        return loaded
    return _guarded_import(name, spec.origin)


def submodules(package: types.ModuleType) -> list[str]:
    """The public modules in a package or in a folder that is taken as one."""
    folders = getattr(package, "__path__", ())
    return sorted(
        {name for folder in folders for name in _modules_of(pathlib.Path(folder))}
    )


def existing(path: pathlib.Path) -> pathlib.Path:
    """`path` itself; if there is no such file, an error that names its neighbours."""
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise UserError(f"{path} is a folder, not a file")
        if path.is_symlink():
            raise UserError(f"no file {path}: it is a link to {os.readlink(path)}")
        if path.exists():
            raise UserError(f"{path} is no regular file", "  save what it gives in one")
    except OSError as error:  # a name that no file can have
        raise UserError(f"no file {cut(str(path))}: {error.strerror}") from error
    siblings = []
    if path.parent.is_dir():
        siblings = sorted(p.name for p in path.parent.glob(f"*{path.suffix}"))
    else:
        raise UserError(
            f"no file {cut(str(path))}: there is no folder {cut(str(path.parent))}"
        )
    lines = []
    if near := suggest.nearest(path.name, siblings, n=1):
        lines.append(f"  did you mean '{path.parent / near[0]}'?")
    if siblings:
        lines.append(f"  in {path.parent}: {', '.join(siblings[:12])}")
    raise UserError(f"no file {path}", *lines)


def _is_module_of(module: object, path: pathlib.Path) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or os.path.basename(file) != path.name:
        return False
    if pathlib.Path(file).resolve() != path:
        return False
    # Without a name of its own nothing that it defines could be named.
    is_main = getattr(module, "__name__", "") in module_names.MAIN
    return not is_main or module_names.main_name() is not None


def _is_older(module: types.ModuleType, text: str) -> bool:
    """Whether the module is known to come from another text than the file has now."""
    known = getattr(module, _DIGEST, None)
    return known is not None and known != _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_importable(root: pathlib.Path) -> None:
    """Puts a folder on `sys.path` as Python does with a script's own folder."""
    present = {pathlib.Path(entry or os.getcwd()).resolve() for entry in sys.path}
    if root.resolve() not in present:
        sys.path.insert(0, str(root))
        importlib.invalidate_caches()


def _guarded_import(name: str, origin: object) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise _import_failed(error, origin) from error


def _run(
    name: str, path: pathlib.Path, text: str, tree: ast.Module
) -> types.ModuleType:
    """Runs a file as the module `name`; if it raises, what was there before stays."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    setattr(module, _DIGEST, _digest(text))
    before = sys.modules.get(name)
    sys.modules[name] = module
    linecache.checkcache(str(path))
    try:
        exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        if is_interrupt(error):
            raise
        raise _import_failed(error, path) from error
    package, _, own = name.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], own, sys.modules[name])
    return sys.modules[name]


def _import_failed(error: BaseException, origin: object) -> UserError:
    if isinstance(error, UserError):
        return error
    if isinstance(error, SyntaxError):
        return UserError(*listing.syntax_error_lines(error, str(origin)))
    shown = cut(tracebacks.shown_path(str(origin)))
    said = messages.raised(f"importing {shown}", error)
    return UserError(*said, *tracebacks.own_frames(error))


def _modules_of(folder: pathlib.Path) -> list[str]:
    """The modules that stand in a folder below the current one."""
    try:
        names = [path.stem for path in folder.glob("*.py")]
        packages = [path.parent.name for path in folder.glob("*/__init__.py")]
    except OSError:
        return []
    return sorted(name for name in {*names, *packages} if not name.startswith("_"))


def _no_module(name: str, missing: str) -> UserError:
    lines = []
    if missing != name:
        lines.append(f"  there is no module {quote(missing)}")
    file = pathlib.Path(*name.split(".")).with_suffix(".py")
    if os.path.isfile(name):
        lines.append(f"  {name} is a file, but no Python file (.py)")
    elif os.path.isfile(file):
        lines.append(f"  did you mean '{file}'?")
    elif near := suggest.nearest(file.stem, _modules_of(file.parent), n=1):
        lines.append(f"  did you mean '{'.'.join([*file.parent.parts, *near])}'?")
    lines.append(f"  searched: {os.getcwd()} and Python's own path")
    return UserError(f"no module {quote(name)}", *lines)
