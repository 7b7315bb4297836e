"""What is carried, without the options that the experiment leaves as they are."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from fdlkit.codegen.carry import folding, pruning, sole, splice, unread
from fdlkit.codegen.carry.carrier import Carried
from fdlkit.codegen.carry.edits import Edit
from fdlkit.codegen.carry.homes import HOUSE, is_of
from fdlkit.codegen.carry.modules import Module
from fdlkit.codegen.carry.program import Program

_BETWEEN = "\n\n\n"


def without_options(
    carried: Carried, shown: Iterable[str], *, house: str = HOUSE
) -> Carried:
    """Folds what nobody sets, and drops what nothing reaches then, to the end.

    Args:
      carried: The definitions.
      shown: The rest of the program, which uses them and stays as it is.
      house: The package whose definitions may change: others stay to the letter.
    """
    texts = [section.text for section in carried.sections]
    is_open = [is_of(section.module, house) for section in carried.sections]
    rest = list(shown)
    program, starts = _program(texts, is_open, rest)
    names_before = _names(program.module)
    # What is there for a reason that is not seen here stays.
    asked: pruning.Asked = {}
    roots = frozenset(place for place, *_ in pruning.Reached(program, asked).missed())
    while found := _edits(program, asked, roots):
        before = texts
        texts = [
            _edited(text, start, found)
            for text, start in zip(texts, starts, strict=True)
        ]
        assert texts != before, found
        program, starts = _program(texts, is_open, rest)
    gone = names_before - _names(program.module)
    sections = [
        dataclasses.replace(section, text=text, num_lines=_num_lines(text))
        for section, text in zip(carried.sections, texts, strict=True)
        if text.strip()
    ]
    imports = tuple(one for one in carried.imports if one[1] not in gone)
    return dataclasses.replace(carried, sections=tuple(sections), imports=imports)


def _edits(
    program: Program, asked: pruning.Asked, roots: Set[pruning.Place]
) -> list[Edit]:
    """The next changes, of one kind: what one removes lets others remove more."""
    return (
        pruning.edits(program, asked, roots)
        or list(unread.edits(program))
        or folding.edits(program)
        or list(pruning.joined_returns(program.module, program))
        or list(sole.edits(program))
    )


def _program(
    texts: Sequence[str], is_open: Sequence[bool], rest: Sequence[str]
) -> tuple[Program, list[int]]:
    """The program of all sections, and where each of them begins in its text."""
    whole = ""
    starts, lines = [], set[int]()
    for text, may_change in zip(texts, is_open, strict=True):
        starts.append(len(whole))
        first = whole.count("\n") + 1
        whole += text + _BETWEEN
        if may_change:
            lines.update(range(first, whole.count("\n") + 1))
    whole += _BETWEEN.join(rest) + "\n"
    return Program(Module("script", Path("script.py"), whole), lines), starts


def _edited(text: str, start: int, edits: Sequence[Edit]) -> str:
    text += "\n"
    end = start + len(text)
    own = [
        dataclasses.replace(edit, start=max(edit.start, start))  # blank lines above it
        for edit in edits
        if start <= edit.end <= end and (edit.start < edit.end or edit.start >= start)
    ]
    for edit in splice.outermost(own):
        text = text[: edit.start - start] + edit.text + text[edit.end - start :]
    return text.strip("\n")


def _names(module: Module) -> set[str]:
    return {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}


def _num_lines(text: str) -> int:
    """The lines of statements, blank lines between them not counted."""
    module = Module("section", Path("section.py"), text)
    return sum(s.last - s.first + 1 for s in module.statements)
