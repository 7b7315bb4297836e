"""Where logged numbers go."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from etils import epath


class MetricsFile:
    """One JSON object a line, with `step` and plain names such as `loss`."""

    def __init__(self, path: epath.Path, step: int):
        """Appends to the file, after cutting it back to `step`."""
        kept = []
        if path.exists():
            for line in path.read_text().splitlines(keepends=True):
                # A line that a kill cut in half is of a step that is run again.
                if line.endswith("\n") and json.loads(line)["step"] <= step:
                    kept.append(line)
            path.write_text("".join(kept))
        self._file = path.open("a")
        self._evaluated = [
            json.loads(line)["step"] for line in kept if '"eval/' in line
        ]

    def is_evaluated(self, step: int) -> bool:
        """Whether an evaluation of this step was there."""
        return step in self._evaluated

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Keeps the numbers of a step."""
        self._file.write(json.dumps({"step": step} | plain_numbers(values)) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Ends; nothing is written after this."""
        self._file.close()


def plain_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them: none that are not finite; histograms summed up."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, float | int):
            plain[name] = value if math.isfinite(value) else str(value)
        else:
            plain[name] = plain_numbers(value.summary())
    return plain
