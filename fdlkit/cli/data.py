"""`fdlkit data TARGET`: specs and decoded rows of an experiment's data."""

from __future__ import annotations

from fdlkit import suggest
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.errors import UserError
from fdlkit.overrides.problems import quote


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("data", "TARGET")
    flags.string("split", None, "train or eval; both unless given", metavar="NAME")
    flags.integer("n", 3, "how many rows to show of a split", metavar="N")
    return flags


def run(parsed: Parsed) -> int:
    """Prints what each split gives.

    Raises:
      RunFailedError: The splits are tokenized differently; said after they are shown.
    """
    target = flags().one(parsed)

    from fdlkit.cli import splits
    from fdlkit.cli.targets import load_overridden

    cfg = load_overridden(target, parsed).cfg
    names = splits.split_names(cfg, target)
    asked = parsed.values["split"]
    if asked is not None and asked not in names:
        hint = suggest.hint(asked, names)
        raise UserError(
            f"{target} has no split {quote(asked)}",
            *([f"  {hint}"] if hint else []),
            f"  splits: {', '.join(names)}",
        )
    with only_the_answer():
        # All are built, also one that is not shown: their tokenizers are compared.
        pipelines = splits.build_splits(cfg, names, target)
        shown = names if asked is None else [asked]
        texts = [
            splits.describe_split(name, pipelines[name], parsed.values["n"])
            for name in shown
        ]
    print("\n\n".join(texts))
    splits.refuse_unlike_tokenizers(pipelines)
    return 0
