"""What byte n-gram models reach on an experiment's held-out text, beside a run.

    python tools/ngram.py experiments/lm.py:base --workdir=runs/demo

prints the held-out bits per byte of a bigram and a trigram model fitted on the
experiment's training text, and the last that a run has logged.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from fdlkit.data import PackedDocuments, Pipeline, TokenWindows, ngram_bits_per_byte
from fdlkit.data.token_file import TokenStream
from fdlkit.errors import UserError

METRIC = "eval/bits_per_byte"
ORDERS = {"bigram": 2, "trigram": 3}


def text_of(pipeline: Pipeline) -> TokenStream:
    """All tokens that a pipeline reads windows or packed documents of.

    Raises:
      UserError: It reads something else.
    """
    source = pipeline.source
    if not isinstance(source, TokenWindows | PackedDocuments):
        raise UserError(
            f"n-grams are counted in the text of a TokenWindows or PackedDocuments; "
            f"the data's source is a {type(source).__name__}"
        )
    if source.tokenizer.name != "bytes":
        raise UserError(
            f"n-grams of bytes need a ByteTokenizer, not {source.tokenizer.name!r}"
        )
    return source.stream


def last_logged(workdir: pathlib.Path, metric: str) -> tuple[int, float]:
    """The step and value of the last line of `metrics.jsonl` that has `metric`.

    Raises:
      UserError: There is none.
    """
    path = workdir / "metrics.jsonl"
    if not path.exists():
        raise UserError(f"no metrics.jsonl in {workdir}: is it a run's workdir?")
    with path.open() as lines:
        logged = [entry for entry in map(json.loads, lines) if metric in entry]
    if not logged:
        raise UserError(f"{path} has no {metric!r} yet")
    return logged[-1]["step"], logged[-1][metric]


def report(experiment: Any, workdir: pathlib.Path | None) -> list[str]:
    """The lines to print for a built experiment."""
    train, held_out = text_of(experiment.train_data), text_of(experiment.eval_data)
    bits = {
        f"byte {name}": ngram_bits_per_byte(train.tokens, held_out.tokens, order=order)
        for name, order in ORDERS.items()
    }
    lines = [f"held-out bits per byte ({len(held_out.tokens):,} tokens)"]
    lines += [f"  {name:<14}{value:.4f}" for name, value in bits.items()]
    if workdir is None:
        return lines
    step, reached = last_logged(workdir, METRIC)
    lines.append(f"  {'this run':<14}{reached:.4f}  (step {step:,} of {workdir})")
    for name, value in bits.items():
        difference = abs(value - reached)
        verdict = "below" if reached < value else "NOT below"
        lines.append(f"the run is {verdict} the {name} model, by {difference:.4f}")
    return lines


def main(argv: Sequence[str]) -> int:
    """Prints the report; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", help="such as experiments/lm.py:base")
    parser.add_argument("--workdir", type=pathlib.Path, help="a run to compare")
    options = parser.parse_args(argv)

    import fdlkit  # after the arguments are known to be right

    try:
        experiment = fdlkit.build(fdlkit.load(options.target))
        print("\n".join(report(experiment, options.workdir)))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
