"""Flags that XLA or libtpu would end the process at, each told before it does."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping

from fdlkit import suggest
from fdlkit.check.environment import trials
from fdlkit.check.environment.trials import LIBTPU, XLA, Trial
from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

# XLA stops at wrong values, and at unknown names only without any such.
_MAX_TRIALS = 4
_HARMLESS = re.compile(r"--xla_force_host_platform_device_count=\d+")
_UNKNOWN = (
    re.compile(r"Unknown flags? in XLA_FLAGS: (.*)"),
    re.compile(r"Unknown command line flag '(\w+)'"),
)
_BAD_VALUE = (
    re.compile(r"Couldn't interpret value (?P<value>.*) for flag (?P<name>\w+)\."),
    re.compile(r"Illegal value '(?P<value>.*)' specified for flag '(?P<name>\w+)'"),
)
_BAD_FILE = re.compile(r'Could not open file "(.*?)" to read flags')

# Where a flag belongs, by how it begins.
_BEGINNINGS = {
    LIBTPU: ("xla_tpu_", "megascale_", "xla_jf_", "xla_sc_"),
    XLA: ("xla_gpu_", "xla_cpu_", "xla_force_host_platform_"),
}
_OTHER = {XLA: LIBTPU, LIBTPU: XLA}
_WHO = {XLA: "XLA", LIBTPU: "libtpu"}
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


def find(subject: Subject) -> Iterator[Finding]:
    """Unknown flags, wrong values, and flags in the wrong variable."""
    given = subject.request.environment
    environment: Mapping[str, str] = os.environ if given is None else given
    for name, meant in _MISNAMED.items():
        if environment.get(name, "").lstrip().startswith("--"):
            yield subject.outside(
                "EN002",
                name,
                f"{name} holds flags, and nothing reads it",
                meant=suggest.did_you_mean(meant),
                fix=f"export {meant}={shlex.quote(environment[name])}",
            )
    for variable in (XLA, LIBTPU):
        flags = environment.get(variable, "").strip()
        # So many runs ask for virtual devices that they should not pay for a trial.
        if not all(_HARMLESS.fullmatch(f) for f in trials.split(flags)) or (
            flags and variable == LIBTPU
        ):
            yield from _refused(subject, variable, flags)


def _refused(subject: Subject, variable: str, flags: str) -> Iterator[Finding]:
    """What is said against flags, until those that are left are taken."""
    for _ in range(_MAX_TRIALS):
        trial = trials.attempt(variable, flags)
        if trial is None:
            yield from _not_tried(subject, variable, flags)
            return
        if trial.accepted:
            return
        bad = set()
        for value, name in _bad_values(trial):
            bad.add(name)
            yield subject.outside(
                "EN001",
                variable,
                f"{_WHO[variable]} cannot read the value {value!r} of --{name}, and "
                "would end the process without a traceback",
                fix=f"give --{name} a value of its type, or take it out of {variable}",
            )
        for flag in _unknown_names(trial):
            bad.add(trials.name_of(flag))
            yield _unknown(subject, variable, trials.name_of(flag))
        rest = [f for f in trials.split(flags) if trials.name_of(f) not in bad]
        if not bad:
            yield _otherwise(subject, variable, flags, trial)
        if not bad or not rest:
            return
        flags = shlex.join(rest)


def _bad_values(trial: Trial) -> list[tuple[str, str]]:
    return [
        (found["value"], found["name"])
        for pattern in _BAD_VALUE
        for found in pattern.finditer(trial.said)
    ]


def _unknown_names(trial: Trial) -> list[str]:
    found = [name for pattern in _UNKNOWN for name in pattern.findall(trial.said)]
    return [flag for names in found for flag in trials.split(names)]


def _unknown(subject: Subject, variable: str, name: str) -> Finding:
    if name.startswith(_BEGINNINGS[_OTHER[variable]]):
        return _wrong_variable(subject, variable, name)
    near = suggest.nearest(name, trials.known_flags(variable))
    return subject.outside(
        "EN001",
        variable,
        f"{_WHO[variable]} has no flag --{name}, and would end the process without a "
        "traceback",
        meant=suggest.did_you_mean(f"--{near[0]}") if near else None,
        fix=f"take --{name} out of {variable}, or spell it as this release does",
    )


def _wrong_variable(subject: Subject, variable: str, name: str) -> Finding:
    other = _OTHER[variable]
    return subject.outside(
        "EN002",
        variable,
        f"--{name} is one for {other}, and not known in {variable}",
        fix=f"take it out of {variable}, and append it to {other}",
    )


def _otherwise(subject: Subject, variable: str, flags: str, trial: Trial) -> Finding:
    if file := _BAD_FILE.search(trial.said):
        return subject.outside(
            "EN001",
            variable,
            f"{file[1]}: what does not begin with -- is the name of a file of flags, "
            "and there is no such file",
            meant=suggest.did_you_mean(f"--{file[1]}"),
            fix="begin each flag with --, one blank between two",
        )
    first = next(iter(trial.said.strip().splitlines()), "(it says nothing)")
    return subject.outside(
        "EN001",
        variable,
        f"{_WHO[variable]} ends the process at these flags\n{first}",
        fix=f"unset {variable}, and put its flags back one by one: {flags}",
    )


def _not_tried(subject: Subject, variable: str, flags: str) -> Iterator[Finding]:
    """What can be told of flags without whoever reads them."""
    names = [trials.name_of(flag) for flag in trials.split(flags)]
    wrong = [n for n in names if n.startswith(_BEGINNINGS[_OTHER[variable]])]
    for name in wrong:
        yield _wrong_variable(subject, variable, name)
    if len(wrong) < len(names):
        yield subject.outside(
            "EN007",
            variable,
            f"{len(names) - len(wrong)} flags cannot be tried here: "
            f"{_WHO[variable]} is not installed",
            numbers={"flags": len(names) - len(wrong)},
            fix="check where the run will be, or install libtpu here",
        )
