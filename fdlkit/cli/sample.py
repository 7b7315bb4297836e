"""`fdlkit sample RUN_DIR --prompt=TEXT`: what a trained language model writes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from fdlkit import printable
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.errors import UserError
from fdlkit.overrides.problems import quote

if TYPE_CHECKING:
    from fdlkit.sample.opening import TrainedModel
    from fdlkit.train.continuing import Continuation

SCHEMA = "fdlkit.sample/1"
_STDIN = "-"
# What settles a text besides the prompts and the checkpoint.
_SETTINGS = ("max_tokens", "temperature", "top_k", "top_p", "seed")


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("sample", "RUN_DIR --prompt=TEXT")
    flags.multi(
        "prompt", "what is gone on from; -: stdin; may be repeated", metavar="TEXT"
    )
    flags.checkpoint("step", "which checkpoint; the last one")
    flags.integer("max_tokens", 256, "how many tokens at most", metavar="N")
    flags.number(
        "temperature", 1.0, "0: always the most likely token; lower: safer", metavar="T"
    )
    flags.integer("top_k", None, "draw from the K most likely tokens", metavar="K")
    flags.number(
        "top_p",
        None,
        "draw from the fewest most likely tokens that have the probability P together",
        metavar="P",
    )
    flags.integer("seed", 0, "of what is drawn", metavar="N")
    flags.integer("num_samples", 1, "how many of each prompt", metavar="N")
    flags.choice("format", "text", "how it is written", choices=("text", "json"))
    return flags


def run(parsed: Parsed) -> int:
    """Writes what follows the prompts, as it comes."""
    values = parsed.values
    directory = flags().one(parsed, "RUN_DIR")
    _check_numbers(parsed)
    prompts = _prompts(parsed, directory)

    from fdlkit.cli.targets import load_overridden
    from fdlkit.targets import spelling

    if spelling.parse(directory).kind != "run":
        raise UserError(
            f"fdlkit sample takes the folder of a run, not {quote(directory)}",
            f"  train it first: fdlkit train {directory} --workdir=DIR",
        )
    cfg = load_overridden(directory, parsed).cfg
    with only_the_answer():  # which what a model prints when it is traced is not
        from fdlkit.run import compile_cache
        from fdlkit.sample.opening import choose_step, open_run
        from fdlkit.train.continuing import continued
        from fdlkit.train.sampling import Sampler

        choose_step(directory, values["step"])  # before the seconds of building
        sampler = Sampler(
            temperature=values["temperature"],
            top_k=values["top_k"],
            top_p=values["top_p"],
        )
        compile_cache.turn_on()
        model = open_run(cfg, directory, step=values["step"])
        for note in _notes(model):
            print(f"note: {note}", file=sys.stderr)
        grown = continued(
            model.generator(sampler),
            model.variables,
            prompts,
            max_tokens=values["max_tokens"],
            num_samples=values["num_samples"],
            seed=values["seed"],
        )
        rows = next(grown)
    began, made = time.perf_counter(), len(rows)
    writer = _Writer(sys.stdout) if values["format"] == "text" else None
    while True:
        if writer is not None:
            writer.write(rows)
        if next(grown, None) is None:
            break
        made += len(rows)
    if writer is None:
        print(_as_json(model, parsed, rows))
    if sys.stderr.isatty():
        # The first tokens were compiled for, and do not count.
        rate = (made - len(rows)) / max(time.perf_counter() - began, 1e-9)
        what = f"step {model.step}, {made:,} tokens, {rate:,.0f} tokens/s"
        print(what, file=sys.stderr)
    return 0


def _notes(model: TrainedModel) -> list[str]:
    notes = [*model.notes]
    if model.why_uncached is not None:
        notes.append(f"without a key/value cache, so slower: {model.why_uncached}")
    return notes


def _check_numbers(parsed: Parsed) -> None:
    for name in ("max_tokens", "num_samples"):
        if parsed.values[name] < 1:
            raise UserError(f"--{name}={parsed.values[name]}: it is 1 at least")


def _prompts(parsed: Parsed, directory: str) -> list[str]:
    """The prompts, that of stdin read."""
    given = parsed.values["prompt"]
    if not given:
        raise UserError(
            "fdlkit sample needs a --prompt",
            f"  fdlkit sample {directory} --prompt=TEXT",
            "  --prompt=- is what stdin says",
        )
    if given.count(_STDIN) > 1:
        raise UserError("--prompt=- can be given once: stdin says one thing")
    return [_read_stdin() if text == _STDIN else text for text in given]


def _read_stdin() -> str:
    """All of stdin, the end of its last line included.

    Raises:
      UserError: It is no text.
    """
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"--prompt=-: stdin is no text: byte {error.start} is not UTF-8",
            "  iconv makes UTF-8 of other encodings",
        ) from error


class _Writer:
    """Writes texts one below the other, the one that is at the top as it grows."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._at = 0  # the row that is being written
        self._written = ""  # of that row

    def write(self, rows: Sequence[Continuation]) -> None:
        """Writes what there is now of the texts that may be written."""
        while self._at < len(rows):
            row = rows[self._at]
            if not self._written and len(rows) > 1:
                self._say(f"--- {self._at + 1} of {len(rows)}\n")
            whole = row.prompt + row.text
            self._say(whole[len(self._written) :])
            self._written = whole
            if row.finish is None:
                break
            self._say("" if whole.endswith("\n") else "\n")
            self._at, self._written = self._at + 1, ""
        if self._stream.isatty():
            self._stream.flush()

    def _say(self, text: str) -> None:
        if self._stream.isatty():
            text = "".join(map(_shown, text))
        self._stream.write(text)


def _shown(character: str) -> str:
    """A character as a terminal may have it: what would act on it is spelt out."""
    return character if character in "\n\t" else printable.clean(character)


def _as_json(model: TrainedModel, parsed: Parsed, rows: Sequence[Continuation]) -> str:
    samples = [
        {
            "prompt": row.prompt,
            "text": row.text,
            "tokens": row.tokens,
            "finish": row.finish,
        }
        for row in rows
    ]
    said = {
        "schema": SCHEMA,
        "run": model.directory,
        "step": model.step,
        **{name: parsed.values[name] for name in _SETTINGS},
        "cached": model.why_uncached is None,
        "samples": samples,
    }
    return json.dumps(said, indent=2, ensure_ascii=False)
