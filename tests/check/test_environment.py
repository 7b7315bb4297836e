"""Flags, folders and the disk, each found before it ends or spoils a run."""

from __future__ import annotations

import collections
import importlib.util
import os
import shutil

import fiddle as fdl
import pytest

from fdlkit.check.environment import folders, trials
from fdlkit.check.environment.trials import LIBTPU, XLA, Trial
from fdlkit.check.report import examine
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.check.topology import parse
from fdlkit.train.pgle import AutomaticPgle, ManualPgle
from tests.check.house import experiment


def found_with(pgle, environment=None, **request):
    request = Request(environment=environment or {}, **request)
    subject = Subject(experiment(pgle=pgle), request)
    return list(examine(subject, ["environment"]).findings)


def found(environment=None, **request):
    subject = Subject(experiment(), Request(environment=environment or {}, **request))
    return list(examine(subject, ["environment"]).findings)


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--xla_force_host_platform_device_count=8",
        "--xla_cpu_enable_fast_math=true --xla_dump_to=/tmp/somewhere",
        "--xla_gpu_enable_latency_hiding_scheduler=true",
    ],
)
def test_flags_that_xla_takes_are_no_finding(flags):
    assert found({"XLA_FLAGS": flags}) == []


def test_every_flag_that_ends_the_process_is_told_in_one_run():
    flags = "--xla_nope=1 --xla_cpu_enable_fast_math=perhaps --xla_tpu_thing=2"
    assert trials.attempt(XLA, flags).accepted is False
    told = [
        (f.code, f.subject, f.text.partition(",")[0])
        for f in found({"XLA_FLAGS": flags})
    ]
    assert told == [
        (
            "EN001",
            "XLA_FLAGS",
            "XLA cannot read the value 'perhaps' of --xla_cpu_enable_fast_math",
        ),
        ("EN001", "XLA_FLAGS", "XLA has no flag --xla_nope"),
        ("EN002", "XLA_FLAGS", "--xla_tpu_thing is one for LIBTPU_INIT_ARGS"),
    ]


