"""`fdlkit data TARGET`: specs and decoded rows of an experiment's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fdlkit import suggest
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.errors import UserError

if TYPE_CHECKING:
    import fiddle as fdl

    from fdlkit.data import DataDescription, Pipeline
    from fdlkit.graph.signatures import Parameter

_SUFFIX = "_data"


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("data", "TARGET")
    flags.string("split", None, "train or eval; both unless given", metavar="NAME")
    flags.integer("n", 3, "how many rows to show of a split", metavar="N")
    return flags


def run(parsed: Parsed) -> int:
    """Prints what each split gives; 1 if the splits' tokenizers differ."""
    target = flags().one(parsed)

    from fdlkit.cli.targets import load_overridden

    cfg = load_overridden(target, parsed).cfg
    configs = _splits(cfg, target)
    wanted = parsed.values["split"]
    if wanted is not None and wanted not in configs:
        hint = suggest.hint(wanted, configs)
        raise UserError(
            f"{target} has no split '{wanted}'",
            *([f"  {hint}"] if hint else []),
            f"  splits: {', '.join(configs)}",
        )
    # All are built, also those that are not shown: their tokenizers are compared.
    pipelines = _build(cfg, configs, target)
    from fdlkit import data

    names = [wanted] if wanted is not None else list(pipelines)
    for index, name in enumerate(names):
        description = data.describe(pipelines[name], parsed.values["n"])
        if index:
            print()
        print("\n".join(_lines(name, pipelines[name], description)))
    if {"train", "eval"} <= pipelines.keys():
        _check_tokenizers(pipelines["train"], pipelines["eval"])
    return 0


def _splits(cfg: fdl.Buildable, target: str) -> dict[str, str]:
    """Split name to argument: `train` to `train_data`."""
    import fiddle as fdl

    set_now = fdl.ordered_arguments(cfg)
    found = {
        str(name).removesuffix(_SUFFIX): str(name)
        for name, value in set_now.items()
        if str(name).endswith(_SUFFIX) and value is not None
    }
    if not found:
        raise UserError(
            f"{target} has no data",
            "  fdlkit data looks at the arguments train_data and eval_data "
            "of the root of a config",
        )
    return found


def _build(
    cfg: fdl.Buildable, configs: dict[str, str], target: str
) -> dict[str, Pipeline]:
    """Builds the pipelines, as parts of the whole config."""
    from fdlkit.data import Pipeline
    from fdlkit.graph.build import build

    built = build(_gathering(cfg, set(configs.values())))
    pipelines = {}
    for name, argument in configs.items():
        value = built[argument]
        if not isinstance(value, Pipeline):
            raise UserError(
                f"{argument} of {target} is a {type(value).__name__}, not a Pipeline"
            )
        pipelines[name] = value
    return pipelines


def _gathering(cfg: fdl.Buildable, wanted: set[str]) -> fdl.Config:
    """A root that gives its arguments back instead of calling what `cfg` calls.

    What is shared stays shared. The arguments that are not wanted are left out, unless
    a reference in those that are may lead there.
    """
    import inspect

    import fiddle as fdl

    from fdlkit.graph import references, signatures, walk

    def gather(**arguments: Any) -> dict[str, Any]:
        return arguments

    arguments = {k: v for k, v in fdl.ordered_arguments(cfg).items() if k in wanted}
    todo: list[Any] = list(arguments.values())
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if isinstance(value, references.Reference):
            function = fdl.get_callable(cfg)
            # References see defaults too, so these stay what they were.
            gather.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [
                    inspect.Parameter(
                        p.name, inspect.Parameter.KEYWORD_ONLY, default=_default(p)
                    )
                    for p in signatures.parameters(function).values()
                ]
            )
            everything = fdl.ordered_arguments(cfg, include_positional=False)
            return fdl.Config(gather, **everything)
        if id(value) not in seen:
            seen.add(id(value))
            todo += [child for _, child in walk.children(value)]
    return fdl.Config(gather, **arguments)


def _default(parameter: Parameter) -> Any:
    import inspect

    if parameter.has_default and parameter.factory is None:
        return parameter.default
    return None if parameter.has_default else inspect.Parameter.empty


def _check_tokenizers(train: Pipeline, evaluation: Pipeline) -> None:
    from fdlkit import data
    from fdlkit.errors import RunFailedError

    try:
        data.check_same_tokenizer(train, evaluation)
    except UserError as error:  # here it is the answer, not a reason not to look
        raise RunFailedError(*error.lines) from error


def _lines(name: str, pipeline: Pipeline, description: DataDescription) -> list[str]:
    batches = description.num_batches
    endless = "without end" if batches is None else f"{batches:,} batches"
    lines = [
        f"{name}: {description.num_examples:,} examples, "
        f"batches of {pipeline.batch_size}, {endless}",
        f"  tokenizer: {description.tokenizer or 'none'}",
    ]
    width = max(map(len, description.specs), default=0)
    for entry, spec in description.specs.items():
        lines.append(f"  {entry:<{width}}  {spec}")
    for number, row in enumerate(description.rows):
        lines.append(f"  row {number}: {row!r}")
    return lines
