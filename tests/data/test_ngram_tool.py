"""`tools/ngram.py` says plainly whether a run beats the n-gram models."""

import json
import types

import numpy as np
import pytest

from fdlkit.data import (
    ByteTokenizer,
    Document,
    InMemory,
    Pipeline,
    TokenWindows,
    ngram_bits_per_byte,
)
from fdlkit.errors import UserError
from tools import ngram


class Texts:
    def __init__(self, text):
        self.text = text

    def documents(self):
        yield Document(name="text", text=self.text)


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def pipeline(text):
        source = TokenWindows(Texts(text), ByteTokenizer(), length=8)
        return Pipeline(source=source, batch_size=1)

    return types.SimpleNamespace(
        train_data=pipeline(b"the cat sat on the mat. " * 50),
        eval_data=pipeline(b"the mat sat on the cat. " * 5),
    )


def logged(workdir, *values):
    entries = [{"step": 1, "loss": 3.0}] + [
        {"step": 10 * n, "eval/bits_per_byte": value}
        for n, value in enumerate(values, 1)
    ]
    text = "".join(json.dumps(entry) + "\n" for entry in entries)
    (workdir / "metrics.jsonl").write_text(text)


def test_both_models_are_printed(experiment):
    _, bigram, trigram = ngram.report(experiment, None)
    train, held_out = (
        data.source.stream.tokens
        for data in (experiment.train_data, experiment.eval_data)
    )
    assert bigram.split() == [
        *("byte", "bigram"),
        f"{ngram_bits_per_byte(train, held_out, order=2):.4f}",
    ]
    assert float(trigram.split()[-1]) < float(bigram.split()[-1])


def test_the_last_evaluation_of_a_run_is_compared(experiment, tmp_path):
    logged(tmp_path, 0.0, 7.5)
    lines = ngram.report(experiment, tmp_path)
    assert lines[3].split()[:5] == ["this", "run", "7.5000", "(step", "20"]
    assert lines[4].startswith("the run is NOT below the byte bigram model, by ")
    logged(tmp_path, 7.5, 0.0)
    lines = ngram.report(experiment, tmp_path)
    assert lines[5].startswith("the run is below the byte trigram model, by ")


def test_a_run_without_an_evaluation_is_refused(experiment, tmp_path):
    with pytest.raises(UserError, match=r"no metrics.jsonl in"):
        ngram.report(experiment, tmp_path)
    logged(tmp_path)
    with pytest.raises(UserError, match="has no 'eval/bits_per_byte' yet"):
        ngram.report(experiment, tmp_path)


def test_data_that_is_not_text_is_refused(experiment):
    experiment.train_data = Pipeline(source=InMemory({"x": np.zeros(3)}), batch_size=1)
    with pytest.raises(UserError, match="the data's source is a InMemory"):
        ngram.report(experiment, None)