def test_following_the_advice_makes_xla_take_its_flags():
    flags = "--xla_cpu_enable_fast_mth=true --xla_tpu_thing=2"
    misspelt, moved = found({"XLA_FLAGS": flags})
    assert misspelt.meant == "did you mean '--xla_cpu_enable_fast_math'?"
    assert "append it to LIBTPU_INIT_ARGS" in moved.fix
    assert found({"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}) == []


# What libtpu 0.0.42 says on stderr; it is not installed where these tests run.
LIBTPU_SAYS = """I1130 1 pjrt_api.cc:119] GetPjrtApi was found for tpu at libtpu.so
ERROR: Illegal value 'maybe' specified for flag 'xla_tpu_enable_async_all_to_all'
ERROR: Unknown command line flag 'xla_tpu_nope'
ERROR: Unknown command line flag 'xla_force_host_platform_device_count'
"""


def test_what_libtpu_says_is_understood(monkeypatch):
    said = [Trial(False, LIBTPU_SAYS)]
    monkeypatch.setattr(trials, "attempt", lambda variable, flags: said.pop())
    monkeypatch.setattr(trials, "known_flags", lambda variable: {"xla_tpu_rope"})
    flags = (
        "--xla_tpu_enable_async_all_to_all=maybe --xla_tpu_nope=1 "
        "--xla_force_host_platform_device_count=8"
    )
    told = [(f.code, f.subject, f.meant) for f in found({LIBTPU: flags})]
    assert told == [
        ("EN001", LIBTPU, ""),
        ("EN001", LIBTPU, "did you mean '--xla_tpu_rope'?"),
        ("EN002", LIBTPU, ""),
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is not None, reason="it could be asked"
)
def test_where_there_is_no_libtpu_its_flags_are_told_to_be_untried():
    wrong, untried = sorted(
        found({LIBTPU: "--xla_gpu_x=1 --xla_tpu_a=1 --xla_tpu_b=2"}),
        key=lambda finding: finding.code,
    )
    assert (wrong.code, wrong.severity) == ("EN002", "error")
    assert (untried.code, untried.severity) == ("EN007", "info")
    assert dict(untried.numbers) == {"flags": 2}


@pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed"
)
def test_libtpu_itself_is_asked():
    assert found({LIBTPU: "--xla_tpu_enable_latency_hiding_scheduler=true"}) == []
    (finding,) = found({LIBTPU: "--xla_tpu_enable_latency_hiding_shceduler=true"})
    meant = "--xla_tpu_enable_latency_hiding_scheduler"
    assert finding.meant == f"did you mean '{meant}'?"


def test_the_variables_of_this_process_count_unless_others_are_given(monkeypatch):
    monkeypatch.setenv("JAX_XLA_FLAGS", "--xla_dump_to=x")
    (finding,) = examine(Subject(experiment()), ["environment"]).findings
    assert finding.fix == "export XLA_FLAGS=--xla_dump_to=x"
    assert found({}) == []


def test_a_folder_that_can_be_made_is_no_finding_and_is_not_made(tmp_path):
    workdir = tmp_path / "runs" / "new"
    cache = tmp_path / "cache"
    assert found({folders.CACHE: str(cache)}, workdir=str(workdir)) == []
    assert not list(tmp_path.iterdir())


def test_folders_in_an_object_store_are_left_alone():
    assert found({folders.CACHE: "gs://bucket/cache"}, workdir="gs://bucket/run") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_another_owner_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    (finding,) = found(workdir=str(tmp_path / "run"))
    assert f"you may not write to {tmp_path}" in finding.text


def test_a_disk_that_is_too_small_says_how_much_is_missing(tmp_path, monkeypatch):
    subject = Subject(experiment(), Request(environment={}, workdir=str(tmp_path)))
    needed = folders.checkpoint_bytes(subject)
    # Width 8: kernels 4*8 and 8, biases 8 and 1; Adam has two more of each and its
    # counter, the state a step and a window of five sums. Four bytes each.
    parameters = 4 * 8 + 8 + 8 + 1
    assert needed == 4 * (3 * parameters + 1 + 1 + 5)
    usage = collections.namedtuple("usage", "total used free")
    disk = usage(needed, 100, needed - 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: disk)
    (finding,) = found(workdir=str(tmp_path / "run"))
    assert finding.code == "EN006"
    assert dict(finding.numbers) == {
        "checkpoint_bytes": needed,
        "free_bytes": needed - 100,
    }
    assert finding.fix.startswith("free 100 bytes")


GPUS = {"topology": parse("h100:8")}
FLAG = "--xla_gpu_pgle_profile_file_or_directory_path"


def test_a_profile_of_the_trainer_is_told_where_the_devices_are_known():
    automatic = fdl.Config(AutomaticPgle)
    assert found_with(automatic) == []
    assert found_with(automatic, **GPUS) == []
    assert found_with(automatic, {"JAX_PLATFORMS": "cuda,cpu"}) == []
    (on_cpu,) = found_with(automatic, {"JAX_PLATFORMS": "cpu"})
    assert (on_cpu.code, on_cpu.path) == ("EN008", "pgle")
    assert "on a CPU no exchanges are hidden" in on_cpu.text
    # The machine that the run is for counts more than the one of the check.
    assert found_with(automatic, {"JAX_PLATFORMS": "cpu"}, **GPUS) == []


def test_a_profile_that_is_not_there_is_told_at_its_path(tmp_path):
    manual = fdl.Config(ManualPgle, profile=str(tmp_path / "step.pb"))
    (missing,) = found_with(manual, **GPUS)
    assert (missing.code, missing.path) == ("EN008", "pgle.profile")
    (tmp_path / "step.pb").write_bytes(b"profile")
    assert found_with(manual, **GPUS) == []


def test_jax_variable_and_xla_flag_are_told_where_the_trainer_asks_itself(tmp_path):
    profile = tmp_path / "step.pb"
    profile.write_bytes(b"profile")
    variables = {"JAX_ENABLE_PGLE": "1", "XLA_FLAGS": f"{FLAG}={profile}"}
    (ahead,) = found(variables, **GPUS)
    assert (ahead.code, ahead.subject) == ("EN003", "JAX_ENABLE_PGLE")
    assert "pgle=AutomaticPgle()" in ahead.fix
    (twice,) = found_with(fdl.Config(AutomaticPgle), variables, **GPUS)
    assert (twice.code, twice.subject) == ("EN003", "XLA_FLAGS")
    assert f"pgle=ManualPgle(profile='{profile}')" in twice.fix
