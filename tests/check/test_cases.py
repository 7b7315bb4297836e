"""Broken experiments, with the exact findings beside each.

A case is a file with `broken() -> config`, and what else is to be taken for given:
`ENVIRONMENT`, `WORKDIR`, `MESH`, `DEVICES`, `TOPOLOGY`, `RESTORE`. All levels run; of
each case the findings are kept, without the line that sums them up.

`python -m tests.check.test_cases [NAME...]` writes the texts anew; read the change.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import sys

import pytest

from fdlkit.check import text
from fdlkit.check.codes import CODES
from fdlkit.check.report import examine
from fdlkit.check.request import Request
from fdlkit.check.subject import Subject
from fdlkit.check.topology import parse

ROOT = pathlib.Path(__file__).parents[2]
CASES = pathlib.Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.py"))


def told(name: str) -> str:
    """The findings of a case, line numbers left out."""
    case = importlib.import_module(f"tests.check.cases.{name}")
    request = Request(
        mesh=getattr(case, "MESH", None),
        devices=getattr(case, "DEVICES", None),
        topology=parse(case.TOPOLOGY) if hasattr(case, "TOPOLOGY") else None,
        restore=getattr(case, "RESTORE", None),
        workdir=getattr(case, "WORKDIR", None),
        environment=getattr(case, "ENVIRONMENT", {}),
    )
    report = examine(Subject(case.broken(), request))
    said = "\n\n".join("\n".join(text.lines(one)) for one in report.findings) + "\n"
    # What an estimate comes to depends on how a release of JAX writes a program down.
    said = re.sub(r"(by an estimate .*working) [\d.]+ (\w+)", r"\1 ~ \2", said)
    said = re.sub(
        r"needs [\d.]+ (\w+) by an estimate", r"needs ~ \1 by an estimate", said
    )
    # Lines move, and a library may be installed anywhere.
    return (
        re.sub(r"\.py:\d+", ".py:N", said)
        .replace(f"{ROOT}/", "")
        .replace(str(ROOT), "<here>")
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_told_as_written(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert told(name) == (CASES / f"{name}.txt").read_text(encoding="utf-8")


def test_there_are_many_cases():
    assert len(NAMES) >= 20


# Where no case of this folder leads, and what tests it instead.
ELSEWHERE = {
    "CO001": "tests/check/test_compile.py: it needs libtpu, or its words",
    "CO002": "tests/check/test_compile.py: it needs libtpu, or its words",
    "CO003": "tests/check/test_compile.py: it needs libtpu, or its words",
    "CO004": "tests/check/test_compile.py: it needs libtpu, or its words",
    "EN006": "tests/check/test_environment.py: no disk here is small enough",
    "EN007": "tests/check/test_environment.py: where there is no libtpu",
}


def test_every_kind_of_finding_has_a_case():
    said = " ".join(path.read_text(encoding="utf-8") for path in CASES.glob("*.txt"))
    missing = {code for code in CODES if f" {code}: " not in said} - set(ELSEWHERE)
    assert not missing


if __name__ == "__main__":
    for stem in sys.argv[1:] or NAMES:
        (CASES / f"{stem}.txt").write_text(told(stem), encoding="utf-8")
