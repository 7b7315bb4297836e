"""Weak scaling on paper: what a chip has to do in a step, and how busy it can be.

    python tools/scaling.py
    python tools/scaling.py --kind=v5p experiments/c4.py:spmd_22b_adam_2xv4_128
    python tools/scaling.py --json

prints, for Pax's experiments on the slices that their meshes fill, what one chip
computes, what it reads and writes, and what it receives in a step, and the utilisation
that each of these allows. FLOPs, parameters and layout are those of the experiment,
traced on no device; bytes are closed formulas (`tools/weak_scaling/costs.py`). Nothing
is compiled and nothing is measured: a bound says what cannot be passed, not what is
reached.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fdlkit.errors import UserError
from tools.weak_scaling.bounds import Bound, bound_on, machine_for
from tools.weak_scaling.chips import (
    BOOK,
    CHIPS,
    MAXTEXT,
    MAXTEXT_RANGE,
    PAX,
)
from tools.weak_scaling.workloads import read

_C4 = "experiments/c4.py:spmd_"
_LM_CLOUD = "experiments/lm_cloud.py:lm_cloud_spmd_"
_GPT3 = "experiments/gpt3.py:"
# Pax's experiments that differ in what a step costs, on more than one chip.
EXPERIMENTS = (
    *(f"{_C4}{name}_adam_{n}replicas" for name, n in (("1b", 4), ("2b", 4))),
    *(f"{_C4}{name}_adam_{n}replicas" for name, n in (("16b", 32), ("32b", 64))),
    *(f"{_C4}22b_adam_{n}xv4_128" for n in (1, 2, 4)),
    *(f"{_C4}22b_adam_{n}xv4_384" for n in (1, 2)),
    *(f"{_C4}22b_adam_{n}xv4_8" for n in (1, 2, 4)),
    *(f"{_C4}32b_adam_{n}xv5_256" for n in (1, 2)),
    *(f"{_LM_CLOUD}{name}" for name in ("2b", "multislice_2b", "32b", "64b", "128b")),
    *(f"{_LM_CLOUD}{name}" for name in ("256b", "512b", "1024b")),
    *(f"{_LM_CLOUD}pipeline_{name}" for name in ("9b", "175b")),
    *(f"{_GPT3}pipeline_gpt3_small_adam_{n}replicas" for n in (8, 64)),
    f"{_GPT3}gpt3_adam_org_hp_bs1p5k_1536replicas",
    f"{_GPT3}pipeline_gpt3_adam_org_hp_bs1p5k_768replicas",
    *(
        f"{_GPT3}pipeline_gpt3_adam_mlperf_hp_{name}replicas"
        for name in ("bs2k_512", "bs3k_768", "bs4k_1024", "bs8k_1024")
    ),
    f"{_GPT3}gpt3_l16_adam_org_hp",
    f"{_GPT3}gpt_126m_base",
)
HEADS = (
    *("experiment", "slice", "TFLOP", "HBM GB", "ICI GB", "DCN GB"),
    *("compute", "HBM", "ICI", "DCN", "at best", "in turn", "published"),
)
FOOT = (
    "A chip and a step: what it computes, moves to and from its HBM, and receives.",
    "Then model FLOPs over the peak, at most: if that alone took time; at best: all of",
    "it side by side; in turn: one after another. *: its state does not fit.",
    "",
    f"HBM, ICI, DCN: {BOOK}; peaks: Google's data sheets",
    f"published: {PAX};",
    f"  22 B: {MAXTEXT}",
    "  in all, Pax 42-53 %, MaxText 35-65 % (other models on v5p and v6e:",
    f"  {MAXTEXT_RANGE})",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=EXPERIMENTS, metavar="TARGET")
    parser.add_argument(
        "--kind", action="append", choices=CHIPS, help="of chip (v4); again for more"
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    args = parser.parse_args(argv)
    try:
        bounds, without = bounds_of(args.targets, args.kind or ["v4"])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.json:
        print(json.dumps([dataclasses.asdict(bound) for bound in bounds], indent=1))
    else:
        print("\n".join(table(bounds)))
    for name, kind, chips in without:
        print(f"{name}: no {kind} slice has its {chips} chips", file=sys.stderr)
    return 0


def bounds_of(
    targets: Iterable[str], kinds: Sequence[str]
) -> tuple[list[Bound], list[tuple[str, str, int]]]:
    """The bounds of experiments on slices of kinds of chips.

    Args:
      targets: Of experiments.
      kinds: Keys of `CHIPS`.

    Returns:
      A bound for each experiment and kind of which it fills slices; of the others the
      experiment's name, the kind, and the chips of a slice that it asks for.

    Raises:
      UserError: See `workloads.read`.
    """
    found, without = [], []
    for target in targets:
        work = read(target)
        for kind in kinds:
            machine = machine_for(work, kind)
            if machine is None:
                without.append((work.name, kind, work.chips // work.slices))
            else:
                found.append(bound_on(work, machine))
    return found, without


def table(bounds: Iterable[Bound]) -> list[str]:
    """Bounds as lines of text, with what the columns mean."""
    rows = [HEADS, *(_row(bound) for bound in bounds)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)]
        right = [
            cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)
        ]
        lines.append("  ".join([*left, *right]).rstrip())
    return [*lines, "", *FOOT]


def _row(bound: Bound) -> tuple[str, ...]:
    cost = bound.cost
    return (
        bound.workload,
        bound.machine + "*" * (not bound.state_fits),
        f"{cost.flops / 1e12:,.0f}",
        *(f"{size / 1e9:,.1f}" for size in (cost.memory, cost.ici, cost.dcn)),
        *map(_percent, (bound.compute, bound.memory, bound.ici, bound.dcn)),
        *map(_percent, (bound.overlapped, bound.in_turn, bound.published)),
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


if __name__ == "__main__":
    sys.exit(main())
