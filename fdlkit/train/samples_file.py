"""The texts that a model writes while it is trained: a file beside the numbers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from etils import epath

from fdlkit.train.writers import SampleText, Values, Writer, cut_back


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleLines(Writer):
    """One JSON object a line: `step`, `evaluator`, `prompt`, `text`, `finish`.

    Attributes:
      name: The file's name in the workdir, where there is one once a text was written.
    """

    name: str = "samples.jsonl"

    def open(self, workdir: epath.Path, step: int) -> SampleLinesSink:
        """Cuts the file back to `step`, where there is one."""
        path = workdir / self.name
        cut_back(path, step)
        return SampleLinesSink(path)


def sample_lines(step: int, name: str, texts: Sequence[SampleText]) -> str:
    """What an evaluator of a name wrote after a step, a line each."""
    lines = [
        json.dumps(
            {"step": step, "evaluator": name, **dataclasses.asdict(text)},
            ensure_ascii=False,
        )
        for text in texts
    ]
    return "".join(f"{line}\n" for line in lines)


class SampleLinesSink:
    """Appends to the file; numbers are not for it."""

    def __init__(self, path: epath.Path):
        self._path = path

    def write(self, step: int, values: Values) -> None:
        """Does nothing."""

    def write_texts(self, step: int, name: str, texts: Sequence[SampleText]) -> None:
        """Appends a line for each text."""
        with self._path.open("a") as file:
            file.write(sample_lines(step, name, texts))

    def flush(self) -> None:
        """Does nothing: each text is written when it is there."""

    def close(self) -> None:
        """Does nothing: the file is open only while it is written to."""
