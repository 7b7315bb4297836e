"""Batches: rows over the mesh, the last batch of an evaluation, data that ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fdlkit.check import layouts, module_paths
from fdlkit.check.layouts import Indivisible, NamedArray
from fdlkit.errors import UserError
from fdlkit.graph.paths import Path
from fdlkit.sharding.layout import AxisRules, divisors
from fdlkit.sharding.mesh import MESH_AXES
from fdlkit.train.coverage import Coverage, Epoch, First
from fdlkit.train.evaluators import Evaluator

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.data.pipeline import Pipeline
    from fdlkit.train.trainer import Trainer


def find(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the batches of a run."""
    trainer = subject.trainer
    assert trainer is not None
    _, rules = layouts.rule_faults(trainer.rules, MESH_AXES)
    told = set()
    for name, data, coverage_path, coverage in _read(trainer):
        if subject.mesh is not None and name not in told:
            yield from _rows(subject, name, data, rules, dict(subject.mesh.shape))
        try:
            if coverage is None:
                yield from _length(subject, name, data)
            else:
                yield from _covered(subject, name, data, coverage_path, coverage)
        except UserError as error:
            if name in told:
                continue
            first, *rest = error.lines
            yield subject.finding(
                "AX016",
                name,
                "\n".join([f"{name} cannot be opened: {first}", *map(str.strip, rest)]),
                fix=f"mend {name}, or run the check where its data is",
            )
        told.add(name)


def _read(
    trainer: Trainer,
) -> Iterator[tuple[str, Pipeline, str, Coverage | None]]:
    """The data that a run reads: where it is in the config, and what; if it is
    evaluated, which of it, and where that is said.
    """
    yield "train_data", trainer.train_data, "", None
    for name, evaluator in trainer.all_evaluators.items():
        if not isinstance(evaluator, Evaluator):
            continue
        path = f"evaluators[{name!r}]"
        data = f"{path}.data" if evaluator.data is not None else "eval_data"
        filled = evaluator.filled(trainer.given)
        if filled.data is not None:
            at = f"{path}.coverage" if name in trainer.evaluators else data
            yield data, filled.data, at, evaluator.coverage


def axes(rules: AxisRules) -> tuple[str, ...]:
    """The mesh axes that the rows of a batch are cut over."""
    array = NamedArray("batch", (1,), ("batch",), ())
    return layouts.dim_axes(array, rules)[0]


def _rows(
    subject: Subject, name: str, data: Pipeline, rules: AxisRules, mesh: dict[str, int]
) -> Iterator[Finding]:
    over = axes(rules)
    parts = layouts.parts_of(over, mesh)
    size = data.batch_size
    if size % parts == 0:
        if name == "train_data":
            yield from _microbatches(subject, size, parts)
        return
    fault = Indivisible(0, "batch", size, parts, over)
    cut = " * ".join(f"{axis}={mesh[axis]}" for axis in over if mesh[axis] > 1)
    path = module_paths.source_of(subject, (name, "batch_size"))
    short = "; each device needs one row at least" if size < parts else ""
    cuts = " or ".join(map(str, fault.cuts))
    yield subject.finding(
        "AX013",
        path,
        f"{name}: a batch of {size} row{'s' * (size != 1)} cannot be cut into "
        f"{parts} equal parts, one a device (mesh {cut}){short}",
        fix=f"batch_size={' or '.join(map(str, fault.sizes))}, or a mesh that cuts the "
        f"batch in {cuts}",
        numbers={"batch_size": size, "parts": parts, "left_over": size % parts},
        nearest=fault.sizes,
    )


def _microbatches(subject: Subject, size: int, parts: int) -> Iterator[Finding]:
    """Microbatches that do not cut the rows of a device into equal parts."""
    assert subject.trainer is not None
    count = subject.trainer.microbatches
    rows = size // parts
    if rows % count == 0:
        return
    of = f"the {rows} rows of a device" if parts > 1 else f"a batch of {rows} rows"
    near = [max(n for n in divisors(rows) if n < count)]
    near += [n for n in divisors(rows) if n > count][:1]
    multiple = max(round(size / (parts * count)), 1) * parts * count
    yield subject.finding(
        "AX021",
        module_paths.source_of(subject, ("microbatches",)),
        f"microbatches={count} do not cut {of} into equal parts",
        fix=f"microbatches={' or '.join(map(str, near))}, or "
        f"train_data.batch_size={multiple}",
        numbers={"batch_size": size, "microbatches": count, "rows": rows},
        nearest=tuple(near),
    )


def _length(subject: Subject, name: str, data: Pipeline) -> Iterator[Finding]:
    trainer = subject.trainer
    assert trainer is not None
    if data.num_examples and data.num_batches is None:
        return
    there, steps = data.num_batches or 0, trainer.num_train_steps
    if there < steps:
        yield subject.finding(
            "AX015",
            module_paths.source_of(subject, ("num_train_steps",)),
            f"train_data ends after {there:,} batches, and num_train_steps={steps:,}",
            fix=f"train_data.num_epochs=None repeats it for ever; or "
            f"num_train_steps={there}",
            numbers={"batches": there, "steps": steps},
            nearest=(there,),
        )


def _covered(
    subject: Subject, name: str, data: Pipeline, at: str, coverage: Coverage
) -> Iterator[Finding]:
    """What an evaluation does not see of the data, or sees twice."""
    if isinstance(coverage, Epoch):
        yield from _whole(subject, name, data)
        return
    there = data.num_batches
    if there is None or coverage.batches <= there:
        return
    rows = (coverage.batches - there) * data.batch_size
    instead = (
        f"sees {rows:,} rows fewer than that"
        if isinstance(coverage, First)
        else f"counts rows of {coverage.batches - there:,} batches more than once"
    )
    yield subject.finding(
        "AX014",
        at,
        f"coverage={coverage} asks for more batches than the {there:,} that there are: "
        f"an evaluation {instead}",
        fix=f"at most {there:,} batches, or Epoch() for all of the data",
        numbers={"asked": coverage.batches, "batches": there},
        nearest=(there,),
    )


def _whole(subject: Subject, name: str, data: Pipeline) -> Iterator[Finding]:
    if data.num_epochs is None:
        yield subject.finding(
            "AX015",
            f"{name}.num_epochs",
            f"{name} repeats for ever (num_epochs=None), and an evaluation reads "
            "all of it: the first one would never end",
            fix=f"{name}.num_epochs=1, or a coverage of some batches: First or Rolling",
            nearest=(1,),
        )
        return
    left = data.num_epochs * data.num_examples % data.batch_size
    if left and data.remainder == "drop" and data.num_batches:
        total = data.num_epochs * data.num_examples
        yield subject.finding(
            "AX014",
            f"{name}.remainder",
            f"an evaluation leaves out {left:,} of {total:,} rows, what is left "
            f"after {data.num_batches:,} batches of {data.batch_size:,}",
            fix=f"{name}.remainder='pad': rows that fill the last batch count "
            "for nothing",
            numbers={
                "rows": total,
                "left_out": left,
                "batches": data.num_batches,
            },
            nearest=("'pad'",),
        )


def time_of(subject: Subject, size: int) -> Path | None:
    """The argument that gives a batch's `time` its size; None if none is known."""
    trainer = subject.trainer
    assert trainer is not None
    path: Path = ("train_data", "source")
    source: Any = trainer.train_data.source
    if getattr(source, "length", None) == size:
        return module_paths.source_of(subject, (*path, "length"))
    return None
