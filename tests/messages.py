"""Which places of the house word an error, and which of them a test has heard.

A golden file shows what is said to people; this shows that nothing else is said.
"""

from __future__ import annotations

import ast
import contextlib
import pathlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping

import fdlkit

HOUSE = pathlib.Path(fdlkit.__file__).parent

# A line of a file.
Line = tuple[str, int]
# A place by its name, `module:Class.method#line`: its file, first and last line.
Sites = Mapping[str, tuple[str, int, int]]


def sites(
    files: Iterable[pathlib.Path],
    *,
    made: Collection[str],
    raises: bool = False,
    silent: Collection[str] = (),
) -> Sites:
    """Every place in some files that words an error.

    Args:
      files: Python files of the house.
      made: The names of what errors are made of: calls of these are places.
      raises: Whether a `raise` of something is a place too.
      silent: The names of exceptions that tell nobody anything.
    """
    found = {}
    for path in files:
        module = ".".join(path.relative_to(HOUSE).with_suffix("").parts)
        todo: list[tuple[ast.AST, str]] = [(ast.parse(path.read_text()), "")]
        while todo:
            node, owner = todo.pop()
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                owner = f"{owner}.{node.name}".lstrip(".")
            is_made = isinstance(node, ast.Call) and _name(node.func) in made
            is_raised = raises and isinstance(node, ast.Raise) and node.exc is not None
            if is_raised and _name(node.exc) in silent:
                continue
            if is_made or is_raised:
                name = f"{module}:{owner}#{node.lineno}"
                found.setdefault(name, (str(path), node.lineno, node.end_lineno))
            todo += [(child, owner) for child in ast.iter_child_nodes(node)]
    return found


def _name(node: ast.AST | None) -> str | None:
    """The plain name that is raised, or called."""
    return getattr(node.func if isinstance(node, ast.Call) else node, "id", None)


@contextlib.contextmanager
def listening(kinds: Iterable[type]) -> Iterator[set[Line]]:
    """The lines of the house that were at work when something of a kind was made."""
    lines: set[Line] = set()
    kinds = tuple(kinds)
    before = {kind: kind.__init__ for kind in kinds}

    def heard(kind: type) -> None:
        def init(self, *args, **kwargs):
            frame = sys._getframe(1)
            for _ in range(3):  # a subclass and a helper that only words it
                if frame is None:
                    break
                lines.add((frame.f_code.co_filename, frame.f_lineno))
                frame = frame.f_back
            before[kind](self, *args, **kwargs)

        kind.__init__ = init

    try:
        for kind in kinds:
            heard(kind)
        yield lines
    finally:
        for kind in kinds:
            kind.__init__ = before[kind]


def lines_of(error: BaseException | None) -> set[Line]:
    """The lines that an exception and those before it passed on their way."""
    lines: set[Line] = set()
    while error is not None:
        frames = error.__traceback__
        while frames is not None:
            lines.add((frames.tb_frame.f_code.co_filename, frames.tb_lineno))
            frames = frames.tb_next
        error = error.__cause__ or error.__context__
    return lines


def refuse_silence(
    places: Sites, lines: Collection[Line], elsewhere: Mapping[str, str], *, add_to: str
) -> None:
    """Fails where a place was not heard, or is now and is said to be elsewhere.

    Args:
      places: All of them.
      lines: That were at work.
      elsewhere: Places by their names, without the line, and who hears them.
      add_to: Where a line for a new place belongs.
    """
    quiet = {
        name
        for name, (file, first, last) in places.items()
        if not any((file, line) in lines for line in range(first, last + 1))
    }
    unknown = {name for name in quiet if name.partition("#")[0] not in elsewhere}
    assert not unknown, "\n".join(
        [f"no golden line says this: add one to {add_to}", *sorted(unknown)]
    )
    stale = set(elsewhere) - {name.partition("#")[0] for name in quiet}
    assert not stale, f"these are heard now: {', '.join(sorted(stale))}"
