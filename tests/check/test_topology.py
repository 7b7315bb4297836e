"""Machines and slices by their names."""

from __future__ import annotations

import pytest

from fdlkit.check.topology import parse
from fdlkit.errors import UserError


@pytest.mark.parametrize(
    ("text", "sides", "devices", "gib"),
    [
        ("v4-8", (2, 2, 1), 4, 32),
        ("v4-16", (2, 2, 2), 8, 32),
        ("v4-32", (2, 2, 4), 16, 32),
        ("v4-64", (2, 4, 4), 32, 32),
        ("v4-128", (4, 4, 4), 64, 32),
        ("v4-384", (4, 4, 12), 192, 32),
        ("v4-512", (4, 8, 8), 256, 32),
        ("v4-1024", (8, 8, 8), 512, 32),
        ("v4-1536", (8, 8, 12), 768, 32),
        ("v4-2048", (8, 8, 16), 1024, 32),
        ("v4-4096", (8, 16, 16), 2048, 32),
        ("v5p-512", (4, 8, 8), 256, 95),
        ("v5p-8192", (16, 16, 16), 4096, 95),
        ("v5e-8", (2, 4), 8, 16),
        ("v5e-256", (16, 16), 256, 16),
        ("v5litepod-16", (4, 4), 16, 16),
        ("v6e-256", (16, 16), 256, 32),
        ("2xv4-128", (4, 4, 4), 128, 32),
    ],
)
def test_a_slice_is_what_its_name_says(text, sides, devices, gib):
    found = parse(text)
    assert (found.sides, found.devices, found.memory) == (sides, devices, gib * 2**30)
    assert found.is_named and found.is_tpu
    assert found.slices == (2 if text.startswith("2x") else 1)


def test_a_machine_of_so_many_chips_is_no_slice():
    found = parse("v4:4x4x4")
    assert (found.devices, found.is_named, found.is_tpu) == (64, False, True)
    assert not parse("h100:32").is_tpu


@pytest.mark.parametrize(
    ("text", "wraps"),
    [
        ("v4-64", (False, False, False)),
        ("v4-128", (True, True, True)),
        ("v5e-128", (False, True, False)),
        ("v6e-256", (True, True, False)),
    ],
)
def test_a_torus_is_closed_where_its_sides_are_long_enough(text, wraps):
    assert parse(text).wraps == wraps


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("v4-9", "there is no slice v4-9"),
        ("v4-96", "v4-64, v4-128"),
        ("v5e-512", "named by their chips: v5e-32, v5e-64, v5e-128, v5e-256"),
        ("0xv4-8", "no slice at all"),
        ("h100-8", "with slices: v4, v5p, v5e, v6e"),
        ("v4", "is no topology"),
    ],
)
def test_what_is_no_slice_is_refused_with_those_there_are(text, told):
    with pytest.raises(UserError) as raised:
        parse(text)
    assert told in "\n".join(raised.value.lines)
