"""Flags of XLA and libtpu, tried where they can do no harm: in another process."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import mmap
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping

from fdlkit import suggest
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

XLA, LIBTPU = "XLA_FLAGS", "LIBTPU_INIT_ARGS"
_TIMEOUT = 60.0  # seconds; jaxlib alone loads in a fraction of one

# Reading the flags is the first thing that this does, and it ends the process there.
_PROGRAM = "from jaxlib import _jax; _jax.CompileOptions()"
_MAX_TRIALS = 4
_HARMLESS = re.compile(r"--xla_force_host_platform_device_count=\d+")
_UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS: (.*)")
# A flag's name in the library, between two ends of C strings.
_BEGIN = b"\0xla_"
_NAME = re.compile(rb"(xla_[a-z0-9_]{3,})\0")
_MAX_NAME = 100
_BAD_VALUE = re.compile(r"Couldn't interpret value (.*) for flag (\w+)\.")
_BAD_FILE = re.compile(r'Could not open file "(.*?)" to read flags')

# Where a flag belongs, by how it begins.
_OF_LIBTPU = ("xla_tpu_", "megascale_", "xla_jf_", "xla_sc_", "xla_enable_async_")
_OF_XLA = ("xla_gpu_", "xla_cpu_", "xla_force_host_platform_")
# What people call the two variables that have other names.
_MISNAMED = {
    "XLA_FLAG": XLA,
    "XLAFLAGS": XLA,
    "XLA_ARGS": XLA,
    "JAX_XLA_FLAGS": XLA,
    "LIBTPU_INIT_ARG": LIBTPU,
    "LIBTPU_ARGS": LIBTPU,
    "LIBTPU_FLAGS": LIBTPU,
    "TPU_INIT_ARGS": LIBTPU,
}


@dataclasses.dataclass(frozen=True)
class Trial:
    """How XLA took its flags.

    Attributes:
      accepted: Whether it went on; True also where it could not be asked.
      said: What it said when it did not.
    """

    accepted: bool
    said: str


def find(subject: Subject) -> Iterator[Finding]:
    """Unknown flags, wrong values, and flags in the wrong variable."""
    given = subject.request.environment
    environment = os.environ if given is None else given
    yield from _misnamed(subject, environment)
    yield from _of_libtpu(subject, environment.get(LIBTPU, ""))
    if environment.get(XLA, "").strip():
        yield from _of_xla(subject, environment[XLA])


def _misnamed(subject: Subject, environment: Mapping[str, str]) -> Iterator[Finding]:
    for name, meant in _MISNAMED.items():
        if environment.get(name, "").lstrip().startswith("--"):
            yield subject.outside(
                "EN002",
                name,
                f"{name} holds flags, and nothing reads it",
                meant=suggest.did_you_mean(meant),
                fix=f"export {meant}={shlex.quote(environment[name])}",
            )


def _of_libtpu(subject: Subject, flags: str) -> Iterator[Finding]:
    for flag in _split(flags):
        if _name(flag).startswith(_OF_XLA):
            yield _wrong_variable(subject, flag, is_in=LIBTPU, belongs=XLA)


def _of_xla(subject: Subject, flags: str) -> Iterator[Finding]:
    """What XLA says against its flags, until it takes those that are left."""
    if all(_HARMLESS.fullmatch(flag) for flag in _split(flags)):
        return  # so many runs have it that they should not pay for a trial
    for _ in range(_MAX_TRIALS):
        trial = try_flags(flags)
        if trial.accepted:
            return
        bad = set()
        for value, name in _BAD_VALUE.findall(trial.said):
            bad.add(name)
            yield subject.outside(
                "EN001",
                XLA,
                f"XLA cannot read the value {value!r} of --{name}, and would end the "
                "process without a traceback",
                fix=f"give --{name} a value of its type, or take it out of {XLA}",
            )
        if unknown := _UNKNOWN.search(trial.said):
            for flag in _split(unknown[1]):
                bad.add(_name(flag))
                yield _unknown(subject, flag)
        rest = [flag for flag in _split(flags) if _name(flag) not in bad]
        if not bad or not rest:
            if not bad:
                yield _refused(subject, flags, trial)
            return
        flags = shlex.join(rest)


def _unknown(subject: Subject, flag: str) -> Finding:
    name = _name(flag)
    if name.startswith(_OF_LIBTPU):
        return _wrong_variable(subject, flag, is_in=XLA, belongs=LIBTPU)
    near = suggest.nearest(name, known_flags())
    return subject.outside(
        "EN001",
        XLA,
        f"XLA has no flag --{name}, and would end the process without a traceback",
        meant=suggest.did_you_mean(f"--{near[0]}") if near else None,
        fix=f"take {flag} out of {XLA}, or spell it as this release of jaxlib does",
    )


def _refused(subject: Subject, flags: str, trial: Trial) -> Finding:
    if file := _BAD_FILE.search(trial.said):
        return subject.outside(
            "EN001",
            XLA,
            f"{file[1]}: what does not begin with -- is the name of a file of flags, "
            "and there is no such file",
            meant=suggest.did_you_mean(f"--{file[1]}"),
            fix="begin each flag with --, one blank between two",
        )
    first = next(iter(trial.said.strip().splitlines()), "(it says nothing)")
    return subject.outside(
        "EN001",
        XLA,
        f"XLA ends the process at these flags\n{first}",
        fix=f"unset {XLA}, and put its flags back one by one: {flags}",
    )


def _wrong_variable(
    subject: Subject, flag: str, *, is_in: str, belongs: str
) -> Finding:
    return subject.outside(
        "EN002",
        is_in,
        f"--{_name(flag)} is one for {belongs}, and not known in {is_in}",
        fix=f"take it out of {is_in}, and append it to {belongs}",
    )


def _split(flags: str) -> list[str]:
    try:
        return shlex.split(flags)
    except ValueError:  # a quote without its other half
        return flags.split()


def _name(flag: str) -> str:
    return flag.lstrip("-").partition("=")[0]


@functools.lru_cache(maxsize=8)
def try_flags(flags: str) -> Trial:
    """Has XLA read its flags in a process of their own."""
    if importlib.util.find_spec("jaxlib") is None:
        return Trial(True, "")
    environment = {k: v for k, v in os.environ.items() if k != LIBTPU}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**environment, XLA: flags},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Trial(True, "")
    # A Python that cannot import jaxlib here says nothing of the flags.
    is_ours = done.returncode != 0 and "flags" in done.stderr.lower()
    return Trial(not is_ours, done.stderr)


@functools.lru_cache(maxsize=1)
def known_flags() -> frozenset[str]:
    """What may be flags of the XLA that is installed, to tell which one was meant.

    XLA lists its flags only in part, so they are looked for in its library.
    """
    spec = importlib.util.find_spec("jaxlib")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = pathlib.Path(folder) / "libjax_common.so"
        try:
            with open(path, "rb") as file:
                text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            continue
        with text:
            return frozenset(_names(text))
    return frozenset()


def _names(text: mmap.mmap) -> Iterator[str]:
    """The strings of a library that a flag's name could be."""
    at = text.find(_BEGIN)
    while at >= 0:
        # Found by what it begins with: an expression takes seconds for so much.
        found = _NAME.match(text[at + 1 : at + 1 + _MAX_NAME])
        if found is not None:
            yield found[1].decode()
        at = text.find(_BEGIN, at + 1)
