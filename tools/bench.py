"""Benchmarks against peers: `python tools/bench.py loop`.

Each compares with the peer in the same process or in turn with it, and prints ratios
of medians with the spread of the peer against itself (A/A) beside them: a ratio that
the A/A spread covers says nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.benchmarks import (
    check,
    codegen,
    graph,
    kinds,
    loop,
    scale,
    start,
    startup,
    trainer,
)

BENCHMARKS = {
    "check": (check.main, "a whole check, beside one jax.eval_shape of the same step"),
    "codegen": (codegen.main, "code for configs, beside Fiddle's new_codegen"),
    "graph": (graph.main, "configs compared, kept and shown, beside Fiddle"),
    "kinds": (kinds.main, "dispatch of an NNX model, beside a Linen model"),
    "loop": (loop.main, "the training loop's own cost, beside a hand-written loop"),
    "scale": (scale.main, "10,000 nodes, beside Fiddle's own construct and build"),
    "startup": (startup.main, "CPU of --help, a listing, show and TAB, beside imports"),
    "trainer": (trainer.main, "losses, metrics, an evaluator, beside a hand's loop"),
    "start": (start.main, "process start to first step, beside a hand-written program"),
}


def main(argv: list[str] | None = None) -> int:
    """Runs one benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    for name, (_, text) in BENCHMARKS.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(argv)
    BENCHMARKS[arguments.name][0](arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
