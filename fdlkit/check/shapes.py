"""The shapes level: what the step does to shapes and types, traced on no device."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import flax.linen as nn
import jax

from fdlkit import suggest
from fdlkit.check import groups, logged, module_paths, trace
from fdlkit.check.watching import BadConstraintError, Failure
from fdlkit.errors import UserError
from fdlkit.graph import paths
from fdlkit.graph.paths import Path
from fdlkit.keys import DeadKeyError, get_key
from fdlkit.nn import walk
from fdlkit.nn.pipelining import PipeliningError
from fdlkit.nn.positions import LearnedPositions
from fdlkit.nn.sharing import HiddenSharingError
from fdlkit.sharding.layout import tree_path
from fdlkit.train.losses import RegressionLoss
from fdlkit.train.patterns import PatternError

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.check.trace import Trace

_MOST_LEAVES = 8  # of a tree that differs, told one by one
_MOST_TEXT = 400


def find(subject: Subject) -> Iterator[Finding]:
    """Everything that is wrong with shapes and types."""
    if subject.trainer is None:
        return
    traced = subject.trace
    told = set()
    for path, error in traced.dead_keys:
        finding = _dead_key(subject, path, error)
        if finding not in told:  # an evaluator inherits it
            told.add(finding)
            yield finding
    for failure in traced.watch.failures:
        if isinstance(failure.error, DeadKeyError | BadConstraintError):
            continue  # told above, and by the axes level
        if isinstance(failure.error, HiddenSharingError) and "config" in subject.levels:
            continue  # told there, with the place
        if isinstance(failure.error, PatternError):
            yield groups.finding(subject, failure.error)
            continue
        if isinstance(failure.error, PipeliningError) and "axes" in subject.levels:
            continue  # likewise
        finding = _failure(subject, failure)
        if finding not in told:  # the model fails alike in both steps
            told.add(finding)
            yield finding
    for fault in subject.trainer.faults():
        if fault.kind == "metrics":
            yield subject.finding("SH010", fault.path, fault.what, fix=fault.do)
    yield from logged.find(subject, traced)
    of_losses = list(_losses(subject, traced))
    yield from of_losses
    yield from _state(subject, traced)
    yield from groups.float16(subject, traced.step)
    broadcast = {finding.path for finding in of_losses if finding.code == "SH006"}
    calls = set()
    for found in traced.watch.disagreements:
        call = (found.module, found.part, found.where, len(found.arguments))
        if found.part in broadcast or call in calls:
            continue  # told above, with both key paths, or on a batch of another size
        calls.add(call)
        place = paths.parse(found.part) if found.part else None
        yield subject.finding(
            "SH005",
            place or module_paths.place_of(subject, found.module),
            "\n".join(found.lines()),
            fix="mend the annotation, or what is passed",
            subject="/".join(found.module) or None,
        )
    yield from _tables(subject, traced)


def _dead_key(subject: Subject, place: str, error: DeadKeyError) -> Finding:
    first, *rest = error.lines
    if first.startswith(error.wanted_by):  # of what an evaluator has of its own
        first = f"{place}{first.removeprefix(error.wanted_by)}"
    there = [line for line in rest if not line.startswith("did you mean")]
    return subject.finding(
        "SH001",
        place,
        "\n".join([first, *there]),
        fix=f"set it to {error.meant!r}"
        if error.meant
        else "name one of what is available",
        meant=suggest.did_you_mean(error.meant),
        nearest=(error.meant,) if error.meant else (),
    )


def _failure(subject: Subject, failure: Failure) -> Finding:
    error = failure.error
    module = failure.module
    at = [] if failure.frame is None else [f"at {failure.frame}"]
    place: Path
    if isinstance(error, UserError):
        cause = error.__cause__
        first, *rest = error.lines
        code = "SH009" if first.startswith("inputs") else "SH002"
        place = ("inputs",) if code == "SH009" else paths.parse(failure.part)
        if cause is None:
            return subject.finding(
                code,
                place,
                "\n".join([first, *map(str.strip, rest)]),
                fix="mend inputs" if code == "SH009" else f"mend {failure.part}",
            )
        error = cause if isinstance(cause, Exception) else error
    what = "/".join(module)
    place = _place(subject, failure)
    who = (
        f"the module {what or '(the model itself)'}"
        if _in_model(failure)
        else failure.part
    )
    text = " ".join(str(error).split())
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]}…"
    return subject.finding(
        "SH002",
        place,
        "\n".join([f"{who} cannot be traced: {type(error).__name__}: {text}", *at]),
        fix="mend what the line does, or the arguments that decide what it is given",
        subject=what or None,
    )


def _in_model(failure: Failure) -> bool:
    return failure.part in ("model", "train_step", "eval_step") or bool(failure.module)


def _place(subject: Subject, failure: Failure) -> Path:
    if failure.module or failure.part in ("model", "train_step", "eval_step"):
        return module_paths.place_of(subject, failure.module)
    return paths.parse(failure.part)


def _losses(subject: Subject, traced: Trace) -> Iterator[Finding]:
    trainer = subject.trainer
    assert trainer is not None
    if traced.shapes is None:
        return
    rows = trainer.train_data.batch_size
    for name, values in traced.losses.items():
        place = trace.name_of_loss(trainer, name)
        if values.shape[:1] != (rows,):
            yield subject.finding(
                "SH003",
                place,
                f"the loss gives {_array(values)}, and a batch has {rows} rows: it "
                f"wants one value a row or more, [{rows}, …]",
                fix="leave the mean over the batch to the trainer",
                numbers={"rows": rows},
            )
        loss = trainer.losses[name]
        if isinstance(loss, RegressionLoss):
            context = {"batch": traced.shapes.batch, "preds": traced.preds}
            yield from _regression(subject, place, loss, context)


def _regression(
    subject: Subject, place: str, loss: RegressionLoss, context: dict[str, Any]
) -> Iterator[Finding]:
    try:
        predictions = get_key(context, loss.predictions, wanted_by="loss")
        labels = get_key(context, loss.labels, wanted_by="loss")
    except DeadKeyError:
        return
    if tuple(predictions.shape) != tuple(labels.shape):
        yield subject.finding(
            "SH006",
            place,
            f"{loss.predictions} {list(predictions.shape)} and {loss.labels} "
            f"{list(labels.shape)} are of different shapes: their difference "
            "broadcasts one against the other",
            fix="give both the same shape",
        )


def _state(subject: Subject, traced: Trace) -> Iterator[Finding]:
    """Arrays of the state that a step gives back as others."""
    if traced.next_state is None or traced.shapes is None:
        return
    before = _by_path(traced.shapes.state)
    after = _by_path(traced.next_state)
    changed = [
        f"{path}: {_array(before[path])} becomes {_array(after[path])}"
        for path in before
        if path in after and _array(before[path]) != _array(after[path])
    ]
    changed += [
        f"{path}: {_array(before[path])} is gone"
        for path in before
        if path not in after
    ]
    changed += [
        f"{path}: {_array(after[path])} is new" for path in after if path not in before
    ]
    if not changed:
        return
    first = changed[0].partition(":")[0].partition("/")[0]
    more = [f"and {len(changed) - _MOST_LEAVES} more"] if changed[_MOST_LEAVES:] else []
    yield subject.finding(
        "SH004",
        {"opt_state": "optimizer"}.get(first, "model"),
        "\n".join(
            [
                f"{len(changed)} array{'s' * (len(changed) > 1)} of the state "
                "come out of a step as others than they went in",
                *changed[:_MOST_LEAVES],
                *more,
            ]
        ),
        fix="have the update return the shapes and types that init made",
        subject=changed[0].partition(":")[0],
        numbers={"arrays": len(changed)},
    )


def _by_path(tree: Any) -> dict[str, Any]:
    return {tree_path(p): leaf for p, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _array(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _tables(subject: Subject, traced: Trace) -> Iterator[Finding]:
    """Tables with fewer rows than there are ids to look up in them."""
    trainer, shapes = subject.trainer, traced.shapes
    assert trainer is not None
    if shapes is None:
        return
    try:
        tokenizer = trainer.train_data.tokenizer()
    except UserError:
        tokenizer = None
    if tokenizer is not None:
        ids = tokenizer.vocab_size
        for array in trace.parameters(shapes):
            for name, size in zip(array.names or (), array.shape, strict=False):
                if name == "vocab" and size < ids:
                    place = module_paths.argument_of_size(
                        subject, array.module, name="vocab", size=size
                    )
                    yield subject.finding(
                        "SH007",
                        place or module_paths.place_of(subject, array.module),
                        f"{array.path} {list(array.shape)} has {size} rows, and the "
                        f"tokenizer {tokenizer.name} gives {ids} ids: those from "
                        f"{size} on give NaN",
                        fix=f"a vocabulary of {ids} or more",
                        subject=array.path,
                        numbers={"rows": size, "ids": ids},
                        nearest=(ids,),
                    )
    if not isinstance(trainer.model, nn.Module):
        return
    for path, module in walk.submodules(trainer.model, "model"):
        times = (
            {
                array.shape[1]
                for array in dataclasses.asdict(shapes)["batch"].values()
                if len(array.shape) > 1
            }
            if isinstance(module, LearnedPositions)
            else set()
        )
        if (
            times
            and isinstance(module, LearnedPositions)
            and module.length < max(times)
        ):
            yield subject.finding(
                "SH007",
                module_paths.source_of(subject, (*paths.parse(path), "length")),
                f"{path} has {module.length} positions, and rows of {max(times)} "
                f"tokens: those from {module.length} on give NaN",
                fix=f"length={max(times)} or more, or shorter rows",
                numbers={"positions": module.length, "time": max(times)},
                nearest=(max(times),),
            )
