"""What a compiler says of a step, and what is made of its words."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fdlkit
from fdlkit.check.aot import compiling
from fdlkit.check.aot.collectives import Collective, collectives
from fdlkit.check.aot.compiling import Compiled, NotCompiled
from fdlkit.check.aot.refusal import Buffer, largest_buffers, path_of, too_large
from fdlkit.check.report import compiles, examine
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.check.text import render
from fdlkit.check.topology import parse
from fdlkit.errors import UserError

ROOT = Path(__file__).parents[2]
TOO_LARGE = (
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (53.39G) exceeds available HBM (30.75G)."
)
# As XLA writes them, shortened.
COMPILED = ROOT / "tests" / "check" / "compiled"
MODULE = (COMPILED / "module.txt").read_text()
ASSIGNMENT = (COMPILED / "assignment.txt").read_text()


def test_exchanges_count_as_often_as_their_loop_runs():
    assert collectives(MODULE) == [
        Collective("all-gather", 24, 24 * 256),
        Collective("all-reduce", 24, 24 * 64),
        Collective("collective-permute", 1, 32),
    ]


def test_what_is_too_large_is_told_with_both_sizes():
    needed, available = too_large(TOO_LARGE)
    assert needed == int(53.39 * 2**30)
    assert available == int(30.75 * 2**30)
    assert too_large("INVALID_ARGUMENT: something else") is None


def test_buffers_are_named_by_parameter_or_module_each_once():
    assert largest_buffers(ASSIGNMENT, MODULE) == [
        Buffer(3072, "f32[24,4,8]", "layers/block/mlp/integer_pow"),
        Buffer(2048, "f32[64,8]", "params/layers/block/mlp/up/kernel"),
        Buffer(256, "bf16[1,16,8]", "all-gather.7"),
    ]
    assert path_of("jit(f)/transpose(jvp(Net))/head/dot_general") == "head/dot_general"


def checked(result: Compiled | NotCompiled) -> tuple[Subject, str]:
    """The report of an experiment of which the compiler has said this."""
    request = Request(topology=parse("v4-8"), compile=True)
    subject = Subject(fdlkit.load("experiments/lm.py:tiny"), request)
    vars(subject)["compiled"] = result
    return subject, render(examine(subject, ["compile"]))


def test_a_step_that_is_too_large_is_an_error_at_the_module_of_its_largest_buffer():
    buffers = tuple(largest_buffers(ASSIGNMENT, MODULE))
    _, told = checked(NotCompiled("compile", TOO_LARGE, buffers))
    assert told.startswith(
        "error CO001: the step needs 53.4 GiB of a chip of v4-8, which gives it 30.8 "
        "GiB; the largest buffers:\n  at model.layers.block.mlp"
    )
    assert "    3.0 KiB  f32[24,4,8]  layers/block/mlp/integer_pow\n" in told
    assert "2.0 KiB  f32[64,8]  params/layers/block/mlp/up/kernel\n" in told


def test_other_refusals_are_told_in_the_compilers_words():
    _, told = checked(NotCompiled("mesh", "cannot be laid"))
    assert told.startswith("error CO002: the mesh cannot be laid on v4-8 (sides 2x2x1)")
    _, told = checked(NotCompiled("process", "Check failed: n < sizes_size"))
    assert "CO003: the compiler of v4-8 refuses the step: Check failed" in told


def test_the_figures_of_a_step_that_fits_are_told():
    made = Compiled(
        device_kind="TPU v4",
        memory=2**35,
        seconds=61.2,
        peak=11 * 2**30,
        arguments=2**33,
        outputs=2**33,
        aliased=2**33,
        code=2**20,
        temporaries=2**32,
        flops=1e12,
        accessed=1e9,
        splits=True,
        collectives=(Collective("all-gather", 1200, 2**30),),
    )
    subject, told = checked(made)
    assert told.startswith("info CO004: on v4-8 (sides 2x2x1) a mesh axis is made of")
    assert (
        "compiled for TPU v4 in 61 s; of one chip:\n"
        "  memory      11.0 GiB of 32.0 GiB in use at most; state and batch 8.0 GiB, "
        "temporaries laid out in 4.0 GiB, program 1.0 MiB\n"
        "  exchanges      1.0 GiB  all-gather, 1,200 times\n" in told
    )
    assert examine(subject, ["compile"]).compiled is made


def test_a_step_is_compiled_for_slices_by_name_or_where_that_is_asked_for():
    assert compiles(parse("v4-128"), None)
    assert not compiles(parse("v4-128"), False)
    assert not compiles(parse("v4:4x4x4"), None)
    assert compiles(parse("v4:4x4x4"), True)
    with pytest.raises(UserError, match="nothing to compile for"):
        compiles(None, True)


def test_for_a_gpu_the_step_is_lowered_and_no_compiler_is_asked():
    request = Request(topology=parse("h100:1"), compile=True)
    subject = Subject(fdlkit.load("experiments/lm.py:tiny"), request)
    report = examine(subject, ["compile"])
    assert (report.findings, report.compiled) == ((), None)
    assert [run.skipped for run in report.levels] == [None]


def test_slices_are_described_as_libtpu_takes_them():
    assert compiling.description(parse("2xv4-128")) == {
        "topology_name": "v4:4x4x4",
        "chip_config_name": "megacore",
        "chips_per_host_bounds": (2, 2, 1),
        "wrap": (True, True, True),
        "num_slices": 2,
    }
    assert compiling.description(parse("v6e-1"))["chips_per_host_bounds"] == (1, 1, 1)


def test_without_libtpu_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as raised:
        compiling.libtpu_version()
    told = "\n".join(raised.value.lines)
    assert "pip install 'fdlkit[tpu]' brings libtpu==" in told
    assert "--compile=false" in told


def test_another_libtpu_than_jax_is_made_for_is_refused(monkeypatch):
    real = compiling.importlib.metadata.version
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(
        compiling.importlib.metadata,
        "version",
        lambda name: "0.0.1" if name == "libtpu" else real(name),
    )
    with pytest.raises(UserError, match=r"libtpu 0\.0\.1 is not the one that JAX"):
        compiling.libtpu_version()


NO_LIBTPU = "libtpu is not installed here: pip install 'fdlkit[tpu]'"


def check_for(cache: Path, *arguments: str) -> dict:
    """What `fdlkit check` says as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "fdlkit", "check", "--format=json", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason=NO_LIBTPU)
