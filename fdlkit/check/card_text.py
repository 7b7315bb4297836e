"""A card as a person reads it, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import math

from fdlkit.check.card import Card, Sketch, peak_of
from fdlkit.check.sizes import size_of
from fdlkit.nn.stages import STAGE

SCHEMA = "fdlkit.card/1"
_LEVELS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 3


def to_json(card: Card) -> str:
    """The whole card, versioned."""
    return json.dumps({"schema": SCHEMA, **dataclasses.asdict(card)}, indent=2) + "\n"


def render(card: Card) -> str:
    """The card in a terminal's lines."""
    blocks = [
        _parameters(card),
        _step(card),
        _batch(card),
        _device(card),
        _schedule(card.schedule),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _parameters(card: Card) -> list[str]:
    width = max(len(module.path) for module in card.modules) if card.modules else 0
    number = len(f"{card.parameters:,}")
    lines = [
        f"  {m.path:<{width}}  {m.parameters:>{number},}  "
        f"{100 * m.parameters / max(card.parameters, 1):5.1f} %"
        for m in card.modules
    ]
    return [
        f"parameters  {card.parameters:,}  ({size_of(card.parameter_bytes)})",
        *lines,
        f"optimizer   {size_of(card.optimizer_bytes)}",
        *([f"average     {size_of(card.average_bytes)}"] if card.average_bytes else []),
    ]


def _step(card: Card) -> list[str]:
    batch = card.batch
    line = f"step        {_flops(card.flops)}"
    if batch.elements:
        each = card.flops / batch.elements
        line += (
            f", {batch.elements:,} {batch.unit}: {_flops(each)} each, "
            f"{each / max(card.parameters, 1):.2f} per parameter"
        )
    return [line, *_wrapped(card.convention)]


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    line = "  "
    for word in text.split():
        if len(line) + len(word) > 78:
            lines.append(line.rstrip())
            line = "  "
        line += f"{word} "
    return [*lines, line.rstrip()]


def _flops(count: float) -> str:
    """`5.84 GFLOPs`: so many operations."""
    for power, unit in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {unit}FLOPs"
    return f"{count:,.0f} FLOPs"


def _batch(card: Card) -> list[str]:
    batch = card.batch
    arrays = ", ".join(f"{name} {text}" for name, text in batch.arrays.items())
    lines = [f"batch       {batch.rows:,} rows  ({arrays})"]
    rows = " * ".join(f"{c.axis}={c.size}" for c in batch.cuts if c.cuts == "rows")
    each = f"{batch.rows_per_device:g} a device"
    if batch.microbatches > 1:
        part = batch.rows_per_device / batch.microbatches
        each = f"{batch.microbatches} microbatches * {part:g} a device"
    lines.append(f"  {batch.rows:,} = {rows + ' * ' if rows else ''}{each}")
    for p in card.pipelines:
        again = f", {p.repeats} times each" if p.repeats > 1 else ""
        lines.append(
            f"  {p.path}: {p.microbatches} microbatches of "
            f"{p.rows:g} rows through {p.stages} stages{again}: "
            f"{p.iterations} iterations, bubble {100 * p.bubble:.1f} %"
        )
    lines += [f"  {c.axis}={c.size} cuts time" for c in batch.cuts if c.cuts == "time"]
    staged = any(p.stages > 1 for p in card.pipelines)
    same = [
        f"{c.axis}={c.size}"
        for c in batch.cuts
        if c.cuts is None and not (staged and c.axis == STAGE)
    ]
    if same:
        lines.append(f"  {', '.join(same)}: the same rows on each")
    seen = batch.rows * batch.steps
    text = f"  {batch.steps:,} steps see {seen:,} rows"
    if batch.elements is not None:
        text += f", {batch.elements * batch.steps:,} {batch.unit}"
    if batch.examples:
        text += f": {seen / batch.examples:.2g} epochs of {batch.examples:,} rows"
    lines.append(text)
    if batch.eval_batches is not None and batch.eval_rows is not None:
        filled = (
            f", the last filled up by {batch.eval_filled:,}"
            if batch.eval_filled
            else ""
        )
        lines.append(
            f"  an evaluation sees {batch.eval_rows:,} rows in {batch.eval_batches:,} "
            f"batches{filled}"
        )
    return lines


def _device(card: Card) -> list[str]:
    sizes = ", ".join(f"{a}={n}" for a, n in card.mesh.items() if n > 1) or "1 device"
    devices = math.prod(card.mesh.values())
    per = card.per_device
    slices = math.prod(card.across.values())
    across = ", ".join(f"dcn.{a}={n}" for a, n in card.across.items())
    within = f" in {slices} slices, {across}" if slices > 1 else ""
    lines = [f"a device    of {devices:,} ({sizes}{within})"]
    rows = [
        ("parameters", per.parameters, ""),
        ("optimizer", per.optimizer, ""),
        *([("average", per.average, "")] if per.average else []),
        ("batch", per.batch, ""),
    ]
    if per.working is not None:
        rows.append(
            ("working", per.working, "estimate: activations, gradients, temporaries")
        )
    lines += [
        f"  {name:<10} {size_of(size):>10}  {note}".rstrip()
        for name, size, note in rows
    ]
    return [*lines, f"  {'together':<10} {size_of(per.total):>10}"]


def _schedule(sketch: Sketch | None) -> list[str]:
    if sketch is None:
        return []
    low, high = min(sketch.values), max(sketch.values)
    step, peak = peak_of(sketch)
    first, last = sketch.values[0], sketch.values[-1]
    lines = [
        f"learning rate  {first:.3g} at step 0, {peak:.3g} at {step:,}, "
        f"{last:.3g} at {sketch.steps[-1]:,}"
    ]
    if low == high:
        return [f"learning rate  {first:.3g} throughout"]
    top = high if low >= 0 else high - low
    for row in reversed(range(_HEIGHT)):
        bars = ""
        for value in sketch.values:
            filled = (value - min(low, 0)) / top * _HEIGHT - row
            bars += _LEVELS[max(0, min(8, round(8 * filled)))]
        lines.append(f"  {bars}".rstrip())
    return lines
