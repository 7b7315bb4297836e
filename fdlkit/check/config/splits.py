"""Training and evaluation data that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject
from fdlkit.graph import paths, reprs
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import UNKNOWN, Argument, Leaf, Link, Node

if TYPE_CHECKING:
    from fdlkit.data.pipeline import Pipeline
    from fdlkit.train.trainer import Trainer

TRAIN: paths.Path = ("train_data",)
# Where the examples come from, as against the order in which they are given.
SOURCE = "source"
# In the names of arguments that say which part of a whole is taken.
_PARTS = ("split", "fold", "fraction", "subset", "part", "train", "held_out")


def find(subject: Subject) -> Iterator[Finding]:
    """Tokenizers that differ, and seeds and fractions that make another split."""
    trainer = subject.trainer
    if trainer is None:
        return
    from fdlkit.data.describe import check_same_tokenizer
    from fdlkit.errors import UserError

    for held_out, data in _evaluated(trainer):
        try:
            check_same_tokenizer(trainer.train_data, data)
        except UserError as error:
            first, *more = error.lines
            yield subject.finding(
                "CF019",
                held_out,
                "\n".join([first, *(line.strip() for line in more[:2])]),
                fix=_one_tokenizer(subject, held_out),
            )
        yield from _splits(subject, held_out)


def _evaluated(trainer: Trainer) -> Iterator[tuple[paths.Path, Pipeline]]:
    """The data that a run evaluates on, and where it is in the config."""
    if trainer.eval_data is not None:
        yield ("eval_data",), trainer.eval_data
    for name, evaluator in trainer.evaluators.items():
        data = getattr(evaluator, "data", None)
        if data is not None:
            yield ("evaluators", name, "data"), data


def _one_tokenizer(subject: Subject, held_out: paths.Path) -> str:
    path = (SOURCE, "tokenizer")
    if None in [subject.node_at((*data, *path)) for data in (TRAIN, held_out)]:
        return "have both sources use one tokenizer"
    train, other = (paths.format((*data, *path)) for data in (TRAIN, held_out))
    return f"cfg.{other} = cfg.{train}"


def _splits(subject: Subject, held_out: paths.Path) -> Iterator[Finding]:
    """Goes down both sources as far as they are made alike."""
    graph = subject.graph
    start, other_start = (
        subject.node_at((*data, SOURCE)) for data in (TRAIN, held_out)
    )
    todo: list[tuple[int, int, paths.Path]] = []
    if start is not None and other_start is not None:
        todo.append((start, other_start, ()))
    while todo:
        one, two, way = todo.pop()
        left, right = graph.nodes[one], graph.nodes[two]
        if one == two or left.callable != right.callable or left.kind != right.kind:
            continue
        for argument in left.arguments:
            other = right.argument(argument.key)
            if other is None:
                continue
            path = (*way, argument.key)
            if _decides_a_split(argument.key, left):
                yield from _compare(
                    subject, held_out, path, (one, argument), (two, other)
                )
            if isinstance(argument.value, Link) and isinstance(other.value, Link):
                todo.append((argument.value.node, other.value.node, path))


def _decides_a_split(key: paths.PathKey, node: Node) -> bool:
    """Whether an argument decides which examples of a whole are held out.

    A seed does where something beside it says which part is taken. Elsewhere examples
    are drawn with it, and those to evaluate on are to be drawn with another.
    """
    if not isinstance(key, str):
        return False
    if key.endswith("fraction"):
        return True
    if key != "seed" and not key.endswith("_seed"):
        return False
    # The key itself too: a `split_seed` says enough.
    return any(word in str(a.key) for a in node.arguments for word in _PARTS)


def _compare(
    subject: Subject,
    evaluated: paths.Path,
    way: paths.Path,
    one: tuple[int, Argument],
    two: tuple[int, Argument],
) -> Iterator[Finding]:
    values = [_worth(subject, *one), _worth(subject, *two)]
    if UNKNOWN in values or values[0] == values[1]:
        return
    train, held_out = (
        paths.format((*data, SOURCE, *way)) for data in (TRAIN, evaluated)
    )
    yield subject.finding(
        "CF018",
        held_out,
        f"{held_out} is {reprs.text(values[1])}, and {train} is "
        f"{reprs.text(values[0])}: they are held out of two different splits",
        numbers={
            "train_data": reprs.text(values[0]),
            "eval_data": reprs.text(values[1]),
        },
        fix=f"give both the same: {held_out} = ref({train!r})",
    )


def _worth(subject: Subject, holder: int, argument: Argument) -> object:
    value = argument.default if argument.value is None else argument.value
    inner = subject.graph.node(value)
    if inner is not None and inner.kind == "reference":
        assert isinstance(value, Link)
        try:
            return subject.resolver.value(value.node, holder)
        except BrokenReferenceError:
            return UNKNOWN
    return value.live if isinstance(value, Leaf) else UNKNOWN
