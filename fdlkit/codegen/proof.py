"""The proof of a generated file: it is run elsewhere, and what it makes is compared."""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import pathlib
import secrets
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from fdlkit.codegen import described
from fdlkit.codegen.program import Style
from fdlkit.errors import RunFailedError
from fdlkit.graph import fiddle_internals, names
from fdlkit.graph.build import build
from fdlkit.graph.model import Graph, Leaf, Symbol, Value
from fdlkit.graph.places import Places
from fdlkit.graph.snapshot import snapshot

# What a program of the style `build` must do without, unless the config names it.
_DO_WITHOUT = ("fiddle", "fdlkit")


def prove(
    text: str, cfg: Any, *, style: Style, function: str, beside: pathlib.Path
) -> None:
    """Runs a generated text in a new interpreter and compares what it makes.

    Args:
      text: The text of a module.
      cfg: The config that it was made of.
      style: `build` or `fiddle`.
      function: The function of the text that makes it again.
      beside: Where the text shall be; the file that is run is there for a moment too.

    Raises:
      RunFailedError: The text raises, or makes something else.
    """
    # Before anything is built, which may change the folder.
    searched = [entry or os.getcwd() for entry in sys.path]
    beside = beside.absolute()
    if style == "fiddle":
        wanted, refused = described.describe(plain_config(cfg)), []
    else:
        wanted = described.describe(build(cfg))
        refused = [name for name in _DO_WITHOUT if name not in _named(text)]
    asked = {
        "function": function,
        "path": searched,
        "refused": refused,
        "config": style == "fiddle",
    }
    with _kept_for_now(text, beside) as file:
        asked["file"] = str(file)
        answer = _ask(asked)
        if answer.get("refused_by") not in (None, "", str(file)):
            # A module of the user's own, which the config names, needs the package.
            answer = _ask({**asked, "refused": []})
    if "error" in answer:
        line = answer["line"]
        shown = [] if line is None else [f"    {text.splitlines()[line - 1].strip()}"]
        at = "" if line is None else f" in line {line}"
        raise RunFailedError(
            "the generated code does not run, so it was not written",
            f"  {answer['error']}{at}",
            *shown,
        )
    # Through JSON as well, so that both are of the same types.
    found = described.difference(json.loads(json.dumps(wanted)), answer["made"])
    if found is not None:
        path, config, code = found
        what = "is" if style == "fiddle" else "builds"
        raise RunFailedError(
            "the generated code makes something else, so it was not written",
            f"  at {path or '<root>'}",
            f"  the config {what}: {config}",
            f"  the code makes: {code}",
        )


def plain_config(cfg: Any) -> Any:
    """A config as plain lists and values, for `described.describe`.

    Defaults, history and what only text is for are left out; sharing is kept.
    """
    graph = cfg if isinstance(cfg, Graph) else snapshot(cfg)
    made: dict[int, Any] = {}
    for number in sorted(Places(graph).order):
        node = graph.nodes[number]
        arguments = [
            (
                _plain_key(argument.key),
                argument.value is not None,
                _plain(argument.value, made),
                tuple(tag.live for tag in argument.tags),
            )
            for argument in node.arguments
            if argument.value is not None or argument.tags
        ]
        called = None if node.callable is None else _imported(node.callable)
        kind = None if node.type is None else node.type.live
        whole = [node.kind, called, kind, *arguments]
        made[number] = tuple(whole) if node.is_value else whole
    return _plain(graph.root, made)


def _imported(symbol: Symbol) -> Any:
    """What a symbol names; a name that is imported lazily is imported."""
    lazy = fiddle_internals.lazy_name(symbol.live)
    if lazy is None:
        return symbol.live
    importlib.import_module(lazy[0])
    return names.reach(*lazy)


def _plain(value: Value | None, made: dict[int, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, Leaf):
        held = value.value
        return _imported(held) if isinstance(held, Symbol) else value.live
    return made[value.node]


def _plain_key(key: Any) -> Any:
    held = getattr(key, "value", key)
    return getattr(held, "live", held)


def _named(text: str) -> set[str]:
    """The packages that a module imports."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@contextlib.contextmanager
def _kept_for_now(text: str, beside: pathlib.Path) -> Iterator[pathlib.Path]:
    """The text as a file for as long as this lasts."""
    path = beside.with_name(f".{beside.stem[:80]}.{secrets.token_hex(6)}.py").absolute()
    try:
        path.write_text(text, encoding="utf-8")
        yield path
    finally:
        path.unlink(missing_ok=True)


def _ask(asked: dict[str, Any]) -> dict[str, Any]:
    # Nothing is trained here, so an accelerator that this process may hold is not used.
    surroundings = {"JAX_PLATFORMS": "cpu", **os.environ}
    done = subprocess.run(
        [sys.executable, "-B", described.__file__],
        input=json.dumps(asked).encode(),
        capture_output=True,
        env=surroundings,
        check=False,
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-5:]
        raise RunFailedError(
            f"the generated code ended its interpreter (exit code {done.returncode}), "
            "so it was not written",
            *(f"  {line}" for line in last),
        ) from None
