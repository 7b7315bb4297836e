"""Drawings can be read: by contrast, and without colour."""

from __future__ import annotations

import itertools

import pytest

from fdlkit.view import colors


def lightness(color):
    """The relative luminance of a colour, by the accessibility guidelines' formula."""
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    light, dark = sorted(map(lightness, (one, two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("tints", "title", "small"),
    [
        ((*colors.LIGHT, colors.NO_GROUP), colors.TEXT, colors.SMALL),
        ((*colors.DARK, colors.NO_GROUP_DARK), "#e6edf3", "#c6cdd5"),
    ],
    ids=["light", "dark"],
)
def test_text_stands_out_from_every_header(tints, title, small):
    for tint in tints:
        assert contrast(tint.fill, title) >= 7, tint
        assert contrast(tint.fill, small) >= 4.5, tint


@pytest.mark.parametrize(
    "color",
    [colors.TEXT, colors.QUIET, colors.REFERENCE, colors.OVERRIDE, colors.TAG],
)
def test_text_stands_out_from_white(color):
    assert contrast(color, "#ffffff") >= 4.5


@pytest.mark.parametrize("tints", [colors.LIGHT, colors.DARK], ids=["light", "dark"])
def test_a_group_can_be_told_from_the_next_one_in_greyscale(tints):
    for one, two in itertools.pairwise(tints):
        assert contrast(one.fill, two.fill) >= 1.15, (one, two)
