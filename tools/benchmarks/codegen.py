"""Code for configs, beside Fiddle's own generator; proof and formatting apart."""

from __future__ import annotations

import functools
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from fdlkit.codegen import formatting, proof
from fdlkit.codegen.program import Style
from fdlkit.codegen.writing import unformatted
from tools.benchmarks.graph import chain, seconds, wide

SIZES = (100, 1_000, 10_000)

# Beyond it Fiddle takes minutes, so it is timed once.
_OFTEN = 1_000

_STYLES: tuple[Style, ...] = ("build", "fiddle")


def main(rounds: int) -> None:
    """A table: milliseconds of CPU, times faster than Fiddle, growth."""
    print(f"a node with a list of others: ms of CPU, medians of {rounds} rounds")
    for size in SIZES:
        config = wide(size)
        peer = _median(
            functools.partial(_fiddle, config), rounds if size <= _OFTEN else 1
        )
        print(f"  {size:>6} Fiddle's new_codegen    {peer * 1e3:10.1f}", flush=True)
        for style in _STYLES:
            write = functools.partial(unformatted, config, style)
            own, text = _median(write, rounds), write()
            shaped = seconds(functools.partial(formatting.formatted, text))
            print(
                f"  {size:>6} {style:<10} {own * 1e3:10.1f}  [{peer / own:6.1f} x]"
                f"   {len(text.splitlines()):>7,} lines, "
                f"formatting here {shaped * 1e3:.1f}",
                flush=True,
            )
    _growth(rounds)
    _proofs()


def _median(what: Callable[[], Any], rounds: int) -> float:
    return statistics.median(seconds(what) for _ in range(rounds))


def _growth(rounds: int) -> None:
    """What twice the nodes cost, and depth."""
    for style in _STYLES:
        last = 0.0
        for name, config in (
            *((f"wide {n:,}", wide(n)) for n in (2_500, 5_000, 10_000, 20_000)),
            *((f"chain {n:,}", chain(n)) for n in (250, 500, 1_000)),
        ):
            taken = _median(functools.partial(unformatted, config, style), rounds)
            is_next = last and not name.endswith((" 2,500", " 250"))
            grown = f"{taken / last:5.2f} x the last" if is_next else ""
            print(f"  {style:<7} {name:<13} {taken * 1e3:9.1f}  {grown}".rstrip())
            last = taken


def _proofs() -> None:
    """What a proof costs, by the clock: it runs in a process of its own."""
    for size in SIZES:
        config = wide(size)
        for style in _STYLES:
            text = formatting.formatted(unformatted(config, style))
            function = "build" if style == "build" else "base"
            with tempfile.TemporaryDirectory() as folder:
                beside = pathlib.Path(folder) / "code.py"
                began = time.perf_counter()
                proof.prove(text, config, style=style, function=function, beside=beside)
                taken = time.perf_counter() - began
            print(f"  {style:<7} {size:>6} proof {taken:6.2f} s", flush=True)


def _fiddle(config: Any) -> Any:
    from fiddle.codegen import codegen  # loads what no other benchmark needs

    return codegen.new_codegen(config)
