"""docs/metrics.md shows what happens."""

from __future__ import annotations

import doctest
import pathlib

TEXT = pathlib.Path(__file__).parents[2].joinpath("docs", "metrics.md").read_text()


def test_python_answers_as_the_page_says():
    scope: dict[str, object] = {"__name__": "metrics_md"}
    test = doctest.DocTestParser().get_doctest(TEXT, scope, "metrics.md", None, 0)
    assert len(test.examples) > 30
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)