def test_a_step_compiles_for_slices_that_are_not_here(tmp_path):
    sizes = "--mesh=data=2,stage=2,dcn.data=2"
    pipeline = (
        "--fdl_set=model.layers.pipeline=Pipelining(num_stages=2,num_microbatches=2)"
    )
    target = "experiments/lm.py:tiny"
    said = check_for(tmp_path, target, sizes, "--topology=2xv4-8", pipeline)
    assert said["findings"] == []
    kinds = {one["kind"] for one in said["compiled"]["collectives"]}
    assert "collective-permute" in kinds
    assert 0 < said["compiled"]["peak"] < 2**30
    kept = list((tmp_path / "fdlkit" / "compiled").iterdir())
    assert len(kept) == 1
    again = check_for(tmp_path, target, sizes, "--topology=2xv4-8", pipeline)
    assert again == said


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason=NO_LIBTPU)
def test_a_step_that_no_chip_holds_is_refused_by_its_largest_buffers(tmp_path):
    changes = {
        "model.hidden": 2048,
        "model.layers.n": 24,
        "train_data.source.length": 2048,
        "train_data.batch_size": 16,
        "eval_data": None,
    }
    said = check_for(
        tmp_path,
        "experiments/lm.py:tiny",
        "--mesh=fsdp=4",
        "--topology=v4-8",
        *(f"--fdl_set={path}={value}" for path, value in changes.items()),
    )
    (found,) = [one for one in said["findings"] if one["code"] == "CO001"]
    assert found["path"] == "model.layers.block.mlp"
    assert "GiB  f32[24,4,2048,8192]  layers/block/mlp/" in found["text"]


# Of one chip, as the libtpu of the lock lays it out; Pax ran all of them.
FITS = {
    ("spmd_1b_adam_4replicas", "v4-8"): 15.0,
    ("spmd_16b_adam_32replicas", "v4-64"): 26.5,
    ("spmd_22b_adam_2xv4_128", "2xv4-128"): 26.7,
}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason=NO_LIBTPU)
@pytest.mark.parametrize(("name", "slices"), FITS, ids=[slices for _, slices in FITS])
def test_what_pax_ran_on_a_slice_fits_it(tmp_path, name, slices):
    said = check_for(tmp_path, f"experiments/c4.py:{name}", f"--topology={slices}")
    assert said["findings"] == []
    assert said["compiled"]["peak"] < said["compiled"]["memory"] == 32 * 2**30
    gib = said["compiled"]["peak"] / 2**30
    assert gib == pytest.approx(FITS[name, slices], rel=0.05)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason=NO_LIBTPU)
def test_without_remat_16b_are_refused_by_the_scores_of_attention(tmp_path):
    said = check_for(
        tmp_path,
        "experiments/c4.py:spmd_16b_adam_32replicas",
        "--topology=v4-64",
        "--fdl_set=model.layers.remat=none",
    )
    (found,) = [one for one in said["findings"] if one["code"] == "CO001"]
    assert found["path"] == "model.layers.block.attention"
    assert found["numbers"]["bytes"] > 20 * found["numbers"]["available"]
    # 36 layers of 32 rows, 24 of the 48 heads, in float32.
    scores = "108.0 GiB  f32[36,32,24,1,1024,1024]  layers/block/attention/"
    assert found["text"].count(scores) == 3
    assert " 27.0 GiB  bf16[36,32,1024,12288]  layers/block/mlp/" in found["text"]
