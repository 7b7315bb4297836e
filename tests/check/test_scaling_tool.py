"""`tools/scaling.py`: the formulas by hand, and the table of real experiments."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

import fdlkit
from fdlkit.check import topology
from tools import scaling
from tools.weak_scaling import bounds, chips, costs, workloads
from tools.weak_scaling.costs import Array, Sizes, Traffic

ROOT = pathlib.Path(__file__).resolve().parents[2]
FSDP = Sizes({"fsdp": 4}, {})
TWO_SLICES = Sizes({"fsdp": 4}, {"data": 2})
ROWS = ("data", "fsdp")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("v4-8", 2),  # 2x2x1, open
        ("v4-16", 3),  # 2x2x2, open
        ("v4-128", 6),  # 4x4x4, a torus
        ("v5e-16", 2),  # 4x4, open
        ("v5e-128", 3),  # 8x16: the longer side is closed
        ("v6e-256", 4),  # 16x16, closed
    ],
)
def test_links_of_a_corner(name, count):
    assert chips.links(topology.parse(name)) == count


def test_a_gather_brings_all_but_a_chips_own_part():
    assert costs.all_gather(100, FSDP, ["fsdp"]) == Traffic(75, 0)
    assert costs.all_gather(100, FSDP, ["tensor"]) == Traffic(0, 0)


def test_a_gather_over_slices_sends_each_byte_between_them_once():
    sizes = Sizes({"fsdp": 4}, {"fsdp": 2})
    # Each chip has 12.5 of 100, gets 12.5 from the other slice, and then 75.
    assert costs.all_gather(100, sizes, ["fsdp"]) == Traffic(75, 12.5)


def test_an_all_reduce_is_a_reduction_and_a_gather():
    assert costs.all_reduce(100, FSDP, ["fsdp"]) == Traffic(150, 0)
    assert costs.all_reduce(100, TWO_SLICES, ["data"]) == Traffic(0, 100)


def test_parameters_cut_over_rows_are_gathered_twice_and_reduced_once():
    array = Array(1000, ("fsdp",), in_layers=True)
    got = costs.parameter_traffic(array, FSDP, ROWS, itemsize=2)
    assert got == Traffic(3 * 0.75 * 2000, 0)
    often = costs.parameter_traffic(array, FSDP, ROWS, itemsize=2, times=5)
    assert often == Traffic(15 * 0.75 * 2000, 0)


def test_gradients_cross_slices_once_in_parts():
    array = Array(1000, ("fsdp",), in_layers=True)
    got = costs.parameter_traffic(array, TWO_SLICES, ROWS, itemsize=2, times=5)
    # A chip's part is 250 elements; an all-reduce of two gets it once over.
    assert got == Traffic(15 * 0.75 * 2000, 2 * 0.5 * 500)


def test_parameters_cut_over_tensor_stay_where_they_are():
    sizes = Sizes({"fsdp": 4, "tensor": 5}, {})
    array = Array(1000, ("fsdp", "tensor"), in_layers=True)
    got = costs.parameter_traffic(array, sizes, ROWS, itemsize=2)
    assert got == Traffic(3 * 0.75 * 400, 0)
    alone = Array(1000, ("tensor",), in_layers=True)
    got = costs.parameter_traffic(alone, sizes, ROWS, itemsize=2)
    assert got == Traffic(2 * 0.75 * 400, 0)  # the gradient alone


@pytest.mark.parametrize(
    ("remat", "vocab_is_cut", "exchanges"),
    [
        ("none", True, 8 * 3 + 4),
        ("save_context_and_out_proj", True, 10 * 3 + 4),
        ("save_nothing", False, 11 * 3 + 2),
    ],
)
def test_the_stream_is_exchanged_over_tensor(remat, vocab_is_cut, exchanges):
    got = costs.tensor_traffic(
        Sizes({"tensor": 2}, {}),
        tokens=10,
        hidden=6,
        layers=3,
        itemsize=2,
        remat=remat,
        vocab_is_cut=vocab_is_cut,
    )
    assert got == Traffic(exchanges * 60, 0)


@pytest.mark.parametrize("where", ["ici", "dcn"])
def test_stages_hand_on_both_ways_and_share_the_results(where):
    sizes = Sizes(**{"ici": {}, "dcn": {}, where: {"stage": 4}})
    got = costs.pipeline_traffic(sizes, iterations=7, microbatch=100, microbatches=4)
    # 7 hand-overs forward and 7 backward; two all-reduces of the 400 of all.
    assert getattr(got, where) == 14 * 100 + 2 * 2 * 0.75 * 400
    one = costs.pipeline_traffic(FSDP, iterations=7, microbatch=100, microbatches=4)
    assert one == Traffic()


def test_activations_of_a_layer_by_hand():
    # hidden 4, width 16, two heads of 3 (a = 6), rows of 10 tokens, bfloat16.
    products = [
        *[(4 + 3 * 6) * 2, (2 * 6) * 2 + 2 * 10 * 4],  # query, key, value; scores
        *[(2 * 10 + 6) * 2 + 6 * 2, (6 + 4) * 2],  # sums of values; output
        *[(4 + 16) * 2, (16 + 4) * 2],  # up; down
    ]
    got = costs.activation_bytes(
        hidden=4, width=16, heads=2, head_dim=3, length=10, itemsize=2
    )
    assert got == sum(products)


def test_memory_by_hand():
    got = costs.memory_bytes(
        weights=10, state=100, forward=1000, logits=7, recomputed=0.5
    )
    assert got == 3.5 * 10 + 200 + 3.5 * 1000 + 21


def test_waiting_and_copies_cost_time():
    got = costs.computed_flops(1100, logits=100, copies=4, bubble=0.5, chips=10)
    assert got == (1000 / 0.5 + 4 * 100) / 10


@pytest.fixture(scope="module")
def tiny():
    return workloads.read("experiments/c4.py:tiny(ici={'fsdp': 4})")


def test_a_workload_is_read_off_the_experiment(tiny):
    assert (tiny.rows, tiny.length, tiny.chips, tiny.slices) == (64, 32, 4, 1)
    layer = 4 * 32 * 32 + 8 + 2 * 32 * 128 + 128 + 32 + 4 * 32
    assert tiny.parameters == 2 * layer + 64 * 32 + 64 + 2 * 32
    tokens = 64 * 32
    products = 2 * (4 * 32 * 32 + 2 * 32 * 128 + 2 * 32 * 32) + 64 * 32
    assert tiny.model_flops == 6 * tokens * products
    assert tiny.model_flops < tiny.traced_flops < tiny.model_flops * 4 / 3


def test_a_step_costs_what_the_formulas_say(tiny):
    cost = bounds.cost_of(tiny)
    # All arrays are cut over fsdp but the stack's [head_dim], 2 * 8 elements, and what
    # vocab and mlp alone name: biases [64] and 2 * [128], which tensor would cut.
    whole = 2 * 8 + 64 + 2 * 128
    cut = tiny.parameters - whole
    assert cost.ici == pytest.approx(0.75 * 2 * (3 * cut + 2 * whole))
    assert cost.dcn == 0
    assert cost.flops == tiny.traced_flops / 4


def test_bounds_are_shares_and_the_least_of_them_bounds(tiny):
    bound = bounds.bound_on(tiny, topology.parse("v4-8"))
    assert bound.compute == pytest.approx(tiny.model_flops / tiny.traced_flops)
    assert 0 < bound.in_turn < bound.overlapped <= min(bound.compute, bound.memory)
    assert bound.dcn is None
    assert bound.state_fits


def test_the_table_of_a_real_experiment(capsys):
    target = "experiments/c4.py:spmd_22b_adam_2xv4_128"
    assert scaling.main([target, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["machine"] == "2xv4-128"
    assert told["published"] == 0.552 < told["overlapped"]
    # 6 FLOPs a parameter and token are most of the model's, on 128 chips.
    least = 6 * 21_947_310_080 * 2048 * 1024 / 128
    assert least < told["cost"]["model_flops"] < 1.1 * least
    # A 64th of the gradient in bfloat16 crosses over to the other slice.
    assert told["cost"]["dcn"] == pytest.approx(21_947_310_080 * 2 / 64, rel=1e-3)


def test_a_kind_without_such_a_slice_is_told(capsys):
    assert scaling.main(["experiments/c4.py:tiny", "--kind=v4"]) == 0
    told = capsys.readouterr()
    assert "tiny: no v4 slice has its 1 chips" in told.err
    assert "tiny" not in told.out


def test_no_device_is_asked_for_anything():
    program = (
        "from tools.weak_scaling.workloads import read\n"
        "read('experiments/c4.py:tiny')\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge._backends\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "tpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_another_model_is_refused(capsys):
    assert scaling.main(["experiments/regression.py:base"]) == 2
    assert "the formulas are for a Transformer" in capsys.readouterr().err


def test_every_experiment_of_the_table_can_be_loaded():
    assert len(set(scaling.EXPERIMENTS)) == len(scaling.EXPERIMENTS)
    for target in scaling.EXPERIMENTS:
        cfg = fdlkit.load(target)
        ici, dcn = cfg.mesh.ici, cfg.mesh.dcn
        axes = ("data", "fsdp", "tensor", "stage")
        sizes = [getattr(part, axis) for part in (ici, dcn) for axis in axes]
        assert math.prod(sizes) > 1
