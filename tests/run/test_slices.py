"""Two processes of four devices stand for two slices: the losses of one of eight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.run.program import Program, logged
from tests.run.test_two_processes import (
    EIGHT_DEVICES,
    FOUR_DEVICES,
    assert_ended_well,
    free_port,
)

INSIDE = {"data": 1, "fsdp": 2, "tensor": 2}
PIPELINE = (
    "--fdl_set=model.layers.pipeline="
    "fdlkit.nn.pipelining:Pipelining(num_stages=2,num_microbatches=2)",
)


def on_mesh(**sizes: int) -> list[str]:
    """The flags of a mesh: `ici_data=2` is its `mesh.ici.data`."""
    return [
        f"--fdl_set=mesh.{name.replace('_', '.', 1)}={n}" for name, n in sizes.items()
    ]


def start_two(workdir: Path, arguments: Sequence[str]) -> list[Program]:
    port = free_port()
    return [
        Program(
            workdir,
            f"--coordinator=localhost:{port}",
            "--num_processes=2",
            f"--process_id={number}",
            *arguments,
            environment=FOUR_DEVICES,
        )
        for number in range(2)
    ]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    ("across", "more"), [("data", ()), ("stage", PIPELINE)], ids=["data", "stage"]
)
def test_two_slices_train_to_the_losses_of_one(tmp_path, across, more):
    inside = {f"ici_{axis}": size for axis, size in INSIDE.items()}
    alone = Program(
        tmp_path / "one",
        *on_mesh(**inside | {f"ici_{across}": 2}),
        *more,
        environment=EIGHT_DEVICES,
    )
    assert alone.end() == 0, alone.lines
    flags = [*on_mesh(**inside, **{f"dcn_{across}": 2}), *more]
    assert_ended_well(start_two(tmp_path / "two", flags))
    plain = Program(
        tmp_path / "plain",
        *on_mesh(**inside | {"ici_data": 2}),
        environment=EIGHT_DEVICES,
    )
    assert plain.end() == 0, plain.lines
    one, two, without = (logged(tmp_path / name) for name in ("one", "two", "plain"))
    for lines in (two, without):
        for a, b in zip(one, lines, strict=True):
            assert a.keys() == b.keys()
            for name, value in a.items():
                np.testing.assert_allclose(b[name], value, rtol=2e-4, err_msg=name)
