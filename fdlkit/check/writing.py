"""A report as JSON, for programs: the schema `fdlkit.check/1`."""

from __future__ import annotations

import dataclasses
import json

from fdlkit.check.findings import Finding
from fdlkit.check.report import Report

SCHEMA = "fdlkit.check/1"


def write(report: Report, *, target: str) -> str:
    """The whole report; a number that JSON lacks (`inf`) is written as text."""
    said = {
        "schema": SCHEMA,
        "target": target,
        "mesh": None if report.mesh is None else dict(report.mesh),
        "is_smallest": report.is_smallest,
        "across_slices": dict(report.across),
        "compiled": None
        if report.compiled is None
        else dataclasses.asdict(report.compiled),
        "levels": [
            {"level": run.level, "skipped": run.skipped} for run in report.levels
        ],
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(said, indent=2) + "\n"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "path": finding.path,
        "subject": finding.subject,
        "source": finding.source,
        "text": finding.text,
        "meant": finding.meant,
        "numbers": {
            name: value
            if not isinstance(value, float) or abs(value) < float("inf")
            else str(value)
            for name, value in finding.numbers
        },
        "nearest": list(finding.nearest),
        "fix": finding.fix,
        "allowed": finding.allowed,
    }
