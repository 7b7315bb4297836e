"""The restore level: a checkpoint against the run, parameter by parameter."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fdlkit.check import footprint, module_paths, saved
from fdlkit.check.saved import SavedArray
from fdlkit.errors import UserError
from fdlkit.train.checkpoints import arrays_of
from fdlkit.train.saved_state import OPTIONAL, told_of_fields

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject

Arrays = Mapping[str, SavedArray]
Names = Mapping[str, Sequence[str | None]]

# Fields of the state that hold copies of the parameters.
COPIES = ("opt_state/", "ema/")

# What has a run keep a field that it may do without, or begin anew.
RULES = {
    "ema": "ema",
    "loss_scale": "loss_scale",
    "skipped": "skip_nonfinite",
    "window": "loss",
}

_MOST_PATHS = 3  # of arrays that differ alike in the optimizer's state
_NUMBERED = re.compile(r"(?<=/)([A-Za-z]\w*?)_?(\d+)(?=/)|(?<=/)(\d+)(?=/)")


@dataclasses.dataclass(frozen=True)
class Difference:
    """One array that the checkpoint and the run do not have alike.

    Attributes:
      kind: `shape`, `missing` (from the checkpoint), `extra` (in it) or `dtype`.
      path: The array.
      saved: As the checkpoint has it; None if it does not.
      wanted: As the run has it; None if it does not.
      copies: Arrays of the optimizer's that differ with it.
    """

    kind: str
    path: str
    saved: SavedArray | None
    wanted: SavedArray | None
    copies: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Stacking:
    """Layers that one side has stacked and the other has apart.

    Attributes:
      stacked: The path of the stacked array.
      apart: The paths of the arrays that it is made of.
      in_run: Whether the run is the side that stacks.
    """

    stacked: str
    apart: tuple[str, ...]
    in_run: bool


def find(subject: Subject) -> Iterator[Finding]:
    """What stands between the run and the checkpoint that it is to go on from."""
    directory = subject.request.restore
    if directory is None or subject.trainer is None:
        return
    try:
        held = saved.saved(directory)
    except UserError as error:
        first, *rest = error.lines
        yield subject.finding(
            "RE001",
            "<root>",
            "\n".join([first, *map(str.strip, rest)]),
            fix="name the folder of a run that has saved",
        )
        return
    shapes = subject.trace.shapes
    if shapes is None:
        return
    wanted = {
        path: SavedArray(dtype, tuple(shape))
        for path, (dtype, *shape) in arrays_of(shapes.state).items()
    }
    window = held.arrays.get("window")
    sums = window.shape[0] if window is not None and window.shape else None
    told = told_of_fields(_fields(held.arrays), sums, shapes.state)
    for name, line in told.items():
        yield subject.finding(
            "RE008",
            RULES[name],
            line,
            fix=f"set {RULES[name]} as the run that wrote it had it, if this "
            "is not meant",
            subject=name,
        )
    arrays = _without(held.arrays, _fields(held.arrays) ^ _fields(wanted))
    wanted = _without(wanted, _fields(held.arrays) ^ _fields(wanted))
    if "window" in told:
        arrays.pop("window")
        wanted.pop("window")
    stackings, differences = compare(arrays, wanted)
    names = footprint.names_of(shapes)
    for stacking in stackings:
        yield _stacking(subject, stacking)
    others = [d for d in differences if d.path.startswith("opt_state/")]
    for difference in differences:
        if difference not in others:
            yield _difference(subject, difference, names)
    if others:
        yield _optimizer(subject, others)


def _fields(arrays: Arrays) -> frozenset[str]:
    """The fields of the training state that have arrays."""
    return frozenset(path.partition("/")[0] for path in arrays)


def _without(arrays: Arrays, fields: Collection[str]) -> dict[str, SavedArray]:
    """The arrays but for those of fields that a run may do without."""
    return {
        path: array
        for path, array in arrays.items()
        if (field := path.partition("/")[0]) not in OPTIONAL or field not in fields
    }


def compare(held: Arrays, wanted: Arrays) -> tuple[list[Stacking], list[Difference]]:
    """How a checkpoint differs from what a run wants.

    A difference of a parameter that the optimizer's state repeats is told once.

    Args:
      held: The checkpoint's arrays by path.
      wanted: The run's.
    """
    stackings = _stackings(held, wanted)
    done = {path for s in stackings for path in (s.stacked, *s.apart)}
    raw = []
    for path, array in wanted.items():
        if path in done:
            continue
        if path not in held:
            raw.append(Difference("missing", path, None, array))
        elif held[path].shape != array.shape:
            raw.append(Difference("shape", path, held[path], array))
        elif held[path].dtype and held[path].dtype != array.dtype:
            raw.append(Difference("dtype", path, held[path], array))
    raw += [
        Difference("extra", path, array, None)
        for path, array in held.items()
        if path not in wanted and path not in done
    ]
    return stackings, _without_copies(raw)


def _without_copies(raw: Sequence[Difference]) -> list[Difference]:
    own = [d for d in raw if not d.path.startswith(COPIES)]
    by_end = {(d.kind, d.path.partition("/")[2]): d for d in own}
    copies: dict[str, list[str]] = {}
    rest = []
    for difference in raw:
        if not difference.path.startswith(COPIES):
            continue
        parts = difference.path.split("/")
        ends = ("/".join(parts[i:]) for i in range(1, len(parts)))
        like = next(
            (
                by_end[difference.kind, e]
                for e in ends
                if (difference.kind, e) in by_end
            ),
            None,
        )
        if like is None:
            rest.append(difference)
        else:
            copies.setdefault(like.path, []).append(difference.path)
    told = [dataclasses.replace(d, copies=tuple(copies.get(d.path, ()))) for d in own]
    return [*told, *rest]


def _stackings(held: Arrays, wanted: Arrays) -> list[Stacking]:
    found = []
    for there, here, in_run in ((held, wanted, True), (wanted, held, False)):
        groups: dict[str, list[str]] = {}
        for path in there:
            if path in here or not path.startswith("params/"):
                continue
            for like in _without_number(path):
                if like in here and like not in there:
                    groups.setdefault(like, []).append(path)
        for like, paths in groups.items():
            whole, part = here[like].shape, there[paths[0]].shape
            if whole[1:] == part and whole[:1] == (len(paths),):
                found.append(Stacking(like, tuple(sorted(paths, key=_order)), in_run))
    return found


def _order(path: str) -> list[int | str]:
    return [int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", path)]


def _without_number(path: str) -> Iterator[str]:
    """A path with one numbered part without its number, or left out."""
    for match in _NUMBERED.finditer(path):
        name = match[1] or ""
        before, after = path[: match.start()], path[match.end() :]
        yield f"{before}{name}{after}".replace("//", "/")
        if name:
            yield f"{before}{name}/block{after}"


def _stacking(subject: Subject, stacking: Stacking) -> Finding:
    n = len(stacking.apart)
    apart = f"{stacking.apart[0]} … {stacking.apart[-1]}"
    if stacking.in_run:
        text = f"the checkpoint has {n} arrays {apart}, the run one: {stacking.stacked}"
    else:
        text = f"the checkpoint has one array {stacking.stacked}, the run {n}: {apart}"
    return subject.finding(
        "RE005",
        module_paths.place_of(subject, stacking.stacked.split("/")[1:-1]),
        text,
        fix="stack the checkpoint's arrays along a new first dim"
        if stacking.in_run
        else "cut the checkpoint's array along its first dim",
        subject=stacking.stacked,
        numbers={"layers": n},
    )


def _optimizer(subject: Subject, differences: Sequence[Difference]) -> Finding:
    """What the optimizer's state has of its own that does not fit, all in one."""
    lines = []
    for kind, text in (
        ("missing", "in the run, and not in the checkpoint"),
        ("extra", "in the checkpoint, and not in the run"),
        ("shape", "of another shape"),
        ("dtype", "of another type"),
    ):
        paths_of_kind = [d.path for d in differences if d.kind == kind]
        if paths_of_kind:
            shown = ", ".join(paths_of_kind[:_MOST_PATHS])
            more = len(paths_of_kind) - _MOST_PATHS
            also = f" and {more} more" if more > 0 else ""
            lines.append(f"{len(paths_of_kind)} {text}: {shown}{also}")
    return subject.finding(
        "RE006",
        "optimizer",
        "\n".join(
            [
                f"{len(differences)} arrays of the optimizer's state do not fit the "
                "checkpoint's, beside those of its parameters",
                *lines,
            ]
        ),
        fix="use the optimizer that the checkpoint was written with",
        subject=differences[0].path,
        numbers={"arrays": len(differences)},
    )


