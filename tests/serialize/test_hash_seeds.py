"""The same config is the same text in any process, whatever its hash seed."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import hypothesis

from fdlkit.serialize.writing import dumps
from tests.graph.configs import configs
from tests.graph.values import Axes

ALLOWED = ["tests.graph.configs", "tests.graph.values"]

# Makes each config of the file anew, so that its sets come in this process's order.
PROGRAM = """
import json, sys
from fdlkit.serialize.loading import loads
from fdlkit.serialize.writing import dumps
texts = json.load(open(sys.argv[1]))
json.dump([dumps(loads(text, allow=sys.argv[2:])) for text in texts], sys.stdout)
"""


def test_any_config_is_the_same_text_in_two_processes(tmp_path):
    words = {f"word {n}" for n in range(20)}
    values = {pathlib.Path(word) for word in words} | {Axes(n) for n in range(5)}
    texts = [dumps([words, values, frozenset({frozenset(words), *"abc", 1, None})])]

    @hypothesis.given(configs())
    def collect(config):
        texts.append(dumps(config))

    collect()
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts))
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path), *ALLOWED],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(ran.stdout) == texts
