"""`import fdlkit` is instant, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fdlkit


@pytest.mark.parametrize("name", fdlkit.__all__)
def test_every_public_name_can_be_used(name):
    assert callable(getattr(fdlkit, name))
    assert name in dir(fdlkit)


def test_the_list_of_names_is_sorted_and_whole():
    assert list(fdlkit.__all__) == sorted(fdlkit._HOMES)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = fdlkit.no_such_name


def test_importing_the_face_loads_nothing_else():
    code = (
        "import sys, fdlkit; "
        "print(sorted({'fiddle', 'jax', 'absl', 'fdlkit.graph'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
        timeout=60,
    )
    assert result.stdout == "[]\n", result.stderr