def _difference(subject: Subject, difference: Difference, names: Names) -> Finding:
    path, old, new = difference.path, difference.saved, difference.wanted
    copies = len(difference.copies)
    also = f" (and {copies} of the optimizer's with it)" if copies else ""
    place = module_paths.place_of(subject, path.split("/")[1:-1])
    if difference.kind == "shape":
        assert old is not None and new is not None
        changes = _changes(old.shape, new.shape, names.get(path, ()))
        numbers: dict[str, int] = {}
        if len(old.shape) == len(new.shape):
            known = names.get(path, ())
            for dim, (was, now) in enumerate(zip(old.shape, new.shape, strict=True)):
                if was != now:
                    name = (known[dim] if dim < len(known) else None) or f"dim_{dim}"
                    numbers |= {f"{name}_saved": was, f"{name}_wanted": now}
                    argument = module_paths.argument_of_size(
                        subject, path.split("/")[1:-1], name=name, size=now
                    )
                    place = argument or place
        return subject.finding(
            "RE002",
            place,
            f"{path}: {list(old.shape)} in the checkpoint, {list(new.shape)} in the "
            f"run: {changes}{also}",
            fix=f"go back to {_back(old.shape, new.shape, names.get(path, ()))}, or "
            "start afresh",
            subject=path,
            numbers=numbers,
        )
    if difference.kind == "dtype":
        assert old is not None and new is not None
        return subject.finding(
            "RE007",
            place,
            f"{path}: {old.dtype} in the checkpoint, {new.dtype} in the run{also}",
            fix=f"keep {old.dtype}, if its digits matter",
            subject=path,
        )
    array = new if difference.kind == "missing" else old
    assert array is not None
    what = f"{path} {list(array.shape)}"
    if difference.kind == "missing":
        return subject.finding(
            "RE003",
            place,
            f"{what} is in the run, and not in the checkpoint{also}",
            fix="take it out of the model, or start afresh",
            subject=path,
        )
    return subject.finding(
        "RE004",
        place,
        f"{what} is in the checkpoint, and not in the run{also}",
        fix="put it back into the model, or start afresh",
        subject=path,
    )


def _changes(
    old: Sequence[int], new: Sequence[int], names: Sequence[str | None]
) -> str:
    """`layers 4 → 6, mlp 512 → 1024`."""
    if len(old) != len(new):
        return f"{len(old)} dims, and {len(new)}"
    return ", ".join(
        f"{(names[i] if i < len(names) else None) or f'dim {i}'} {was} → {now}"
        for i, (was, now) in enumerate(zip(old, new, strict=True))
        if was != now
    )


def _back(old: Sequence[int], new: Sequence[int], names: Sequence[str | None]) -> str:
    if len(old) != len(new):
        return str(list(old))
    return ", ".join(
        f"{(names[i] if i < len(names) else None) or f'dim {i}'}={was}"
        for i, (was, now) in enumerate(zip(old, new, strict=True))
        if was != now
    )
