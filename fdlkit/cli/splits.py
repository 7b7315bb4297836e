"""The data of an experiment's config: found, built apart from the rest, described."""

from __future__ import annotations

import inspect
from typing import Any

import fiddle as fdl

from fdlkit.data.describe import DataDescription, check_same_tokenizer, describe
from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import RunFailedError, UserError
from fdlkit.graph import references, signatures, walk
from fdlkit.graph.build import build

_SUFFIX = "_data"


def split_names(cfg: fdl.Buildable, target: str) -> list[str]:
    """The splits of an experiment: `train` if its `train_data` is set, and so on.

    Raises:
      UserError: The config has no data.
    """
    found = [
        name.removesuffix(_SUFFIX)
        for name, value in fdl.ordered_arguments(cfg).items()
        if isinstance(name, str) and name.endswith(_SUFFIX) and value is not None
    ]
    if not found:
        raise UserError(
            f"{target} has no data",
            "  fdlkit data looks at the arguments train_data and eval_data "
            "of the root of a config",
        )
    return found


def build_splits(
    cfg: fdl.Buildable, names: list[str], target: str
) -> dict[str, Pipeline]:
    """Builds the pipelines of some splits.

    Raises:
      UserError: One cannot be built, or is no pipeline.
    """
    built = build(_gathering(cfg, {name + _SUFFIX for name in names}))
    pipelines = {name: built[name + _SUFFIX] for name in names}
    for name, value in pipelines.items():
        if not isinstance(value, Pipeline):
            kind = type(value).__name__
            what = f"{name}{_SUFFIX} of {target} is a {kind}, not a Pipeline"
            raise UserError(what)
    return pipelines


def refuse_unlike_tokenizers(pipelines: dict[str, Pipeline]) -> None:
    """Raises a `RunFailedError` if `train` and `eval` are tokenized differently."""
    if not {"train", "eval"} <= pipelines.keys():
        return
    try:
        check_same_tokenizer(pipelines["train"], pipelines["eval"])
    except UserError as error:  # here it is the answer, not a reason not to look
        raise RunFailedError(*error.lines) from error


def describe_split(name: str, pipeline: Pipeline, n: int) -> str:
    """Specs, counts, tokenizer and the first `n` examples of a split, for people."""
    description = describe(pipeline, n)
    lines = [
        f"{name}: {description.num_examples:,} examples, "
        f"batches of {pipeline.batch_size}, {_length(description)}",
        f"  tokenizer: {description.tokenizer or 'none'}",
    ]
    width = max(map(len, description.specs), default=0)
    for entry, spec in description.specs.items():
        lines.append(f"  {entry:<{width}}  {spec}")
    for number, row in enumerate(description.rows):
        lines.append(f"  row {number}: {row!r}")
    return "\n".join(lines)


def _length(description: DataDescription) -> str:
    batches = description.num_batches
    if batches is None:
        return "without end"
    return f"{batches:,} batch{'es' if batches != 1 else ''}"


def _gathering(cfg: fdl.Buildable, wanted: set[str]) -> fdl.Config:
    """A root that gives its arguments back instead of calling what `cfg` calls.

    What is shared stays shared. The arguments that are not wanted are left out, so
    that they are not built, unless a reference in those that are may lead there.
    """

    def gather(**arguments: Any) -> dict[str, Any]:
        return arguments

    arguments = fdl.ordered_arguments(cfg, include_positional=False)
    kept = {name: value for name, value in arguments.items() if name in wanted}
    if not _has_reference(kept):
        return fdl.Config(gather, **kept)
    # References see defaults too, so the root's parameters stay what they are.
    parameters = signatures.parameters(fdl.get_callable(cfg)).values()
    gather.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_keyword_only(parameter) for parameter in parameters]
    )
    return fdl.Config(gather, **arguments)


def _has_reference(value: Any) -> bool:
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if isinstance(value, references.Reference):
            return True
        if id(value) not in seen:
            seen.add(id(value))
            todo += [child for _, child in walk.children(value)]
    return False


def _keyword_only(parameter: signatures.Parameter) -> inspect.Parameter:
    default: Any = inspect.Parameter.empty
    if parameter.has_default:
        is_known = parameter.default is not signatures.MISSING
        default = parameter.default if is_known else None
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default
    )
